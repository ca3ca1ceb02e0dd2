#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The stamped workload over per-core areas, in all its forms: processes, threads, shared
# memory, copy-on-write, huge pages, zswap on top.
. "$(dirname "$0")/common.sh"
need_root
need_on
need_dir

# First of all: the workload itself must see a mixed-up page.
sees_a_mix_up() {
	"$DIR/stamp" --size 4 --procs 2 --spoil >/tmp/spoil.out
	same "exit status with two pages mixed up" 1 $? || return 1
	grep -q '^wrong=[1-9]' /tmp/spoil.out || fail "wrong pages not counted: $(cat /tmp/spoil.out)"
}

homes() { cat $SYS/areas/*/allocs_home | awk '{ s += $1 } END { print s }'; }

# Every CPU has an area with room: none allocates from another's.
pinned_use_own_area() {
	local a n size=64 kb=65536
	n=$(online_cpus | wc -l)
	# with very many CPUs, each still has some 4 MB of pages
	[ "$n" -le 16 ] || size=$((n * 4)) kb=8192
	all_off
	area_each_cpu $kb || return 1
	workload $((size * 3 / 8)) --size $size --procs "$n" --pin --rewrite || return 1
	for a in "$SYS"/areas/*; do
		[ "$(cat "$a/allocs_home")" -gt 100 ] ||
			fail "area $a: only $(cat "$a/allocs_home") pages by its own CPU" || return 1
		same "allocs_foreign of area $a" 0 "$(cat "$a/allocs_foreign")" || return 1
	done
}

# The areas of the case before will do, if there was one.
each_cpu_has_one() {
	[ "$(ls "$SYS/areas" | wc -l)" -gt 0 ] || area_each_cpu 65536
}

threads_pinned() {
	each_cpu_has_one || return 1
	workload 24 --size 64 --threads "$(online_cpus | wc -l)" --pin --full
}

threads_that_move() {
	each_cpu_has_one || return 1
	workload 24 --size 64 --threads 6 --random --full --passes 3
}

procs_random_rewrite() {
	each_cpu_has_one || return 1
	workload 24 --size 64 --procs 6 --random --rewrite --seed 7
}

copy_on_write() {
	each_cpu_has_one || return 1
	workload 24 --size 48 --procs 3 --cow
}

shared_memory() {
	each_cpu_has_one || return 1
	workload 24 --size 64 --procs 4 --shmem --pin
}

file_on_tmpfs() {
	local before ret=0
	each_cpu_has_one || return 1
	mkdir -p /tmp/ssw-tmpfs
	mount -t tmpfs -o size=128m tmpfs /tmp/ssw-tmpfs || fail "cannot mount a tmpfs" || return 1
	before=$(vmstat pswpout)
	# Pages of a file that is not mapped: written, pushed out, read back.
	# shellcheck disable=SC2016
	in_group 16 bash -c '
		cd /tmp/ssw-tmpfs
		mkfifo pipe
		for i in 1 2 3 4; do
			# Whole pages: a page written in pieces becomes active. In a small group, whose
			# statistics are late, active pages are not reclaimed at all for a while.
			dd if=pipe of=file$i bs=65536 iflag=fullblock 2>/dev/null &
			head -c 8388608 /dev/urandom | tee pipe | md5sum >sum$i && wait $! || exit 1
		done
		for i in 1 2 3 4; do
			md5sum <file$i | cmp - sum$i || exit 1
		done' || ret=1
	umount /tmp/ssw-tmpfs
	[ $ret = 0 ] || fail "a tmpfs file came back different" || return 1
	[ $(($(vmstat pswpout) - before)) -ge 1000 ] || fail "nothing was swapped out"
}

huge_pages() {
	local t=/sys/kernel/mm/transparent_hugepage dev c=0 ret=0
	[ -n "$SSW_BDEVS" ] || return 4
	[ -e $t/hugepages-64kB/enabled ] || return 4
	all_off
	for dev in $SSW_BDEVS; do
		mkswap "$dev" 131072 >/dev/null && echo "$c" >$BIND && swapon "$dev" ||
			fail "cannot swap on $dev" || return 1
		c=$((c + 1))
		[ -e /sys/devices/system/cpu/cpu$c ] || break
	done
	echo off >$BIND
	echo madvise >$t/hugepages-64kB/enabled
	echo never >$t/hugepages-2048kB/enabled
	local before
	before=$(cat $t/hugepages-64kB/stats/swpout)
	workload 32 --size 80 --threads 4 --thp --pin --rewrite --full || ret=1
	[ "$(cat $t/hugepages-64kB/stats/swpout)" -gt "$before" ] ||
		fail "no huge page was swapped out whole" || ret=1
	echo madvise >$t/hugepages-2048kB/enabled
	workload 40 --size 80 --procs 3 --thp --pin --full || ret=1
	echo never >$t/hugepages-64kB/enabled
	all_off
	return $ret
}

more_areas_than_cpus() {
	local i f n
	all_off
	echo auto >$BIND
	n=$(($(online_cpus | wc -l) * 3 + 1))
	for i in $(seq 1 $n); do
		f=$(mkarea "many$i" $((98304 / n))) && swapon "$f" || fail "area $i" || return 1
	done
	echo off >$BIND
	workload 24 --size 64 --procs 4 --pin
}

more_cpus_than_areas() {
	local f
	all_off
	f=$(mkarea one 98304) && echo 0 >$BIND && swapon "$f" || fail "one area" || return 1
	echo off >$BIND
	workload 24 --size 64 --procs 4 --pin
}

# Own areas too small, so that everything spills over, to plain ones too.
spill_over() {
	local f before
	all_off
	area_each_cpu 4096 || return 1
	f=$(mkarea plain 131072) && swapon "$f" || fail "plain area" || return 1
	before=$(stat_of alloc_plain)
	workload 24 --size 64 --procs 4 --pin --rewrite || return 1
	[ $(($(stat_of alloc_plain) - before)) -gt 100 ] ||
		fail "the plain area was not used though the others were full"
}

plain_beside_percore() {
	local f before
	all_off
	before=$(stat_of alloc_plain)
	f=$(mkarea plain 65536) && swapon -p 32000 "$f" || fail "plain area" || return 1
	area_each_cpu 65536 || return 1
	workload 24 --size 64 --procs 4 --pin || return 1
	same "pages for the plain area, though of the highest priority" "$before" \
		"$(stat_of alloc_plain)"
}

on_zswap() {
	local p=/sys/module/zswap/parameters ret=0
	[ -e $p/enabled ] || return 4
	all_off
	area_each_cpu 65536 || return 1
	echo 1 >$p/enabled || fail "cannot switch zswap on" || return 1
	local before
	before=$(vmstat zswpout)
	# Stamped thinly, the pages compress: most stay in zswap.
	MAY_NOT_WRITE=1 workload 24 --size 64 --procs 4 --pin --rewrite || ret=1
	[ $(($(vmstat zswpout) - before)) -gt 1000 ] || fail "zswap took no pages" || ret=1
	# Stamped in full they do not; and with little room in zswap they go to the areas.
	ZSWAP_MAX=$((4 << 20)) workload 24 --size 64 --threads 4 --full || ret=1
	echo 0 >$p/enabled
	return $ret
}

# Mounts a drive and unmounts it until told to stop, in the group of the workload.
GONE=/tmp/ssw-gone

# gone_clean DEVICE - leave nothing mounted, and no file system, however the test has ended
gone_clean() {
	local i loop
	touch $GONE.stop
	loop=$(cat $GONE.pid 2>/dev/null)
	# It may be in the middle of a round. It ends by itself, but a defect may keep it in umount.
	for ((i = 0; i < 600; i++)); do
		[ -n "$loop" ] && kill -0 "$loop" 2>/dev/null || break
		sleep 0.1
	done
	! grep -q " $GONE " /proc/mounts || umount $GONE || umount -l $GONE
	rm -rf $GONE $GONE.*
	rmdir $CG/ssw-work 2>/dev/null
	wipefs -qa "$1" 2>/dev/null || dd if=/dev/zero of="$1" bs=4096 count=16 2>/dev/null
}

# mounts_beside_reclaim DEVICE - a file system has a shrinker, and this group's inodes are on its
# lists: reclaim of the group calls it, and umount waits until no CPU does.
mounts_beside_reclaim() {
	local rounds
	mkdir -p $GONE
	rm -f $GONE.*
	mkfs.ext4 -q -F -O ^has_journal "$1" || fail "mkfs" || return 1
	# shellcheck disable=SC2016
	in_group 24 bash -c '
		dev=$0 gone=$1 stamp=$2
		while [ ! -e $gone.stop ]; do
			mount "$dev" $gone || exit 1
			for i in {1..60}; do echo >$gone/$i; done
			for i in {1..30}; do read -r x <$gone/$i; done
			umount $gone || exit 2
			echo >>$gone.rounds
		done &
		echo $! >$gone.pid
		"$stamp" --quiet --size 64 --procs 4 --random --passes 2
		ret=$?
		touch $gone.stop
		wait $! || ret=1$?
		exit $ret' "$1" $GONE "$DIR/stamp" || fail "exit status $?" || return 1
	rounds=$(cat $GONE.rounds 2>/dev/null | wc -l)
	[ "$rounds" -ge 3 ] || fail "mounted $rounds times"
}

file_systems_that_go() {
	local dev=${SSW_BDEVS%% *}
	[ -n "$dev" ] || return 4
	each_cpu_has_one || return 1
	# shellcheck disable=SC2064 # a test runs in a shell of its own
	trap "gone_clean $dev" EXIT
	mounts_beside_reclaim "$dev"
}

# cpus_go_and_come RANGE... - until $GONE.stop is there, one at a time; none stays away
cpus_go_and_come() {
	local c n=0 on
	while [ ! -e $GONE.stop ]; do
		for c in "$@"; do
			on=/sys/devices/system/cpu/cpu$c/online
			if echo 0 >$on 2>/dev/null; then
				n=$((n + 1))
				sleep 0.1
			fi
			echo 1 >$on || { echo "CPU $c does not come back"; return 1; }
		done
	done
	[ $n -ge 3 ] || fail "CPUs went offline $n times"
}

# What a CPU has counted before it went is still in the sum for which umount waits, and a task
# that is in a shrinker meanwhile drops its reference elsewhere.
file_systems_and_cpus_that_go() {
	local dev=${SSW_BDEVS%% *} c ret=0 cpus=()
	[ -n "$dev" ] || return 4
	for c in $(online_cpus); do
		[ ! -e /sys/devices/system/cpu/cpu"$c"/online ] || cpus+=("$c")
	done
	# CPU 0 may be one of them
	[ "${#cpus[@]}" -lt "$(online_cpus | wc -l)" ] || unset "cpus[0]"
	[ "${#cpus[@]}" -gt 0 ] || return 4
	each_cpu_has_one || return 1
	# shellcheck disable=SC2064 # a test runs in a shell of its own
	trap "touch $GONE.stop; wait; gone_clean $dev" EXIT
	rm -f $GONE.*
	cpus_go_and_come "${cpus[@]}" &
	c=$!
	mounts_beside_reclaim "$dev" || ret=1
	touch $GONE.stop
	wait $c || ret=1
	return $ret
}

charges_end_at_nought() {
	local g=$CG/ssw-work left
	all_off
	area_each_cpu 65536 || return 1
	mkdir -p $g && echo $((24 << 20)) >$g/memory.high || return 4
	# shellcheck disable=SC2016
	bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' $g "$DIR/stamp" --quiet --size 64 --procs 4 ||
		fail "stamp failed" || return 1
	left=$(cat $g/memory.swap.current)
	all_off
	same "memory.swap.current after swapoff" 0 "$(cat $g/memory.swap.current)" || return 1
	# Slots that are kept back in per-CPU caches may be charged until then, no more.
	[ "$left" -le $((64 * 4096 * $(online_cpus | wc -l))) ] ||
		fail "$left bytes of swap are charged to a group without processes" || return 1
	rmdir $g
}

verified_by_stress_ng() {
	local before
	command -v stress-ng >/dev/null && stress-ng --version >/dev/null 2>&1 || return 4
	all_off
	area_each_cpu 65536 || return 1
	before=$(vmstat pswpout)
	in_group 24 stress-ng --vm 4 --vm-bytes 64M --vm-keep --vm-method gray --verify \
		--vm-ops 1500 --timeout 300 --oomable 2>&1 || fail "stress-ng --verify: status $?" || return 1
	[ $(($(vmstat pswpout) - before)) -ge 1000 ] || fail "nothing was swapped out"
}

TESTS="sees_a_mix_up pinned_use_own_area threads_pinned threads_that_move procs_random_rewrite
copy_on_write shared_memory file_on_tmpfs huge_pages more_areas_than_cpus more_cpus_than_areas
spill_over plain_beside_percore on_zswap file_systems_that_go file_systems_and_cpus_that_go
charges_end_at_nought verified_by_stress_ng"

ktap_print_header
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $TESTS
ktap_set_plan $#
all_off
for t in "$@"; do
	echo "# RUN           $t"	# the runner names the case in which a guest hangs
	text=$("$t" 2>&1)
	case $? in
	0) ktap_test_pass "$t" ;;
	4) ktap_test_skip "$t" ;;
	*)
		printf '%s\n' "$text" | sed 's/^/# /'
		ktap_test_fail "$t"
		;;
	esac
done
all_off
ktap_finished
