#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Drives in trouble, again and again, while pages are read from them on poll queues:
# faultloop.sh reset|remove|timeout, for FAULT_SECONDS (default 1200).
#
# reset	controllers are reset, one after the other, and CPUs go offline and come back
# remove	a drive is pulled out, most times in the middle of its swapoff, and found again
# timeout	a drive may not access memory, so it answers nothing, until commands time
#	out and the driver resets it
#
# FAULT_PROCS processes (default 6) stamp pages, have them swapped out and look at them
# again (fault_load). No page may be wrong, none lost but where a drive is gone, and no
# access may take over 25 s. Not part of the tests for its length; it wants a guest of its
# own. A line a minute; ends with "fault good" or "fault BAD", and status 0 or 1.
. "$(dirname "$0")/common.sh"
kind=${1:-}
case $kind in
reset | remove | timeout) ;;
*) echo "usage: faultloop.sh reset|remove|timeout" >&2; exit 2 ;;
esac
need_root
need_on
need_dir
F=$SYS/fault
[ -e $F/mode ] && [ "$(cat $F/mode)" != off ] || skip_all "nothing is polled here"
# shellcheck disable=SC2086
set -- $SSW_BDEVS
[ $# -ge 3 ] || skip_all "needs three spare drives"
drives=("$@")

seconds=${FAULT_SECONDS:-1200} procs=${FAULT_PROCS:-6} pages=${FAULT_PAGES:-250}
# Not in a tmpfs, which is swapped out, perhaps to a drive that goes.
out=/fault_load.out
ret=0 times=0 left_on=0 cpus=0 gone=0 said_bad=0
bad() { echo "fault: $*"; ret=1; }
RANDOM=${SSW_SEED:=$((EPOCHSECONDS % 32768))}
echo "fault: $kind, $seconds s, $procs processes of $pages pages, seed $SSW_SEED"

num() { cat "$1" 2>/dev/null || echo 0; }
# sleep_ms FROM TO - anything in between
sleep_ms() {
	local ms=$(($1 + RANDOM % ($2 - $1 + 1)))
	sleep $((ms / 1000)).$(printf %03d $((ms % 1000)))
}
# ctrl DRIVE - its controller, such as nvme1; the drive's name may have another number
ctrl() {
	local c
	c=$(readlink -f "/sys/class/block/${1#/dev/}/device")
	echo "${c##*/}"
}
counters() {
	local f s=
	for f in direct bio irq late again; do s="$s $f $(num $F/reads_$f)"; done
	for f in poll_busy poll_down poll_unfit; do s="$s $f $(num $SYS/stats/fallback/$f)"; done
	echo "${s# }"
}
driver() {
	local d s=
	for d in "${drives[@]}"; do
		s="$s $(ctrl "$d"): $(num "/sys/class/nvme/$(ctrl "$d")/swap_reads") reads"
		s="$s, $(num "/sys/class/nvme/$(ctrl "$d")/swap_retries") again"
		s="$s, $(num "/sys/class/nvme/$(ctrl "$d")/swap_timeouts") timeouts;"
	done
	echo "${s# }"
}

area_on() {
	mkswap "$1" >/dev/null && echo auto >"$BIND" && swapon "$1" || bad "cannot swap to $1"
	echo off >"$BIND"
}
all_off
for d in "${drives[@]}"; do
	area_on "$d"
	[ "$kind" != timeout ] || echo 1000 >"/sys/block/${d#/dev/}/queue/io_timeout"
done
# Where pages go when a drive is away
spare=$(mkarea spare 131072) && echo auto >"$BIND" && swapon "$spare" || bad "cannot swap to a file"
echo off >"$BIND"
if [ "$kind" = timeout ]; then
	# A time-out (the block layer's timer adds up to a second) and a reset, which takes
	# two to three seconds in an emulated guest with KASAN, have to fit into the five.
	[ "$(cat /sys/module/nvme_core/parameters/io_timeout)" -le 1 ] ||
		bad "boot with nvme_core.io_timeout=1"
fi

# --- what is done to drives ---
one_reset() {
	local d=${drives[RANDOM % ${#drives[@]}]}
	echo 1 >"/sys/class/nvme/$(ctrl "$d")/reset_controller" || bad "no reset of $d"
	times=$((times + 1))
	sleep_ms 50 500
}

cpu_away=
toggle_cpu() {
	local n
	if [ -n "$cpu_away" ]; then
		echo 1 >"/sys/devices/system/cpu/cpu$cpu_away/online" || bad "CPU $cpu_away does not come back"
		cpu_away=
		return
	fi
	n=$(nproc --all)
	[ "$n" -gt 1 ] || return 0
	cpu_away=$((1 + RANDOM % (n - 1)))
	if echo 0 >"/sys/devices/system/cpu/cpu$cpu_away/online" 2>/dev/null; then
		cpus=$((cpus + 1))
	else
		cpu_away=
	fi
}

# wait_for PID SECONDS - until it has ended
wait_for() {
	local i line
	for ((i = 0; i < $2 * 10; i++)); do
		{ read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
		case $line in *\)\ Z*) return 0 ;; esac
		sleep 0.1
	done
	return 1
}

# used DRIVE - pages in use of its area
used() {
	local a
	for a in $SYS/areas/*; do
		[ "$(cat "$a/path" 2>/dev/null)" = "$1" ] && num "$a/used" && return
	done
	echo 0
}

one_removal() {
	local at=$((RANDOM % ${#drives[@]})) d pci off= i name before
	d=${drives[at]}
	pci=$(readlink -f "/sys/class/block/${d#/dev/}/device/device")
	[ -w "$pci/remove" ] || { bad "$d is not there"; return; }
	# A swapoff that has begun has the device open and can end. Without one the area
	# stays until reboot, as in the base kernel, since the device can no longer be
	# opened. A CPU whose own area this is can swap out nothing more: not too often.
	if [ $((times % 8)) != 7 ] || [ $left_on -ge 2 ]; then
		before=$(used "$d")
		swapoff "$d" 2>/dev/null &
		off=$!
		# Before it has opened the device there would be none.
		for ((i = 0; i < 20; i++)); do
			[ "$(used "$d")" -lt "$before" ] && break
			sleep 0.1
		done
		sleep_ms 0 300
	fi
	echo 1 >"$pci/remove"
	times=$((times + 1))
	if [ -n "$off" ] && ! wait_for "$off" 60; then
		bad "swapoff of a removed drive does not end"
		return
	fi
	[ -z "$off" ] || wait "$off" 2>/dev/null
	left_on=$(grep -c deleted /proc/swaps)
	sleep_ms 0 1000
	echo 1 >/sys/bus/pci/rescan
	# As long as an area is on it, the old one keeps both its numbers.
	for ((i = 0; i < 200; i++)); do
		name=$(ls -d "$pci"/nvme/nvme*/nvme*n[0-9]* 2>/dev/null | head -1)
		[ -n "$name" ] && [ -b "/dev/${name##*/}" ] && break
		sleep 0.1
	done
	[ -n "$name" ] && [ -b "/dev/${name##*/}" ] || { bad "no drive after a rescan"; return; }
	drives[at]=/dev/${name##*/}
	area_on "${drives[at]}"
	sleep_ms 500 2000
}

# Bit 2 of the command register allows the device to access memory; a reset sets it again.
one_stall() {
	local d=${drives[RANDOM % ${#drives[@]}]} config byte
	config=/sys/class/block/${d#/dev/}/device/device/config
	byte=$(od -An -tu1 -j4 -N1 "$config")
	# shellcheck disable=SC2059
	printf "\\x$(printf %02x $((byte & ~4)))" |
		dd of="$config" bs=1 seek=4 count=1 conv=notrunc 2>/dev/null || bad "cannot stall $d"
	times=$((times + 1))
	# One at a time: two would add up.
	sleep_ms 5000 7000
}

# --- the loop ---
lossy=
[ "$kind" != remove ] || lossy=lossy
"$DIR/fault_load" $((seconds + 600)) "$procs" "$pages" ssw-fault $lossy >"$out" 2>&1 &
load=$!
modes=(direct auto direct bio direct off) limits=(100 0 1000)
start=$EPOCHSECONDS said=0 n=0
before=$(num $F/reads_direct)
while [ $((EPOCHSECONDS - start)) -lt "$seconds" ] && [ $ret = 0 ]; do
	case $kind in
	reset) one_reset ;;
	remove) one_removal ;;
	timeout) one_stall ;;
	esac
	n=$((n + 1))
	[ "$kind" = timeout ] || [ $((n % 4)) != 0 ] || toggle_cpu
	# In ways that change; directly most of the time.
	if [ $((n % 10)) = 0 ]; then
		echo "${modes[n / 10 % ${#modes[@]}]}" >$F/mode
		echo "${limits[RANDOM % ${#limits[@]}]}" >$F/poll_us
	fi
	if ! kill -0 $load 2>/dev/null; then
		bad "the workload ended"
	elif [ $said_bad = 0 ] && grep -q 'a fault took' "$out"; then
		said_bad=1
		bad "$(grep -m1 'a fault took' "$out")"
		# Have the kernel log show which tasks wait, and where
		echo w >/proc/sysrq-trigger
	fi
	if [ $((EPOCHSECONDS - start)) -ge $((said + 60)) ]; then
		said=$((EPOCHSECONDS - start))
		echo "fault: $said s: $times times, $cpus CPUs away, $left_on areas left on; $(counters)"
		tail -1 "$out"
	fi
done
[ -z "$cpu_away" ] || toggle_cpu
kill -TERM $load 2>/dev/null
wait $load || bad "the workload failed: status $?"
cat "$out"
echo "fault: $kind $times times, $cpus CPUs away; $(counters)"
echo "fault: $(driver)"

# --- was anything tested, and is everything given back? ---
[ "$times" -gt 0 ] || bad "nothing was done to any drive"
[ "$(num $F/reads_direct)" -gt "$before" ] || bad "nothing was read directly"
case $kind in
reset | remove)
	met=$(($(num $F/reads_retried) + $(num $SYS/stats/fallback/poll_down)))
	[ $met -gt 0 ] || [ "$seconds" -lt 60 ] || bad "no read met a $kind"
	;;
timeout)
	for d in "${drives[@]}"; do
		gone=$((gone + $(num "/sys/class/nvme/$(ctrl "$d")/swap_timeouts")))
	done
	[ $((gone + $(num $F/reads_retried))) -gt 0 ] || bad "nothing timed out"
	;;
esac
for d in "${drives[@]}" "$spare"; do
	swapoff "$d" &
	wait_for $! 120 || bad "swapoff of $d does not end"
	wait $! || bad "swapoff of $d fails"
done
rmdir "$CG/ssw-fault" 2>/dev/null
splats=$(bad_lines)
[ "$splats" = 0 ] || bad "$splats bad lines in the kernel log"
[ $ret = 0 ] && echo "fault good" || echo "fault BAD"
exit $ret
