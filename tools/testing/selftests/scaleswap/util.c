// SPDX-License-Identifier: GPL-2.0
/*
 * util.c - what all ScaleSwap selftests share: small files, CPUs, cgroups, processes
 */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "util.h"

long ssw_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* --- small files --------------------------------------------------------- */

int ssw_write_n(const char *path, const char *val, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, val, n) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int ssw_write(const char *path, const char *val)
{
	return ssw_write_n(path, val, strlen(val));
}

/* Read a whole small file without its last newline. */
int ssw_read(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n, got = 0;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, buf + got, len - 1 - got)) > 0)
		got += n;
	if (n < 0)
		got = -errno;
	close(fd);
	if (got < 0)
		return got;
	if (got && buf[got - 1] == '\n')
		got--;
	buf[got] = 0;
	return got;
}

long long ssw_num(const char *path)
{
	char buf[64], *end;
	long long v;

	if (ssw_read(path, buf, sizeof(buf)) <= 0)
		return SSW_NO_VALUE;
	v = strtoll(buf, &end, 10);
	return *end ? SSW_NO_VALUE : v;
}

/* Check whether generations (MGLRU) are on: folios are neither active nor inactive then. */
bool ssw_generations(void)
{
	char seen[32] = "";

	ssw_read("/sys/kernel/mm/lru_gen/enabled", seen, sizeof(seen));
	return strtol(seen, NULL, 0) & 1;
}

long long ssw_stat(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), SSW_SYS "/stats/%s", name);
	return ssw_num(path);
}

/* A value of /proc/vmstat or /proc/meminfo (there in kB). */
long long ssw_proc_num(const char *file, const char *key)
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

/* --- CPUs and nodes ------------------------------------------------------ */

/* Read a list like 0-3,5 into @set. */
int ssw_cpulist(const char *path, cpu_set_t *set)
{
	char buf[4096], *p = buf;
	int ret = ssw_read(path, buf, sizeof(buf));

	CPU_ZERO(set);
	if (ret < 0)
		return ret;
	while (*p) {
		long a = strtol(p, &p, 10), b = a;

		if (*p == '-')
			b = strtol(p + 1, &p, 10);
		for (; a <= b; a++)
			CPU_SET(a, set);
		if (*p == ',')
			p++;
		else if (*p)
			return -EINVAL;
	}
	return 0;
}

int ssw_online(cpu_set_t *set)
{
	return ssw_cpulist(SSW_CPUS "/online", set);
}

/* One more than the highest possible CPU. */
int ssw_nr_possible(void)
{
	cpu_set_t set;

	if (ssw_cpulist(SSW_CPUS "/possible", &set))
		return 0;
	for (int c = CPU_SETSIZE - 1; c >= 0; c--)
		if (CPU_ISSET(c, &set))
			return c + 1;
	return 0;
}

int ssw_node_of(int cpu)
{
	char path[128];
	struct stat st;

	for (int n = 0; n < 64; n++) {
		snprintf(path, sizeof(path), SSW_CPUS "/cpu%d/node%d", cpu, n);
		if (!stat(path, &st))
			return n;
	}
	/* The links, and the lists, go with the CPU when it is offline. */
	return -1;
}

int ssw_set_online(int cpu, bool on)
{
	char path[128];

	snprintf(path, sizeof(path), SSW_CPUS "/cpu%d/online", cpu);
	return ssw_write(path, on ? "1" : "0");
}

void ssw_all_online(void)
{
	for (int c = 1; c < ssw_nr_possible(); c++)
		ssw_set_online(c, true);
}

int ssw_pin_task(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(pid, sizeof(set), &set) ? -errno : 0;
}

int ssw_pin(int cpu)
{
	return ssw_pin_task(0, cpu);
}

/* The task with that name, if there is just one; else 0. */
pid_t ssw_task(const char *comm)
{
	DIR *d = opendir("/proc");
	char path[300], text[64];
	struct dirent *e;
	pid_t pid = 0;
	int found = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		if (ssw_read(path, text, sizeof(text)) <= 0 || strcmp(text, comm))
			continue;
		found++;
		pid = atoi(e->d_name);
	}
	if (d)
		closedir(d);
	return found == 1 ? pid : 0;
}

/* --- memory control groups ----------------------------------------------- */

/* Make group @name and move the caller into it. */
int ssw_cgroup_enter(const char *name)
{
	char path[256], pid[16];
	int ret;

	ret = ssw_write(SSW_CG "/cgroup.subtree_control", "+memory");
	if (ret)
		return ret;
	snprintf(path, sizeof(path), SSW_CG "/%s", name);
	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	snprintf(path, sizeof(path), SSW_CG "/%s/cgroup.procs", name);
	snprintf(pid, sizeof(pid), "%d", getpid());
	return ssw_write(path, pid);
}

void ssw_cgroup_leave(const char *name)
{
	char path[256], pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	ssw_write(SSW_CG "/cgroup.procs", pid);
	snprintf(path, sizeof(path), SSW_CG "/%s", name);
	rmdir(path);
}

int ssw_cgroup_set(const char *name, const char *file, long long bytes)
{
	char path[256], val[32];

	snprintf(path, sizeof(path), SSW_CG "/%s/%s", name, file);
	if (bytes < 0)
		strcpy(val, "max");
	else
		snprintf(val, sizeof(val), "%lld", bytes);
	return ssw_write(path, val);
}

/*
 * A line of memory.stat, in bytes. That leaves out up to some hundred pages that CPUs have
 * counted and not added to the group's sums. A read of cpu.stat makes them add these.
 */
long long ssw_cgroup_stat(const char *name, const char *key)
{
	char path[256], line[256], k[64];
	long long v, found = SSW_NO_VALUE;
	FILE *f;

	snprintf(path, sizeof(path), SSW_CG "/%s/cpu.stat", name);
	ssw_read(path, line, sizeof(line));
	snprintf(path, sizeof(path), SSW_CG "/%s/memory.stat", name);
	f = fopen(path, "re");
	if (!f)
		return SSW_NO_VALUE;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %lld", k, &v) == 2 && !strcmp(k, key))
			found = v;
	fclose(f);
	return found;
}

/*
 * Push pages that are swapped out but still cached out of memory, so that the next access
 * reads the device. Not exact: other pages may go, too.
 */
void ssw_evict(const char *cgroup)
{
	char path[256], val[32];

	snprintf(path, sizeof(path), SSW_CG "/%s/memory.reclaim", cgroup);
	for (int i = 0; i < 10; i++) {
		long long cached = ssw_cgroup_stat(cgroup, "swapcached");

		if (cached <= 0)
			break;
		snprintf(val, sizeof(val), "%lld", cached);
		ssw_write(path, val);
	}
}

/* --- processes ----------------------------------------------------------- */

/* fork(), and the child ends with its parent. */
pid_t ssw_fork(void)
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

/*
 * A process enters the group of the file @procs, charges a page on each CPU, and ends.
 *
 * A CPU keeps charges of one group in stock. When it has used the last one, it still has a
 * reference on the group, and nothing drains a stock without charges, not even the removal of
 * the group: only charges of another group replace it. This is so in the base kernel.
 */
int ssw_charge_on_each_cpu(const char *procs)
{
	const size_t page = getpagesize();
	cpu_set_t online;
	char *p, val[16];
	pid_t pid;
	int ret;

	ret = ssw_online(&online);
	if (ret)
		return ret;
	pid = ssw_fork();
	if (pid)
		return pid < 0 ? -errno : ssw_join(pid);
	snprintf(val, sizeof(val), "%d", getpid());
	p = mmap(NULL, CPU_SETSIZE * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	if (p == MAP_FAILED || ssw_write(procs, val))
		_exit(1);
	/* By whole huge pages, it would be a page on the first CPU only. */
	madvise(p, CPU_SETSIZE * page, MADV_NOHUGEPAGE);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &online))
			continue;
		if (ssw_pin(cpu))
			_exit(2);
		*(volatile char *)(p + cpu * page) = 1;
	}
	_exit(0);
}

/* The exit status of a child; 1000 and its signal if it was killed. */
int ssw_join(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Memory that is shared, and never swapped: for flags and counts. */
void *ssw_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	mlock(p, bytes);
	return p;
}

/* A stream of pseudo-random numbers; the caller prints the seed. */
uint64_t ssw_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* --- the kernel log and traces ------------------------------------------- */

/* From here on; a descriptor for ssw_splats(). */
int ssw_log_from_here(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/*
 * The kernel log from where @fd is, without what klog.awk leaves out; NULL, if that could not be
 * run. For pclose(), which tells whether it ended well.
 */
static FILE *log_without_known(int fd)
{
	char line[8192], command[PATH_MAX + 64], *slash;
	FILE *raw = tmpfile(), *out;
	ssize_t n;

	if (!raw)
		return NULL;
	for (;;) {
		n = read(fd, line, sizeof(line));
		if (n < 0 && errno == EPIPE)
			continue;	/* some lines were overwritten: go on after them */
		if (n <= 0)
			break;
		fwrite(line, 1, n, raw);
	}
	rewind(raw);
	strcpy(command, "awk -f '");
	n = readlink("/proc/self/exe", command + 8, PATH_MAX);
	if (n < 0)
		n = 0;
	command[8 + n] = 0;
	slash = strrchr(command, '/');
	sprintf(slash ? slash + 1 : command + 8, "klog.awk' </proc/self/fd/%d", fileno(raw));
	out = popen(command, "r");
	fclose(raw);
	return out;
}

/*
 * Lines in the kernel log that no test may leave behind; prints the first few. Those that the base
 * kernel is known for are left out: see klog.awk. A log that cannot be judged is a bad one.
 */
int ssw_splats(int fd)
{
	static const char * const bad[] = {
		"BUG:", "WARNING:", "KASAN:", "INFO: task", "soft lockup", "possible circular",
		"possible recursive", "inconsistent lock", "suspicious RCU", "Bad swap",
		"Unused swap", "Bad page", "Bad rss", "swap_info_get", "refcount_t:", "detected stall",
	};
	char line[8192];
	int found = 0;
	FILE *log;

	if (fd < 0)
		return 0;
	log = log_without_known(fd);
	while (log && fgets(line, sizeof(line), log)) {
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
			if (strstr(line, bad[i])) {
				if (found++ < 5)
					printf("# kernel log: %s", line);
				break;
			}
		if (strstr(line, "klog: left out"))
			printf("# %s", line);
	}
	if (!log || pclose(log)) {
		printf("# the kernel log cannot be judged: klog.awk did not run\n");
		found++;
	}
	return found;
}

/* Empty a file of the tracer, as the shell's ">" does. */
void ssw_trace_empty(const char *path)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
}

/*
 * Trace what this process does, by events such as "vmscan/mm_vmscan_lru_isolate"; NULL is the
 * last one.
 */
int ssw_trace_start(const char *const *events)
{
	char buf[128];
	int ret;

	snprintf(buf, sizeof(buf), "%d", getpid());
	ssw_write(SSW_TRACE "tracing_on", "0");
	ssw_write(SSW_TRACE "buffer_size_kb", "4096");
	ssw_trace_empty(SSW_TRACE "set_event_pid");
	ssw_trace_empty(SSW_TRACE "trace");
	ret = ssw_write(SSW_TRACE "set_event_pid", buf);
	for (; !ret && *events; events++) {
		snprintf(buf, sizeof(buf), SSW_TRACE "events/%s/enable", *events);
		ret = ssw_write(buf, "1");
	}
	return ret ?: ssw_write(SSW_TRACE "tracing_on", "1");
}

void ssw_trace_stop(void)
{
	ssw_write(SSW_TRACE "tracing_on", "0");
	ssw_write(SSW_TRACE "events/enable", "0");
	ssw_trace_empty(SSW_TRACE "set_event_pid");
	/* As it was: with no event, nothing is added to what is there. */
	ssw_write(SSW_TRACE "tracing_on", "1");
}
