/* SPDX-License-Identifier: GPL-2.0 */
/*
 * shrinkref.c: references that each CPU counts, and who waits for their sum.
 *
 * Reclaimers take a reference, use the shrinker, and drop it, maybe on the other CPU. Then
 * shrinker_free() drops the count of the registration and sums up, a CPU at a time. A count
 * that a CPU changes is in its store buffer until a barrier, or until the buffer empties by
 * itself; the count of the registration likewise.
 *
 * Nobody uses the shrinker once shrinker_free() is through, and shrinker_free() gets through.
 *
 * run: ok
 * run: error -DNO_A
 * run: error -DNO_B
 * run: error -DNO_C
 * run: error -DNO_WAKE_MB
 * run: error -DUNDO_ELSEWHERE
 */
#define CPUS	2

/* Memory, and what is still in the store buffer of a CPU. */
short refs[CPUS];
short pending[CPUS];
bit registered = 1;
bit leaving;			/* the drop is in the store buffer of the one who frees */

byte using;			/* reclaimers in a callback */
bit wrote[CPUS];		/* the last store of a callback is in the store buffer */
bit asleep, freed;

inline flush(cpu)
{
	d_step { refs[cpu] = refs[cpu] + pending[cpu]; pending[cpu] = 0; wrote[cpu] = 0 }
}

/* Store buffers empty at any time, a count without what was written before it as well. */
proctype buffer(byte cpu)
{
end:	do
	:: atomic { pending[cpu] != 0 ->
		refs[cpu] = refs[cpu] + pending[cpu]; pending[cpu] = 0 }
	:: atomic { wrote[cpu] -> wrote[cpu] = 0 }
	od
}

active proctype late()
{
end:	do
	:: atomic { leaving -> registered = 0; leaving = 0 }
	od
}

/*
 * No other reclaimer has the CPU. One that gets it in put() comes by a switch of tasks, which has
 * a barrier as put() has, so only wake() has another there.
 */
bit busy[CPUS];

inline put(cpu)
{
#ifndef NO_C
	flush(cpu);
#endif
	pending[cpu] = pending[cpu] - 1
}

/* With preemption on. */
inline wake(cpu)
{
#ifndef NO_WAKE_MB
	flush(cpu);
#endif
	if
	:: !registered -> asleep = 0
	:: else
	fi
}

proctype user(byte cpu, other)
{
	bit live;

	atomic { !busy[cpu] -> busy[cpu] = 1 }
	pending[cpu] = pending[cpu] + 1;
#ifndef NO_A
	flush(cpu);
#endif
	live = registered;
	if
	:: live ->
		busy[cpu] = 0;
		/* The callback; it may end on another CPU. */
		using++;
		assert(!freed);
		using--;
		atomic { !busy[other] -> busy[other] = 1 }
		wrote[other] = 1;
		put(other);
		busy[other] = 0;
		wake(other)
	:: else ->
#ifdef UNDO_ELSEWHERE
		busy[cpu] = 0;
		atomic { !busy[other] -> busy[other] = 1 }
		put(other);
		busy[other] = 0;
		wake(other)
#else
		put(cpu);
		busy[cpu] = 0;
		wake(cpu)
#endif
	fi
}

inline add_up()
{
	sum = 0;
	cpu = 0;
	do
	:: cpu < CPUS -> sum = sum + refs[cpu]; cpu++
	:: else -> break
	od
}

active proctype free()
{
	short sum;
	byte cpu;

	leaving = 1;
#ifndef NO_B
	d_step { if :: leaving -> registered = 0; leaving = 0 :: else fi }
#endif
	add_up();
	do
	:: sum == 0 -> break
	:: else ->
		/* prepare_to_wait() has a barrier, and then the condition is looked at again. */
		asleep = 1;
		d_step { if :: leaving -> registered = 0; leaving = 0 :: else fi }
		add_up();
		if
		:: sum == 0
		:: else -> !asleep; add_up()
		fi
	od;
	freed = 1;
	assert(!using);
	/* What callbacks have written is there. */
	assert(!wrote[0] && !wrote[1])
}

init {
	atomic {
		run buffer(0);
		run buffer(1);
		run user(0, 1);
		run user(1, 0);
	}
}
