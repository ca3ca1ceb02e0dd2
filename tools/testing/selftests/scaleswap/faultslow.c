// SPDX-License-Identifier: GPL-2.0
/*
 * Critical faults on devices that take their time: who waits for whom. Each test has a control, which shows that what is looked for would be seen.
 */
#include "ssw_fault.h"

FAULT_FIXTURE(faultslow, SSW_NEED_ON | SSW_NEED_DIR)

#define CPU	1
/* Guards against hangs, not measures */
#define TRIES	3000

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
		if (fault_num("reads_again") >= want)
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
SSW_BODY(faultslow, devices_apart)
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
		before = fault_num("reads_again");

		pid[0] = toucher(p);
		EXPECT_TRUE(again(before + 1));
		pid[1] = toucher(p + SSW_PAGE);
		EXPECT_TRUE(again(before + 2));
		pid[2] = toucher(p + 2 * SSW_PAGE);
		EXPECT_EQ(0, ssw_join(pid[2]));
		EXPECT_EQ(before + 3, fault_num("reads_again")) TH_LOG("it was not refused");
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
