// SPDX-License-Identifier: GPL-2.0
/*
 * Memory control groups of a test's own, and processes in them; see cg_util.h.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "area_util.h"
#include "cg_util.h"

/* A value of a group's file; @key picks a line ("max 17") or is NULL. */
long long cg(const char *group, const char *file, const char *key)
{
	char path[256];

	snprintf(path, sizeof(path), SSW_CG "/%s/%s", group, file);
	return key ? ssw_proc_num(path, key) : ssw_num(path);
}

int cg_make(const char *group)
{
	char path[256];

	snprintf(path, sizeof(path), SSW_CG "/%s", group);
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

int cg_remove(const char *group)
{
	char path[256];

	snprintf(path, sizeof(path), SSW_CG "/%s", group);
	ssw_for_looks(i) {
		if (!rmdir(path))
			return 0;
		usleep(20000);
	}
	return -errno;
}

int cg_move(const char *group, pid_t pid)
{
	char path[256], val[16];

	snprintf(path, sizeof(path), SSW_CG "/%s%scgroup.procs", group, *group ? "/" : "");
	snprintf(val, sizeof(val), "%d", pid);
	return ssw_write(path, val);
}

void cg_reclaim(const char *group)
{
	char path[256];

	snprintf(path, sizeof(path), SSW_CG "/%s/memory.reclaim", group);
	ssw_write(path, "8M");
}

/* Wait until the group's swap and the areas' used pages agree. Difference in pages. */
long long cg_disagrees(const char *group)
{
	long long diff = 0;

	ssw_for_looks(i) {
		diff = ssw_sum("used") -
		       cg(group, "memory.swap.current", NULL) / (long long)SSW_PAGE;
		if (!diff)
			break;
		usleep(20000);
	}
	return diff;
}

/* Its processes are gone, and so, after a while, is its swap. Bytes that stay charged. */
long long cg_left(const char *group)
{
	long long left = 0;

	ssw_for_looks(i) {
		left = cg(group, "memory.swap.current", NULL);
		if (!left)
			break;
		/* A page that was under writeback when it was freed goes when reclaim meets it. */
		cg_reclaim(group);
		usleep(20000);
	}
	return left;
}

/* Have it do that to @nr of its pages, and wait until it is done. False: it has ended. */
bool member_part(struct member *m, int step, size_t from, size_t nr)
{
	m->part[0] = from;
	m->part[1] = nr;
	*m->step = step;
	while (*m->step == step) {
		if (waitpid(m->pid, &m->status, WNOHANG) == m->pid)
			return false;
		usleep(2000);
	}
	return true;
}

bool member_step(struct member *m, int step)
{
	return member_part(m, step, 0, SIZE_MAX);
}

struct member member_start(const char *group, int cpu, size_t pages, uint64_t gen)
{
	struct member m = { .step = ssw_shared(SSW_PAGE), .p = ssw_map(pages, false) };
	size_t nr;
	char *p;

	m.part = (volatile size_t *)m.step + 1;
	m.pid = ssw_fork();
	if (m.pid)
		return m;
	if (cg_move(group, getpid()))
		_exit(50);
	ssw_pin(cpu);
	for (;;) {
		p = m.p + m.part[0] * SSW_PAGE;
		nr = m.part[1] < pages ? m.part[1] : pages;
		switch (*m.step) {
		case REST:
			usleep(2000);
			continue;
		case STAMP:
			ssw_stamp(p, nr, gen);
			break;
		case CLEAR:
			memset(p, 0, nr * SSW_PAGE);
			break;
		case OUT:
			ssw_pageout(p, nr);
			break;
		case CHECK:
			if (ssw_wrong(p, nr, gen))
				_exit(1);
			break;
		case DROP_HALF:
			munmap(m.p + pages / 2 * SSW_PAGE, pages / 2 * SSW_PAGE);
			pages /= 2;
			break;
		case DROP:
			madvise(p, nr * SSW_PAGE, MADV_DONTNEED);
			break;
		case PIN:
			ssw_pin(m.part[0]);
			break;
		case LEAVE:
			fflush(stdout);
			_exit(0);
		}
		*m.step = REST;
	}
}
