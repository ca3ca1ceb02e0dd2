// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: start at boot, CPU hotplug.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/build_bug.h>
#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/printk.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

/*
 * The node of a hot-added CPU is known only now. A CPU that was there before comes
 * back to its node, so do not rebuild for it: on resume all CPUs come back one
 * after the other, and each would rebuild all lists.
 */
static int ssw_cpu_online(unsigned int cpu)
{
	mutex_lock(&ssw_mutex);
	if (ssw_arealists_outdated(cpu, &ssw_topology))
		ssw_arealists_rebuild();
	mutex_unlock(&ssw_mutex);
	return 0;
}

/*
 * Check all that depends on the width of the swap type. The type has 8 bits in
 * the swap entry, in the page table and in struct swap_info_struct. The offset
 * has the rest of the page table entry, and also has to hold a PFN with its two
 * migration bits.
 */
static void __init ssw_build_checks(void)
{
	BUILD_BUG_ON(MAX_SWAPFILES_SHIFT != 8);
	BUILD_BUG_ON(MAX_SWAPFILES_SHIFT != SWP_TYPE_BITS);
	BUILD_BUG_ON(MAX_SWAPFILES - 1 >
		     (typeof_member(struct swap_info_struct, type))~0U);
	BUILD_BUG_ON((typeof_member(struct swap_info_struct, type))(-1) < 0);
	BUILD_BUG_ON(64 - SWP_OFFSET_SHIFT != 47);
	BUILD_BUG_ON(SWP_TYPE_SHIFT < 64 - SWP_OFFSET_SHIFT);
	BUILD_BUG_ON(SWP_MIG_TOTAL_BITS > 64 - SWP_OFFSET_SHIFT);
	/* An offset must fit below the high type bits in pagemap. */
	BUILD_BUG_ON(PAGEMAP_SWP_TYPE_BITS + 64 - SWP_OFFSET_SHIFT >
		     PAGEMAP_SWP_HIGH_SHIFT);
	BUILD_BUG_ON(PAGEMAP_SWP_HIGH_SHIFT + MAX_SWAPFILES_SHIFT -
		     PAGEMAP_SWP_TYPE_BITS > 55);
	/*
	 * L1TF: the inverted offset has to cover every physical address bit.
	 * arch_max_swapfile_size() computes its limit from the first bit of
	 * the offset, which has not moved, and from generic_max_swapfile_size(),
	 * which follows the width.
	 */
	BUILD_BUG_ON(SWP_OFFSET_FIRST_BIT > PAGE_SHIFT);
	BUILD_BUG_ON(64 - SWP_TYPE_BITS < MAX_PHYSMEM_BITS);
	/* A folio lies in one cluster and in one swap address space. */
	BUILD_BUG_ON(SCALESWAP_SWAPCACHE_SHIFT != SSW_CLUSTER_SHIFT);
	BUILD_BUG_ON(BIT(SSW_CLUSTER_SHIFT) != SSW_CLUSTER_SLOTS);
	BUILD_BUG_ON(PMD_SHIFT - PAGE_SHIFT > SCALESWAP_SWAPCACHE_SHIFT);
	/* struct ssw_arealist counts in u8, and homes are s16. */
	BUILD_BUG_ON(MAX_SWAPFILES > U8_MAX);
	BUILD_BUG_ON(CONFIG_NR_CPUS > S16_MAX);
}

static int __init ssw_init(void)
{
	int err;

	ssw_build_checks();

	/* The directory and the sysctl also exist to say that it is off. */
	err = ssw_sysfs_init();
	if (err)
		pr_err("cannot create /sys/kernel/mm/scaleswap: %d\n", err);
	if (!err)
		err = ssw_table_init();
	if (!err && ssw_boot_has(SSW_MECH_CORE)) {
		err = ssw_shadow_init();
		if (!err)
			err = ssw_arealists_init();
		if (!err)
			err = ssw_delegd_init();
		if (!err) {
			err = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN,
							"mm/scaleswap:online",
							ssw_cpu_online, NULL);
		}
		if (err >= 0) {
			static_branch_enable(&scaleswap_key);
			pr_info("on, %d swap areas at most, bind them by vm.scaleswap.bind\n",
				MAX_SWAPFILES);
			err = 0;
		} else {
			pr_err("staying off: %d\n", err);
		}
	}
	ssw_sysctl_init();
	return err;
}
subsys_initcall(ssw_init);
