/* SPDX-License-Identifier: GPL-2.0 */
/*
 * drain_harness.h - two areas, of which one is drained
 */
#ifndef SSW_DRAIN_HARNESS_H
#define SSW_DRAIN_HARNESS_H

#include "move_harness.h"

static int other;

static inline int drain(int area, const char *val)
{
	char path[128];

	ssw_area_path(path, sizeof(path), area, "drain");
	return ssw_write(path, val);
}

static inline bool is(int area, const char *state)
{
	char buf[32];

	return ssw_area_str(area, "drain_state", buf, sizeof(buf)) >= 0 && !strcmp(buf, state);
}

/* Wait until an area is in a state. */
static inline bool gets(int area, const char *state)
{
	char buf[32] = "";

	ssw_for_looks(i) {
		if (is(area, state))
			return true;
		usleep(20000);
	}
	ssw_area_str(area, "drain_state", buf, sizeof(buf));
	printf("# area %d is %s, not %s, with %lld in use\n", area, buf, state,
	       ssw_area(area, "used"));
	return false;
}

/* The area to which slots go */
static inline void other_on(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(1), AREA - 1));
	other = ssw_on_cpu(ssw_bdev(1), 1);
	ASSERT_LE(0, other);
}

static inline void two_on(struct __test_metadata *_metadata)
{
	area_on(_metadata, ssw_bdev(0));
	other_on(_metadata);
}

static inline long in(const char *p, size_t pages, int area)
{
	long per[258];

	return ssw_where(p, pages, per) ? -1 : per[area];
}

#endif
