// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: the boot parameter, and the static key that it sets.
 *
 * ScaleSwap is off or on for the whole life of the kernel: if it went off, an area
 * that had been bound could not be found any more. So there is a boot parameter
 * and no run-time switch. At run time vm.scaleswap.bind decides for each area.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/init.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "internal.h"

DEFINE_STATIC_KEY_FALSE(scaleswap_key);

static unsigned int ssw_boot_mechs __initdata;

/* Names that scaleswap= knows. Not every kernel has all of them built in. */
static const char * const ssw_mechanisms[SSW_NR_MECHS] = {
	[SSW_MECH_CORE] = "core",
	[SSW_MECH_LRU] = "lru",
	[SSW_MECH_EVICT] = "evict",
	[SSW_MECH_FAULT] = "fault",
	[SSW_MECH_ZBATCH] = "zbatch",
	[SSW_MECH_DEFRAG] = "defrag",
};

static const unsigned int ssw_built_in = BIT(SSW_MECH_CORE) |
	(IS_ENABLED(CONFIG_SCALESWAP_LRU) ? BIT(SSW_MECH_LRU) : 0) |
	(IS_ENABLED(CONFIG_SCALESWAP_EVICTOR) ? BIT(SSW_MECH_EVICT) : 0) |
	(IS_ENABLED(CONFIG_SCALESWAP_FAULT) ? BIT(SSW_MECH_FAULT) : 0) |
	(IS_ENABLED(CONFIG_SCALESWAP_ZBATCH) ? BIT(SSW_MECH_ZBATCH) : 0) |
	(IS_ENABLED(CONFIG_SCALESWAP_DEFRAG) ? BIT(SSW_MECH_DEFRAG) : 0);

/**
 * ssw_parse_boot - parse the value of the boot parameter scaleswap=
 * @arg: "on", "off", or mechanisms separated by commas; NULL counts as wrong
 * @mechs: set to what is to be on, a bit for each enum ssw_mech
 * @tell: whether to report in the kernel log what is left out
 *
 * Most mechanisms work on per-core areas, so any of them turns the core on. The
 * core by itself does nothing until an area is bound. A mechanism that this kernel
 * does not have or know is left out: the rest works without it, and a misspelt word
 * should not cost the rest.
 *
 * Context: early boot; does not sleep.
 * Return: false if @arg has an unknown word.
 */
bool ssw_parse_boot(const char *arg, unsigned int *mechs, bool tell)
{
	bool good = true;

	*mechs = 0;
	if (!arg || !strcmp(arg, "off"))
		return arg;
	if (!strcmp(arg, "on")) {
		*mechs = ssw_built_in;
		return true;
	}
	do {
		size_t len = strcspn(arg, ",");
		int i;

		for (i = 0; i < ARRAY_SIZE(ssw_mechanisms); i++) {
			if (strlen(ssw_mechanisms[i]) == len &&
			    !strncmp(ssw_mechanisms[i], arg, len))
				break;
		}
		if (i == ARRAY_SIZE(ssw_mechanisms)) {
			good = false;
			if (tell)
				pr_warn("scaleswap= does not know '%.*s', leaving it out\n",
					(int)len, arg);
		} else {
			if (!(ssw_built_in & BIT(i)) && tell)
				pr_warn("'%s' is not built into this kernel, leaving it out\n",
					ssw_mechanisms[i]);
			*mechs |= BIT(SSW_MECH_CORE) | (ssw_built_in & BIT(i));
			/* Evictors take LRU shards each. */
			if (*mechs & BIT(SSW_MECH_EVICT))
				*mechs |= BIT(SSW_MECH_LRU);
		}
		arg += len;
	} while (*arg++ == ',');
	return good;
}

static int __init ssw_setup(char *arg)
{
	if (!ssw_parse_boot(arg, &ssw_boot_mechs, true))
		pr_err("bad value in scaleswap=%s; use on, off or a list of core,lru,evict,fault,zbatch,defrag\n",
		       arg ? arg : "");
	return 0;
}
early_param("scaleswap", ssw_setup);

/**
 * ssw_boot_has - check if the boot parameter asked for a mechanism
 * @mech: which
 *
 * Context: while booting.
 * Return: true if it did, and this kernel has the mechanism.
 */
bool __init ssw_boot_has(enum ssw_mech mech)
{
	return ssw_boot_mechs & BIT(mech);
}
