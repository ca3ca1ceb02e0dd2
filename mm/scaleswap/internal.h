/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap's own structures and calls, shared between its files.
 */

/**
 * DOC: Lock order
 *
 * Outermost first::
 *
 *   inode->i_rwsem                 (swapon holds the swap file's)
 *     kernfs' locks                (kobject_add)
 *     swapon_mutex                 (enabling an area; a line of /proc/swaps)
 *       ssw_mutex
 *   swap_slots_cache_enable_mutex  (a swapoff that fails)
 *     ssw_drain_mutex
 *       ssw_mutex
 *   cpu_hotplug_lock               (CPU online callback)
 *     ssw_mutex
 *   kernfs active reference        (a read or write of a sysfs file)
 *     ssw_mutex                    (homes, area lists, ssw_bind)
 *       ssw_arealist_cpu.seq       (write side; preemption off)
 *     ssw_drain_mutex              (a write to drain)
 *       ssw_mutex
 *     ssw_move_mutex               (a write to compact)
 *       lock of a folio            (only tried for: freeing what only the swap cache has)
 *       ssw_slots.token            (with nothing else but the mutex)
 *       xa_lock of the mm ids
 *       mmap_lock                  (for reading, only tried for)
 *         lock of a folio          (draining maps it)
 *         page table lock
 *           xa_lock of a tree of zswap (one at a time)
 *       xa_lock of the numbers of shmem inodes
 *         i_pages lock of a file   (interrupts take such locks)
 *       xa_lock of a tree of zswap
 *
 *   shmem_swaplist_mutex           (a page of a file is swapped out)
 *     xa_lock of the numbers of shmem inodes
 *
 *   page table lock, or any other spinlock
 *     xa_lock of the mm ids
 *     ssw_slots.token              (only ever tried for; nothing is taken under it)
 *     ssw_stock.lock of one CPU    (never that of another inside it; raw)
 *     locks of the slab allocator  (an LRU shard, or a slot table)
 *
 *   i_pages lock of a swap address space
 *     lock of a list of shadow nodes (shadow.c)
 *
 *   lru_lock of one shard          (never that of another inside it)
 *
 * kobject_del() waits for kernfs active references, so it is never called with ssw_mutex
 * held. An allocation takes none of the mutexes: it reads the area list of its CPU
 * under the sequence count, and then follows the rules in slot_types.h.
 */
#ifndef _MM_SCALESWAP_INTERNAL_H
#define _MM_SCALESWAP_INTERNAL_H

#include <linux/cpumask.h>
#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/page_counter.h>
#include <linux/percpu.h>
#include <linux/seqlock.h>
#include <linux/swap.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

/* mm's own, hooks.h with it */
#include "../internal.h"
#include "drain.h"
#include "move.h"
#include "slot.h"
#include "stat.h"

/* Values of vm.scaleswap.bind that are not a CPU number. */
#define SSW_BIND_OFF	(-1)
#define SSW_BIND_AUTO	(-2)

/* Bytes that the header of a swap area has for its label. */
#define SSW_LABEL_LEN	16

/* Home of an area that has none. */
#define SSW_NO_HOME	(-1)

/**
 * enum ssw_mech - mechanisms that scaleswap= switches
 * @SSW_MECH_CORE: per-core areas, on with each of the others
 * @SSW_MECH_LRU: LRU shards
 * @SSW_MECH_EVICT: evictor pool
 * @SSW_MECH_FAULT: critical faults on poll queues
 * @SSW_MECH_ZBATCH: zswap batching
 * @SSW_MECH_DEFRAG: live defragmentation
 * @SSW_NR_MECHS: number of the above
 */
enum ssw_mech {
	SSW_MECH_CORE,
	SSW_MECH_LRU,
	SSW_MECH_EVICT,
	SSW_MECH_FAULT,
	SSW_MECH_ZBATCH,
	SSW_MECH_DEFRAG,
	SSW_NR_MECHS,
};

/**
 * struct ssw_area - what ScaleSwap keeps of a swap area beside swap_info_struct
 * @kobj: /sys/kernel/mm/scaleswap/areas/<type>; its release frees the struct
 * @si: the area; never freed by the base kernel, only reused
 * @dev_node: NUMA node of the device, NUMA_NO_NODE if unknown
 * @enabled: listed in the area lists or counted as a plain area;
 *           protected by ssw_mutex
 * @stat: per-CPU counters
 * @slots: the slots of a per-core area, NULL for a plain one
 * @reclaim: where to look next for slots with nothing but their swap cache; a
 *           hint
 * @timer: makes the delegator service the area
 * @discard: discards emptied clusters
 * @fs_ops: the file system does the I/O; fixed, as the next two
 * @can_bio: pages can be read by polled bios
 * @read_ops: the driver's, by which pages are read directly; NULL if they cannot be
 * @reap_queued: whether @reap_node is in the list of the worker that polls
 * @reap_node: in that list, with a reference on si->users
 * @defrag: what defragd keeps
 * @drain: what draining keeps
 *
 * Lives from swapon to swapoff. A slot in use keeps swapoff from completing. So a
 * thread that has one, or a reference on si->users, may use all of the struct. Other
 * threads have to be on an RCU read side.
 */
struct ssw_area {
	struct kobject kobj;
	struct swap_info_struct *si;
	int dev_node;
	bool enabled;
	struct ssw_area_stat __percpu *stat;
	struct ssw_slots *slots;
	unsigned int reclaim;
	struct timer_list timer;
	struct work_struct discard;
	bool fs_ops;
	bool can_bio;
	const struct scaleswap_read_ops *read_ops;
	atomic_t reap_queued;
	struct llist_node reap_node;
#ifdef CONFIG_SCALESWAP_DEFRAG
	struct ssw_defrag defrag;
	struct ssw_area_drain drain;
#endif
};

#ifdef CONFIG_SCALESWAP_DEFRAG
/* Check whether an area is drained, or is to be. A hint without ssw_mutex. */
static inline bool ssw_drain_wanted(const struct ssw_area *area)
{
	return READ_ONCE(area->drain.wanted);
}

/*
 * Count slots that were freed, if the area is drained: a full barrier then. Return false if it is
 * not. RCU read side.
 */
static inline bool ssw_drain_freed(struct ssw_area *area, unsigned int nr)
{
	if (likely(!READ_ONCE(area->drain.withhold)))
		return false;
	atomic_long_add_return(nr, &area->drain.withheld);
	return true;
}

/* How many were freed so, ever */
static inline u64 ssw_drain_nr_freed(const struct ssw_area *area)
{
	return atomic_long_read(&area->drain.withheld);
}
#else
static inline bool ssw_drain_wanted(const struct ssw_area *area)
{
	return false;
}

static inline bool ssw_drain_freed(struct ssw_area *area, unsigned int nr)
{
	return false;
}

static inline u64 ssw_drain_nr_freed(const struct ssw_area *area)
{
	return 0;
}
#endif

/**
 * struct ssw_arealist - the areas in the order in which one CPU tries them
 * @nr_own: how many, from the front, are homed on this CPU
 * @nr_node: how many, from the front, are homed on this CPU or its node
 * @nr: how many there are
 * @type: their swap types
 * @group_end: for an own area, the index after the last one of its priority
 */
struct ssw_arealist {
	u8 nr_own;
	u8 nr_node;
	u8 nr;
	u8 type[MAX_SWAPFILES];
	u8 group_end[MAX_SWAPFILES];
};

/**
 * struct ssw_arealist_cpu - one CPU's area list
 * @seq: write side under ssw_mutex. An area that a reader finds is good whether the
 *       list changed meanwhile or not, since the area decides. That there is none
 *       is only true if the list did not change
 * @turn: counts allocations, for round-robin among own areas of equal priority
 * @reclaim_turn: counts areas that were looked through for slots to reclaim
 * @spill_index: index of the remote area that served last
 * @spill_left: how many more pages to put there before searching again
 * @node: NUMA node of the CPU when the list was made; under ssw_mutex
 * @list: the areas
 *
 * @turn, @reclaim_turn and @spill_* are hints, written without synchronization: by
 * threads on the CPU, and @spill_left also by a rebuild of the lists.
 */
struct ssw_arealist_cpu {
	seqcount_t seq;
	u32 turn;
	u32 reclaim_turn;
	u16 spill_index;
	u16 spill_left;
	int node;
	struct ssw_arealist list;
};

/**
 * struct ssw_topology - what the area list needs to know of the machine
 * @cpu_node: NUMA node of a CPU, NUMA_NO_NODE if unknown
 * @distance: distance between two nodes, LOCAL_DISTANCE for the same one
 *
 * Exists so that KUnit can build area lists for machines that it does not run on.
 */
struct ssw_topology {
	int (*cpu_node)(int cpu);
	int (*distance)(int from, int to);
};

/**
 * struct ssw_candidate - an area, as the area list sees it
 * @type: swap type
 * @home: home CPU
 * @prio: swap priority
 */
struct ssw_candidate {
	u8 type;
	int home;
	int prio;
};

/* boot.c */
bool ssw_parse_boot(const char *arg, unsigned int *mechs, bool tell);
bool ssw_boot_has(enum ssw_mech mech);

/* area.c */
extern struct mutex ssw_mutex;
extern struct ssw_area __rcu *ssw_areas[MAX_SWAPFILES];
extern struct ssw_slots __rcu *ssw_area_slots[1 << MAX_SWAPFILES_SHIFT];
extern unsigned int ssw_nr_bound;
extern unsigned int ssw_nr_plain;
int ssw_label_home(const u8 label[SSW_LABEL_LEN]);
int ssw_pick_home(const u16 *nr_areas, const unsigned long *cpus,
		  unsigned int nr_cpus, int dev_node,
		  const struct ssw_topology *topo);
int ssw_area_rehome(struct ssw_area *area, int cpu);
struct ssw_slots *ssw_slots_alloc(unsigned int nr_slots, const u32 *bad,
				  unsigned int nr_bad);
void ssw_slots_free(struct ssw_slots *slots);
size_t ssw_slots_bytes(const struct ssw_slots *slots);

/**
 * ssw_area_locked - get the area of a swap type, under ssw_mutex
 * @type: a swap type below MAX_SWAPFILES
 *
 * Context: ssw_mutex held.
 * Return: the area, NULL if there is none.
 */
static inline struct ssw_area *ssw_area_locked(unsigned int type)
{
	return rcu_dereference_protected(ssw_areas[type], lockdep_is_held(&ssw_mutex));
}

/**
 * ssw_area_held - get the area of a swap type; the area cannot go away
 * @type: a swap type below MAX_SWAPFILES
 *
 * Context: any; the caller has a slot of the area in use, or a reference on
 * si->users. lockdep knows neither.
 * Return: the area, NULL if there is none.
 */
static inline struct ssw_area *ssw_area_held(unsigned int type)
{
	return rcu_dereference_check(ssw_areas[type], true);
}

/* arealist.c */
extern const struct ssw_topology ssw_topology;
extern struct ssw_arealist_cpu __percpu *ssw_arealists;
int ssw_arealists_init(void);
void ssw_arealists_rebuild(void);
bool ssw_arealists_outdated(int cpu, const struct ssw_topology *topo);
void ssw_arealist_build(struct ssw_arealist *list, int cpu,
			const struct ssw_candidate *cand, unsigned int nr,
			const struct ssw_topology *topo);

/* alloc.c */
bool ssw_area_reclaim(struct ssw_area *area);
bool ssw_alloc_elsewhere(const struct ssw_area *from, const struct ssw_area *not,
			 struct ssw_area **to, unsigned int *slot);

/**
 * struct ssw_run - adjacent slots that are freed together
 * @entry: the first one
 * @nr: how many
 */
struct ssw_run {
	swp_entry_t entry;
	unsigned int nr;
};

/* swapmap.c */
void ssw_run_add(struct ssw_run *run, swp_entry_t entry);
void ssw_run_flush(struct ssw_run *run);
void ssw_dup_shmem(swp_entry_t entry, unsigned int nr, u32 inode, pgoff_t index);
unsigned int ssw_area_used(const struct ssw_area *area);

/* nr_swap.c */
void ssw_nr_swap_add(long pages);
void ssw_nr_swap_flush(void);
void ssw_nr_swap_check(void);

/* stock.c */
bool ssw_stock_room(struct page_counter *counter, unsigned long slack);

/* rmap.c */
u32 ssw_mm_id(struct mm_struct *mm);
struct mm_struct *ssw_mm_get(u32 id);

/* shmem-note.c */
#ifdef CONFIG_SHMEM
int scaleswap_shmem_swapin(swp_entry_t entry, u64 word);
int scaleswap_shmem_replace(swp_entry_t from, swp_entry_t to, u64 word, bool (*claim)(void *arg),
			    void *arg);
#else
/* No slot has a note of an inode. */
static inline int scaleswap_shmem_swapin(swp_entry_t entry, u64 word)
{
	return -ENOENT;
}

static inline int scaleswap_shmem_replace(swp_entry_t from, swp_entry_t to, u64 word,
					  bool (*claim)(void *arg), void *arg)
{
	return -ENOENT;
}
#endif

/* delegd.c */
#define SSW_WAKE_DEFAULT	16
#define SSW_WAKE_MAX		65536
extern unsigned int ssw_wake_threshold;
void ssw_delegd_area_init(struct ssw_area *area);
void ssw_delegd_notify(struct ssw_area *area, unsigned int queued);
int ssw_delegd_init(void);

/* discard.c */
void ssw_discard_area_init(struct ssw_area *area);
void ssw_discard_queue(struct ssw_area *area);
void ssw_discard_area_exit(struct ssw_area *area);

/* lru.c */
extern unsigned int ssw_lru_shards;
unsigned int ssw_lru_own(void);
#ifdef CONFIG_SCALESWAP_LRU

/**
 * ssw_lru_after - return the lists to look at after others of a memcg and node, round-robin
 * @mlruvec: its own lists, which are among them
 * @shards: its shards
 * @l: the others, or NULL: a weakly ordered CPU may see the number of a new shard, which another
 *     CPU has written into a cursor, before it sees the shard
 *
 * Context: any in which the memcg is not freed.
 * Return: lists of a shard, or @mlruvec.
 */
static inline struct lruvec *ssw_lru_after(struct lruvec *mlruvec, struct scaleswap_shards *shards,
					   struct lruvec *l)
{
	struct llist_node *node;

	if (!l)
		return mlruvec;
	node = l->shard ? l->shard->node.next : READ_ONCE(shards->list.first);
	return node ? &llist_entry(node, struct scaleswap_shard, node)->lruvec : mlruvec;
}

/**
 * ssw_lru_number - return the number of a shard's lists
 * @l: the lists
 *
 * Context: any.
 * Return: from 1; 0 for a memcg's own.
 */
static inline unsigned int ssw_lru_number(struct lruvec *l)
{
	return l->shard ? l->shard->id : 0;
}

unsigned int ssw_lru_lane(const struct folio *folio, unsigned int cpu);
unsigned int ssw_lru_place(unsigned int cpu, unsigned int cpus, unsigned int nr);
unsigned int ssw_lru_member(unsigned int id, unsigned int cpus, unsigned int nr, unsigned int turn);
unsigned int ssw_lru_swapper(const struct folio *folio);
unsigned int ssw_lru_spare(unsigned int nr, unsigned int max);
long ssw_lru_vmstat(s8 *diff, int threshold, long nr_pages);
void ssw_cost_add(struct scaleswap_shards *shards, bool file, unsigned long cost,
		  unsigned long most);
/* Shards that a memcg and node may have whatever its size */
#define SSW_LRU_FEW		4
/* Pages for each shard that it has, before it gets another one */
#define SSW_LRU_SHARE		64
/* lruage.c */
void ssw_lru_join(struct lruvec *lruvec, enum lru_list lru, int nr_pages);
/* Ages by which a page of a single list grows older until it gets from one end to the other */
#define SSW_LRU_PARTS		8
/* Steps after which whoever has found the oldest pages of all looks for the oldest ones again */
#define SSW_LRU_AGAIN		(SCALESWAP_LRU_STEPS / 4)
void ssw_lru_ages_init(struct scaleswap_age *age, size_t stride,
		       struct scaleswap_older *older, const unsigned int *seq);
unsigned int ssw_lru_behind(struct lruvec *lruvec, enum lru_list lru);
unsigned int ssw_lru_steps(struct lruvec *lruvec, enum lru_list lru);
void ssw_lru_begun(struct lruvec *lruvec, enum lru_list lru);
unsigned int ssw_lru_stay(struct lruvec *other, struct lruvec *mine, enum lru_list lru);
unsigned int ssw_lru_position(struct lruvec *lruvec, enum lru_list lru);
bool ssw_lru_settle(struct lruvec *lruvec, enum lru_list lru);
bool ssw_lru_has_next(struct lruvec *lruvec, enum lru_list lru);
/* lrugen.c */
#ifdef CONFIG_LRU_GEN
void ssw_lru_gen_init(struct scaleswap_shard *shard);
u32 ssw_gen_age(const struct scaleswap_gen *g, unsigned int pages, u32 now);
void ssw_gen_mark(struct scaleswap_gen *g, unsigned int pages, u32 now);
void ssw_gen_moved(struct scaleswap_gen *g, unsigned int pages, u32 at, int nr_pages,
		   unsigned int left);
u32 ssw_lru_gen_age(struct scaleswap_shard *shard, int gen, int type);
unsigned int ssw_lru_gen_pages(struct scaleswap_shard *shard, int gen, int type);
long ssw_lru_gen_posted(struct lruvec *mlruvec);
bool ssw_lru_gen_is_empty(struct lruvec *lruvec, int type);
bool ssw_lru_gen_has_ended(struct lruvec *mlruvec, struct lruvec *l, const bool *ends);
bool ssw_lru_gen_end(struct lruvec *mlruvec, struct lruvec *l, const bool *ends);
long ssw_lru_gen_count(struct lruvec *lruvec, long size[NR_LRU_LISTS]);
/*
 * Check whether an evictor is to age a memcg and node, by the sizes of generations.
 *
 * It evicts before anybody needs memory, some pages at a time. With the limits of tasks it would
 * age earlier than these, and pages that are replaced all the time would be evicted before they are
 * freed. It waits until more than two thirds are young, instead of half, or less than a fifth is
 * old, instead of a fourth.
 */
static inline bool ssw_gen_is_low(unsigned long young, unsigned long old, unsigned long total)
{
	return young * (MIN_NR_GENS + 1) > total * MIN_NR_GENS || old * (MIN_NR_GENS + 3) < total;
}

/* Of a shard with fewer pages than this a part is isolated at a time, and at least a few pages */
#define SSW_GEN_SMALL	512U
#define SSW_GEN_PART	64
#define SSW_GEN_FEW	4U

/*
 * How many of the @pages of one of several shards are isolated at a time.
 *
 * MIN_LRU_BATCH pages of a single list are its oldest ones. In a small shard they may be all that
 * it has in the oldest generation, so that a CPU would evict pages that it has used lately for each
 * fault. In a large one they are not, and CPUs that choose less often meet less often.
 */
static inline unsigned int ssw_gen_share(unsigned int pages)
{
	return pages < SSW_GEN_SMALL ? max(pages / SSW_GEN_PART, SSW_GEN_FEW) : MIN_LRU_BATCH;
}

#if IS_ENABLED(CONFIG_KUNIT)
/* Static in vmscan-lrugen.c otherwise */
struct lruvec *ssw_gen_begin(struct lruvec *mlruvec, struct lruvec *mine,
			     struct scaleswap_age *looked, int type);
#endif

/* Check whether folios of a lruvec are in generations (MGLRU), or on active and inactive lists. */
static inline bool ssw_lru_gen_on(const struct lruvec *lruvec)
{
	return READ_ONCE(lruvec->lrugen.enabled);
}
#else
static inline bool ssw_lru_gen_on(const struct lruvec *lruvec)
{
	return false;
}

static inline void ssw_lru_gen_init(struct scaleswap_shard *shard)
{
}

static inline long ssw_lru_gen_count(struct lruvec *lruvec, long size[NR_LRU_LISTS])
{
	return 0;
}
#endif
#else
static inline unsigned int ssw_lru_lane(const struct folio *folio, unsigned int cpu)
{
	return 0;
}

static inline unsigned int ssw_lru_swapper(const struct folio *folio)
{
	return raw_smp_processor_id();
}
#endif
unsigned long ssw_lru_allocated(void);
unsigned int ssw_lru_bytes(void);
void ssw_lru_dump(struct seq_file *m);

/**
 * enum ssw_fault_mode - how pages that faults wait for are read
 * @SSW_FAULT_OFF: as in the base kernel
 * @SSW_FAULT_BIO: by a polled bio, or else by an ordinary one
 * @SSW_FAULT_DIRECT: on queues of the driver's own, or else by an ordinary bio
 * @SSW_FAULT_AUTO: directly, or else by a polled bio, or else by an ordinary one
 * @SSW_NR_FAULT_MODES: number of the above
 */
enum ssw_fault_mode {
	SSW_FAULT_OFF,
	SSW_FAULT_BIO,
	SSW_FAULT_DIRECT,
	SSW_FAULT_AUTO,
	SSW_NR_FAULT_MODES,
};

/*
 * Passed to swap_read_folio() as the plug of a critical page; never dereferenced. One more
 * parameter would say the same, but a hook would have to change each call of that
 * function, and no caller but fault.c has anything to say by it.
 */
#define SSW_CRITICAL		((struct swap_iocb *)-1UL)

/* fault.c */
#define SSW_FAULT_POLL_US	100
#define SSW_FAULT_POLL_US_MAX	100000
#ifdef CONFIG_SCALESWAP_FAULT
extern unsigned int ssw_fault_mode;
extern unsigned int ssw_fault_poll_us;
extern bool ssw_fault_readahead;
void ssw_fault_area_init(struct ssw_area *area);
#else
static inline void ssw_fault_area_init(struct ssw_area *area)
{
}
#endif

/* io.c */
/* 512 KiB with pages of 4 KiB: as much as the plug merges for a drive that takes it */
#define SSW_BIO_PAGES		128
#define SSW_BIO_PAGES_MAX	BIO_MAX_VECS
extern unsigned int ssw_bio_pages;
void ssw_read_ended(struct folio *folio, struct bio *bio);
bool ssw_read_batched(struct folio *folio, struct swap_info_struct *si);
void ssw_bio_batch_flush(bool sleep);

/* swapcache.c */
void ssw_cache_init(struct ssw_area *area);
void *ssw_cache_shadow(struct ssw_slots *slots, unsigned long slot);

/* shadow.c */
int ssw_shadow_init(void);
unsigned long ssw_shadow_share(unsigned long nr, unsigned long ours, unsigned long others);

/* sysctl.c */
extern int ssw_bind;
int ssw_parse_bind(const char *arg, int *bind);
int ssw_sysctl_init(void);

/* sysfs.c */
extern const struct kobj_type ssw_area_ktype;
extern struct kobject *ssw_areas_kobj;
int ssw_sysfs_init(void);

#endif /* _MM_SCALESWAP_INTERNAL_H */
