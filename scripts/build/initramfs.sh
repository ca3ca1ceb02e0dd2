#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the guest's root file system: scripts/build/initramfs.sh [LAYER...]
#
# The kernel takes several cpio archives behind one another, so the root is made of
# layers, and a guest that is short of memory takes only what it needs (all of it is
# memory). Programs are the host's Debian ones with their libraries. Layers:
#   base       busybox, bash, real util-linux, e2fsprogs, coreutils where they differ
#   python     Debian's python3 with most of its standard library
#   stress-ng  fio       these programs (fio is 85 MB because of its libraries)
#   tool       tools/mm/scaleswap as /usr/bin/scaleswap
#   selftests  tools/testing/selftests/scaleswap as /selftests, built here
# Default: all but fio. The result is $BUILD/initramfs/LAYER.cpio, not compressed: an
# emulated CPU takes longer to decompress than QEMU to load. A layer is built anew only
# when something it is made of changed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

DIR=$BUILD/initramfs
mkdir -p "$DIR"
exec 8>"$DIR/.lock"
flock 8
[ $# -gt 0 ] || set -- base python stress-ng tool selftests
GUEST=$ROOT/scripts/guest

find_prog() {
	PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v "$1" ||
		die "the guest needs the program $1 (Debian package $2); run 'make deps'"
}

# "package: programs", in the form find_prog wants for its message
BASE_PROGS="
bash bash
mount swapon mount swapoff
util-linux mkswap util-linux fallocate util-linux taskset util-linux flock
util-linux lsblk util-linux findmnt util-linux blkid util-linux wipefs util-linux setpriv util-linux unshare
util-linux chrt mount losetup
fdisk sfdisk
e2fsprogs mkfs.ext4 e2fsprogs tune2fs e2fsprogs filefrag e2fsprogs e2fsck e2fsprogs chattr e2fsprogs lsattr
coreutils dd coreutils stat coreutils timeout coreutils truncate coreutils sync coreutils df coreutils sort
coreutils cp coreutils numfmt coreutils ls
procps free"

# base_progs - "path" of each, one a line
base_progs() {
	local pkg prog
	# shellcheck disable=SC2086
	set -- $BASE_PROGS
	while [ $# -gt 0 ]; do
		pkg=$1 prog=$2; shift 2
		find_prog "$prog" "$pkg"
	done
}

libs_of() { ldd "$@" 2>/dev/null | sed -nE 's/^\t(.* => )?(\/[^ ]+) \(0x.*/\2/p' | sort -u; }

# usr PATH - /lib, /bin and so on are links into /usr, in Debian and in the guest
usr() { case $1 in /usr/*) echo "$1" ;; *) echo "/usr$1" ;; esac; }

# put PATH... - copy into $T under the same name, following links
put() {
	local p
	for p in "$@"; do install -D -m 755 "$p" "$T$(usr "$p")"; done
}

# put_progs PATH... - with their libraries, but for those that the layer base has
put_progs() {
	local l
	put "$@"
	while read -r l; do
		[ "$LAYER" != base ] && grep -qxF "$l" "$DIR/base.libs" || put "$l"
	done < <(libs_of "$@")
}

# fingerprint PATH... - changes when a file does
fingerprint() { find -L "$@" -type f ! -path '*/__pycache__/*' -printf '%p %s %T@ %m\n' | LC_ALL=C sort; }

PY=/usr/bin/python3
PYLIB=$($PY -c 'import sysconfig; print(sysconfig.get_path("stdlib"))' 2>/dev/null) ||
	die "the guest needs /usr/bin/python3 (Debian package python3); run 'make deps'"

# inputs - what the layer is made of, in a text that changes with it
inputs() {
	fingerprint "$0"
	case $LAYER in
	base)
		# shellcheck disable=SC2046
		fingerprint $(base_progs) "$GUEST/init" "$(find_prog busybox busybox-static)" ;;
	python) fingerprint "$(readlink -f $PY)" "$PYLIB/os.py" ;;
	stress-ng | fio) fingerprint "$(find_prog "$LAYER" "$LAYER")" ;;
	tool) [ ! -d "$TOOL" ] || fingerprint "$TOOL" ;;
	selftests) [ ! -d "$SELFOUT" ] || fingerprint "$SELFOUT" "$SELFSRC" ;;
	esac
}

TOOL=$ROOT/tools/mm/scaleswap
# The tests are built in the assembled tree: they include kselftest's lib.mk.
SELFSRC=$BUILD/tree/tools/testing/selftests/scaleswap
SELFOUT=$BUILD/selftests/scaleswap

make_selftests() {
	[ -f "$SELFSRC/Makefile" ] || return 0
	mkdir -p "$SELFOUT" "$BUILD/logs"
	local log=$BUILD/logs/selftests.log
	make -C "$SELFSRC" "OUTPUT=$SELFOUT" all >"$log" 2>&1 ||
		{ tail -20 "$log" >&2; die "building the selftests failed; the whole log is $log"; }
}

layer_base() {
	local a p
	mkdir -p "$T"/{dev,proc,sys,tmp,root,mnt,run,etc,var,ssw} "$T"/usr/{bin,sbin,lib,lib64}
	for a in bin sbin lib lib64; do ln -s "usr/$a" "$T/$a"; done
	base_progs >"$T.progs"
	libs_of $(cat "$T.progs") >"$T.libs"
	# loaded by the C library when a thread is cancelled, so ldd does not see it
	echo /lib/x86_64-linux-gnu/libgcc_s.so.1 >>"$T.libs"
	# shellcheck disable=SC2046
	put $(cat "$T.progs" "$T.libs")
	mv "$T.libs" "$DIR/base.libs"; rm "$T.progs"
	install -m 755 "$(find_prog busybox busybox-static)" "$T/usr/bin/busybox"
	# An applet only where there is no real program: busybox swapon has no -p.
	for a in $("$T/usr/bin/busybox" --list); do
		[ -e "$T/usr/bin/$a" ] || [ -e "$T/usr/sbin/$a" ] || ln -s busybox "$T/usr/bin/$a"
	done
	# These ask init by a signal. The guest's is a shell, which heeds none: they would do
	# nothing, and the script would go on.
	for a in reboot poweroff; do
		rm "$T/usr/bin/$a"
		printf '#!/bin/sh\nexec busybox %s -f "$@"\n' "$a" >"$T/usr/bin/$a"
		chmod 755 "$T/usr/bin/$a"
	done
	cp /etc/mke2fs.conf "$T/etc/"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$T/etc/passwd"
	echo 'root:x:0:' >"$T/etc/group"
	ln -s /proc/mounts "$T/etc/mtab"
	for p in fio stress-ng python3 scaleswap; do
		# replaced by the layer that has it
		printf '#!/bin/sh\necho "%s is not in this guest: boot it with --with %s" >&2\nexit 127\n' \
			"$p" "$p" | sed 's/--with python3/--with python/; s/--with scaleswap/--with tool/' >"$T/usr/bin/$p"
		chmod 755 "$T/usr/bin/$p"
	done
	install -m 755 "$GUEST/init" "$T/init"
}

layer_python() {
	local real
	real=$(readlink -f $PY)
	put_progs "$real"
	ln -s "$(basename "$real")" "$T/usr/bin/python3"
	# Compiled only, no sources: half the size, and nothing is compiled in the guest.
	$PY - "$PYLIB" "$T$PYLIB" <<-'PYEND'
	import os, py_compile, shutil, sys
	src, dst = sys.argv[1:]
	skip = {"test", "tests", "lib2to3", "idlelib", "tkinter", "turtledemo", "ensurepip",
	        "pydoc_data", "distutils", "__pycache__", "venv", "xml", "xmlrpc", "wsgiref",
	        "dbm", "sqlite3", "msilib", "curses", "dist-packages", "site-packages", "http",
	        "email", "html", "asyncio", "zoneinfo", "tomllib", "mailbox"}
	keep_enc = {"__init__", "aliases", "ascii", "utf_8", "latin_1", "idna", "utf_16", "cp437",
	            "raw_unicode_escape", "unicode_escape", "unicode_internal"}
	skip_so = ("_codecs_", "_test", "_xx", "xx", "_sqlite", "_tkinter", "_curses", "_dbm",
	           "_gdbm", "_ssl", "_hashlib", "_asyncio", "readline", "nis", "audioop")
	for d, subs, files in os.walk(src):
	    subs[:] = [s for s in subs if s not in skip and not s.startswith("config-")]
	    out = os.path.join(dst, os.path.relpath(d, src))
	    for f in files:
	        stem, ext = os.path.splitext(f)
	        if ext == ".so":
	            if not f.startswith(skip_so):
	                os.makedirs(out, exist_ok=True)
	                shutil.copy(os.path.join(d, f), out)
	        elif ext == ".py":
	            if d.endswith("/encodings") and stem not in keep_enc:
	                continue
	            os.makedirs(out, exist_ok=True)
	            py_compile.compile(os.path.join(d, f), os.path.join(out, stem + ".pyc"),
	                               dfile=os.path.join(d, f), doraise=True,
	                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
	PYEND
	# libraries of the extension modules (ctypes needs libffi)
	local l
	while read -r l; do
		grep -qxF "$l" "$DIR/base.libs" || put "$l"
	done < <(libs_of "$T$PYLIB"/lib-dynload/*.so)
}

layer_tool() {
	[ -d "$TOOL" ] || return 0
	mkdir -p "$T/usr/lib" "$T/usr/bin"
	cp -r "$TOOL" "$T/usr/lib/scaleswap"
	find "$T" -name __pycache__ -prune -exec rm -r {} +
	[ ! -f "$T/usr/lib/scaleswap/scaleswap" ] || chmod 755 "$T/usr/lib/scaleswap/scaleswap"
	# python looks for modules where the link points
	ln -s ../lib/scaleswap/scaleswap "$T/usr/bin/scaleswap"
}

layer_selftests() {
	local f helpers=$BUILD/tree/tools/testing/selftests/kselftest
	[ -d "$SELFOUT" ] || return 0
	# as kselftest installs: the Makefile of the tests says what, and in which order
	make -C "$SELFSRC" "OUTPUT=$SELFOUT" "INSTALL_PATH=$T/selftests" install >>"$BUILD/logs/selftests.log" 2>&1 ||
		die "installing the selftests failed; the whole log is $BUILD/logs/selftests.log"
	make -s --no-print-directory -C "$SELFSRC" "OUTPUT=$SELFOUT" COLLECTION=scaleswap emit_tests \
		>"$T/kselftest-list.txt"
	mkdir "$T/kselftest"
	cp "$helpers"/*.sh "$T/kselftest/"
	# tests say ../kselftest/ktap_helpers.sh; ./ is for convenience
	cp "$helpers/ktap_helpers.sh" "$T/selftests/"
	# shellcheck disable=SC2046
	while read -r f; do
		grep -qxF "$f" "$DIR/base.libs" || put "$f"
	done < <(libs_of $(find "$T/selftests" -type f -executable))
}

for LAYER in "$@"; do
	case $LAYER in
	base | python | stress-ng | fio | tool | selftests) ;;
	*) die "no layer is called $LAYER (base python stress-ng fio tool selftests)" ;;
	esac
	[ "$LAYER" != selftests ] || make_selftests
	new=$(inputs)
	[ -f "$DIR/$LAYER.cpio" ] && [ "$new" = "$(cat "$DIR/$LAYER.from" 2>/dev/null)" ] && continue
	T=$DIR/$LAYER.root
	rm -rf "$T"; mkdir -p "$T"
	# the other layers leave out the libraries that base has
	[ "$LAYER" = base ] || [ -f "$DIR/base.libs" ] || { say "layer base must be built first" >&2; "$0" base 8>&-; }
	case $LAYER in
	stress-ng | fio) put_progs "$(find_prog "$LAYER" "$LAYER")" ;;
	*) "layer_$LAYER" ;;
	esac
	(cd "$T" && find . -mindepth 1 | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$DIR/$LAYER.cpio.new"
	mv "$DIR/$LAYER.cpio.new" "$DIR/$LAYER.cpio"
	rm -rf "$T"
	echo "$new" >"$DIR/$LAYER.from"
	say "layer $LAYER: $(($(stat -c %s "$DIR/$LAYER.cpio") >> 20)) MB" >&2
done
