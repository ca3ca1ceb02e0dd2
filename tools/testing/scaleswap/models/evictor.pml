/* SPDX-License-Identifier: GPL-2.0 */
/*
 * evictd.c, evictroom.c: tasks that wake evictors, which go to sleep, or take something else.
 *
 * Tasks on two CPUs charge two memcgs to their limit, and ask the evictor of their CPU; or another
 * one that is idle. An evictor takes what it was asked for, or what nobody else is about to take.
 * It has one memcg at a time, evicts till that has room, looks for more, and sleeps if there is
 * none. One may have to end meanwhile. That others expect it to come has no end here; there, it has
 * after a tick.
 *
 * When nothing happens any more, no memcg is over its limit, so none is left by all: invariant 1 of
 * evictd.c. In the kernel, tasks that wait ask again as well; here, nobody does. That an evictor
 * lets others do what it was asked for, and did not take, is there for time only, so not looked
 * at.
 *
 * run: ok
 * run: ok -DFEWER
 * run: error -DNO_MB
 * run: error -DIDLE_LATE
 * run: error -DNO_RECHECK
 * run: error -DFEWER -DNO_GIVE_UP
 * run: error -DFEWER -DNO_LEAVER
 */
#define E	2
#define T	2
#ifdef FEWER
#define ASKS	2		/* of the only task */
#else
#define ASKS	1		/* of each */
#endif
#define NONE	255
#define IDLE	254

byte wanted[E] = NONE, target[E] = NONE;
byte woken[T] = NONE;
bit idle[E], asleep[E];
bit queued[T], over[T];
byte evictors[T];
byte awake = 1, threads = E;
bit locked;

#define OPEN(t)	(queued[t] && !evictors[t])

#ifdef NO_LEAVER
#define COMES(e)	1
#else
#define COMES(e)	(e < threads)
#endif
/* ssw_evict_is_expected() */
#define EXPECTED(t)	(woken[t] != NONE && COMES(woken[t]) && \
			 (wanted[woken[t]] == t || \
			  (wanted[woken[t]] == NONE && target[woken[t]] == NONE)))

inline claim(ce, ct)
{
	if
	:: atomic { wanted[ce] == IDLE -> wanted[ce] = ct; woken[ct] = ce; ok = 1 }
		asleep[ce] = 0
	:: atomic { wanted[ce] != IDLE -> skip }
	fi
}

/* ssw_evictor_ask() */
inline ask(ae, atg)
{
	if
	:: target[ae] == atg -> ok = 1
	:: atomic { target[ae] == NONE && wanted[ae] == NONE -> wanted[ae] = atg }
		if
		:: (target[ae] == NONE || target[ae] == atg) && COMES(ae) -> ok = 1
		:: else
		fi
	:: target[ae] == NONE && wanted[ae] == atg -> ok = COMES(ae)
	:: else
	fi;
	if
	:: ok -> woken[atg] = ae
	:: else
	fi
}

/* What a CPU has read too early, if there is no barrier */
inline look(lown)
{
#ifdef NO_MB
	d_step { saw = wanted[lown]; saw_idle[0] = idle[0]; saw_idle[1] = idle[1] }
#endif
	skip
}

/* ssw_evict_wake() by a task or evictor on a CPU */
inline wake(cpu, wt)
{
	atomic { most = threads; wown = (most > cpu -> cpu : 0) };
	if
#ifdef NO_MB
	:: !ok && saw == IDLE -> claim(wown, wt)
#else
	:: !ok -> claim(wown, wt)
#endif
	:: else
	fi;
	if
	:: !ok -> ask(wown, wt)
	:: else
	fi;
	do
#ifdef NO_MB
	:: at < most && !ok && saw_idle[at] -> claim(at, wt); at++
	:: at < most && !ok && !saw_idle[at] -> at++
#else
	:: at < most && !ok && idle[at] -> claim(at, wt); at++
	:: at < most && !ok && !idle[at] -> at++
#endif
	:: at == most || ok -> break
	od;
	atomic { at = 0; ok = 0; most = 0; wown = 0 }
}

/* ssw_evict_request() */
inline request(rown, rt)
{
	if
	:: !queued[rt] ->
		look(rown);
		atomic { !locked -> queued[rt] = (threads -> 1 : queued[rt]) };
		wake(rown, rt)
	:: queued[rt] && awake && evictors[rt]
	:: queued[rt] && awake && EXPECTED(rt)
	:: queued[rt] && !(awake && evictors[rt]) -> look(rown); wake(rown, rt)
	fi
}

/* ssw_evictor_busy() */
inline busy(be)
{
	atomic {
		want = wanted[be];
		wanted[be] = NONE;
		idle[be] = (want != NONE -> 0 : idle[be])
	}
}

inline pass(pe)
{
	if
	:: want < T && want != got && OPEN(want) -> look(pe); wake(pe, want)
	:: else
	fi
}

/* Neither what another one is about to take, nor what others have */
inline find(fe, ft)
{
	if
	:: got == NONE && OPEN(ft) && (woken[ft] == fe || !EXPECTED(ft)) -> got = ft
	:: else
	fi
}

/* ssw_evictor_next(): @got, or NONE */
inline next(ne)
{
	got = NONE;
	if
	:: ne < threads ->
		want = wanted[ne];
		atomic {
			!locked ->
			if
			:: want < T && OPEN(want) -> got = want
			:: else
			fi;
			if
			:: skip; find(ne, 0); find(ne, 1)
			:: skip; find(ne, 1); find(ne, 0)
			fi;
			if
			:: got != NONE -> locked = 1; evictors[got]++
			:: else -> want = 0
			fi
		};
		if
		:: got != NONE ->
			target[ne] = got;
			busy(ne);
			pass(ne);
			atomic { locked = 0; want = 0 }
		:: else
		fi
	:: else
	fi
}

inline turn(te)
{
	over[got] = 0;
	atomic { !locked -> queued[got] = 0 };
#ifndef NO_RECHECK
	if
	:: over[got] && threads -> request(te, got)
	:: else
	fi;
#endif
	target[te] = NONE;
	atomic { !locked -> evictors[got]--; got = NONE }
}

proctype evictor(byte e)
{
	byte want, got, at, saw, most, wown, seen;
	bit ok, saw_idle[E];

	/* One sleeps at first, and the other one looks for more to do. */
	got = NONE;
	if
	:: !e -> goto end_idle
	:: else
	fi;
	do
	:: next(e);
		if
		:: got == NONE && e < threads ->
			awake--;
			do
			:: e >= threads -> break
			:: e < threads ->
				asleep[e] = 1;
#ifdef IDLE_LATE
				next(e);
				atomic { if :: wanted[e] == NONE -> wanted[e] = IDLE :: else fi };
#else
				atomic { if :: wanted[e] == NONE -> wanted[e] = IDLE :: else fi };
#endif
				atomic {
					seen = wanted[e];
					if
					:: seen == IDLE -> idle[e] = 1
					:: else
					fi
				};
#ifndef IDLE_LATE
				next(e);
#endif
				if
				:: got != NONE -> seen = 0; break
				:: got == NONE && e >= threads -> seen = 0; break
				:: got == NONE && e < threads && wanted[e] == IDLE ->
					seen = 0;
end_idle:				!asleep[e]
				:: got == NONE && e < threads && wanted[e] != IDLE ->
					/* Unless it was woken after it has looked */
					atomic {
						if
						:: wanted[e] == seen ->
							wanted[e] = NONE;
							idle[e] = 0
						:: else
						fi;
						seen = 0
					}
				fi
			od;
			awake++
		:: got == NONE && e >= threads ->
			awake--;
#ifndef NO_GIVE_UP
			/* ssw_evict_give_up() */
			busy(e);
			atomic { !locked -> locked = 1 };
			pass(e);
			find(e, 0);
			find(e, 1);
			if
			:: got != NONE -> wake(e, got); got = NONE
			:: else
			fi;
			locked = 0;
#endif
end_surplus:		e < threads;
			awake++
		:: else
		fi;
		if
		:: got != NONE -> turn(e)
		:: else
		fi
	od
}

proctype task(byte own)
{
	byte at, saw, most, wown, t, asks;
	bit ok, saw_idle[E];

	do
	:: asks < ASKS ->
		if
		:: t = own
		:: t = 0
		fi;
		over[t] = 1;
		request(own, t);
		atomic { asks++; t = 0 }
	:: else -> break
	od
}

#ifdef FEWER
/* ssw_evict_set_threads() */
active proctype fewer()
{
	atomic { !locked -> threads = 1 };
	asleep[1] = 0
}
#endif

active proctype judge()
{
	timeout;
	assert(!over[0] && !over[1])
}

init {
	atomic {
		wanted[0] = IDLE;
		idle[0] = 1;
		asleep[0] = 1;
		run evictor(0);
		run evictor(1);
#ifndef FEWER
		run task(0);
#endif
		run task(1);
	}
}
