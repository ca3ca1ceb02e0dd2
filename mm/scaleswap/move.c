// SPDX-License-Identifier: GPL-2.0
/*
 * ScaleSwap: moving slots while they are in use.
 */

/**
 * DOC: Moving a slot
 *
 * VSwap moves swapped pages on the device, with a map from slots to page table entries. Here the
 * word of a slot has that, as a hint (slot.h).
 *
 * A mover tags slots (SSW_WORD_MOVING), gets slots elsewhere, copies what the tagged ones hold, and
 * then looks at each one's page table entry under its lock. If that refers to the slot, and the
 * word has kept its tag, the mover claims the slot by one compare-and-exchange, has the entry refer
 * to the new slot, and frees the old one. Everything else that uses a slot drops the tag, so it
 * wins and never waits for a mover: a fault, readahead, fork, munmap, writeback of zswap.
 *
 * Why that is right:
 *
 * 1. What a slot holds changes only while it is in the swap cache, or free. So a slot that has kept
 *    its tag holds what the mover has copied. If the mover has read it in between changes, the tag
 *    is gone.
 * 2. The entry refers to the slot, and the word counts one reference. So there is no other one,
 *    whatever the note says: fork() adds one under the lock that is held.
 * 3. From the claim on the old slot is SSW_KIND_FREEING, as the new one has been. Every other
 *    operation is refused there. A thread that has read the page table before finds this out, waits
 *    for the lock, and finds another entry.
 * 4. The new slot comes into use before its entry refers to it, and both while the lock is held.
 * 5. A note that is wrong costs a look. mremap() and UFFDIO_MOVE have left it behind; such slots
 *    stay where they are.
 *
 * A slot of shmem has an entry in the page cache of a file instead, which is changed under the lock
 * of that (shmem-note.c). Faults look at it without the lock. So there is one thing more:
 *
 * 6. A fault may have found the old slot there, and then that it is not in use. It looks again
 *    after the lock was free (scaleswap_shmem_settle()), and finds the new slot.
 *
 * zswap's entry cannot be moved under that lock. So the new slot has the bit of the swap cache
 * until that was done, with preemption off: a fault tries again.
 *
 * A batch is moved at a time: its pages are read by one bio for each run of neighbours, and written
 * by one bio for each run of new slots. Both have the idle priority. No mm is held meanwhile.
 *
 * Order of locks: ssw_move_mutex, mmap_lock (tried for only), page table, tree of zswap. And
 * ssw_move_mutex, numbers of inodes, page cache of a file.
 */
#define pr_fmt(fmt) "scaleswap: " fmt

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/freezer.h>
#include <linux/hugetlb.h>
#include <linux/ioprio.h>
#include <linux/mm.h>
#include <linux/oom.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/zswap.h>

#include "../internal.h"
#include "../swap.h"
#include "internal.h"

#include <trace/events/scaleswap.h>

/* How often to try for the lock of an mm whose lock another thread holds for writing */
#define SSW_MOVE_TRIES		3

/**
 * struct ssw_move_bio - a bio for slots of a batch
 * @m: the batch
 * @first: the first of them
 * @nr: how many
 * @bio: the bio
 */
struct ssw_move_bio {
	struct ssw_mover *m;
	unsigned int first;
	unsigned int nr;
	struct bio bio;
};

static struct bio_set ssw_move_bios;

/**
 * ssw_move_init - prepare to move slots
 *
 * Context: boot.
 * Return: 0 or -ENOMEM.
 */
int __init ssw_move_init(void)
{
	return bioset_init(&ssw_move_bios, 2, offsetof(struct ssw_move_bio, bio),
			   BIOSET_NEED_BVECS);
}

/**
 * ssw_mover_free - free a mover
 * @m: the mover, without a batch; or NULL
 *
 * Context: process context.
 */
void ssw_mover_free(struct ssw_mover *m)
{
	if (!m)
		return;
	ssw_mover_set_batch(m, 0);
	ssw_table_free(m->table);
	kvfree(m);
}

/**
 * ssw_mover_alloc - have what it takes to move slots
 * @batch: most slots at a time, from SSW_MOVE_BATCH_MIN to SSW_MOVE_BATCH_MAX
 *
 * The caller sets ssw_mover.area.
 *
 * Context: process context, sleeps.
 * Return: the mover, or NULL if there is no memory.
 */
struct ssw_mover *ssw_mover_alloc(unsigned int batch)
{
	struct ssw_mover *m = kvzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return NULL;
	init_completion(&m->done);
	/* What is moved must not depend on there being memory later. */
	m->table = ssw_table_alloc(GFP_KERNEL);
	for (; m->table && m->batch < batch; m->batch++) {
		m->folio[m->batch] = folio_alloc(GFP_KERNEL, 0);
		if (!m->folio[m->batch])
			break;
	}
	if (!m->table || m->batch < batch) {
		ssw_mover_free(m);
		return NULL;
	}
	return m;
}

/**
 * ssw_mover_set_batch - change how many slots are moved at a time
 * @m: the mover, without a batch
 * @batch: most slots at a time; fewer if there is no memory for that
 *
 * Context: any; does not sleep.
 */
void ssw_mover_set_batch(struct ssw_mover *m, unsigned int batch)
{
	for (; m->batch > batch; m->batch--) {
		struct folio *folio = m->folio[m->batch - 1];

		m->folio[m->batch - 1] = NULL;
		folio->swap.val = 0;
		folio_put(folio);
	}
	for (; m->batch < batch; m->batch++) {
		m->folio[m->batch] = folio_alloc(GFP_NOWAIT | __GFP_NOWARN, 0);
		if (!m->folio[m->batch])
			break;
	}
}

static swp_entry_t ssw_move_from(const struct ssw_mover *m, const struct ssw_move *mv)
{
	return swp_entry(m->area->si->type, mv->from);
}

static swp_entry_t ssw_move_to(const struct ssw_mover *m, const struct ssw_move *mv)
{
	return swp_entry(m->to->si->type, mv->to);
}

static unsigned long ssw_move_addr(const struct ssw_move *mv)
{
	return ssw_word_vpn(mv->word) << PAGE_SHIFT;
}

/*
 * Leave a slot where it is. A wrong note stays wrong, a large entry of shmem mostly stays large,
 * and what cannot be read stays unreadable, until the slot is used. Its tag says so to the next
 * pass, which would do all of this in vain.
 */
static void ssw_move_skip(struct ssw_mover *m, struct ssw_move *mv, enum ssw_stat_item reason)
{
	if (reason != SSW_MOVE_STALE && reason != SSW_MOVE_MM_GONE && reason != SSW_MOVE_SHMEM &&
	    reason != SSW_MOVE_READ_ERROR) {
		rcu_read_lock();
		ssw_slot_untag(m->area->slots, mv->from, mv->word);
		rcu_read_unlock();
	}
	if (reason == SSW_MOVE_READ_ERROR && m->unreadable)
		m->unreadable(m, mv);
	mv->state = SSW_MOVE_SKIPPED;
	ssw_stat_add(reason, 1);
	trace_scaleswap_move_skip(m->area->si->type, mv->from, reason);
}

/* --- places ------------------------------------------------------------------- */

static enum ssw_move_kind ssw_move_find(const struct ssw_mover *m, const struct ssw_move *mv)
{
	if (test_bit(mv->from, m->area->si->zeromap))
		return SSW_MOVE_ZERO;
	if (!zswap_never_enabled() && scaleswap_zswap_has(ssw_move_from(m, mv)))
		return SSW_MOVE_ZSWAP;
	return SSW_MOVE_DATA;
}

/*
 * By kind, so that what is written is in a row; then page table entries before shmem; then by mm
 * and address, as words compare.
 */
static int ssw_move_cmp(const void *a, const void *b)
{
	const struct ssw_move *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind - y->kind;
	if (ssw_word_kind(x->word) != ssw_word_kind(y->word))
		return (int)ssw_word_kind(x->word) - (int)ssw_word_kind(y->word);
	return x->word < y->word ? -1 : x->word > y->word;
}

/* Get slots of the same area, at most @nr. Return how many, -ENOSPC or -ENOMEM. */
static int ssw_place_here(struct ssw_mover *m, unsigned int nr, unsigned int *slot)
{
	struct ssw_slots *slots = m->area->slots;
	unsigned int got;

	m->to = m->area;
	if (!m->table)
		m->table = ssw_table_alloc(0);
	/* Until they are counted: ssw_drain_set() waits for that. */
	rcu_read_lock();
	ssw_token_get(slots);
	got = ssw_cluster_alloc_moved(slots, nr, &m->table, slot);
	/* What moves have emptied may still be in the queue. */
	if (!got && ssw_drain(slots, NULL, SSW_BY_HOLDER))
		got = ssw_cluster_alloc_moved(slots, nr, &m->table, slot);
	ssw_token_release(slots);
	if (got)
		ssw_nr_swap_add(-(long)got);
	rcu_read_unlock();
	if (got)
		return got;
	return m->table ? -ENOSPC : -ENOMEM;
}

/*
 * Find a place for each slot. What it holds cannot change without its tag being dropped.
 * Return 0, -ENOSPC or -ENOMEM.
 */
static int ssw_moves_place(struct ssw_mover *m)
{
	unsigned int at = 0;
	int err = 0;

	for (unsigned int i = 0; i < m->nr; i++)
		m->move[i].kind = ssw_move_find(m, &m->move[i]);
	sort(m->move, m->nr, sizeof(*m->move), ssw_move_cmp, NULL);
	while (at < m->nr) {
		unsigned int slot;
		int got = m->place ? m->place(m, &slot) : ssw_place_here(m, m->nr - at, &slot);

		if (got < 0) {
			err = got;
			break;
		}
		while (got--)
			m->move[at++].to = slot++;
	}
	m->placed += at;
	while (at < m->nr)
		ssw_move_skip(m, &m->move[at++],
			      err == -ENOSPC ? SSW_MOVE_NO_SLOT : SSW_MOVE_NO_MEMORY);
	return err;
}

/* What needs no device gets what its new slot has to have. */
static void ssw_moves_prepare(struct ssw_mover *m)
{
	for (unsigned int i = 0; i < m->nr; i++) {
		struct ssw_move *mv = &m->move[i];

		if (mv->state != SSW_MOVE_READY)
			continue;
		if (mv->kind == SSW_MOVE_ZERO)
			set_bit(mv->to, m->to->si->zeromap);
		else if (mv->kind == SSW_MOVE_ZSWAP &&
			 scaleswap_zswap_reserve(ssw_move_to(m, mv)))
			ssw_move_skip(m, mv, SSW_MOVE_NO_MEMORY);
	}
}

/* --- I/O ---------------------------------------------------------------------- */

static void ssw_move_put(struct ssw_mover *m)
{
	if (atomic_dec_and_test(&m->pending))
		complete(&m->done);
}

static void ssw_move_bio_end(struct bio *bio)
{
	struct ssw_move_bio *b = container_of(bio, struct ssw_move_bio, bio);
	struct ssw_mover *m = b->m;

	if (unlikely(bio->bi_status)) {
		for (unsigned int i = 0; i < b->nr; i++)
			WRITE_ONCE(m->move[b->first + i].state, SSW_MOVE_FAILED);
	}
	bio_put(bio);
	ssw_move_put(m);
}

static struct ssw_move_bio *ssw_move_bio_alloc(struct ssw_mover *m, blk_opf_t opf,
					       unsigned int first, sector_t sector)
{
	struct ssw_move_bio *b;
	struct bio *bio;

	/* The pool always has one in the end: the others are under way. */
	bio = bio_alloc_bioset(op_is_write(opf) ? m->to->si->bdev : m->area->si->bdev,
			       min(m->nr - first, (unsigned int)BIO_MAX_VECS),
			       opf | REQ_BACKGROUND, GFP_NOIO, &ssw_move_bios);
	bio->bi_iter.bi_sector = sector;
	bio->bi_end_io = ssw_move_bio_end;
	bio->bi_ioprio = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0);
	b = container_of(bio, struct ssw_move_bio, bio);
	b->m = m;
	b->first = first;
	b->nr = 0;
	atomic_inc(&m->pending);
	return b;
}

/*
 * Wait for the device. It may not answer for long, which is no fault of a thread that moves slots
 * by itself: it does not count as hung, and can be frozen meanwhile. Nobody else sleeps for the
 * mutex that it holds; and who suspends the machine waits for the device elsewhere.
 */
static void ssw_moves_wait(struct ssw_mover *m)
{
	if (current->flags & PF_KTHREAD)
		wait_for_completion_state(&m->done, TASK_IDLE | TASK_FREEZABLE_UNSAFE);
	else
		wait_for_completion_io(&m->done);
}

/* Read or write the slots in a state, in runs or one by one, and wait for that. */
static void ssw_moves_io(struct ssw_mover *m, enum req_op op, enum ssw_move_state which)
{
	bool alone = which == SSW_MOVE_FAILED;
	/* One request each, too: it would fail as a whole. */
	blk_opf_t opf = op | (alone ? REQ_NOMERGE : 0);
	struct ssw_move_bio *b = NULL;
	struct blk_plug plug;
	unsigned int nr = 0;

	atomic_set(&m->pending, 1);
	reinit_completion(&m->done);
	blk_start_plug(&plug);
	for (unsigned int i = 0; i < m->nr; i++) {
		struct ssw_move *mv = &m->move[i];
		struct folio *folio = m->folio[i];
		sector_t sector;

		if (mv->kind != SSW_MOVE_DATA || READ_ONCE(mv->state) != which)
			continue;
		mv->state = SSW_MOVE_READY;
		folio->swap = op == REQ_OP_READ ? ssw_move_from(m, mv) : ssw_move_to(m, mv);
		sector = swap_folio_sector(folio);
		if (b && (alone || b->nr == BIO_MAX_VECS || b->first + b->nr != i ||
			  bio_end_sector(&b->bio) != sector)) {
			submit_bio(&b->bio);
			b = NULL;
		}
		if (!b)
			b = ssw_move_bio_alloc(m, opf, i, sector);
		bio_add_folio_nofail(&b->bio, folio, PAGE_SIZE, 0);
		b->nr++;
		nr++;
	}
	if (b)
		submit_bio(&b->bio);
	blk_finish_plug(&plug);
	ssw_move_put(m);
	ssw_moves_wait(m);
	ssw_stat_add(op == REQ_OP_READ ? SSW_MOVE_READ : SSW_MOVE_WRITTEN, nr << PAGE_SHIFT);
	m->bytes += nr << PAGE_SHIFT;
}

/*
 * The same, and what fails once more by itself: mostly only one page of a bio is bad. Return 0, or
 * -EIO if all have failed.
 */
static int ssw_moves_do(struct ssw_mover *m, enum req_op op, enum ssw_stat_item reason)
{
	unsigned int good = 0, failed = 0;

	ssw_moves_io(m, op, SSW_MOVE_READY);
	for (unsigned int i = 0; i < m->nr; i++)
		failed += m->move[i].state == SSW_MOVE_FAILED;
	if (likely(!failed))
		return 0;
	ssw_moves_io(m, op, SSW_MOVE_FAILED);
	for (unsigned int i = 0; i < m->nr; i++) {
		if (m->move[i].state == SSW_MOVE_FAILED)
			ssw_move_skip(m, &m->move[i], reason);
		else
			good += m->move[i].kind == SSW_MOVE_DATA &&
				m->move[i].state == SSW_MOVE_READY;
	}
	return good ? 0 : -EIO;
}

/* --- commit ------------------------------------------------------------------- */

/* Move what belongs to a slot but its data. Both slots are the caller's. */
static void ssw_move_rest(struct ssw_mover *m, const struct ssw_move *mv)
{
	struct ssw_table *from = ssw_slot_table(m->area->slots, mv->from);
	struct ssw_table *to = ssw_slot_table(m->to->slots, mv->to);
	unsigned int i = mv->from % SSW_CLUSTER_SLOTS, j = mv->to % SSW_CLUSTER_SLOTS;

#ifdef CONFIG_MEMCG
	WRITE_ONCE(to->memcg[j], xchg(&from->memcg[i], 0));
#endif
	/* A shadow, or nothing: the slot is not in the swap cache. */
	if (from->cache[i]) {
		WRITE_ONCE(to->cache[j], from->cache[i]);
		WRITE_ONCE(from->cache[i], NULL);
	}
	if (mv->kind == SSW_MOVE_ZSWAP)
		scaleswap_zswap_move(ssw_move_from(m, mv), ssw_move_to(m, mv));
}

/* Have a page table entry, which is locked, refer to the new slot. */
static void ssw_move_commit(struct ssw_mover *m, struct mm_struct *mm, unsigned long addr,
			    pte_t *ptep, struct ssw_move *mv)
{
	pte_t old = ptep_get(ptep);

	if (!is_swap_pte(old) || pte_to_swp_entry(old).val != ssw_move_from(m, mv).val) {
		ssw_move_skip(m, mv, SSW_MOVE_STALE);
		return;
	}
	rcu_read_lock();
	if (!ssw_slot_claim(m->area->slots, mv->from, mv->word)) {
		rcu_read_unlock();
		ssw_move_skip(m, mv, SSW_MOVE_RACED);
		return;
	}
	ssw_move_rest(m, mv);
	/* Barrier G. */
	ssw_slot_arrive(m->to->slots, mv->to, mv->word & ~SSW_WORD_MOVING);
	rcu_read_unlock();

	set_pte_at(mm, addr, ptep, ssw_pte_moved(old, ssw_move_to(m, mv)));
	mv->state = SSW_MOVE_DONE;
}

/*
 * Move slots whose page table entries are in the table of addr, the first one's address. Return
 * the first one that is elsewhere, or from if there is no such table.
 */
static unsigned int ssw_moves_table(struct ssw_mover *m, struct vm_area_struct *vma,
				    unsigned long addr, unsigned int from, unsigned int to)
{
	unsigned long end = pmd_addr_end(addr, vma->vm_end);
	pmd_t *pmd = mm_find_pmd(vma->vm_mm, addr);
	spinlock_t *ptl;	/* of the page table */
	pte_t *start;

	if (!pmd)
		return from;
	start = pte_offset_map_lock(vma->vm_mm, pmd, addr, &ptl);
	if (!start)
		return from;
	/* sparse sees the unlock, but not that the inline function above has locked. */
	__acquire(ptl);
	for (; from < to && ssw_move_addr(&m->move[from]) < end; from++) {
		unsigned long at = ssw_move_addr(&m->move[from]);

		if (m->move[from].state == SSW_MOVE_READY)
			ssw_move_commit(m, vma->vm_mm, at, start + ((at - addr) >> PAGE_SHIFT),
					&m->move[from]);
	}
	pte_unmap_unlock(start, ptl);
	return from;
}

/* Move slots of one mm, which is locked for reading. */
static void ssw_moves_mm(struct ssw_mover *m, struct mm_struct *mm, unsigned int from,
			 unsigned int to)
{
	while (from < to) {
		unsigned long addr = ssw_move_addr(&m->move[from]);
		struct vm_area_struct *vma = vma_lookup(mm, addr);
		unsigned int next = from;

		if (m->move[from].state != SSW_MOVE_READY) {
			from++;
			continue;
		}
		/* The page tables of other mappings may have other leaves. */
		if (vma && vma->anon_vma && !is_vm_hugetlb_page(vma))
			next = ssw_moves_table(m, vma, addr, from, to);
		if (next == from)
			ssw_move_skip(m, &m->move[next++], SSW_MOVE_STALE);
		from = next;
	}
}

static void ssw_moves_skip(struct ssw_mover *m, unsigned int from, unsigned int to,
			   enum ssw_stat_item reason)
{
	for (; from < to; from++) {
		if (m->move[from].state == SSW_MOVE_READY)
			ssw_move_skip(m, &m->move[from], reason);
	}
}

/* Move slots of one kind and mm. Return false if another thread has the mm locked. */
static bool ssw_moves_commit_mm(struct ssw_mover *m, unsigned int from, unsigned int to)
{
	struct mm_struct *mm = ssw_mm_get(ssw_word_mm(m->move[from].word));
	bool locked = true;

	if (!mm) {
		ssw_moves_skip(m, from, to, SSW_MOVE_MM_GONE);
		return true;
	}
	/* This thread may be nice or throttled, and preempted for long with the lock. */
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
	if (!mmap_read_trylock(mm)) {
		locked = false;
	} else {
		if (check_stable_address_space(mm))
			ssw_moves_skip(m, from, to, SSW_MOVE_MM_GONE);
		else
			ssw_moves_mm(m, mm, from, to);
		mmap_read_unlock(mm);
	}
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
	/* The last reference: freeing all that it maps is not a mover's work. */
	mmput_async(mm);
	return locked;
}

/* --- commit of shmem ------------------------------------------------------------ */

/**
 * struct ssw_shmem_move - a move of a slot of shmem
 * @m: the mover
 * @mv: the move
 */
struct ssw_shmem_move {
	struct ssw_mover *m;
	struct ssw_move *mv;
};

/* Take the old slot, which its file refers to, and have the new one ready. */
static bool ssw_shmem_claim(void *arg)
{
	struct ssw_shmem_move *s = arg;
	u64 word = s->mv->word & ~SSW_WORD_MOVING;
	bool claimed;

	rcu_read_lock();
	claimed = ssw_slot_claim(s->m->area->slots, s->mv->from, s->mv->word);
	if (claimed) {
		if (s->mv->kind == SSW_MOVE_ZSWAP)
			word |= SSW_WORD_CACHE;
		else
			ssw_move_rest(s->m, s->mv);
		/* Barrier G. */
		ssw_slot_arrive(s->m->to->slots, s->mv->to, word);
	}
	rcu_read_unlock();
	return claimed;
}

/* The file refers to the new slot. Move what zswap has, and let others have it. */
static void ssw_shmem_finish(struct ssw_mover *m, struct ssw_move *mv)
{
	struct ssw_run run = { .nr = 0 };
	u64 word;

	rcu_read_lock();
	ssw_move_rest(m, mv);
	/* The page may be gone from its file meanwhile. */
	if (!WARN_ON_ONCE(ssw_slot_uncache(m->to->slots, mv->to, &word)) &&
	    word == SSW_WORD_FREEING)
		ssw_run_add(&run, ssw_move_to(m, mv));
	ssw_run_flush(&run);
	rcu_read_unlock();
}

static void ssw_move_shmem(struct ssw_mover *m, struct ssw_move *mv)
{
	struct ssw_shmem_move s = { m, mv };
	int err;

	/* While the new slot cannot be used, this thread is not to be preempted. */
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
	err = scaleswap_shmem_replace(ssw_move_from(m, mv), ssw_move_to(m, mv), mv->word,
				      ssw_shmem_claim, &s);
	if (!err && mv->kind == SSW_MOVE_ZSWAP)
		ssw_shmem_finish(m, mv);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
	switch (err) {
	case 0:
		mv->state = SSW_MOVE_DONE;
		break;
	case -ENOENT:
		ssw_move_skip(m, mv, SSW_MOVE_MM_GONE);
		break;
	case -EMLINK:
		ssw_move_skip(m, mv, SSW_MOVE_SHMEM);
		break;
	case -EAGAIN:
		ssw_move_skip(m, mv, SSW_MOVE_RACED);
		break;
	default:
		ssw_move_skip(m, mv, SSW_MOVE_STALE);
		break;
	}
}

/* Move slots of one kind and inode. */
static void ssw_moves_commit_shmem(struct ssw_mover *m, unsigned int from, unsigned int to)
{
	for (; from < to; from++) {
		if (m->move[from].state == SSW_MOVE_READY)
			ssw_move_shmem(m, &m->move[from]);
	}
}

/* --- all of a batch --------------------------------------------------------------- */

static bool ssw_moves_alike(const struct ssw_move *x, const struct ssw_move *y)
{
	return x->kind == y->kind && ssw_word_kind(x->word) == ssw_word_kind(y->word) &&
	       ssw_word_mm(x->word) == ssw_word_mm(y->word);
}

static void ssw_moves_commit(struct ssw_mover *m)
{
	for (unsigned int tries = 0; tries < SSW_MOVE_TRIES; tries++) {
		bool all = true;

		for (unsigned int from = 0, to; from < m->nr; from = to) {
			const struct ssw_move *mv = &m->move[from];
			bool ready = false;

			for (to = from; to < m->nr && ssw_moves_alike(mv, &m->move[to]); to++)
				ready |= m->move[to].state == SSW_MOVE_READY;
			if (ready && ssw_word_kind(mv->word) == SSW_KIND_SHMEM)
				ssw_moves_commit_shmem(m, from, to);
			else if (ready)
				all &= ssw_moves_commit_mm(m, from, to);
			cond_resched();
		}
		if (all)
			return;
		fsleep(1000);
	}
	ssw_moves_skip(m, 0, m->nr, SSW_MOVE_MM_BUSY);
}

/* Free the old slots of what was moved, and the new ones of what was not. */
static void ssw_moves_release(struct ssw_mover *m)
{
	struct ssw_run run = { .nr = 0 };

	rcu_read_lock();
	for (unsigned int i = 0; i < m->nr; i++) {
		struct ssw_move *mv = &m->move[i];

		if (mv->state == SSW_MOVE_DONE) {
			ssw_run_add(&run, ssw_move_from(m, mv));
			ssw_stat_add(SSW_MOVE_MOVED, 1);
			m->moved++;
			if (mv->kind != SSW_MOVE_DATA)
				ssw_stat_add(mv->kind == SSW_MOVE_ZERO ? SSW_MOVE_MOVED_ZERO :
					     SSW_MOVE_MOVED_ZSWAP, 1);
			trace_scaleswap_move(m->area->si->type, mv->from, m->to->si->type, mv->to,
					     mv->kind);
		} else if (mv->to) {
			if (mv->kind == SSW_MOVE_ZSWAP)
				scaleswap_zswap_unreserve(ssw_move_to(m, mv));
			ssw_run_add(&run, ssw_move_to(m, mv));
		}
	}
	ssw_run_flush(&run);
	rcu_read_unlock();
}

/*
 * Move a batch, and pause. Return 0; -ENOSPC or -ENOMEM if there was no place for all of it; -EIO
 * if the device has failed to read all of it, or to write it; or what the pause said.
 */
static int ssw_moves(struct ssw_mover *m)
{
	unsigned int nr_data = 0;
	int err, failed;

	if (!m->nr)
		return 0;
	m->begun = jiffies;
	m->bytes = 0;
	m->to = NULL;
	err = ssw_moves_place(m);
	ssw_moves_prepare(m);
	while (nr_data < m->nr && m->move[nr_data].kind == SSW_MOVE_DATA && m->move[nr_data].to)
		nr_data++;
	if (nr_data) {
		failed = ssw_moves_do(m, REQ_OP_READ, SSW_MOVE_READ_ERROR);
		if (!failed) {
			failed = ssw_moves_do(m, REQ_OP_WRITE, SSW_MOVE_WRITE_ERROR);
			if (failed)
				m->broken = m->to;
		}
		err = err ?: failed;
	}
	ssw_moves_commit(m);
	ssw_moves_release(m);
	if (m->place && m->to)
		percpu_ref_put(&m->to->si->users);
	m->nr = 0;
	return !err && m->pause ? m->pause(m) : err;
}

/* --- clusters ----------------------------------------------------------------- */

/**
 * ssw_move_flush - move what has been collected, and give back the clusters
 * @m: the mover
 *
 * Context: process context, sleeps.
 * Return: 0; -ENOSPC or -ENOMEM if there was no place for all of it; -EIO if the device has failed
 * all of a batch; or what the pause said.
 */
int ssw_move_flush(struct ssw_mover *m)
{
	struct ssw_slots *slots = m->area->slots;
	int err = ssw_moves(m);

	ssw_token_get(slots);
	for (unsigned int i = 0; i < m->nr_held; i++) {
		/* One that was emptied before may be the one that is filled now. */
		bool again = slots->cursor[SSW_CURSOR_MOVE].cluster == m->held[i];

		if (again || !atomic_read(&m->held[i]->used))
			ssw_stat_add(SSW_MOVE_FREED, 1);
		if (!again)
			ssw_cluster_unhold(slots, m->held[i]);
	}
	/* Empty clusters are in the queue, and soon needed. */
	ssw_drain(slots, NULL, SSW_BY_HOLDER);
	ssw_token_release(slots);
	m->nr_held = 0;
	return err;
}

/**
 * ssw_move_slot - collect a slot, and move what was collected when it is enough
 * @m: the mover
 * @slot: the slot
 *
 * The caller has to call ssw_move_flush() in the end.
 *
 * Context: process context, sleeps.
 * Return: 0; -EBUSY if it cannot be moved now; -ENOSPC, -ENOMEM or -EIO as of ssw_move_flush(); or
 * what the pause said.
 */
int ssw_move_slot(struct ssw_mover *m, unsigned long slot)
{
	struct ssw_move *mv = &m->move[m->nr];
	int why;

	rcu_read_lock();
	why = ssw_slot_tag(m->area->slots, slot, &mv->word);
	rcu_read_unlock();
	if (why)
		return -EBUSY;
	mv->from = slot;
	mv->to = 0;
	mv->state = SSW_MOVE_READY;
	return ++m->nr == m->batch ? ssw_moves(m) : 0;
}

/**
 * ssw_move_cluster - collect what a cluster has, and move it when there is enough
 * @m: the mover
 * @ci: the cluster
 * @cap: the most slots in use that it may have
 *
 * The caller has to call ssw_move_flush() in the end.
 *
 * Context: process context, sleeps.
 * Return: 0; -ENOSPC, -ENOMEM or -EIO as of ssw_move_flush(); or what the pause said.
 */
int ssw_move_cluster(struct ssw_mover *m, struct ssw_cluster *ci, unsigned int cap)
{
	struct ssw_slots *slots = m->area->slots;
	unsigned int base = (ci - slots->cluster) << SSW_CLUSTER_SHIFT;
	int err = 0;
	bool held;

	if (m->nr_held == SSW_MOVE_CLUSTERS)
		err = ssw_move_flush(m);
	if (err)
		return err;
	ssw_token_get(slots);
	held = ssw_cluster_hold(slots, ci, cap);
	ssw_token_release(slots);
	if (!held)
		return 0;
	m->held[m->nr_held++] = ci;
	for (unsigned long slot = base; !err; slot++) {
		rcu_read_lock();
		slot = ssw_slot_next(slots, slot);
		rcu_read_unlock();
		if (slot >= base + SSW_CLUSTER_SLOTS)
			break;
		err = ssw_move_slot(m, slot);
		/* What cannot be moved stays. */
		if (err == -EBUSY)
			err = 0;
	}
	return err;
}
