// SPDX-License-Identifier: GPL-2.0
/*
 * Simulated IAA device: what goes wrong on demand, and what has happened. See sim.h
 */
#include <linux/debugfs.h>
#include <linux/fault-inject.h>
#include <linux/pci.h>

#include "idxd.h"
#include "registers.h"
#include "sim.h"

/* Parent of all devices' directories */
static struct dentry *sim_dir;

/* How many devices have theirs in it. Probe and remove may run for several at a time. */
static DEFINE_MUTEX(sim_dir_lock);
static unsigned int sim_dir_users;

static const char * const sim_count_name[SIM_COUNTS] = {
	[SIM_DONE] = "done",
	[SIM_FAILED] = "failed",
	[SIM_ABORTED] = "aborted",
	[SIM_LOST] = "lost",
	[SIM_NEEDLESS] = "needless",
	[SIM_FLIPPED] = "flipped",
	[SIM_DROPPED] = "dropped",
	[SIM_BAD_DMA] = "bad_dma",
};

static int sim_count_get(void *data, u64 *val)
{
	*val = atomic_long_read(data);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(sim_count_fops, sim_count_get, NULL, "%llu\n");

/* 0: needs a software reset, 1: a function level reset */
static int sim_halt_set(void *data, u64 val)
{
	if (val > IDXD_DEVICE_RESET_FLR)
		return -EINVAL;
	sim_halt(data, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(sim_halt_fops, NULL, sim_halt_set, "%llu\n");

static int sim_latency_get(void *data, u64 *val)
{
	*val = ((struct idxd_sim *)data)->latency;
	return 0;
}

static int sim_latency_set(void *data, u64 val)
{
	struct idxd_sim *sim = data;

	sim_held_calibrate(sim);
	WRITE_ONCE(sim->latency, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(sim_latency_fops, sim_latency_get, sim_latency_set, "%llu\n");

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
static void sim_faults_init(struct idxd_sim *sim)
{
	static const char * const name[SIM_FAULTS] = {
		[SIM_FAIL] = "fail",
		[SIM_LOSE] = "lose",
		[SIM_DELAY] = "delay",
		[SIM_FLIP] = "flip",
	};

	for (unsigned int i = 0; i < SIM_FAULTS; i++) {
		/* Never, until its probability and times are set; and then silently */
		sim->fault[i] = (struct fault_attr)FAULT_ATTR_INITIALIZER;
		sim->fault[i].verbose = 0;
		fault_create_debugfs_attr(name[i], sim->debug, &sim->fault[i]);
	}
}
#else
static void sim_faults_init(struct idxd_sim *sim)
{
}
#endif

/**
 * sim_debug_init - make a device's directory in debugfs
 * @sim: the device
 *
 * Context: probe.
 */
void sim_debug_init(struct idxd_sim *sim)
{
	mutex_lock(&sim_dir_lock);
	if (!sim_dir_users++)
		sim_dir = debugfs_create_dir("idxd_sim", NULL);
	sim->debug = debugfs_create_dir(pci_name(sim->pdev), sim_dir);
	mutex_unlock(&sim_dir_lock);
	for (unsigned int i = 0; i < SIM_COUNTS; i++)
		debugfs_create_file_unsafe(sim_count_name[i], 0400, sim->debug, &sim->count[i],
					   &sim_count_fops);
	debugfs_create_file_unsafe("halt", 0200, sim->debug, sim, &sim_halt_fops);
	sim->status = IAX_COMP_ANALYTICS_ERROR;
	debugfs_create_x32("fail_status", 0600, sim->debug, &sim->status);
	sim->delay_ms = 20;
	debugfs_create_u32("delay_ms", 0600, sim->debug, &sim->delay_ms);
	debugfs_create_u32("most", 0600, sim->debug, &sim->most);
	debugfs_create_u32("stall_ms", 0600, sim->debug, &sim->stall_ms);
	debugfs_create_bool("deaf", 0600, sim->debug, &sim->deaf);
	debugfs_create_bool("at_once", 0600, sim->debug, &sim->at_once);
	debugfs_create_u64("at_once_cycles", 0400, sim->debug, &sim->at_once_cycles);
	debugfs_create_file_unsafe("latency", 0600, sim->debug, sim, &sim_latency_fops);
	sim_faults_init(sim);
}

/**
 * sim_debug_exit - remove a device's directory in debugfs
 * @sim: the device
 *
 * Context: may sleep. Nobody looks at the device through it any more after this.
 */
void sim_debug_exit(struct idxd_sim *sim)
{
	debugfs_remove_recursive(sim->debug);
	WRITE_ONCE(sim->deaf, false);
	mutex_lock(&sim_dir_lock);
	if (!--sim_dir_users)
		debugfs_remove_recursive(sim_dir);
	mutex_unlock(&sim_dir_lock);
}
