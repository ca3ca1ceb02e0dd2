/* SPDX-License-Identifier: GPL-2.0 */
/*
 * harness.h - fixtures and bodies of the ScaleSwap selftests
 *
 * Only test programs include this file, or lru_harness.h or fault_harness.h. All in these
 * three expands EXPECT_*, ASSERT_* or SKIP(), or defines tests, and so needs struct
 * __test_metadata. Only a file that includes kselftest_harness.h has it, and one file of a
 * program can: the harness defines functions and variables. The *_util files have all else.
 *
 * The body of a test that swaps runs in a process of its own, in the group "ssw". Once it
 * has ended, none of its pages are in swap. So the test can demand that SwapFree is
 * SwapTotal and that every area is empty, with the areas still on.
 */
#ifndef SSW_HARNESS_H
#define SSW_HARNESS_H

#include "../kselftest_harness.h"
#include "area_util.h"

/*
 * A guard against hangs only, where nothing outside watches: no test passes or fails by
 * its speed. Hours, because the clock of alarm() does not stop while an emulated guest
 * waits for a busy host.
 */
#define SSW_TIMEOUT	7200
#define SSW_TEST_F(fixture, name) TEST_F_TIMEOUT(fixture, name, SSW_TIMEOUT)

/* The fixture that most tests use; @needs is a mask of SSW_NEED_*. */
#define SSW_FIXTURE(name, needs)				\
FIXTURE(name) { int unused; };					\
FIXTURE_SETUP(name)						\
{								\
	const char *why = ssw_start(needs);			\
								\
	if (why)						\
		SKIP(return, "%s", why);			\
}								\
FIXTURE_TEARDOWN(name)						\
{								\
	ssw_end();						\
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
 * A test whose body runs in the group "ssw", in a process of its own. Once that has ended,
 * the test checks that nothing is left in swap. The fixture's teardown turns areas off that
 * the body leaves on.
 */
#define SSW_BODY(fixture, name)							\
static void fixture##_##name##_body(struct __test_metadata *_metadata);		\
SSW_TEST_F(fixture, name)							\
{										\
	ssw_run_body(_metadata, fixture##_##name##_body);			\
}										\
static void fixture##_##name##_body(struct __test_metadata __attribute__((unused)) *_metadata)

#endif /* SSW_HARNESS_H */
