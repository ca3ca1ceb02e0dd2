/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_TLB_ASYNC_H
#define _ASM_X86_TLB_ASYNC_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/types.h>

#include <asm/tlbbatch.h>
#include <asm/tlbflush.h>

struct task_struct;

/**
 * struct arch_tlbbatch_req - a flush of TLBs that its sender does not wait for at once
 * @info: what to flush. arch_tlbbatch_flush() uses one of the CPU, which it may not give to
 *	others longer than it keeps that CPU.
 * @pending: CPUs that have not flushed yet
 * @sender: who sent it, and is woken when @pending gets 0
 *
 * From arch_tlbbatch_flush_async() until arch_tlbbatch_flushed() says so, it belongs to the CPUs
 * that are to flush: it must not be changed, freed or sent again. It may be on the stack.
 */
struct arch_tlbbatch_req {
	struct flush_tlb_info info;
	atomic_t pending;
	struct task_struct *sender;
};

bool arch_tlbbatch_flush_async(struct arch_tlbflush_unmap_batch *batch,
			       struct arch_tlbbatch_req *req);
void arch_tlbbatch_wait(struct arch_tlbbatch_req *req);

/**
 * arch_tlbbatch_flushed - check whether no CPU uses any longer what a batch has unmapped
 * @req: what arch_tlbbatch_flush_async() has sent
 *
 * Context: any.
 * Return: true if all CPUs have flushed. Then what they did by the old entries is seen, too.
 */
static inline bool arch_tlbbatch_flushed(const struct arch_tlbbatch_req *req)
{
	/* Pairs with the decrement in tlb_async_ack() */
	return !atomic_read_acquire(&req->pending);
}

/**
 * arch_tlbbatch_move - let one batch flush what another one has to
 * @to: the one
 * @from: the other; it is empty afterwards
 *
 * Context: any in which nobody else uses them.
 */
static inline void arch_tlbbatch_move(struct arch_tlbflush_unmap_batch *to,
				      struct arch_tlbflush_unmap_batch *from)
{
	cpumask_or(&to->cpumask, &to->cpumask, &from->cpumask);
	cpumask_clear(&from->cpumask);
}

#endif /* _ASM_X86_TLB_ASYNC_H */
