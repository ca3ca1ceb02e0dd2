// SPDX-License-Identifier: GPL-2.0
/*
 * swapoff: under load, of the last area, of an area whose home CPU is
 * offline, cut short by a signal, in the middle of allocations.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>
#include <sys/time.h>

#include "harness.h"

SSW_FIXTURE(swapoff, SSW_NEED_ON | SSW_NEED_DIR | SSW_NEED_CG)

SSW_TEST_F(swapoff, under_load)
{
	int cpus = ssw_nr_possible();
	struct ssw_load *l;

	if (cpus > 8)
		cpus = 8;
	l = ssw_loads(cpus);
	ASSERT_NE(NULL, l);
	for (int c = 0; c < cpus; c++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(c), 4096));
		ASSERT_LE(0, ssw_on_cpu(ssw_file(c), c));
	}
	for (int c = 0; c < cpus; c++) {
		ASSERT_EQ(0, ssw_load_start(&l[c], c, 400));
	}
	for (int round = 0; round < 2; round++) {
		for (int c = 0; c < cpus; c++) {
			ASSERT_TRUE(ssw_load_more(&l[c], 1));
			EXPECT_EQ(0, ssw_swapoff(ssw_file(c))) TH_LOG("area of CPU %d", c);
			EXPECT_EQ(-1, ssw_type_of(ssw_file(c)));
			ASSERT_TRUE(ssw_load_more(&l[c], 1));
			ASSERT_LE(0, ssw_on_cpu(ssw_file(c), c));
		}
	}
	for (int c = 0; c < cpus; c++) {
		EXPECT_TRUE(ssw_load_more(&l[c], 1));
		EXPECT_LT(0, l[c].out);
	}
	for (int c = 0; c < cpus; c++) {
		EXPECT_EQ(0, ssw_load_stop(&l[c])) TH_LOG("load on CPU %d", c);
	}
}

/* The area a CPU allocates from goes away and comes back, many times. */
SSW_TEST_F(swapoff, during_allocation)
{
	struct ssw_load *l = ssw_loads(2);

	ASSERT_NE(NULL, l);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), 1024));
	}
	ASSERT_LE(0, ssw_on_cpu(ssw_file(0), 0));
	ASSERT_LE(0, ssw_on(ssw_file(1), "off"));
	ASSERT_EQ(0, ssw_load_start(&l[0], 0, 64));
	ASSERT_EQ(0, ssw_load_start(&l[1], ssw_nr_possible() - 1, 64));
	for (int i = 0; i < 25; i++) {
		ASSERT_EQ(0, ssw_swapoff(ssw_file(0))) TH_LOG("time %d", i);
		ASSERT_LE(0, ssw_on_cpu(ssw_file(0), i % ssw_nr_possible()));
		if (i % 5 == 0) {
			ASSERT_TRUE(ssw_load_more(&l[0], 1));
		}
	}
	EXPECT_TRUE(ssw_load_more(&l[0], 2));
	EXPECT_EQ(0, ssw_load_stop(&l[0]));
	EXPECT_EQ(0, ssw_load_stop(&l[1]));
	EXPECT_LT(0, l[0].out);
}

SSW_TEST_F(swapoff, last_area)
{
	char *p = ssw_map(2000, false);
	struct sysinfo si;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 4096));
	ASSERT_LE(0, ssw_on_cpu(ssw_file(0), 0));
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(p, 2000, 1);
	ASSERT_EQ(2000, ssw_pageout(p, 2000));
	ssw_evict("ssw");
	ASSERT_EQ(0, ssw_swapoff(ssw_file(0)));
	EXPECT_EQ(0, ssw_area_count());
	ASSERT_EQ(0, sysinfo(&si));
	EXPECT_EQ(0, si.totalswap);
	EXPECT_EQ(0, si.freeswap);
	EXPECT_EQ(0, ssw_wrong(p, 2000, 1));
	/* Nothing to go to: stays in memory, and is still right. */
	EXPECT_EQ(0, ssw_pageout(p, 2000));
	EXPECT_EQ(0, ssw_wrong(p, 2000, 1));
	/* And on again. */
	ASSERT_LE(0, ssw_on_cpu(ssw_file(0), 0));
	EXPECT_EQ(2000, ssw_pageout(p, 2000));
	EXPECT_EQ(0, ssw_wrong(p, 2000, 1));
}

SSW_TEST_F(swapoff, home_cpu_offline)
{
	int last = ssw_nr_possible() - 1, t;
	char *p = ssw_map(500, false);
	long per[258];

	if (last < 1)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 2048));
	t = ssw_on_cpu(ssw_file(0), last);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(last));
	ssw_stamp(p, 500, 1);
	ASSERT_EQ(500, ssw_pageout(p, 500));
	ssw_evict("ssw");
	ASSERT_EQ(0, ssw_where(p, 500, per));
	ASSERT_LT(0, per[t]);
	ASSERT_EQ(0, ssw_pin(0));
	if (ssw_set_online(last, false))
		SKIP(return, "CPU %d cannot be taken offline", last);
	EXPECT_EQ(last, ssw_area(t, "cpu"));
	EXPECT_EQ(0, ssw_swapoff(ssw_file(0)));
	EXPECT_EQ(0, ssw_area_count());
	EXPECT_EQ(0, ssw_wrong(p, 500, 1));
	EXPECT_EQ(0, ssw_set_online(last, true));
	/* Nothing of it is left behind on the CPU when it comes back. */
	ASSERT_EQ(0, ssw_pin(last));
	EXPECT_EQ(0, ssw_pageout(p, 500));
	EXPECT_EQ(0, ssw_wrong(p, 500, 1));
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * A signal ends swapoff between two address spaces; the rest of the area has to go on as
 * before. Hence many processes with pages in it.
 */
SSW_TEST_F(swapoff, interrupted)
{
	enum { KIDS = 24, PAGES = 250, SMALL = 150 };
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval it = { { 0, 2000 }, { 0, 2000 } }, none = { };
	int go[2], ready[2], t, small, ret;
	pid_t kids[KIDS];
	long per[258];
	char c = 0, *p;

	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 16384));
	t = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, t);
	/* A small one beside it, of lower priority: nothing goes there yet. */
	ASSERT_EQ(0, ssw_mkfile(ssw_file(1), SMALL));
	small = ssw_on_cpu(ssw_file(1), 0);
	ASSERT_LE(0, small);
	ASSERT_LT(ssw_area(small, "priority"), ssw_area(t, "priority"));
	ASSERT_EQ(0, ssw_pin(0));
	for (int i = 0; i < KIDS; i++) {
		kids[i] = fork();
		ASSERT_LE(0, kids[i]);
		if (!kids[i]) {
			long bad;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(go[1]);
			p = ssw_map(PAGES, false);
			ssw_stamp(p, PAGES, i + 1);
			ssw_pageout(p, PAGES);
			if (write(ready[1], &c, 1) != 1)
				_exit(2);
			/* Each line in the pipe is a wish to swap out again; its end, to check. */
			while (read(go[0], &c, 1) == 1) {
				ssw_pageout(p, PAGES);
				if (write(ready[1], &c, 1) != 1)
					_exit(2);
				pause();
			}
			bad = ssw_wrong(p, PAGES, i + 1);
			fflush(stdout);
			_exit(bad ? 1 : 0);
		}
	}
	for (int i = 0; i < KIDS; i++) {
		ASSERT_EQ(1, read(ready[0], &c, 1));
	}
	ssw_evict("ssw");

	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &it, NULL));
	ret = ssw_swapoff(ssw_file(0));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &none, NULL));
	if (!ret) {
		close(go[1]);
		SKIP(return, "swapoff was faster than the signal");
	}
	EXPECT_EQ(-EINTR, ret);

	/* Still bound, still there, still in use. */
	EXPECT_TRUE(ssw_area_exists(t));
	EXPECT_EQ(2, ssw_area_count());
	EXPECT_EQ(0, ssw_area(t, "cpu"));
	EXPECT_LT(0, ssw_area(t, "used"));
	/*
	 * The base gives it a new priority, the lowest, as to one that has just
	 * come on. The area list has to follow: first the small one, then it.
	 */
	EXPECT_LT(ssw_area(t, "priority"), ssw_area(small, "priority"));
	p = ssw_map(300, false);
	ssw_stamp(p, 300, 99);
	EXPECT_EQ(300, ssw_pageout(p, 300));
	ASSERT_EQ(0, ssw_where(p, 300, per));
	EXPECT_LE(SMALL - SSW_SLACK, per[small])
		TH_LOG("after EINTR the area list goes by the old priority");
	EXPECT_EQ(300, per[t] + per[small]);
	EXPECT_LE(300 - SMALL, per[t]) TH_LOG("the area is not allocated from after EINTR");
	EXPECT_EQ(0, ssw_area(t, "allocs_foreign"));

	/* The second swapoff goes through, and no page is lost. */
	EXPECT_EQ(0, ssw_swapoff(ssw_file(0)));
	EXPECT_EQ(0, ssw_swapoff(ssw_file(1)));
	EXPECT_EQ(0, ssw_area_count());
	EXPECT_EQ(0, ssw_wrong(p, 300, 99));
	close(go[1]);
	for (int i = 0; i < KIDS; i++) {
		int status = 0;

		ASSERT_EQ(kids[i], waitpid(kids[i], &status, 0));
		EXPECT_EQ(0, status) TH_LOG("process %d lost pages", i);
	}
	/* The type is free again. */
	EXPECT_EQ(t, ssw_on_cpu(ssw_file(0), 0));
}

/* Shared memory has its own way back. */
SSW_TEST_F(swapoff, shared_memory)
{
	const size_t n = 1000;
	int t;
	char *p = mmap(NULL, n * SSW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 2048));
	t = ssw_on_cpu(ssw_file(0), 0);
	ASSERT_LE(0, t);
	ASSERT_EQ(0, ssw_pin(0));
	ssw_stamp(p, n, 1);
	madvise(p, n * SSW_PAGE, MADV_PAGEOUT);
	ssw_evict("ssw");
	EXPECT_LE(n / 2, ssw_area(t, "used"));
	EXPECT_EQ(0, ssw_swapoff(ssw_file(0)));
	EXPECT_EQ(0, ssw_wrong(p, n, 1));
}

/* Readers of sysfs and /proc/swaps while areas come and go. */
SSW_TEST_F(swapoff, readers_while_areas_go)
{
	static const char * const attrs[] = {
		"cpu", "node", "device_node", "path", "pages", "used", "priority", "allocs_home",
		"allocs_foreign",
	};
	static struct ssw_swap s[300];
	int status;
	pid_t pid;

	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), 256));
	}
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			char buf[300];

			for (int t = 0; t < 4; t++)
				for (size_t a = 0; a < ARRAY_SIZE(attrs); a++)
					ssw_area_str(t, attrs[a], buf, sizeof(buf));
			ssw_proc_swaps(s, 300);
			ssw_area_count();
			ssw_rehome(1, "0");
		}
	}
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 4; i++) {
			ASSERT_LE(0, ssw_on_cpu(ssw_file(i), i % ssw_nr_possible()));
		}
		EXPECT_EQ(4, ssw_area_count());
		for (int i = 0; i < 4; i++) {
			ASSERT_EQ(0, ssw_swapoff(ssw_file((i + round) % 4)));
		}
		EXPECT_EQ(0, ssw_area_count());
	}
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

SSW_TEST_F(swapoff, bad_calls)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), 256));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(1), 256));
	ASSERT_LE(0, ssw_on_cpu(ssw_file(0), 0));
	EXPECT_EQ(-EINVAL, ssw_swapoff(ssw_file(1)));
	EXPECT_EQ(-ENOENT, ssw_swapoff("/no/such/file"));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (setresuid(65534, 65534, 65534))
			_exit(2);
		_exit(ssw_swapoff(ssw_file(0)) == -EPERM ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(1, ssw_area_count());
	EXPECT_EQ(0, ssw_swapoff(ssw_file(0)));
	EXPECT_EQ(-EINVAL, ssw_swapoff(ssw_file(0)));
}

TEST_HARNESS_MAIN
