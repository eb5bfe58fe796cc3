#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# bench.sh - benchmarks of page tables (KUnit) and ioctls, in the plain kernel.
# Writes build/results/bench.json and bench.tap; compares with the goals, but
# only a benchmark that does not run fails.
. "$(dirname "$0")/lib.sh"
kernel_for plain
"$here/demo-build.sh" "$build/demo"

kunit_bench() {
	echo : > "$build/.bench-cmd"
	"$here/run-uml.sh" -k '*bench*' -m 1G -t 600 -o "$logs/bench-kunit" "$kernel" "$build/.bench-cmd" || return
	python3 "$here/results.py" ktap "$logs/bench-kunit/console" > "$logs/bench-kunit.list"
	cat "$logs/bench-kunit.list"
	! grep -v '^ok' "$logs/bench-kunit.list"
}
ioctl_bench() {
	echo ./ualink-bench > "$build/.bench-cmd"
	# without merging, a slab has only one kind of object, and can be weighed
	"$here/run-uml.sh" -f "$build/demo/ualink-bench" -m 4G -t 1200 -o "$logs/bench-ioctl" \
		"$kernel" "$build/.bench-cmd" slab_nomerge vualink.pods=0
}
merge() {
	python3 "$here/results.py" bench "$logs/bench-kunit/console" "$logs/bench-ioctl/out" > "$results/bench-values.json"
	python3 "$here/results.py" goals "$results/bench-values.json"
}

tap_start bench
tap_check "page tables" kunit_bench
tap_check "ioctls" ioctl_bench
tap_check "each value is there" merge
status=0
tap_done || status=$?
# the tier's own result is in bench-tier.json; the values are what people look for
mv "$results/bench.json" "$results/bench-tier.json"
mv "$results/bench-values.json" "$results/bench.json" 2>/dev/null || true
[ "$status" != 0 ] || cat "$logs/bench.check"
exit "$status"
