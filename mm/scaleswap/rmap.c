// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: a small number for an mm, to go into a slot's word.
 *
 * An mm gets its number when a page of it is first swapped out to a per-core
 * area, and keeps it until it is freed. By then its page tables refer to no swap
 * slot. A word may have the number all the same: that of a slot of which one of two
 * references is gone keeps the note of the one, and may name an mm that is no more. So
 * numbers are given out in turn, and it takes millions of mms until such a word names
 * another mm. Whoever follows a note looks if the entry is there.
 */
#include <linux/mm_types.h>
#include <linux/sched/mm.h>
#include <linux/xarray.h>

#include "internal.h"

static DEFINE_XARRAY_ALLOC1(ssw_mms);
static u32 ssw_mm_next;

/**
 * ssw_mm_id - get the number of an mm
 * @mm: the mm
 *
 * Context: any but interrupts; does not sleep.
 * Return: the number, or 0 if it has none and none could be allocated.
 */
u32 ssw_mm_id(struct mm_struct *mm)
{
	u32 id = READ_ONCE(mm->scaleswap_id);
	u32 new;

	if (likely(id))
		return id;
	/* The value is 1, no error, when numbers begin at 1 again. */
	if (xa_alloc_cyclic(&ssw_mms, &new, mm, XA_LIMIT(1, SSW_WORD_MM_MAX), &ssw_mm_next,
			    GFP_NOWAIT | __GFP_HIGH | __GFP_NOWARN) < 0)
		return 0;
	/* Another CPU may be unmapping a page of the same mm. */
	id = cmpxchg(&mm->scaleswap_id, 0, new);
	if (!id)
		return new;
	xa_erase(&ssw_mms, new);
	return id;
}

/**
 * ssw_mm_get - get the mm that has a number
 * @id: the number, of a slot's word
 *
 * The lock of the numbers keeps the mm meanwhile: __mmdrop() takes it to give the number back, and
 * frees the mm after that.
 *
 * Context: any but interrupts; does not sleep.
 * Return: the mm, with a reference for mmput(), or NULL if none has the number or it is exiting.
 */
struct mm_struct *ssw_mm_get(u32 id)
{
	struct mm_struct *mm;

	xa_lock(&ssw_mms);
	mm = xa_load(&ssw_mms, id);
	if (mm && !mmget_not_zero(mm))
		mm = NULL;
	xa_unlock(&ssw_mms);
	return mm;
}

/* See scaleswap_mm_init(). */
void __scaleswap_mm_init(struct mm_struct *mm)
{
	mm->scaleswap_id = 0;
}

/* See scaleswap_mm_free(). */
void __scaleswap_mm_free(struct mm_struct *mm)
{
	if (mm->scaleswap_id)
		xa_erase(&ssw_mms, mm->scaleswap_id);
}
