// SPDX-License-Identifier: GPL-2.0
/*
 * zswap on IAA devices that come and go, halt, and are slow, while several tasks swap: pages are
 * right, and nobody waits for ever. The devices are simulated: see iaa.c.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "cg_util.h"
#include "iaa_harness.h"

FIXTURE(iaa_races) { struct iaa_was was; };

FIXTURE_SETUP(iaa_races)
{
	const char *why = iaa_start(_metadata, &self->was);

	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(iaa_races)
{
	iaa_end(_metadata, &self->was);
}

#define TASKS	6

/* Processes that swap out and in, some rounds at least, and until they are to end */
static pid_t pid[TASKS];
static volatile int *enough;

/* Whether their memory is shared: zswap stores that page by page */
static bool shared;

static pid_t swaps(int cpu)
{
	pid_t pid = ssw_fork();
	long wrong = 0;
	char *p;

	if (pid)
		return pid;
	ssw_pin(cpu);
	p = shared ? mmap(NULL, PAGES * SSW_PAGE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0) : ssw_map(PAGES, false);
	if (p == MAP_FAILED)
		_exit(9);
	for (int i = 1; p && (i <= 2 || !*enough); i++) {
		ssw_stamp(p, PAGES, i);
		madvise(p, PAGES * SSW_PAGE, MADV_PAGEOUT);
		if (i % 2)
			madvise(p, PAGES * SSW_PAGE, MADV_WILLNEED);
		wrong += ssw_wrong(p, PAGES, i);
	}
	_exit(p && !wrong ? 0 : 1);
}

static void all_swap(struct __test_metadata *_metadata)
{
	cpu_set_t online;

	ASSERT_EQ(0, ssw_online(&online));
	enough = ssw_shared(sizeof(*enough));
	ASSERT_NE(NULL, enough);
	for (int i = 0; i < TASKS; i++)
		pid[i] = swaps(i % CPU_COUNT(&online));
}

static void all_join(struct __test_metadata *_metadata)
{
	*enough = 1;
	for (int i = 0; i < TASKS; i++)
		EXPECT_EQ(0, ssw_join(pid[i])) TH_LOG("1: a page is wrong");
	EXPECT_EQ(0, ssw_num(COUNTS "stored_pages"));
}

/* Descriptors that others overtake */
SSW_BODY(iaa_races, out_of_order)
{
	struct counts c = counts();

	wrong("delay", 9, -1);
	ASSERT_EQ(0, put(dir, "delay_ms", "4"));
	all_swap(_metadata);
	all_join(_metadata);
	wrong("delay", 0, 0);
	c = since(c);
	EXPECT_LT(PAGES, c.done);
	EXPECT_EQ(0, c.failed + c.lost);
}

/* Fewer descriptors than tasks ask for at a time */
SSW_BODY(iaa_races, small_queue)
{
	struct counts c;

	dev_down();
	ASSERT_EQ(0, dev_up("4", 1));
	c = counts();
	all_swap(_metadata);
	all_join(_metadata);
	c = since(c);
	EXPECT_LT(PAGES, c.done);
	EXPECT_EQ(0, c.failed + c.lost + c.poor);
}

/* Aborts all the time, of a queue in which others have units that are compressed, or verified */
SSW_BODY(iaa_races, aborted_often)
{
	struct counts c;

	dev_down();
	ASSERT_EQ(0, dev_up("16", ENGINES));
	ASSERT_EQ(0, ssw_write(ABORT, "10"));
	ASSERT_EQ(0, put(dir, "delay_ms", "9"));
	c = counts();
	wrong("delay", 2, -1);
	wrong("lose", 60, -1);
	all_swap(_metadata);
	sleep(12);
	all_join(_metadata);
	wrong("delay", 0, 0);
	wrong("lose", 0, 0);
	c = since(c);
	TH_LOG("%lld done, %lld lost, %lld by software", c.done, c.lost, c.soft);
	EXPECT_LT(0, c.lost);
	EXPECT_LT(0, c.soft + c.poor);
}

/* No descriptor for long, with one page or several at a time: nobody waits for ever. */
SSW_BODY(iaa_races, no_descriptor)
{
	struct counts c;

	for (int i = 0; i < 2; i++) {
		dev_down();
		ASSERT_EQ(0, dev_up("1", 1));
		shared = i;
		ASSERT_EQ(0, ssw_write(ABORT, "10"));
		c = counts();
		wrong("lose", 1, -1);
		all_swap(_metadata);
		sleep(2);
		wrong("lose", 0, 0);
		all_join(_metadata);
		c = since(c);
		EXPECT_LT(0, c.lost);
	}
}

/* The queue comes and goes while tasks swap. */
SSW_BODY(iaa_races, comes_and_goes)
{
	struct counts c = counts(), then;

	all_swap(_metadata);
	for (int i = 0; i < 8; i++) {
		usleep(100000);
		dev_down();
		/* Until somebody has missed it */
		then = counts();
		ssw_for_looks(n) {
			struct counts more = since(then);

			if (more.soft + more.poor)
				break;
			usleep(20000);
		}
		EXPECT_EQ(0, dev_up(i % 2 ? "64" : "16", 1 + i % ENGINES));
	}
	all_join(_metadata);
	c = since(c);
	EXPECT_LT(PAGES, c.done);
	EXPECT_LT(0, c.soft + c.poor);
}

/*
 * The device stops while tasks swap, and never ends what it has. With a software reset (0) or a
 * function level reset (1) it would go on; the driver does neither, so there is a new one. Tasks
 * are held up while they submit, so one of them has a queue that is then cleared.
 */
static void halts(struct __test_metadata *_metadata, const char *reset)
{
	all_swap(_metadata);
	for (int i = 0; i < 6; i++) {
		EXPECT_EQ(0, put(dir, "stall_ms", "20"));
		usleep(100000);
		EXPECT_EQ(0, put(dir, "halt", reset));
		usleep(50000);
		if (i % 2)
			dev_down();
		EXPECT_EQ(0, dev_anew("64", ENGINES));
	}
	all_join(_metadata);
}

SSW_BODY(iaa_races, halts_for_a_reset)
{
	halts(_metadata, "0");
}

SSW_BODY(iaa_races, halts_for_a_function_reset)
{
	halts(_metadata, "1");
}

/* It halts while its queue goes, and that waits for a descriptor. */
SSW_BODY(iaa_races, halts_as_it_goes)
{
	pid_t goes;

	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, ssw_write(ABORT, "3000"));
		all_swap(_metadata);
		wrong("lose", 1, -1);
		usleep(300000);
		goes = ssw_fork();
		ASSERT_LE(0, goes);
		if (!goes) {
			dev_down();
			_exit(0);
		}
		usleep(300000);
		EXPECT_EQ(0, put(dir, "halt", i % 2 ? "0" : "1"));
		EXPECT_EQ(0, ssw_join(goes));
		wrong("lose", 0, 0);
		EXPECT_EQ(0, dev_anew("64", ENGINES));
		all_join(_metadata);
	}
}

/*
 * A device that loses a descriptor, and then executes no commands: it is kept off memory, and
 * nobody waits for it. What it has begun it does not write later.
 */
SSW_BODY(iaa_races, deaf)
{
	struct counts c;
	char *p, *q;

	ssw_pin(0);
	p = pages_of(_metadata, 1);
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	ASSERT_EQ(0, ssw_write(ABORT, "20"));
	ASSERT_EQ(0, ssw_write(DEAD, "1000"));
	ASSERT_EQ(0, put(dir, "deaf", "1"));
	ASSERT_EQ(0, put(dir, "delay_ms", "4000"));
	/* Two of the same request */
	wrong("delay", 3 * UNITS + 3, 1);
	wrong("lose", 3 * UNITS + 7, 1);
	c = in(p);
	EXPECT_EQ(1, c.lost);
	EXPECT_LT(1, c.soft);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(0, c.alone);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	ssw_stamp(p, PAGES, 2);
	q = pages_of(_metadata, 3);
	c = out(q);
	EXPECT_EQ(PAGES, c.poor);
	EXPECT_EQ(0, c.stored);
	sleep(5);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	EXPECT_EQ(0, ssw_wrong(q, PAGES, 3));
	munmap(p, PAGES * SSW_PAGE);
	munmap(q, PAGES * SSW_PAGE);
	ASSERT_EQ(0, put(dir, "deaf", "0"));
	wrong("delay", 0, 0);
	wrong("lose", 0, 0);
	ASSERT_EQ(0, ssw_write(ABORT, PATIENT));
	/* It answers again, but may not access memory. */
	ASSERT_EQ(0, bind_to(CRYPTO, WQ, false));
	ASSERT_EQ(0, queue_set());
	EXPECT_EQ(-ENXIO, bind_to(CRYPTO, WQ, true));
	ASSERT_EQ(0, dev_anew("64", ENGINES));
	p = pages_of(_metadata, 4);
	c = out(p);
	EXPECT_EQ(PAGES, c.stored);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 4));
}

/* CPUs go offline, and another compressor is used meanwhile. */
SSW_BODY(iaa_races, cpus_and_compressors)
{
	cpu_set_t online;
	int last;

	ASSERT_EQ(0, ssw_online(&online));
	last = CPU_COUNT(&online) - 1;
	all_swap(_metadata);
	for (int i = 0; i < 8; i++) {
		EXPECT_EQ(0, ssw_set_online(last, i % 2));
		EXPECT_EQ(0, ssw_write(ZSWAP "compressor", i % 4 == 3 ? "lzo-rle" : mode[i % 4]));
		usleep(200000);
	}
	all_join(_metadata);
}

/* What tasks have met since a device was new */
static void add_up(struct counts *sum)
{
	sum->done += get("done");
	sum->failed += get("failed");
	sum->lost += get("lost");
}

/*
 * All of that, at random, for SSW_IAA_SECONDS: the queue goes, the device halts, another one
 * comes, descriptors fail, are lost or are late, codes and other compressors, CPUs.
 */
SSW_BODY(iaa_races, everything)
{
	static const char * const how[] = { "fail", "lose", "delay" };
	static const int status[] = { 0x04, 0x190a, 0x0b, 0x1f, 0x01 };
	const char *seconds = getenv("SSW_IAA_SECONDS"), *seed = getenv("SSW_SEED");
	unsigned int rnd = seed ? atoi(seed) : getpid();
	time_t end = time(NULL) + (seconds ? atol(seconds) : 15);
	long unbound = 0, halts = 0, codes = 0, cpus = 0, wrongs = 0;
	struct counts sum = { }, c;
	cpu_set_t online;
	char val[16];
	int last;

	TH_LOG("seed %u", rnd);
	ASSERT_EQ(0, ssw_online(&online));
	last = CPU_COUNT(&online) - 1;
	c = counts();
	all_swap(_metadata);
	/* Longer, on a slow host: until devices and software have had their part. */
	while (time(NULL) < end || !since(c).soft || sum.done + get("done") <= PAGES) {
		int i = rand_r(&rnd), engines = 1 + rand_r(&rnd) % ENGINES;
		const char *size = i & 64 ? "64" : i & 128 ? "16" : "4";

		ASSERT_EQ(0, ssw_write(ABORT, i & 256 ? "100" : "1000"));
		switch (rand_r(&rnd) % 8) {
		case 0:
			dev_down();
			usleep(rand_r(&rnd) % 200000);
			EXPECT_EQ(0, dev_up(size, engines));
			unbound++;
			break;
		case 1:
			EXPECT_EQ(0, put(dir, "halt", i % 2 ? "0" : "1"));
			usleep(rand_r(&rnd) % 200000);
			add_up(&sum);
			EXPECT_EQ(0, dev_anew(size, engines));
			halts++;
			break;
		case 2:
			EXPECT_EQ(0, ssw_set_online(last, false));
			usleep(rand_r(&rnd) % 200000);
			EXPECT_EQ(0, ssw_set_online(last, true));
			cpus++;
			break;
		case 3:
		case 4:
			i %= ARRAY_SIZE(mode) + 1;
			EXPECT_EQ(0, ssw_write(ZSWAP "compressor",
					       i < (int)ARRAY_SIZE(mode) ? mode[i] : "lzo-rle"));
			codes++;
			break;
		default:
			snprintf(val, sizeof(val), "%d", status[i % ARRAY_SIZE(status)]);
			put(dir, "fail_status", val);
			snprintf(val, sizeof(val), "%d", 1 + i % 300);
			put(dir, "delay_ms", val);
			wrong(how[i % ARRAY_SIZE(how)], 1 + rand_r(&rnd) % 100, 1 + i % 50);
			usleep(rand_r(&rnd) % 300000);
			wrong(how[i % ARRAY_SIZE(how)], 0, 0);
			wrongs++;
		}
		usleep(rand_r(&rnd) % 200000);
	}
	all_join(_metadata);
	add_up(&sum);
	c = since(c);
	printf("end t=%s unbound=%ld halts=%ld cpus_away=%ld codes=%ld wrongs=%ld ",
	       seconds ?: "15", unbound, halts, cpus, codes, wrongs);
	printf("done=%lld failed=%lld lost=%lld software=%lld stored=%lld loaded=%lld\n",
	       sum.done, sum.failed, sum.lost, c.soft, c.stored, c.loaded);
	EXPECT_LT(PAGES, sum.done);
	EXPECT_LT(0, c.soft);
}

TEST_HARNESS_MAIN
