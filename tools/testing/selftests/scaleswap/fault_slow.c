// SPDX-License-Identifier: GPL-2.0
/*
 * Critical faults on slow devices: which task has the CPU meanwhile, whether the worker is
 * idle, and that reads from one device do not wait for another.
 *
 * The guest "stack" has the drive ssw-slow, which does twenty commands a
 * second. Each test has a control, which shows that the failure would be seen.
 */
#include "fault_harness.h"

FAULT_FIXTURE(fault_slow, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	24
#define CPU	1
/* Guards against hangs, not measures */
#define TRIES	3000

/* An area on the slow drive, which belongs to @CPU. */
#define NEED_SLOW(dev)							\
	do {								\
		NEED_FAULT();						\
		if (!fault_drive("ssw-slow", dev, sizeof(dev)))		\
			SKIP(return, "no drive with the serial number ssw-slow"); \
		ASSERT_TRUE(fault_can_direct(dev));			\
		ASSERT_EQ(0, ssw_mkswap(dev, 8000));			\
		ASSERT_LE(0, ssw_on_cpu(dev, CPU));			\
		ASSERT_EQ(0, ssw_write(CLUSTER, "0"));			\
		ASSERT_EQ(0, fault_set("mode", "direct"));		\
	} while (0)

/* --- a thread that polls, and others that want its CPU --------------------------- */

static int fifo(void)
{
	struct sched_param param = { .sched_priority = 1 };

	return sched_setscheduler(0, SCHED_FIFO, &param) ? -errno : 0;
}

/* A process of the same priority on the CPU, which lets others run whenever they can. */
static pid_t waiter(int ready)
{
	pid_t pid = ssw_fork();

	if (pid)
		return pid;
	if (fifo() || ssw_pin(CPU) || write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		sched_yield();
}

/* As the process: read all pages; its counts go to @c. */
static void read_all(struct fault_count *c, int ready, int go)
{
	char byte, *p;

	if (ssw_pin(CPU))
		_exit(2);
	p = fault_out(PAGES, 1, false);
	if (!p || fifo() || write(ready, "", 1) != 1 || read(go, &byte, 1) != 1)
		_exit(3);
	fault_read(c, "");
	if (ssw_wrong(p, PAGES, 1))
		_exit(4);
	*c = fault_since(c, "");
	_exit(0);
}

/*
 * Tasks of one real-time priority do not preempt one another: a thread that polled until it
 * is preempted would poll to the end. If another one waits for the CPU it must not.
 */
SSW_BODY(fault_slow, gives_way)
{
	static const char * const what[] = { "alone", "with another one" };
	struct fault_count *c = ssw_shared(2 * sizeof(*c));
	int ready[2], go[2];
	char dev[64], byte;

	NEED_SLOW(dev);
	ASSERT_NE(NULL, c);
	ASSERT_EQ(0, fault_set("poll_us", "100000"));
	ASSERT_EQ(0, ssw_pin(0));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	for (int i = 0; i < 2; i++) {
		pid_t pid = ssw_fork(), other = 0;

		if (!pid)
			read_all(&c[i], ready[1], go[0]);
		ASSERT_EQ(1, read(ready[0], &byte, 1));
		if (i) {
			other = waiter(ready[1]);
			ASSERT_EQ(1, read(ready[0], &byte, 1));
		}
		EXPECT_EQ(1, write(go[1], "", 1));
		EXPECT_EQ(0, ssw_join(pid));
		if (i) {
			EXPECT_TRUE(!waitpid(other, NULL, WNOHANG)) TH_LOG("no other one");
			kill(other, SIGKILL);
			waitpid(other, NULL, 0);
		}
		fault_print(what[i], &c[i]);
		EXPECT_LE(PAGES * 3 / 4, c[i].direct);
	}
	EXPECT_EQ(0, fault_swapoff(dev, 120));
	/*
	 * After a pause the drive does two commands at once, and each read that is handed over
	 * may be one: the waiter has the CPU, and others of an emulated machine may not.
	 */
	EXPECT_LE(PAGES / 4, c[1].late) TH_LOG("it polled while another one waited");
	/* Alone it polls to the end, but where the worker or so waits for the CPU, too. */
	if (c[0].direct - c[0].late < 3)
		SKIP(return, "reads take longer than the longest polling: no control");
}

/* --- the worker ---------------------------------------------------------------------- */

/*
 * A worker that sleeps between two looks at the drive is idle: it neither counts for the
 * load average nor for the time that is spent waiting for I/O.
 */
SSW_BODY(fault_slow, worker_is_idle)
{
	int seen = 0, blocked = 0;
	char dev[64], *p;
	pid_t pid;

	NEED_SLOW(dev);
	ASSERT_EQ(0, fault_set("poll_us", "0"));
	ASSERT_EQ(0, ssw_pin(0));
	pid = ssw_fork();
	if (!pid) {
		ssw_pin(CPU);
		for (;;) {
			p = fault_out(PAGES, 1, false);
			if (!p || ssw_wrong(p, PAGES, 1))
				_exit(1);
			munmap(p, PAGES * SSW_PAGE);
		}
	}
	for (int i = 0; i < TRIES && seen < 20; i++) {
		pid_t worker = fault_worker("scaleswap_read");
		char state = worker ? fault_state(worker) : 0;

		seen += state == 'S' || state == 'I' || state == 'D';
		blocked += state == 'D';
		usleep(1000);
	}
	EXPECT_TRUE(!waitpid(pid, NULL, WNOHANG)) TH_LOG("a page was wrong");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("# the worker was seen asleep %d times, %d of them blocked\n", seen, blocked);
	EXPECT_LT(0, seen) TH_LOG("no worker sleeps: nothing was tested");
	EXPECT_EQ(0, blocked);
	EXPECT_EQ(0, fault_swapoff(dev, 120));
}

/* --- reads that are done again --------------------------------------------------------- */

#define BUSY	"sswbusy"

/* A process that touches a page. */
static pid_t toucher(const char *p)
{
	pid_t pid = ssw_fork();

	if (pid)
		return pid;
	_exit(ssw_wrong(p, 1, 1) ? 1 : 0);
}

static bool again(long long want)
{
	for (int i = 0; i < TRIES; i++) {
		if (fault_num("reads_retried") >= want)
			return true;
		usleep(10000);
	}
	return false;
}

/*
 * Two devices that cannot be polled any more: all that is read from them is refused, and
 * read again. One takes seconds for a request, and has but one, so its second read waits
 * for the first. A read of the other device waits for neither, unless they are behind one
 * another. A guest may be too slow to see that, but not each time.
 */
SSW_BODY(fault_slow, devices_apart)
{
	int busy, other, ret;
	bool apart = false;
	long long before;
	pid_t pid[3];
	char *p;

	NEED_FAULT();
	ret = fault_nullb_at(BUSY, "1", "1", "4000000000");
	if (ret)
		SKIP(return, "no null_blk device with poll queues (%s)", strerror(-ret));
	ASSERT_EQ(0, fault_nullb("1", NULL, NULL));
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	ASSERT_EQ(0, fault_set("mode", "bio"));
	busy = ssw_on_cpu("/dev/" BUSY, CPU);
	other = ssw_on_cpu(FAULT_NULLB, 0);
	ASSERT_LE(0, busy);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, fault_nullb_set(BUSY, "poll_queues", "0"));
	ASSERT_EQ(0, fault_nullb_set("sswpoll", "poll_queues", "0"));
	mlockall(MCL_CURRENT);
	for (int i = 0; i < 3 && !apart; i++) {
		p = ssw_map(3, false);
		ASSERT_NE(NULL, p);
		ASSERT_TRUE(fault_out_by(CPU, busy, p, 2, 1));
		ASSERT_TRUE(fault_out_by(0, other, p + 2 * SSW_PAGE, 1, 1));
		for (int j = 0; j < 10 && fault_in_cache(p, 3); j++)
			fault_evict("ssw");
		ASSERT_EQ(0, fault_in_cache(p, 3));
		before = fault_num("reads_retried");

		pid[0] = toucher(p);
		EXPECT_TRUE(again(before + 1));
		pid[1] = toucher(p + SSW_PAGE);
		EXPECT_TRUE(again(before + 2));
		pid[2] = toucher(p + 2 * SSW_PAGE);
		EXPECT_EQ(0, ssw_join(pid[2]));
		EXPECT_EQ(before + 3, fault_num("reads_retried")) TH_LOG("it was not refused");
		/* The first one's request is the one that the second one waits for. */
		apart = !fault_in_cache(p, 2);
		EXPECT_EQ(0, ssw_join(pid[0]));
		EXPECT_EQ(0, ssw_join(pid[1]));
		munmap(p, 3 * SSW_PAGE);
	}
	EXPECT_TRUE(apart) TH_LOG("a read waits for those of another device");
	fault_nullb_gone();
	fault_nullb_gone_at(BUSY);
}

TEST_HARNESS_MAIN
