/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM scaleswap

#if !defined(_TRACE_SCALESWAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_SCALESWAP_H

#include <linux/tracepoint.h>

/*
 * Include mm/scaleswap/stat.h before this file: its lists define the names.
 */
#define ssw_trace_fb_enum(_item, _name)	TRACE_DEFINE_ENUM(SSW_FB_##_item);
#define ssw_trace_fb_name(_item, _name)	{ SSW_FB_##_item, #_name },
#define ssw_trace_stat_enum(_item, _name)	TRACE_DEFINE_ENUM(SSW_##_item);
#define ssw_trace_stat_name(_item, _name)	{ SSW_##_item, #_name },

SSW_FALLBACKS(ssw_trace_fb_enum)
SSW_SKIP_STATS(ssw_trace_stat_enum)
TRACE_DEFINE_ENUM(SSW_NR_STAT_ITEMS);
TRACE_DEFINE_ENUM(SSW_NR_FALLBACKS);
TRACE_DEFINE_ENUM(SSW_BY_REQUESTER);
TRACE_DEFINE_ENUM(SSW_BY_HOLDER);
TRACE_DEFINE_ENUM(SSW_BY_DELEGATOR);

/* A swap area got a home CPU, or another one (old >= 0), or lost it (cpu < 0). */
TRACE_EVENT(scaleswap_bind,

	TP_PROTO(unsigned int type, int old, int cpu),

	TP_ARGS(type, old, cpu),

	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(int, old)
		__field(int, cpu)
	),

	TP_fast_assign(
		__entry->type = type;
		__entry->old = old;
		__entry->cpu = cpu;
	),

	TP_printk("type=%u old=%d cpu=%d",
		  __entry->type, __entry->old, __entry->cpu)
);

/* A CPU fell back, for a reason of SSW_FALLBACKS(), with a folio of this order. */
TRACE_EVENT(scaleswap_fallback,

	TP_PROTO(int cpu, unsigned int reason, unsigned int order),

	TP_ARGS(cpu, reason, order),

	TP_STRUCT__entry(
		__field(int, cpu)
		__field(unsigned int, reason)
		__field(unsigned int, order)
	),

	TP_fast_assign(
		__entry->cpu = cpu;
		__entry->reason = reason;
		__entry->order = order;
	),

	TP_printk("cpu=%d reason=%s order=%u", __entry->cpu,
		  __print_symbolic(__entry->reason,
				   SSW_FALLBACKS(ssw_trace_fb_name)
				   { SSW_NR_FALLBACKS, "none" }),
		  __entry->order)
);

/* A slot was moved to another one; kind is where its page is. */
TRACE_EVENT(scaleswap_move,

	TP_PROTO(unsigned int type, unsigned int from, unsigned int to_type, unsigned int to,
		 unsigned int kind),

	TP_ARGS(type, from, to_type, to, kind),

	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(unsigned int, from)
		__field(unsigned int, to_type)
		__field(unsigned int, to)
		__field(unsigned int, kind)
	),

	TP_fast_assign(
		__entry->type = type;
		__entry->from = from;
		__entry->to_type = to_type;
		__entry->to = to;
		__entry->kind = kind;
	),

	TP_printk("type=%u from=%u to_type=%u to=%u kind=%s", __entry->type, __entry->from,
		  __entry->to_type, __entry->to,
		  __print_symbolic(__entry->kind, { 0, "data" }, { 1, "zswap" }, { 2, "zero" }))
);

/* A slot was not moved, for a reason of SSW_SKIP_STATS(). */
TRACE_EVENT(scaleswap_move_skip,

	TP_PROTO(unsigned int type, unsigned int slot, unsigned int reason),

	TP_ARGS(type, slot, reason),

	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(unsigned int, slot)
		__field(unsigned int, reason)
	),

	TP_fast_assign(
		__entry->type = type;
		__entry->slot = slot;
		__entry->reason = reason;
	),

	TP_printk("type=%u slot=%u reason=%s", __entry->type, __entry->slot,
		  __print_symbolic(__entry->reason,
				   SSW_SKIP_STATS(ssw_trace_stat_name)
				   { SSW_NR_STAT_ITEMS, "none" }))
);

/*
 * defragd begins or ends to do something about an area (enum ssw_defrag_state). It empties clusters
 * with at most cap slots in use; free is how many clusters are free.
 */
TRACE_EVENT(scaleswap_defrag_state,

	TP_PROTO(unsigned int type, unsigned int state, unsigned int cap, unsigned int free),

	TP_ARGS(type, state, cap, free),

	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(unsigned int, state)
		__field(unsigned int, cap)
		__field(unsigned int, free)
	),

	TP_fast_assign(
		__entry->type = type;
		__entry->state = state;
		__entry->cap = cap;
		__entry->free = free;
	),

	TP_printk("type=%u state=%s cap=%u free=%u", __entry->type,
		  __print_symbolic(__entry->state, { 0, "off" }, { 1, "enough" }, { 2, "nothing" },
				   { 3, "blind" }, { 4, "watching" }, { 5, "moving" }),
		  __entry->cap, __entry->free)
);

/* Draining has got further with an area (enum ssw_drain_state); left is what is in use. */
TRACE_EVENT(scaleswap_drain_area,

	TP_PROTO(unsigned int type, unsigned int state, unsigned int left),

	TP_ARGS(type, state, left),

	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(unsigned int, state)
		__field(unsigned int, left)
	),

	TP_fast_assign(
		__entry->type = type;
		__entry->state = state;
		__entry->left = left;
	),

	TP_printk("type=%u state=%s left=%u", __entry->type,
		  __print_symbolic(__entry->state, { 0, "off" }, { 1, "moving" }, { 2, "blocked" },
				   { 3, "unreadable" }, { 4, "empty" }),
		  __entry->left)
);

/* A slot cannot be read. If the process and address are known, these are not 0. */
TRACE_EVENT(scaleswap_drain_unreadable,

	TP_PROTO(unsigned int type, unsigned int slot, pid_t pid, unsigned long addr),

	TP_ARGS(type, slot, pid, addr),

	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(unsigned int, slot)
		__field(pid_t, pid)
		__field(unsigned long, addr)
	),

	TP_fast_assign(
		__entry->type = type;
		__entry->slot = slot;
		__entry->pid = pid;
		__entry->addr = addr;
	),

	TP_printk("type=%u slot=%u pid=%d addr=0x%lx", __entry->type, __entry->slot, __entry->pid,
		  __entry->addr)
);

/*
 * A task waited for evictors: at a limit of a memcg, or for memory of a node; the other one is 0 or
 * -1. The reason is why it has to reclaim, or none. If held, it had reclaimed before, and waited for
 * what evictors held.
 */
TRACE_EVENT(scaleswap_evict_wait,

	TP_PROTO(unsigned long ino, int nid, unsigned long nr_pages,
		 unsigned int reason, bool held, u64 ns),

	TP_ARGS(ino, nid, nr_pages, reason, held, ns),

	TP_STRUCT__entry(
		__field(unsigned long, ino)
		__field(int, nid)
		__field(unsigned long, nr_pages)
		__field(unsigned int, reason)
		__field(bool, held)
		__field(u64, ns)
	),

	TP_fast_assign(
		__entry->ino = ino;
		__entry->nid = nid;
		__entry->nr_pages = nr_pages;
		__entry->reason = reason;
		__entry->held = held;
		__entry->ns = ns;
	),

	TP_printk("cgroup=%lu node=%d pages=%lu reason=%s held=%d ns=%llu", __entry->ino,
		  __entry->nid, __entry->nr_pages,
		  __print_symbolic(__entry->reason,
				   SSW_FALLBACKS(ssw_trace_fb_name)
				   { SSW_NR_FALLBACKS, "none" }),
		  __entry->held, __entry->ns)
);

/* An evictor takes a cgroup, or a memory node if @ino is 0, to evict pages of it for a while. */
TRACE_EVENT(scaleswap_evict_take,

	TP_PROTO(unsigned long ino, int nid, int of, unsigned int nr),

	TP_ARGS(ino, nid, of, nr),

	TP_STRUCT__entry(
		__field(unsigned long, ino)
		__field(int, nid)
		__field(int, of)
		__field(unsigned int, nr)
	),

	TP_fast_assign(
		__entry->ino = ino;
		__entry->nid = nid;
		__entry->of = of;
		__entry->nr = nr;
	),

	TP_printk("cgroup=%lu node=%d evictor=%d:%u", __entry->ino, __entry->nid, __entry->of,
		  __entry->nr)
);

/* An evictor has ended its part of a walk of page tables. It waits for others that have not. */
TRACE_EVENT(scaleswap_evict_walk,

	TP_PROTO(int others),

	TP_ARGS(others),

	TP_STRUCT__entry(
		__field(int, others)
	),

	TP_fast_assign(
		__entry->others = others;
	),

	TP_printk("others=%d", __entry->others)
);

/* zswap stored @stored pages of a group of @nr. The last of the others failed with @err. */
TRACE_EVENT(scaleswap_zstore,

	TP_PROTO(bool large, unsigned int nr, unsigned int stored, int err),

	TP_ARGS(large, nr, stored, err),

	TP_STRUCT__entry(
		__field(bool, large)
		__field(unsigned int, nr)
		__field(unsigned int, stored)
		__field(int, err)
	),

	TP_fast_assign(
		__entry->large = large;
		__entry->nr = nr;
		__entry->stored = stored;
		__entry->err = err;
	),

	TP_printk("large=%d nr=%u stored=%u err=%d", __entry->large, __entry->nr, __entry->stored,
		  __entry->err)
);

/* zswap has loaded @loaded of @nr pages that readahead had put aside, in a worker if @late. */
TRACE_EVENT(scaleswap_zload,

	TP_PROTO(unsigned int nr, unsigned int loaded, bool late),

	TP_ARGS(nr, loaded, late),

	TP_STRUCT__entry(
		__field(unsigned int, nr)
		__field(unsigned int, loaded)
		__field(bool, late)
	),

	TP_fast_assign(
		__entry->nr = nr;
		__entry->loaded = loaded;
		__entry->late = late;
	),

	TP_printk("nr=%u loaded=%u late=%d", __entry->nr, __entry->loaded, __entry->late)
);

/* The read of a page that a fault waits for was submitted, before its readahead. */
TRACE_EVENT(scaleswap_read,

	TP_PROTO(unsigned int type, unsigned long slot, unsigned int how),

	TP_ARGS(type, slot, how),

	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(unsigned long, slot)
		__field(unsigned int, how)
	),

	TP_fast_assign(
		__entry->type = type;
		__entry->slot = slot;
		__entry->how = how;
	),

	TP_printk("type=%u slot=%lu how=%s", __entry->type, __entry->slot,
		  __print_symbolic(__entry->how,
				   { 0, "irq" }, { 1, "bio" }, { 2, "direct" }))
);

/* An allocation went through an area's queue: its server, and the time until it was done. */
TRACE_EVENT(scaleswap_delegate,

	TP_PROTO(unsigned int type, int cpu, unsigned int order, unsigned int by,
		 u64 ns),

	TP_ARGS(type, cpu, order, by, ns),

	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(int, cpu)
		__field(unsigned int, order)
		__field(unsigned int, by)
		__field(u64, ns)
	),

	TP_fast_assign(
		__entry->type = type;
		__entry->cpu = cpu;
		__entry->order = order;
		__entry->by = by;
		__entry->ns = ns;
	),

	TP_printk("type=%u cpu=%d order=%u by=%s ns=%llu", __entry->type,
		  __entry->cpu, __entry->order,
		  __print_symbolic(__entry->by,
				   { SSW_BY_REQUESTER, "requester" },
				   { SSW_BY_HOLDER, "holder" },
				   { SSW_BY_DELEGATOR, "delegator" }),
		  __entry->ns)
);

/* A delegator kthread has drained entries from an area's queue. */
TRACE_EVENT(scaleswap_drain,

	TP_PROTO(unsigned int type, unsigned int nr),

	TP_ARGS(type, nr),

	TP_STRUCT__entry(
		__field(unsigned int, type)
		__field(unsigned int, nr)
	),

	TP_fast_assign(
		__entry->type = type;
		__entry->nr = nr;
	),

	TP_printk("type=%u nr=%u", __entry->type, __entry->nr)
);

#endif /* _TRACE_SCALESWAP_H */

#include <trace/define_trace.h>
