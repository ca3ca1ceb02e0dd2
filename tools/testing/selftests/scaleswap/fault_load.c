// SPDX-License-Identifier: GPL-2.0
/*
 * The workload of faultloop.sh: fault_load SECONDS PROCESSES PAGES GROUP [lossy]
 *
 * Processes in the memory cgroup GROUP stamp PAGES pages each, have them swapped out and
 * look at them again, and at the clock. Ends after SECONDS or with SIGTERM. Says how far
 * it is every minute, and at once when a fault takes over 25 s or a page is wrong; status
 * 1 then. With "lossy" pages may get lost (SIGBUS), as when a drive is pulled out.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fault_util.h"

static volatile int over;

static void term(int sig)
{
	(void)sig;
	over = 1;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0, bad = 0, ended = 0;
	bool lossy = argc > 5 && !strcmp(argv[5], "lossy");
	long long end, said, now, longest, told = FAULT_HANG_NS;
	struct fault_load *l;
	char what[32];

	if (argc < 5 || n <= 0 || n > 64 || atoi(argv[3]) < 2) {
		fprintf(stderr, "usage: fault_load SECONDS PROCESSES PAGES GROUP [lossy]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* In the group that is reclaimed: what is on a drive that goes is lost. */
	mlockall(MCL_CURRENT | MCL_FUTURE);
	l = ssw_shared(n * sizeof(*l));
	if (!l || ssw_cgroup_enter(argv[4]) ||
	    fault_load_start(l, n, false, atoi(argv[3]), argv[4])) {
		fprintf(stderr, "fault_load: cannot start: %s\n", strerror(errno));
		return 2;
	}
	signal(SIGTERM, term);
	said = fault_now();
	end = said + atoll(argv[1]) * 1000000000LL;
	while (!over && !bad) {
		usleep(100000);
		now = fault_now();
		longest = fault_load_longest(l, n);
		if (longest >= told) {
			printf("# a fault took %lld ms\n", longest / 1000000);
			/*
			 * Say each longer one once; the load goes on, to see whether the
			 * fault completes.
			 */
			told = longest + 1000000000LL;
		}
		bad = FAULT_SUM(l, n, wrong) || (!lossy && FAULT_SUM(l, n, lost));
		for (int i = 0; i < n; i++)
			if (kill(l[i].pid, 0) || waitpid(l[i].pid, NULL, WNOHANG))
				ended++;
		if (ended || now >= end)
			break;
		if (now - said >= 60000000000LL) {
			said = now;
			snprintf(what, sizeof(what), "%lld s to go", (end - now) / 1000000000);
			fault_load_print(what, l, n);
		}
	}
	longest = fault_load_longest(l, n);
	if (fault_load_stop(l, n) || ended)
		bad = 1;
	if (FAULT_SUM(l, n, wrong) || (!lossy && FAULT_SUM(l, n, lost)))
		bad = 1;
	if (fault_load_longest(l, n) > longest)
		longest = fault_load_longest(l, n);
	fault_load_print("fault_load", l, n);
	if (longest >= FAULT_HANG_NS) {
		printf("# a fault took %lld ms, more than %lld s\n", longest / 1000000,
		       FAULT_HANG_NS / 1000000000);
		bad = 1;
	}
	return bad;
}
