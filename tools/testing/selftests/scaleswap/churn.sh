#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Many groups that come and go for CHURN_SECONDS (default 1200), with CPUs and memory
# blocks that go and come: do LRU shards get lost, or pages in them?
#
# CHURN_GROUPS groups (default 200) with a tight limit each; CHURN_JOBS processes (8)
# that swap stamped pages in them, are moved from one to another, and end; a group whose
# process ended is removed and made anew. CHURN_LRU_GEN: y or n to turn the multi-generational
# LRU on or off, a number to switch it that often, in seconds; default: as it is. Not part of the tests for its length;
# it wants a guest of its own. A line a minute; ends with "churn good" or
# "churn BAD", and status 0 or 1.
. "$(dirname "$0")/common.sh"
need_root
need_on
need_dir

gen=/sys/kernel/mm/lru_gen/enabled lru_gen=${CHURN_LRU_GEN:-}
seconds=${CHURN_SECONDS:-1200} groups=${CHURN_GROUPS:-200} jobs=${CHURN_JOBS:-8}
top=$CG/ssw-churn
LRU=$SYS/lru
ret=0
bad() { echo "churn: $*"; ret=1; }
num() { cat "$1" 2>/dev/null || echo 0; }
meminfo() { awk -v k="$1:" '$1 == k { print $2 }' /proc/meminfo; }
# Anonymous pages on lists, and as counted. By one process, that folds the CPUs' parts of the
# counters before it looks: each that comes and goes in between changes them.
lists_and_counted() {
	awk 'BEGIN { refresh = "/proc/sys/vm/stat_refresh"; print 1 >refresh; close(refresh) }
		FNR == 1 { file++ }
		file == 1 && FNR > 1 { lists += $4 + $5 }
		file == 2 && /^nr_(in)?active_anon / { counted += $2 }
		END { print lists + 0, counted + 0 }' /sys/kernel/debug/scaleswap/lru /proc/vmstat
}

[ "$(num $LRU/shards)" -gt 0 ] || skip_all "LRU lists are not sharded here"
RANDOM=${SSW_SEED:=$((EPOCHSECONDS % 32768))}
echo "churn: $groups groups, $jobs processes, $seconds s, seed $SSW_SEED"

all_off
for d in $SSW_BDEVS; do
	mkswap "$d" >/dev/null && echo auto >"$BIND" && swapon "$d" || bad "cannot swap to $d"
done
c=$(mkarea churn 262144) && echo auto >"$BIND" && swapon "$c" || bad "cannot swap to a file"
echo off >"$BIND"

# A group of two megabytes: less than its processes use.
make_group() { mkdir "$top/$1" && echo 2M >"$top/$1/memory.max"; }

# A group may be out of memory while all its pages are on their way to a slow emulated
# drive, as in the base kernel: 6 of 24 such workloads were killed there. The kernel prints
# the state of 0.2 s later, which says little. More kills than this are too many:
ooms=0
look_at_ooms() {
	ooms=$(awk '$1 == "oom_kill" { print $2 }' "$top/memory.events")
	[ "$ooms" -le $((starts / 3 + 10)) ] || bad "$ooms OOM kills in $starts workloads"
}

# remove_group N - wait for what is on its way out; also as the last thing
remove_group() {
	local i
	for ((i = 0; i < 100; i++)); do
		rmdir "$top/$1" 2>/dev/null && return 0
		sleep 0.05
	done
	bad "group $1 cannot be removed: $(tr '\n' ' ' <"$top/$1/cgroup.procs")"
	return 1
}

# Someone in one of four moves to another group, with pages and all; half of them have
# their limit changed meanwhile; some are told to end in the middle.
declare -A at=() 		# group of a process
died=0 starts=0 ends=0 moves=0 kills=0 removed=0 cpus=0 blocks=0 blocks_tried=0
start_job() {
	local g=$((RANDOM % groups)) pid how
	case $((RANDOM % 4)) in
	0) how="--procs 1 --rewrite" ;;
	1) how="--threads 2 --random" ;;
	2) how="--procs 2 --shmem" ;;
	*) how="--procs 1 --full --pin" ;;
	esac
	# shellcheck disable=SC2016,SC2086
	bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$top/g$g" \
		"$DIR/stamp" --quiet --size 4 --passes $((2 + RANDOM % 4)) --seed $RANDOM $how >>/tmp/churn.out 2>&1 &
	pid=$!
	at[$pid]=$g
	starts=$((starts + 1))
}

end_job() {
	local pid=$1 status=$2 g=${at[$1]:-} i
	[ -n "$g" ] || return 0
	unset "at[$pid]"
	ends=$((ends + 1))
	case $status in
	0) ;;
	2 | 137)
		look_at_ooms
		if [ -z "${killed[$pid]:-}" ]; then
			died=$((died + 1))
			[ $died -le "$ooms" ] || bad "a workload in group $g could not run, or was killed"
		fi
		;;
	*) bad "a workload in group $g ended with status $status: $(tail -5 /tmp/churn.out)" ;;
	esac
	unset "killed[$pid]"
	# Others may have moved in.
	for i in "${at[@]}"; do [ "$i" != "$g" ] || return 0; done
	# Processes of a killed workload end a little later than its first.
	for ((i = 0; i < 40; i++)); do
		rmdir "$top/g$g" 2>/dev/null && break
		sleep 0.02
	done
	[ ! -d "$top/g$g" ] || return 0
	removed=$((removed + 1))
	make_group "g$g"
}
declare -A killed=()

disturb_job() {
	local pids=("${!at[@]}") pid g p
	[ ${#pids[@]} -gt 0 ] || return 0
	pid=${pids[RANDOM % ${#pids[@]}]} g=$((RANDOM % groups))
	case $((RANDOM % 8)) in
	0)
		killed[$pid]=1
		# with those that it started
		for p in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) "$pid"; do
			kill -9 "$p" 2>/dev/null
		done
		kills=$((kills + 1))
		;;
	1) echo $((RANDOM % 2048 + 1536))K >"$top/g$g/memory.max" 2>/dev/null ;;
	2) echo 1M >"$top/g$g/memory.reclaim" 2>/dev/null ;;
	*)
		for p in "$pid" $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do
			echo "$p" >"$top/g$g/cgroup.procs" 2>/dev/null && moves=$((moves + 1))
		done
		at[$pid]=$g
		;;
	esac
}

# A CPU is away for two seconds or so, a block for five; longer while one is being emptied.
cpu_away=
toggle_cpu() {
	local n
	if [ -n "$cpu_away" ]; then
		echo 1 >"/sys/devices/system/cpu/cpu$cpu_away/online" || bad "CPU $cpu_away does not come back"
		cpu_away=
	else
		n=$(nproc --all)
		[ "$n" -gt 1 ] || return 0
		cpu_away=$((1 + RANDOM % (n - 1)))
		if echo 0 >"/sys/devices/system/cpu/cpu$cpu_away/online" 2>/dev/null; then
			cpus=$((cpus + 1))
		else
			cpu_away=
		fi
	fi
}
block_away=
toggle_block() {
	local all=() b
	if [ -n "$block_away" ]; then
		echo online_movable >"$block_away/state" || bad "$block_away does not come back"
		block_away=
		return
	fi
	for b in /sys/devices/system/memory/memory*; do
		[ "$(cat "$b/valid_zones" 2>/dev/null)" != Movable ] || all+=("$b")
	done
	[ ${#all[@]} -gt 0 ] || return 0
	b=${all[RANDOM % ${#all[@]}]}
	blocks_tried=$((blocks_tried + 1))
	# Long waits when there is little else to use, and with a debug kernel: not for ever.
	timeout -s INT 30 bash -c "echo offline >$b/state" 2>/dev/null || true
	[ "$(cat "$b/state")" != offline ] || { blocks=$((blocks + 1)); block_away=$b; }
}

# Shards have lists for both; processes may be killed when it is switched, with one list, too.
switches=0
switch_lru_gen() {
	local now want=y
	now=$(cat $gen) || bad "a kernel without MGLRU"
	[ "$now" = 0x0000 ] || want=n
	echo $want >$gen || bad "MGLRU cannot be switched"
	switches=$((switches + 1))
}
case $lru_gen in
y | n) echo "$lru_gen" >$gen || bad "MGLRU cannot be turned on or off" ;;
esac

mkdir -p "$top" && echo +memory >"$top/cgroup.subtree_control" || bad "no memory controller"
for ((g = 0; g < groups; g++)); do make_group "g$g"; done

# A first round creates the shards that stay: those of the parent groups.
settle() {
	local i before=-1 seen
	for ((i = 0; i < 60; i++)); do
		echo 1 >/proc/sys/vm/drop_caches
		seen=$(num $LRU/allocated)
		[ "$seen" != "$before" ] || [ $i -lt 4 ] || break
		before=$seen
		sleep 0.5
	done
	echo "$seen"
}
for c in $(online_cpus); do
	taskset -c "$c" "$DIR/stamp" --quiet --size 1 --procs 1 --passes 1 >/dev/null || bad "the first workload"
done

empty_first() {
	local g
	for ((g = 0; g < groups; g++)); do remove_group "g$g"; done
}
empty_first
# Those of the root and of the group above all others come when the first needs one.
start_shards=$(settle)
nodes=$(set -- /sys/devices/system/node/node[0-9]*; echo $#)
most=$((start_shards + 2 * $(num $LRU/shards) * nodes))
for ((g = 0; g < groups; g++)); do make_group "g$g"; done

start=$EPOCHSECONDS said=0 peak=0 next_cpu=0 next_block=0 next_gen=0
while [ $((EPOCHSECONDS - start)) -lt "$seconds" ] && [ $ret = 0 ]; do
	while [ ${#at[@]} -lt "$jobs" ]; do start_job; done
	disturb_job
	# By time: a round takes 0.2 s, with a debug kernel 10 s.
	[ $EPOCHSECONDS -lt $next_cpu ] || { toggle_cpu; next_cpu=$((EPOCHSECONDS + 2)); }
	[ $EPOCHSECONDS -lt $next_block ] || { toggle_block; next_block=$((EPOCHSECONDS + 5)); }
	case $lru_gen in
	[1-9]*) [ $EPOCHSECONDS -lt $next_gen ] || { switch_lru_gen; next_gen=$((EPOCHSECONDS + lru_gen)); } ;;
	esac
	# Processes that have ended. The shell keeps a status, so a later wait finds it, too.
	for pid in "${!at[@]}"; do
		{ read -r line <"/proc/$pid/stat"; } 2>/dev/null || line=
		case $line in '' | *\)\ Z*) ;; *) continue ;; esac
		wait "$pid"
		end_job "$pid" $?
	done
	read -r seen <$LRU/allocated
	[ "$seen" -le "$peak" ] || peak=$seen
	if [ $((EPOCHSECONDS - start)) -ge $((said + 60)) ]; then
		said=$((EPOCHSECONDS - start))
		echo "churn: $said s: $starts started, $moves moved, $kills killed, $removed groups made anew, $cpus CPUs and $blocks of $blocks_tried blocks offline, MGLRU $(cat $gen 2>/dev/null) after $switches switches, $seen shards, $(meminfo SwapFree) of $(meminfo SwapTotal) kB of swap free"
	fi
	sleep 0.1
done
[ -z "$cpu_away" ] || toggle_cpu
[ -z "$block_away" ] || toggle_block
for pid in "${!at[@]}"; do
	wait "$pid"
	end_job "$pid" $?
done
look_at_ooms
echo "churn: $starts workloads, $ends ended, $died of them by $ooms OOM kills under writeback, $moves moves, $kills kills, $removed groups made anew, $cpus CPUs and $blocks of $blocks_tried blocks offline; MGLRU switched $switches times; $start_shards shards at the start, $peak at the most"
[ "$moves" -gt 0 ] && [ "$removed" -gt 0 ] || bad "nothing was moved, or removed"
[ "$cpus" -gt 0 ] || [ "$(nproc --all)" = 1 ] || bad "no CPU ever went offline"
[ "$switches" -gt 0 ] || case $lru_gen in [1-9]*) bad "MGLRU was never switched" ;; esac
[ "$blocks" -gt 0 ] || [ "$blocks_tried" -lt 10 ] || bad "no memory block ever went offline"
[ "$blocks_tried" -gt 0 ] || echo "churn: there is no block of movable memory (movablecore=): none went offline"
grep -h wrong /tmp/churn.out | grep -v 'wrong=0' | head -5
# Its pages are the groups', and in swap they are no process's.
rm -f /tmp/churn.out

# --- everything is given back ---
for ((g = 0; g < groups; g++)); do
	echo 4M >"$top/g$g/memory.reclaim" 2>/dev/null
	remove_group "g$g"
done
# Swap of the machine's own processes, this shell's among them, is counted as theirs; so are
# pages that they have read and still have in swap, which VmSwap no longer counts.
own_swap() {
	cat /proc/[0-9]*/status 2>/dev/null |
		awk -v cached="$(meminfo SwapCached)" '/^VmSwap:/ { s += $2 } END { print s + cached }'
}
until=$((SECONDS + 240))
while :; do
	own=$(own_swap)
	left=$(($(meminfo SwapTotal) - $(meminfo SwapFree)))
	shards=$(num $LRU/allocated)
	# the groups' own, each a shard for each CPU and node at the most
	[ $left -le "$own" ] && [ "$shards" -le $most ] && break
	[ $SECONDS -lt $until ] || break
	echo 16M >"$top/memory.reclaim" 2>/dev/null
	echo 1 >/proc/sys/vm/drop_caches
	sleep 0.5
done
[ "$(meminfo SwapTotal)" -gt 0 ] || bad "no swap at the end"
[ $left -le "$own" ] || bad "$left kB of swap stay in use, $own kB of them by processes"
[ "$shards" -le "$most" ] ||
	bad "$shards shards stay, $start_shards there were, at most $most there should be"
rmdir "$top" || bad "$top cannot be removed: $(ls -d "$top"/*/ 2>/dev/null | head -3)"
if [ -r /sys/kernel/debug/scaleswap/lru ]; then
	for ((i = 0; i < 40; i++)); do
		seen=$(awk 'NR > 1 && $3 { n++ } END { print n + 0 }' /sys/kernel/debug/scaleswap/lru)
		[ "$seen" != "$(num $LRU/allocated)" ] || break
		sleep 0.25
	done
	[ "$seen" = "$(num $LRU/allocated)" ] || bad "$(num $LRU/allocated) shards, but $seen can be found"
	for ((i = 0; i < 40; i++)); do
		echo 1 >/proc/sys/vm/drop_caches
		read -r sum all < <(lists_and_counted)
		[ "$sum" != "$all" ] || break
		sleep 0.25
	done
	[ "$sum" = "$all" ] || bad "$sum anonymous pages on lists, $all counted"
fi
all_off
[ "$(meminfo SwapTotal)" = 0 ] || bad "areas cannot be turned off"
splats=$(bad_lines)
[ "$splats" = 0 ] || bad "$splats bad lines in the kernel log"
[ $ret = 0 ] && echo "churn good" || echo "churn BAD"
exit $ret
