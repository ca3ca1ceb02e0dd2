/* SPDX-License-Identifier: GPL-2.0 */
/*
 * slot.h and the compare-and-exchange loops of slot.c: one slot.
 *
 * The owner allocates the slot. The allocator refers to it and drops the swap cache.
 * Other processes add and drop references, take the slot into the swap cache and out,
 * and look at it without knowing anything of it. Beside the word, the model keeps how
 * many references there are, and whether a process has the cache. When there is
 * neither, one process tears the slot down, once per use. The slot is not allocated
 * before that is complete.
 *
 * The word is a number, as in the kernel: a compare-and-exchange succeeds if the
 * slot has been freed and allocated meanwhile and looks the same (ABA).
 *
 * run: ok
 * run: error -DPLAIN_PUT
 * run: error -DNO_FREEING
 * run: error -DCACHE_FREE
 */
#ifndef ALLOCS
#define ALLOCS	3
#endif
#define MAX	2		/* references at a time */

/* Low bit: cache; the rest: 0 none, 1 being torn down, 2 or more: references + 1 */
#define CACHE		1
#define FREEING		2
#define REF(n)		(((n) + 1) << 1)
#define REFS(w)		(((w) >> 1) < 2 -> 0 : ((w) >> 1) - 1)

byte word;
byte refs;			/* references that a process has, */
byte loose;			/* of these, those that any process may drop */
bit cached;			/* a process has the cache */
bit tearing;
bit device;			/* the data on the device is in use */
byte allocs;

inline tear_down()
{
	assert(!refs && !cached && !tearing && device);
	tearing = 1;
	device = 0;
	tearing = 0;
	atomic {
		assert(word == FREEING);
		word = 0
	}
}

inline put()
{
	old = word;
	do
	:: true ->
		assert(REFS(old) > 0);
		new = (REFS(old) > 1 -> REF(REFS(old) - 1) | (old & CACHE) :
		       ((old & CACHE) -> CACHE : FREEING));
#ifdef NO_FREEING
		new = (new == FREEING -> 0 : new);
#endif
#ifdef PLAIN_PUT
		word = new;
		refs--;
		break
#else
		atomic {
			if
			:: word == old -> word = new; refs--; break
			:: else -> old = word
			fi
		}
#endif
	od
}

inline dup()
{
	old = word;
	do
	:: true ->
		assert(old & CACHE || REFS(old) > 0);
		new = REF(REFS(old) + 1) | (old & CACHE);
		atomic {
			if
			:: word == old -> word = new; refs++; break
			:: else -> old = word
			fi
		}
	od
}

/* Sets got. The caller need not have a reference. */
inline cache()
{
	got = false;
	old = word;
	do
#ifdef CACHE_FREE
	:: old & CACHE -> break
	:: !(old & CACHE) ->
#else
	:: old & CACHE || REFS(old) == 0 -> break
	:: !(old & CACHE) && REFS(old) > 0 ->
#endif
		atomic {
			if
			:: word == old ->
				assert(!cached && !tearing);
				word = old | CACHE;
				cached = 1;
				got = true;
				break
			:: else -> old = word
			fi
		}
	od
}

inline uncache()
{
	old = word;
	do
	:: true ->
		assert(old & CACHE);
		new = old - CACHE;
		new = (new == 0 -> FREEING : new);
		atomic {
			if
			:: word == old -> word = new; cached = 0; break
			:: else -> old = word
			fi
		}
	od
}

inline if_last()
{
	if
#ifdef NO_FREEING
	:: new == 0 -> tear_down()
#endif
	:: new == FREEING -> tear_down()
	:: else
	fi;
	d_step { old = 0; new = 0; got = false }
}

/* Allocates, refers to the slot once or twice or not at all, drops the cache. */
active proctype allocator()
{
	byte old, new;
	bool got;

	do
	:: allocs == ALLOCS -> break
	:: allocs < ALLOCS && word == 0 ->
		/* Only the owner takes a word out of free. */
		atomic {
			assert(word == 0 && !refs && !cached && !tearing);
			word = CACHE;
			cached = 1;
			allocs++
		};
		assert(!device);
		device = 1;
		if
		:: dup(); loose++
		:: dup(); dup(); atomic { loose = loose + 2 }
		:: skip
		fi;
		uncache();
		if_last()
	od
}

/* Drops references, adds one to those it has, swaps in. */
active [2] proctype user()
{
	byte old, new;
	bool got;

end:	do
	:: atomic { loose > 0 -> loose-- };
		assert(device && !tearing);
		if
		:: refs < MAX -> dup(); loose++
		:: cache();
			if
			:: got ->
				assert(device && !tearing);
				put();
				assert(new != FREEING);
				uncache();
				if_last();
				goto end
			:: else
			fi
		:: skip
		fi;
		assert(device && !tearing);
		put();
		if_last()
	od
}

/* Readahead: knows nothing. */
active proctype ahead()
{
	byte old, new;
	bool got;

end:	do
	:: word != 0 ->
		cache();
		if
		:: got -> assert(device && !tearing); uncache(); if_last()
		:: else
		fi;
		d_step { old = 0; new = 0; got = false }
	od
}

active proctype at_rest()
{
	timeout;
	assert(allocs == ALLOCS && word == 0 && !refs && !cached && !device)
}
