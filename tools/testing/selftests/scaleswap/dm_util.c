// SPDX-License-Identifier: GPL-2.0
/*
 * dm_util.c - devices of device mapper for the ScaleSwap selftests, without its library
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dm_util.h"

const char *dm_name = "sswdm";

static int dm_ioctl(unsigned long cmd, struct dm_ioctl *dmi, size_t size)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	dmi->version[0] = DM_VERSION_MAJOR;
	dmi->data_size = size;
	dmi->data_start = sizeof(*dmi);
	snprintf(dmi->name, sizeof(dmi->name), "%s", dm_name);
	ret = ioctl(fd, cmd, dmi) ? -errno : 0;
	close(fd);
	return ret;
}

int dm_gone(void)
{
	struct dm_ioctl dmi = { };

	return dm_ioctl(DM_DEV_REMOVE, &dmi, sizeof(dmi));
}

/* Have a device be one @target. As dmsetup(8) load, and resume. */
int dm_load(const char *target, const char *params, long long sectors)
{
	struct {
		struct dm_ioctl dmi;
		struct dm_target_spec spec;
		char params[512];
	} t = { };
	struct dm_ioctl dmi = { };
	int ret;

	t.dmi.target_count = 1;
	t.spec.length = sectors;
	strcpy(t.spec.target_type, target);
	snprintf(t.params, sizeof(t.params), "%s", params);
	ret = dm_ioctl(DM_TABLE_LOAD, &t.dmi, sizeof(t));
	/* Not suspended, so this resumes it. */
	return ret ?: dm_ioctl(DM_DEV_SUSPEND, &dmi, sizeof(dmi));
}

/* One @target over all of a device; its path goes to @dev. As dmsetup(8) create. */
int dm_make(const char *target, const char *params, long long sectors, char *dev, size_t len)
{
	struct dm_ioctl dmi = { };
	int ret;

	ret = dm_ioctl(DM_DEV_CREATE, &dmi, sizeof(dmi));
	if (ret)
		return ret;
	snprintf(dev, len, "/dev/dm-%u", minor(dmi.dev));
	ret = dm_load(target, params, sectors);
	if (ret)
		dm_gone();
	return ret;
}

/* A linear device over @sectors of @over, from sector 64. -ENODEV if @over is NULL. */
int dm_linear(const char *over, long long sectors, char *dev, size_t len)
{
	char params[64];

	if (!over)
		return -ENODEV;
	snprintf(params, sizeof(params), "%s 64", over);
	return dm_make("linear", params, sectors, dev, len);
}

/* Suspend or resume. While the device is suspended, requests to it wait. */
int dm_suspend(bool on)
{
	struct dm_ioctl dmi = { .flags = on ? DM_SUSPEND_FLAG | DM_SKIP_LOCKFS_FLAG : 0 };

	return dm_ioctl(DM_DEV_SUSPEND, &dmi, sizeof(dmi));
}
