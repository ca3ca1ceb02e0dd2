#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Not part of the usual run: everything of iaa_races.c for IAA_SECONDS (3600). Ends with "iaa good" or
# "iaa BAD". Random numbers come of SSW_SEED.
cd "$(dirname "$0")" || exit 1
export SSW_IAA_SECONDS=${IAA_SECONDS:-3600}
if ./iaa_races -t everything; then
	echo "iaa good"
else
	echo "iaa BAD"
	exit 1
fi
