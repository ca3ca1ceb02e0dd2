/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page_util.h - pages for the ScaleSwap selftests: stamped, swapped out, found in areas
 */
#ifndef SSW_PAGE_UTIL_H
#define SSW_PAGE_UTIL_H

#include <sys/mman.h>

#include "util.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#endif
#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE	14
#endif
#ifndef MADV_NOHUGEPAGE
#define MADV_NOHUGEPAGE	15
#endif
#ifndef MADV_COLD
#define MADV_COLD	20
#endif

#define SSW_PAGE	4096UL

/* --- memory -------------------------------------------------------------- */

char *ssw_map(size_t pages, bool huge);

/* --- stamps -------------------------------------------------------------- */

uint64_t ssw_word(const char *page, uint64_t gen);
void ssw_stamp(char *p, size_t pages, uint64_t gen);
void ssw_stamp_as(char *p, size_t pages, uint64_t gen, const char *as);
long ssw_wrong(const char *p, size_t pages, uint64_t gen);
long ssw_wrong_as(const char *p, size_t pages, uint64_t gen, const char *as);
long ssw_not_zero(const char *p, size_t pages);

/* --- where pages are ----------------------------------------------------- */

#define SSW_PM_SWAP	(1ULL << 62)
#define SSW_PM_PRESENT	(1ULL << 63)

uint64_t ssw_pagemap(const void *addr);
unsigned int ssw_pm_code(uint64_t e);
int ssw_pm_type(uint64_t e);
uint64_t ssw_pm_offset(uint64_t e);
int ssw_where(const char *p, size_t pages, long per[258]);
long ssw_pageout(char *p, size_t pages);

/* --- load in the background ---------------------------------------------- */

struct ssw_load {
	volatile int stop;
	volatile long rounds;	/* of stamping, swapping out and checking */
	volatile long out;	/* pages swapped out */
	volatile long wrong;	/* pages that came back wrong */
	pid_t pid;
};

struct ssw_load *ssw_loads(int n);
int ssw_load_start(struct ssw_load *l, int cpu, size_t pages);
bool ssw_load_more(struct ssw_load *l, long rounds);
long ssw_load_stop(struct ssw_load *l);

#endif /* SSW_PAGE_UTIL_H */
