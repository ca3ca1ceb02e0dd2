/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Simulated IAA device
 *
 * The driver sees registers, commands, interrupts and completion records as those of a device:
 * only stores to registers that have an effect, and the portals, are calls. The device lives on a
 * PCI function that nobody else uses, has its MSI-X vectors, and reads and writes memory through
 * its IOMMU, if there is one.
 *
 * sim.c has the registers, commands and interrupts; sim-engine.c the queues and what is done with
 * descriptors; sim-debug.c what goes wrong on demand; sim-coder.c the compressor.
 */
#ifndef _IDXD_SIM_H
#define _IDXD_SIM_H

#include <linux/types.h>

struct dentry;
struct idxd_device;
struct idxd_driver_data;
struct idxd_wq;
struct pci_dev;

#ifdef CONFIG_INTEL_IDXD_SIM

#include <linux/fault-inject.h>
#include <linux/hrtimer.h>
#include <linux/idxd.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "sim-coder.h"

/* What the device has: queues with an interrupt each, room in all of them, engines */
#define SIM_QUEUES	4
#define SIM_DEPTH	128
#define SIM_ENGINES	8

/* The most that an engine reads or writes for a descriptor, in bytes, whatever is configured */
#define SIM_XFER	16384

/* Registers, in bytes, and the tables in them */
#define SIM_REGS	0x4000
#define SIM_GRPCFG	0x1000
#define SIM_WQCFG	0x2000
#define SIM_MSIX_PERM	0x3000

/**
 * enum sim_fault - what can go wrong with a descriptor on demand
 * @SIM_FAIL: nothing is done, and it ends with a status of one's choice
 * @SIM_LOSE: it never ends
 * @SIM_DELAY: it begins later, after others that were submitted after it
 * @SIM_FLIP: a bit of its output is wrong
 * @SIM_FAULTS: how many there are
 */
enum sim_fault { SIM_FAIL, SIM_LOSE, SIM_DELAY, SIM_FLIP, SIM_FAULTS };

/**
 * enum sim_count - what the device counts
 * @SIM_DONE: descriptors that have ended without an error
 * @SIM_FAILED: descriptors that have ended with one
 * @SIM_ABORTED: descriptors that have not ended, as a command or the device's halt came first
 * @SIM_LOST: descriptors that were lost on demand
 * @SIM_NEEDLESS: aborts of a queue that had nothing, and from which nothing was lost since the last
 * @SIM_FLIPPED: outputs that were damaged on demand
 * @SIM_DROPPED: descriptors for a queue that was full, or disabled
 * @SIM_BAD_DMA: accesses to memory that the device has not been given
 * @SIM_COUNTS: how many there are
 */
enum sim_count {
	SIM_DONE, SIM_FAILED, SIM_ABORTED, SIM_LOST, SIM_NEEDLESS, SIM_FLIPPED, SIM_DROPPED,
	SIM_BAD_DMA, SIM_COUNTS
};

/**
 * struct sim_queue - a work queue of the device
 * @ring: descriptors that no engine has taken
 * @head: the next one to take
 * @tail: where the next one goes; both only grow
 * @size: how many there may be; 0 while the queue is disabled
 * @engines: which engines take from it, a bit each
 * @busy: descriptors that engines have taken, and not ended, or that are withheld
 * @lost: whether one was lost since the last abort
 * @aborting: whether engines are to leave them as they are, if they can
 */
struct sim_queue {
	struct iax_hw_desc ring[SIM_DEPTH];
	unsigned int head;
	unsigned int tail;
	unsigned int size;
	unsigned long engines;
	unsigned int busy;
	bool lost;
	bool aborting;
};

/**
 * struct sim_held - a descriptor that has ended, and that nobody is told of yet
 * @desc: the descriptor
 * @record: how it has ended, but for its status
 * @status: its status
 * @queue: where it came from
 * @due: when it will be told, in cycles without those of the simulation
 */
struct sim_held {
	struct iax_hw_desc desc;
	struct iax_completion_record record;
	u8 status;
	struct sim_queue *queue;
	u64 due;
};

/**
 * struct sim_engine - an engine of the device
 * @sim: its device
 * @run: work that takes descriptors, until there are none
 * @running: whether that was queued, and will look again
 * @arrived: when its descriptor came, if it works at the doorbell, in cycles without those of the
 *	simulation
 * @src: what it reads
 * @dst: what it will write
 * @codes: codes of what it compresses
 * @work: memory of the compressor
 * @inflate: state of the decompressor
 */
struct sim_engine {
	struct idxd_sim *sim;
	struct work_struct run;
	bool running;
	u64 arrived;
	u8 src[SIM_XFER];
	u8 dst[SIM_XFER];
	struct sim_codes codes;
	struct sim_work work;
	struct sim_inflate inflate;
};

/**
 * struct idxd_sim - a simulated device
 * @regs: its registers, which the driver reads and writes as if they were
 * @pdev: the PCI function that it has
 * @wq: where its engines run
 * @command_wq: where its commands run, whatever engines do
 * @command: work for a command that ends with an interrupt
 * @cmd: that command
 * @commands: no two commands, and no halt, at a time
 * @lock: protects queues and their engines, and registers that both sides write
 * @ended: engines have ended a descriptor, or are to abort what they wait with
 * @queue: its queues
 * @engine: its engines, and one that works at doorbells
 * @at_once: whether descriptors are worked for at their doorbell, by the CPU that submits them, so
 *	that a bench can take that time away
 * @at_once_cycles: that time, in cycles: what nanoseconds these are is an estimate, and a bench
 *	looks at what is left of a large number
 * @latency: how long after that it is done, in cycles without @at_once_cycles; 0: at once
 * @held: descriptors that are withheld so, SIM_DEPTH at most, a ring
 * @held_head: the first of these
 * @held_tail: where the next one goes; both only grow
 * @irq_cycles: what the interrupt costs beside what its handler counts itself
 * @free_at: when each engine has done what it has
 * @timer: for the next one to be done
 * @deaf: whether commands wait
 * @stall_ms: how long whoever submits is held up before the doorbell, in milliseconds
 * @fault: when what goes wrong
 * @status: of descriptors that fail, the status and the error code << 8
 * @delay_ms: how long descriptors are delayed, in milliseconds
 * @now: descriptors that were submitted, and have not ended
 * @most: the most of these at a time; may be set
 * @count: what has happened
 * @debug: its directory
 */
struct idxd_sim {
	u8 regs[SIM_REGS];
	struct pci_dev *pdev;
	struct workqueue_struct *wq;
	struct work_struct command;
	u32 cmd;
	struct workqueue_struct *command_wq;
	struct mutex commands;	/* of commands and halts */
	spinlock_t lock;	/* of queues, and registers that both sides write */
	wait_queue_head_t ended;
	struct sim_queue queue[SIM_QUEUES];
	struct sim_engine *engine[SIM_ENGINES + 1];
	bool at_once;
	u64 at_once_cycles;
	u64 latency;
	struct sim_held *held;
	unsigned int held_head;
	unsigned int held_tail;
	u64 irq_cycles;
	u64 free_at[SIM_ENGINES];
	struct hrtimer timer;
	bool deaf;
	u32 stall_ms;
#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
	struct fault_attr fault[SIM_FAULTS];
#endif
	u32 status;
	u32 delay_ms;
	atomic_t now;
	u32 most;
	atomic_long_t count[SIM_COUNTS];
	struct dentry *debug;
};

static inline u32 *sim_reg32(struct idxd_sim *sim, unsigned int offset)
{
	return (u32 *)(sim->regs + offset);
}

static inline u64 *sim_reg64(struct idxd_sim *sim, unsigned int offset)
{
	return (u64 *)(sim->regs + offset);
}

static inline void sim_count(struct idxd_sim *sim, enum sim_count what)
{
	atomic_long_inc(&sim->count[what]);
}

bool idxd_sim_named(struct pci_dev *pdev);
struct idxd_driver_data *idxd_sim_data(struct pci_dev *pdev, struct idxd_driver_data *data,
				       struct idxd_driver_data *iax);
bool idxd_sim_wanted(void);
void __iomem *idxd_sim_map(struct idxd_device *idxd);
bool idxd_sim_unmap(struct idxd_device *idxd);
bool idxd_sim_command(struct idxd_device *idxd, u32 cmd);
bool idxd_sim_ack(struct idxd_device *idxd, u32 cause);
bool idxd_sim_submit(struct idxd_wq *wq, const void *desc);
void sim_interrupt(struct idxd_sim *sim, unsigned int vector);
void sim_halt(struct idxd_sim *sim, unsigned int reset_type);

int sim_engines_init(struct idxd_sim *sim);
void sim_engines_exit(struct idxd_sim *sim);
void sim_queue_push(struct idxd_sim *sim, unsigned int id, const struct iax_hw_desc *desc);
void sim_queue_drain(struct idxd_sim *sim, unsigned int id);
void sim_queue_abort(struct idxd_sim *sim, unsigned int id);
void sim_queue_count_abort(struct idxd_sim *sim, unsigned int id);

void sim_leave(struct idxd_sim *sim, enum sim_count how);
void sim_end(struct idxd_sim *sim, const struct iax_hw_desc *desc,
	     struct iax_completion_record *record, u8 status);

int sim_held_init(struct idxd_sim *sim);
void sim_held_exit(struct idxd_sim *sim);
void sim_hold(struct idxd_sim *sim, struct sim_queue *queue, u64 arrived,
	      const struct sim_held *held);
void sim_held_stop(struct idxd_sim *sim);
void sim_held_go(struct idxd_sim *sim, u64 now);
void sim_held_calibrate(struct idxd_sim *sim);
void sim_held_drop(struct idxd_sim *sim, struct sim_queue *queue);

void sim_debug_init(struct idxd_sim *sim);
void sim_debug_exit(struct idxd_sim *sim);
#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
static inline bool sim_should(struct idxd_sim *sim, enum sim_fault what)
{
	return should_fail(&sim->fault[what], 1);
}
#else
static inline bool sim_should(struct idxd_sim *sim, enum sim_fault what)
{
	return false;
}
#endif

#else /* !CONFIG_INTEL_IDXD_SIM */

static inline bool idxd_sim_named(struct pci_dev *pdev)
{
	return false;
}

static inline struct idxd_driver_data *idxd_sim_data(struct pci_dev *pdev,
						     struct idxd_driver_data *data,
						     struct idxd_driver_data *iax)
{
	return data;
}

static inline bool idxd_sim_wanted(void)
{
	return false;
}

static inline void __iomem *idxd_sim_map(struct idxd_device *idxd)
{
	return NULL;
}

static inline bool idxd_sim_unmap(struct idxd_device *idxd)
{
	return false;
}

static inline bool idxd_sim_command(struct idxd_device *idxd, u32 cmd)
{
	return false;
}

static inline bool idxd_sim_ack(struct idxd_device *idxd, u32 cause)
{
	return false;
}

static inline bool idxd_sim_submit(struct idxd_wq *wq, const void *desc)
{
	return false;
}

#endif /* CONFIG_INTEL_IDXD_SIM */
#endif /* _IDXD_SIM_H */
