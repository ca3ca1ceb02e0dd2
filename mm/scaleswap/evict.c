// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: the pipeline of an evictor.
 *
 * vmscan-evict.c has the part that needs the static functions of mm/vmscan.c.
 */

/**
 * DOC: Pipeline of an evictor
 *
 * Reclaim takes 32 pages off a list and unmaps them. It interrupts all CPUs that may have them in
 * their TLBs, waits, writes those that are dirty, puts these back on the list, and frees them when
 * it finds them again at the end of the list. With several threads there is an interrupt for each
 * dirty page, since each must have left the TLBs before it is written.
 *
 * An evictor collects what it has unmapped in batches, as MAGE does (SOSP '25):
 *
 * 1. Unmap. Folios that could be evicted are unlocked and held, from as many isolations as it
 *    takes. The CPUs to flush are noted.
 * 2. With %SSW_BATCH_PAGES pages, flush: one interrupt for each CPU. Nobody waits for it; meanwhile
 *    the evictor fills the next batch.
 * 3. Write what is dirty, free what is clean, put back what is in use again.
 * 4. When the writes are done, free what they wrote. It has not been on a list meanwhile.
 *
 * Each of the steps 1, 3, 4 is a call of shrink_folio_list(), with other limits of what it may do.
 */

/**
 * DOC: Invariants of the pipeline
 *
 * 1. A folio that has been unmapped is not written, freed, or put back on a list before all CPUs
 *    have flushed. That holds for folios which could be unmapped only in part, too: another task
 *    that reclaims would not know of the flush.
 * 2. The reference of its isolation keeps a folio from being freed, split and isolated by others,
 *    and in its memcg. It is not locked: it may be mapped again, and freed by its owners. So each
 *    step looks at all its state again.
 * 3. Who moves a swap entry to another address, or changes what it refers to, flushes what is
 *    pending for the address space first: flush_tlb_batched_pending(). A CPU could else write by
 *    the old address to what is elsewhere already. The folio's lock prevents that without
 *    evictors, since it is held until TLBs are flushed.
 * 4. Page cache is not held: its pages are flushed before shrink_folio_list() returns, as without
 *    a pipeline. Writeback of a file could clean a folio that is unmapped, while a CPU writes to it
 *    by an old entry.
 * 5. A batch is filled again after all its bios are done. If they take more than %SSW_BATCH_IO_MS,
 *    its folios go back to their lists, as all written ones do without a pipeline. An evictor whose
 *    batches all wait for bios evicts without one.
 * 6. Folios count as isolated until they are freed or put back.
 */

/**
 * DOC: What may happen to a folio that is held
 *
 * Its entries in page tables are gone and CPUs may use it. It is in the swap cache, or in the page
 * cache if it is shmem, and not locked.
 *
 * - A fault maps the same folio again. Who reads and writes it by an old entry does the same as by
 *   the new one. A fault that copies finds the folio not exclusive, so old entries only read; and
 *   it flushes the address before it lets anyone write to the copy.
 * - fork() copies swap entries, and flushes the parent before it returns.
 * - munmap(), mprotect(), mremap(), MADV_DONTNEED and the like flush what is pending before they
 *   change a page table: flush_tlb_batched_pending(). So do holes in files, with each mm that maps
 *   them, and UFFDIO_WRITEPROTECT.
 * - UFFDIO_MOVE does so too, with scaleswap=evict.
 * - Compaction, memory offlining and khugepaged find it isolated and fail, as with any folio that
 *   reclaim has isolated, and may try again.
 * - swapoff maps it again, or frees it.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/cgroup.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/memcontrol.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>

#include "evict.h"
#include "internal.h"

#include <trace/events/scaleswap.h>

DEFINE_STATIC_KEY_FALSE(scaleswap_evict_key);

/* For tests: how long an evictor waits until it sends a flush. CPUs use old entries meanwhile. */
static u32 ssw_evict_delay_ms;

/**
 * ssw_pipe_create - create a pipeline
 * @task: its evictor
 *
 * Context: process context, may sleep.
 * Return: the pipeline with a reference, or NULL if there is no memory.
 */
struct scaleswap_pipe *ssw_pipe_create(struct task_struct *task)
{
	struct scaleswap_pipe *pipe = kzalloc(sizeof(*pipe), GFP_KERNEL);
	unsigned int i;

	if (!pipe)
		return NULL;
	kref_init(&pipe->ref);
	pipe->task = get_task_struct(task);
	INIT_LIST_HEAD(&pipe->held);
	INIT_LIST_HEAD(&pipe->back);
	for (i = 0; i < SSW_PIPE_BATCHES; i++)
		pipe->batch[i].span.pipe = pipe;
	pipe->filling = &pipe->batch[0];
	pipe->filling->state = SSW_BATCH_FILLING;
	return pipe;
}

static void ssw_pipe_release(struct kref *ref)
{
	struct scaleswap_pipe *pipe = container_of(ref, struct scaleswap_pipe, ref);

	put_task_struct(pipe->task);
	kfree(pipe);
}

/**
 * ssw_pipe_put - drop a reference to a pipeline
 * @pipe: the pipeline; it has no folios if this is the evictor's reference
 *
 * Context: any.
 */
void ssw_pipe_put(struct scaleswap_pipe *pipe)
{
	kref_put(&pipe->ref, ssw_pipe_release);
}

static void ssw_batch_flush(struct ssw_batch *batch)
{
	batch->unsent = 0;
	if (batch->flush)
		arch_tlbbatch_flush_async(&batch->tlb, &batch->req);
	else
		atomic_set(&batch->req.pending, 0);
	batch->flush = false;
}

/**
 * ssw_batch_send - have CPUs flush what a batch has unmapped
 * @batch: the batch that was filled
 *
 * Context: the evictor, interrupts enabled.
 */
void ssw_batch_send(struct ssw_batch *batch)
{
	u32 delay = READ_ONCE(ssw_evict_delay_ms);

	batch->state = SSW_BATCH_FLUSHING;
	batch->seq = batch->span.pipe->seq++;
	ssw_stat_add(SSW_EVICT_BATCHES, 1);
	if (delay)
		batch->unsent = (jiffies + msecs_to_jiffies(delay)) | 1;
	else
		ssw_batch_flush(batch);
}

/**
 * ssw_batch_flushed - check whether no CPU uses what a batch has unmapped
 * @batch: a batch that was sent
 *
 * Context: the evictor.
 * Return: true if all CPUs have flushed.
 */
bool ssw_batch_flushed(struct ssw_batch *batch)
{
	if (batch->unsent) {
		if (time_before(jiffies, batch->unsent))
			return false;
		ssw_batch_flush(batch);
	}
	return arch_tlbbatch_flushed(&batch->req);
}

/**
 * ssw_batch_wait_flushed - wait until no CPU uses what a batch has unmapped
 * @batch: a batch that was sent
 *
 * Context: the evictor; sleeps.
 */
void ssw_batch_wait_flushed(struct ssw_batch *batch)
{
	if (batch->unsent) {
		long left = batch->unsent - jiffies;

		if (left > 0)
			schedule_timeout_uninterruptible(left);
		ssw_batch_flush(batch);
	}
	arch_tlbbatch_wait(&batch->req);
}

/**
 * ssw_span_begin - begin to collect the bios of a batch
 * @span: of the batch; all former bios are done
 *
 * Until ssw_span_put(), which ends that, it is not done.
 *
 * Context: the evictor.
 */
void ssw_span_begin(struct scaleswap_span *span)
{
	kref_get(&span->pipe->ref);
	atomic_set(&span->bios, 1);
}

/**
 * ssw_span_get - count a bio of a batch
 * @span: from ssw_span_current()
 *
 * Context: the evictor, between ssw_span_begin() and its ssw_span_put().
 */
void ssw_span_get(struct scaleswap_span *span)
{
	if (!span)
		return;
	kref_get(&span->pipe->ref);
	atomic_inc(&span->bios);
}

/**
 * ssw_span_put - count that a bio is done
 * @span: from ssw_span_current(), counted by ssw_span_get(); or NULL
 *
 * Context: any.
 */
void ssw_span_put(struct scaleswap_span *span)
{
	struct scaleswap_pipe *pipe;

	if (!span)
		return;
	pipe = span->pipe;
	/*
	 * Full barrier: the end of writeback is before it, and the task's state is read after it.
	 * Pairs with set_current_state() in ssw_span_wait() and the acquire in ssw_span_done().
	 */
	if (atomic_dec_and_test(&span->bios))
		wake_up_process(pipe->task);
	ssw_pipe_put(pipe);
}

/**
 * ssw_span_done - check whether all bios of a batch are done
 * @span: of the batch
 *
 * Context: any.
 * Return: true if they are. Then the end of writeback of their folios is seen, too.
 */
bool ssw_span_done(const struct scaleswap_span *span)
{
	return !atomic_read_acquire(&span->bios);
}

/**
 * ssw_span_wait - wait until all bios of a batch are done, or for %SSW_BATCH_IO_MS
 * @span: of the batch
 *
 * Context: the evictor; sleeps.
 */
void ssw_span_wait(const struct scaleswap_span *span)
{
	long left = msecs_to_jiffies(SSW_BATCH_IO_MS);

	while (left) {
		/* Pairs with the decrement in ssw_span_put() */
		set_current_state(TASK_UNINTERRUPTIBLE);
		if (ssw_span_done(span))
			break;
		left = io_schedule_timeout(left);
	}
	__set_current_state(TASK_RUNNING);
}

/* --- walks of page tables ----------------------------------------------------------- */

/**
 * ssw_walk_wait - wait until no evictor walks page tables of a memcg and node
 * @evictors: how many do
 * @timeout: jiffies to wait at most
 *
 * Context: process context, may sleep.
 * Return: true; false if @timeout has passed and an evictor still walks.
 */
bool ssw_walk_wait(atomic_t *evictors, long timeout)
{
	return wait_var_event_timeout(evictors, !atomic_read(evictors), timeout);
}

/**
 * ssw_walk_leave - end an evictor's part of a walk of page tables
 * @evictors: how many evictors walk, and this one
 * @timeout: jiffies to wait at most
 *
 * Who gets to the end of the list of processes begins a generation, and all others stop where they
 * are. Pages that they have not got to keep their accessed bits. So the next walk would take them
 * for younger than those that others have got to. Evictors wait for each other instead. If one
 * takes longer than @timeout, since tasks of a higher priority keep it off its CPU, the generation
 * begins without the rest of its walk, as it does for tasks.
 *
 * Context: process context, may sleep.
 * Return: true; false if @timeout has passed and an evictor still walks.
 */
bool ssw_walk_leave(atomic_t *evictors, long timeout)
{
	int others = atomic_dec_return(evictors);

	trace_scaleswap_evict_walk(others);
	if (others)
		return ssw_walk_wait(evictors, timeout);
	/* Pairs with the barrier in wait_var_event_timeout(): that sees 0, or this who waits. */
	wake_up_var(evictors);
	return true;
}

/* --- debugfs ------------------------------------------------------------------------ */

/* Evict pages of a cgroup: its number, which is the inode of its directory, and how many pages. */
static ssize_t ssw_evict_write(struct file *file, const char __user *ubuf, size_t count,
			       loff_t *ppos)
{
	struct cgroup_subsys_state *css;
	unsigned long nr_pages;
	struct cgroup *cgrp;
	char buf[48], more;
	long freed;
	u64 id;

	if (*ppos || count >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, count))
		return -EFAULT;
	buf[count] = '\0';
	if (sscanf(buf, "%llu %lu %c", &id, &nr_pages, &more) != 2 ||
	    !nr_pages || nr_pages > LONG_MAX) {
		pr_warn_ratelimited("evict takes the inode number of a cgroup's directory, and pages\n");
		return -EINVAL;
	}
	cgrp = cgroup_get_from_id(id);
	if (IS_ERR(cgrp))
		return PTR_ERR(cgrp);
	css = cgroup_get_e_css(cgrp, &memory_cgrp_subsys);
	cgroup_put(cgrp);
	if (!css)
		return -ENOENT;
	freed = ssw_evict_memcg(mem_cgroup_from_css(css), nr_pages);
	css_put(css);
	if (freed < 0)
		return freed;
	if (freed >= (long)nr_pages)
		return count;
	return signal_pending(current) ? -EINTR : -EAGAIN;
}

static const struct file_operations ssw_evict_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = ssw_evict_write,
};

static int __init ssw_evict_init(void)
{
	struct dentry *dir;

	if (!ssw_boot_has(SSW_MECH_EVICT) || !scaleswap_on())
		return 0;
	static_branch_enable(&scaleswap_evict_key);
	if (ssw_evictd_init())
		pr_warn("not all evictors could be started; see evict/threads\n");
	dir = debugfs_lookup("scaleswap", NULL);
	debugfs_create_file("evict", 0200, dir, NULL, &ssw_evict_fops);
	if (IS_ENABLED(CONFIG_FAULT_INJECTION_DEBUG_FS)) {
		debugfs_create_u32("evict_delay_ms", 0600, dir, &ssw_evict_delay_ms);
		debugfs_create_bool("evict_pause", 0600, dir, &ssw_evict_paused);
	}
	dput(dir);
	return 0;
}
late_initcall_sync(ssw_evict_init);
