/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch/x86/mm/tlb_async.c: a flush of TLBs that its sender does not wait for at once.
 *
 * The sender unmaps a page, has two CPUs flush, waits, and frees the page; several times with the
 * same request. Meanwhile the CPUs use the page by their TLBs, sleep with the page tables loaded
 * (lazy mode), wake up, and go offline and come back.
 *
 * No CPU uses the page while it is free. Nobody reads a request that the sender has back. The
 * sender gets through. A CPU that counts itself out before it flushes is no error here: in between
 * it only runs the function.
 *
 * run: ok
 * run: error -DREAD_LATE
 * run: error -DWAIT_FOR_CSD
 * run: error -DNO_WAKE
 * run: error -DCHECK_FIRST
 * run: error -DQUEUE_FIRST
 * run: error -DGEN_LATE
 * run: error -DCOUNT_OFFLINE
 * run: error -DPREEMPTIBLE
 */
#define CPUS	2
#define TURNS	2
#define MOVES	3		/* into and out of lazy mode, and offline and online, of each CPU */

bit mapped = 1, unused;		/* the page table's entry; the page is free */
byte gen;			/* of the mm's TLB entries */

bit tlb[CPUS];			/* has the entry */
byte seen[CPUS];		/* gen that it has flushed up to */
bit lazy[CPUS];
bit online[CPUS] = 1;
bit queued[CPUS];		/* the function; csd_lock() */

short pending;
bit mine;			/* the request is the sender's, who may change it */
bit asleep, preempt_off;

/* flush_tlb_func(). In lazy mode it leaves the page tables, and comes back by way of gen. */
inline flush(c)
{
	seen[c] = gen;
	tlb[c] = 0
}

inline ack(c)
{
#ifndef READ_LATE
	assert(!mine);
#endif
	flush(c);
	atomic { pending--; last = (pending == 0) }
	assert(pending >= 0);
#ifdef READ_LATE
	assert(!mine);
#endif
	if
#ifndef NO_WAKE
	:: last -> asleep = 0
#endif
	:: else
	fi
}

proctype cpu(byte c)
{
	bit last;
	byte moves;

end:	do
	:: atomic { online[c] && !lazy[c] && !tlb[c] && mapped -> tlb[c] = 1 }
	:: atomic { online[c] && !lazy[c] && tlb[c] && unused -> assert(false) }
	:: atomic { online[c] && !lazy[c] && moves < MOVES -> lazy[c] = 1; moves++ }
	:: online[c] && lazy[c] ->
		/* switch_mm_irqs_off(), with a barrier in between */
		lazy[c] = 0;
		if
		:: seen[c] != gen -> flush(c)
		:: else
		fi
	:: online[c] && queued[c] ->
		/* The csd is unlocked before the function runs. */
		queued[c] = 0;
		ack(c)
	:: atomic { online[c] && !preempt_off && moves < MOVES -> online[c] = 0; moves++ }
		/* stop_machine(): it takes interrupts no more, and calls what is queued. */
		if
		:: queued[c] -> queued[c] = 0; ack(c)
		:: else
		fi
		flush(c);
		lazy[c] = 0
	:: atomic { !online[c] && moves < MOVES -> online[c] = 1; moves++ }
	od
}

init
{
	byte turn, c, nr;
	bit to[CPUS];

	mine = 1;
	atomic { run cpu(0); run cpu(1) }
	do
	:: turn < TURNS ->
		mapped = 0;
#ifndef GEN_LATE
		gen++;
#endif
#ifndef PREEMPTIBLE
		preempt_off = 1;
#endif
		nr = 0;
		c = 0;
		do
		:: c < CPUS ->
			to[c] = 0;
			if
#ifndef COUNT_OFFLINE
			:: !online[c]
#endif
			:: online[c] && lazy[c]
			:: else -> to[c] = 1; nr++
			fi;
			c++
		:: else -> break
		od;
#ifdef GEN_LATE
		gen++;
#endif
#ifndef QUEUE_FIRST
		pending = nr;
#endif
		mine = 0;
		c = 0;
		do
		:: c < CPUS ->
			/* smp_call_function_many() leaves out who is offline. */
			if
			:: to[c] && online[c] -> queued[c] = 1
			:: else
			fi;
			c++
		:: else -> break
		od;
#ifdef QUEUE_FIRST
		pending = nr;
#endif
		preempt_off = 0;
#ifdef WAIT_FOR_CSD
		!queued[0] && !queued[1];
#else
		do
#ifdef CHECK_FIRST
		:: pending == 0 -> break
		:: else -> asleep = 1; !asleep
#else
		:: asleep = 1;
			if
			:: pending == 0 -> asleep = 0; break
			:: else -> !asleep
			fi
#endif
		od;
#endif
		mine = 1;
		unused = 1;
		/* The page is another's by now. */
		unused = 0;
		mapped = 1;
		turn++
	:: else -> break
	od
}
