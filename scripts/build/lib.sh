# SPDX-License-Identifier: GPL-2.0
# Shared by the bash scripts: paths, messages, the build lock.
# shellcheck shell=bash
#
# Source it first: it sets ROOT (the repository), BUILD (where everything is
# built) and JOBS, and exports the last two for what the script calls. Python programs
# take ROOT and BUILD from paths.py, which has the same default.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD:-${HOME:-/root}/.cache/scaleswap/build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
JOBS=${JOBS:-$(nproc)}
export BUILD JOBS

ME=$(basename "$0") ME=${ME%.*}
say()    { printf '%s: %s\n' "$ME" "$*"; }
notice() { printf '%s: NOTICE: %s\n' "$ME" "$*" >&2; }
warn()   { printf '%s: WARNING: %s\n' "$ME" "$*" >&2; }
die()    { printf '%s: ERROR: %s\n' "$ME" "$*" >&2; exit 1; }

# build_lock - keep other runs off $BUILD/{base,tree} until this script ends.
# A script called by one that holds the lock goes straight on (SSW_LOCKED).
build_lock() {
	mkdir -p "$BUILD" || die "cannot create $BUILD; set BUILD= to a directory you can write to"
	[ "${SSW_LOCKED:-}" = "$BUILD" ] && return 0
	exec 9>"$BUILD/.lock"
	if ! flock -n 9; then
		say "waiting for another run that uses $BUILD"
		flock 9
	fi
	export SSW_LOCKED=$BUILD
}

# base_value KEY - the value of KEY in the file BASE
base_value() { sed -n "s/^$1=//p" "$ROOT/BASE"; }

# kernel_version DIR - "6.12.117" from the Makefile of a kernel tree
kernel_version() {
	sed -n 's/^VERSION = *//p;s/^PATCHLEVEL = *//p;s/^SUBLEVEL = *//p' "$1/Makefile" 2>/dev/null |
		head -3 | paste -sd.
}
