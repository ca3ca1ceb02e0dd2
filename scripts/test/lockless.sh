#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The lockless parts of ScaleSwap, built in user space from the assembled tree, under
# sanitizers and with models: tools/testing/scaleswap/README.
#
#   scripts/test/lockless.sh [TARGET...] [VAR=VALUE...]    default: test
#
# Targets: test stress model mutants. Objects are in $BUILD/lockless.
set -euo pipefail
. "$(dirname "$0")/../build/lib.sh"

TREE=$BUILD/tree
DIR=$TREE/tools/testing/scaleswap
[ -f "$DIR/Makefile" ] || die "$DIR is missing; 'make tree' assembles it"
command -v gcc >/dev/null || die "needs gcc"
mkdir -p "$BUILD/lockless"
[ $# -gt 0 ] || set -- test
exec nice -n 19 make --no-print-directory -C "$DIR" O="$BUILD/lockless" "$@"
