// SPDX-License-Identifier: GPL-2.0
/*
 * vm.scaleswap.bind: values that it takes, values that it shows, and the area that the next
 * swapon(2) makes of them.
 */
#include <sys/stat.h>

#include "harness.h"

#define PAGES	256

SSW_FIXTURE(bind, SSW_NEED_ON | SSW_NEED_DIR)

/* Write, then compare what is read back. */
#define EXPECT_BIND(val, err, shown) do {				\
	char now_[64] = "";						\
									\
	EXPECT_EQ(err, ssw_write(SSW_BIND, val))			\
		TH_LOG("writing '%s' to " SSW_BIND, val);		\
	EXPECT_LE(0, ssw_read(SSW_BIND, now_, sizeof(now_)));		\
	EXPECT_STREQ(shown, now_)					\
		TH_LOG("after writing '%s'", val);			\
} while (0)

SSW_TEST_F(bind, values_read_back)
{
	char last[16];

	snprintf(last, sizeof(last), "%d", ssw_nr_possible() - 1);
	EXPECT_BIND("off", 0, "off");
	EXPECT_BIND("auto\n", 0, "auto");
	EXPECT_BIND("0\n", 0, "0");
	EXPECT_BIND(last, 0, last);
	EXPECT_BIND("off\n", 0, "off");
}

SSW_TEST_F(bind, bad_values)
{
	static const char * const bad[] = {
		"\n", " ", "garbage", "-1", "1x", "x1", "AUTO", "autos", "aut", "auto off", "on",
		"0 1", "1,2", "1.5", "4294967296", "4294967295", "18446744073709551616",
		"18446744073709551615", "-2147483648", "2147483648", "65536", "''", "%s",
	};
	char big[4096], past[16], max[16];

	ASSERT_EQ(0, ssw_bind("auto"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_BIND(bad[i], -EINVAL, "auto");
	}

	/* A CPU that does not exist: one past the possible ones, and far past. */
	snprintf(past, sizeof(past), "%d", ssw_nr_possible());
	EXPECT_BIND(past, -EINVAL, "auto");
	snprintf(max, sizeof(max), "%d", ssw_nr_possible() + 100000);
	EXPECT_BIND(max, -EINVAL, "auto");

	memset(big, '1', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	EXPECT_BIND(big, -EINVAL, "auto");
	memset(big, ' ', sizeof(big) - 1);
	EXPECT_BIND(big, -EINVAL, "auto");

	/* Nothing written changes nothing. */
	EXPECT_GE(0, ssw_write_n(SSW_BIND, "", 0));
	EXPECT_BIND("bad", -EINVAL, "auto");

	/* The same with a number set: the old one stays. */
	ASSERT_EQ(0, ssw_bind("0"));
	EXPECT_BIND("-1", -EINVAL, "0");
	EXPECT_BIND(past, -EINVAL, "0");
}

/* How often the log says what vm.scaleswap.bind takes, from where @log is; -1 on error. */
static int said(int log)
{
	char line[8192];
	int found = 0;
	ssize_t n;

	while ((n = read(log, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		line[n] = 0;
		found += !!strstr(line, "vm.scaleswap.bind takes auto, off or");
	}
	return found;
}

/*
 * sysctl(8) writes a value that is refused once more as it closes the file. Messages are
 * rate-limited, ten at a time: use them up and wait for the first of the next ten.
 */
SSW_TEST_F(bind, refused_twice_logged_once)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), fd, seen = 1;
	char value[16];

	ASSERT_LE(0, log);
	ASSERT_LE(0, lseek(log, 0, SEEK_END));
	for (int i = 0; i < 400 && seen != 2; i++) {
		snprintf(value, sizeof(value), "try%d", i);
		ASSERT_EQ(-EINVAL, ssw_bind(value));
		/* 1: some are left, 0: used up, 2: the first of the next ten */
		if (!said(log))
			seen = 0;
		else if (!seen)
			seen = 2;
		if (!seen)
			usleep(200000);
	}
	ASSERT_EQ(2, seen);

	fd = open(SSW_BIND, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(-1, write(fd, "99999\n", 6));
		EXPECT_EQ(EINVAL, errno);
	}
	close(fd);
	EXPECT_EQ(1, said(log)) TH_LOG("two writes of one value by one task");

	/* Another value, the first one again, and once more after a good one: each is said. */
	EXPECT_BIND("99998\n", -EINVAL, "off");
	EXPECT_EQ(1, said(log)) TH_LOG("another value");
	EXPECT_BIND("99999\n", -EINVAL, "off");
	EXPECT_EQ(1, said(log)) TH_LOG("a value that had been refused before another one");
	EXPECT_BIND("off", 0, "off");
	EXPECT_BIND("99999\n", -EINVAL, "off");
	EXPECT_EQ(1, said(log)) TH_LOG("a value that had been refused before a good one");
	/* Longer than the longest that may mean something: the whole is not kept. */
	EXPECT_BIND("99999999999999999999", -EINVAL, "off");
	EXPECT_EQ(1, said(log)) TH_LOG("a long value");
	EXPECT_BIND("99999999999999999999", -EINVAL, "off");
	EXPECT_EQ(0, said(log)) TH_LOG("a long value again");
	close(log);
}

SSW_TEST_F(bind, root_only)
{
	struct stat st;
	int status;
	pid_t pid;

	ASSERT_EQ(0, stat(SSW_BIND, &st));
	EXPECT_EQ(0644U, st.st_mode & 07777);
	EXPECT_EQ(0U, st.st_uid);

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(2);
		_exit(ssw_bind("auto") == -EACCES ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) TH_LOG("a plain user could write " SSW_BIND);
	EXPECT_BIND("off", 0, "off");
}

SSW_TEST_F(bind, off_makes_plain_area)
{
	int t;

	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	t = ssw_on(ssw_file(0), "off");
	ASSERT_LE(0, t);
	EXPECT_EQ(-1, ssw_area(t, "cpu"));
	EXPECT_EQ(-1, ssw_area(t, "node"));
	/* A plain area has no home to be moved from. */
	EXPECT_EQ(-EOPNOTSUPP, ssw_rehome(t, "0"));
	EXPECT_EQ(-1, ssw_area(t, "cpu"));
}

SSW_TEST_F(bind, stays_until_changed)
{
	char now[64];

	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), PAGES));
	}
	ASSERT_EQ(0, ssw_bind("0"));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ssw_swapon(ssw_file(i)));
		EXPECT_EQ(0, ssw_area(ssw_type_of(ssw_file(i)), "cpu"));
		ASSERT_LE(0, ssw_read(SSW_BIND, now, sizeof(now)));
		EXPECT_STREQ("0", now) TH_LOG("swapon changed the setting");
	}
	ASSERT_EQ(0, ssw_swapoff(ssw_file(0)));
	ASSERT_LE(0, ssw_read(SSW_BIND, now, sizeof(now)));
	EXPECT_STREQ("0", now) TH_LOG("swapoff changed the setting");
	/* It decides for the next swapon, not for areas that are on. */
	ASSERT_EQ(0, ssw_bind("off"));
	EXPECT_EQ(0, ssw_area(ssw_type_of(ssw_file(1)), "cpu"));
	ASSERT_EQ(0, ssw_swapon(ssw_file(2)));
	EXPECT_EQ(-1, ssw_area(ssw_type_of(ssw_file(2)), "cpu"));
}

SSW_TEST_F(bind, number_binds_there)
{
	int n = ssw_nr_possible();

	/* From the top, so that it cannot be type == CPU. */
	for (int i = 0; i < n && i < 16; i++) {
		int t;

		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), PAGES));
		t = ssw_on_cpu(ssw_file(i), n - 1 - i);
		ASSERT_LE(0, t);
		EXPECT_EQ(n - 1 - i, ssw_area(t, "cpu"));
		/* Possible is enough; the links to the node are there for online ones. */
		if (ssw_node_of(n - 1 - i) >= 0) {
			EXPECT_EQ(ssw_node_of(n - 1 - i), ssw_area(t, "node"));
		}
	}
}

SSW_TEST_F(bind, auto_spreads_over_cpus)
{
	int areas[CPU_SETSIZE] = { }, n, want;
	cpu_set_t online;

	ASSERT_EQ(0, ssw_online(&online));
	/* More areas than CPUs: two rounds, and one more. */
	n = 2 * CPU_COUNT(&online) + 1;
	if (n > 33)
		n = 33;
	ASSERT_EQ(0, ssw_bind("auto"));
	for (int i = 0; i < n; i++) {
		int t, node;

		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), PAGES));
		ASSERT_EQ(0, ssw_swapon(ssw_file(i)));
		t = ssw_type_of(ssw_file(i));
		ASSERT_LE(0, t);
		node = ssw_area(t, "device_node");
		want = ssw_auto_choice(areas, node);
		ASSERT_EQ(want, ssw_area(t, "cpu"))
			TH_LOG("area %d of %d, device node %d", i, n, node);
		areas[want]++;
	}
}

/* A device on another node than CPU 0: its area goes to a CPU over there. */
SSW_TEST_F(bind, auto_prefers_node_of_device)
{
	int none[CPU_SETSIZE] = { }, seen = 0;
	const char *dev;

	for (int i = 0; (dev = ssw_bdev(i)); i++) {
		int t, node;

		ASSERT_EQ(0, ssw_mkswap(dev, 1023));
		t = ssw_on(dev, "auto");
		ASSERT_LE(0, t);
		node = ssw_area(t, "device_node");
		EXPECT_EQ(ssw_auto_choice(none, node), ssw_area(t, "cpu"))
			TH_LOG("%s on node %d", dev, node);
		if (node >= 0 && node != ssw_node_of(0)) {
			EXPECT_EQ(node, ssw_area(t, "node")) TH_LOG("%s on node %d", dev, node);
			seen++;
		}
		ASSERT_EQ(0, ssw_swapoff(dev));
	}
	if (!seen)
		SKIP(return, "no spare device on another node than CPU 0");
}

SSW_TEST_F(bind, auto_takes_the_gap)
{
	int areas[CPU_SETSIZE] = { }, t, cpus, gap;
	cpu_set_t online;

	ASSERT_EQ(0, ssw_online(&online));
	cpus = CPU_COUNT(&online);
	if (cpus < 2 || cpus > 64)
		SKIP(return, "needs 2 to 64 CPUs");
	ASSERT_EQ(0, ssw_bind("auto"));
	for (int i = 0; i < cpus; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), PAGES));
		ASSERT_EQ(0, ssw_swapon(ssw_file(i)));
	}
	/* A CPU whose area went away is the next choice. */
	gap = ssw_area(ssw_type_of(ssw_file(cpus - 1)), "cpu");
	ASSERT_EQ(0, ssw_swapoff(ssw_file(cpus - 1)));
	ASSERT_EQ(0, ssw_swapon(ssw_file(cpus - 1)));
	EXPECT_EQ(gap, ssw_area(ssw_type_of(ssw_file(cpus - 1)), "cpu"));

	/* A plain area counts for no CPU; an area moved by hand counts for its new home. */
	t = ssw_type_of(ssw_file(0));
	gap = ssw_area(t, "cpu");
	ASSERT_EQ(0, ssw_swapoff(ssw_file(0)));
	ASSERT_GE(cpus, ssw_on(ssw_file(0), "off"));
	ASSERT_EQ(0, ssw_mkfile(ssw_file(cpus), PAGES));
	t = ssw_on(ssw_file(cpus), "auto");
	ASSERT_LE(0, t);
	EXPECT_EQ(gap, ssw_area(t, "cpu"));
	for (int c = 0; c < cpus; c++)
		areas[c] = 1;
	ASSERT_EQ(0, ssw_rehome(t, gap ? "0" : "1"));
	areas[gap]--;
	areas[gap ? 0 : 1]++;
	ASSERT_EQ(0, ssw_mkfile(ssw_file(cpus + 1), PAGES));
	t = ssw_on(ssw_file(cpus + 1), "auto");
	ASSERT_LE(0, t);
	EXPECT_EQ(ssw_auto_choice(areas, ssw_area(t, "device_node")), ssw_area(t, "cpu"));
}

/* Label an area as mkswap -L does; a shorter label ends with zeros. */
static int label(const char *path, const char *text)
{
	char buf[16] = "";
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	memcpy(buf, text, strnlen(text, sizeof(buf)));
	/* Behind the boot block, three numbers and the UUID. */
	if (pwrite(fd, buf, sizeof(buf), 1024 + 3 * 4 + 16) != sizeof(buf))
		ret = -errno;
	close(fd);
	return ret;
}

SSW_TEST_F(bind, auto_takes_the_cpu_of_the_label)
{
	static const char * const none[] = { "swap", "ssw-cpu", "ssw-cpu-1", "ssw-cpu99999", "" };
	int areas[CPU_SETSIZE] = { }, cpus, t, want;
	cpu_set_t online;
	char name[24];

	ASSERT_EQ(0, ssw_online(&online));
	cpus = CPU_COUNT(&online);
	if (cpus < 2 || cpus > 16)
		SKIP(return, "needs 2 to 16 CPUs");
	ASSERT_EQ(0, ssw_bind("auto"));
	/* From the last to the first: by count and number each would have another home. */
	for (int cpu = cpus - 1; cpu >= 0; cpu--) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(cpu), PAGES));
		snprintf(name, sizeof(name), "ssw-cpu%d", cpu);
		ASSERT_EQ(0, label(ssw_file(cpu), name));
		ASSERT_EQ(0, ssw_swapon(ssw_file(cpu)));
		EXPECT_EQ(cpu, ssw_area(ssw_type_of(ssw_file(cpu)), "cpu"));
		areas[cpu]++;
	}
	/* A second one of the same name goes to the same CPU. */
	ASSERT_EQ(0, ssw_mkfile(ssw_file(cpus), PAGES));
	ASSERT_EQ(0, label(ssw_file(cpus), "ssw-cpu0"));
	t = ssw_on(ssw_file(cpus), "auto");
	ASSERT_LE(0, t);
	EXPECT_EQ(0, ssw_area(t, "cpu"));
	areas[0]++;
	/* A label that names no possible CPU counts for nothing. */
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		const char *file = ssw_file(cpus + 1 + i);

		ASSERT_EQ(0, ssw_mkfile(file, PAGES));
		ASSERT_EQ(0, label(file, none[i]));
		t = ssw_on(file, "auto");
		ASSERT_LE(0, t);
		want = ssw_auto_choice(areas, ssw_area(t, "device_node"));
		EXPECT_EQ(want, ssw_area(t, "cpu")) TH_LOG("label '%s'", none[i]);
		areas[want]++;
	}
	/* A number in the sysctl, and off, count more than the label. */
	ASSERT_EQ(0, ssw_swapoff(ssw_file(0)));
	t = ssw_on_cpu(ssw_file(0), 1);
	ASSERT_LE(0, t);
	EXPECT_EQ(1, ssw_area(t, "cpu"));
	ASSERT_EQ(0, ssw_swapoff(ssw_file(0)));
	t = ssw_on(ssw_file(0), "off");
	ASSERT_LE(0, t);
	EXPECT_EQ(-1, ssw_area(t, "cpu"));
}

SSW_TEST_F(bind, offline_cpu)
{
	int last = ssw_nr_possible() - 1, t;
	char name[24];

	if (last < 1)
		SKIP(return, "needs two CPUs");
	if (ssw_set_online(last, false))
		SKIP(return, "CPU %d cannot be taken offline", last);

	/* By number: allowed, it is a possible CPU. */
	ASSERT_EQ(0, ssw_mkfile(ssw_file(0), PAGES));
	t = ssw_on_cpu(ssw_file(0), last);
	ASSERT_LE(0, t);
	EXPECT_EQ(last, ssw_area(t, "cpu"));
	ASSERT_EQ(0, ssw_swapoff(ssw_file(0)));

	/* By auto: never, however many areas the online ones have. */
	ASSERT_EQ(0, ssw_bind("auto"));
	for (int i = 0; i < last * 2 && i < 16; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), PAGES));
		ASSERT_EQ(0, ssw_swapon(ssw_file(i)));
		EXPECT_NE(last, ssw_area(ssw_type_of(ssw_file(i)), "cpu"))
			TH_LOG("auto chose an offline CPU");
	}

	/* Nor by its label. */
	ASSERT_EQ(0, ssw_swapoff(ssw_file(0)));
	snprintf(name, sizeof(name), "ssw-cpu%d", last);
	ASSERT_EQ(0, label(ssw_file(0), name));
	ASSERT_EQ(0, ssw_swapon(ssw_file(0)));
	EXPECT_NE(last, ssw_area(ssw_type_of(ssw_file(0)), "cpu"))
		TH_LOG("a label chose an offline CPU");
	EXPECT_EQ(0, ssw_set_online(last, true));
}

SSW_TEST_F(bind, two_areas_one_cpu)
{
	int a, b;

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, ssw_mkfile(ssw_file(i), PAGES));
	}
	a = ssw_on_cpu(ssw_file(0), 0);
	b = ssw_on_cpu(ssw_file(1), 0);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	EXPECT_NE(a, b);
	EXPECT_EQ(0, ssw_area(a, "cpu"));
	EXPECT_EQ(0, ssw_area(b, "cpu"));
}

TEST_HARNESS_MAIN
