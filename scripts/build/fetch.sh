#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Put the pristine base kernel into $BUILD/base.
#
# From the tarball of the Debian package that the file BASE names, or from a plain
# tree given as KSRC=DIR. $BUILD/base.stamp says what base/ was made from; while that
# stays the same, nothing is done. base/ is replaced in one rename, so an interrupted
# run leaves the old one.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

PKG=$(base_value package) TESTED=$(base_value version)
TESTED_SHA=$(base_value sha256) SERIES=$(base_value series)
BASEDIR=$BUILD/base STAMP=$BUILD/base.stamp

# put_base NEWDIR - NEWDIR becomes base/
put_base() {
	[ ! -L "$BASEDIR" ] || die "$BASEDIR is a link to another base, which this would replace; update that one, or remove the link"
	rm -rf "$BASEDIR.old"
	rm -f "$STAMP"
	[ ! -e "$BASEDIR" ] || mv "$BASEDIR" "$BASEDIR.old"
	mv "$1" "$BASEDIR"
	rm -rf "$BASEDIR.old"
}

check_series() { # WHAT VERSION
	case $2 in
	"$SERIES".*) ;;
	*) die "$1 is version ${2:-unknown}; ScaleSwap needs a $SERIES.y kernel source" ;;
	esac
}

build_lock

if [ -n "${KSRC:-}" ]; then
	[ -d "$KSRC" ] || die "KSRC=$KSRC is not a directory"
	KSRC=$(cd "$KSRC" && pwd)
	ver=$(kernel_version "$KSRC")
	check_series "KSRC=$KSRC" "$ver"
	[ ! -e "$KSRC/.config" ] && [ ! -d "$KSRC/include/config" ] ||
		die "KSRC=$KSRC was built in; run 'make mrproper' in it, or give a clean tree"
	[ ! -e "$KSRC/mm/scaleswap" ] ||
		die "KSRC=$KSRC holds ScaleSwap already; give a pristine $SERIES.y tree"
	id="ksrc $KSRC"
	if [ "$(sed -n 's/^id=//p' "$STAMP" 2>/dev/null)" != "$id" ]; then
		say "copying $KSRC ($ver)"
		rm -rf "$BASEDIR.new"
		mkdir -p "$BASEDIR.new"
		rsync -a --exclude=/.git "$KSRC/" "$BASEDIR.new/"
		put_base "$BASEDIR.new"
	else
		# KSRC may have been edited or updated since: bring over what differs.
		rsync -a --delete --exclude=/.git "$KSRC/" "$BASEDIR/"
	fi
	# The stamp names the contents by every file's size and time, so that an
	# edited KSRC counts as another base.
	sum=$(cd "$BASEDIR" && find . -type f -printf '%P %s %T@\n' | LC_ALL=C sort | sha256sum | cut -c1-64)
	[ "${ver#"${TESTED%%-*}"}" = "" ] ||
		notice "base is $ver; tested with ${TESTED%%-*}"
	printf 'id=%s\nversion=%s\nsha256=%s\n' "$id" "$ver" "$sum" >"$STAMP.tmp"
	cmp -s "$STAMP.tmp" "$STAMP" || say "base is $ver from $KSRC"
	mv "$STAMP.tmp" "$STAMP"
	exit 0
fi

TARBALL=${BASE_TARBALL:-/usr/src/$PKG.tar.xz}
[ -r "$TARBALL" ] || die "$TARBALL is missing; run 'make deps' (installs $PKG), or give KSRC=DIR"
# shellcheck disable=SC2016 # dpkg-query expands ${Version}, not the shell
pkgver=$(dpkg-query -W -f '${Version}' "$PKG" 2>/dev/null || true)
ver=${pkgver%%-*}
check_series "package $PKG" "$ver"
[ "$pkgver" = "$TESTED" ] ||
	notice "$PKG is version $pkgver; tested with $TESTED (hooks may apply with offsets)"

id="$PKG $pkgver $(stat -c '%s %Y' "$TARBALL")"
if [ -d "$BASEDIR" ] && [ "$(sed -n 's/^id=//p' "$STAMP" 2>/dev/null)" = "$id" ]; then
	exit 0
fi

sum=$(sha256sum "$TARBALL" | cut -c1-64)
if [ "$pkgver" = "$TESTED" ] && [ "$sum" != "$TESTED_SHA" ]; then
	die "$TARBALL is damaged: sha256 $sum, not $TESTED_SHA as in BASE; run 'apt-get install --reinstall $PKG'"
fi

stamp() { printf 'id=%s\nversion=%s\nsha256=%s\n' "$id" "$ver" "$sum" >"$STAMP"; }

if [ -d "$BASEDIR" ] && [ ! -e "$STAMP" ]; then
	# Somebody put a tree there by hand. Kernels may be building from it, so it
	# is compared and taken as it is, never replaced.
	say "checking the tree that is in $BASEDIR already"
	[ "$(kernel_version "$BASEDIR")" = "$ver" ] ||
		die "$BASEDIR is not $ver; remove it and run again"
	# tar also reports times, and the top directory that is stripped to nothing
	differ=$(tar -dJf "$TARBALL" -C "$BASEDIR" --strip-components=1 2>&1 |
		grep -E '(Contents|Size) differ|No such file' | grep -v '^tar: : ' | head -3 || true)
	[ -z "$differ" ] ||
		die "$BASEDIR is not what $TARBALL holds; remove it and run again:"$'\n'"$differ"
	stamp
	say "base is $ver ($PKG $pkgver), taken over"
	exit 0
fi

say "unpacking $TARBALL ($pkgver), about 15 s"
rm -rf "$BASEDIR.new"
mkdir -p "$BASEDIR.new"
tar -xJf "$TARBALL" -C "$BASEDIR.new" --strip-components=1 --no-same-owner
put_base "$BASEDIR.new"
stamp
say "base is $ver ($PKG $pkgver)"
