// SPDX-License-Identifier: GPL-2.0
/*
 * A part of tlb.c: flush what reclaim has unmapped, and go on meanwhile.
 */

/**
 * DOC: Asynchronous TLB shootdown
 *
 * arch_tlbbatch_flush() sends interrupts to all CPUs that may have an entry for one of the pages
 * that a batch has unmapped, and spins until the last of them has flushed. An evictor has other
 * pages to unmap in this time. So arch_tlbbatch_flush_async() returns as soon as the interrupts are
 * sent, and each CPU acknowledges that it has flushed. This is the asynchronous shootdown of MAGE
 * (SOSP '25).
 *
 * Until all have acknowledged, CPUs read and write the pages by old entries. So no page may be
 * written to a device, freed, or put back where others find it before that.
 *
 * What counts is the number of CPUs that are to acknowledge:
 *
 * 1. With preemption off, no CPU leaves cpu_online_mask. One that leaves it later calls the
 *    functions that were queued for it as it dies. So each CPU that was counted acknowledges.
 * 2. CPUs in lazy mode are not counted, as in arch_tlbbatch_flush(). They compare generations
 *    before they use user space's addresses again; arch_tlbbatch_add_pending() has begun a new one.
 * 3. A CPU that acknowledges does not touch the request after it has decremented the count, since
 *    the sender may use it again, or return. So it reads who is to be woken before that. Its
 *    interrupts are off, which is an RCU read-side critical section, so that task is not freed.
 *
 * The state of a call_single_data says nothing here: it is unlocked before the function runs.
 */

#include <asm/tlb_async.h>

/* Flush, on a CPU that the interrupt has come to. */
static void tlb_async_ack(void *data)
{
	struct arch_tlbbatch_req *req = data;
	struct task_struct *sender = req->sender;

	flush_tlb_func(&req->info);
	/*
	 * Full barrier: accesses by old entries are before it (pairs with arch_tlbbatch_flushed()),
	 * and the sender's state is read after it (pairs with set_current_state() in
	 * arch_tlbbatch_wait()).
	 */
	if (atomic_dec_and_test(&req->pending))
		wake_up_process(sender);
}

/* Check whether flushing is interrupts, not what a hypervisor offers instead. */
static bool tlb_async_is_native(void)
{
#ifdef CONFIG_PARAVIRT
	return pv_ops.mmu.flush_tlb_multi == native_flush_tlb_multi;
#else
	return true;
#endif
}

/**
 * arch_tlbbatch_flush_async - flush what a batch has unmapped from TLBs, without waiting
 * @batch: from arch_tlbbatch_add_pending(). It is empty afterwards, and may be used again at once.
 * @req: the request, which nothing has been sent with or arch_tlbbatch_flushed() says is done
 *
 * The calling CPU has flushed on return. The task that calls it waits for the others with
 * arch_tlbbatch_wait(), or asks arch_tlbbatch_flushed(). If it only asks, it may be woken later,
 * while it waits for something else.
 *
 * Where a hypervisor flushes for the guest, its call is synchronous, and so is this function.
 *
 * Context: a task, interrupts enabled. Does not sleep. Spins as long as a CPU has not yet taken
 *	the function that this CPU has sent it before.
 * Return: true if others may be flushing, false if it was done synchronously.
 */
bool arch_tlbbatch_flush_async(struct arch_tlbflush_unmap_batch *batch,
			       struct arch_tlbbatch_req *req)
{
	struct cpumask *mask = &batch->cpumask;
	unsigned int cpu, self;

	if (!tlb_async_is_native()) {
		arch_tlbbatch_flush(batch);
		atomic_set(&req->pending, 0);
		return false;
	}
	self = get_cpu();
	req->info = (struct flush_tlb_info) {
		.end = TLB_FLUSH_ALL,
		.new_tlb_gen = TLB_GENERATION_INVALID,
		.initiating_cpu = self,
	};
	req->sender = current;
	if (cpumask_test_and_clear_cpu(self, mask)) {
		local_irq_disable();
		flush_tlb_func(&req->info);
		local_irq_enable();
	}
	/* Counted and traced as native_flush_tlb_multi() does, lazy CPUs or not */
	if (!cpumask_empty(mask)) {
		count_vm_tlb_event(NR_TLB_REMOTE_FLUSH);
		trace_tlb_flush(TLB_REMOTE_SEND_IPI, TLB_FLUSH_ALL);
	}
	for_each_cpu(cpu, mask) {
		if (!cpu_online(cpu) || !should_flush_tlb(cpu, &req->info))
			__cpumask_clear_cpu(cpu, mask);
	}
	atomic_set(&req->pending, cpumask_weight(mask));
	/* Queueing is a full barrier; its pair is llist_del_all() there. They see the request. */
	smp_call_function_many(mask, tlb_async_ack, req, false);
	cpumask_clear(mask);
	put_cpu();
	return true;
}

/**
 * arch_tlbbatch_wait - sleep until all CPUs have flushed
 * @req: what this task has sent by arch_tlbbatch_flush_async()
 *
 * CPUs acknowledge as soon as they take interrupts, so there is no limit of time.
 *
 * Context: may sleep. Only the task that has sent @req is woken.
 */
void arch_tlbbatch_wait(struct arch_tlbbatch_req *req)
{
	might_sleep();
	for (;;) {
		/* Pairs with the decrement in tlb_async_ack() */
		set_current_state(TASK_UNINTERRUPTIBLE);
		if (arch_tlbbatch_flushed(req))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
}
