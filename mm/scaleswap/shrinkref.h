/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ScaleSwap: calls from mm/shrinker.c.
 */
#ifndef _MM_SCALESWAP_SHRINKREF_H
#define _MM_SCALESWAP_SHRINKREF_H

#include <linux/scaleswap.h>
#include <linux/shrinker.h>

bool __scaleswap_shrinker_init(struct shrinker *shrinker);
void __scaleswap_shrinker_exit(struct shrinker *shrinker);
bool __scaleswap_shrinker_try_get(struct shrinker *shrinker);
void __scaleswap_shrinker_put(struct shrinker *shrinker);
void __scaleswap_shrinker_drain(struct shrinker *shrinker);

/**
 * scaleswap_shrinker_init - give a new shrinker a count of references for each CPU
 * @shrinker: the shrinker, not yet registered
 *
 * Context: may sleep.
 * Return: true unless memory is short.
 */
static inline bool scaleswap_shrinker_init(struct shrinker *shrinker)
{
	return !scaleswap_on() || __scaleswap_shrinker_init(shrinker);
}

/**
 * scaleswap_shrinker_exit - free what scaleswap_shrinker_init() has allocated
 * @shrinker: a shrinker that no other CPU knows any more
 *
 * Context: any but hard interrupts. Also after scaleswap_shrinker_init() has failed.
 */
static inline void scaleswap_shrinker_exit(struct shrinker *shrinker)
{
	if (scaleswap_on())
		__scaleswap_shrinker_exit(shrinker);
}

/**
 * scaleswap_shrinker_try_get - as shrinker_try_get(), in the count of this CPU
 * @shrinker: the shrinker
 *
 * Context: RCU read side; any but interrupts.
 * Return: true if the caller has a reference. False if the shrinker is not registered yet, or
 * goes away.
 */
static inline bool scaleswap_shrinker_try_get(struct shrinker *shrinker)
{
	if (scaleswap_on())
		return __scaleswap_shrinker_try_get(shrinker);
	return shrinker_try_get(shrinker);
}

/**
 * scaleswap_shrinker_put - drop a reference of scaleswap_shrinker_try_get()
 * @shrinker: the shrinker; the caller may not use it any more, except under RCU
 *
 * Context: any but interrupts, on any CPU.
 */
static inline void scaleswap_shrinker_put(struct shrinker *shrinker)
{
	if (scaleswap_on())
		__scaleswap_shrinker_put(shrinker);
	else
		shrinker_put(shrinker);
}

/**
 * scaleswap_shrinker_drain - wait until no CPU has a reference on a shrinker
 * @shrinker: the shrinker; the reference of its registration is dropped
 *
 * Context: sleeps as long as callbacks of the shrinker run, as the base kernel does.
 */
static inline void scaleswap_shrinker_drain(struct shrinker *shrinker)
{
	if (scaleswap_on())
		__scaleswap_shrinker_drain(shrinker);
}

#endif /* _MM_SCALESWAP_SHRINKREF_H */
