// SPDX-License-Identifier: GPL-2.0
/*
 * Critical faults: the page that a fault waits for is read first, and polled for. Tested
 * are the way and the order of reads, the number of reads and interrupts, and many faults
 * at once. Resets, limits and drives that go are in fault_device.c.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fault_harness.h"

FAULT_FIXTURE(fault, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	FAULT_PAGES
#define OTHERS	FAULT_OTHERS

/* --- tunables ---------------------------------------------------------------- */

SSW_TEST_F(fault, tunables)
{
	static const char * const counters[] = {
		"reads_direct", "reads_bio", "reads_irq", "reads_late", "reads_retried",
	};
	static const char * const modes[] = { "off", "bio", "direct", "auto" };
	char path[128], val[32];
	struct stat st;

	if (access(FAULT "mode", F_OK))
		SKIP(return, "the kernel has no CONFIG_SCALESWAP_FAULT");
	/* As set by the fixture, which sets what is the default. */
	EXPECT_EQ(100, fault_num("poll_us"));
	EXPECT_EQ(1, fault_num("readahead"));
	ssw_taken(_metadata, "fault/poll_us", "0", "0");
	ssw_taken(_metadata, "fault/poll_us", "100000\n", "100000");
	ssw_taken(_metadata, "fault/poll_us", "0x10", "16");
	ssw_taken(_metadata, "fault/readahead", "0", "0");
	ssw_taken(_metadata, "fault/readahead", "1\n", "1");
	ssw_taken(_metadata, "fault/mode", "off", "off");
	ssw_refused(_metadata, "fault/poll_us", "100001", EINVAL);
	ssw_refused(_metadata, "fault/poll_us", "-1", EINVAL);
	ssw_refused(_metadata, "fault/poll_us", "4294967296", EINVAL);
	ssw_refused(_metadata, "fault/poll_us", "\n", EINVAL);
	ssw_refused(_metadata, "fault/poll_us", "ten", EINVAL);
	ssw_refused(_metadata, "fault/readahead", "2", EINVAL);
	ssw_refused(_metadata, "fault/readahead", "maybe", EINVAL);
	ssw_refused(_metadata, "fault/mode", "of", EINVAL);
	ssw_refused(_metadata, "fault/mode", "Direct", EINVAL);
	ssw_refused(_metadata, "fault/mode", "direct,bio", EINVAL);
	ssw_refused(_metadata, "fault/mode", " auto", EINVAL);
	EXPECT_EQ(-EINVAL, ssw_write_n(FAULT "mode", "off\0auto", 8));
	EXPECT_EQ(-EINVAL, ssw_write_n(FAULT "poll_us", "1\0002", 3));
	EXPECT_EQ(-EINVAL, ssw_write_n(FAULT "readahead", "1\0002", 3));
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		snprintf(path, sizeof(path), FAULT "%s", counters[i]);
		EXPECT_LE(0, ssw_num(path)) TH_LOG("%s", counters[i]);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(0444, st.st_mode & 0777) TH_LOG("%s", counters[i]);
	}
	/* Without the mechanism, off is all there is. */
	if (fault_set("mode", "auto") == -EOPNOTSUPP) {
		EXPECT_FALSE(fault_booted_with("scaleswap=on"));
		/* Each way to ask for it; the word alone may be elsewhere. */
		EXPECT_FALSE(fault_booted_with("scaleswap=fault"));
		EXPECT_FALSE(fault_booted_with(",fault"));
		for (size_t i = 1; i < ARRAY_SIZE(modes); i++)
			ssw_refused(_metadata, "fault/mode", modes[i], EOPNOTSUPP);
		ASSERT_LT(0, ssw_read(FAULT "mode", val, sizeof(val)));
		EXPECT_STREQ("off", val);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		ssw_taken(_metadata, "fault/mode", modes[i], modes[i]);
	/* Others may look, not change. */
	ASSERT_EQ(0, stat(FAULT "mode", &st));
	EXPECT_EQ(0644, st.st_mode & 0777);
}

/* scaleswap=core: nothing polls, nothing counts. */
SSW_BODY(fault, off_without_the_mechanism)
{
	struct fault_count c;
	char *p;

	if (access(FAULT "mode", F_OK))
		SKIP(return, "the kernel has no CONFIG_SCALESWAP_FAULT");
	if (!fault_is("off"))
		SKIP(return, "the kernel was booted with fault in scaleswap=");
	if (!ssw_bdev(0))
		SKIP(return, "SSW_BDEVS names no spare block device");
	ON_ONE_DRIVE();
	p = fault_out(PAGES, 1, false);
	ASSERT_NE(NULL, p);
	fault_read(&c, fault_ctrl(ssw_bdev(0)));
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	c = fault_since(&c, fault_ctrl(ssw_bdev(0)));
	fault_print("scaleswap=core", &c);
	EXPECT_LT(0, c.pswpin) TH_LOG("nothing was read: nothing was tested");
	EXPECT_EQ(0, c.direct + c.bio + c.irq + c.late + c.again + c.no_poll + c.unfit);
	EXPECT_GE(0, fault_dev(ssw_bdev(0), "device/swap_queues"))
		TH_LOG("the driver has queues that nobody uses");
}

/* --- ways to read -------------------------------------------------------------- */

/* Each mode reads in its way, once for each fault, and without an interrupt. */
SSW_BODY(fault, ways)
{
	static const struct {
		const char *mode;
		bool direct, bio, irq;
	} ways[] = {
		{ "direct", .direct = true },
		{ "bio", .bio = true },
		{ "auto", .direct = true },
		/* The control: as in the base kernel */
		{ "off", .irq = true },
	};
	const char *ctrl;

	NEED_QUEUES();
	ON_ONE_DRIVE();
	ctrl = fault_ctrl(ssw_bdev(0));
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		long long reads = fault_dev(ssw_bdev(0), "device/swap_reads");
		struct fault_count c;
		char *p;

		ASSERT_EQ(0, fault_set("mode", ways[i].mode));
		p = fault_out(PAGES, i + 1, false);
		ASSERT_NE(NULL, p);
		fault_read(&c, ctrl);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1));
		c = fault_since(&c, ctrl);
		fault_print(ways[i].mode, &c);
		reads = fault_dev(ssw_bdev(0), "device/swap_reads") - reads;
		EXPECT_LE(PAGES * 9 / 10, c.major) TH_LOG("hardly any page was out");
		EXPECT_ABOUT(ways[i].direct ? c.major : 0, c.direct);
		EXPECT_ABOUT(ways[i].direct ? c.major : 0, reads);
		EXPECT_ABOUT(ways[i].bio ? c.major : 0, c.bio);
		EXPECT_ABOUT(0, c.irq);
		EXPECT_EQ(0, c.again + c.no_poll + c.busy + c.down + c.unfit + c.limited);
		/* pswpin counts a page, whichever way it is read. */
		EXPECT_ABOUT(c.major, c.pswpin);
		if (ways[i].irq) {
			EXPECT_LE(c.major * 3 / 4, c.irqs) TH_LOG("%s", ways[i].mode);
		} else {
			EXPECT_GE(PAGES / 10, c.irqs) TH_LOG("%s", ways[i].mode);
		}
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* --- order ---------------------------------------------------------------------- */

static int trace_start(void)
{
	static const char *const events[] = {
		"scaleswap/scaleswap_read",
		"block/block_rq_issue",
		NULL,
	};

	/* Not in all configurations; where block_rq_issue comes from, too. */
	ssw_write(SSW_TRACE "events/nvme/nvme_setup_cmd/enable", "1");
	return ssw_trace_start(events);
}

/* Sums over all faults of a trace; counted in faults unless said otherwise. */
struct order {
	long faults;	/* all */
	long ahead;	/* with readahead */
	long polled;	/* with an event scaleswap_read */
	long first;	/* whose own page was read first, and by itself */
	long twice;	/* whose own page was read again with others */
	long reads;	/* requests */
	char how[16];
};

/* Within a fault */
struct seen {
	long long slot;		/* -1: not known (yet) */
	long long sector[64], end[64];
	int reads, before;	/* requests; those before scaleswap_read */
	bool event;
};

static void order_add(struct order *o, const struct seen *s)
{
	bool direct = s->event && !strcmp(o->how, "direct");
	long long own = s->slot * 8;
	int others = 0, owns = 0;

	if (!s->event && !s->reads)
		return;
	o->faults++;
	o->polled += s->event;
	o->reads += s->reads;
	for (int i = 0; i < s->reads; i++) {
		if (s->slot >= 0 && s->sector[i] <= own && own < s->end[i])
			owns++;
		if (s->sector[i] != own || s->end[i] != own + 8)
			others++;
	}
	if (others)
		o->ahead++;
	if (direct) {
		/* No request of its own, and none before it. */
		o->first += !s->before;
		o->twice += owns > 0;
	} else {
		o->first += s->reads && s->sector[0] == own && s->end[0] == own + 8;
		o->twice += owns > 1;
	}
}

/* Read the trace. Faults begin with a mark that has the slot if it is known. */
static int order_read(struct order *o, const char *dev)
{
	FILE *f = fopen(SSW_TRACE "trace", "re");
	struct seen s = { .slot = -1 };
	char line[1024], *p, id[32];
	struct stat st;

	memset(o, 0, sizeof(*o));
	if (!f || stat(dev, &st))
		return -errno;
	snprintf(id, sizeof(id), "%u,%u ", major(st.st_rdev), minor(st.st_rdev));
	while (fgets(line, sizeof(line), f)) {
		unsigned long long slot, sector, n;

		p = strstr(line, "ssw-fault ");
		if (p) {
			order_add(o, &s);
			memset(&s, 0, sizeof(s));
			s.slot = strtoll(p + 10, NULL, 10);
			continue;
		}
		p = strstr(line, "scaleswap_read: ");
		if (p && sscanf(p, "scaleswap_read: type=%*u slot=%llu how=%15s", &slot,
				o->how) == 2) {
			if (s.slot >= 0 && s.slot != (long long)slot)
				printf("# slot %lld, but %llu was read first\n", s.slot, slot);
			s.slot = slot;
			s.event = true;
			s.before = s.reads;
			continue;
		}
		p = strstr(line, "block_rq_issue: ");
		if (!p || strncmp(p + 16, id, strlen(id)))
			continue;
		p += 16 + strlen(id);
		/* "R 4096 () 40 + 8 be,0,4 [fault]": reads only */
		if (*p != 'R')
			continue;
		p = strstr(p, ") ");
		if (!p || sscanf(p, ") %llu + %llu", &sector, &n) != 2)
			continue;
		if (s.reads < (int)ARRAY_SIZE(s.sector)) {
			s.sector[s.reads] = sector;
			s.end[s.reads++] = sector + n;
		}
	}
	order_add(o, &s);
	fclose(f);
	return 0;
}

/* Does an NVMe command of a fault come before its own page's? -1: not to be known. */
static long order_nvme(const char *how)
{
	FILE *f = fopen(SSW_TRACE "trace", "re");
	long long own = -1, first = -1;
	char line[1024], *p;
	long bad = 0, seen = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		unsigned long long v;

		if (strstr(line, "ssw-fault ")) {
			own = -1;
			first = -1;
			continue;
		}
		p = strstr(line, "slba=");
		if (strstr(line, "nvme_setup_cmd:") && strstr(line, "nvme_cmd_read") && p &&
		    first < 0) {
			/* Blocks of 512 bytes, as QEMU has them */
			first = strtoll(p + 5, NULL, 10);
			seen++;
			/* A polled or ordinary bio: known once the event comes. */
			if (own >= 0 && strcmp(how, "direct"))
				bad += first != own;
		}
		p = strstr(line, "scaleswap_read: ");
		if (p && sscanf(p, "scaleswap_read: type=%*u slot=%llu", &v) == 1) {
			own = v * 8;
			if (first >= 0)
				bad += !strcmp(how, "direct") || first != own;
		}
	}
	fclose(f);
	return seen ? bad : -1;
}

/* Touch each page, the last first, so that readahead is of what comes before. */
static long touch_backwards(char *p, size_t pages, uint64_t gen, bool shared)
{
	int mark = open(SSW_TRACE "trace_marker", O_WRONLY | O_CLOEXEC);
	long wrong = 0;
	char text[64];

	for (size_t i = pages; i-- > 0; ) {
		uint64_t e = shared ? 0 : ssw_pagemap(p + i * SSW_PAGE);
		long long slot = e & SSW_PM_SWAP ? (long long)ssw_pm_offset(e) : -1;
		int n = snprintf(text, sizeof(text), "ssw-fault %lld\n", slot);

		if (write(mark, text, n) != n)
			printf("# no mark in the trace: %s\n", strerror(errno));
		wrong += ssw_wrong(p + i * SSW_PAGE, 1, gen);
	}
	close(mark);
	return wrong;
}

static void in_order(struct __test_metadata *_metadata, const char *mode, const char *how,
		     bool by_address, bool shared, uint64_t gen)
{
	struct order o;
	char *p;

	ASSERT_EQ(0, fault_set("mode", mode));
	ASSERT_EQ(0, ssw_write(VMA_RA, by_address ? "true" : "false"));
	p = fault_out(PAGES, gen, shared);
	ASSERT_NE(NULL, p);
	if (trace_start())
		SKIP(return, "no tracing here");
	EXPECT_EQ(0, touch_backwards(p, PAGES, gen, shared));
	ssw_trace_stop();
	ASSERT_EQ(0, order_read(&o, ssw_bdev(0)));
	TH_LOG("%s, neighbours by %s%s: %ld faults, %ld with readahead", mode,
	       by_address ? "address" : "slot", shared ? ", shared" : "", o.faults, o.ahead);
	TH_LOG("%ld events (%s), %ld own page first, %ld twice, %ld requests", o.polled, o.how,
	       o.first, o.twice, o.reads);
	EXPECT_LE(PAGES / 16, o.ahead) TH_LOG("no readahead: nothing was tested");
	if (how) {
		long bad = order_nvme(how);

		EXPECT_STREQ(how, o.how);
		EXPECT_EQ(o.faults, o.polled);
		EXPECT_EQ(o.faults, o.first);
		EXPECT_EQ(0, o.twice);
		EXPECT_GE(0, bad) TH_LOG("%ld commands came before those waited for", bad);
	} else {
		/* The control: the base kernel reads it in the order of readahead. */
		EXPECT_EQ(0, o.polled);
		EXPECT_GE(o.faults / 2, o.first);
	}
	munmap(p, PAGES * SSW_PAGE);
}

SSW_BODY(fault, critical_first)
{
	static const char * const modes[] = { "direct", "bio" };
	uint64_t gen = 1;

	NEED_QUEUES();
	ON_ONE_DRIVE();
	ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		in_order(_metadata, modes[m], modes[m], true, false, gen++);
		in_order(_metadata, modes[m], modes[m], false, false, gen++);
		in_order(_metadata, modes[m], modes[m], true, true, gen++);
	}
	in_order(_metadata, "off", NULL, true, false, gen++);
	in_order(_metadata, "off", NULL, false, false, gen++);
}

/* Without any queue to poll the order is the same. */
SSW_BODY(fault, critical_first_by_interrupt)
{
	NEED_FAULT();
	if (fault_can_direct(ssw_bdev(0)) || fault_can_bio(ssw_bdev(0)))
		SKIP(return, "needs nvme.swap_queues=0 nvme.poll_queues=0");
	ON_ONE_DRIVE();
	ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
	in_order(_metadata, "auto", "irq", true, false, 1);
	in_order(_metadata, "auto", "irq", false, false, 2);
	in_order(_metadata, "off", NULL, true, false, 3);
}

/*
 * Not tested: that a fault does not wait for an adjacent page that another process is just
 * reading. The test would have to catch it between the two halves of
 * __read_swap_cache_async().
 */

/* --- readahead -------------------------------------------------------------------- */

/* With 0 only the faulting page is read; with 1, the control, there are far fewer faults. */
SSW_BODY(fault, readahead)
{
	static const char * const modes[] = { "direct", "bio" };

	NEED_QUEUES();
	ON_ONE_DRIVE();
	ASSERT_EQ(0, ssw_write(CLUSTER, "3"));
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		for (int on = 0; on <= 1; on++) {
			struct fault_count c;
			char *p;

			ASSERT_EQ(0, fault_set("mode", modes[m]));
			ASSERT_EQ(0, fault_set("readahead", on ? "1" : "0"));
			p = fault_out(PAGES, 1, false);
			ASSERT_NE(NULL, p);
			fault_read(&c, "");
			EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
			c = fault_since(&c, "");
			fault_print(on ? "readahead" : "no readahead", &c);
			EXPECT_ABOUT(c.major, c.direct + c.bio);
			if (on) {
				EXPECT_GE(PAGES / 2, c.major);
				EXPECT_LE(PAGES * 9 / 10, c.pswpin);
			} else {
				EXPECT_LE(PAGES * 9 / 10, c.major);
				EXPECT_ABOUT(c.major, c.pswpin);
			}
			munmap(p, PAGES * SSW_PAGE);
		}
	}
	/* Where readahead is off as such, that of here changes nothing. */
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	ASSERT_EQ(0, fault_set("readahead", "1"));
}

/* --- polling has a limit ------------------------------------------------------------ */

/* Polled for no time at all, reads are handed over; and the area can go at once. */
SSW_BODY(fault, handed_over)
{
	static const char * const modes[] = { "direct", "bio" };

	NEED_QUEUES();
	ASSERT_EQ(0, fault_set("poll_us", "0"));
	/* Time to read others would be time for this one to arrive. */
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		struct fault_count c;
		char *p;

		ON_ONE_DRIVE();
		ASSERT_EQ(0, fault_set("mode", modes[m]));
		for (int shared = 0; shared <= 1; shared++) {
			long long late = 0;

			/* On a busy host many are there at the first look. */
			for (int i = 0; i < 50 && late < OTHERS / 2; i++) {
				p = fault_out(PAGES, 1, shared);
				ASSERT_NE(NULL, p);
				fault_read(&c, fault_ctrl(ssw_bdev(0)));
				EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
				c = fault_since(&c, fault_ctrl(ssw_bdev(0)));
				fault_print(modes[m], &c);
				EXPECT_GE(c.direct + c.bio, c.late);
				late += c.late;
				munmap(p, PAGES * SSW_PAGE);
			}
			EXPECT_LE(OTHERS / 2, late);
		}
		/*
		 * The process that waits for them is killed: nothing waits for these reads
		 * when they complete.
		 */
		p = fault_out(PAGES, 2, false);
		ASSERT_NE(NULL, p);
		for (int i = 0; i < 20; i++) {
			pid_t pid = ssw_fork();

			ASSERT_LE(0, pid);
			if (!pid)
				_exit(ssw_wrong(p + i * 10 * SSW_PAGE, 10, 2) ? 1 : 0);
			usleep(500 * i);
			kill(pid, SIGKILL);
			EXPECT_NE(1, ssw_join(pid)) TH_LOG("wrong pages");
		}
		EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
		munmap(p, PAGES * SSW_PAGE);
		/* A reference that is left keeps swapoff from ending. */
		EXPECT_EQ(0, fault_swapoff(ssw_bdev(0), 120)) TH_LOG("%s", modes[m]);
	}
}

/* --- what is not on the device --------------------------------------------------------- */

SSW_BODY(fault, zero_pages)
{
	static const char * const modes[] = { "direct", "bio" };

	NEED_QUEUES();
	ON_ONE_DRIVE();
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		struct fault_count c;
		char *p;

		ASSERT_EQ(0, fault_set("mode", modes[m]));
		mlockall(MCL_CURRENT);
		p = ssw_map(PAGES, false);
		/* Written, so that they are pages of their own. */
		for (int i = 0; i < PAGES; i++)
			*(volatile char *)(p + i * SSW_PAGE) = 0;
		ssw_pageout(p, PAGES);
		fault_evict("ssw");
		fault_read(&c, "");
		EXPECT_EQ(0, ssw_not_zero(p, PAGES));
		c = fault_since(&c, "");
		fault_print("zero", &c);
		EXPECT_LT(0, c.major) TH_LOG("no page was out: nothing was tested");
		EXPECT_GE(OTHERS, c.direct + c.bio + c.irq + c.late);
		munmap(p, PAGES * SSW_PAGE);
	}
}

SSW_BODY(fault, zswap)
{
	static const char * const modes[] = { "direct", "bio" };
	static const char enabled[] = "/sys/module/zswap/parameters/enabled";

	NEED_QUEUES();
	if (access(enabled, W_OK))
		SKIP(return, "the kernel has no zswap");
	ON_ONE_DRIVE();
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		long long in = ssw_vmstat("zswpin");
		struct fault_count c;
		char *p;

		ASSERT_EQ(0, fault_set("mode", modes[m]));
		ASSERT_EQ(0, ssw_write(enabled, "1"));
		p = fault_out(PAGES, 1, false);
		fault_read(&c, "");
		EXPECT_EQ(0, p ? ssw_wrong(p, PAGES, 1) : -1);
		c = fault_since(&c, "");
		in = ssw_vmstat("zswpin") - in;
		fault_print("zswap", &c);
		ASSERT_EQ(0, ssw_write(enabled, "0"));
		EXPECT_LE(PAGES / 2, in) TH_LOG("hardly any page was in zswap");
		/* With page-cluster 3 others come along; none of them from the device. */
		EXPECT_GE(OTHERS, c.direct + c.bio + c.irq + c.late);
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* --- many at once -------------------------------------------------------------------------- */

#define LOADS	8

/* Eight processes that fault at once, in each mode, then while the mode changes. */
SSW_BODY(fault, many)
{
	static const char * const modes[] = { "direct", "bio", "auto", "off" };
	struct fault_load *l = ssw_shared(LOADS * sizeof(*l));
	struct fault_count c;
	struct ssw_areas a;

	NEED_QUEUES();
	ASSERT_NE(NULL, l);
	ASSERT_EQ(0, ssw_areas_on(&a, 8000, SSW_MANY));
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		ASSERT_EQ(0, fault_set("mode", modes[m]));
		fault_read(&c, "");
		ASSERT_EQ(0, fault_load_start(l, LOADS, true, 150, "ssw"));
		EXPECT_TRUE(fault_load_more(l, LOADS, 3)) TH_LOG("%s", modes[m]);
		fault_judge(_metadata, modes[m], l, LOADS, false);
		c = fault_since(&c, "");
		fault_print(modes[m], &c);
		EXPECT_LT(0, m == 0 || m == 2 ? c.direct : m == 1 ? c.bio : c.pswpin);
	}
	fault_read(&c, "");
	ASSERT_EQ(0, fault_load_start(l, LOADS, false, 150, "ssw"));
	for (int i = 0; i < 200; i++) {
		fault_set("mode", modes[i % 4]);
		fault_set("poll_us", i % 3 ? "100" : "0");
		fault_set("readahead", i % 7 ? "1" : "0");
		ssw_write(CLUSTER, i % 5 ? "3" : "0");
		usleep(20000);
	}
	EXPECT_TRUE(fault_load_more(l, LOADS, 1));
	fault_judge(_metadata, "modes that change", l, LOADS, false);
	c = fault_since(&c, "");
	fault_print("modes that change", &c);
	EXPECT_LT(0, c.direct);
	EXPECT_LT(0, c.bio);
}

/* Areas that are turned off while pages of theirs are read in each way. */
SSW_BODY(fault, swapoff_under_load)
{
	static const char * const modes[] = { "direct", "bio" };
	struct fault_load *l = ssw_shared(LOADS * sizeof(*l));

	NEED_QUEUES();
	ASSERT_NE(NULL, l);
	for (int round = 0; round < 4; round++) {
		struct ssw_areas a;

		fault_set("mode", modes[round % 2]);
		fault_set("poll_us", round < 2 ? "100" : "0");
		ASSERT_EQ(0, ssw_areas_on(&a, 8000, SSW_MANY));
		ASSERT_EQ(0, fault_load_start(l, LOADS, true, 150, "ssw"));
		EXPECT_TRUE(fault_load_more(l, LOADS, 1));
		for (int i = 0; i < a.n; i++) {
			EXPECT_EQ(0, fault_swapoff(a.path[i], 120)) TH_LOG("%s", a.path[i]);
		}
		fault_judge(_metadata, "swapoff", l, LOADS, false);
	}
}

/* --- reads that fail -------------------------------------------------------------------------- */

/* The driver is made to fail: each page is read again by a bio, and is right. */
SSW_BODY(fault, failed_reads)
{
	char dir[128], path[160], was[32];
	struct fault_count c;
	const char *ctrl;
	long long retries;
	char *p;

	NEED_QUEUES();
	ctrl = fault_ctrl(ssw_bdev(0));
	snprintf(dir, sizeof(dir), "/sys/kernel/debug/%s/fail_scaleswap_read", ctrl);
	snprintf(path, sizeof(path), "%s/probability", dir);
	if (ssw_read(path, was, sizeof(was)) < 0)
		SKIP(return, "there is no %s", dir);
	ON_ONE_DRIVE();
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	ASSERT_EQ(0, fault_set("mode", "direct"));
	p = fault_out(PAGES, 1, false);
	ASSERT_NE(NULL, p);
	retries = fault_dev(ssw_bdev(0), "device/swap_retries");
	fault_read(&c, ctrl);
	ssw_write(path, "100");
	snprintf(path, sizeof(path), "%s/times", dir);
	ssw_write(path, "-1");
	/* Not a word of each in the kernel log. */
	snprintf(path, sizeof(path), "%s/verbose", dir);
	ssw_write(path, "0");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	snprintf(path, sizeof(path), "%s/probability", dir);
	ssw_write(path, was);
	c = fault_since(&c, ctrl);
	retries = fault_dev(ssw_bdev(0), "device/swap_retries") - retries;
	fault_print("made to fail", &c);
	EXPECT_LE(PAGES * 9 / 10, c.major);
	EXPECT_ABOUT(c.major, c.again);
	EXPECT_ABOUT(c.major, retries);
	EXPECT_ABOUT(c.major, c.direct);
	munmap(p, PAGES * SSW_PAGE);
	EXPECT_EQ(0, fault_swapoff(ssw_bdev(0), 120));
}

/* --- no queues -------------------------------------------------------------------------------- */

/* How often the kernel has said that an area cannot be polled, since boot. */
static int said_so(void)
{
	return fault_said("is on a device without queues", " to poll");
}

/* nvme.swap_queues=0 nvme.poll_queues=0: all works, is counted, and said once. */
SSW_BODY(fault, without_queues)
{
	static const char * const modes[] = { "auto", "direct", "bio" };
	struct fault_load *l = ssw_shared(LOADS * sizeof(*l));
	struct fault_count c;
	struct ssw_areas a;
	char *p;

	NEED_FAULT();
	if (!fault_booted_with("nvme.swap_queues=0"))
		SKIP(return, "not booted with nvme.swap_queues=0");
	EXPECT_GE(0, fault_dev(ssw_bdev(0), "device/swap_queues"));
	EXPECT_EQ(0, fault_dev(ssw_bdev(0), "queue/io_poll"));
	ASSERT_EQ(0, ssw_areas_on(&a, 8000, 2));
	EXPECT_EQ(1, said_so()) TH_LOG("for two areas the kernel says it once");
	ASSERT_EQ(0, ssw_pin(a.cpu[0]));
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
		ASSERT_EQ(0, fault_set("mode", modes[m]));
		p = fault_out(PAGES, 1, false);
		ASSERT_NE(NULL, p);
		fault_read(&c, "");
		EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
		c = fault_since(&c, "");
		fault_print(modes[m], &c);
		EXPECT_LE(PAGES * 9 / 10, c.major);
		EXPECT_ABOUT(c.major, c.irq);
		EXPECT_ABOUT(c.major, c.no_poll);
		EXPECT_EQ(0, c.direct + c.bio + c.late + c.again);
		munmap(p, PAGES * SSW_PAGE);
	}
	/* The control: off is off, and counts nothing. */
	ASSERT_EQ(0, fault_set("mode", "off"));
	p = fault_out(PAGES, 1, false);
	fault_read(&c, "");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	c = fault_since(&c, "");
	EXPECT_EQ(0, c.irq + c.no_poll);
	munmap(p, PAGES * SSW_PAGE);

	ASSERT_EQ(0, fault_set("mode", "auto"));
	ASSERT_EQ(0, fault_load_start(l, LOADS, true, 150, "ssw"));
	EXPECT_TRUE(fault_load_more(l, LOADS, 2));
	fault_judge(_metadata, "without queues", l, LOADS, false);
	for (int i = 0; i < a.n; i++) {
		EXPECT_EQ(0, fault_swapoff(a.path[i], 120));
	}
	EXPECT_EQ(1, said_so());
}

TEST_HARNESS_MAIN
