// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: a small number for an mm, to go into a slot's word.
 *
 * An mm gets its number when a page of it is first swapped out to a per-core
 * area, and keeps it until it is freed. By then its page tables refer to no swap
 * slot, so no word has the number, and another mm can get it.
 */
#include <linux/mm_types.h>
#include <linux/xarray.h>

#include "internal.h"

static DEFINE_XARRAY_ALLOC1(ssw_mms);

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
	if (xa_alloc(&ssw_mms, &new, mm, XA_LIMIT(1, (1U << SSW_WORD_MM_BITS) - 1),
		     GFP_NOWAIT | __GFP_HIGH | __GFP_NOWARN))
		return 0;
	/* Another CPU may be unmapping a page of the same mm. */
	id = cmpxchg(&mm->scaleswap_id, 0, new);
	if (!id)
		return new;
	xa_erase(&ssw_mms, new);
	return id;
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
