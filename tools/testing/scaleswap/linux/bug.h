/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SSW_TEST_BUG_H
#define _SSW_TEST_BUG_H

/* Print and end the program with status 1. */
void ssw_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));

#define ssw_check(cond, fmt, ...)					\
	do {								\
		if (!(cond))						\
			ssw_fail(__FILE__, __LINE__, "%s: " fmt, #cond,	\
				 ##__VA_ARGS__);			\
	} while (0)

/* What the kernel warns of is a failure here. */
#define WARN_ON_ONCE(cond)						\
({									\
	int __warn = !!(cond);						\
	if (__warn)							\
		ssw_fail(__FILE__, __LINE__, "WARN_ON_ONCE(%s)", #cond);	\
	__warn;								\
})

#endif
