#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Stamped workload over many areas, in a guest: guest.sh AREAS PROCS SIZE_MB MAX_MB
#
# For the sizes that are too slow for CI (64 CPUs with 64 areas, 8 CPUs with 247):
#   scripts/guest/boot.py --kernel test --cpus 64 --mem 2048 --nvme 4 --append scaleswap=on \
#     --timeout 1500 bench/experiments/many-areas/guest.sh 64 64 768 256
#   scripts/guest/boot.py --kernel test --cpus 8 --mem 1024 --nvme 4 --append scaleswap=on \
#     --timeout 900 bench/experiments/many-areas/guest.sh 247 8 512 192
#
# AREAS swap files are spread over the drives and bound by auto, with equal priority,
# so that a CPU with several takes turns. The workload runs in a memory cgroup of
# MAX_MB. It fails if a page is wrong, if an area was not used, or if swap is not
# empty again at the end.
set -eu
areas=$1 procs=$2 size=$3 max=$4
n=$(find /dev -name 'nvme*n1' | wc -l)
echo "cpus=$(nproc) areas=$areas drives=$n"
for i in $(seq 0 $((n - 1))); do
	mkfs.ext4 -q "/dev/nvme${i}n1"
	mkdir -p "/mnt/$i"
	mount "/dev/nvme${i}n1" "/mnt/$i"
done
echo auto >/proc/sys/vm/scaleswap/bind
for a in $(seq 0 $((areas - 1))); do
	f=/mnt/$((a % n))/swap$a
	fallocate -l $((size * 3 / areas + 2))M "$f"
	chmod 600 "$f"
	mkswap "$f" >/dev/null 2>&1
	/sbin/swapon -p 5 "$f"
done
cd /sys/kernel/mm/scaleswap
echo "areas on: $(ls areas | wc -l), homes: $(cat areas/*/cpu | sort -n | uniq -c | awk '{print $1}' | sort -n | uniq -c | awk '{print $1 " CPUs with " $2}' | paste -sd, )"
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/w
echo "${max}M" >/sys/fs/cgroup/w/memory.max
before=$(awk '/^pswpout/ {print $2}' /proc/vmstat)
status=0
sh -c "echo \$\$ >/sys/fs/cgroup/w/cgroup.procs; exec /selftests/stamp --size $size --procs $procs --pin --passes 2 --rewrite --quiet" || status=$?
echo "stamp status=$status, pages out $(($(awk '/^pswpout/ {print $2}' /proc/vmstat) - before))"
unused=$(grep -lx 0 areas/*/allocs_home | wc -l)
echo "own allocations $(cat stats/alloc_own), node $(cat stats/alloc_node), remote $(cat stats/alloc_remote), failed $(cat stats/alloc_fail), areas never used by their CPU: $unused"
for f in /mnt/*/swap*; do /sbin/swapoff "$f"; done
echo "areas left $(ls areas | wc -l), $(grep -E 'SwapTotal|SwapFree' /proc/meminfo | tr -s ' ' | paste -sd' ')"
[ "$status" = 0 ] && [ "$unused" = 0 ] && [ "$(ls areas | wc -l)" = 0 ]
