#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Kernel packages to install on a real machine, made by the kernel's own bindeb-pkg.
#
#   scripts/build/deb.sh                  DEBCONFIG=FILE: the kernel configuration to start from
#
# Without DEBCONFIG: that of the running kernel (/boot), else Debian's (package
# linux-config-6.12), else x86_64_defconfig; without debug information, which would make
# the build ten times as big. CONFIG_SCALESWAP is added in any case. A distribution's
# configuration takes one to several hours on few cores, and about 25 GB.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

TREE=$BUILD/tree DIR=$BUILD/deb
OUT=$DIR/build LOG=$BUILD/logs/deb.log
[ -f "$TREE/Makefile" ] || die "$TREE is missing; run 'make tree' first"
TREE=$(cd "$TREE" && pwd -P)
mkdir -p "$OUT" "$BUILD/logs"
exec 8>"$DIR/.lock"
flock -n 8 || die "another 'make deb' runs in $DIR"

MAKE=(make -C "$TREE" "O=$OUT" -j"$JOBS" "LOCALVERSION=-scaleswap")
if command -v ccache >/dev/null; then
	MAKE+=("CC=ccache gcc" "HOSTCC=ccache gcc")
	export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$BUILD
fi

debian=/usr/src/linux-config-$(base_value series)/config.amd64_none_amd64.xz
running=/boot/config-$(uname -r)
trim=1
if [ -n "${DEBCONFIG:-}" ]; then
	[ -r "$DEBCONFIG" ] || die "DEBCONFIG=$DEBCONFIG cannot be read"
	from=$DEBCONFIG trim=
	cp "$DEBCONFIG" "$OUT/.config"
elif [ -r "$running" ] && grep -q '^CONFIG_X86_64=y' "$running"; then
	from=$running
	cp "$running" "$OUT/.config"
elif [ -r "$debian" ]; then
	from=$debian
	xz -dc "$debian" >"$OUT/.config"
else
	from=x86_64_defconfig
	"${MAKE[@]}" x86_64_defconfig >"$LOG" 2>&1 || { tail "$LOG" >&2; die "x86_64_defconfig failed"; }
fi

{
	cat "$ROOT/configs/scaleswap.config"
	# Keys that only the distribution has.
	echo 'CONFIG_SYSTEM_TRUSTED_KEYS=""'
	echo 'CONFIG_SYSTEM_REVOCATION_KEYS=""'
	echo '# CONFIG_LOCALVERSION_AUTO is not set'
	[ -z "$trim" ] || echo CONFIG_DEBUG_INFO_NONE=y
} >"$OUT/scaleswap.fragment"
chmod u+w "$OUT/.config"
(cd "$OUT" && "$TREE/scripts/kconfig/merge_config.sh" -m -O "$OUT" .config scaleswap.fragment) >"$LOG" 2>&1 ||
	{ tail "$LOG" >&2; die "merging the configuration failed"; }
"${MAKE[@]}" olddefconfig >>"$LOG" 2>&1 || { tail "$LOG" >&2; die "configuring failed"; }
while read -r line; do
	grep -qxF "$line" "$OUT/.config" ||
		die "$line does not take effect with $from; does it have CONFIG_SWAP, CONFIG_NUMA …? (dependencies: Kconfig.scaleswap)"
done < <(grep '^CONFIG_SCALESWAP' "$ROOT/configs/scaleswap.config")

say "building packages in $DIR, configured from $from; log: $LOG"
rm -f "$DIR"/*.deb "$DIR"/*.changes "$DIR"/*.buildinfo
export DEBFULLNAME=${DEBFULLNAME:-$(git -C "$ROOT" config user.name || echo ScaleSwap)}
export DEBEMAIL=${DEBEMAIL:-$(git -C "$ROOT" config user.email || echo scaleswap@localhost)}
release=$("${MAKE[@]}" -s --no-print-directory kernelrelease)
# -d: of the packages it wants, scripts/build/deps.sh has installed those that are used
"${MAKE[@]}" KDEB_PKGVERSION="${release%%-*}-1" KDEB_CHANGELOG_DIST=unstable DPKG_FLAGS=-d \
	bindeb-pkg >>"$LOG" 2>&1 &
pid=$!
# a sign of life
while kill -0 "$pid" 2>/dev/null; do
	for _ in {1..30}; do kill -0 "$pid" 2>/dev/null && sleep 1; done || true
	say "$(grep -cE '^  (\[M\] )?(CC|LD|AS|AR)' "$LOG" || true) files after $SECONDS s"
done
if ! wait "$pid"; then
	grep -nE '(error|Error)' "$LOG" | tail -10 >&2 || true
	tail -10 "$LOG" >&2
	die "building the packages failed; the whole log is $LOG"
fi
say "packages of $release:"
ls -sh1 "$DIR"/*.deb
say "install on the machine: apt install ./linux-image-*.deb, add scaleswap=on to its kernel command line, reboot"
