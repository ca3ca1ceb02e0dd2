// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of how long a request waits, with a clock that the test sets. A part of iaa_batch.c,
 * whose static functions it calls.
 */
#include <kunit/test-bug.h>
#include <kunit/test.h>

/* A queue of no device, a unit, and what was done to them */
struct iaa_kunit {
	struct idxd_device idxd;
	struct idxd_wq wq;
	struct iaa_batch_device device;
	struct iaa_queue queue;
	struct iax_completion_record record;
	struct idxd_desc desc;
	struct iaa_req ir;
	struct scatterlist out;
	unsigned long now;
	unsigned int aborts;
	unsigned int stops;
	unsigned int epoch;
};

static unsigned long iaa_kunit_now(void)
{
	struct iaa_kunit *k = kunit_get_current_test()->priv;

	return k->now;
}

static void iaa_kunit_abort(struct iaa_queue *queue, unsigned int epoch)
{
	struct iaa_kunit *k = kunit_get_current_test()->priv;

	k->aborts++;
	k->epoch = epoch;
}

static void iaa_kunit_stop(struct iaa_queue *queue)
{
	struct iaa_kunit *k = kunit_get_current_test()->priv;

	k->stops++;
}

/* All descriptors are taken. */
static int iaa_kunit_start(const struct iaa_req *ir, struct iaa_slot *slot)
{
	return -EAGAIN;
}

static int iaa_kunit_init(struct kunit *test)
{
	struct iaa_kunit *k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);

	if (!k)
		return -ENOMEM;
	test->priv = k;
	k->idxd.state = IDXD_DEV_ENABLED;
	k->wq.idxd = &k->idxd;
	k->queue.iaa.wq = &k->wq;
	k->queue.iaa.iaa_device = &k->device.iaa;
	k->queue.epoch = 7;
	k->desc.iax_completion = &k->record;
	k->ir.queue = &k->queue;
	k->ir.busy = 1;
	sg_init_table(&k->out, 1);
	k->ir.slot[0].dst = &k->out;
	k->ir.slot[0].desc = &k->desc;
	k->ir.slot[0].epoch = 7;
	kunit_activate_static_stub(test, iaa_now, iaa_kunit_now);
	kunit_activate_static_stub(test, iaa_queue_abort, iaa_kunit_abort);
	kunit_activate_static_stub(test, iaa_queue_stop, iaa_kunit_stop);
	kunit_activate_static_stub(test, iaa_start, iaa_kunit_start);
	return 0;
}

/* A queue is aborted when a unit has taken longer than abort_ms; the unit stays the device's. */
static void iaa_kunit_late(struct kunit *test)
{
	/* The last one wraps meanwhile. */
	static const unsigned long began[] = { 0, 1000, ULONG_MAX - 3 };
	unsigned long limit = msecs_to_jiffies(iaa_abort_ms);
	struct iaa_kunit *k = test->priv;
	struct iaa_slot *slot = &k->ir.slot[0];

	for (unsigned int i = 0; i < ARRAY_SIZE(began); i++) {
		slot->state = IAA_SUBMITTED;
		slot->began = began[i];
		k->aborts = 0;
		for (k->now = began[i]; k->now != began[i] + limit + 1; k->now++)
			iaa_look(&k->ir, slot);
		KUNIT_EXPECT_EQ_MSG(test, k->aborts, 0, "from %lu", began[i]);
		iaa_look(&k->ir, slot);
		KUNIT_EXPECT_EQ_MSG(test, k->aborts, 1, "from %lu", began[i]);
		KUNIT_EXPECT_EQ(test, k->epoch, 7);
		/* By the clock alone it never ends. */
		k->now += 100 * limit;
		iaa_look(&k->ir, slot);
		KUNIT_EXPECT_EQ(test, k->aborts, 2);
		KUNIT_EXPECT_EQ(test, k->stops, 0);
		KUNIT_EXPECT_EQ(test, (int)slot->state, (int)IAA_SUBMITTED);
		KUNIT_EXPECT_EQ(test, k->ir.busy, 1);
	}
}

/* A device is stopped dead_ms after it was told to abort, however long a unit has waited. */
static void iaa_kunit_dead(struct kunit *test)
{
	unsigned long limit = msecs_to_jiffies(iaa_dead_ms), told = ULONG_MAX - 10;
	struct iaa_kunit *k = test->priv;
	struct iaa_slot *slot = &k->ir.slot[0];

	slot->state = IAA_SUBMITTED;
	slot->began = told - 10 * limit;
	k->now = told;
	iaa_look(&k->ir, slot);
	KUNIT_EXPECT_EQ(test, k->stops, 0);
	k->queue.commanded = true;
	k->queue.since = told;
	k->now = told + limit;
	iaa_look(&k->ir, slot);
	KUNIT_EXPECT_EQ(test, k->stops, 0);
	k->now++;
	iaa_look(&k->ir, slot);
	KUNIT_EXPECT_EQ(test, k->stops, 1);
	KUNIT_EXPECT_EQ(test, (int)slot->state, (int)IAA_SUBMITTED);
	/* It has answered. */
	k->queue.commanded = false;
	iaa_look(&k->ir, slot);
	KUNIT_EXPECT_EQ(test, k->stops, 1);
}

/* Who gets no descriptor waits twice as long as an abort takes to begin, and then goes without. */
static void iaa_kunit_no_descriptor(struct kunit *test)
{
	unsigned long limit = 2 * msecs_to_jiffies(iaa_abort_ms);
	struct iaa_kunit *k = test->priv;
	struct iaa_slot *slot = &k->ir.slot[0];

	for (unsigned int compress = 0; compress < 2; compress++) {
		k->ir.compress = compress;
		k->ir.busy = 1;
		slot->state = IAA_WAITS;
		slot->began = ULONG_MAX - 1;
		k->now = slot->began + limit;
		iaa_try(&k->ir, slot);
		KUNIT_EXPECT_EQ(test, (int)slot->state, (int)IAA_WAITS);
		k->now++;
		iaa_try(&k->ir, slot);
		if (compress) {
			KUNIT_EXPECT_EQ(test, (int)slot->state, (int)IAA_FREE);
			KUNIT_EXPECT_EQ(test, (int)k->out.length, -ETIMEDOUT);
			KUNIT_EXPECT_EQ(test, k->ir.busy, 0);
		} else {
			KUNIT_EXPECT_EQ(test, (int)slot->state, (int)IAA_SOFTWARE);
			KUNIT_EXPECT_EQ(test, k->ir.busy, 1);
		}
	}
}

static struct kunit_case iaa_kunit_cases[] = {
	KUNIT_CASE(iaa_kunit_late),
	KUNIT_CASE(iaa_kunit_dead),
	KUNIT_CASE(iaa_kunit_no_descriptor),
	{}
};

static struct kunit_suite iaa_kunit_suite = {
	.name = "scaleswap_iaa",
	.init = iaa_kunit_init,
	.test_cases = iaa_kunit_cases,
};

kunit_test_suites(&iaa_kunit_suite);
