// SPDX-License-Identifier: GPL-2.0
/*
 * 247 areas at once: the limit, the types, the sums, and the data, above all
 * of types that do not fit a signed char or the base's five bits.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>

#include "harness.h"

SSW_FIXTURE(wide, SSW_NEED_ON | SSW_NEED_DIR | SSW_NEED_CG)

/* /proc/swaps, sysfs, sysinfo and /proc/meminfo say the same. */
static void check_sums(struct __test_metadata *_metadata, const char *when)
{
	static struct ssw_swap s[300], again[300];
	long long kb, used, pages, used_pages, total = -1, free = -1;
	struct sysinfo si;
	char line[128];
	int n;

	/*
	 * Slots of pages that are gone are freed a little later. Numbers that
	 * are to be compared have to be of one moment: no change meanwhile.
	 */
	ssw_for_looks(try) {
		FILE *f;

		kb = 0;
		used = 0;
		pages = 0;
		used_pages = 0;
		n = ssw_proc_swaps(s, 300);
		ASSERT_LE(0, n);
		for (int i = 0; i < n; i++) {
			kb += s[i].kb;
			used += s[i].used_kb;
		}
		for (int t = 0; t < 256; t++) {
			if (!ssw_area_exists(t))
				continue;
			pages += ssw_area(t, "pages");
			used_pages += ssw_area(t, "used");
		}
		f = fopen("/proc/meminfo", "re");
		ASSERT_NE(NULL, f);
		while (fgets(line, sizeof(line), f)) {
			sscanf(line, "SwapTotal: %lld", &total);
			sscanf(line, "SwapFree: %lld", &free);
		}
		fclose(f);
		ASSERT_EQ(0, sysinfo(&si));
		if (ssw_proc_swaps(again, 300) == n && !memcmp(s, again, n * sizeof(s[0])))
			break;
		usleep(20000);
	}
	EXPECT_EQ(n, ssw_area_count()) TH_LOG("%s", when);
	EXPECT_EQ(kb, total) TH_LOG("SwapTotal, %s", when);
	EXPECT_EQ(kb, pages * 4) TH_LOG("sum of pages, %s", when);
	EXPECT_EQ(kb, (long long)(si.totalswap * si.mem_unit / 1024)) TH_LOG("totalswap, %s", when);
	EXPECT_EQ(used, total - free) TH_LOG("SwapFree, %s", when);
	EXPECT_EQ(used, used_pages * 4) TH_LOG("sum of used, %s", when);
	EXPECT_EQ(kb - used, (long long)(si.freeswap * si.mem_unit / 1024))
		TH_LOG("freeswap, %s", when);
}

SSW_TEST_F(wide, limit_and_types)
{
	static struct ssw_swap s[300];
	static const int again[] = { 130, 0, 246, 31, 22, 23, 127, 128 };
	long long max = ssw_num(SSW_SYS "/areas_max");
	int cpus[CPU_SETSIZE] = { }, lo = 1000, hi = 0;
	cpu_set_t online;

	ASSERT_EQ(SSW_MAX_AREAS, max);
	ASSERT_EQ(0, wide_files(max + 1));
	ASSERT_EQ(0, wide_on(max, "auto"));
	EXPECT_EQ(max, ssw_area_count());
	ASSERT_EQ(max, ssw_proc_swaps(s, 300));
	for (int i = 0; i < max; i++) {
		char path[256] = "";
		long long cpu;

		/* By type, as in the base; the files came on in this order. */
		EXPECT_STREQ(wide_file(i), s[i].path);
		ssw_area_str(i, "path", path, sizeof(path));
		EXPECT_STREQ(wide_file(i), path);
		cpu = ssw_area(i, "cpu");
		ASSERT_LE(0, cpu);
		ASSERT_GT(CPU_SETSIZE, cpu);
		cpus[cpu]++;
	}
	/* auto keeps the CPUs level. */
	ASSERT_EQ(0, ssw_online(&online));
	for (int c = 0; c < CPU_SETSIZE; c++) {
		if (!CPU_ISSET(c, &online))
			continue;
		lo = cpus[c] < lo ? cpus[c] : lo;
		hi = cpus[c] > hi ? cpus[c] : hi;
	}
	EXPECT_GE(1, hi - lo) TH_LOG("CPUs have from %d to %d areas", lo, hi);
	check_sums(_metadata, "with all areas on");

	/* The 248th, bound in every way: an errno, and nothing changes. */
	ASSERT_EQ(0, ssw_bind("auto"));
	EXPECT_EQ(-EPERM, ssw_swapon(wide_file(max)));
	ASSERT_EQ(0, ssw_bind("0"));
	EXPECT_EQ(-EPERM, ssw_swapon(wide_file(max)));
	ASSERT_EQ(0, ssw_bind("off"));
	EXPECT_EQ(-EPERM, ssw_swapon(wide_file(max)));
	EXPECT_EQ(max, ssw_area_count());
	EXPECT_FALSE(ssw_area_exists(max));
	check_sums(_metadata, "after a 248th swapon");

	/* A type that becomes free is the next one given. */
	for (size_t i = 0; i < ARRAY_SIZE(again); i++) {
		ASSERT_EQ(0, ssw_swapoff(wide_file(again[i])));
		EXPECT_FALSE(ssw_area_exists(again[i]));
		EXPECT_EQ(max - 1, ssw_proc_swaps(s, 300));
		EXPECT_EQ(again[i], ssw_on(wide_file(again[i]), "0"));
	}
	/* The lowest first. */
	ASSERT_EQ(0, ssw_swapoff(wide_file(200)));
	ASSERT_EQ(0, ssw_swapoff(wide_file(100)));
	EXPECT_EQ(100, ssw_on(wide_file(200), "0"));
	EXPECT_EQ(200, ssw_on(wide_file(100), "0"));
	EXPECT_EQ(-EPERM, ssw_swapon(wide_file(max)));

	for (int i = 0; i < max; i++) {
		ASSERT_EQ(0, ssw_swapoff(wide_file(i)));
	}
	EXPECT_EQ(0, ssw_area_count());
	EXPECT_EQ(0, ssw_proc_swaps(s, 300));
	check_sums(_metadata, "after swapoff of all");
	/* And all types are free: again 247. */
	EXPECT_EQ(0, ssw_on(wide_file(max), "auto"));
}

/* Pages in every one of 247 areas, out and in, and through swapoff. */
SSW_TEST_F(wide, data_in_every_type)
{
	/* Too much for 246 areas. */
	const size_t total = SSW_MAX_AREAS * WIDE_PAGES - WIDE_PAGES / 2;
	int cpus = ssw_nr_possible(), empty = 0, first_empty = -1;
	size_t part, at = 0;
	long per[258], high = 0;
	char *p;

	ASSERT_EQ(0, wide_files(SSW_MAX_AREAS));
	ASSERT_EQ(0, wide_on(SSW_MAX_AREAS, "auto"));
	p = ssw_map(total, false);
	ASSERT_NE(NULL, p);
	ssw_stamp(p, total, 1);
	/* Each CPU its part, so that its own areas take it. */
	part = (total + cpus - 1) / cpus;
	for (int c = 0; c < cpus && at < total; c++) {
		size_t n = total - at < part ? total - at : part;

		if (!ssw_pin(c))
			ssw_pageout(p + at * SSW_PAGE, n);
		at += n;
	}
	ASSERT_EQ(0, ssw_where(p, total, per));
	EXPECT_LE(total - total / 50, total - per[256])
		TH_LOG("%ld of %zu pages would not go out", per[256], total);
	EXPECT_EQ(0, per[257]) TH_LOG("%ld pagemap entries are no area's", per[257]);
	for (int t = 0; t < SSW_MAX_AREAS; t++) {
		if (!per[t]) {
			empty++;
			if (first_empty < 0)
				first_empty = t;
		}
		EXPECT_LE(per[t], ssw_area(t, "used"));
		EXPECT_GE(WIDE_PAGES, ssw_area(t, "used"));
		if (t > 127)
			high += per[t];
	}
	EXPECT_EQ(0, empty)
		TH_LOG("%d areas got no page, the first of type %d", empty, first_empty);
	EXPECT_LT(119 * (WIDE_PAGES - 10), high);
	check_sums(_metadata, "with pages in all areas");
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, total, 1));

	/* Out again from the other end, and half of the areas go: 200 of high type. */
	ssw_stamp(p, total, 2);
	for (int c = cpus - 1; c >= 0; c--) {
		if (!ssw_pin(c))
			ssw_pageout(p + (cpus - 1 - c) * (total / cpus) * SSW_PAGE, total / cpus);
	}
	ssw_evict("ssw");
	for (int t = 47; t < SSW_MAX_AREAS; t += 3) {
		ASSERT_EQ(0, ssw_swapoff(wide_file(t))) TH_LOG("type %d", t);
	}
	check_sums(_metadata, "after swapoff of some");
	EXPECT_EQ(0, ssw_wrong(p, total, 2));
	munmap(p, total * SSW_PAGE);
	for (int t = 0; t < SSW_MAX_AREAS; t++)
		ssw_swapoff(wide_file(t));
	check_sums(_metadata, "at the end");
}

/* The stamped workload, under real pressure, with all areas on. */
SSW_TEST_F(wide, stamped_workload)
{
	char stamp[300], procs[16];
	int status, used = 0;
	ssize_t n;
	pid_t pid;

	n = readlink("/proc/self/exe", stamp, sizeof(stamp) - 1);
	ASSERT_LT(0, n);
	stamp[n] = 0;
	strcpy(strrchr(stamp, '/'), "/stamp");
	if (access(stamp, X_OK))
		SKIP(return, "%s is not there", stamp);
	ASSERT_EQ(0, wide_files(SSW_MAX_AREAS));
	ASSERT_EQ(0, wide_on(SSW_MAX_AREAS, "auto"));
	snprintf(procs, sizeof(procs), "%d", ssw_nr_possible());
	/* Not memory.max: a slow drive must not end in the OOM killer. */
	ASSERT_EQ(0, ssw_cgroup_set("ssw", "memory.high", 24 << 20));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		execl(stamp, "stamp", "--size", "64", "--procs", procs, "--pin", "--rewrite",
		      "--random", "--quiet", NULL);
		_exit(127);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, ssw_cgroup_set("ssw", "memory.high", -1));
	EXPECT_EQ(0, WEXITSTATUS(status)) TH_LOG("stamp ended with status %#x", status);
	for (int t = 0; t < SSW_MAX_AREAS; t++)
		used += ssw_area(t, "allocs_home") + ssw_area(t, "allocs_foreign") > 0;
	EXPECT_LT(SSW_MAX_AREAS / 2, used) TH_LOG("only %d areas got pages", used);
	check_sums(_metadata, "after the workload");
}

/* Fork, copy-on-write and unmapping count references in areas of any type. */
SSW_TEST_F(wide, shared_pages_in_high_types)
{
	static const int types[] = { 22, 23, 31, 32, 127, 128, 200, 246 };
	const size_t n = 40;

	ASSERT_EQ(0, wide_files(SSW_MAX_AREAS));
	ASSERT_EQ(0, wide_on(SSW_MAX_AREAS, ssw_nr_possible() > 1 ? "1" : "off"));
	if (ssw_nr_possible() < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, ssw_pin(0));
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		int t = types[i], status;
		char *p = ssw_map(n, false);
		long long used;
		long per[258];
		pid_t kid[3];

		ASSERT_EQ(0, ssw_rehome(t, "0"));
		ssw_stamp(p, n, t);
		ASSERT_EQ(n, ssw_pageout(p, n));
		ssw_evict("ssw");
		ASSERT_EQ(0, ssw_where(p, n, per));
		EXPECT_EQ(n, per[t]) TH_LOG("type %d", t);
		for (int k = 0; k < 3; k++) {
			kid[k] = fork();
			ASSERT_LE(0, kid[k]);
			if (!kid[k]) {
				long bad;

				prctl(PR_SET_PDEATHSIG, SIGKILL);
				/* One writes, one reads, one only goes away. */
				bad = k == 2 ? 0 : ssw_wrong(p, n, t);
				if (k == 0)
					ssw_stamp(p, n, t + 1000);
				if (k == 0)
					bad += ssw_wrong(p, n, t + 1000);
				fflush(stdout);
				_exit(bad ? 1 : 0);
			}
		}
		for (int k = 0; k < 3; k++) {
			ASSERT_EQ(kid[k], waitpid(kid[k], &status, 0));
			EXPECT_EQ(0, status) TH_LOG("type %d, child %d", t, k);
		}
		EXPECT_EQ(0, ssw_wrong(p, n, t)) TH_LOG("type %d", t);
		used = ssw_area(t, "used");
		munmap(p, n * SSW_PAGE);
		EXPECT_GE(used, ssw_area(t, "used"));
		ASSERT_EQ(0, ssw_rehome(t, "1"));
		EXPECT_EQ(0, ssw_swapoff(wide_file(t)));
		EXPECT_EQ(t, ssw_on(wide_file(t), "1"));
		EXPECT_EQ(0, ssw_area(t, "used"));
	}
}

TEST_HARNESS_MAIN
