// SPDX-License-Identifier: GPL-2.0
/*
 * Delegation: CPUs whose own area is full allocate from another CPU's area, many at a time,
 * while its home CPU goes offline and it is turned off. Also the kthreads, the tunables,
 * the counters and the tables of delegation.
 *
 * The cases that swap run on any kernel with ScaleSwap; those that read counters and tables
 * are skipped where the kernel has no delegation.
 */
#include <sys/stat.h>

#include "harness.h"

SSW_FIXTURE(deleg, SSW_NEED_ON | SSW_NEED_DIR)

#define DELEG	SSW_SYS "/deleg/"

#define NEED_DELEG() do {							\
	if (!ssw_has_deleg())							\
		SKIP(return, "the kernel has no delegation (" DELEG ")");	\
} while (0)

static const char * const stats[] = {
	"deleg_allocs", "deleg_frees", "deleg_requester", "deleg_holder", "deleg_delegator",
	"deleg_waits", "deleg_queue_max", "fallback/no_table", "fallback/no_rmap",
};

enum { ALLOCS, FREES, REQUESTER, HOLDER, DELEGATOR, WAITS, QUEUE_MAX, NO_TABLE, NO_RMAP, NSTATS };

struct dstats { long long v[NSTATS]; };

static struct dstats stats_now(void)
{
	struct dstats s;

	for (int i = 0; i < NSTATS; i++)
		s.v[i] = ssw_stat(stats[i]);
	return s;
}

/* The counts since @b; checks that they add up. */
static struct dstats stats_since(struct __test_metadata *_metadata, struct dstats b)
{
	struct dstats s = stats_now();

	for (int i = 0; i < NSTATS; i++)
		if (i != QUEUE_MAX)
			s.v[i] -= b.v[i];
	EXPECT_EQ(s.v[ALLOCS], s.v[REQUESTER] + s.v[HOLDER] + s.v[DELEGATOR]);
	EXPECT_LE(s.v[WAITS], s.v[ALLOCS]);
	return s;
}

/* --- files ----------------------------------------------------------------- */

SSW_BODY(deleg, files)
{
	char path[300];
	struct stat st;
	int t;

	NEED_DELEG();
	for (int i = 0; i < NSTATS; i++) {
		snprintf(path, sizeof(path), SSW_SYS "/stats/%s", stats[i]);
		ASSERT_EQ(0, stat(path, &st)) TH_LOG("%s", path);
		EXPECT_EQ(0444, st.st_mode & 07777) TH_LOG("%s", path);
		EXPECT_LE(0, ssw_num(path)) TH_LOG("%s", path);
	}
	ASSERT_EQ(0, stat(DELEG "wake_threshold", &st));
	EXPECT_EQ(0644, st.st_mode & 07777);
	ASSERT_EQ(0, stat(DELEG "batch", &st));
	EXPECT_EQ(0644, st.st_mode & 07777);
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 1000));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(1), 1000));
	t = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, t);
	EXPECT_EQ(0, ssw_area(t, "tables"));
	EXPECT_LE(0, ssw_area(t, "table_bytes"));
	/* A plain area has none of it. */
	t = ssw_on(ssw_file(1), "off");
	ASSERT_LE(0, t);
	EXPECT_EQ(0, ssw_area(t, "tables"));
	EXPECT_EQ(0, ssw_area(t, "table_bytes"));
}

static void tunable(struct __test_metadata *_metadata, const char *name, int def, int max)
{
	static const char * const garbage[] = {
		"", "0", "-1", "x", "1x", "1 2", "0x", "4294967297", "99999999999999999999", "1.5",
		" ", "\n",
	};
	char path[128], val[32];

	snprintf(path, sizeof(path), DELEG "%s", name);
	EXPECT_EQ(def, ssw_num(path)) TH_LOG("default of %s", name);
	EXPECT_EQ(0, ssw_write(path, "1"));
	EXPECT_EQ(1, ssw_num(path));
	snprintf(val, sizeof(val), "%d\n", max);
	EXPECT_EQ(0, ssw_write(path, val));
	EXPECT_EQ(max, ssw_num(path));
	snprintf(val, sizeof(val), "%d", max + 1);
	EXPECT_EQ(-EINVAL, ssw_write(path, val)) TH_LOG("%s = %s", name, val);
	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++) {
		/* A write of nothing does not reach the kernel's file. */
		if (*garbage[i])
			EXPECT_EQ(-EINVAL, ssw_write(path, garbage[i]))
				TH_LOG("%s = '%s'", name, garbage[i]);
		EXPECT_EQ(max, ssw_num(path)) TH_LOG("%s after '%s'", name, garbage[i]);
	}
	EXPECT_EQ(-EINVAL, ssw_write_n(path, "7\0008", 3));
	snprintf(val, sizeof(val), "%d", def);
	EXPECT_EQ(0, ssw_write(path, val));
}

SSW_BODY(deleg, tunables)
{
	int status;
	pid_t pid;

	NEED_DELEG();
	tunable(_metadata, "wake_threshold", 16, 65536);
	tunable(_metadata, "batch", 64, 256);
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (setresuid(65534, 65534, 65534))
			_exit(2);
		_exit(ssw_write(DELEG "batch", "1") == -EACCES ? 0 : 1);
	}
	status = ssw_join(pid);
	EXPECT_EQ(0, status) TH_LOG("a plain user may write");
}

/* --- kthreads ---------------------------------------------------------------- */

struct thread {
	pid_t pid;
	char state;
	char cpus[64];
};

/* The kthread ssw_deleg/@cpu; false: there is none, or more than one. */
static bool find_thread(int cpu, struct thread *t)
{
	char path[300], text[4096], want[32], *p;

	snprintf(want, sizeof(want), "ssw_deleg/%d", cpu);
	t->pid = ssw_task(want);
	if (!t->pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/status", t->pid);
	if (ssw_read(path, text, sizeof(text)) <= 0)
		return false;
	p = strstr(text, "\nState:\t");
	t->state = p ? p[8] : '?';
	p = strstr(text, "\nCpus_allowed_list:\t");
	t->cpus[0] = 0;
	if (p)
		sscanf(p + 20, "%63[0-9,-]", t->cpus);
	return true;
}

SSW_BODY(deleg, threads)
{
	int last = ssw_nr_possible() - 1;
	struct thread t, again;
	cpu_set_t online;
	char want[16];

	NEED_DELEG();
	ASSERT_EQ(0, ssw_online(&online));
	for (int c = 0; c <= last; c++) {
		if (!CPU_ISSET(c, &online))
			continue;
		ASSERT_TRUE(find_thread(c, &t)) TH_LOG("not one kthread ssw_deleg/%d", c);
		snprintf(want, sizeof(want), "%d", c);
		EXPECT_STREQ(want, t.cpus);
		/* Nothing to do: it sleeps, it does not count as load. */
		EXPECT_TRUE(t.state == 'S' || t.state == 'I') TH_LOG("state %c", t.state);
	}
	if (last < 1 || ssw_set_online(last, false))
		return;
	ASSERT_TRUE(find_thread(last, &t));
	EXPECT_EQ('P', t.state) TH_LOG("not parked though its CPU is offline: state %c", t.state);
	ASSERT_EQ(0, ssw_set_online(last, true));
	ASSERT_TRUE(find_thread(last, &again));
	EXPECT_EQ(t.pid, again.pid);
	EXPECT_NE('P', again.state);
	snprintf(want, sizeof(want), "%d", last);
	EXPECT_STREQ(want, again.cpus);
}

/* --- delegated allocations ----------------------------------------------------- */

/* Fill what area @type of CPU @cpu has; the pages stay until munmap or the end. */
static char *fill(int cpu, int type, size_t *pages)
{
	long long room = ssw_area(type, "pages") - ssw_area(type, "used");
	char *p;

	/* It may be that some pages find no place at once: so a few more. */
	*pages = room + 8;
	p = ssw_map(*pages, false);
	ssw_pin(cpu);
	ssw_stamp(p, *pages, 77);
	ssw_pageout(p, *pages);
	return p;
}

/*
 * With room in the own area nothing is delegated; without, only pages that go to another
 * CPU's area are.
 */
SSW_BODY(deleg, counted)
{
	const int own_pages = 256;
	struct dstats before, d;
	int own, other;
	long per[258];
	char *p;

	if (ssw_nr_possible() < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), own_pages));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(1), 4096));
	own = ssw_on_cpu(ssw_file(0), 0);
	other = ssw_on_cpu(ssw_file(1), 1);
	ASSERT_LE(0, own);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, ssw_pin(0));
	p = ssw_map(800, false);
	ssw_stamp(p, 800, 1);
	before = stats_now();
	ASSERT_EQ(100, ssw_pageout(p, 100));
	if (ssw_has_deleg()) {
		d = stats_since(_metadata, before);
		EXPECT_EQ(0, d.v[ALLOCS]) TH_LOG("delegated though the own area has room");
		EXPECT_EQ(0, ssw_area(own, "allocs_foreign"));
	}
	ASSERT_EQ(800, ssw_pageout(p, 800));
	ASSERT_EQ(0, ssw_where(p, 800, per));
	EXPECT_EQ(800, per[own] + per[other]);
	EXPECT_LE(own_pages - SSW_SLACK, per[own]);
	if (ssw_has_deleg()) {
		d = stats_since(_metadata, before);
		TH_LOG("%ld pages elsewhere, %lld delegated: %lld by requester, %lld holder, %lld delegator, %lld waits",
		       per[other], d.v[ALLOCS], d.v[REQUESTER], d.v[HOLDER], d.v[DELEGATOR],
		       d.v[WAITS]);
		EXPECT_LE(per[other], d.v[ALLOCS]);
		EXPECT_LE(ssw_area(other, "allocs_foreign"), d.v[ALLOCS]);
		EXPECT_GE(ssw_area(other, "allocs_foreign") + SSW_SLACK, d.v[ALLOCS]);
		EXPECT_LE(1, d.v[QUEUE_MAX]);
	}
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, 800, 1));
	/* Own again as soon as there is room. */
	munmap(p, 800 * SSW_PAGE);
	ssw_evict("ssw");
	p = ssw_map(100, false);
	ssw_stamp(p, 100, 2);
	before = stats_now();
	EXPECT_EQ(100, ssw_pageout(p, 100));
	if (ssw_has_deleg()) {
		d = stats_since(_metadata, before);
		EXPECT_EQ(0, d.v[ALLOCS]);
	}
	EXPECT_EQ(0, ssw_wrong(p, 100, 2));
}

/* A CPU without an area delegates all of it. */
SSW_BODY(deleg, without_own_area)
{
	struct dstats before, d;
	char *p = ssw_map(300, false);
	int t;

	NEED_DELEG();
	if (ssw_nr_possible() < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 1000));
	t = ssw_on_cpu(ssw_file(0), 1);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(p, 300, 1);
	before = stats_now();
	ASSERT_EQ(300, ssw_pageout(p, 300));
	d = stats_since(_metadata, before);
	EXPECT_LE(300, d.v[ALLOCS]);
	EXPECT_LE(ssw_area(t, "allocs_foreign"), d.v[ALLOCS]);
	EXPECT_EQ(0, ssw_wrong(p, 300, 1));
}

/* All but one CPU have full areas, which are all in use; the last one's is for all. */
struct crowd {
	struct ssw_areas a;
	int busy;			/* index of the area that all go to */
	int n;
	struct ssw_load *load;
};

static void crowd_start(struct __test_metadata *_metadata, struct crowd *c, size_t pages)
{
	struct ssw_areas *a = &c->a;
	char *fillers[SSW_MANY];
	size_t n;
	int cpus = ssw_nr_possible();

	memset(c, 0, sizeof(*c));
	if (cpus > 8)
		cpus = 8;
	for (int i = 0; i < cpus; i++) {
		bool busy = i == cpus - 1;

		strcpy(a->path[i], ssw_file(i));
		ASSERT_EQ(0, ssw_mkfile(a->path[i], busy ? 8192 : 128));
		a->type[i] = ssw_on_cpu(a->path[i], i);
		ASSERT_LE(0, a->type[i]);
		a->cpu[i] = i;
		a->n++;
	}
	c->busy = cpus - 1;
	for (int i = 0; i < c->busy; i++) {
		fillers[i] = fill(i, a->type[i], &n);
		ASSERT_NE(NULL, fillers[i]);
		EXPECT_LE(128 - 8, ssw_area(a->type[i], "used")) TH_LOG("area %d is not full", i);
	}
	c->n = a->n;
	c->load = ssw_loads(c->n);
	ASSERT_NE(NULL, c->load);
	for (int i = 0; i < c->n; i++) {
		ASSERT_EQ(0, ssw_load_start(&c->load[i], i, pages));
	}
}

static void crowd_more(struct __test_metadata *_metadata, struct crowd *c, int rounds)
{
	for (int i = 0; i < c->n; i++) {
		ASSERT_TRUE(ssw_load_more(&c->load[i], rounds))
			TH_LOG("no progress of load %d", i);
	}
}

static void crowd_end(struct __test_metadata *_metadata, struct crowd *c)
{
	for (int i = 0; i < c->n; i++) {
		EXPECT_EQ(0, ssw_load_stop(&c->load[i])) TH_LOG("load %d", i);
		EXPECT_LT(0, c->load[i].out) TH_LOG("load %d swapped nothing out", i);
	}
}

static void crowd(struct __test_metadata *_metadata, int rounds)
{
	struct dstats before = stats_now(), d;
	struct crowd c;

	if (ssw_nr_possible() < 2)
		SKIP(return, "needs two CPUs");
	crowd_start(_metadata, &c, 150);
	crowd_more(_metadata, &c, rounds);
	crowd_end(_metadata, &c);
	EXPECT_LT(0, ssw_area(c.a.type[c.busy], "allocs_foreign"));
	if (!ssw_has_deleg())
		return;
	d = stats_since(_metadata, before);
	TH_LOG("%lld delegated: %lld by requester, %lld holder, %lld delegator; %lld waits, queue up to %lld, %lld clusters handed back",
	       d.v[ALLOCS], d.v[REQUESTER], d.v[HOLDER], d.v[DELEGATOR], d.v[WAITS],
	       d.v[QUEUE_MAX], d.v[FREES]);
	EXPECT_LE(150, d.v[ALLOCS]);
	/* More, where the home CPU itself found the token taken, or an area full. */
	EXPECT_LE(ssw_sum("allocs_foreign"), d.v[ALLOCS]);
}

SSW_BODY(deleg, crowd)
{
	crowd(_metadata, 6);
}

/* The least of each tunable, then the most: only slower or lazier. */
SSW_BODY(deleg, crowd_with_batch_1)
{
	NEED_DELEG();
	ASSERT_EQ(0, ssw_write(DELEG "batch", "1"));
	ASSERT_EQ(0, ssw_write(DELEG "wake_threshold", "1"));
	crowd(_metadata, 3);
	ASSERT_EQ(0, ssw_write(DELEG "batch", "256"));
	ASSERT_EQ(0, ssw_write(DELEG "wake_threshold", "65536"));
	ssw_swapoff_all();
	crowd(_metadata, 3);
	ASSERT_EQ(0, ssw_write(DELEG "batch", "64"));
	ASSERT_EQ(0, ssw_write(DELEG "wake_threshold", "16"));
}

/* The busy area's home CPU goes offline, then the area itself is turned off. */
SSW_BODY(deleg, busy_area_goes)
{
	struct crowd c;
	int cpu, type;

	if (ssw_nr_possible() < 2)
		SKIP(return, "needs two CPUs");
	crowd_start(_metadata, &c, 60);
	cpu = c.a.cpu[c.busy];
	crowd_more(_metadata, &c, 1);
	for (int round = 0; round < 2; round++) {
		const char *path = c.a.path[c.busy];
		bool offline = round == 0;

		if (offline)
			ASSERT_EQ(0, ssw_set_online(cpu, false)) TH_LOG("round %d", round);
		crowd_more(_metadata, &c, 1);
		ASSERT_EQ(0, ssw_swapoff(path)) TH_LOG("round %d", round);
		EXPECT_EQ(-1, ssw_type_of(path));
		/* There is nowhere to go: the loads go on in memory. */
		crowd_more(_metadata, &c, 1);
		type = ssw_on_cpu(path, cpu);
		ASSERT_LE(0, type);
		crowd_more(_metadata, &c, 1);
		if (offline)
			ASSERT_EQ(0, ssw_set_online(cpu, true));
		crowd_more(_metadata, &c, 1);
		EXPECT_EQ(cpu, ssw_area(type, "cpu"));
	}
	crowd_end(_metadata, &c);
}

/* A new home for the busy area, again and again. */
SSW_BODY(deleg, busy_area_gets_new_home)
{
	struct crowd c;
	char cpu[16];

	if (ssw_nr_possible() < 2)
		SKIP(return, "needs two CPUs");
	crowd_start(_metadata, &c, 100);
	for (int i = 0; i < 40; i++) {
		snprintf(cpu, sizeof(cpu), "%d", i % c.a.n);
		ASSERT_EQ(0, ssw_rehome(c.a.type[c.busy], cpu));
		if (i % 10 == 9)
			crowd_more(_metadata, &c, 1);
		usleep(10000);
	}
	crowd_end(_metadata, &c);
}

/* --- freeing from elsewhere, tables ------------------------------------------------ */

/*
 * An area filled by its home CPU to the last slot, emptied by another, several times: the
 * freed slots have to come back to their owner.
 */
SSW_BODY(deleg, freed_by_others)
{
	const size_t pages = 3000;
	struct dstats before = stats_now(), d;
	int t, other = ssw_nr_possible() - 1;
	long per[258];
	pid_t pid;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), pages));
	t = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, t);
	for (int round = 1; round <= 5; round++) {
		pid = ssw_fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			char *p = ssw_map(pages, false);
			long wrong = 0;

			ssw_pin(0);
			ssw_stamp(p, pages, round);
			ssw_pageout(p, pages);
			if (ssw_where(p, pages, per) || per[t] < (long)pages - SSW_SLACK) {
				printf("# round %d: only %ld of %zu slots could be used\n", round,
				       per[t], pages);
				fflush(stdout);
				_exit(2);
			}
			ssw_pin(other);
			/* By reading, by dropping, and by ending. */
			if (round % 3 == 1)
				wrong = ssw_wrong(p, pages, round);
			if (round % 3 == 2)
				munmap(p, pages * SSW_PAGE);
			fflush(stdout);
			_exit(wrong ? 1 : 0);
		}
		ASSERT_EQ(0, ssw_join(pid)) TH_LOG("round %d", round);
		EXPECT_GE(SSW_SLACK, ssw_used_at_most(SSW_SLACK)) TH_LOG("round %d", round);
	}
	if (ssw_has_deleg() && other) {
		d = stats_since(_metadata, before);
		TH_LOG("%lld clusters handed back", d.v[FREES]);
		EXPECT_LT(0, d.v[FREES]);
	}
}

SSW_BODY(deleg, tables)
{
	const size_t pages = 8 * 512 - 1;
	/* With lockdep an address_space and other structures are much larger. */
	const long long more = access("/proc/lockdep", F_OK) ? 1 : 3;
	long long bytes, empty, used, tables;
	char *p;
	int t, big;

	NEED_DELEG();
	/* Unused: at most a byte a slot. */
	if (ssw_bdev(0)) {
		ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), 100000));
		big = ssw_on_cpu(ssw_bdev(0), 0);
		ASSERT_LE(0, big);
		empty = ssw_area(big, "table_bytes");
		TH_LOG("unused: %lld bytes for %lld slots", empty, ssw_area(big, "pages"));
		EXPECT_GE(ssw_area(big, "pages") * more, empty);
		ASSERT_EQ(0, ssw_swapoff(ssw_bdev(0)));
	}
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), pages));
	t = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, t);
	EXPECT_EQ(0, ssw_area(t, "tables"));
	empty = ssw_area(t, "table_bytes");
	EXPECT_GE((long long)pages * more, empty);
	/* In use, and full: at most 24 bytes a slot. */
	ASSERT_EQ(0, ssw_pin(0));
	p = ssw_map(pages, false);
	ssw_stamp(p, pages, 1);
	EXPECT_LE((long)pages - SSW_SLACK, ssw_pageout(p, pages));
	ssw_evict("ssw");
	used = ssw_area(t, "used");
	bytes = ssw_area(t, "table_bytes");
	TH_LOG("full: %lld bytes for %lld slots", bytes, used);
	EXPECT_LE((long)pages - SSW_SLACK, used);
	EXPECT_EQ(8, ssw_area(t, "tables"));
	EXPECT_GE(24 * used, bytes);
	EXPECT_LT(empty, bytes);
	/* Half of the clusters emptied: their tables go. */
	for (size_t i = 0; i < pages; i++) {
		uint64_t e = ssw_pagemap(p + i * SSW_PAGE);

		if ((e & SSW_PM_SWAP) && ssw_pm_offset(e) / 512 % 2)
			madvise(p + i * SSW_PAGE, SSW_PAGE, MADV_DONTNEED);
	}
	ssw_for_looks(i) {
		tables = ssw_area(t, "tables");
		if (tables <= 4)
			break;
		usleep(20000);
	}
	EXPECT_EQ(4, tables) TH_LOG("tables of empty clusters are not freed");
	EXPECT_GT(bytes, ssw_area(t, "table_bytes"));
	for (size_t i = 0; i < pages; i++) {
		uint64_t e = ssw_pagemap(p + i * SSW_PAGE);

		if (e & SSW_PM_SWAP) {
			ASSERT_EQ(0, ssw_wrong(p + i * SSW_PAGE, 1, 1));
		}
	}
	/* And all of it. */
	munmap(p, pages * SSW_PAGE);
	ssw_for_looks(i) {
		tables = ssw_area(t, "tables");
		if (!tables)
			break;
		ssw_evict("ssw");
		usleep(20000);
	}
	EXPECT_EQ(0, tables);
	EXPECT_EQ(empty, ssw_area(t, "table_bytes"));
}

/* --- tracepoints ----------------------------------------------------------------- */

SSW_BODY(deleg, tracepoints)
{
	static const char ev[] = "/sys/kernel/tracing/events/scaleswap/";
	long delegated = 0, odd = 0, drained = 0;
	char path[160], line[512];
	char *p = ssw_map(1500, false);
	FILE *f;
	int t;

	NEED_DELEG();
	if (access("/sys/kernel/tracing/events", R_OK))
		SKIP(return, "the kernel has no tracing");
	if (ssw_nr_possible() < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 4000));
	t = ssw_on_cpu(ssw_file(0), 1);
	ASSERT_LE(0, t);
	ssw_write("/sys/kernel/tracing/trace", "");
	snprintf(path, sizeof(path), "%sscaleswap_delegate/enable", ev);
	ASSERT_EQ(0, ssw_write(path, "1"));
	snprintf(path, sizeof(path), "%sscaleswap_drain/enable", ev);
	ASSERT_EQ(0, ssw_write(path, "1"));
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(p, 1500, 1);
	ASSERT_EQ(1500, ssw_pageout(p, 1500));
	EXPECT_EQ(0, ssw_wrong(p, 1500, 1));
	munmap(p, 1500 * SSW_PAGE);
	ssw_evict("ssw");
	/* No other thread drains that area's queue, so the kthread has to. */
	ssw_for_looks(i) {
		if (!ssw_area(t, "tables"))
			break;
		usleep(50000);
	}
	f = fopen("/sys/kernel/tracing/trace", "re");
	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f)) {
		unsigned int type, order, nr;
		int cpu;
		char by[32], *s;
		unsigned long long ns;

		s = strstr(line, "scaleswap_delegate: ");
		if (s) {
			delegated++;
			if (sscanf(s, "scaleswap_delegate: type=%u cpu=%d order=%u by=%31s ns=%llu",
				   &type, &cpu, &order, by, &ns) != 5 || type != (unsigned int)t ||
			    order || (strcmp(by, "requester") && strcmp(by, "holder") &&
				      strcmp(by, "delegator"))) {
				if (odd++ < 3)
					printf("# %s", line);
			}
		}
		s = strstr(line, "scaleswap_drain: ");
		if (s && sscanf(s, "scaleswap_drain: type=%u nr=%u", &type, &nr) == 2 && nr)
			drained++;
	}
	fclose(f);
	ssw_write(path, "0");
	snprintf(path, sizeof(path), "%sscaleswap_delegate/enable", ev);
	ssw_write(path, "0");
	EXPECT_LE(1000, delegated);
	EXPECT_EQ(0, odd);
	EXPECT_LT(0, drained) TH_LOG("no kthread drained the queue of an idle area");
	TH_LOG("%ld delegated, %ld drained", delegated, drained);
}

TEST_HARNESS_MAIN
