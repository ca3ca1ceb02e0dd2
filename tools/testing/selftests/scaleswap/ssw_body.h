/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests that swap and then ask whether everything was given back.
 *
 * The body of such a test runs in a process of its own, in the group "ssw", so
 * that nothing of it is in swap once it has ended; only then can the test
 * demand that SwapFree is SwapTotal and every area empty, with the areas still
 * on.
 */
#ifndef SSW_BODY_H
#define SSW_BODY_H

#include <sys/syscall.h>
#include "ssw_test.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#endif

/* --- areas ------------------------------------------------------------- */

#define SSW_MANY	16

/* One area on each of the first CPUs: on spare devices first, then on files. */
struct ssw_areas {
	int n;
	int cpu[SSW_MANY], type[SSW_MANY];
	char path[SSW_MANY][256];
};

/* An area of @pages pages for each online CPU, at most @max. 0 or -errno. */
static inline int ssw_areas_on(struct ssw_areas *a, unsigned int pages, int max)
{
	cpu_set_t online;
	int ret;

	memset(a, 0, sizeof(*a));
	ret = ssw_online(&online);
	if (ret)
		return ret;
	for (int c = 0; c < CPU_SETSIZE && a->n < max && a->n < SSW_MANY; c++) {
		const char *dev = ssw_bdev(a->n);

		if (!CPU_ISSET(c, &online))
			continue;
		strcpy(a->path[a->n], dev ? dev : ssw_file(a->n));
		ret = dev ? ssw_mkswap(dev, pages) : ssw_mkfile(a->path[a->n], pages);
		if (!ret)
			ret = ssw_on_cpu(a->path[a->n], c);
		if (ret < 0)
			return ret;
		a->cpu[a->n] = c;
		a->type[a->n++] = ret;
	}
	return a->n ? 0 : -ENODEV;
}

/* The sum of one value over all areas. */
static inline long long ssw_sum(const char *attr)
{
	DIR *d = opendir(SSW_SYS "/areas");
	struct dirent *e;
	long long sum = 0, v;

	if (!d)
		return SSW_NO_VALUE;
	while ((e = readdir(d))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		v = ssw_area(atoi(e->d_name), attr);
		if (v != SSW_NO_VALUE)
			sum += v;
	}
	closedir(d);
	return sum;
}

/* A value of /proc/vmstat or /proc/meminfo (there in kB). */
static inline long long ssw_proc_num(const char *file, const char *key)
{
	char line[256], k[128];
	long long v, found = SSW_NO_VALUE;
	FILE *f = fopen(file, "re");

	if (!f)
		return SSW_NO_VALUE;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%127[^ :]%*[ :]%lld", k, &v) == 2 && !strcmp(k, key))
			found = v;
	fclose(f);
	return found;
}

#define ssw_vmstat(key)		ssw_proc_num("/proc/vmstat", key)
#define ssw_meminfo(key)	ssw_proc_num("/proc/meminfo", key)

/* The kernel has delegation, and so its files (see the ABI document). */
static inline bool ssw_has_deleg(void)
{
	return !access(SSW_SYS "/deleg", F_OK);
}

/* --- stamps of pages that have moved ------------------------------------ */

/* As ssw_stamp(), for an address other than the page's own. */
static inline void ssw_stamp_as(char *p, size_t pages, uint64_t gen, const char *as)
{
	for (size_t i = 0; i < pages; i++, p += SSW_PAGE, as += SSW_PAGE)
		for (size_t w = 0; w < ARRAY_SIZE(ssw_words); w++)
			((uint64_t *)p)[ssw_words[w]] = ssw_word(as, gen) + w;
}

static inline long ssw_wrong_as(const char *p, size_t pages, uint64_t gen, const char *as)
{
	long wrong = 0;

	for (size_t i = 0; i < pages; i++, p += SSW_PAGE, as += SSW_PAGE) {
		for (size_t w = 0; w < ARRAY_SIZE(ssw_words); w++) {
			uint64_t seen = ((const uint64_t *)p)[ssw_words[w]];

			if (seen == ssw_word(as, gen) + w)
				continue;
			if (wrong++ < 3)
				printf("# page %zu word %u: %#llx where %#llx was written\n", i,
				       ssw_words[w], (unsigned long long)seen,
				       (unsigned long long)(ssw_word(as, gen) + w));
			break;
		}
	}
	return wrong;
}

/* Pages that are not all zeroes. */
static inline long ssw_not_zero(const char *p, size_t pages)
{
	long wrong = 0;

	for (size_t i = 0; i < pages; i++, p += SSW_PAGE)
		for (size_t w = 0; w < SSW_PAGE / 8; w++)
			if (((const uint64_t *)p)[w]) {
				wrong++;
				break;
			}
	return wrong;
}

/* A stream of numbers; the seed is printed by who chooses it. */
static inline uint64_t ssw_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* --- processes ---------------------------------------------------------- */

/* fork(), and the child ends with its parent. */
static inline pid_t ssw_fork(void)
{
	pid_t parent = getpid(), pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(99);
	}
	return pid;
}

/* The exit status of a child; 1000 and its signal if it was killed. */
static inline int ssw_join(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Memory that is shared, and never swapped: for flags and counts. */
static inline void *ssw_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	mlock(p, bytes);
	return p;
}

/* --- the kernel log ----------------------------------------------------- */

/* From here on; a descriptor for ssw_splats(). */
static inline int ssw_log_from_here(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Lines in the kernel log that no test may leave behind; prints the first few. */
static inline int ssw_splats(int fd)
{
	static const char * const bad[] = {
		"BUG:", "WARNING:", "KASAN:", "INFO: task", "soft lockup", "possible circular",
		"possible recursive", "inconsistent lock", "suspicious RCU", "Bad swap",
		"Unused swap", "Bad page", "Bad rss", "swap_info_get", "refcount_t:", "detected stall",
	};
	char line[8192];
	int found = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	for (;;) {
		n = read(fd, line, sizeof(line) - 1);
		if (n < 0 && errno == EPIPE)
			continue;	/* some lines were overwritten: go on after them */
		if (n <= 0)
			break;
		line[n] = 0;
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
			if (strstr(line, bad[i])) {
				if (found++ < 5)
					printf("# kernel log: %s\n", line);
				break;
			}
	}
	return found;
}

/* --- everything given back ---------------------------------------------- */

/* What all processes have in swap, in pages: those of the test itself, the shell. */
static inline long long ssw_all_vmswap(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	long long sum = 0, kb;
	char path[300];

	if (!d)
		return 0;
	while ((e = readdir(d))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
		kb = ssw_proc_num(path, "VmSwap");
		if (kb > 0)
			sum += kb / 4;
	}
	closedir(d);
	return sum;
}

/*
 * Wait until nothing is in swap: 0, or what is left after @seconds.
 *
 * Pages that were being written when their process ended stay in the swap cache
 * until reclaim meets them, as in the base kernel: hence the reclaim. @group is
 * where they are charged. A guest that was short of memory has swapped out pages
 * of the processes that go on, which are not left over.
 */
static inline long long ssw_left_in_swap(const char *group, int seconds)
{
	char path[256];
	long long left = 0;

	snprintf(path, sizeof(path), SSW_CG "/%s/memory.reclaim", group);
	for (int i = 0; i < seconds * 10; i++) {
		left = (ssw_meminfo("SwapTotal") - ssw_meminfo("SwapFree")) / 4;
		if (!left)
			left = ssw_sum("used");
		if (!left && ssw_has_deleg())
			left = ssw_sum("tables");
		if (!left)
			return 0;
		if (i >= 30 && ssw_sum("used") <= ssw_all_vmswap()) {
			printf("# %lld slots belong to processes that go on\n", ssw_sum("used"));
			return 0;
		}
		ssw_write(path, "16M");
		usleep(100000);
	}
	printf("# left: SwapTotal %lld kB, SwapFree %lld kB, SwapCached %lld kB, used %lld pages, tables %lld\n",
	       ssw_meminfo("SwapTotal"), ssw_meminfo("SwapFree"), ssw_meminfo("SwapCached"),
	       ssw_sum("used"), ssw_has_deleg() ? ssw_sum("tables") : 0);
	return left;
}

/*
 * For a body, whose own pages may be in swap: wait until not more than @max slots
 * are in use. Those of pages under writeback are freed late.
 */
static inline long long ssw_used_at_most(long long max)
{
	long long used = 0;

	ssw_for_looks(i) {
		used = ssw_sum("used");
		if (used <= max)
			break;
		/* In a small group a reclaim takes long: not every time. */
		if (i % 10 == 5)
			ssw_write(SSW_CG "/ssw/memory.reclaim", "4M");
		usleep(20000);
	}
	return used;
}

static inline void ssw_run_body(struct __test_metadata *_metadata,
				void (*body)(struct __test_metadata *_metadata))
{
	int log = ssw_log_from_here(), status = 0;
	jmp_buf env;
	pid_t pid;

	/* A failed ASSERT in the child must end the child. */
	memcpy(&env, &_metadata->env, sizeof(env));
	pid = ssw_fork();
	if (!pid) {
		if (!setjmp(_metadata->env)) {
			if (ssw_cgroup_enter("ssw"))
				SKIP(_exit(0), "no memory controller of cgroup v2 at " SSW_CG);
			body(_metadata);
		}
		fflush(stdout);
		_exit(0);
	}
	if (pid > 0)
		status = ssw_join(pid);
	memcpy(&_metadata->env, &env, sizeof(env));
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, status) TH_LOG("the test's process ended with status %d", status);
	/* Also after a failure or a skip: the next test must start clean. */
	ssw_all_online();
	if (ssw_area_count() > 0) {
		EXPECT_EQ(0, ssw_left_in_swap("ssw", 30))
			TH_LOG("slots were not given back");
	}
	EXPECT_EQ(0, ssw_splats(log)) TH_LOG("the kernel log shows a splat");
	if (log >= 0)
		close(log);
}

/*
 * A test whose body runs in the group "ssw", in a process that has ended before
 * it is checked that nothing is left in swap. Areas that it leaves on are
 * turned off afterwards.
 */
#define SSW_BODY(fixture, name)							\
static void fixture##_##name##_body(struct __test_metadata *_metadata);		\
SSW_TEST_F(fixture, name)							\
{										\
	ssw_run_body(_metadata, fixture##_##name##_body);			\
}										\
static void fixture##_##name##_body(struct __test_metadata __attribute__((unused)) *_metadata)

#endif /* SSW_BODY_H */
