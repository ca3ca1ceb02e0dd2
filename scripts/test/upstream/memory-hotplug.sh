#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The base tree's memory-hotplug/mem-on-off-test.sh, in TAP: as kselftest runs it, then
# with more blocks and with memory in use (anonymous, shared, page cache), which must
# come out of it unchanged. Wants a movable zone (movablecore=).
here=$(dirname "$0")
n=0 bad=0
result() { # STATUS NAME
	n=$((n + 1))
	case $1 in
	0) echo "ok $n $2" ;;
	4) echo "ok $n $2 # SKIP" ;;
	*) bad=1; echo "not ok $n $2 # status $1" ;;
	esac
}
# What it says of single blocks varies with what the kernel put where
onoff() {
	local status
	"$here/mem-on-off-test.sh" "$@" >/tmp/onoff 2>&1
	status=$?
	sed 's/^/# /' /tmp/onoff
	# it does not say so by its status
	! grep -q unexpected /tmp/onoff || status=1
	return $status
}

echo TAP version 13
echo 1..9
onoff
result $? "mem-on-off-test"
onoff -r 30
result $? "mem-on-off-test -r 30"

dd if=/dev/urandom of=/dev/shm/hold bs=1M count=64 2>/dev/null &&
	cp /dev/shm/hold /mnt/hold && sync && md5sum /dev/shm/hold /mnt/hold >/tmp/sums
result $? "files are written"
"$here/hold" 500 4 /tmp/hold.ready & pid=$!
for _ in $(seq 600); do
	[ -e /tmp/hold.ready ] && break
	kill -0 $pid 2>/dev/null || break
	sleep 0.5
done
[ -e /tmp/hold.ready ]
result $? "memory is in use"
for i in 1 2; do
	onoff -r 30
	result $? "mem-on-off-test -r 30 with memory in use, round $i"
done
kill $pid
wait $pid
result $? "anonymous memory is unchanged"
echo 1 >/proc/sys/vm/drop_caches
md5sum -c /tmp/sums >/tmp/sums.now 2>&1
status=$?
sed 's/^/# /' /tmp/sums.now
result $status "files are unchanged"
rm -f /dev/shm/hold /mnt/hold
! grep -l offline /sys/devices/system/memory/memory*/state
result $? "all memory is online"
exit $bad
