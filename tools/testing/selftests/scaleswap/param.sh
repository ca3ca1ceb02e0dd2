#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The boot parameter scaleswap=, as this kernel was booted: it switched the named parts on;
# it warned about names that it does not know, and ignored them.
. "$(dirname "$0")/common.sh"
need_root
[ -e $SYS/enabled ] || skip_all "a kernel without CONFIG_SCALESWAP"

value=none
for word in $(cat /proc/cmdline); do
	case $word in scaleswap=*) value=${word#scaleswap=} ;; esac
done

want=0 unknown= missing=
for name in $(echo "$value" | tr , ' '); do
	case $name in
	on | core) want=1 ;;
	off | none) ;;
	lru | evict | fault | zbatch | defrag)
		want=1 # each of them works on per-core areas
		# each has a directory where it is built in.
		[ -d "$SYS/$name" ] || missing="$missing $name"
		;;
	*) unknown="$unknown $name" ;;
	esac
done

# The kernel's log of the boot, without the command line and KUnit, which tries the parser.
boot_log() { dmesg | sed '/KTAP version/,$d' | grep -vi 'command line'; }

enabled() { same "enabled with scaleswap=$value" $want "$(cat $SYS/enabled)"; }

warned() {
	local name
	for name in $unknown $missing; do
		boot_log | grep 'scaleswap: ' | grep -q -- "$name" || fail "the kernel log does not name '$name'" || return 1
	done
}

not_warned() {
	! boot_log | grep -iE 'scaleswap: .*(bad|unknown|not built|invalid)' ||
		fail "a warning without reason"
}

# Not handed on to init as an environment variable or argument.
consumed() {
	! dmesg | grep -i 'unknown kernel command line parameters' | grep -q 'scaleswap' ||
		fail "the kernel takes scaleswap= for an unknown parameter"
}

ktap_print_header
ktap_set_plan 3
check "enabled_scaleswap=$value" enabled
if [ -n "$unknown$missing" ]; then
	check "names_warned_about:$(echo $unknown $missing | tr ' ' ,)" warned
else
	check "no_needless_warning" not_warned
fi
check "parameter_is_known" consumed
ktap_finished
