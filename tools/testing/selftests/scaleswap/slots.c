// SPDX-License-Identifier: GPL-2.0
/*
 * The references that a slot's word records, read from debugfs; and that slots with no
 * reference but the swap cache's are not lost.
 */
#include "harness.h"

SSW_FIXTURE(slots, SSW_NEED_ON | SSW_NEED_DIR)

#define SLOTS	"/sys/kernel/debug/scaleswap/slots"
#define PAGES	600

struct word {
	char kind[16];
	int cached;
	long long count, mm;
	uint64_t vpn;
};

/* The line of one slot; -1 if there is none. */
static int look_up(int type, uint64_t slot, struct word *w)
{
	char line[200], mm[32], vpn[32];
	unsigned int t, s;
	int found = -1;
	FILE *f;

	f = fopen(SLOTS, "r");
	if (!f)
		return -1;
	while (found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%u %u %15s %d %lld %31s %31s", &t, &s, w->kind,
			   &w->cached, &w->count, mm, vpn) != 7 ||
		    (int)t != type || s != slot)
			continue;
		w->mm = mm[0] == '-' ? -1 : atoll(mm);
		w->vpn = vpn[0] == '-' ? 0 : strtoull(vpn, NULL, 16);
		found = 0;
	}
	fclose(f);
	return found;
}

static int look(const char *p, struct word *w)
{
	uint64_t e = ssw_pagemap(p);

	if (!(e & SSW_PM_SWAP))
		return -1;
	return look_up(ssw_pm_type(e), ssw_pm_offset(e), w);
}

/* One page table entry: its mm and address. Two: a count. One again: a count. */
SSW_BODY(slots, who_refers)
{
	struct ssw_areas a;
	struct word w, other;
	int go[2], done[2];
	char *p, c = 0;
	pid_t pid;

	if (access(SLOTS, R_OK))
		SKIP(return, "no " SLOTS " (CONFIG_DEBUG_FS, or another kernel)");
	ASSERT_EQ(0, ssw_areas_on(&a, 4000, 1));
	ASSERT_EQ(0, ssw_pin(a.cpu[0]));
	p = ssw_map(PAGES, false);
	ssw_stamp(p, PAGES, 1);
	ASSERT_EQ(PAGES, ssw_pageout(p, PAGES));
	ssw_evict("ssw");
	for (int i = 0; i < PAGES; i += 97) {
		ASSERT_EQ(0, look(p + i * SSW_PAGE, &w));
		EXPECT_STREQ("excl", w.kind);
		EXPECT_EQ(1, w.count);
		EXPECT_EQ((uintptr_t)(p + i * SSW_PAGE) / SSW_PAGE, w.vpn);
		EXPECT_LT(0, w.mm);
	}

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(done));
	pid = ssw_fork();
	if (!pid) {
		char *q = ssw_map(1, false);

		/* Its own slots, under its own number. */
		ssw_stamp(q, 1, 5);
		if (ssw_pageout(q, 1) != 1 || look(q, &other) || strcmp(other.kind, "excl") ||
		    other.mm == w.mm || other.vpn != (uintptr_t)q / SSW_PAGE)
			_exit(1);
		if (write(done[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(2);
		_exit(ssw_wrong(q, 1, 5) ? 3 : 0);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(1, read(done[0], &c, 1));
	/* The child's entry is the second one. The word still says where the first one is. */
	ASSERT_EQ(0, look(p + SSW_PAGE, &other));
	EXPECT_STREQ("pair", other.kind);
	EXPECT_EQ(2, other.count);
	EXPECT_EQ(w.mm, other.mm);
	EXPECT_EQ((uintptr_t)(p + SSW_PAGE) / SSW_PAGE, other.vpn);
	ASSERT_EQ(1, write(go[1], &c, 1));
	EXPECT_EQ(0, ssw_join(pid));
	ASSERT_EQ(0, look(p + SSW_PAGE, &other));
	EXPECT_STREQ("excl", other.kind);
	EXPECT_EQ(1, other.count);
	EXPECT_EQ(w.mm, other.mm);
	EXPECT_EQ((uintptr_t)(p + SSW_PAGE) / SSW_PAGE, other.vpn);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
}

/*
 * Pages that were read back keep their slots while there is room. When there is
 * none, others get these slots.
 */
SSW_BODY(slots, cached_ones_are_reclaimed)
{
	const int pages = 2000, first = 900, second = 1500;
	char *p, *q;
	long out;
	int t;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), pages + 1));
	t = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));
	p = ssw_map(first, false);
	ssw_stamp(p, first, 1);
	ASSERT_LE(first - SSW_SLACK, ssw_pageout(p, first));
	ssw_evict("ssw");
	/* Less than half full, so that reading does not give the slots up. */
	EXPECT_EQ(0, ssw_wrong(p, first, 1));
	if (ssw_area(t, "used") < first / 2)
		SKIP(return, "the slots of pages that were read back are gone already");
	q = ssw_map(second, false);
	ssw_stamp(q, second, 2);
	out = ssw_pageout(q, second);
	TH_LOG("%ld of %d pages out beside %d that had been read back", out, second, first);
	EXPECT_LE(second - SSW_SLACK, out);
	EXPECT_EQ(0, ssw_wrong(p, first, 1));
	EXPECT_EQ(0, ssw_wrong(q, second, 2));
}

TEST_HARNESS_MAIN
