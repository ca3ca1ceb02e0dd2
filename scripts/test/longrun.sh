#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Long runs, in a guest in the background:
#
#   scripts/test/longrun.sh soak KERNEL [SECONDS]
#	8 CPUs with an area each on NVMe drives; everything swaps at the same time, for an
#	hour: selftests/scaleswap/soak.sh
#   scripts/test/longrun.sh churn KERNEL [SECONDS]
#	4 CPUs on 2 nodes; 200 memory cgroups come and go, with processes that swap, CPUs
#	and memory blocks, for 20 minutes: selftests/scaleswap/churn.sh
#   scripts/test/longrun.sh fault KERNEL reset|remove|timeout [SECONDS]
#	4 CPUs and 4 drives; controllers are reset, drives are removed and found again, or
#	stop answering until commands time out (after 1 s), under a stamped workload that
#	looks at the clock, for 20 minutes: selftests/scaleswap/faultloop.sh
#   scripts/test/longrun.sh iaa KERNEL [SECONDS]
#	8 CPUs swap to zswap on a simulated IAA device, which is taken away, halts, fails,
#	loses and delays descriptors, while codes, compressors and CPUs come and go, for an
#	hour: selftests/scaleswap/iaaloop.sh
#
# KERNEL is a name that scripts/build/kernel.sh knows, or a bzImage. Prints where the output
# goes. That ends with "RUN good" or "RUN BAD", where RUN is soak, churn, fault or iaa, and with the
# exit status; bench/longruns.py makes a record of it.
#   LONGRUN_FOREGROUND=1  wait for it, and return its exit status
#   LONGRUN_SECONDS=N  LONGRUN_CPUS=N  LONGRUN_NODES=N  LONGRUN_MEM=MB  LONGRUN_APPEND="..."
#	instead of the run's own; the debug kernels have more memory and one node
#   SSW_SEED=N; soak: SOAK_WATCHDOG=S; churn: CHURN_GROUPS (200), CHURN_JOBS (8),
#	CHURN_LRU_GEN (MGLRU: y, n, or a number of seconds to switch it);
#	fault: FAULT_PROCS (6), FAULT_PAGES (250)
#	for the script in the guest
set -euo pipefail
. "$(dirname "$0")/../build/lib.sh"

usage() {
	echo "usage: scripts/test/longrun.sh soak|churn|iaa KERNEL [SECONDS]" >&2
	echo "       scripts/test/longrun.sh fault KERNEL reset|remove|timeout [SECONDS]" >&2
	exit 2
}
[ $# -ge 2 ] || usage
run=$1 kernel=$2
shift 2
# Its name goes into those of the logs.
name=$(basename "$kernel")
debug=
case $name in *debug*) debug=1 ;; esac

# The guest's options; the environment of the script in it; the script.
log=$run nodes=1 env=() device=()
[ -z "${SSW_SEED:-}" ] || env+=("SSW_SEED=$SSW_SEED")
case $run in
soak)
	seconds=3600 cpus=8 mem=1536 drives=9 hang=1800 append=scaleswap=on
	# Of the guest's clock, which goes on while a busy host does not run it.
	watchdog=900
	[ -z "$debug" ] || mem=2560 watchdog=1800
	env+=("SOAK_WATCHDOG=${SOAK_WATCHDOG:-$watchdog}")
	script=soak.sh
	;;
churn)
	seconds=1200 cpus=4 nodes=2 mem=768 drives=4 hang=900 append="scaleswap=on movablecore=540M"
	[ -z "$debug" ] || mem=1536 nodes=1
	env+=("CHURN_GROUPS=${CHURN_GROUPS:-200}" "CHURN_JOBS=${CHURN_JOBS:-8}")
	[ -z "${CHURN_LRU_GEN:-}" ] || env+=("CHURN_LRU_GEN=$CHURN_LRU_GEN")
	script=churn.sh
	;;
fault)
	[ $# -ge 1 ] || usage
	how=$1
	shift
	seconds=1200 cpus=4 mem=640 drives=4 hang=900 append="scaleswap=on nvme.poll_queues=2"
	[ -z "$debug" ] || mem=1536
	case $how in
	reset | remove) more= ;;
	timeout) more=" nvme_core.io_timeout=1" ;;
	*) usage ;;
	esac
	env+=("FAULT_PROCS=${FAULT_PROCS:-6}" "FAULT_PAGES=${FAULT_PAGES:-250}")
	log=$run-$how script=faultloop.sh:$how
	;;
iaa)
	seconds=3600 cpus=8 mem=1024 drives=9 hang=1800
	append="scaleswap=on idxd.sim=0000:00:10.0" device=(--qemu "-device e1000e,addr=0x10")
	[ -z "$debug" ] || mem=2048
	script=iaaloop.sh
	;;
*) usage ;;
esac
[ $# -le 1 ] || usage
seconds=${1:-${LONGRUN_SECONDS:-$seconds}}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die "'$seconds' is not a number of seconds"
cpus=${LONGRUN_CPUS:-$cpus} nodes=${LONGRUN_NODES:-$nodes} mem=${LONGRUN_MEM:-$mem}
append=${LONGRUN_APPEND:-$append}${more:-}
# SOAK_SECONDS, CHURN_SECONDS, FAULT_SECONDS, IAA_SECONDS
env+=("${run^^}_SECONDS=$seconds")

mkdir -p "$BUILD/results"
base=$BUILD/results/$log-$name-$(date -u +%Y%m%d-%H%M%S)
# What the guest runs: the tests' set-up (file system, drives), then the long run.
{
	printf '#!/bin/bash\n'
	printf 'export %q\n' "${env[@]}"
	printf 'exec /selftests/run-in-guest.sh %q\n' "$script"
} >"$base.guest"
image=$kernel
[ -f "$image" ] || image=$BUILD/out/$kernel/arch/x86/boot/bzImage
[ -f "$image" ] || die "$image is missing; build it with 'scripts/build/kernel.sh $kernel'"

guest() {
	local ret=0
	{
		echo "# longrun: $log, kernel $name, $seconds s, $cpus CPUs, $append"
		echo "# longrun: repository $(git -C "$ROOT" describe --always --dirty 2>/dev/null || echo unknown)," \
			"bzImage sha256 $(sha256sum "$image" | cut -c1-64)"
		"$ROOT/scripts/guest/boot.py" --kernel "$kernel" --cpus "$cpus" --nodes "$nodes" --mem "$mem" \
			--nvme "$drives" --nvme-size 512 --minimal --thread single --append "$append" "${device[@]}" \
			--timeout "$hang" --log "$base.console" "$base.guest" || ret=$?
		echo "longrun: exit status $ret"
	} >"$base.log" 2>&1
	rm -f "$base.guest"
	return $ret
}

say "$log, kernel $kernel, $seconds s, $cpus CPUs; output in $base.log, console in $base.console"
if [ -n "${LONGRUN_FOREGROUND:-}" ]; then
	guest
else
	guest </dev/null &
	disown
	say "running in the background, process $!"
fi
