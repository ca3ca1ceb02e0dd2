#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Everything that swaps at the same time, for SSW_STRESS_SECONDS (default 20): see stress.c.
. "$(dirname "$0")/common.sh"
need_root
need_on
need_dir

# First of all: it must see a mixed-up page.
sees_a_mix_up() {
	"$DIR/stress" --spoil --seconds 5
	same "exit status with two pages mixed up" 1 $?
}

for_a_while() {
	"$DIR/stress" --watchdog 400 --seconds "${SSW_STRESS_SECONDS:-20}" ${SSW_SEED:+--seed "$SSW_SEED"}
}

# The same with all that is in soak.sh, so that the long run does not break unseen.
everything_at_once() {
	"$DIR/stress" --soak --watchdog 400 --seconds "${SSW_STRESS_SECONDS:-20}" ${SSW_SEED:+--seed "$SSW_SEED"}
}

# Evictors take pages of every group meanwhile, at its limit or not, and there are more and fewer.
with_evictors() {
	local sys=/sys/kernel/mm/scaleswap/evict file=/sys/kernel/debug/scaleswap/evict was freed ret i
	was=$(cat $sys/threads) && [ -e $file ] || { echo "no evictors"; return $SKIP; }
	echo 1 > $sys/threads || { echo "not booted with evict"; return $SKIP; }
	freed=$(cat $sys/freed)
	while :; do
		for i in 1 2 0 16 3; do
			for group in /sys/fs/cgroup/*/; do
				echo "$(stat -c %i "$group") 400" > $file
			done
			echo $i > $sys/threads
		done
	done 2> /dev/null &
	"$DIR/stress" --watchdog 400 --seconds "${SSW_STRESS_SECONDS:-20}" ${SSW_SEED:+--seed "$SSW_SEED"}
	ret=$?
	kill $! && wait $! 2> /dev/null
	echo "$was" > $sys/threads
	freed=$(($(cat $sys/freed) - freed))
	echo "$freed pages freed by evictors"
	[ $freed -gt 0 ] || ret=1
	# What they held has come to its end.
	for i in $(seq 300); do
		echo 1 > /proc/sys/vm/stat_refresh
		grep -q '^nr_isolated_anon 0$' /proc/vmstat && return $ret
		sleep 0.2
	done
	grep isolated /proc/vmstat
	return 1
}

# Slots move meanwhile.
with_moves() {
	local sys=/sys/kernel/mm/scaleswap/defrag moved drained ret
	[ -e $sys/enabled ] || { echo "no defragmentation"; return $SKIP; }
	echo 0 > $sys/enabled || { echo "not booted with defrag"; return $SKIP; }
	moved=$(cat $sys/moved) drained=$(cat $sys/drained)
	slots_move &
	"$DIR/stress" --watchdog 400 --seconds "${SSW_STRESS_SECONDS:-20}" ${SSW_SEED:+--seed "$SSW_SEED"}
	ret=$?
	kill $! && wait $! 2> /dev/null
	echo 0 > $sys/enabled
	moved=$(($(cat $sys/moved) - moved)) drained=$(($(cat $sys/drained) - drained))
	echo "$moved pages moved, $drained of them out of areas that are drained"
	[ $drained -gt 0 ] || ret=1
	return $ret
}

SKIP=4
TESTS="sees_a_mix_up for_a_while with_evictors with_moves everything_at_once"

ktap_print_header
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $TESTS
ktap_set_plan $#
all_off
for t in "$@"; do
	echo "# RUN           $t"	# the runner names the case in which a guest hangs
	text=$("$t" 2>&1)
	ret=$?
	printf '%s\n' "$text" | sed 's/^/# /'
	case $ret in
	0) ktap_test_pass "$t" ;;
	"$SKIP") ktap_test_skip "$t" ;;
	*) ktap_test_fail "$t" ;;
	esac
done
all_off
ktap_finished
