/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Setting 247 small areas up, for the tests that need types beyond 127.
 */
#ifndef SSW_WIDE_H
#define SSW_WIDE_H

#include "ssw_test.h"

#define WIDE_PAGES	63	/* usable pages of each area */

static inline const char *wide_file(int nr)
{
	static char buf[8][256];
	static int at;

	at = (at + 1) % 8;
	snprintf(buf[at], sizeof(buf[at]), "%s/wide%03d", ssw_dir(), nr);
	return buf[at];
}

/* Make the files, once: making them takes longer than using them. */
static inline int wide_files(int n)
{
	for (int i = 0; i < n; i++) {
		struct stat st;
		int ret;

		if (!stat(wide_file(i), &st) && st.st_size == (WIDE_PAGES + 1) * SSW_PAGE)
			continue;
		ret = ssw_mkfile(wide_file(i), WIDE_PAGES);
		if (ret) {
			printf("# cannot make %s: %s\n", wide_file(i), strerror(-ret));
			return ret;
		}
	}
	return 0;
}

/* All of them on, bound to @bind. 0, or the errno of the first that fails. */
static inline int wide_on(int n, const char *bind)
{
	int ret = ssw_bind(bind);

	for (int i = 0; i < n && !ret; i++) {
		ret = ssw_swapon(wide_file(i));
		if (ret)
			printf("# swapon of area %d: %s\n", i, strerror(-ret));
	}
	ssw_bind("off");
	return ret;
}

#endif /* SSW_WIDE_H */
