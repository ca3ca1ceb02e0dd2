// SPDX-License-Identifier: GPL-2.0
/*
 * Evictors: pages that are swapped out in batches, while CPUs use them.
 *
 * A process of each test writes to debugfs and so is the evictor. It waits before it has TLBs
 * flushed where a test says so, such that CPUs use pages that are unmapped for as long.
 */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "harness.h"
#include "cg_util.h"
#include "dm_util.h"
#include "fault_util.h"

#define DEBUG	"/sys/kernel/debug/scaleswap/"
#define DELAY	DEBUG "evict_delay_ms"
#define EVICT	SSW_SYS "/evict/"
#define GROUP	"ssw-evict"
/* What a process has of its own beside the pages of the test */
#define OWN	200

FIXTURE(evict) { int unused; };

FIXTURE_SETUP(evict)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);

	if (why)
		SKIP(return, "%s", why);
	if (access(DEBUG "evict", F_OK))
		SKIP(return, "no debugfs, CONFIG_SCALESWAP_EVICTOR, or not booted with evict");
}

FIXTURE_TEARDOWN(evict)
{
	ssw_write(DELAY, "0");
	ssw_write(EVICT "circulate", "0");
	if (!access(SSW_CG "/" GROUP, F_OK))
		cg_remove(GROUP);
	ssw_end();
	fault_nullb_gone();
	dm_gone();
}

#define NEED_DELAY(ms)							\
	do {								\
		if (ssw_write(DELAY, ms))				\
			SKIP(return, "a kernel without CONFIG_FAULT_INJECTION_DEBUG_FS"); \
	} while (0)

static long long counter(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), EVICT "%s", name);
	return ssw_num(path);
}

/* The number by which debugfs knows a group */
static unsigned long group_id(void)
{
	struct stat st;

	return stat(SSW_CG "/" GROUP, &st) ? 0 : st.st_ino;
}

/* Evict from the group: 0 if so much was freed, or -errno. */
static int evict(unsigned long pages)
{
	char val[64];

	snprintf(val, sizeof(val), "%lu %lu", group_id(), pages);
	return ssw_write(DEBUG "evict", val);
}

/* Pages that are isolated, once CPUs have added up what they counted */
static long long isolated(void)
{
	long long nr = -1;

	ssw_for_looks(i) {
		ssw_write("/proc/sys/vm/stat_refresh", "1");
		nr = ssw_vmstat("nr_isolated_anon");
		if (!nr)
			break;
		usleep(20000);
	}
	return nr;
}

/* Each page that was taken has come to its end. */
static void settled(struct __test_metadata *_metadata)
{
	EXPECT_EQ(counter("held"), counter("freed") + counter("put_back"));
	EXPECT_EQ(0, isolated());
}

/* As fork(), and the process is in the group. */
static pid_t fork_in_group(void)
{
	pid_t pid = ssw_fork();

	if (!pid && cg_move(GROUP, getpid()))
		_exit(9);
	return pid;
}

/* Groups that were removed and are not gone */
static long long dying(void)
{
	return ssw_proc_num(SSW_CG "/cgroup.stat", "nr_dying_subsys_memory");
}

/* Pages leave in batches, come back right, and nothing is left behind. */
SSW_BODY(evict, in_batches)
{
	const long pages = 3000, rounds = 3;
	long long flushed, freed, late, bios, was = dying();
	struct ssw_areas areas;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, SSW_MANY));
	ASSERT_EQ(0, cg_make(GROUP));
	m = member_start(GROUP, 1, pages, 1);
	for (int i = 0; i < rounds; i++) {
		ASSERT_TRUE(member_step(&m, STAMP));
		flushed = counter("flushed");
		freed = counter("freed");
		late = counter("late");
		bios = io_num("batches");
		EXPECT_EQ(0, evict(pages));
		flushed = counter("flushed") - flushed;
		freed = counter("freed") - freed;
		late = counter("late") - late;
		bios = io_num("batches") - bios;
		TH_LOG("%lld pages in %lld batches and %lld bios, %lld late",
		       freed, flushed, bios, late);
		/* Page cache may be some of it, and what the process has of its own. */
		EXPECT_LE(pages - OWN, freed);
		EXPECT_GE(pages + OWN, freed);
		/* Drives of an emulator are fast: nearly all were written in time. */
		EXPECT_GE(OWN, late);
		/* They are written in the order of their slots. */
		EXPECT_GT(freed / 4, bios);
		/* None has more than an eighth of what is old: the last ones are small. */
		EXPECT_LT(0, flushed);
		EXPECT_LE((ssw_generations() ? 32 : 64) * (flushed - 2), freed);
		EXPECT_LE((pages - OWN) * (long long)SSW_PAGE,
			  cg(GROUP, "memory.swap.current", NULL));
		EXPECT_EQ(0, cg_disagrees(GROUP));
		settled(_metadata);
		ASSERT_TRUE(member_step(&m, CHECK));
	}
	member_step(&m, LEAVE);
	EXPECT_EQ(0, m.status);
	EXPECT_EQ(0, cg_remove(GROUP));
	ssw_for_looks(i) {
		if (dying() <= was)
			break;
		usleep(20000);
	}
	EXPECT_LE(0, was);
	EXPECT_GE(was, dying()) TH_LOG("the group is not freed");
}

/* evict/batch is how many pages are enough for a flush: here, those of one isolation. */
SSW_BODY(evict, size_of_batches)
{
	const long pages = 2000;
	long long flushed, held;
	struct ssw_areas areas;
	struct member m;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, SSW_MANY));
	ASSERT_EQ(0, cg_make(GROUP));
	m = member_start(GROUP, 1, pages, 1);
	ASSERT_TRUE(member_step(&m, STAMP));
	ASSERT_EQ(0, ssw_write(EVICT "batch", "1"));
	flushed = counter("flushed");
	held = counter("held");
	EXPECT_EQ(0, evict(pages));
	EXPECT_EQ(0, ssw_write(EVICT "batch", "256"));
	flushed = counter("flushed") - flushed;
	held = counter("held") - held;
	TH_LOG("%lld pages in %lld batches", held, flushed);
	/* An isolation takes up to 64 pages. */
	EXPECT_LE(held / 64, flushed);
	ASSERT_TRUE(member_step(&m, CHECK));
	member_step(&m, LEAVE);
	EXPECT_EQ(0, m.status);
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(GROUP));
}

/* What the lists of free pages of a CPU are said to have of @key, in all zones */
static long long free_lists(int cpu, const char *key)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	long long value, sum = 0;
	char line[128], what[64];
	int now = -1;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " cpu: %d", &now) == 1)
			continue;
		if (now == cpu && sscanf(line, " %63[^:]: %lld", what, &value) == 2 &&
		    !strcmp(what, key))
			sum += value;
	}
	fclose(f);
	return sum;
}

/* Take pages of @p, which has @n, from the lists of CPU 1, until these have room for @room more. */
static void use_up(struct __test_metadata *_metadata, char *p, long n, long room)
{
	ASSERT_EQ(0, ssw_pin(1));
	/* To look takes pages, too, and gives them back. */
	for (long i = 0; i < n && free_lists(1, "high") - free_lists(1, "count") < room; i += 16)
		ssw_stamp(p + i * SSW_PAGE, 16, 1);
	EXPECT_LE(room, free_lists(1, "high") - free_lists(1, "count"));
}

/* Evict pages of CPU 1's shard, on @cpu. Return how many go to the lists of CPU 1. */
static long long given_by(struct __test_metadata *_metadata, int cpu, long pages)
{
	long long had = free_lists(1, "count"), given = counter("given");

	ASSERT_EQ(0, ssw_pin(cpu));
	EXPECT_EQ(0, evict(pages));
	given = counter("given") - given;
	TH_LOG("on CPU %d: of %ld pages, CPU 1 got %lld; it had %lld, has %lld; a batch is %lld",
	       cpu, pages, given, had, free_lists(1, "count"), free_lists(1, "batch"));
	/* CPU 1 has nothing to do, and takes a few pages at most. */
	if (given)
		EXPECT_LE(had + given / 2, free_lists(1, "count"));
	return given;
}

/*
 * A CPU that used pages gets some of those that are freed, for pages that it took, up to eight
 * batches; not if evict/circulate is 0, or if it is the evictor's CPU.
 */
SSW_BODY(evict, circulation)
{
	const long pages = 6000, some = 2000, more = 8000;
	struct ssw_areas areas;
	struct utsname system;
	long long given, most, few;
	struct member m;
	char *p;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU");
	ASSERT_EQ(0, uname(&system));
	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, SSW_MANY));
	ASSERT_EQ(0, cg_make(GROUP));
	m = member_start(GROUP, 1, pages, 1);
	ASSERT_TRUE(member_step(&m, STAMP));
	p = ssw_map(3 * more, false);
	ASSERT_NE(NULL, p);
	most = 8 * free_lists(1, "batch");
	/* What kernel threads of CPU 1 take meanwhile, it may get, too. */
	few = most / 4;
	ASSERT_EQ(0, ssw_write(EVICT "circulate", "1"));
	use_up(_metadata, p, more, most);
	given = given_by(_metadata, 0, some);
	if (strstr(system.version, "PREEMPT_RT")) {
		EXPECT_EQ(0, given);
	} else {
		EXPECT_LT(0, given);
	}
	EXPECT_GE(most + few, given);
	EXPECT_LE(0, free_lists(1, "count"));
	EXPECT_GE(few, given_by(_metadata, 0, some));
	ASSERT_TRUE(member_step(&m, CHECK));
	ASSERT_EQ(0, ssw_write(EVICT "circulate", "0"));
	use_up(_metadata, p + more * SSW_PAGE, more, most);
	EXPECT_EQ(0, given_by(_metadata, 0, some));
	ASSERT_EQ(0, ssw_write(EVICT "circulate", "1"));
	ASSERT_TRUE(member_step(&m, CHECK));
	use_up(_metadata, p + 2 * more * SSW_PAGE, more, most);
	EXPECT_EQ(0, given_by(_metadata, 1, some));
	ASSERT_TRUE(member_step(&m, CHECK));
	member_step(&m, LEAVE);
	EXPECT_EQ(0, m.status);
	munmap(p, 3 * more * SSW_PAGE);
	ASSERT_EQ(0, ssw_pin(0));
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(GROUP));
}

/*
 * A process that uses all pages but each @nth. *@state is 1 when it has them all, 2 when their page
 * table entries are old, 3 when it has used most, and 4 when it is to check them.
 */
static void all_but_each(volatile int *state, long pages, long nth)
{
	char *p = ssw_map(pages, false);

	ssw_pin(1);
	if (!p)
		_exit(8);
	ssw_stamp(p, pages, 1);
	*state = 1;
	while (*state != 2)
		usleep(1000);
	for (long i = 0; i < pages; i++)
		if (i % nth)
			(void)*(volatile char *)(p + i * SSW_PAGE);
	*state = 3;
	while (*state != 4)
		usleep(1000);
	_exit(ssw_wrong(p, pages, 1) ? 1 : 0);
}

/* Evict @few pages of those that are old, each @nth. Return those that were freed, and batches. */
static void evict_few(struct __test_metadata *_metadata, long pages, long nth, long few,
		      long long *freed, long long *flushed)
{
	volatile int *state = ssw_shared(sizeof(*state));
	struct ssw_areas areas;
	char path[64];
	pid_t pid;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, SSW_MANY));
	ASSERT_EQ(0, cg_make(GROUP));
	pid = fork_in_group();
	ASSERT_LE(0, pid);
	if (!pid)
		all_but_each(state, pages, nth);
	snprintf(path, sizeof(path), "/proc/%d/clear_refs", pid);
	for (int step = 1; step <= 3; step += 2) {
		ssw_for_looks(i) {
			if (*state == step)
				break;
			usleep(10000);
		}
		ASSERT_EQ(step, *state);
		if (step == 1) {
			ASSERT_EQ(0, ssw_write(path, "1"));
			*state = 2;
		}
	}
	*flushed = counter("flushed");
	*freed = counter("freed");
	EXPECT_EQ(0, evict(few));
	*flushed = counter("flushed") - *flushed;
	*freed = counter("freed") - *freed;
	TH_LOG("%lld pages in %lld batches", *freed, *flushed);
	EXPECT_LE(few, *freed);
	*state = 4;
	EXPECT_EQ(0, ssw_join(pid));
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(GROUP));
}

/*
 * Of each isolation few pages are to be evicted, and others stay. They are flushed together, as
 * many as others are: 128, or with generations, where less is old, 32.
 */
SSW_BODY(evict, few_of_each_isolation)
{
	long long freed, flushed;

	evict_few(_metadata, 6000, 8, 600, &freed, &flushed);
	EXPECT_LE((ssw_generations() ? 32 : 128) * (flushed - 1), freed);
}

/* Where there are fewer yet, they do not wait for long: but for the isolation of 2,048 pages. */
SSW_BODY(evict, fewer_of_each_isolation)
{
	long long freed, flushed;

	evict_few(_metadata, 16384, 64, 192, &freed, &flushed);
	EXPECT_LE(freed, 64 * flushed);
}

/*
 * A device that takes longer than all batches wait: pages are put back, the evictor evicts without
 * a batch, and nothing is lost.
 */
SSW_BODY(evict, slow_device)
{
	const long pages = 400;
	long long late, full, cluster = ssw_num(CLUSTER);
	char was[16];
	struct member m;
	int err;

	err = fault_nullb("0", "1024", "5000000000");
	if (err)
		SKIP(return, "no null_blk (%s)", strerror(-err));
	ASSERT_LE(0, ssw_on_cpu(FAULT_NULLB, 1));
	ASSERT_EQ(0, cg_make(GROUP));
	m = member_start(GROUP, 1, pages, 1);
	ASSERT_TRUE(member_step(&m, STAMP));
	late = counter("late");
	full = ssw_stat("fallback/pipe_full");
	ASSERT_EQ(0, ssw_pin(1));
	/* As much as there is, if it takes a while */
	evict(pages);
	late = counter("late") - late;
	full = ssw_stat("fallback/pipe_full") - full;
	TH_LOG("%lld pages late, %lld times no batch", late, full);
	EXPECT_LT(0, late);
	EXPECT_LT(0, full);
	settled(_metadata);
	/* What is still being written when its process ends stays in swap for a while. */
	ssw_for_looks(i) {
		if (!ssw_vmstat("nr_writeback"))
			break;
		usleep(100000);
	}
	/* Read back with as few reads as possible: each takes as long. */
	ASSERT_EQ(0, ssw_write(CLUSTER, "5"));
	EXPECT_TRUE(member_step(&m, CHECK));
	snprintf(was, sizeof(was), "%lld", cluster);
	EXPECT_EQ(0, ssw_write(CLUSTER, was));
	member_step(&m, LEAVE);
	EXPECT_EQ(0, m.status);
	EXPECT_EQ(0, cg_remove(GROUP));
}

/* A device that passes bios on gets each page by itself, and the evictor waits for it, too. */
SSW_BODY(evict, stacked_device)
{
	const long pages = 2000;
	long long freed, late, alone;
	char dev[32];
	struct member m;
	int err;

	err = dm_linear(ssw_bdev(0), 128 << 20 >> 9, dev, sizeof(dev));
	if (err)
		SKIP(return, "no dm-linear over a spare device (%s)", strerror(-err));
	ASSERT_EQ(0, ssw_mkswap(dev, 4000));
	ASSERT_LE(0, ssw_on_cpu(dev, 0));
	ASSERT_EQ(0, cg_make(GROUP));
	m = member_start(GROUP, 0, pages, 1);
	ASSERT_TRUE(member_step(&m, STAMP));
	freed = counter("freed");
	late = counter("late");
	alone = ssw_stat("fallback/no_batch");
	EXPECT_EQ(0, evict(pages));
	freed = counter("freed") - freed;
	late = counter("late") - late;
	alone = ssw_stat("fallback/no_batch") - alone;
	TH_LOG("%lld pages freed, %lld late, %lld written alone", freed, late, alone);
	EXPECT_LE(pages - OWN, freed);
	EXPECT_LE(pages - OWN, alone);
	EXPECT_GE(OWN, late);
	settled(_metadata);
	ASSERT_TRUE(member_step(&m, CHECK));
	member_step(&m, LEAVE);
	EXPECT_EQ(0, m.status);
	EXPECT_EQ(0, cg_remove(GROUP));
	EXPECT_EQ(0, fault_swapoff(dev, 120));
	EXPECT_EQ(0, dm_gone());
}

/* --- pages that are in use ------------------------------------------------------------- */

#define THREADS	4
#define EACH	96

/* Writes to its own pages, on a CPU of its own, and knows what is in them. */
struct writer {
	int cpu;
	char *pages;
	volatile bool stop;
	volatile long rounds;
	volatile long wrong;
	uint64_t count[EACH];
	pthread_t thread;
};

static void *write_on(void *arg)
{
	struct writer *w = arg;

	ssw_pin(w->cpu);
	while (!w->stop) {
		for (int i = 0; i < EACH; i++) {
			volatile uint64_t *at = (void *)(w->pages + i * SSW_PAGE);

			/* A page that was written before a CPU wrote to it has an older number. */
			if (at[0] != w->count[i] || at[511] != w->count[i])
				w->wrong++;
			w->count[i]++;
			at[0] = w->count[i];
			at[511] = w->count[i];
		}
		w->rounds++;
		/* Give others the CPU, as it may be emulated. */
		if (!(w->rounds % 64))
			sched_yield();
	}
	return NULL;
}

/* As a process of the group: threads that write until told to stop. Status 0: all was right. */
static void writers(volatile int *state, const int *cpus)
{
	struct writer *w = ssw_shared(THREADS * sizeof(*w));
	long wrong = 0;

	/* What the threads remember is not to be swapped. */
	if (!w || mlock(w, THREADS * sizeof(*w)))
		_exit(2);
	for (int i = 0; i < THREADS; i++) {
		w[i].cpu = cpus[i];
		w[i].pages = ssw_map(EACH, false);
		if (!w[i].pages || pthread_create(&w[i].thread, NULL, write_on, &w[i]))
			_exit(3);
	}
	while (!*state) {
		bool all = true;

		for (int i = 0; i < THREADS; i++)
			all = all && w[i].rounds;
		if (all)
			*state = 1;
		usleep(1000);
	}
	while (*state == 1)
		usleep(10000);
	for (int i = 0; i < THREADS; i++) {
		w[i].stop = true;
		pthread_join(w[i].thread, NULL);
		wrong += w[i].wrong;
	}
	_exit(wrong ? 1 : 0);
}

static int four_cpus(int *cpus)
{
	cpu_set_t set;
	int n = 0;

	if (ssw_online(&set) < 0)
		return 0;
	for (int i = 0; i < CPU_SETSIZE && n < THREADS; i++)
		if (CPU_ISSET(i, &set))
			cpus[n++] = i;
	/* With fewer CPUs they share them. */
	for (int i = n; n && i < THREADS; i++)
		cpus[i] = cpus[i % n];
	return n;
}

/* As a process of the group: threads that have written to their pages, and keep their CPUs busy. */
static void busy(volatile int *state, const int *cpus, long pages)
{
	struct writer w[THREADS] = { };

	if (mlockall(MCL_CURRENT))
		_exit(2);
	for (int i = 0; i < THREADS; i++) {
		w[i].cpu = cpus[i];
		/* Its own pages come after those, which it only writes to once. */
		w[i].pages = ssw_map(EACH, false);
		if (!w[i].pages || mlock(w[i].pages, EACH * SSW_PAGE) ||
		    pthread_create(&w[i].thread, NULL, write_on, &w[i]))
			_exit(3);
	}
	for (char *p = NULL; *state < 3;) {
		if (*state & 1) {
			usleep(1000);
			continue;
		}
		if (p)
			munmap(p, pages * SSW_PAGE);
		p = ssw_map(pages, false);
		ssw_stamp(p, pages, 1);
		++*state;
	}
	while (*state < 5)
		usleep(1000);
	_exit(0);
}

static long long tlb_sends(void)
{
	return ssw_vmstat("nr_tlb_remote_flush");
}

/* However many pages a batch has, other CPUs are interrupted once for it. */
SSW_BODY(evict, interrupts_once_a_batch)
{
	volatile int *state = ssw_shared(sizeof(*state));
	const long pages = 2000;
	long long sends[2], freed, flushed;
	struct ssw_areas areas;
	int cpus[THREADS];
	pid_t pid;

	if (tlb_sends() < 0)
		SKIP(return, "a kernel without CONFIG_DEBUG_TLBFLUSH");
	if (four_cpus(cpus) < THREADS)
		SKIP(return, "less than %d CPUs", THREADS);
	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, SSW_MANY));
	ASSERT_EQ(0, cg_make(GROUP));
	pid = fork_in_group();
	ASSERT_LE(0, pid);
	if (!pid)
		busy(state, cpus, pages);
	/* First as without evictors, to see that interrupts count, and then with */
	for (int i = 0; i < 2; i++) {
		ssw_for_looks(j) {
			if (*state == 2 * i + 1)
				break;
			usleep(10000);
		}
		ASSERT_EQ(2 * i + 1, *state);
		freed = i ? counter("freed") : cg(GROUP, "memory.stat", "pgsteal");
		flushed = counter("flushed");
		sends[i] = tlb_sends();
		if (i)
			evict(pages);
		else
			cg_reclaim(GROUP);
		sends[i] = tlb_sends() - sends[i];
		freed = (i ? counter("freed") : cg(GROUP, "memory.stat", "pgsteal")) - freed;
		flushed = counter("flushed") - flushed;
		TH_LOG("%s: %lld pages, %lld interrupts of others, %lld batches",
		       i ? "evict" : "memory.reclaim", freed, sends[i], flushed);
		EXPECT_LE(pages / 2, freed);
		if (!i)
			++*state;
	}
	EXPECT_LT(freed / 4, sends[0]);
	/* And what the kernel has to flush for other reasons */
	EXPECT_GE(flushed + 32, sends[1]);
	*state = 5;
	EXPECT_EQ(0, ssw_join(pid));
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(GROUP));
}

static void alarmed(int sig)
{
	(void)sig;
}

/* No write is lost that a CPU does by an entry which is not there any more. */
SSW_BODY(evict, while_written_to)
{
	volatile int *state = ssw_shared(sizeof(*state));
	const int rounds = 4;
	long long freed, back, before;
	long ended;
	struct ssw_areas areas;
	int cpus[THREADS];
	pid_t pid;

	NEED_DELAY("20");
	ASSERT_LT(0, four_cpus(cpus));
	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, SSW_MANY));
	ASSERT_EQ(0, cg_make(GROUP));
	pid = fork_in_group();
	ASSERT_LE(0, pid);
	if (!pid)
		writers(state, cpus);
	ssw_for_looks(i) {
		if (*state)
			break;
		usleep(10000);
	}
	ASSERT_EQ(1, *state);
	freed = counter("freed");
	back = counter("put_back");
	/* Few pages leave while they are written to: go on until some have */
	ssw_for_looks(i) {
		evict(THREADS * EACH / 12);
		if (i + 1 >= rounds && counter("freed") >= freed + rounds)
			break;
	}
	freed = counter("freed") - freed;
	back = counter("put_back") - back;
	TH_LOG("%lld pages freed, %lld put back", freed, back);
	/*
	 * More than there is, of pages that come back: it ends. A signal ends one that does not, or
	 * that still frees some, because the host leaves the writers little time.
	 */
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = alarmed }, NULL);
	alarm(SSW_PATIENCE);
	before = counter("freed");
	ended = evict(100000);
	alarm(0);
	EXPECT_TRUE(ended == -EAGAIN || (ended == -EINTR && counter("freed") > before + rounds))
		TH_LOG("it does not end: %ld, %lld freed", ended, counter("freed") - before);
	*state = 2;
	EXPECT_EQ(0, ssw_join(pid)) TH_LOG("1: writes were lost");
	/* Or nothing was tried. */
	EXPECT_LE(rounds, freed);
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(GROUP));
}

/* --- a page that is moved ---------------------------------------------------------------- */

/* As in include/uapi/linux/userfaultfd.h; the system's own may be older. */
#define MOVE_FEATURE	(1 << 16)
#define MOVE_IOCTL	_IOWR(UFFDIO, 0x05, struct move)

struct move {
	uint64_t dst, src, len, mode;
	int64_t moved;
};

struct mover {
	char *src;
	int cpu;
	volatile bool stop;
	volatile long rounds;
	pthread_t thread;
};

/* Write to a page until it is gone: then the write waits for a page that nobody fills in. */
static void *write_to(void *arg)
{
	struct mover *m = arg;

	ssw_pin(m->cpu);
	while (!m->stop) {
		(*(volatile uint64_t *)m->src)++;
		m->rounds++;
	}
	return NULL;
}

static int move_fd(char *p, size_t pages)
{
	struct uffdio_api api = { .api = UFFD_API, .features = MOVE_FEATURE };
	struct uffdio_register reg = {
		.range = { (uintptr_t)p, pages * SSW_PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &reg))
		return fd;
	return -errno;
}

/*
 * As a process of the group: one page that another thread writes to all the time is evicted, by a
 * process outside, and moved before its flush is sent. Nothing is written to it afterwards. Status
 * 0: so it was; 1: it was written to. *@state counts moves of an entry.
 */
static void move_while_written(volatile int *state, volatile int *go, const int *cpus, int rounds)
{
	uint64_t was;

	ssw_pin(cpus[0]);
	for (int round = 0; round < rounds; round++) {
		char *p = ssw_map(2, false);
		struct mover m = { .src = p, .cpu = cpus[1] };
		struct move move = {
			.dst = (uintptr_t)(p + SSW_PAGE), .src = (uintptr_t)p, .len = SSW_PAGE,
		};
		volatile uint64_t *dst = (void *)(p + SSW_PAGE);
		int fd;

		*(volatile uint64_t *)p = 1;
		fd = move_fd(p, 2);
		if (fd < 0 || pthread_create(&m.thread, NULL, write_to, &m))
			_exit(4);
		while (!m.rounds)
			usleep(1000);
		*go = 1;
		/* Until it is unmapped, whatever the thread does to it */
		while (*go && !(ssw_pagemap(p) & SSW_PM_SWAP))
			sched_yield();
		if (!(ssw_pagemap(p) & SSW_PM_SWAP) || ioctl(fd, MOVE_IOCTL, &move)) {
			/* It was too late or too early: the thread has it again. */
			m.stop = true;
		} else {
			was = *dst;
			for (int i = 0; i < 50; i++)
				usleep(1000);
			if (*dst != was)
				_exit(1);
			++*state;
			m.stop = true;
		}
		/* The thread may wait for a page. */
		close(fd);
		pthread_join(m.thread, NULL);
		while (*go)
			usleep(1000);
		munmap(p, 2 * SSW_PAGE);
	}
	_exit(0);
}

SSW_BODY(evict, entry_moved_before_the_flush)
{
	volatile int *state = ssw_shared(2 * sizeof(*state)), *go;
	const int rounds = 20;
	struct ssw_areas areas;
	int cpus[THREADS], fd, status;
	pid_t pid;

	ASSERT_NE(NULL, state);
	go = state + 1;
	fd = move_fd(ssw_map(2, false), 2);
	if (fd < 0)
		SKIP(return, "no UFFDIO_MOVE (%s)", strerror(-fd));
	close(fd);
	NEED_DELAY("100");
	if (four_cpus(cpus) < 2)
		SKIP(return, "one CPU");
	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, SSW_MANY));
	ASSERT_EQ(0, cg_make(GROUP));
	pid = fork_in_group();
	ASSERT_LE(0, pid);
	if (!pid)
		move_while_written(state, go, cpus, rounds);
	while (!waitpid(pid, &status, WNOHANG)) {
		if (*go) {
			evict(OWN);
			*go = 0;
		}
		usleep(1000);
	}
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status)) TH_LOG("1: a page was written to by its old address");
	TH_LOG("%d of %d entries were moved before the flush", *state, rounds);
	/* Or nothing was tried. */
	EXPECT_LT(0, *state);
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(GROUP));
}

/* --- what is held, and all that there is ------------------------------------------------ */

/* Pages that are isolated now */
static long long held(void)
{
	ssw_write("/proc/sys/vm/stat_refresh", "1");
	return ssw_vmstat("nr_isolated_anon");
}

/*
 * Evictors hold all that can be freed: a limit that is lowered, or memory.reclaim, waits for it. It
 * does not fail, and no process is killed. Each kind is tried until it came while pages were held.
 */
SSW_BODY(evict, held_is_waited_for)
{
	static const char * const what[] = { "memory.max", "memory.high", "memory.reclaim" };
	/* One isolation */
	const long pages = 32, less = 24;
	long long had_ms = ssw_num(EVICT "wait_ms");
	struct ssw_areas areas;
	struct member m;
	char was[16];

	NEED_DELAY("1000");
	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, SSW_MANY));
	ASSERT_EQ(0, cg_make(GROUP));
	ASSERT_EQ(0, ssw_write(EVICT "wait_ms", "60000"));
	m = member_start(GROUP, 1, pages, 1);
	for (size_t i = 0; i < ARRAY_SIZE(what); i++) {
		bool limit = strcmp(what[i], "memory.reclaim");
		long long waits = counter("held_waits"), usage = 0;

		ssw_for_looks(n) {
			pid_t pid;

			/*
			 * Zeroes are not written. If many writes take long, processes are killed
			 * on the base, too.
			 */
			ASSERT_TRUE(member_step(&m, CLEAR));
			pid = fork();
			ASSERT_LE(0, pid);
			if (!pid)
				_exit(-evict(pages) & 127);
			while (held() < less && !waitpid(pid, NULL, WNOHANG))
				usleep(10000);
			usage = cg(GROUP, "memory.current", NULL) / (long long)SSW_PAGE;
			/* Else it came too late, and nearly all that is left is not to be freed. */
			if (usage > pages) {
				EXPECT_EQ(0, ssw_cgroup_set(GROUP, what[i], SSW_PAGE *
							    (limit ? usage - less : less / 2)));
				if (limit)
					EXPECT_GE((usage - less) * (long long)SSW_PAGE,
						  cg(GROUP, "memory.current", NULL));
			}
			waitpid(pid, NULL, 0);
			if (limit)
				EXPECT_EQ(0, ssw_cgroup_set(GROUP, what[i], -1));
			if (counter("held_waits") > waits)
				break;
		}
		EXPECT_LT(waits, counter("held_waits")) TH_LOG("%s", what[i]);
		EXPECT_EQ(0, cg(GROUP, "memory.events", "oom_kill")) TH_LOG("%s", what[i]);
	}
	snprintf(was, sizeof(was), "%lld", had_ms);
	EXPECT_EQ(0, ssw_write(EVICT "wait_ms", was));
	member_step(&m, LEAVE);
	EXPECT_EQ(0, m.status);
	settled(_metadata);
	EXPECT_EQ(0, cg_remove(GROUP));
}

/* Bad input is refused. */
SSW_TEST_F(evict, bad_input)
{
	static const char * const bad[] = {
		"1", "x 32", "1 x", "1 0", "-", "1 2 3", "1 2x",
		"1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, ssw_write(DEBUG "evict", bad[i])) {
			TH_LOG("'%s'", bad[i]);
		}
	}
	EXPECT_EQ(-ENOENT, ssw_write(DEBUG "evict", "123456789 32"));
}

TEST_HARNESS_MAIN
