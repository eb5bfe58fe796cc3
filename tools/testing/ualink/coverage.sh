#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# coverage.sh - how much of the core the tests reach: KUnit, IGT and the faults
# programs in a kernel whose core and helpers count their branches (gcov). Writes
# build/results/coverage.tap, coverage-values.json, and coverage.txt: the lines with
# branches that were never taken.
. "$(dirname "$0")/lib.sh"
out=$build/um-gcov
folder=drivers/gpu/drm/ualink
export EXTRA_CONFIG=$build/.gcov.config
printf 'CONFIG_%s=y\n' GCOV_KERNEL FAULT_INJECTION FAILSLAB FAIL_PAGE_ALLOC FAULT_INJECTION_USERCOPY \
	FAULT_INJECTION_DEBUG_FS > "$EXTRA_CONFIG"
# What is inlined before branches are counted has a count for each place.
flags='-fno-early-inlining -fno-partial-inlining'
tree_for_coverage() {
	local o name objects=()
	for o in "$tree/$folder"/*.c; do
		name=$(basename "${o%.c}")
		# has no code of ours, and a flag of its own
		[ "$name" != ualink_trace_points ] || continue
		objects+=("GCOV_PROFILE_$name.o=y" "CFLAGS_$name.o=$flags")
	done
	"$here/build-uml.sh" plain "$tree" "$out" vmlinux linux "${objects[@]}"
}
keep='mkdir gcov; cd /sys/kernel/debug/gcov && find . -name "*.gcda" | while read -r f; do mkdir -p "/mnt/gcov/$(dirname "$f")"; cat "$f" > "/mnt/gcov/$f"; done'
# counted NAME OPTIONS...: boots, runs the commands of the input, keeps the counts
counted() {
	local name=$1 status=0
	shift
	{ cat; echo 'status=$?'; echo "$keep"; echo 'exit $status'; } > "$build/.gcov-cmd"
	"$here/run-uml.sh" -t 900 -o "$logs/gcov-$name" "$@" || status=$?
	[ -d "$logs/gcov-$name/gcov" ] || return 1
	return "$status"
}
kunit() { echo : | counted kunit -k '*ualink*' -m 1G "$out/linux" "$build/.gcov-cmd" vualink.pods=0; }
programs() {
	"$here/demo-build.sh" "$build/demo"
	echo './ualink-failnth && ./ualink-soak 20 1' | counted programs -m 1G -f "$build/demo/ualink-failnth" \
		-f "$build/demo/ualink-soak" "$out/linux" "$build/.gcov-cmd" vualink.pods=1 vualink.accels=4
}
igt() {
	"$here/igt-build.sh" "$build/igt"
	echo 'sh ./igt-run.sh ./igt ./igt-results' | counted igt -m 2G -f "$build/igt" -f "$here/igt-run.sh" \
		"$out/linux" "$build/.gcov-cmd" vualink.pods=0
}
report() {
	python3 "$here/coverage.py" "$tree" "$out" "$folder" "$logs"/gcov-*/gcov > "$results/coverage.txt" || return
	tail -n 1 "$results/coverage.txt"
}

"$here/tree.sh"
rm -rf "$logs"/gcov-*
tap_start coverage
tap_check "the kernel counts branches" tree_for_coverage
tap_check "KUnit" kunit
tap_check "IGT" igt
tap_check "faults" programs
tap_check "report" report
tap_done
