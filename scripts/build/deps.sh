#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check for the Debian packages that building, testing and measuring need; install
# what is missing when run as root, else print the command that does.
#
#   scripts/build/deps.sh          what every target needs
#   scripts/build/deps.sh deb      and what `make deb` needs
#   scripts/build/deps.sh qemu     and what scripts/build/qemu.sh needs
#
# This is the only list of packages. Nothing is asked of the network when all is there.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

packages() {
	# build a kernel
	echo build-essential flex bison bc libelf-dev libssl-dev zlib1g-dev kmod cpio rsync xz-utils
	echo patch ccache git python3 perl
	# the base; not needed with a tree of one's own
	[ -n "${KSRC:-}" ] || base_value package
	# run a guest, and what goes into it
	echo qemu-system-x86 busybox-static util-linux mount fdisk e2fsprogs
	echo stress-ng fio zstd
	# check the source; the base's own selftests/mm
	echo sparse clang libcap-dev libnuma-dev
	# model the lockless parts
	echo spin
	# package a kernel: bindeb-pkg, BTF, Debian's configuration where no other is at hand
	if [ "${1:-}" = deb ]; then
		echo debhelper dwarves
		[ -n "${DEBCONFIG:-}" ] || [ -r "/boot/config-$(uname -r)" ] ||
			echo "linux-config-$(base_value series)"
	fi
	# build QEMU: its source package holds neither meson nor ninja
	if [ "${1:-}" = qemu ]; then
		echo curl meson ninja-build pkg-config libglib2.0-dev libpixman-1-dev libfdt-dev
	fi
}

command -v dpkg-query >/dev/null ||
	die "this machine is not Debian; install by hand: $(packages "$@" | xargs)"

missing=()
for p in $(packages "$@"); do
	case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) in
	installed) ;;
	*) missing+=("$p") ;;
	esac
done
[ ${#missing[@]} -gt 0 ] || exit 0

cmd="apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" != 0 ]; then
	die "packages are missing; run as root:  apt-get update && $cmd"
fi
say "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for step in "apt-get update" "$cmd"; do
	# shellcheck disable=SC2086 # a command line, split on purpose
	if ! $step >"$log" 2>&1 </dev/null; then
		tail -15 "$log" >&2
		die "'$step' failed; put that right (is a Debian 12 source configured, with its security updates?) and run again"
	fi
done
say "installed ${#missing[@]} packages"
