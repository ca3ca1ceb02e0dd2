#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the QEMU that runs vCPUs in lock step, as $BUILD/qemu/bin/qemu-system-x86_64.
#
# It is Debian's source package that scripts/qemu/SOURCE names, with Debian's patches and
# those of scripts/qemu. It takes firmware from the installed package; nothing is installed.
# The two files of the package are fetched once, or taken from QEMU_SOURCE=DIR. While
# these, the patches and this script stay the same, nothing is done. A quarter of an hour
# the first time; ccache makes later builds short.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

QEMU=$BUILD/qemu STAMP=$BUILD/qemu/stamp LOG=$BUILD/logs/qemu.log
source_value() { sed -n "s/^$1=//p" "$ROOT/scripts/qemu/SOURCE"; }

mkdir -p "$QEMU" "$BUILD/logs" || die "cannot create $QEMU; set BUILD= to a directory you can write to"
exec 8>"$QEMU/.lock"
flock -n 8 || { say "waiting for another build of QEMU"; flock 8; }

id=$(cat "$0" "$ROOT/scripts/qemu/SOURCE" "$ROOT"/scripts/qemu/*.patch | sha256sum | cut -c1-64)
if [ -x "$QEMU/bin/qemu-system-x86_64" ] && [ "$(cat "$STAMP" 2>/dev/null)" = "$id" ]; then
	exit 0
fi
"$ROOT/scripts/build/deps.sh" qemu
rm -f "$STAMP"

# fetched WHICH - the path of that file of the package
fetched() {
	local name sum file
	name=$(source_value "$1") sum=$(source_value "$1_sha256")
	file=${QEMU_SOURCE:-$QEMU}/$name
	if [ ! -e "$file" ]; then
		[ -z "${QEMU_SOURCE:-}" ] || die "QEMU_SOURCE: $file does not exist"
		say "fetching $name" >&2
		curl -sSfL --retry 2 --connect-timeout 20 -o "$file.new" "$(source_value url)/$name" ||
			die "$(source_value url)/$name cannot be had; get that file of Debian's package $(source_value package) $(source_value version) elsewhere (snapshot.debian.org keeps all) and give QEMU_SOURCE=DIR"
		mv "$file.new" "$file"
	fi
	[ "$(sha256sum "$file" | cut -c1-64)" = "$sum" ] ||
		die "$file is damaged: its sha256 is not $sum as in scripts/qemu/SOURCE; remove it"
	echo "$file"
}

# apply DIR PATCH FUZZ
apply() {
	patch -d "$1" -p1 -s -f --fuzz="$3" <"$2" >>"$LOG" 2>&1 ||
		{ tail -5 "$LOG" >&2; die "$2 does not apply; the whole log is $LOG"; }
}

orig=$(fetched orig)
debian=$(fetched debian)
: >"$LOG"
say "unpacking $(basename "$orig")"
rm -rf "$QEMU/src" "$QEMU/obj" "$QEMU/debian"
mkdir -p "$QEMU/src" "$QEMU/obj" "$QEMU/bin"
tar -xJf "$orig" -C "$QEMU/src" --strip-components=1 --no-same-owner
tar -xJf "$debian" -C "$QEMU" --no-same-owner
sed 's/#.*//' "$QEMU/debian/patches/series" | while read -r p; do
	[ -z "$p" ] || apply "$QEMU/src" "$QEMU/debian/patches/$p" 2
done
for p in "$ROOT"/scripts/qemu/*.patch; do apply "$QEMU/src" "$p" 0; done

# Debian's meson is for Debian's python3, which need not be the first in PATH.
# Hit also when $BUILD is at another place.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$QEMU
say "configuring"
cd "$QEMU/obj"
../src/configure --target-list=x86_64-softmmu --without-default-features --enable-tcg --enable-plugins \
	--enable-fdt=system --disable-werror --disable-debug-info --disable-install-blobs \
	--firmwarepath=/usr/share/qemu:/usr/share/seabios --with-git-submodules=ignore \
	--with-pkgversion="scaleswap lock step" --meson=/usr/bin/meson --cc="ccache gcc" --host-cc="ccache gcc" \
	>>"$LOG" 2>&1 || { tail -15 "$LOG" >&2; die "configuring QEMU failed; the whole log is $LOG"; }

start=$SECONDS
nice ninja -j"$JOBS" qemu-system-x86_64 2>&1 | tee -a "$LOG" | {
	last=$SECONDS
	while IFS= read -r line; do
		if [ "$SECONDS" -ge $((last + 30)) ]; then
			last=$SECONDS
			say "QEMU: ${line%%]*}] after $((SECONDS - start)) s"
		fi
	done
} || { grep -nE 'error:|FAILED' "$LOG" | tail -15 >&2; die "building QEMU failed; the whole log is $LOG"; }
cp qemu-system-x86_64 "$QEMU/bin/qemu-system-x86_64.new"
mv "$QEMU/bin/qemu-system-x86_64.new" "$QEMU/bin/qemu-system-x86_64"
echo "$id" >"$STAMP"
say "QEMU built in $((SECONDS - start)) s"
