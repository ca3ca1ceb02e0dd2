#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The system's own programs with many areas: mkswap, swapon, swapoff, free, /proc/swaps,
# /proc/meminfo.
. "$(dirname "$0")/common.sh"
need_root
need_on
need_dir

N=34	# more than the base's 23 to 32 types
KB=400

areas_on() {
	local i f
	echo auto >$BIND || return 1
	for i in $(seq 1 $N); do
		f=$(mkarea "tool$i" $KB) || fail "mkswap of area $i" || return 1
		swapon "$f" || fail "swapon of area $i" || return 1
	done
	echo off >$BIND
	same "areas in $SYS" $N "$(ls $SYS/areas | wc -l)"
}

# Names and numbers line by line: swapon -s, swapon --show, /proc/swaps.
swapon_s() {
	swapon -s | awk 'NR > 1 { print $1, $3, $4, $5 }' >/tmp/ssw-s
	awk 'NR > 1 { print $1, $3, $4, $5 }' /proc/swaps >/tmp/ssw-proc
	cmp /tmp/ssw-s /tmp/ssw-proc || fail "swapon -s and /proc/swaps differ" || return 1
	same "lines of swapon --show" $N "$(swapon --show --noheadings | wc -l)" || return 1
	same "first name in swapon --show" "$SSW_DIR/tool1" \
		"$(swapon --show=NAME --noheadings | head -1)" || return 1
	same "sum in swapon --show" $((N * (KB - 4) * 1024)) \
		"$(swapon --show=SIZE --noheadings --bytes | awk '{ s += $1 } END { print s }')"
}

free_is_right() {
	local total used free_ want
	read -r _ total used free_ < <(free -k | grep -i '^swap')
	want=$(awk 'NR > 1 { s += $3 } END { print s }' /proc/swaps)
	same "total of free" "$want" "$total" || return 1
	same "sum of the files" $((N * (KB - 4))) "$total" || return 1
	same "used plus free" "$total" $((used + free_)) || return 1
	want=$(awk 'NR > 1 { s += $4 } END { print s + 0 }' /proc/swaps)
	same "used of free" "$want" "$used" || return 1
	same "SwapTotal" "$total" "$(awk '/^SwapTotal/ { print $2 }' /proc/meminfo)"
}

# The same sums with pages in the areas.
in_use() {
	local used
	# A background holder: stamps more than its group may have, and waits.
	mkdir -p $CG/ssw-hold && echo $((8 << 20)) >$CG/ssw-hold/memory.high || return 1
	# shellcheck disable=SC2016
	bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' $CG/ssw-hold \
		"$DIR/stamp" --size 16 --procs 1 --seconds 600 >/dev/null 2>&1 &
	holder=$!
	for _ in $(seq 3000); do
		used=$(awk 'NR > 1 { s += $4 } END { print s + 0 }' /proc/swaps)
		[ "$used" -gt 4096 ] && break
		sleep 0.1
	done
	# Frozen, so that the numbers stand still while they are compared.
	echo 1 >$CG/ssw-hold/cgroup.freeze
	for _ in $(seq 3000); do
		grep -q '^frozen 1' $CG/ssw-hold/cgroup.events && break
		sleep 0.1
	done
	[ "$used" -gt 4096 ] || fail "only $used kB of swap came into use" || return 1
	free_is_right || return 1
	awk 'NR > 1 { print $1, $4 }' /proc/swaps | while read -r f kb; do
		same "used of $f" "$kb" $(($(cat "$SYS/areas/$(area_of "$f")/used") * 4)) || exit 1
	done
}

# swapoff -a with the holder alive: all its pages come back.
swapoff_a() {
	echo 0 >$CG/ssw-hold/cgroup.freeze
	echo max >$CG/ssw-hold/memory.high
	swapoff -a 2>/tmp/ssw-err
	# -a goes by /proc/swaps; an error is one only if an area is left
	same "lines of /proc/swaps after swapoff -a" 0 "$(awk 'NR > 1' /proc/swaps | wc -l)" || {
		cat /tmp/ssw-err
		return 1
	}
	same "areas in $SYS" 0 "$(ls $SYS/areas | wc -l)" || return 1
	kill -0 "$holder" 2>/dev/null || fail "the process with swapped pages died" || return 1
	read -r _ total used _ < <(free -k | grep -i '^swap')
	same "total of free without areas" 0 "$total" || return 1
	same "used of free without areas" 0 "$used"
}

device_and_partition() {
	local dev part t
	# shellcheck disable=SC2086
	set -- $SSW_BDEVS
	[ $# -gt 0 ] && command -v sfdisk >/dev/null || return 4
	dev=$1 part=${1}p1
	printf 'label: dos\nsize=32MiB\n' | sfdisk -q "$dev" || fail "sfdisk $dev" || return 1
	mkswap "$part" >/dev/null && echo 1 >$BIND && swapon -p 5 "$part" ||
		fail "cannot swap on $part" || return 1
	echo off >$BIND
	t=$(area_of "$part") || fail "$part is not in $SYS" || return 1
	same "kind in /proc/swaps" partition "$(awk -v p="$part" '$1 == p { print $2 }' /proc/swaps)" || return 1
	same "priority" 5 "$(cat $SYS/areas/"$t"/priority)" || return 1
	same "cpu" 1 "$(cat $SYS/areas/"$t"/cpu)" || return 1
	swapoff "$part" || fail "swapoff $part" || return 1
	wipefs -qa "$dev"
	mkswap "$dev" >/dev/null && swapon "$dev" || fail "cannot swap on $dev" || return 1
	same "cpu of a plain device" -1 "$(cat $SYS/areas/"$(area_of "$dev")"/cpu)" || return 1
	swapoff "$dev"
}

# The messages that an operator gets.
messages() {
	local before
	before=$(dmesg | grep -c 'scaleswap: .*vm\.scaleswap\.bind')
	swapon "$SSW_DIR/nothing" 2>/tmp/ssw-err && fail "swapon of a missing file succeeded" && return 1
	echo 9999 >$BIND 2>/tmp/ssw-err && fail "bind took CPU 9999" && return 1
	grep -q 'Invalid argument' /tmp/ssw-err || fail "unclear: $(cat /tmp/ssw-err)" || return 1
	[ "$(dmesg | grep -c 'scaleswap: .*vm\.scaleswap\.bind')" -gt "$before" ] ||
		fail "nothing in the kernel log about a bad value of vm.scaleswap.bind"
}

sysctl_program() {
	command -v sysctl >/dev/null || return 4
	sysctl -w vm.scaleswap.bind=auto >/dev/null || fail "sysctl -w" || return 1
	same "sysctl -n" auto "$(sysctl -n vm.scaleswap.bind)" || return 1
	sysctl -w vm.scaleswap.bind=off >/dev/null
}

# The user tool on the real kernel: areas that it sets up are used, shown, and removed.
user_tool() {
	local n
	scaleswap --version >/dev/null 2>&1 || return 4
	all_off
	n=$(online_cpus | wc -l)
	scaleswap setup --per-core --dir "$SSW_DIR" --size 24M 2>&1 || fail "setup: status $?" || return 1
	same "areas" "$n" "$(ls $SYS/areas | wc -l)" || return 1
	same "home CPUs" "$(online_cpus | tr '\n' ' ')" \
		"$(cat $SYS/areas/*/cpu | sort -n | tr '\n' ' ')" || return 1
	same "bind after setup" off "$(cat $BIND)" || return 1
	workload 24 --size 64 --procs 4 --pin || return 1
	scaleswap status --json >/tmp/ssw-status || fail "status: status $?" || return 1
	python3 -c 'import json; json.load(open("/tmp/ssw-status"))' || fail "status --json: no JSON" || return 1
	scaleswap status || fail "status: status $?" || return 1
	scaleswap teardown 2>&1 || fail "teardown: status $?" || return 1
	same "areas after teardown" 0 "$(ls $SYS/areas | wc -l)" || return 1
	same "files after teardown" 0 "$(find "$SSW_DIR" -type f | wc -l)"
}

# As after a boot with the areas in /etc/fstab, in the worst order: the label that setup
# gave each area brings it back to its CPU.
homes_from_fstab() {
	local cpu f
	scaleswap --version >/dev/null 2>&1 || return 4
	[ "$(online_cpus | wc -l)" -gt 1 ] || return 4
	all_off
	scaleswap setup --per-core --dir "$SSW_DIR" --size 1M 2>&1 || fail "setup: status $?" || return 1
	scaleswap teardown --keep-files 2>&1 || fail "teardown: status $?" || return 1
	same "areas after teardown" 0 "$(ls $SYS/areas | wc -l)" || return 1
	echo auto >$BIND
	for cpu in $(online_cpus | sort -rn); do
		f=$SSW_DIR/scaleswap-cpu$cpu.swap
		swapon "$f" || fail "swapon $f" || return 1
		same "CPU of $f" "$cpu" "$(cat $SYS/areas/"$(area_of "$f")"/cpu)" || return 1
	done
	echo off >$BIND
	swapoff -a
	rm -f "$SSW_DIR"/scaleswap-cpu*.swap
}

ktap_print_header
set -- areas_on swapon_s free_is_right in_use swapoff_a device_and_partition messages sysctl_program \
	user_tool homes_from_fstab
ktap_set_plan $#
all_off
holder=
for t in "$@"; do
	echo "# RUN           $t"	# the runner names the case in which a guest hangs
	# Not in a subshell: in_use leaves a process for the next one.
	"$t" >/tmp/ssw-text 2>&1
	case $? in
	0) ktap_test_pass "$t" ;;
	4) ktap_test_skip "$t" ;;
	*)
		sed 's/^/# /' /tmp/ssw-text
		ktap_test_fail "$t"
		;;
	esac
done
if [ -n "$holder" ]; then
	echo 0 >$CG/ssw-hold/cgroup.freeze
	kill -9 "$holder" 2>/dev/null
	echo 1 >$CG/ssw-hold/cgroup.kill
	wait "$holder" 2>/dev/null
	rmdir $CG/ssw-hold 2>/dev/null
fi
all_off
ktap_finished
