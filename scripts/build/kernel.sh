#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build one guest kernel: scripts/build/kernel.sh NAME [MAKE-TARGET...]
#
# NAME is a file in configs/ (test, debug, lockstat, demo, off, nomemcg, noevictor, preempt, rt): the patched tree
# $BUILD/tree with that configuration. base-NAME is the same from the pristine
# $BUILD/base, without the CONFIG_SCALESWAP lines, peer-NAME from the peer's source
# (scripts/build/peer.sh). The result is
# $BUILD/out/NAME/arch/x86/boot/bzImage; with KCC=clang from that compiler, in out/NAME-clang.
# MAKE-TARGETs (default bzImage) go to the
# kernel's make, for checks such as "C=2 mm/".
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ $# -ge 1 ] && [ "${1#-}" = "$1" ] || {
	echo "usage: scripts/build/kernel.sh NAME|base-NAME|peer-NAME [MAKE-TARGET...]" >&2
	echo "NAME is one of: $(cd "$ROOT/configs" && printf '%s ' *.config | sed 's/\.config//g; s/base //; s/scaleswap //')" >&2
	exit 2
}
NAME=$1; shift
[ $# -gt 0 ] || set -- bzImage
CONFIGS=$ROOT/configs
case $NAME in
base-*) SRC=$BUILD/base CONF=${NAME#base-} BASE_KERNEL=1 FROM=tree ;;
peer-*) SRC=$BUILD/peer CONF=${NAME#peer-} BASE_KERNEL=1 FROM=peer ;;
*) SRC=$BUILD/tree CONF=$NAME BASE_KERNEL= FROM=tree ;;
esac
case $CONF in base | scaleswap | */*) die "no kernel is called $NAME" ;; esac
[ -f "$CONFIGS/$CONF.config" ] || die "no kernel is called $NAME: configs/$CONF.config does not exist"
[ -f "$SRC/Makefile" ] || die "$SRC is missing; run '$([ $FROM = peer ] && echo scripts/build/peer.sh || echo make tree)' first"
# base/ may be a symbolic link: make must see the real place.
SRC=$(cd "$SRC" && pwd -P)
KCC=${KCC:-gcc}
[ "$KCC" = gcc ] || NAME=$NAME-$KCC
OUT=$BUILD/out/$NAME LOG=$BUILD/logs/kernel-$NAME.log STEPS=$BUILD/logs/kernel-$NAME.steps
mkdir -p "$OUT" "$BUILD/logs"

# Two builds in one O= directory would spoil each other.
exec 8>"$OUT/.lock"
flock -n 8 || { say "waiting for another build of $NAME"; flock 8; }

# Fixed names and times: otherwise no two builds are alike, and ccache misses.
export KBUILD_BUILD_USER=scaleswap KBUILD_BUILD_HOST=scaleswap KBUILD_BUILD_VERSION=1
export KBUILD_BUILD_TIMESTAMP='2026-01-01 00:00:00 UTC'
# Hit also when $BUILD is at another place.
export CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$BUILD
MAKE=(make -C "$SRC" "O=$OUT" -j"$JOBS")
if command -v ccache >/dev/null; then
	MAKE+=("CC=ccache $KCC" "HOSTCC=ccache gcc")
else
	MAKE+=("CC=$KCC")
fi

# fragments CONF - the fragment and those it includes, the included ones first
fragments() {
	local inc
	for inc in $(sed -n 's/^# include: //p' "$CONFIGS/$1.config"); do fragments "$inc"; done
	echo "$CONFIGS/$1.config"
}
mapfile -t FRAGS < <(echo "$CONFIGS/base.config"; fragments "$CONF")
if [ -z "$BASE_KERNEL" ] && ! grep -q '^# CONFIG_SCALESWAP is not set' "$CONFIGS/$CONF.config"; then
	# before the others, so that they can leave out a part of it
	FRAGS=("${FRAGS[0]}" "$CONFIGS/scaleswap.config" "${FRAGS[@]:1}")
fi

# merged FILE... - one line a symbol, "SYMBOL<tab>line<tab>file:line"; the last one wins
merged() {
	awk -v drop="$BASE_KERNEL" -v off="$([[ " ${FRAGS[*]} " == *"/scaleswap.config "* ]] || echo 1)" '
		/^CONFIG_[A-Z0-9_a-z]+=/ { s = $0; sub(/=.*/, "", s) }
		/^# CONFIG_[A-Z0-9_a-z]+ is not set/ { s = $2 }
		s != "" {
			n = FILENAME; sub(/.*\//, "", n)
			# options of a feature that is not compiled in, or not there, are no error
			if ((drop || (off && s != "CONFIG_SCALESWAP")) && s ~ /^CONFIG_(SCALESWAP|INTEL_IDXD_SIM|CRYPTO_DEV_IAA_BATCH)/) { s = ""; next }
			sub(/=n$/, "", $0)
			line[s] = ($0 == s) ? "# " s " is not set" : $0
			at[s] = "configs/" n ":" FNR
			s = ""
		}
		END { for (s in line) print s "\t" line[s] "\t" at[s] }' "$@" | LC_ALL=C sort
}

# Configure when the fragments, any Kconfig file or the tools changed, and then only
# replace .config if it really differs, or everything would be looked at again.
configure() {
	local want new sum
	want=$(merged "${FRAGS[@]}")
	sum=$({ echo "$want"; "$KCC" --version; sha256sum "$0"
		cd "$SRC" && { find . -name 'Kconfig*' -type f -printf '%p %s %T@\n' | LC_ALL=C sort; }
	} | sha256sum)
	[ -f "$OUT/.config" ] && [ "$(cat "$OUT/.config.from" 2>/dev/null)" = "$sum" ] && return
	new=$(mktemp -d "$BUILD/config.XXXXXX")
	# shellcheck disable=SC2064 # $new is local
	trap "rm -rf '$new'" EXIT
	# tinyconfig's fragments first; then all at once in one allnoconfig, so that
	# nothing gets in by default that nobody asked for
	(cd "$SRC" && cat kernel/configs/tiny-base.config kernel/configs/tiny.config arch/x86/configs/tiny.config) |
		grep -v SLUB_TINY | grep -vE 'CONFIG_(KERNEL_|CC_OPTIMIZE|UNWINDER|NOHIGHMEM)' >"$new/all"
	cut -f2 <<<"$want" >>"$new/all"
	"${MAKE[@]}" "KCONFIG_ALLCONFIG=$new/all" "KCONFIG_CONFIG=$new/config" allnoconfig >"$new/log" 2>&1 ||
		{ tail -20 "$new/log" >&2; die "configuring $NAME failed"; }
	local sym line at bad=
	while IFS=$'\t' read -r sym line at; do
		case $line in
		\#*) ! grep -q "^$sym=" "$new/config" || { bad=1; warn "$at: $line: came out as $(grep "^$sym=" "$new/config")"; } ;;
		*) grep -qxF "$line" "$new/config" || { bad=1; warn "$at: $line: dropped (came out as $(grep -w "$sym" "$new/config" || echo nothing); is a dependency off?)"; } ;;
		esac
	done <<<"$want"
	# A newer kernel has other options, so a peer is as near as it gets.
	[ -z "$bad" ] || [ $FROM = peer ] ||
		die "configuration of $NAME: the lines above did not take effect"
	cmp -s "$new/config" "$OUT/.config" || mv "$new/config" "$OUT/.config"
	echo "$sum" >"$OUT/.config.from"
	rm -rf "$new"
	trap - EXIT
}

# progress - show how far the build is; stdin is make's output, all of it goes to LOG
progress() {
	local n=0 total line last=0 what
	total=$(cat "$STEPS" 2>/dev/null || echo 0)
	SECONDS=0
	while IFS= read -r line; do
		printf '%s\n' "$line"
		case $line in "  "[A-Z]*" "*) n=$((n + 1)) what=${line##* } ;; *) continue ;; esac
		if [ "$SECONDS" -ge $((last + 10)) ]; then
			last=$SECONDS
			if [ "$total" -gt "$n" ]; then
				say "$NAME: $((n * 100 / total)) % after $SECONDS s ($what)" >&2
			else
				say "$NAME: $n files after $SECONDS s ($what)" >&2
			fi
		fi
	done >"$LOG"
	# a full build says what 100 % is next time
	[ "$n" -le 500 ] || echo "$n" >"$STEPS"
}

configure
start=$(date +%s)
if ! "${MAKE[@]}" "$@" 2>&1 | progress; then
	grep -nE '(error|Error|undefined reference|BUILD_BUG)' "$LOG" | tail -15 >&2 || true
	echo "--- end of $LOG" >&2
	tail -15 "$LOG" >&2
	die "building $NAME failed; the whole log is $LOG"
fi
# Warnings are defects of the series (the base has none in this configuration)
grep -E '(warning|WARNING):' "$LOG" >&2 || true
say "$NAME: built in $(($(date +%s) - start)) s"
