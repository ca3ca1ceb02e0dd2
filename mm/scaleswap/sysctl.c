// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: vm.scaleswap.bind, which decides what swapon(2) binds to.
 *
 * This is a sysctl and not a flag of swapon(2), since a new flag would change the system call
 * for all users. Also, the program that sets up areas sets up all of them.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/sysctl.h>

#include "internal.h"

/* More than any valid value needs; a longer text is refused. */
#define SSW_BIND_LEN	16

/* A CPU number, SSW_BIND_OFF or SSW_BIND_AUTO. Protected by ssw_mutex. */
int ssw_bind = SSW_BIND_OFF;

/*
 * The value that was refused last, and the task that wrote it; no task has pid 0.
 * Protected by ssw_mutex.
 */
static struct {
	pid_t pid;
	size_t len;
	char text[SSW_BIND_LEN];
} ssw_bind_refused;

/*
 * Check whether to log a value that is refused: not if the same task had the same value
 * refused just before. When stdio closes a file, it writes again what write(2) did not take.
 * So sysctl(8) writes each refused value twice.
 */
static bool ssw_bind_refuse(const void *value, size_t len)
{
	size_t kept = min_t(size_t, len, SSW_BIND_LEN);
	bool again;

	mutex_lock(&ssw_mutex);
	again = ssw_bind_refused.pid == current->pid && ssw_bind_refused.len == len &&
		!memcmp(ssw_bind_refused.text, value, kept);
	ssw_bind_refused.pid = current->pid;
	ssw_bind_refused.len = len;
	memcpy(ssw_bind_refused.text, value, kept);
	mutex_unlock(&ssw_mutex);
	return !again;
}

/**
 * ssw_parse_bind - parse a value of vm.scaleswap.bind or of areas/<type>/cpu
 * @arg: "auto", "off" or the number of a possible CPU
 * @bind: where the value goes; untouched on error
 *
 * Context: any.
 * Return: 0, or -EINVAL for anything else.
 */
int ssw_parse_bind(const char *arg, int *bind)
{
	unsigned int cpu;

	if (sysfs_streq(arg, "auto")) {
		*bind = SSW_BIND_AUTO;
		return 0;
	}
	if (sysfs_streq(arg, "off")) {
		*bind = SSW_BIND_OFF;
		return 0;
	}
	/* kstrtouint() would accept a sign. */
	if (!isdigit(*arg) || kstrtouint(arg, 10, &cpu) ||
	    cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	*bind = cpu;
	return 0;
}

static int ssw_bind_handler(const struct ctl_table *table, int write,
			    void *buffer, size_t *lenp, loff_t *ppos)
{
	char text[SSW_BIND_LEN + 1];
	struct ctl_table tmp = { .data = text, .maxlen = sizeof(text) };
	int bind, err;

	if (!write) {
		bind = READ_ONCE(ssw_bind);
		if (bind == SSW_BIND_AUTO)
			strscpy(text, "auto");
		else if (bind == SSW_BIND_OFF)
			strscpy(text, "off");
		else
			snprintf(text, sizeof(text), "%d", bind);
		return proc_dostring(&tmp, 0, buffer, lenp, ppos);
	}

	if (!*lenp)
		return 0;
	/*
	 * Do not use proc_dostring(): it truncates a long value, and stops at a newline
	 * or zero byte in the middle. Neither must turn a bad value into a CPU number.
	 * Each write is a value of its own, independent of earlier writes.
	 */
	if (*lenp > SSW_BIND_LEN || memchr(buffer, '\0', *lenp)) {
		err = -EINVAL;
	} else {
		memcpy(text, buffer, *lenp);
		text[*lenp] = '\0';
		err = ssw_parse_bind(text, &bind);
	}
	if (err) {
		if (!ssw_bind_refuse(buffer, *lenp))
			return err;
		pr_warn_ratelimited("vm.scaleswap.bind takes auto, off or the number of a possible CPU (%*pbl)\n",
				    cpumask_pr_args(cpu_possible_mask));
		return err;
	}
	if (bind != SSW_BIND_OFF && !static_key_enabled(&scaleswap_key)) {
		if (!ssw_bind_refuse(buffer, *lenp))
			return -EOPNOTSUPP;
		pr_warn_ratelimited("areas cannot be bound: boot with scaleswap=on\n");
		return -EOPNOTSUPP;
	}
	mutex_lock(&ssw_mutex);
	WRITE_ONCE(ssw_bind, bind);
	ssw_bind_refused.pid = 0;
	mutex_unlock(&ssw_mutex);
	*ppos += *lenp;
	return 0;
}

static struct ctl_table ssw_sysctls[] = {
	{
		.procname	= "bind",
		.maxlen		= SSW_BIND_LEN,
		.mode		= 0644,
		.proc_handler	= ssw_bind_handler,
	},
};

/**
 * ssw_sysctl_init - register vm.scaleswap
 *
 * Context: boot.
 * Return: 0 or -ENOMEM.
 */
int __init ssw_sysctl_init(void)
{
	if (!register_sysctl("vm/scaleswap", ssw_sysctls)) {
		pr_err("cannot register the sysctls vm.scaleswap\n");
		return -ENOMEM;
	}
	return 0;
}
