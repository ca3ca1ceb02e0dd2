#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Lock contention when each CPU reclaims its own pages: the stamped workload with 8 CPUs,
# 8 per-core areas and a memory cgroup for each CPU's process, so that no CPU takes
# another's pages off the LRU (which is what LRU shards will do within one cgroup).
#
#   bench/experiments/own-group/run.sh [KERNEL]     default: lockstat; writes
#                                                bench/results/locks-own-group.json
#
# Emulated (TCG, one host thread, 8 vCPUs in turns), drives are QEMU's NVMe.
set -euo pipefail
cd "$(dirname "$0")/../../.."
kernel=${1:-lockstat}
guest=$(mktemp)
trap 'rm -f "$guest"' EXIT
cat >"$guest" <<'END'
#!/bin/bash
set -eu
cd /selftests
bind=/proc/sys/vm/scaleswap/bind
[ ! -e $bind ] || [ "$(cat /sys/kernel/mm/scaleswap/enabled)" = 0 ] || echo auto >$bind
for d in /dev/nvme?n1; do mkswap "$d" >/dev/null; swapon "$d"; done
for c in 0 1 2 3 4 5 6 7; do
	mkdir "/sys/fs/cgroup/w$c"
	echo 10M >"/sys/fs/cgroup/w$c/memory.max"
done
run() {
	for c in 0 1 2 3 4 5 6 7; do
		(
			echo "$BASHPID" >"/sys/fs/cgroup/w$c/cgroup.procs"
			exec taskset -c "$c" ./stamp --size 20 --procs 1 --passes 3 --rewrite --random
		) >"/tmp/o$c" 2>&1 &
	done
	wait
	[ "$(grep -hx 'wrong=0' /tmp/o? | wc -l)" = 8 ]
}
pages() { awk '/^pswp(in|out) /{ n += $2 } END { print n }' /proc/vmstat; }
run	# a system that has run for a while
echo 0 >/proc/lock_stat
before=$(pages)
echo 1 >/proc/sys/kernel/lock_stat
run
echo 0 >/proc/sys/kernel/lock_stat
echo "pages $(($(pages) - before))"
uname -rv | sed 's/^/kernel /'
# name, contentions, acquisitions
sed -nE 's/^ *([^ ].*[^ ]): +[0-9]+ +([0-9]+) .* ([0-9]+) +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ *$/lock \2 \3 \1/p' /proc/lock_stat
END
out=$(scripts/guest/boot.py --kernel "$kernel" --cpus 8 --mem 1280 --nvme 8 --nvme-size 64 --with base \
	--with selftests --append scaleswap=on --timeout 900 "$guest")
KERNEL=$kernel python3 -c '
import datetime, json, os, re, subprocess, sys
text = sys.stdin.read()
locks = {m[3]: {"acquisitions": int(m[2]), "contentions": int(m[1])}
         for m in re.finditer(r"^lock (\d+) (\d+) (.*)$", text, re.M)}
pages = int(re.search(r"^pages (\d+)", text, re.M)[1])
data = {"command": "bench/experiments/own-group/run.sh " + os.environ["KERNEL"],
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "kernel": re.search(r"^kernel (.*)", text, re.M)[1],
        "repository": subprocess.run(["git", "describe", "--always", "--dirty"], text=True,
                                     stdout=subprocess.PIPE).stdout.strip(),
        "emulated": "QEMU TCG, one host thread, 8 vCPUs in turns; QEMU NVMe",
        "pages": pages, "locks": locks}
with open("bench/results/locks-own-group.json", "w") as f:
    json.dump(data, f, indent=1)
    f.write("\n")
print(f"{pages} pages swapped")
for name, n in sorted(locks.items(), key=lambda x: -x[1]["contentions"]):
    if n["contentions"] or re.search(r"xa_lock|ssw|p->lock|ctrl->lock|avail", name):
        print("%8d contentions %9d acquisitions  %s" % (n["contentions"], n["acquisitions"], name))
' <<<"$out"
