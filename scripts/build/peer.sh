#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Put the source of the peer kernel into $BUILD/peer; scripts/build/kernel.sh peer-NAME builds it.
#
#   scripts/build/peer.sh
#
# From the Debian package that the file PEER names: fetched, compared with its sha256 and
# unpacked, nothing is installed. PEER=DIR takes a plain tree instead, whatever its version;
# then $BUILD/peer is a link to it. Does nothing while that stays the same.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

PEERDIR=$BUILD/peer STAMP=$BUILD/peer.stamp FILE=$ROOT/PEER
value() { sed -n "s/^$1=//p" "$FILE"; }
build_lock

if [ -n "${PEER:-}" ]; then
	[ -f "$PEER/Makefile" ] && [ -f "$PEER/Kconfig" ] || die "PEER=$PEER is no kernel source"
	DIR=$(cd "$PEER" && pwd -P)
	[ ! -e "$DIR/.config" ] && [ ! -d "$DIR/include/config" ] ||
		die "PEER=$PEER was built in; run 'make mrproper' in it, or give a clean tree"
	[ "$(readlink "$PEERDIR" || true)" = "$DIR" ] || {
		rm -rf "$PEERDIR"
		ln -s "$DIR" "$PEERDIR"
	}
	rm -f "$STAMP"
	say "peer is $(kernel_version "$DIR"), $DIR"
	exit 0
fi

PKG=$(value package) VERSION=$(value version) SHA=$(value sha256)
id="$PKG $VERSION $SHA"
[ -d "$PEERDIR" ] && [ ! -L "$PEERDIR" ] && [ "$(cat "$STAMP" 2>/dev/null)" = "$id" ] && exit 0

DEB=$BUILD/download/${PKG}_$VERSION.deb
mkdir -p "${DEB%/*}"
# fetch URL FILE - a minute without data ends it
fetch() {
	python3 - "$@" <<-'EOF'
	import shutil, sys, urllib.request
	try:
	    with urllib.request.urlopen(sys.argv[1], timeout=60) as src, open(sys.argv[2], "wb") as dst:
	        shutil.copyfileobj(src, dst)
	except OSError as err:
	    sys.exit(f"peer: {sys.argv[1]}: {err}")
	EOF
}
good() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -c1-64)" = "$SHA" ]; }
if ! good "$DEB"; then
	for url in $(value url); do
		say "fetching $url"
		fetch "$url" "$DEB.tmp" || continue
		good "$DEB.tmp" && break
		warn "$url is not what PEER names: sha256 $(sha256sum "$DEB.tmp" | cut -c1-64)"
		rm -f "$DEB.tmp"
	done
	good "$DEB.tmp" ||
		die "$PKG $VERSION is not to be had from the addresses in the file PEER; give PEER=DIR, a kernel source"
	mv "$DEB.tmp" "$DEB"
fi

say "unpacking $PKG $VERSION, about 20 s"
rm -rf "$PEERDIR.new" "$PEERDIR.deb"
mkdir -p "$PEERDIR.new"
dpkg-deb -x "$DEB" "$PEERDIR.deb"
tar -xJf "$PEERDIR.deb/usr/src/$PKG.tar.xz" -C "$PEERDIR.new" --strip-components=1 --no-same-owner
rm -rf "$PEERDIR.deb" "$PEERDIR"
mv "$PEERDIR.new" "$PEERDIR"
echo "$id" >"$STAMP"
say "peer is $(kernel_version "$PEERDIR") ($PKG $VERSION)"
