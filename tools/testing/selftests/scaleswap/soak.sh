#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Everything at once for SOAK_SECONDS (default 3600), in a guest of its own: see stress.c.
#
# Not part of the tests for its length; it wants a guest of its own. A line a
# minute; ends with "soak good" or "soak BAD", and status 0 or 1 (2 could not run, 3 hung).
. "$(dirname "$0")/common.sh"
need_root
need_on
need_dir

all_off
ret=0
slots_move &
# shellcheck disable=SC2086
"$DIR/stress" --soak --seconds "${SOAK_SECONDS:-3600}" --workers "${SOAK_WORKERS:-16}" \
	--pages 2048 --area-pages 16384 --watchdog "${SOAK_WATCHDOG:-900}" \
	${SSW_SEED:+--seed "$SSW_SEED"} || ret=$?
[ $ret = 0 ] || echo "soak: stress ended with status $ret"
kill $! && wait $! 2> /dev/null
[ ! -e $SYS/defrag/enabled ] || echo 0 > $SYS/defrag/enabled
[ ! -e $SYS/defrag/moved ] || echo "soak: $(cat $SYS/defrag/moved) pages moved, $(cat $SYS/defrag/drained) out of areas that were drained"

# Everything is freed, and said so by the system's own files.
same() { [ "$2" = "$3" ] || { echo "soak: $1: expected '$2', found '$3'"; ret=1; }; }
if [ $ret = 0 ]; then
	same "areas left on" "" "$(ls $SYS/areas)"
	same "SwapTotal" 0 "$(awk '/^SwapTotal:/ { print $2 }' /proc/meminfo)"
	same "SwapFree" 0 "$(awk '/^SwapFree:/ { print $2 }' /proc/meminfo)"
	same "bad lines in the kernel log" 0 "$(bad_lines)"
fi
[ $ret = 0 ] && echo "soak good" || echo "soak BAD"
exit $ret
