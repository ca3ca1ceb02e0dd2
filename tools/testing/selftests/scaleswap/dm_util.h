/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dm_util.h - devices of device mapper for the ScaleSwap selftests, without its library
 */
#ifndef SSW_DM_UTIL_H
#define SSW_DM_UTIL_H

#include <stdbool.h>
#include <stddef.h>

/* The device that the functions below are about: one of several may lie on another. */
extern const char *dm_name;

int dm_make(const char *target, const char *params, long long sectors, char *dev, size_t len);
int dm_load(const char *target, const char *params, long long sectors);
int dm_linear(const char *over, long long sectors, char *dev, size_t len);
int dm_suspend(bool on);
int dm_gone(void);

#endif /* SSW_DM_UTIL_H */
