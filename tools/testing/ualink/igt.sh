#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# igt.sh [TEST...] - the IGT tests of tools/testing/igt in the debug kernel,
# linked with the distribution's libigt; a boot for each test, in which
# igt-run.sh makes accelerators and runs each subtest by itself. Writes
# build/results/igt.tap. TEST: a test, or a shell pattern for test@subtest.
#   KERNEL=FILE  in this kernel
. "$(dirname "$0")/lib.sh"
kernel_for debug
if ! "$here/igt-build.sh" "$build/igt" > "$logs/igt-build.log" 2>&1; then
	tap_start igt
	tap_fail "the tests build with libigt" "$logs/igt-build.log"
	tap_done
	exit 1
fi
export IGT_TIMEOUT=${IGT_TIMEOUT:-120}

patterns=()
for t; do
	case $t in *@*) patterns+=("$t") ;; *) patterns+=("$t@*") ;; esac
done
wanted() {
	local p
	[ ${#patterns[@]} -gt 0 ] || return 0
	for p in "${patterns[@]}"; do
		# shellcheck disable=SC2053
		[[ $1 != $p ]] || return 0
	done
	return 1
}

# one_test BINARY: $list has its subtests
one_test() {
	local name dir n s line
	name=$(basename "$1")
	dir=$logs/igt-$name
	n=$(wc -l < "$list")
	{
		echo "export IGT_TIMEOUT=$IGT_TIMEOUT"
		echo "mkdir tests && mv $name tests/"
		printf 'sh ./igt-run.sh tests results'
		sed "s/.*/ '&'/" "$list" | tr '\n' ' '
		echo
	} > "$build/.igt-cmd"
	"$here/run-uml.sh" -f "$1" -f "$here/igt-run.sh" -l -m 1G -t $((n * (IGT_TIMEOUT + 5) + 60)) -o "$dir" \
		"$kernel" "$build/.igt-cmd" vualink.pods=0 > "$dir.log" 2>&1 || true

	while read -r s; do
		line=$(grep -aE "^(not )?ok [0-9]+ $s( |\$)" "$dir/out" 2>/dev/null | head -n 1 || true)
		case $line in
		"ok "*" # SKIP"*) tap_skip "$s" "${line#* # SKIP }" ;;
		"ok "*) tap_ok "$s" ;;
		"not ok "*) tap_fail "$s" "$dir/results/$s.log" ;;
		*) tap_fail "$s: did not run, or did not end" "$dir.log" ;;
		esac
	done < "$list"
	if [ ! -f "$dir/splats" ] && [ -f "$dir/rc" ]; then
		tap_ok "$name: the kernel did not complain, lockdep is on, nothing leaks"
	else
		sed -n '/^the kernel/,$p' "$dir.log" > "$dir.why"
		tap_fail "$name: the kernel complained, leaked or died" "$dir.why"
	fi
}

tap_start igt
list=$logs/igt.list
for binary in "$build"/igt/ualink_*; do
	case $binary in *.o) continue ;; esac
	name=$(basename "$binary")
	if ! "$binary" --list-subtests > "$list.all" 2> "$logs/igt-list.log" || [ ! -s "$list.all" ]; then
		tap_fail "$name: list of subtests" "$logs/igt-list.log"
		continue
	fi
	while read -r s; do
		if wanted "$name@$s"; then echo "$name@$s"; fi
	done < "$list.all" > "$list"
	[ ! -s "$list" ] || one_test "$binary"
done
tap_done
