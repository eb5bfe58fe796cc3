#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# faults.sh - what a user, a peer, the fabric and the allocator can do wrong: a sweep
# over all failing allocations, a soak with a reference model, how long others'
# troubles take, all ways in which shared memory can end, each limit, and what unloading
# the modules does. Writes build/results/faults.tap, and faults-values.json for the
# sum that is in faults.json (see check.sh).
#   SOAK_SECONDS=n (60)    SEED=n (random; the soak prints it)
. "$(dirname "$0")/lib.sh"
kernel_for debug
debug=$kernel
"$here/demo-build.sh" "$build/demo"

files=()
# run NAME KERNEL MEM SECONDS ACCELS PROGRAM [ARGUMENTS...]
run() {
	local name=$1 kernel=$2 mem=$3 limit=$4 accels=$5
	shift 5
	echo "./$*" > "$build/.faults-cmd"
	"$here/run-uml.sh" -l -f "$build/demo/$1" "${files[@]}" -m "$mem" -t "$limit" -o "$logs/faults-$name" \
		"$kernel" "$build/.faults-cmd" vualink.pods=1 vualink.accels="$accels"
}
times() {
	"$here/build-uml.sh" plain || return
	run times "$build/um-plain/linux" 5G 600 65 ualink-times
}
# In time, and in number, the plain kernel goes further.
limits() {
	"$here/build-uml.sh" plain || return
	run limits "$build/um-plain/linux" 3G 1200 2 ualink-limits
}
unload() {
	local ko
	printf 'CONFIG_%s\n' MODULES=y MODULE_UNLOAD=y DRM_VUALINK=m UALINK_KUNIT_TEST=n DRM_UALINK_KUNIT_TEST=n \
		DRM_VUALINK_KUNIT_TEST=n DRM_VUALINK_KUNIT_BENCH=n > "$build/.modules.config"
	EXTRA_CONFIG=$build/.modules.config "$here/build-uml.sh" plain "$tree" "$build/um-modules" linux modules || return
	while read -r ko; do files+=(-f "$ko"); done < <(find "$build/um-modules/drivers" -name '*.ko')
	run unload "$build/um-modules/linux" 512M 300 3 ualink-unload
	files=()
}

rm -rf "$logs"/faults-*
tap_start faults
tap_check "each allocation fails once" run failnth "$debug" 1G 900 3 ualink-failnth
seconds=${SOAK_SECONDS:-60}
tap_check "$seconds s of everything at random, against a model" \
	run soak "$debug" 1G $((seconds * 2 + 300)) 4 ualink-soak "$seconds" ${SEED:+"$SEED"}
tap_check "the time that others' troubles take" times
tap_check "all ways in which shared memory ends" run lifetimes "$debug" 1G 1500 4 ualink-lifetimes
# before the other one by name, whose values count
tap_check "each limit, with lockdep and KASAN" run debug-limits "$debug" 1G 900 2 ualink-limits 2000 5000
tap_check "each limit, 100000 grants and 100000 random exports" limits
tap_check "the modules stay while they are used, and then go" unload
python3 "$here/results.py" faults "$logs"/faults-*/ > "$results/faults-values.json"
status=0
tap_done || status=$?
# faults.json is for the values of all tiers
mv "$results/faults.json" "$results/faults-tier.json"
python3 "$here/results.py" merge "$results"/{faults,fuzz,kcsan,coverage}-values.json > "$results/faults.json"
exit "$status"
