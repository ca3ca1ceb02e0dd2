#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A kernel that was booted without scaleswap: everything is there, says so, and swap works
# as in the base kernel.
. "$(dirname "$0")/common.sh"
need_root
need_dir
[ -e $SYS/enabled ] || skip_all "a kernel without CONFIG_SCALESWAP"
[ "$(cat $SYS/enabled)" = 0 ] || skip_all "the kernel was booted with scaleswap=on"

says_off() {
	same "$SYS/enabled" 0 "$(cat $SYS/enabled)" || return 1
	same "$SYS/areas_max" 247 "$(cat $SYS/areas_max)" || return 1
	same "$BIND" off "$(cat $BIND)"
}

# refused VALUE ERROR
refused() {
	local text
	text=$({ echo "$1" >$BIND; } 2>&1) && fail "writing '$1' succeeded" && return 1
	case $text in
	*"$2"*) ;;
	*) fail "writing '$1': expected '$2', got: $text" || return 1 ;;
	esac
	same "the setting after writing '$1'" off "$(cat $BIND)"
}

bind_is_refused() {
	refused auto "Operation not supported" || return 1
	refused 0 "Operation not supported" || return 1
	refused 1 "Operation not supported" || return 1
	echo off >$BIND || fail "writing 'off' must work"
}

says_what_to_do() {
	dmesg | grep -vi 'command line' | grep -q 'scaleswap: .*scaleswap=on' ||
		fail "the kernel log does not tell how to switch it on"
}

areas_are_plain() {
	local f i
	for i in 1 2 3; do
		f=$(mkarea "off$i" 65536) && swapon -p $((10 - i)) "$f" || fail "swapon $i" || return 1
	done
	same "directories in $SYS/areas" 0 "$(ls $SYS/areas 2>/dev/null | wc -l)"
}

# As in the base: the one of highest priority first, and only it.
priorities_count() {
	workload 24 --size 56 --procs 4 --pin || return 1
	same "areas with pages ever used" 0 "$(awk 'NR > 2 { s += $4 } END { print s + 0 }' /proc/swaps)"
}

workloads() {
	workload 24 --size 64 --threads 4 --pin --full --rewrite || return 1
	workload 24 --size 64 --procs 4 --random --shmem || return 1
	workload 24 --size 48 --procs 3 --cow
}

no_counters_move() {
	local s
	for s in "$SYS"/stats/alloc_* "$SYS"/stats/fallback/*; do
		[ -e "$s" ] || continue
		same "$s" 0 "$(cat "$s")" || return 1
	done
}

swapoff_works() {
	swapoff -a
	same "areas left" 0 "$(awk 'NR > 1' /proc/swaps | wc -l)"
}

ktap_print_header
set -- says_off bind_is_refused says_what_to_do areas_are_plain priorities_count workloads \
	no_counters_move swapoff_works
ktap_set_plan $#
all_off
for t in "$@"; do
	check "$t" "$t"
done
all_off
ktap_finished
