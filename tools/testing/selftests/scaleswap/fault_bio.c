// SPDX-License-Identifier: GPL-2.0
/*
 * Bios of several pages, for writes and for readahead, over a device that completes nothing
 * for as long as the test wants. Tested is which task submits the collected pages, and with
 * whose rights and priority, when the thread that collected them sleeps, goes on to another
 * area, or has to wait for a page.
 *
 * Needs loop devices and device mapper: the guest "stack". Each test has a
 * control, which shows that the failure would be seen.
 */
#include <dirent.h>
#include <linux/aio_abi.h>
#include <linux/kernel-page-flags.h>
#include <linux/loop.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "dm_util.h"
#include "fault_harness.h"

FAULT_FIXTURE(fault_bio, SSW_NEED_ON | SSW_NEED_DIR)

#define PAGES	FAULT_PAGES

/*
 * A loop device with few requests, on dm-linear. To shut it, the test suspends dm-linear
 * and submits as many reads as the loop device has requests. The next task that submits
 * then sleeps until the gate is open.
 */
struct gate {
	char dev[32];
	int ctl, loop, dm, fd, nr;
	aio_context_t aio;
	char *buf;
};

#define GATE_NR		4	/* as few as the block layer allows */
#define GATE_CPU	1
/* A guard against hangs, not a measure; hung tasks would be reported after two minutes. */
#define GATE_TRIES	3000

#ifndef O_DIRECT
#define O_DIRECT	040000
#endif

/* Why there is none, or NULL. */
static const char *gate_make(struct gate *g)
{
	char params[64], dm[32], path[128];
	int nr;

	memset(g, 0, sizeof(*g));
	g->loop = -1;
	g->dm = -1;
	g->fd = -1;
	g->ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	nr = g->ctl < 0 ? -1 : ioctl(g->ctl, LOOP_CTL_GET_FREE);
	if (nr < 0)
		return "no loop devices";
	snprintf(params, sizeof(params), "%s 64", ssw_bdev(0));
	if (dm_make("linear", params, 64 << 20 >> 9, dm, sizeof(dm)))
		return "no dm-linear";
	snprintf(g->dev, sizeof(g->dev), "/dev/loop%d", nr);
	g->dm = open(dm, O_RDWR | O_DIRECT | O_CLOEXEC);
	g->loop = open(g->dev, O_RDWR | O_CLOEXEC);
	if (g->dm < 0 || g->loop < 0 || ioctl(g->loop, LOOP_SET_FD, g->dm))
		return "no loop device on dm-linear";
	snprintf(path, sizeof(path), "/sys/class/block/loop%d/queue/nr_requests", nr);
	ssw_write(path, "4");
	if (ssw_num(path) != GATE_NR)
		return "the loop device wants more requests";
	g->fd = open(g->dev, O_RDONLY | O_DIRECT | O_CLOEXEC);
	g->buf = mmap(NULL, GATE_NR * SSW_PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (g->fd < 0 || g->buf == MAP_FAILED || syscall(SYS_io_setup, GATE_NR, &g->aio))
		return "no asynchronous I/O";
	return NULL;
}

static void gate_gone(struct gate *g)
{
	syscall(SYS_io_destroy, g->aio);
	close(g->fd);
	if (g->loop >= 0)
		ioctl(g->loop, LOOP_CLR_FD, 0);
	close(g->loop);
	close(g->dm);
	close(g->ctl);
	dm_gone();
}

static int gate_shut(struct gate *g)
{
	struct iocb cb[GATE_NR], *cbs[GATE_NR];
	char path[128], line[64];
	int ret, busy[2];

	/*
	 * Or the last read would wait for a request, and the task that has to open the gate
	 * with it.
	 */
	snprintf(path, sizeof(path), "/sys/class/block/%s/inflight", strrchr(g->dev, '/') + 1);
	for (int i = 0; i < GATE_TRIES; i++) {
		if (ssw_read(path, line, sizeof(line)) > 0 &&
		    sscanf(line, "%d %d", &busy[0], &busy[1]) == 2 && !busy[0] && !busy[1])
			break;
		usleep(10000);
	}
	ret = dm_suspend(true);
	for (int i = 0; i < GATE_NR && !ret; i++) {
		memset(&cb[i], 0, sizeof(cb[i]));
		cb[i].aio_lio_opcode = IOCB_CMD_PREAD;
		cb[i].aio_fildes = g->fd;
		cb[i].aio_buf = (uintptr_t)g->buf + i * SSW_PAGE;
		cb[i].aio_nbytes = SSW_PAGE;
		/* Not adjacent, or they would be merged into one. */
		cb[i].aio_offset = i << 20;
		cbs[i] = &cb[i];
		if (syscall(SYS_io_submit, g->aio, 1, &cbs[i]) != 1)
			ret = -errno;
		else
			g->nr++;
	}
	return ret;
}

static int gate_open(struct gate *g)
{
	struct io_event events[GATE_NR];
	int ret = dm_suspend(false);

	if (!ret && syscall(SYS_io_getevents, g->aio, g->nr, g->nr, events, NULL) != g->nr)
		ret = -EIO;
	g->nr = 0;
	return ret;
}

#define NEED_GATE(g)							\
	do {								\
		const char *_why;					\
									\
		NEED_FAULT();						\
		_why = gate_make(g);					\
		if (_why)						\
			gate_gone(g);					\
		if (_why)						\
			SKIP(return, "%s", _why);			\
		ASSERT_EQ(0, ssw_mkswap((g)->dev, 8000));		\
		gate = ssw_on_cpu((g)->dev, GATE_CPU);			\
		ASSERT_LE(0, gate);					\
		/* Nothing of this process is to be behind it. */	\
		mlockall(MCL_CURRENT);					\
	} while (0)

static bool gets_in_cache(char *p, size_t pages)
{
	for (int i = 0; i < GATE_TRIES; i++) {
		if (fault_in_cache(p, pages) == (int)pages)
			return true;
		usleep(10000);
	}
	return false;
}

/* A process that touches @at, then looks at all pages. */
static pid_t toucher(const char *at, const char *p, size_t pages, uint64_t gen)
{
	pid_t pid = ssw_fork();

	if (pid)
		return pid;
	_exit(ssw_wrong(at, 1, gen) || ssw_wrong(p, pages, gen) ? 1 : 0);
}

static bool still_there(pid_t pid)
{
	return pid > 0 && !waitpid(pid, NULL, WNOHANG);
}

/*
 * Readahead covers pages of two devices, and the second completes nothing. Pages of the
 * first must not wait for that, though the thread sleeps.
 */
SSW_BODY(fault_bio, areas_apart)
{
	struct gate g;
	int gate, free;
	pid_t pid;
	char *p;

	if (!ssw_bdev(1))
		SKIP(return, "SSW_BDEVS names no second block device");
	NEED_GATE(&g);
	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(1), 8000));
	free = ssw_on_cpu(ssw_bdev(1), 0);
	ASSERT_LE(0, free);
	ASSERT_EQ(0, fault_set("mode", "off"));
	p = ssw_map(8, false);
	ASSERT_NE(NULL, p);
	ASSERT_TRUE(fault_out_by(0, free, p, 4, 1));
	ASSERT_TRUE(fault_out_by(GATE_CPU, gate, p + 4 * SSW_PAGE, 4, 1));
	ASSERT_EQ(0, fault_evict("ssw"));
	ASSERT_EQ(0, fault_in_cache(p, 8));
	ASSERT_EQ(0, ssw_pin(0));

	/* From here on no call that waits for the gate. */
	EXPECT_EQ(0, gate_shut(&g));
	/* The fourth, so that readahead is of all. */
	pid = toucher(p + 3 * SSW_PAGE, p, 8, 1);
	EXPECT_TRUE(gets_in_cache(p, 4)) TH_LOG("they wait for another device");
	EXPECT_TRUE(still_there(pid)) TH_LOG("nobody slept: nothing was tested");
	EXPECT_EQ(0, fault_in_cache(p + 4 * SSW_PAGE, 4)) TH_LOG("it was open: nothing was tested");
	EXPECT_EQ(0, gate_open(&g));

	EXPECT_EQ(0, ssw_join(pid));
	munmap(p, 8 * SSW_PAGE);
	EXPECT_EQ(0, fault_swapoff(g.dev, 120));
	EXPECT_EQ(0, fault_swapoff(ssw_bdev(1), 120));
	gate_gone(&g);
}

/*
 * The last step of a thread before it polls is to submit its readahead. If it sleeps there,
 * its own page must not wait for that.
 */
SSW_BODY(fault_bio, sleeps_at_its_end)
{
	struct gate g;
	int gate, polled, ret;
	long long late;
	pid_t pid;
	char *p;

	NEED_FAULT();
	ret = fault_nullb("1", NULL, NULL);
	if (ret)
		SKIP(return, "no null_blk device with poll queues (%s)", strerror(-ret));
	NEED_GATE(&g);
	polled = ssw_on_cpu(FAULT_NULLB, 0);
	ASSERT_LE(0, polled);
	ASSERT_EQ(0, fault_set("mode", "bio"));
	/* No poller gives up. */
	ASSERT_EQ(0, fault_set("poll_us", "100000"));
	p = ssw_map(8, false);
	ASSERT_NE(NULL, p);
	/* One bio, which is not submitted before the end: the first three are in memory. */
	ASSERT_TRUE(fault_out_by(0, polled, p + 3 * SSW_PAGE, 1, 1));
	ASSERT_TRUE(fault_out_by(GATE_CPU, gate, p + 4 * SSW_PAGE, 4, 1));
	ASSERT_EQ(0, fault_evict("ssw"));
	ASSERT_EQ(0, fault_in_cache(p + 3 * SSW_PAGE, 5));
	ASSERT_EQ(0, ssw_pin(0));
	late = fault_num("reads_late");

	EXPECT_EQ(0, gate_shut(&g));
	pid = toucher(p + 3 * SSW_PAGE, p + 3 * SSW_PAGE, 5, 1);
	EXPECT_TRUE(gets_in_cache(p + 3 * SSW_PAGE, 1)) TH_LOG("it waits for what is read ahead");
	EXPECT_EQ(late + 1, fault_num("reads_late"));
	EXPECT_TRUE(still_there(pid)) TH_LOG("nobody slept: nothing was tested");
	EXPECT_EQ(0, fault_in_cache(p + 4 * SSW_PAGE, 4)) TH_LOG("it was open: nothing was tested");
	EXPECT_EQ(0, gate_open(&g));

	EXPECT_EQ(0, ssw_join(pid));
	munmap(p, 8 * SSW_PAGE);
	EXPECT_EQ(0, fault_swapoff(g.dev, 120));
	fault_nullb_gone();
	gate_gone(&g);
}

/* A worker that sleeps as it submits pages. Its pid, and its PF_ flags; or 0. */
static int io_worker(unsigned int *flags)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int found = 0;

	while (d && !found && (e = readdir(d))) {
		char path[300], line[1024], *p, state;

		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		if (e->d_name[0] < '0' || e->d_name[0] > '9' ||
		    ssw_read(path, line, sizeof(line)) <= 0)
			continue;
		p = strrchr(line, ')');
		if (p && strstr(line, "+scaleswap_io)") &&
		    sscanf(p, ") %c %*d %*d %*d %*d %*d %u", &state, flags) == 2 && state == 'D')
			found = atoi(e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

#define IDLE_CLASS		3	/* of linux/ioprio.h, */
#define CLASS_SHIFT		13	/* which some C libraries do not have */

static int trace_requests(bool on)
{
	int ret;

	ssw_write(SSW_TRACE "tracing_on", "0");
	if (on)
		ssw_trace_empty(SSW_TRACE "trace");
	ret = ssw_write(SSW_TRACE "events/block/block_rq_issue/enable", on ? "1" : "0");
	return ret || !on ? ret : ssw_write(SSW_TRACE "tracing_on", "1");
}

/* Writes to a device in the trace, and those of them that are of class idle. */
static void traced_writes(const char *dev, int *all, int *idle)
{
	FILE *f = fopen(SSW_TRACE "trace", "re");
	char line[1024], id[32], *p;
	struct stat st;

	*all = *idle = 0;
	if (!f || stat(dev, &st))
		return;
	snprintf(id, sizeof(id), "%u,%u W", major(st.st_rdev), minor(st.st_rdev));
	while (fgets(line, sizeof(line), f)) {
		p = strstr(line, "block_rq_issue: ");
		if (!p || strncmp(p + 16, id, strlen(id)))
			continue;
		++*all;
		*idle += !!strstr(p, " idle,");
	}
	fclose(f);
}

#define SSW_PF_MEMALLOC	0x800

/*
 * As the process: in one plug, which io_submit() has for more than two requests, have the
 * group's pages reclaimed, then sleep on the pipe. No call of the process submits these
 * pages.
 */
static void reclaim_and_sleep(int go, int wake, size_t pages)
{
	char size[64], byte[2], *p;
	struct iocb cb[3], *cbs[3];
	aio_context_t aio = 0;
	int fd[3];

	ssw_pin(GATE_CPU);
	mlockall(MCL_CURRENT);
	p = ssw_map(pages, false);
	if (!p || syscall(SYS_ioprio_set, 1, 0, IDLE_CLASS << CLASS_SHIFT))
		_exit(78);
	ssw_stamp(p, pages, 1);
	madvise(p, pages * SSW_PAGE, MADV_COLD);
	snprintf(size, sizeof(size), "%zu swappiness=200", pages * SSW_PAGE);
	fd[0] = open(SSW_CG "/ssw/memory.reclaim", O_WRONLY | O_CLOEXEC);
	fd[1] = wake;
	fd[2] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	memset(cb, 0, sizeof(cb));
	for (int i = 0; i < 3; i++) {
		cb[i].aio_lio_opcode = i ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
		cb[i].aio_fildes = fd[i];
		cb[i].aio_buf = (uintptr_t)(i ? &byte[i - 1] : size);
		cb[i].aio_nbytes = i ? 1 : strlen(size);
		cbs[i] = &cb[i];
	}
	if (syscall(SYS_io_setup, 3, &aio) || read(go, byte, 1) != 1 ||
	    syscall(SYS_io_submit, aio, 3, cbs) != 3)
		_exit(2);
	_exit(ssw_wrong(p, pages, 1) ? 1 : 0);
}

/*
 * A thread that goes to sleep with pages collected cannot submit them, since that may
 * sleep, too. A worker does, and may use reserves for it, as reclaim may; the priority is
 * the thread's.
 */
SSW_BODY(fault_bio, sleeps_with_pages_collected)
{
	const size_t pages = 64;
	int go[2], wake[2], gate, worker = 0, traced, all, idle;
	unsigned int flags = 0;
	long long batched;
	struct gate g;
	pid_t pid;

	NEED_GATE(&g);
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(wake));
	ASSERT_EQ(0, ssw_pin(0));
	batched = io_num("batched");
	pid = ssw_fork();
	if (!pid)
		reclaim_and_sleep(go[0], wake[0], pages);
	traced = trace_requests(true);

	EXPECT_EQ(0, gate_shut(&g));
	EXPECT_EQ(1, write(go[1], "", 1));
	for (int i = 0; i < GATE_TRIES && !worker; i++) {
		usleep(10000);
		worker = io_worker(&flags);
	}
	EXPECT_LT(0, worker) TH_LOG("no worker has got them");
	if (worker) {
		EXPECT_TRUE(!!(flags & SSW_PF_MEMALLOC)) TH_LOG("%#x: as any other task", flags);
	}
	EXPECT_TRUE(still_there(pid));
	EXPECT_LT(batched, io_num("batched")) TH_LOG("nothing was collected");
	EXPECT_EQ(0, gate_open(&g));

	EXPECT_EQ(1, write(wake[1], "", 1));
	EXPECT_EQ(0, ssw_join(pid));
	trace_requests(false);
	if (!traced) {
		traced_writes(g.dev, &all, &idle);
		EXPECT_LT(0, all);
		EXPECT_EQ(all, idle) TH_LOG("not of the thread's priority");
	}
	EXPECT_EQ(0, fault_swapoff(g.dev, 120));
	gate_gone(&g);
}

/* Have the pages read by readahead that no fault waits for, until all are in the swap cache. */
static bool fetch(char *p, size_t pages)
{
	madvise(p, pages * SSW_PAGE, MADV_WILLNEED);
	return gets_in_cache(p, pages);
}

/*
 * As the process: in one plug, collect pages for the gate, then have the kernel access a
 * page of area @polled. Reclaim finds enough clean pages, so it does not sleep.
 */
static void reclaim_and_fault(int ready, int go, int done, int polled, int spare)
{
	const size_t pages = 64, clean = 200;
	char text[64], byte, *a, *b, *c;
	struct iocb cb[3], *cbs[3];
	aio_context_t aio = 0;
	int fd[2];

	mlockall(MCL_CURRENT);
	a = ssw_map(pages, false);
	b = ssw_map(clean, false);
	c = ssw_map(1, false);
	if (!a || !b || !c || pipe(fd) || syscall(SYS_io_setup, 3, &aio))
		_exit(2);
	/* As if it were this CPU's, but in an area of another. */
	ssw_pin(GATE_CPU);
	ssw_stamp(b, clean, 1);
	if (!fault_out_by(0, polled, c, 1, 1) || ssw_pin(2) ||
	    ssw_pageout(b, clean) != (long)clean ||
	    ssw_pm_type(ssw_pagemap(b)) != spare || fault_evict("ssw"))
		_exit(3);
	ssw_pin(GATE_CPU);
	ssw_stamp(a, pages, 1);
	madvise(a, pages * SSW_PAGE, MADV_COLD);
	if (!fetch(b, clean))
		_exit(4);
	snprintf(text, sizeof(text), "%zu swappiness=200", clean / 2 * SSW_PAGE);
	memset(cb, 0, sizeof(cb));
	for (int i = 0; i < 3; i++) {
		cb[i].aio_lio_opcode = IOCB_CMD_PWRITE;
		cb[i].aio_fildes = fd[1];
		cb[i].aio_buf = (uintptr_t)(i ? c : text);
		cb[i].aio_nbytes = i ? 1 : strlen(text);
		cbs[i] = &cb[i];
	}
	cb[0].aio_fildes = open(SSW_CG "/ssw/memory.reclaim", O_WRONLY | O_CLOEXEC);
	if (write(ready, "", 1) != 1 || read(go, &byte, 1) != 1 ||
	    syscall(SYS_io_submit, aio, 3, cbs) != 3 || write(done, "", 1) != 1)
		_exit(5);
	_exit(ssw_wrong(a, pages, 1) || ssw_wrong(b, clean, 1) || ssw_wrong(c, 1, 1) ? 1 : 0);
}

/* Pages that a thread has collected may not keep it from reading one that it waits for. */
SSW_BODY(fault_bio, reads_before_it_submits)
{
	int ready[2], go[2], done[2], gate, polled, spare, ret;
	struct pollfd wait = { .events = POLLIN };
	long long batched;
	struct gate g;
	pid_t pid;
	char byte;

	if (!ssw_bdev(1) || ssw_nr_possible() < 3)
		SKIP(return, "needs two spare block devices, and three CPUs");
	NEED_FAULT();
	ret = fault_nullb("1", NULL, NULL);
	if (ret)
		SKIP(return, "no null_blk device with poll queues (%s)", strerror(-ret));
	NEED_GATE(&g);
	polled = ssw_on_cpu(FAULT_NULLB, 0);
	ASSERT_LE(0, polled);
	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(1), 8000));
	spare = ssw_on_cpu(ssw_bdev(1), 2);
	ASSERT_LE(0, spare);
	ASSERT_EQ(0, fault_set("mode", "bio"));
	ASSERT_EQ(0, ssw_write(CLUSTER, "0"));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(done));
	ASSERT_EQ(0, ssw_pin(0));
	pid = ssw_fork();
	if (!pid)
		reclaim_and_fault(ready[1], go[0], done[1], polled, spare);
	close(ready[1]);
	close(done[1]);
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	batched = io_num("batched");

	EXPECT_EQ(0, gate_shut(&g));
	EXPECT_EQ(1, write(go[1], "", 1));
	wait.fd = done[0];
	EXPECT_EQ(1, poll(&wait, 1, GATE_TRIES * 10)) TH_LOG("it waits for another device");
	EXPECT_LT(batched, io_num("batched")) TH_LOG("nothing was collected");
	EXPECT_EQ(0, gate_open(&g));

	EXPECT_EQ(0, ssw_join(pid));
	EXPECT_EQ(0, fault_swapoff(g.dev, 120));
	EXPECT_EQ(0, fault_swapoff(ssw_bdev(1), 120));
	fault_nullb_gone();
	gate_gone(&g);
}

TEST_HARNESS_MAIN
