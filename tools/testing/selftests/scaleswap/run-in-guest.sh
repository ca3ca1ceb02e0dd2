#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run ScaleSwap selftests in a throw-away guest: run-in-guest.sh [all | TEST[:CASE]...]
#
# The first NVMe drive gets an ext4 that holds swap files, the others are spare devices:
# everything on them is lost. A TEST is a name in this directory, TEST:CASE one case of a C
# test or an argument of a shell test; "all", the default, is what kselftest's install wrote
# to ../kselftest-list.txt. Output is KTAP in the form of kselftest's runner: each test's own
# lines behind "# ".
set -u
DIR=$(cd "$(dirname "$0")" && pwd)
case $DIR in /ssw/*) DIR=/selftests ;; esac

if [ "${*:-all}" = all ]; then
	mapfile -t all < <(sed -n 's/^scaleswap://p' "$DIR/../kselftest-list.txt")
	[ ${#all[@]} -gt 0 ] || { echo "run-in-guest.sh: there is no list of the tests" >&2; exit 2; }
	set -- "${all[@]}"
fi

first=
SSW_BDEVS=
for d in /dev/nvme[0-9]n1 /dev/nvme[0-9][0-9]n1; do
	[ -b "$d" ] || continue
	if [ -z "$first" ]; then first=$d; else SSW_BDEVS="$SSW_BDEVS $d"; fi
done
export SSW_BDEVS=${SSW_BDEVS# } SSW_DIR=/mnt/scaleswap
if [ -n "$first" ]; then
	# No journal: an emulated drive is slow enough.
	mkdir -p "$SSW_DIR"
	mkfs.ext4 -q -F -O ^has_journal "$first" && mount "$first" "$SSW_DIR" ||
		echo "# cannot make a file system on $first" >&2
fi

echo "TAP version 13"
echo "1..$#"
n=0 bad=0
for t in "$@"; do
	n=$((n + 1))
	name=${t%%:*}
	args=()
	case $t in
	*.sh:*) args=("${t#*:}") ;;
	*:*) args=(-t "${t#*:}") ;;
	esac
	echo "# selftests: scaleswap: $name"
	"$DIR/$name" "${args[@]}" 2>&1 | while IFS= read -r line; do printf '# %s\n' "$line"; done
	ret=${PIPESTATUS[0]}
	case $ret in
	0) echo "ok $n selftests: scaleswap: $name" ;;
	4) echo "ok $n selftests: scaleswap: $name # SKIP" ;;
	*)
		echo "not ok $n selftests: scaleswap: $name # exit=$ret"
		bad=1
		;;
	esac
	# What a failed test leaves must not fail the next.
	mapfile -t lines </proc/swaps
	for f in "${lines[@]}"; do
		f=${f%%[[:space:]]*}
		case $f in /*) swapoff "$f" ;; esac
	done
	[ ! -e /proc/sys/vm/scaleswap/bind ] || echo off >/proc/sys/vm/scaleswap/bind
done
exit $bad
