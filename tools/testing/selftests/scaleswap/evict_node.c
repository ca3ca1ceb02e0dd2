// SPDX-License-Identifier: GPL-2.0
/*
 * The pool of evictors where the memory of a node is short: it is freed by kernel threads, before
 * tasks need it, and only where tasks would have to reclaim else.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "evict_harness.h"

#define TTL	"/sys/kernel/mm/lru_gen/min_ttl_ms"
#define DIRECT	SSW_TRACE "events/vmscan/mm_vmscan_direct_reclaim_begin/"
#define WAIT	SSW_TRACE "events/scaleswap/scaleswap_evict_wait/"
/* __GFP_IO, __GFP_FS, and not __GFP_NORETRY */
#define FILTER	"comm==\"evict_node\"&&order==0&&gfp_flags&0x40&&gfp_flags&0x80&&!(gfp_flags&0x10000)"
#define BOOST	"/proc/sys/vm/watermark_boost_factor"
#define SCALE	"/proc/sys/vm/watermark_scale_factor"
#define GROUP	"ssw-node"
#define NODE1	"/sys/devices/system/node/node1"
/* linux/mempolicy.h */
#define MPOL_BIND		2
#define MPOL_PREFERRED_MANY	5

FIXTURE(evict_node) { long long threads, wait_ms, boost, scale; };

/* A process that has locked memory, so that others have little */
static pid_t ballast;

FIXTURE_SETUP(evict_node)
{
	const char *why = ssw_start(SSW_NEED_ON | SSW_NEED_DIR);

	if (why)
		SKIP(return, "%s", why);
	self->threads = ssw_num(EVICT "threads");
	self->wait_ms = ssw_num(EVICT "wait_ms");
	self->boost = ssw_num(BOOST);
	self->scale = ssw_num(SCALE);
	if (self->threads < 0)
		SKIP(return, "a kernel without CONFIG_SCALESWAP_EVICTOR");
	if (ssw_write(EVICT "threads", "2"))
		SKIP(return, "not booted with evict");
	ASSERT_EQ(0, ssw_write(EVICT "wait_ms", PATIENT));
}

static void ballast_gone(void)
{
	if (ballast <= 0)
		return;
	kill(ballast, SIGKILL);
	waitpid(ballast, NULL, 0);
	ballast = 0;
}

FIXTURE_TEARDOWN(evict_node)
{
	put("threads", self->threads);
	put("wait_ms", self->wait_ms);
	ssw_write(TTL, "0");
	ssw_write(PAUSE, "N");
	put_in(BOOST, self->boost);
	put_in(SCALE, self->scale);
	if (!access(SSW_CG "/" GROUP, F_OK))
		cg_remove(GROUP);
	ssw_end();
}

/* How tasks got memory, and what evictors did for it */
struct ways {
	long long waits, stuck, late, unfit, killed, stalls, direct, freed, out, kills;
};

static long long stalls(void)
{
	static const char * const zone[] = { "dma", "dma32", "normal", "movable" };
	long long sum = 0;

	for (size_t i = 0; i < sizeof(zone) / sizeof(*zone); i++) {
		char name[32];
		long long n;

		snprintf(name, sizeof(name), "allocstall_%s", zone[i]);
		n = ssw_vmstat(name);
		sum += n > 0 ? n : 0;
	}
	return sum;
}

static struct ways ways(void)
{
	return (struct ways) {
		.waits = counter("waits"),
		.stuck = ssw_stat("fallback/evict_stuck"),
		.late = ssw_stat("fallback/evict_late"),
		.unfit = ssw_stat("fallback/evict_unfit"),
		.killed = ssw_stat("fallback/evict_killed"),
		.stalls = stalls(),
		.direct = ssw_vmstat("pgscan_direct"),
		.freed = counter("freed"),
		.out = ssw_vmstat("pswpout"),
		.kills = ssw_vmstat("oom_kill"),
	};
}

/* Memory was short, so say which caches have most of it, in kB. Not all kernels tell. */
static void log_caches(struct __test_metadata *_metadata)
{
	FILE *f = popen("awk 'NR > 2 { print $15 * $6 * 4, $1, $2 }' /proc/slabinfo | sort -rn | head",
			"r");
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		TH_LOG("%s", line);
	}
	if (f)
		pclose(f);
	TH_LOG("%lld kB of slab in all", ssw_meminfo("SUnreclaim"));
}

static struct ways ways_since(struct __test_metadata *_metadata, const struct ways *was)
{
	struct ways w = ways();

	w.waits -= was->waits;
	w.stuck -= was->stuck;
	w.late -= was->late;
	w.unfit -= was->unfit;
	w.killed -= was->killed;
	w.stalls -= was->stalls;
	w.direct -= was->direct;
	w.freed -= was->freed;
	w.out -= was->out;
	w.kills -= was->kills;
	TH_LOG("%lld waits; reclaimed as stuck %lld, late %lld, unfit %lld, killed %lld; %lld stalls, %lld pages scanned",
	       w.waits, w.stuck, w.late, w.unfit, w.killed, w.stalls, w.direct);
	TH_LOG("%lld pages out, %lld freed by evictors, %lld killed", w.out, w.freed, w.kills);
	if (w.kills)
		log_caches(_metadata);
	return w;
}

/*
 * Evictors have come to an end, and all memory is there again. So what other processes have in swap
 * comes back; part of it is no process' own.
 */
static void leave(struct __test_metadata *_metadata)
{
	settled(_metadata);
	ballast_gone();
	ssw_swapoff_all();
}

/*
 * Have a process lock memory until about so many pages are left to others, and a 32nd of all: that
 * is how much KASAN keeps of what the kernel has freed. It looks at that limit only where memory is
 * allocated by a task that may sleep, and while all reclaim nobody does so: it kept 100 MB. So the
 * process does.
 */
static void leave_memory(struct __test_metadata *_metadata, long pages)
{
	volatile int *done = ssw_shared(sizeof(*done));

	pages += ssw_meminfo("MemTotal") * 1024 / SSW_PAGE / 32;

	ballast = ssw_fork();
	ASSERT_LE(0, ballast);
	if (!ballast) {
		long long avail;

		for (;;) {
			avail = ssw_proc_num("/proc/meminfo", "MemAvailable") * 1024 / SSW_PAGE;
			if (avail <= pages)
				break;
			avail -= pages;
			avail = avail < 4096 ? avail : 4096;
			if (mmap(NULL, avail * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
				 MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0) == MAP_FAILED)
				break;
		}
		*done = 1;
		for (;;) {
			close(open("/dev/null", O_RDONLY | O_CLOEXEC));
			usleep(20000);
		}
	}
	ssw_for_looks(i) {
		if (*done)
			break;
		usleep(20000);
	}
	ASSERT_EQ(1, *done);
	TH_LOG("%lld pages are available",
	       ssw_proc_num("/proc/meminfo", "MemAvailable") * 1024 / SSW_PAGE);
}

static long long node_free(int nid)
{
	char path[64];
	long long kb = -1;
	char line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", nid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Node %*d MemFree: %lld kB", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb * 1024 / SSW_PAGE;
}

/* Look at how processes of these tests reclaim that may wait for others. */
static bool watch(void)
{
	ssw_write(SSW_TRACE "tracing_on", "0");
	ssw_trace_empty(SSW_TRACE "trace");
	return !ssw_write(DIRECT "filter", FILTER) &&
	       !ssw_write(DIRECT "enable", "1") && !ssw_write(SSW_TRACE "tracing_on", "1");
}

/* How often an event is in the trace, which ends */
static long traced(const char *event)
{
	FILE *f = fopen(SSW_TRACE "trace", "r");
	char line[512];
	long n = 0;

	ssw_trace_stop();
	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, event);
	if (f)
		fclose(f);
	return n;
}

/* How often they did */
static long watched(void)
{
	long n = traced("direct_reclaim_begin:");

	ssw_write(DIRECT "filter", "0");
	return n;
}

/* No task reclaims that may wait for evictors. All pages come back right. */
SSW_BODY(evict_node, tasks_wait)
{
	const long left = 8192, pages = 12000;
	struct ssw_areas areas;
	struct ways w;

	ASSERT_EQ(0, ssw_areas_on(&areas, 16384, 4));
	leave_memory(_metadata, left);
	w = ways();
	ASSERT_TRUE(watch());
	EXPECT_EQ(0, all_turn_in(NULL, &areas, areas.n, pages, 2)) TH_LOG("1: a page is wrong");
	EXPECT_EQ(0, watched());
	w = ways_since(_metadata, &w);
	EXPECT_EQ(0, w.late + w.stuck + w.killed);
	/* Kernel threads and others that may not wait. */
	EXPECT_GE(w.unfit, w.stalls);
	/* kswapd frees the rest. */
	EXPECT_LT(0, w.freed);
	EXPECT_EQ(0, w.kills);
	leave(_metadata);
}

/*
 * Memory between the low and the min watermarks is enough for evictors: what processes use all the
 * time stays, however far kswapd would like to go.
 */
SSW_BODY(evict_node, kswapd_alone)
{
	const long left = 4096, pages = 1000;
	struct ssw_areas areas;
	long long held, low;
	struct ways w;

	/* kswapd may find enough on one of them. */
	if (!access(NODE1, F_OK))
		SKIP(return, "several nodes");
	ASSERT_EQ(0, ssw_areas_on(&areas, 16384, 4));
	leave_memory(_metadata, left);
	/* Tasks do not run into a boost. */
	put_in(BOOST, 0);
	put_in(SCALE, 1000);
	low = ssw_vmstat("pageoutrun");
	held = counter("held");
	w = ways();
	EXPECT_EQ(0, all_turn_in(NULL, &areas, areas.n, pages, 8)) TH_LOG("1: a page is wrong");
	w = ways_since(_metadata, &w);
	EXPECT_EQ(held, counter("held"));
	EXPECT_EQ(0, w.waits + w.stalls + w.kills);
	/* Or it was not short of what kswapd wants. */
	EXPECT_LT(low, ssw_vmstat("pageoutrun"));
	leave(_metadata);
}

/* Without evictors the same goes well, and tasks reclaim as ever. */
SSW_BODY(evict_node, none)
{
	const long left = 8192, pages = 12000;
	struct ssw_areas areas;
	long long held;
	struct ways w;

	ASSERT_EQ(0, ssw_areas_on(&areas, 16384, 4));
	put("threads", 0);
	leave_memory(_metadata, left);
	held = counter("held");
	w = ways();
	ASSERT_TRUE(watch());
	EXPECT_EQ(0, all_turn_in(NULL, &areas, areas.n, pages, 1)) TH_LOG("1: a page is wrong");
	EXPECT_LT(0, watched());
	w = ways_since(_metadata, &w);
	EXPECT_EQ(0, w.waits + w.late + w.stuck + w.unfit + w.killed);
	EXPECT_EQ(held, counter("held"));
	EXPECT_LT(0, w.out);
	EXPECT_EQ(0, w.kills);
	leave(_metadata);
}

/* Evictors that do nothing: tasks wait in vain, reclaim, and count why. It ends well. */
SSW_BODY(evict_node, paused)
{
	const long left = 8192, pages = 12000;
	struct ssw_areas areas;
	struct ways w;

	if (access(PAUSE, F_OK))
		SKIP(return, "a kernel without CONFIG_FAULT_INJECTION_DEBUG_FS");
	ASSERT_EQ(0, ssw_areas_on(&areas, 16384, 4));
	leave_memory(_metadata, left);
	/* Short, as kswapd may free enough while they wait. */
	put("wait_ms", 1);
	ASSERT_EQ(0, ssw_write(PAUSE, "Y"));
	w = ways();
	EXPECT_EQ(0, all_turn_in(NULL, &areas, areas.n, pages, 1)) TH_LOG("1: a page is wrong");
	w = ways_since(_metadata, &w);
	EXPECT_LT(0, w.late + w.stuck);
	EXPECT_EQ(0, w.freed);
	EXPECT_EQ(0, w.kills);
	ASSERT_EQ(0, ssw_write(PAUSE, "N"));
	leave(_metadata);
}

/* While another node has memory, evictors leave a node alone: nothing is swapped out. */
SSW_BODY(evict_node, other_node_first)
{
	const long spare = 8192;
	long long had[2], free[2], kswapd;
	struct ssw_areas areas;
	struct ways w;
	long pages;
	int status;

	if (access(NODE1, F_OK))
		SKIP(return, "one node");
	ASSERT_EQ(0, ssw_areas_on(&areas, 16384, 4));
	ssw_write("/proc/sys/vm/drop_caches", "3");
	for (int i = 0; i < 2; i++)
		had[i] = node_free(i);
	pages = had[0] + spare;
	if (had[1] < 2 * spare)
		SKIP(return, "node 1 has %lld free pages", had[1]);
	kswapd = ssw_vmstat("pageoutrun");
	w = ways();
	status = all_turn_in(NULL, &areas, 1, pages, 1);
	EXPECT_EQ(0, status);
	kswapd = ssw_vmstat("pageoutrun") - kswapd;
	for (int i = 0; i < 2; i++)
		free[i] = node_free(i);
	TH_LOG("%ld pages on nodes with %lld and %lld free, %lld and %lld after it", pages, had[0],
	       had[1], free[0], free[1]);
	w = ways_since(_metadata, &w);
	EXPECT_EQ(0, w.freed);
	/* kswapd runs for who asks for memory of one node alone, as KASAN may. */
	TH_LOG("kswapd has run %lld times", kswapd);
	if (!kswapd)
		EXPECT_EQ(0, w.out);
	EXPECT_EQ(0, w.waits + w.stalls);
	leave(_metadata);
}

/*
 * Have a process on a CPU of node 0 use more than there is of node 1. It has a policy for that node
 * or, if @policy is 0, is in @group. Return its end.
 */
static int use_node_1(int policy, const char *group)
{
	const long pages = node_free(1) + 8192, first = pages - 2 * 8192;
	unsigned long mask = 1UL << 1;
	pid_t pid = ssw_fork();
	char *p;

	if (pid)
		return pid < 0 ? -1 : ssw_join(pid);
	ssw_pin(0);
	if (!policy && cg_move(group, getpid()))
		_exit(7);
	p = ssw_map(pages, false);
	if (!p || (policy && syscall(SYS_mbind, p, pages * SSW_PAGE, policy, &mask, 64, 0)))
		_exit(9);
	/*
	 * Were all of them used just before, reclaim would look at each before it frees any. With
	 * KASAN, that alone is longer than a task may wait.
	 */
	ssw_stamp(p, first, 1);
	madvise(p, first * SSW_PAGE, MADV_COLD);
	ssw_stamp(p + first * SSW_PAGE, pages - first, 1);
	_exit(ssw_wrong(p, pages, 1) ? 1 : 0);
}

/* Tasks that may only use node 1 wait for its evictors, though node 0 is nearer, and has memory. */
static void only_node_1(struct __test_metadata *_metadata, int policy)
{
	struct ssw_areas areas;
	struct ways w;

	ASSERT_EQ(0, ssw_areas_on(&areas, 30000, 4));
	ssw_write("/proc/sys/vm/drop_caches", "3");
	ssw_write(SSW_TRACE "tracing_on", "0");
	ssw_trace_empty(SSW_TRACE "trace");
	ASSERT_EQ(0, ssw_write(WAIT "enable", "1"));
	ASSERT_EQ(0, ssw_write(SSW_TRACE "tracing_on", "1"));
	w = ways();
	EXPECT_EQ(0, use_node_1(policy, GROUP));
	EXPECT_EQ(0, traced("evict_wait: cgroup=0 node=0"));
	w = ways_since(_metadata, &w);
	EXPECT_LT(8192 / 2, w.freed);
	EXPECT_EQ(0, w.late + w.stuck + w.killed + w.kills);
	EXPECT_GE(w.unfit, w.stalls);
	leave(_metadata);
}

SSW_BODY(evict_node, bound_to_a_node)
{
	if (access(NODE1, F_OK))
		SKIP(return, "one node");
	only_node_1(_metadata, MPOL_BIND);
}

SSW_BODY(evict_node, cpuset)
{
	if (access(NODE1, F_OK))
		SKIP(return, "one node");
	if (ssw_write(SSW_CG "/cgroup.subtree_control", "+cpuset"))
		SKIP(return, "no cpusets");
	ASSERT_EQ(0, cg_make(GROUP));
	ASSERT_EQ(0, ssw_write(SSW_CG "/" GROUP "/cpuset.mems", "1"));
	only_node_1(_metadata, 0);
	cg_reclaim(GROUP);
	EXPECT_EQ(0, cg_remove(GROUP));
}

/* A task that prefers a node tries it alone first. Evictors leave that to kswapd. */
SSW_BODY(evict_node, prefers_a_node)
{
	struct ssw_areas areas;
	long long held;
	struct ways w;

	if (access(NODE1, F_OK))
		SKIP(return, "one node");
	ASSERT_EQ(0, ssw_areas_on(&areas, 16384, 4));
	ssw_write("/proc/sys/vm/drop_caches", "3");
	if (node_free(0) < 3 * 8192)
		SKIP(return, "node 0 has %lld free pages", node_free(0));
	held = counter("held");
	w = ways();
	EXPECT_EQ(0, use_node_1(MPOL_PREFERRED_MANY, NULL));
	w = ways_since(_metadata, &w);
	EXPECT_EQ(held, counter("held"));
	EXPECT_EQ(0, w.waits + w.stalls);
	leave(_metadata);
}

/* Memory that cannot be evicted: nobody waits for ever, and the process is killed that has it. */
SSW_BODY(evict_node, locked_memory)
{
	struct ssw_areas areas;
	struct ways w;
	int status;
	pid_t pid;

	ASSERT_EQ(0, ssw_areas_on(&areas, 8192, 1));
	put("wait_ms", 200);
	w = ways();
	pid = ssw_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		ssw_write("/proc/self/oom_score_adj", "1000");
		if (mlockall(MCL_CURRENT | MCL_FUTURE))
			_exit(9);
		for (;;)
			if (!ssw_map(4096, false))
				_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		TH_LOG("status %#x", status);
	w = ways_since(_metadata, &w);
	EXPECT_EQ(1, w.kills);
	EXPECT_LT(0, w.stuck + w.late);
	leave(_metadata);
}

/*
 * memory.min holds for evictors, too: they take what is not protected. memory.low is a hint with
 * generations, as they come to such groups again.
 */
SSW_BODY(evict_node, protected_group)
{
	const long left = 12288, mine = 3000, pages = 8000;
	struct ssw_areas areas;
	struct member m;
	struct ways w;

	ASSERT_EQ(0, ssw_areas_on(&areas, 16384, 4));
	ASSERT_EQ(0, cg_make(GROUP));
	ASSERT_EQ(0, ssw_cgroup_set(GROUP, "memory.min", 2 * mine * (long long)SSW_PAGE));
	leave_memory(_metadata, left);
	m = member_start(GROUP, areas.cpu[0], mine, 1);
	ASSERT_TRUE(member_step(&m, STAMP));
	w = ways();
	EXPECT_EQ(0, all_turn_in(NULL, &areas, areas.n, pages, 2)) TH_LOG("1: a page is wrong");
	w = ways_since(_metadata, &w);
	EXPECT_LT(0, w.freed);
	EXPECT_EQ(0, cg(GROUP, "memory.swap.current", NULL));
	EXPECT_TRUE(member_step(&m, CHECK)) TH_LOG("a page is wrong");
	member_step(&m, LEAVE);
	EXPECT_EQ(0, m.status);
	cg_reclaim(GROUP);
	EXPECT_EQ(0, cg_remove(GROUP));
	leave(_metadata);
}

/* min_ttl_ms is kswapd's: evictors leave nodes to it while it is set. */
SSW_BODY(evict_node, working_set_is_kept)
{
	const long left = 8192, pages = 12000;
	struct ssw_areas areas;
	long long held;
	struct ways w;
	int status;

	if (!ssw_generations())
		SKIP(return, "generations are off");
	ASSERT_EQ(0, ssw_areas_on(&areas, 16384, 4));
	leave_memory(_metadata, left);
	ASSERT_EQ(0, ssw_write(TTL, "1"));
	held = counter("held");
	w = ways();
	status = all_turn_in(NULL, &areas, areas.n, pages, 1);
	/* kswapd has one killed if it cannot keep what was used in the last millisecond. */
	EXPECT_TRUE(!status || status == 1000 + SIGKILL) TH_LOG("%d; 1: a page is wrong", status);
	w = ways_since(_metadata, &w);
	EXPECT_EQ(0, w.waits);
	EXPECT_EQ(held, counter("held"));
	EXPECT_LT(0, w.out);
	ssw_write(TTL, "0");
	leave(_metadata);
}

TEST_HARNESS_MAIN
