/* SPDX-License-Identifier: GPL-2.0 */
/*
 * deleg.c: the token, the queue and the requests in it.
 *
 * A requester queues a request and tries for the token until the request is done. A
 * home CPU takes the token for itself, and drains some of the queue first. The queue
 * is a linked list, as in deleg.c. So a request whose requester is gone must not be
 * read.
 *
 * Safety: one owner at a time. A request is done once, while its requester waits,
 * and its result is there when it is done. None is lost. Liveness: every requester
 * completes if every process that can go on does so (weak fairness), whether or not
 * the home CPU does anything.
 *
 * run: ok
 * run: ok -DN=3 -DTURNS=1
 * run: ok -DLIVE
 * run: error -DNEXT_LATE
 * run: error -DDONE_FIRST
 * run: error -DNO_CMPXCHG
 * run: error -DLIVE -DNO_TRY
 */
#ifndef N
#define N	2	/* requesters */
#define TURNS	2	/* requests of each, and turns of the home CPU */
#endif
#define BATCH	1
#define NIL	255

byte first = NIL;	/* of the queue; entries are numbers of requesters */
byte backlog = NIL;
byte next[N];
bool live[N];		/* the request is on the stack of a requester that waits */
bool done[N];
bool result[N];
bit held;
byte owners;
byte finished;

/* Reversing a list that no other process sees is one step. */
inline take_all()
{
	d_step {
		link = first;
		first = NIL;
		prev = NIL;
		do
		:: link == NIL -> break
		:: else ->
			assert(live[link]);
			tmp = next[link];
			next[link] = prev;
			prev = link;
			link = tmp
		od;
		link = prev;
		prev = 0;
		tmp = 0
	}
}

inline trylock()
{
	got = false;
	if
	:: held == 0 ->
#ifdef NO_CMPXCHG
		held = 1;
		got = true;
		owners++;
		assert(owners == 1)
#else
		if
		:: atomic { held == 0 -> held = 1; got = true; owners++; assert(owners == 1) }
		:: atomic { else -> skip }
		fi
#endif
	:: else
	fi
}

inline unlock()
{
	d_step { owners--; held = 0 }
}

inline drain()
{
	nr = 0;
	do
	:: nr == BATCH -> break
	:: nr < BATCH ->
		link = backlog;
		if
		:: link == NIL && first == NIL -> break
		:: link == NIL && first != NIL -> take_all()
		:: else
		fi;
		assert(live[link]);
#ifndef NEXT_LATE
		backlog = next[link];
#endif
		assert(!done[link]);
#ifdef DONE_FIRST
		done[link] = true;
		result[link] = true;
#else
		result[link] = true;
		done[link] = true;
#endif
#ifdef NEXT_LATE
		assert(live[link]);
		backlog = next[link];
#endif
		nr++
	od;
	nr = 0;
	link = 0
}

proctype requester(byte me)
{
	byte link, prev, tmp, nr, turn, old;
	bool got;

	do
	:: turn == TURNS -> break
	:: else ->
		d_step { live[me] = true; done[me] = false; result[me] = false }
		/* llist_add() */
		old = first;
		do
		:: next[me] = old;
		   atomic {
			if
			:: first == old -> first = me; break
			:: else -> old = first
			fi
		   }
		od;
		old = 0;
end_wait:	do
		:: done[me] -> break
		:: !done[me] ->
#ifndef NO_TRY
			trylock();
			if
			:: got -> drain(); unlock()
			:: else
			fi
#endif
		od;
		got = false;
		assert(result[me]);
		/* The requester returns, and its stack is reused. */
		d_step { live[me] = false; next[me] = NIL };
		turn++
	od;
	finished++
}

/* Allocates for itself. It may stop at any time, but not with the token. */
proctype home()
{
	byte link, prev, tmp, nr, turn;
	bool got;

	do
	:: turn == TURNS -> break
	:: break
	:: turn < TURNS ->
		trylock();
		if
		:: got ->
			if
			:: first != NIL || backlog != NIL -> drain()
			:: else
			fi;
			unlock()
		:: else
		fi;
		turn++
	od
}

init {
	byte i;

	atomic {
		do
		:: i == N -> break
		:: else -> next[i] = NIL; run requester(i); i++
		od;
		run home()
	}
	/* All processes are done. */
	_nr_pr == 1;
	assert(finished == N && first == NIL && backlog == NIL && !held)
}

#ifdef LIVE
ltl through { <> (finished == N) }
#endif
