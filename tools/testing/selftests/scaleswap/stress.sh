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

TESTS="sees_a_mix_up for_a_while everything_at_once"

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
	if [ $ret = 0 ]; then ktap_test_pass "$t"; else ktap_test_fail "$t"; fi
done
all_off
ktap_finished
