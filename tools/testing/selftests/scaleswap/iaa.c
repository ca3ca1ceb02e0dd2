// SPDX-License-Identifier: GPL-2.0
/*
 * zswap on IAA devices: pages are right whatever the devices say. The devices are simulated, of PCI
 * functions in idxd.sim=; the drivers are those of real ones.
 */
#include "iaa_harness.h"

FIXTURE(iaa) { struct iaa_was was; };

FIXTURE_SETUP(iaa)
{
	const char *why = iaa_start(_metadata, &self->was);

	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(iaa)
{
	iaa_end(_metadata, &self->was);
}

/* Each page is compressed and decompressed by a device, in one request with seven others. */
SSW_BODY(iaa, by_a_device)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(mode); i++) {
		int verify = i % 2;

		dev_down();
		ASSERT_EQ(0, put(CRYPTO, "verify_compress", verify ? "1" : "0"));
		ASSERT_EQ(0, dev_up("64", ENGINES));
		ASSERT_EQ(0, ssw_write(ZSWAP "compressor", mode[i / 2]));
		p = pages_of(_metadata, i + 1);
		c = out(p);
		EXPECT_EQ(PAGES, c.stored) TH_LOG("%s, verified: %d", mode[i / 2], verify);
		EXPECT_EQ(PAGES, c.units);
		EXPECT_EQ(PAGES / UNITS, c.batches);
		EXPECT_EQ((1 + verify) * PAGES, c.done);
		EXPECT_EQ(0, c.failed + c.poor + c.disk);
		c = in(p);
		EXPECT_EQ(PAGES, c.loaded);
		EXPECT_EQ(PAGES, c.done);
		EXPECT_EQ(PAGES / UNITS, c.batches);
		EXPECT_EQ(0, c.alone + c.soft + c.failed);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1));
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* All units of a request are with the device before its task waits for the first. */
SSW_BODY(iaa, all_at_once)
{
	static const int engines[] = { 1, ENGINES };
	struct counts c;
	char *p;

	ssw_pin(0);
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		dev_down();
		ASSERT_EQ(0, dev_up("64", engines[i]));
		ASSERT_EQ(0, put(dir, "delay_ms", "2"));
		p = pages_of(_metadata, i + 1);
		/* None ends while others are submitted. */
		wrong("delay", 1, -1);
		for (int load = 0; load < 2; load++) {
			ASSERT_EQ(0, put(dir, "most", "0"));
			c = load ? in(p) : out(p);
			EXPECT_EQ(PAGES, c.units);
			EXPECT_EQ(UNITS, get("most")) TH_LOG("%d engines", engines[i]);
		}
		wrong("delay", 0, 0);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1));
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* So are eight pages of a large folio, with which they are stored. */
SSW_BODY(iaa, large_folios)
{
	static const char enabled[] = SSW_THP "/hugepages-64kB/enabled";
	const long per = 16, pages = 20 * per;
	long long stored, folios;
	struct counts c;
	char *p;

	if (ssw_write(enabled, "madvise"))
		SKIP(return, "the kernel has no huge pages of 64 KiB");
	/* Only an area on a block device takes them. */
	ssw_swapoff_all();
	ASSERT_EQ(0, ssw_mkswap(ssw_bdev(0), 16384 - 1));
	ASSERT_LE(0, ssw_on_cpu(ssw_bdev(0), 0));
	ssw_pin(0);
	folios = ssw_num(SSW_THP "/hugepages-64kB/stats/anon_fault_alloc");
	p = ssw_map(pages, true);
	ASSERT_NE(NULL, p);
	ssw_stamp(p, pages, 1);
	folios = ssw_num(SSW_THP "/hugepages-64kB/stats/anon_fault_alloc") - folios;
	ssw_write(enabled, "never");
	ASSERT_EQ(pages / per, folios) TH_LOG("could not get folios of 64 KiB");
	ASSERT_EQ(0, put(dir, "delay_ms", "2"));
	wrong("delay", 1, -1);
	ASSERT_EQ(0, put(dir, "most", "0"));
	stored = ssw_num(ZBATCH "stored");
	c = counts();
	ASSERT_EQ(pages, ssw_pageout(p, pages));
	c = since(c);
	wrong("delay", 0, 0);
	EXPECT_EQ(pages, ssw_num(ZBATCH "stored") - stored);
	EXPECT_EQ(pages, c.units);
	EXPECT_EQ(pages / UNITS, c.batches);
	EXPECT_EQ(UNITS, get("most"));
	EXPECT_EQ(0, c.poor + c.disk);
	EXPECT_EQ(0, ssw_wrong(p, pages, 1));
}

/* Without a device nothing is compressed any more, and what was is read all the same. */
SSW_BODY(iaa, no_device_any_more)
{
	struct counts c;
	char *p, *q;

	ssw_pin(0);
	for (size_t i = 0; i < ARRAY_SIZE(mode); i++) {
		ASSERT_EQ(0, ssw_write(ZSWAP "compressor", mode[i]));
		p = pages_of(_metadata, 1);
		c = out(p);
		ASSERT_EQ(PAGES, c.stored) TH_LOG("%s", mode[i]);
		q = pages_of(_metadata, 2);
		dev_down();
		c = out(q);
		EXPECT_EQ(0, c.stored + c.done) TH_LOG("%s", mode[i]);
		EXPECT_EQ(PAGES, c.poor);
		EXPECT_EQ(PAGES, c.disk);
		c = in(p);
		EXPECT_EQ(PAGES, c.loaded) TH_LOG("%s", mode[i]);
		EXPECT_EQ(PAGES, c.soft);
		EXPECT_EQ(0, c.alone + c.done);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, 1)) TH_LOG("%s", mode[i]);
		EXPECT_EQ(0, ssw_wrong(q, PAGES, 2));
		munmap(p, PAGES * SSW_PAGE);
		munmap(q, PAGES * SSW_PAGE);
		/* It comes again, and the same handle uses it. */
		ASSERT_EQ(0, dev_up("64", ENGINES));
		p = pages_of(_metadata, 3);
		c = out(p);
		EXPECT_EQ(PAGES, c.stored) TH_LOG("%s", mode[i]);
		EXPECT_EQ(2 * PAGES, c.done);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, 3));
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* A device that cannot read the header of canned pages does the rest. */
SSW_BODY(iaa, header_not_read)
{
	struct counts c;
	char *p, *q;

	ssw_pin(0);
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "deflate-iaa-canned"));
	p = pages_of(_metadata, 1);
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	dev_down();
	/* Algorithms were tested when they were registered, so the header comes first. */
	ASSERT_EQ(0, put(dir, "fail_status", "4"));
	wrong("fail", 1, 1);
	c = counts();
	ASSERT_EQ(0, dev_up("64", ENGINES));
	EXPECT_EQ(1, since(c).failed);
	wrong("fail", 0, 0);
	q = pages_of(_metadata, 2);
	c = out(q);
	EXPECT_EQ(PAGES, c.poor);
	EXPECT_EQ(0, c.stored + c.done + c.failed);
	c = in(p);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(PAGES, c.soft);
	EXPECT_EQ(0, c.alone + c.done + c.failed);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	EXPECT_EQ(0, ssw_wrong(q, PAGES, 2));
	munmap(p, PAGES * SSW_PAGE);
	munmap(q, PAGES * SSW_PAGE);
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "deflate-iaa"));
	p = pages_of(_metadata, 3);
	c = out(p);
	EXPECT_EQ(PAGES, c.stored);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 3));
	munmap(p, PAGES * SSW_PAGE);
	/* It can, the next time. */
	dev_down();
	ASSERT_EQ(0, dev_up("64", ENGINES));
	ASSERT_EQ(0, ssw_write(ZSWAP "compressor", "deflate-iaa-canned"));
	p = pages_of(_metadata, 4);
	c = out(p);
	EXPECT_EQ(PAGES, c.stored);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 4));
}

/* The half of a page of which nothing is said twice, and how many pages have another one */
static long half(char *p, bool set)
{
	unsigned int x = 2463534242u;
	long wrong = 0;

	for (long i = 0; i < PAGES; i++) {
		bool same = true;

		for (long at = SSW_PAGE / 2; at < SSW_PAGE; at++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
			if (set)
				p[i * SSW_PAGE + at] = x;
			else
				same &= p[i * SSW_PAGE + at] == (char)x;
		}
		wrong += !same;
	}
	return wrong;
}

/* What a device compresses wrong is found, and is not stored. */
SSW_BODY(iaa, compressed_wrong)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	p = pages_of(_metadata, 1);
	half(p, true);
	wrong("flip", 4, -1);
	c = out(p);
	wrong("flip", 0, 0);
	TH_LOG("%lld stored, %lld not", c.stored, c.poor);
	EXPECT_LT(0, c.flipped);
	EXPECT_EQ(c.flipped, c.poor);
	EXPECT_EQ(PAGES - c.flipped, c.stored);
	EXPECT_EQ(c.poor, c.disk);
	EXPECT_EQ(0, half(p, false));
}

/*
 * Whatever a device says of a unit it has not done, others are right, and so is that one: it goes
 * to its area, or software decompresses it.
 */
SSW_BODY(iaa, each_status)
{
	/* Status and error code << 8, as IAA has them */
	static const int status[] = {
		0x04, 0x190a, 0x020a, 0x0b, 0x10, 0x13, 0x1a, 0x1f, 0x21, 0x24, 0x34, 0xff,
	};
	struct counts c;
	char val[16], *p;

	ssw_pin(0);
	for (size_t i = 0; i < ARRAY_SIZE(status); i++) {
		/* Units of all places in a request, in turn */
		int interval = 5 + i % 4;

		ASSERT_EQ(0, ssw_write(ZSWAP "compressor", mode[i % ARRAY_SIZE(mode)]));

		snprintf(val, sizeof(val), "%d", status[i]);
		ASSERT_EQ(0, put(dir, "fail_status", val));
		p = pages_of(_metadata, i + 1);
		wrong("fail", interval, -1);
		c = out(p);
		wrong("fail", 0, 0);
		EXPECT_LT(0, c.failed) TH_LOG("status %#x", status[i]);
		EXPECT_EQ(c.failed, c.poor);
		EXPECT_EQ(PAGES, c.stored + c.poor);
		EXPECT_EQ(c.poor, c.disk);
		ssw_evict("ssw");
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1)) TH_LOG("status %#x", status[i]);
		munmap(p, PAGES * SSW_PAGE);
		p = pages_of(_metadata, i + 1);
		c = out(p);
		ASSERT_EQ(PAGES, c.stored);
		wrong("fail", interval, -1);
		c = in(p);
		wrong("fail", 0, 0);
		EXPECT_LT(0, c.failed) TH_LOG("status %#x", status[i]);
		EXPECT_EQ(c.failed, c.soft);
		EXPECT_EQ(PAGES, c.loaded);
		EXPECT_EQ(0, c.alone);
		EXPECT_EQ(0, ssw_wrong(p, PAGES, i + 1)) TH_LOG("status %#x", status[i]);
		munmap(p, PAGES * SSW_PAGE);
	}
}

/* A device that says it has done what it has not */
SSW_BODY(iaa, says_it_is_done)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	ASSERT_EQ(0, put(dir, "fail_status", "1"));
	p = pages_of(_metadata, 1);
	wrong("fail", 7, -1);
	c = out(p);
	wrong("fail", 0, 0);
	EXPECT_LT(0, c.poor);
	EXPECT_EQ(PAGES, c.stored + c.poor);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	munmap(p, PAGES * SSW_PAGE);
	p = pages_of(_metadata, 2);
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	wrong("fail", 7, -1);
	c = in(p);
	wrong("fail", 0, 0);
	EXPECT_LT(0, c.soft);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(0, c.alone);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
}

/* A descriptor that never ends: its queue is aborted, and it is as if it had failed. */
SSW_BODY(iaa, lost)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	p = pages_of(_metadata, 1);
	ASSERT_EQ(0, ssw_write(ABORT, SOON));
	wrong("lose", 37, 4);
	c = out(p);
	wrong("lose", 0, 0);
	/* Two engines may lose the last one at a time. */
	EXPECT_LE(4, c.lost);
	EXPECT_LE(c.lost, c.poor);
	EXPECT_EQ(PAGES, c.stored + c.poor);
	ssw_evict("ssw");
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	munmap(p, PAGES * SSW_PAGE);
	p = pages_of(_metadata, 1);
	ASSERT_EQ(0, ssw_write(ABORT, PATIENT));
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	ASSERT_EQ(0, ssw_write(ABORT, SOON));
	wrong("lose", 37, 4);
	c = in(p);
	wrong("lose", 0, 0);
	EXPECT_LE(4, c.lost);
	EXPECT_LE(c.lost, c.soft);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	/* One abort for each, though its task looks all the time. */
	EXPECT_EQ(0, get("needless"));
}

/*
 * A descriptor that takes longer than the driver waits: as if it were lost. What it would have
 * written does not come later, into pages that are used for something else.
 */
SSW_BODY(iaa, late)
{
	struct counts c;
	char *p;

	ssw_pin(0);
	ASSERT_EQ(0, put(dir, "delay_ms", "400"));
	p = pages_of(_metadata, 1);
	ASSERT_EQ(0, ssw_write(ABORT, AT_ONCE));
	wrong("delay", 61, 6);
	c = out(p);
	wrong("delay", 0, 0);
	ASSERT_EQ(0, ssw_write(ABORT, PATIENT));
	EXPECT_LE(6, c.poor);
	EXPECT_EQ(PAGES, c.stored + c.poor);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 1));
	munmap(p, PAGES * SSW_PAGE);
	p = pages_of(_metadata, 2);
	c = out(p);
	ASSERT_EQ(PAGES, c.stored);
	ASSERT_EQ(0, ssw_write(ABORT, AT_ONCE));
	wrong("delay", 61, 6);
	c = in(p);
	wrong("delay", 0, 0);
	EXPECT_LE(6, c.soft);
	EXPECT_EQ(PAGES, c.loaded);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 2));
	ssw_stamp(p, PAGES, 3);
	usleep(500000);
	EXPECT_EQ(0, ssw_wrong(p, PAGES, 3));
}

/* A function that is not in idxd.sim= is none, even if one gives it to the driver. */
SSW_BODY(iaa, function_is_not_named)
{
	static const char other[] = "0000:00:11.0";

	if (access(PCI "0000:00:11.0", F_OK))
		SKIP(_exit(0), "no other PCI function");
	ASSERT_EQ(0, put(PCI "0000:00:11.0/", "driver_override", "idxd"));
	EXPECT_EQ(-ENODEV, put("/sys/bus/pci/drivers/idxd/", "bind", other));
	EXPECT_EQ(0, put(PCI "0000:00:11.0/", "driver_override", "\n"));
}

/* One that is named, but has no interrupts that a device needs */
SSW_BODY(iaa, function_without_interrupts)
{
	static const char other[] = "0000:00:1f.3";
	char names[64] = "";

	ssw_read(SIM, names, sizeof(names));
	if (!strstr(names, other) || access(PCI "0000:00:1f.3", F_OK))
		SKIP(_exit(0), "no such PCI function in idxd.sim=");
	ASSERT_EQ(0, put(PCI "0000:00:1f.3/", "driver_override", "idxd"));
	EXPECT_EQ(-ENODEV, put("/sys/bus/pci/drivers/idxd/", "bind", other));
	EXPECT_EQ(0, put(PCI "0000:00:1f.3/", "driver_override", "\n"));
}

/* What can be set says no to what it does not know, and what is simulated says so. */
SSW_BODY(iaa, values)
{
	char path[96];

	snprintf(path, sizeof(path), PCI "%s/simulated", fn);
	EXPECT_EQ(1, ssw_num(path));
	/* While there is a device, handles have what it was set to. */
	EXPECT_EQ(-EBUSY, put(CRYPTO, "verify_compress", "0"));
	EXPECT_EQ(0, put(CRYPTO, "sync_mode", "sync"));
	EXPECT_EQ(-EINVAL, put(CRYPTO, "sync_mode", "async_irq"));
	EXPECT_EQ(-EINVAL, put(dir, "halt", "2"));
	EXPECT_EQ(-EINVAL, ssw_write(ABORT, "9"));
	EXPECT_EQ(-EINVAL, ssw_write(ABORT, "60001"));
	EXPECT_EQ(-EINVAL, ssw_write(ABORT, "soon"));
	EXPECT_EQ(60000, ssw_num(ABORT));
	EXPECT_EQ(-EINVAL, ssw_write(DEAD, "999"));
	EXPECT_EQ(-EINVAL, ssw_write(DEAD, "600001"));
	EXPECT_EQ(600000, ssw_num(DEAD));
	dev_down();
	EXPECT_EQ(-EINVAL, put(CRYPTO, "verify_compress", "perhaps"));
	EXPECT_EQ(0, put(CRYPTO, "verify_compress", "1"));
	/* Neither more descriptors than there are, nor none */
	EXPECT_NE(0, dev_up("129", ENGINES));
	EXPECT_NE(0, dev_up("16", 0));
}

TEST_HARNESS_MAIN
