#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Everything about the source that a machine can check: `make check`.
#
#   scripts/test/check.sh [NAME...]    all checks, or those named (scripts/test/check.sh list)
#
# Ends with "check: N passed, N failed"; exit status 1 if any failed. Each check is a
# function chk_NAME that prints what is wrong and fails; fd 3 is for remarks.
set -euo pipefail
. "$(dirname "$0")/../build/lib.sh"
cd "$ROOT"

BASE=$BUILD/base TREE=$BUILD/tree
export PYTHONDONTWRITEBYTECODE=1

CHECKS=(shell python spdx size paths docs headers results tests mutants series checkpatch kernel_doc abi export
	lockless sparse_w1 user_tools build_i386 build_off build_nomemcg build_noevictor build_test
	build_rt build_clang)

# ---- which files ----

# repo_files [PATHSPEC...] - files of the repository, new ones included
repo_files() {
	local f
	{ git ls-files -co --exclude-standard -- "$@" 2>/dev/null ||
		find "${@:-.}" -type f -not -path './.git/*' | sed 's,^\./,,'; } |
		LC_ALL=C sort -u | while read -r f; do [ ! -f "$f" ] || echo "$f"; done
}
OVERLAY=(arch mm include drivers fs tools Documentation kernel lib block)
series() { sed 's/#.*//' patches/series | xargs -n1 2>/dev/null; }
# scripts_with INTERPRETER-REGEX - files whose first line runs one of those
scripts_with() {
	repo_files | while read -r f; do
		! head -c 80 "$f" | tr -d '\0' | head -1 | grep -qE "^#!.*\b($1)\b" || echo "$f"
	done
}
# hooked C files of the kernel itself that this configuration compiles
hooked_objects() {
	sed -n 's,^+++ b/\(.*\)\.c$,\1.o,p' patches/[0-9]*.patch | grep -v '^tools/' | LC_ALL=C sort -u
}

# ---- the checks ----

chk_shell() {
	local f rc=0
	for f in $(scripts_with 'bash|sh') scripts/build/lib.sh; do
		bash -n "$f" || rc=1
		# SC1091: files sourced by a computed path are checked on their own
		! command -v shellcheck >/dev/null || shellcheck -S warning -e SC1091 "$f" || rc=1
	done
	return $rc
}

chk_python() {
	{ scripts_with python3; repo_files | grep '\.py$'; } | LC_ALL=C sort -u |
		xargs python3 -W error -c '
import ast, pathlib, sys
rc = 0
ours = {pathlib.Path(f).stem for f in sys.argv[1:]}
for f in sys.argv[1:]:
    try:
        tree = ast.parse(pathlib.Path(f).read_bytes(), f)
        compile(tree, f, "exec")
    except (SyntaxError, Warning) as err:
        print(f"{f}: {err}")
        rc = 1
        continue
    # only the standard library: the tools run in a guest and on bare servers
    # (the benchmarks may draw, where matplotlib is there: imported where it is used, or
    # in a program that does nothing else)
    draws = f == "bench/plot.py"
    for node in tree.body if f.startswith("bench/") and not draws else ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else \
                [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
        for n in names:
            top = n.split(".")[0]
            if top not in sys.stdlib_module_names and top not in ours and \
                    not (draws and top == "matplotlib"):
                print(f"{f}:{node.lineno}: imports {n}, which is not in the standard library")
                rc = 1
sys.exit(rc)'
}

chk_spdx() {
	local f rc=0
	for f in $(repo_files); do
		case $f in
		# mail, data, texts whose format has no place for it
		*.patch | *.json | *.csv | *.tsv | *.svg | *.png | *.txt | *.log | *.gz | *.expected) continue ;;
		*.md | */README | MAINTAINERS | COPYING | LICENSE* | NOTES* | patches/series) continue ;;
		Documentation/ABI/* | tools/testing/selftests/*/config | */settings) continue ;;
		*/.gitignore | */golden/* | */data/* | */results/*) continue ;;
		esac
		case $f in
		*.c) head -1 "$f" | grep -q '^// SPDX-License-Identifier: GPL-2.0' ;;
		*.h) head -1 "$f" | grep -q '^/\* SPDX-License-Identifier: GPL-2.0.*\*/$' ;;
		*) head -3 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0' ;;
		esac || { echo "$f: no SPDX-License-Identifier: GPL-2.0 where the kernel wants it"; rc=1; }
	done
	return $rc
}

chk_size() {
	local f n rc=0
	for f in $(repo_files "${OVERLAY[@]}" scripts bench); do
		case $f in *.json | *.csv | *.tsv | *.svg | */data/* | */results/*) continue ;; esac
		n=$(wc -l <"$f")
		[ "$n" -lt 1000 ] || { echo "$f: $n lines; split it (limit 1000)"; rc=1; }
	done
	return $rc
}

# Form of every hook, and that every prefix of the series applies without fuzz: they are
# applied one after another to the base files, as scripts/build/tree.py does it.
chk_series() {
	local p n rc=0 last='' listed
	listed=$(series)
	for p in $(series); do
		[[ $p =~ ^[0-9]{3}-[a-z0-9]+(-[a-z0-9_]+)*\.patch$ ]] ||
			{ echo "patches/$p: not named NNN-subsystem-what-it-does.patch"; rc=1; }
		[[ ! $p < $last ]] || { echo "patches/$p: out of order in series"; rc=1; }
		last=$p
		grep -q '^From: ' "patches/$p" && grep -q '^Subject: \[PATCH\] ' "patches/$p" &&
			grep -q '^Signed-off-by: ' "patches/$p" && grep -qx -- '---' "patches/$p" ||
			{ echo "patches/$p: wants From:, Subject: [PATCH], Signed-off-by: and ---"; rc=1; }
		! grep -q 'FIXME' "patches/$p" || { echo "patches/$p: FIXME in it"; rc=1; }
		n=$(grep -c '^+\([^+]\|$\)' "patches/$p" || true)
		[ "$n" -le 30 ] || grep -q '^\[ Upstream commit' "patches/$p" ||
			echo "remark: patches/$p adds $n lines; hooks should stay at 30 or fewer" >&3
	done
	for p in patches/*.patch; do
		grep -qxF "${p#patches/}" <<<"$listed" ||
			{ echo "$p: not in patches/series, so it is not applied"; rc=1; }
	done
	python3 - <<-'PY' || rc=1
		import sys
		sys.path.insert(0, "scripts/build")
		import tree_lib as t
		try:
		    with t.staging() as stage:
		        want = t.Wanted(stage)
		except t.Error as err:
		    sys.exit(str(err))
		tested = t.read("BASE").decode().split("version=")[1].split("-")[0]
		if want.offsets and f"version={tested}\n" in t.base_id():
		    for n, o in want.offsets.items():
		        print(f"patches/{n}: applies with offsets to the tested base; "
		              f"'make refresh' writes it anew: {o[0]}")
		    sys.exit(1)
	PY
	return $rc
}

# What of checkpatch does not apply here, and why.
IGNORE=(
	FILE_PATH_CHANGES        # MAINTAINERS comes with the overlay, not with each hook
	EMBEDDED_FILENAME        # a path in a file's first lines is no fault in docs
	SPDX_LICENSE_TAG         # chk_spdx; checkpatch needs modules that are not in the standard library
	USE_LOCKDEP              # ssw_gen_is_busy() asks whether to go elsewhere, and asserts nothing
	DATA_RACE                # racy reads of hints and counters: said once a file, not at every line
)
# A list whose lines are handed to a macro makes values, files and names of them: neither
# expressions nor statements.
IGNORE_LISTS=(COMPLEX_MACRO MACRO_ARG_REUSE MACRO_ARG_UNUSED LINE_CONTINUATIONS TRAILING_SEMICOLON
	SPACING)
# Trace event macros are laid out like this in all of include/trace.
IGNORE_TRACE=(OPEN_ENDED_LINE PARENTHESIS_ALIGNMENT LONG_LINE "${IGNORE_LISTS[@]}")
# User space: the kernel's helpers and types are not there; and the macros of the test
# harness are statements with an optional block behind them, which want braces around them.
IGNORE_TEST=(BRACES MACRO_ARG_REUSE MACRO_WITH_FLOW_CONTROL MULTISTATEMENT_MACRO_USE_DO_WHILE
	NEW_TYPEDEFS PREFER_KERNEL_TYPES CAMELCASE CONST_STRUCT ARRAY_SIZE BIT_MACRO
	STRCPY STRLCPY STRNCPY NAKED_SSCANF SSCANF_TO_KSTRTO CONSIDER_KSTRTO VOLATILE USLEEP_RANGE
	PREFER_DEFINED_ATTRIBUTE_MACRO EMBEDDED_FUNCTION_NAME LONG_LINE_STRING)
chk_checkpatch() {
	local f rc=0 ign
	ign=$(IFS=,; echo "${IGNORE[*]}")
	cpatch() { # EXTRA-TYPES ARGS...
		local extra=$1 out
		shift
		out=$(perl "$TREE/scripts/checkpatch.pl" --root="$TREE" --strict --terse --no-summary \
			--show-types --max-line-length=100 --ignore "$ign${extra:+,$extra}" "$@" 2>/dev/null |
			grep -E ': (ERROR|WARNING|CHECK):' || true)
		[ -z "$out" ] || { echo "$out"; return 1; }
	}
	# Through stdin: a file that git knows would be taken for source, not for a patch.
	for f in $(series); do cpatch '' - <"patches/$f" | sed "s,^-,patches/$f," || rc=1; done
	for f in $(repo_files "${OVERLAY[@]}" Kconfig.scaleswap); do
		case $f in
		include/trace/*) cpatch "$(IFS=,; echo "${IGNORE_TRACE[*]}")" -f "$f" || rc=1 ;;
		mm/scaleswap/stat.h | mm/scaleswap/sysfs.c | mm/scaleswap/sysfs-defrag.c)
			cpatch "$(IFS=,; echo "${IGNORE_LISTS[*]}")" -f "$f" || rc=1
			;;
		# zlib's names
		drivers/crypto/intel/iaa/iaa_inflate.c) cpatch CAMELCASE -f "$f" || rc=1 ;;
		tools/*.[ch]) cpatch "$(IFS=,; echo "${IGNORE_TEST[*]}")" -f "$f" || rc=1 ;;
		tools/*) ;;
		*.c | *.h | *.S | *Makefile | Kconfig* | *.rst) cpatch '' -f "$f" || rc=1 ;;
		esac
	done
	rm -f .checkpatch-camelcase.*	# its cache, which it leaves where it runs
	return $rc
}

chk_kernel_doc() {
	local out
	out=$(repo_files mm include arch drivers fs kernel | grep '\.[ch]$' |
		xargs perl "$TREE/scripts/kernel-doc" -none -Wreturn 2>&1 | grep -v ' 0 warnings' || true)
	[ -z "$out" ] || { echo "$out"; return 1; }
}

# Every sysfs attribute is described, and what is described exists.
chk_abi() {
	local doc=Documentation/ABI/testing/sysfs-kernel-mm-scaleswap said a attrs stats rc=0
	[ -f "$doc" ] || { echo "$doc is missing"; return 1; }
	# that file, and those of single directories beside it
	said=$(cat "$doc"*)
	# the lists of counters, and attributes that are written out
	stats=$(sed -nE 's/^\tX\([A-Z0-9_]+, ([a-z0-9_]+)\).*/\1/p' mm/scaleswap/stat.h)
	[ -n "$stats" ] || { echo "found no counters in mm/scaleswap/stat.h"; return 1; }
	attrs=$({ echo "$stats"; sed -nE 's/^[^#]*\b[A-Z_]*ATTR(_[A-Z0-9]+)?\(([a-z][a-z0-9_]*)[,)].*/\2/p' \
		mm/scaleswap/*.c; } | LC_ALL=C sort -u)
	for a in $stats; do
		grep -rqw "$a" Documentation/admin-guide/mm/scaleswap* ||
			{ echo "Documentation/admin-guide/mm: nothing on the counter $a"; rc=1; }
		grep -q "'$a'" tools/mm/scaleswap/ssw_status.py ||
			{ echo "tools/mm/scaleswap/ssw_status.py does not know the counter $a"; rc=1; }
		grep -q "/$a " tools/mm/scaleswap/tests/data/status.rec ||
			{ echo "tools/mm/scaleswap/tests/data/status.rec: no counter $a, so no test shows it"; rc=1; }
	done
	for a in $attrs; do
		grep -qE "^(What:)?[[:space:]]+/sys/kernel/mm/scaleswap/(.*/)?$a\$" <<<"$said" ||
			{ echo "$doc: no 'What:' for attribute $a"; rc=1; }
	done
	for a in $(sed -nE 's,^(What:)?[[:space:]]+/sys/kernel/mm/scaleswap/(.*/)?([^/]+)$,\3,p' <<<"$said"); do
		case $a in areas | stats | fallback | '<'*) continue ;; esac
		grep -qx "$a" <<<"$attrs" || { echo "$doc: describes $a, which mm/scaleswap does not have"; rc=1; }
	done
	for a in Date KernelVersion Contact Description; do
		[ "$(grep -c "^$a:" <<<"$said")" -ge "$(grep -c '^What:' <<<"$said")" ] ||
			{ echo "$doc: an entry without $a:"; rc=1; }
	done
	for a in $(sed -nE 's/.*\.procname[[:space:]]*=[[:space:]]*"([a-z_]+)".*/\1/p' mm/scaleswap/*.c); do
		grep -rqE "vm[./]scaleswap[./]$a" Documentation/admin-guide/mm/scaleswap/index.rst ||
			{ echo "Documentation/admin-guide/mm/scaleswap/index.rst: nothing on vm.scaleswap.$a"; rc=1; }
	done
	return $rc
}

chk_export() {
	local dir rc=0
	dir=$(mktemp -d "$BUILD/check-export.XXXXXX")
	OUT=$dir scripts/build/export.py || rc=1
	rm -rf "$dir"
	return $rc
}

# objects SRC OUT TARGET... - compile with W=1 and sparse, in the configuration of `test`
objects() {
	local src=$1 out=$2 conf=$BUILD/out/test/.config
	shift 2
	mkdir -p "$out"
	if ! cmp -s "$conf" "$out/.config.from"; then
		cp "$conf" "$out/.config"
		cp "$conf" "$out/.config.from"
		make -C "$src" O="$out" -j"$JOBS" "CC=ccache gcc" "HOSTCC=ccache gcc" olddefconfig >/dev/null
	fi
	CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$BUILD \
		make -C "$src" O="$out" -j"$JOBS" "CC=ccache gcc" "HOSTCC=ccache gcc" W=1 C=2 "$@"
}
# Without line numbers, so that what only moved counts as the same.
warnings() { grep -E ': (warning|error|note):' "$1" | sed -E "s,^($TREE|$BASE|$(readlink -f "$BASE")|\.\./\.\./tree|\.\./\.\./base)/,,;s/:[0-9]+(:[0-9]+)?:/:/g" | LC_ALL=C sort || true; }

# Overlay: no warning at all. Hooked files: none that the base does not give as well.
chk_sparse_w1() {
	local objs ours base log=$BUILD/logs/check-w1.log key bad rc=0
	mkdir -p "$BUILD/logs"
	[ -f "$BUILD/out/test/.config" ] || scripts/build/kernel.sh test prepare >/dev/null
	mapfile -t objs < <(hooked_objects)
	# objects are made only if they are not there: make them again, to see all warnings
	(cd "$BUILD/out/check" 2>/dev/null && rm -rf mm/scaleswap && rm -f "${objs[@]}") || true
	objects "$TREE" "$BUILD/out/check" mm/scaleswap/ "${objs[@]}" >"$log" 2>&1 ||
		{ tail -20 "$log"; return 1; }
	ours=$(warnings "$log")
	bad=$(grep -E '(^|/)(mm/scaleswap/|include/(linux|trace/events)/scaleswap)' <<<"$ours" || true)
	[ -z "$bad" ] || { echo "$bad"; rc=1; }
	# what the base says about the same files; kept, as the base hardly changes
	key=$({ cat "$BUILD/base.stamp" "$BUILD/out/check/.config" scripts/test/check.sh; echo "${objs[@]}"; } | sha256sum | cut -c1-16)
	if [ ! -f "$BUILD/logs/check-w1-base.$key" ]; then
		(cd "$BUILD/out/check-base" 2>/dev/null && rm -f "${objs[@]}") || true
		objects "$BASE" "$BUILD/out/check-base" "${objs[@]}" >"$log.base" 2>&1 ||
			{ tail -20 "$log.base"; return 1; }
		warnings "$log.base" >"$BUILD/logs/check-w1-base.$key"
	fi
	bad=$(comm -23 <(echo "$ours") "$BUILD/logs/check-w1-base.$key" |
		grep -vE 'note:|(mm/scaleswap/|scaleswap\.h)' | grep . || true)
	[ -z "$bad" ] || { echo "warnings that the base does not give:"; echo "$bad"; rc=1; }
	return $rc
}

# tools/mm/page-types, which a hook touches: built from base and tree, and compared.
chk_user_tools() {
	local dir t rc=0
	grep -q '^+++ b/tools/mm/page-types' patches/[0-9]*.patch || return 0
	dir=$(mktemp -d "$BUILD/check-tools.XXXXXX")
	for t in base tree; do
		mkdir -p "$dir/$t/include/uapi"
		rsync -a "$BUILD/$t/include/uapi/" "$dir/$t/include/uapi/"
		(cd "$BUILD/$t" && rsync -aR include/linux/kernel-page-flags.h \
			tools/{lib,include,scripts,build} tools/mm/{Makefile,page-types.c} "$dir/$t/")
		make -C "$dir/$t/tools/mm" page-types >"$dir/$t/log" 2>&1 ||
			{ tail -5 "$dir/$t/log"; rc=1; }
		sed -n 's/^\(page-types.c\):[0-9:]*\(.*warning:.*\)/\1\2/p' "$dir/$t/log" | sort >"$dir/$t.warnings"
	done
	comm -13 "$dir/base.warnings" "$dir/tree.warnings" | grep . && rc=1
	rm -rf "$dir"
	return $rc
}

# Each file that is named exists; the default of BUILD stands once a language.
chk_paths() { scripts/test/check/paths.py "$ROOT" "$TREE"; }

# Each name, file and DOC block that a document names exists; the overlay names nothing
# that a kernel tree does not have.
chk_docs() { scripts/test/check/docs.py "$ROOT" "$TREE"; }

# Headers hold no code, and internal names stay inside mm/scaleswap.
chk_headers() { scripts/test/check/headers.py "$ROOT"; }

# Each selftest runs in a guest, in a kernel that has what it needs.
chk_tests() { scripts/test/check/tests.py "$ROOT"; }

# Each mutant can still be applied.
chk_mutants() { scripts/test/mutate.py --check; }

# Every figure that was measured is in a file that names commit and command.
chk_results() {
	local log=$BUILD/logs/check-results.log
	mkdir -p "$BUILD/logs"
	python3 -B -m unittest discover -s bench/tests -p test_results.py >"$log" 2>&1 || { cat "$log"; return 1; }
}

# A whole kernel, linked: stubs and dependencies are right when that works.
whole() {
	local log=$BUILD/logs/check-$1.log
	mkdir -p "$BUILD/logs"
	scripts/build/kernel.sh "$1" vmlinux >"$log" 2>&1 || { tail -30 "$log"; return 1; }
	! grep -E '(warning|WARNING):' "$log"
}
chk_build_off() { whole off; }
chk_build_nomemcg() { whole nomemcg; }
chk_build_noevictor() { whole noevictor; }
chk_build_test() { whole test; }

# Only what the series adds or changes, and all of mm/, where most of the changed headers are
# used: the rest of the kernel is the base's, and whole kernels of two more configurations
# would not fit into CI's time.
some() { # NAME [COMPILER]
	local log=$BUILD/logs/check-$1.log objs
	mkdir -p "$BUILD/logs"
	mapfile -t objs < <(hooked_objects | grep -v '^mm/')
	KCC=${2:-gcc} scripts/build/kernel.sh "$1" mm/ "${objs[@]}" >"$log" 2>&1 || { tail -30 "$log"; return 1; }
	! grep -E '(warning|WARNING):' "$log"
}
chk_build_rt() { some rt; }
chk_build_clang() { some preempt clang; }

# 32 bits, where the type must stay as narrow as in the base: the files that know of it.
chk_build_i386() {
	local out=$BUILD/out/check-i386 log=$BUILD/logs/check-i386.log objs
	local mk=(make -C "$TREE" O="$out" ARCH=i386 -j"$JOBS" "CC=ccache gcc" "HOSTCC=ccache gcc")
	mkdir -p "$out" "$BUILD/logs"
	printf '%s\n' CONFIG_SMP=y CONFIG_BLOCK=y CONFIG_SWAP=y CONFIG_PROC_FS=y CONFIG_SYSFS=y \
		CONFIG_MMU=y CONFIG_PROC_PAGE_MONITOR=y CONFIG_SYSCTL=y CONFIG_SHMEM=y \
		CONFIG_MULTIUSER=y CONFIG_MIGRATION=y CONFIG_MEMCG=y CONFIG_CGROUPS=y \
		CONFIG_USERFAULTFD=y CONFIG_ZSWAP=y CONFIG_EXPERT=y CONFIG_TRANSPARENT_HUGEPAGE=y >"$out/all"
	KCONFIG_ALLCONFIG=$out/all "${mk[@]}" allnoconfig >"$log" 2>&1 || { tail "$log"; return 1; }
	grep -q '^CONFIG_SWAP=y' "$out/.config" || { echo "configuration has no CONFIG_SWAP"; return 1; }
	! grep -q '^CONFIG_SCALESWAP=y' "$out/.config" || { echo "CONFIG_SCALESWAP can be set on 32 bits"; return 1; }
	mapfile -t objs < <(hooked_objects | grep -E '^(mm|fs/proc)/')
	CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$BUILD "${mk[@]}" "${objs[@]}" mm/memory.o >>"$log" 2>&1 ||
		{ grep -E 'error' "$log" | head; tail -5 "$log"; return 1; }
	! grep 'warning:' "$log"
}

# The lockless sources in user space: under sanitizers, and as models.
chk_lockless() {
	local log=$BUILD/logs/check-lockless.log
	mkdir -p "$BUILD/logs"
	scripts/test/lockless.sh test >"$log" 2>&1 || { tail -40 "$log"; return 1; }
	! grep -i '^skip' "$log"
}

# ---- run them ----

if [ "${1:-}" = list ]; then
	printf '%s\n' "${CHECKS[@]}"
	exit 0
fi
[ $# -eq 0 ] || CHECKS=("$@")
for c in "${CHECKS[@]}"; do
	declare -F "chk_$c" >/dev/null || die "no check is called $c; 'scripts/test/check.sh list' lists them"
done
[ -f "$TREE/Makefile" ] || die "$TREE is missing; run 'make tree' first"

passed=0 failed=()
out=$(mktemp)
trap 'rm -f "$out"' EXIT
for c in "${CHECKS[@]}"; do
	start=$SECONDS rc=0
	printf 'check: %-14s ' "$c"
	# errexit is off in a condition, so every check returns its own status
	("chk_$c") >"$out" 2>&1 3>"$out.remarks" </dev/null || rc=$?
	if [ "$rc" = 0 ]; then
		echo "ok ($((SECONDS - start)) s)"
		passed=$((passed + 1))
	else
		echo "FAILED ($((SECONDS - start)) s)"
		sed 's/^/    /' "$out"
		failed+=("$c")
	fi
	sed 's/^/    /' "$out.remarks"
	rm -f "$out.remarks"
done
[ ${#failed[@]} -eq 0 ] || echo "check: failed: ${failed[*]}; again with 'scripts/test/check.sh ${failed[*]}'"
echo "check: $passed passed, ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ]
