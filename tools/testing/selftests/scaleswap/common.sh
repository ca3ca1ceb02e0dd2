# SPDX-License-Identifier: GPL-2.0
# Shared by the shell tests: places, areas by the system's own programs, groups.
# shellcheck shell=bash disable=SC2034

DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=/dev/null
. "$DIR/../kselftest/ktap_helpers.sh"

SYS=/sys/kernel/mm/scaleswap
BIND=/proc/sys/vm/scaleswap/bind
CG=/sys/fs/cgroup
# A directory on an ext4 of its own; spare block devices, separated by spaces.
SSW_DIR=${SSW_DIR:-/mnt/scaleswap}
SSW_BDEVS=${SSW_BDEVS:-}

skip_all() {
	ktap_print_header
	ktap_skip_all "$*"
	exit "$KSFT_SKIP"
}

need_root() { [ "$(id -u)" = 0 ] || skip_all "needs root"; }
need_on() {
	[ "$(cat $SYS/enabled 2>/dev/null)" = 1 ] ||
		skip_all "the kernel was not booted with scaleswap=on"
}
need_dir() {
	[ -d "$SSW_DIR" ] && [ "$(stat -c %d "$SSW_DIR")" != "$(stat -c %d "$SSW_DIR/..")" ] ||
		skip_all "SSW_DIR is not a mounted ext4 of its own (see run-in-guest.sh)"
}

# check DESCRIPTION COMMAND... - one test; what the command prints says why it fails
check() {
	local what=$1 text
	shift
	if text=$("$@" 2>&1); then
		ktap_test_pass "$what"
	else
		printf '%s\n' "$text" | sed 's/^/# /'
		ktap_test_fail "$what"
	fi
}

# fail TEXT... - print why and return 1
fail() { echo "$*"; return 1; }

# same WHAT EXPECTED FOUND
same() { [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"; }

online_cpus() {
	local part a b
	for part in $(tr , ' ' </sys/devices/system/cpu/online); do
		a=${part%-*} b=${part#*-}
		seq "$a" "$b"
	done
}

# mkarea NAME KB - a formatted swap file in SSW_DIR; prints its path
mkarea() {
	local f=$SSW_DIR/$1
	[ ! -e "$f" ] || rm -f "$f"
	(umask 077 && fallocate -l "$2"KiB "$f") && mkswap "$f" >/dev/null || return 1
	echo "$f"
}

# area_of PATH - its type
area_of() {
	local d p
	for d in "$SYS"/areas/[0-9]*; do
		# no cat: hundreds of processes take long in an emulated guest
		{ read -r p <"$d/path"; } 2>/dev/null || continue
		[ "$p" = "$1" ] && { echo "${d##*/}"; return 0; }
	done
	return 1
}

# area_each_cpu KB - one swap file a CPU
area_each_cpu() {
	local c f
	for c in $(online_cpus); do
		f=$(mkarea "cpu$c" "$1") && echo "$c" >$BIND && swapon "$f" ||
			fail "cannot set up an area for CPU $c" || return 1
	done
	echo off >$BIND
}

# all_off - no areas, no swap files, bind=off
all_off() {
	local f lines
	# All of it first: lines are skipped when areas go while it is read.
	mapfile -t lines </proc/swaps
	for f in "${lines[@]}"; do
		f=${f%%[[:space:]]*}
		case $f in /*) swapoff "$f" 2>/dev/null ;; esac
	done
	for f in "$SSW_DIR"/*; do
		[ ! -f "$f" ] || rm -f "$f"
	done
	[ ! -e $BIND ] || echo off >$BIND 2>/dev/null
	return 0
}

# bad_lines - print how many lines of the kernel's log report a defect, or "unknown"
bad_lines() {
	local log
	log=$(dmesg | awk -f "$DIR/klog.awk"; exit "${PIPESTATUS[1]}") || { echo "unknown (klog.awk)"; return; }
	grep -cE 'WARNING:|BUG:|INFO: |possible (circular|recursive)|KASAN|blocked for more|soft lockup|Bad (swap|page|rss)|Unused swap' <<<"$log" || true
}

vmstat() { awk -v k="$1" '$1 == k { print $2 }' /proc/vmstat; }
stat_of() { cat "$SYS/stats/$1"; }

# no_leftovers GROUP MB - reclaim what a group whose processes were killed has in the swap cache
#
# It takes room in swap, which the next try would have to do without.
no_leftovers() {
	local i
	for i in {1..300}; do
		[ "$(cat "$1/memory.swap.current")" != 0 ] || return 0
		echo "$2M" 2>/dev/null >"$1/memory.reclaim"
		sleep 0.1
	done
	echo "$i looks, and $(cat "$1/memory.swap.current") bytes of swap are left"
}

# in_group MB COMMAND... - under memory.max of MB megabytes
#
# With ScaleSwap on, a group that is killed for lack of memory has failed: swap is free.
# Without it reclaim goes by statistics that are two seconds old, as in the base kernel,
# which kills now and then. Only then is the command tried three times.
# (memory.high does not kill, but lets the group wait for minutes.)
in_group() {
	local g=$CG/ssw-work mb=$1 ret kills try tries=3
	shift
	[ "$(cat $SYS/enabled 2>/dev/null)" != 1 ] || tries=1
	for try in $(seq $tries); do
		mkdir -p "$g" && echo $((mb << 20)) >"$g/memory.max" ||
			fail "no memory controller of cgroup v2 at $CG" || return 1
		[ -z "${ZSWAP_MAX:-}" ] || echo "$ZSWAP_MAX" >"$g/memory.zswap.max"
		# shellcheck disable=SC2016
		bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$g" "$@"
		ret=$?
		kills=$(awk '$1 == "oom_kill" { print $2 }' "$g/memory.events")
		[ "${kills:-0}" = 0 ] || no_leftovers "$g" "$mb"
		rmdir "$g" 2>/dev/null
		# stress-ng starts what was killed anew, and may report success.
		[ "${kills:-0}" != 0 ] && { [ $tries = 1 ] || [ $ret != 0 ]; } || return $ret
		echo "try $try of $tries: $kills killed for lack of memory: $*"
		echo "selftest: try $try of $tries: killed for lack of memory: $*" >/dev/kmsg
	done
	return 1
}

# workload MB-OF-MEMORY STAMP-OPTIONS... - the stamped workload, which must swap and be right
workload() {
	local mb=$1 before
	shift
	before=$(vmstat pswpout)
	in_group "$mb" "$DIR/stamp" --quiet "$@" ||
		fail "stamp $*: exit status $? with $mb MB" || return 1
	[ $(($(vmstat pswpout) - before)) -ge 1000 ] || [ -n "${MAY_NOT_WRITE:-}" ] ||
		fail "only $(($(vmstat pswpout) - before)) pages were swapped out: nothing was tested"
}

# Slots move until this is killed: areas are compacted, one at a time is drained, and defragd comes
# and goes.
slots_move() {
	local area
	while :; do
		for area in "$SYS"/areas/*/; do
			echo 1 > "$area/compact"
			echo 1 > "$area/drain"
			echo $((RANDOM % 2)) > "$SYS/defrag/enabled"
			sleep 0.$((RANDOM % 10))
			echo 0 > "$area/drain"
		done
		sleep 0.1
	done 2> /dev/null
}
