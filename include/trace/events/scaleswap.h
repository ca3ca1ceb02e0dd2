/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM scaleswap

#if !defined(_TRACE_SCALESWAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_SCALESWAP_H

#include <linux/tracepoint.h>

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

/* An allocation could not be served from an own area; why, and for how much. */
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
				   { 0, "own_full" }, { 1, "no_area" },
				   { 2, "no_block" }, { 3, "all_full" }),
		  __entry->order)
);

#endif /* _TRACE_SCALESWAP_H */

#include <trace/define_trace.h>
