/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cluster.c: barriers B, C, E and F of slot_types.h, and a cluster's life.
 *
 * One cluster of a few slots. An owner allocates single slots, other processes free
 * them, and a delegator drains the queue, trims and discards. The owner's stores
 * reach memory at any time and in any order, unless a barrier says otherwise: each of
 * the four variables that other processes read has a store buffer, which a process
 * of its own empties. The other processes do a read-modify-write and then loads, so
 * they need no buffer.
 *
 * When no process can go on, slot_types.h's invariants 3 and 4 hold. No empty cluster
 * is forgotten, and the area is not marked as full if it is not.
 *
 * PART is SSW_CL_NONFULL, STALE is SSW_CL_DISCARD, DISC is SSW_CL_DISCARDING.
 *
 * run: ok
 * run: error -DNO_B
 * run: error -DNO_C
 * run: error -DC_LATE
 * run: error -DNO_E
 * run: error -DNO_F
 * run: error -DNO_CLEAR
 * run: error -DNO_CLAIM
 * run: error -DNO_LEAVE_END
 * run: ok -DEQUAL_CAP
 */
#define CAP	2
#ifndef ALLOCS
#define ALLOCS	3
#endif
#define ROUNDS	2

mtype = { FREE, PART, FULL, STALE, DISC };

/* Memory */
short used;
byte nfree = CAP;		/* words that are free */
mtype state = FREE;
bit queued, area_full, inq;
bit quiet;
bit seen;			/* the current search found no slot here */

/* The owner's own values, and which of them are still in its store buffers. */
mtype st = FREE;
bit wait_state, wait_queued, wait_full, full_val, wait_quiet;
bit backlog, cur;
bit held_token;

byte held;			/* slots that a process has, and may free */
bit discarding;

inline flush()
{
	d_step {
		if :: wait_state -> state = st; wait_state = 0 :: else fi;
		if :: wait_queued -> queued = 0; wait_queued = 0 :: else fi;
		if :: wait_full -> area_full = full_val; wait_full = 0 :: else fi;
		if :: wait_quiet -> quiet = 1; wait_quiet = 0 :: else fi
	}
}

/* Stores become visible one by one, each at its own time. */
active proctype buffers()
{
end:	do
	:: d_step { wait_state -> state = st; wait_state = 0 }
	:: d_step { wait_queued -> queued = 0; wait_queued = 0 }
	:: d_step { wait_full -> area_full = full_val; wait_full = 0 }
	:: d_step { wait_quiet -> quiet = 1; wait_quiet = 0 }
	od
}

#define SET_STATE(s)	d_step { st = s; wait_state = 1 }
#define SET_FULL(f)	d_step { full_val = f; wait_full = 1 }
#ifdef EQUAL_CAP
#define HAS_FREE(n)	(n != CAP)
#else
#define HAS_FREE(n)	(n < CAP)
#endif

inline lock()
{
	atomic { !held_token -> held_token = 1 }
}

inline unlock()
{
	atomic { flush(); held_token = 0 }
}

/* ssw_cluster_end() */
inline end_cluster()
{
	d_step {
		assert(nfree == CAP && !discarding);
		cur = 0;
		st = STALE;
		wait_state = 1
	}
}

/* ssw_cluster_take(), ssw_cluster_try() and ssw_cluster_fill() */
inline take()
{
	used++;
	d_step { assert(nfree > 0); nfree--; cur = 1; got = true };
	n = used;
	if
	:: HAS_FREE(n)
	:: !HAS_FREE(n) ->
		SET_STATE(FULL);
#ifndef NO_B
		flush();
#endif
		n = used;
		if
		:: HAS_FREE(n) -> SET_STATE(PART)
		:: else
		fi;
		/* Another order's cursor may still be here. */
		if
		:: cur = 0
		:: skip
		fi
	fi;
	n = 0
}

/* ssw_cluster_alloc(); the cursor may be at the end of the cluster. */
inline alloc()
{
	if
	:: cur && nfree > 0 -> take()
	:: cur ->
		cur = 0;
#ifndef NO_LEAVE_END
		if
		:: used == 0 && (queued == 0 || wait_queued) -> end_cluster()
		:: else
		fi
#endif
	:: else
	fi;
	if
	:: got
	:: !got		/* another cluster is preferred */
	:: !got && (st == FREE || st == STALE) ->
		assert(!discarding && nfree == CAP);
		SET_STATE(PART);
		take()
	:: !got && st == PART ->
		take()
	:: !got && (st == FULL || st == DISC) ->
		SET_FULL(1);
#ifndef NO_E
		flush();
#endif
		if
		:: inq || backlog -> SET_FULL(0)
		:: else
		fi
	fi
}

/* ssw_cluster_try_list() of an order that finds nothing in the cluster */
inline search()
{
	if
	:: !quiet && !wait_quiet ->
		d_step { seen = 0; wait_quiet = 1 };
#ifndef NO_F
		flush()
#endif
	:: else
	fi;
	if
	:: nfree == 0 -> seen = 1
	:: else
	fi
}

/* ssw_drain() of a cluster, ssw_cluster_returned() */
inline drain()
{
	d_step { inq = 0; backlog = 1 };
	/* From here on its node may be queued again. */
	backlog = 0;
#ifdef C_LATE
	n = used;
	wait_queued = 1;
	flush();
#else
	wait_queued = 1;
#ifndef NO_C
	flush();
#endif
	n = used;
#endif
	if
	:: st == DISC -> SET_STATE(FREE)
	:: st == PART || st == FULL ->
		if
		:: n == 0 && !cur -> end_cluster()
		:: else ->
#ifndef C_LATE
			n = used;
#endif
			if
			:: st == FULL && HAS_FREE(n) -> SET_STATE(PART)
			:: else
			fi
		fi
	:: else
	fi;
	SET_FULL(0);
	n = 0
}

inline queue()
{
	atomic { assert(!inq); inq = 1 }
}

active proctype owner()
{
	byte nr;
	short n;
	bool got;

	do
	:: nr == ALLOCS -> break
	:: break
	:: nr < ALLOCS ->
		lock();
		if
		:: inq -> drain()
		:: skip
		fi;
		if
		:: st == PART || st == FULL -> search()
		:: skip
		fi;
		alloc();
		unlock();
		d_step {
			if
			:: got -> held++
			:: else
			fi;
			got = false;
			nr++
		}
	od
}

active [2] proctype freer()
{
	short left;
	bit old;

end:	do
	:: break	/* and keeps its slots */
	:: atomic { held > 0 -> held-- };
		/* ssw_slot_free(), ssw_cluster_freed(), ssw_cluster_queue() */
		nfree++;
		atomic { used--; left = used };
#ifndef NO_CLEAR
		if
		:: quiet -> quiet = 0
		:: else
		fi;
#endif
		if
		:: left == 0 || state == FULL ->
			atomic { old = queued; queued = 1 };
			if
			:: !old -> queue()
			:: else
			fi
		:: else
		fi;
		old = 0;
		left = 0;
		if
		:: area_full -> area_full = 0
		:: else
		fi
	od
}

active proctype delegator()
{
	byte nr;
	short n;
	bit old;
	bool mine;

	do
	:: nr == ROUNDS -> break
	:: break
	:: nr < ROUNDS && (inq || st == STALE || cur) ->
		nr++;
		lock();
		if
		:: inq -> drain()
		:: else
		fi;
		if
		:: cur && used == 0 && (queued == 0 || wait_queued) -> end_cluster()
		:: skip
		fi;
		if
		:: st == STALE ->
#ifdef NO_CLAIM
			SET_STATE(DISC);
			mine = true
#else
			flush();
			atomic { old = queued; queued = 1 };
			if
			:: !old -> SET_STATE(DISC); mine = true
			:: else
			fi
#endif
		:: else
		fi;
		unlock();
		if
		:: mine ->
			discarding = 1;
			discarding = 0;
			/* This does not look at the hint, but the drain does. */
			queue();
			lock();
			if
			:: inq -> drain()
			:: else
			fi;
			unlock()
		:: else
		fi;
		d_step { mine = false; old = 0 }
	od
}

/* No process can go on. */
active proctype at_rest()
{
	timeout;
	assert(!held_token && !backlog);
	assert(used + nfree == CAP && used == held);
	assert(queued == inq);
	/* Invariant 4 */
	assert(!(st == FULL && nfree > 0) || inq);
	assert(!(st == PART && nfree == 0));
	assert(!((st == PART || st == FULL) && used == 0) || inq || cur);
	assert(!(st == DISC) || inq);
	assert(!area_full || nfree == 0);
	assert(!(quiet && seen) || nfree == 0)
}
