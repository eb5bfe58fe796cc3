#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# kcsan.sh - data races: KUnit suites and the soak (see faults.sh) in an x86 kernel
# with KCSAN, which UML does not have, on the emulated processors of QEMU. A race with an
# access of ours that is not marked (READ_ONCE() ...) fails; others are counted, and
# listed in build/log/kcsan.txt. Writes build/results/kcsan.tap and, for faults.json,
# kcsan-values.json.
#   SOAK_SECONDS=n (60)    SEED=n (random; the soak prints it)    CPUS=n (4, at most)
#   SUITES="GLOB..."       these KUnit suites
#   EXTRA_CONFIG=FILE      a kernel with these options besides (see build-uml.sh)
. "$(dirname "$0")/lib.sh"
out=$build/qemu-kcsan
programs=$build/demo-static
seconds=${SOAK_SECONDS:-60}
cpus=${CPUS:-4}
# those in which more than one thread is at work
threads="ualink_stress* ualink_hostile* ualink_revoke* ualink_import* ualink_session* ualink_peer*"
threads+=" drm_ualink* vualink_fabric* vualink_engine* vualink_drain*"
read -ra suites <<< "${SUITES:-$threads}"

# What is watched: our code, and helpers that leave it to the caller to lock. The rest of
# the kernel would take most of the watches; what it does to data that we look at is still
# noticed, as a value that changes during a watch of ours.
watched="drivers/gpu/drm/ualink drivers/gpu/drm/ualink/tests drivers/gpu/drm/vualink drivers/gpu/drm/vualink/tests"
kernel_for_kcsan() {
	local folder f objects=(KCSAN_SANITIZE_drm_gem_ualink.o=y KCSAN_SANITIZE_drm_mm.o=y KCSAN_SANITIZE_buddy.o=y)
	for folder in $watched; do
		for f in "$tree/$folder"/*.c; do objects+=("KCSAN_SANITIZE_$(basename "${f%.c}").o=y"); done
	done
	"$here/build-uml.sh" kcsan "$tree" "$out" bzImage KCSAN_SANITIZE=n "${objects[@]}"
}

# initrd PROGRAM...: a file system in memory with these
initrd() {
	local p
	{
		printf 'dir /%s 755 0 0\n' dev proc sys tmp
		echo 'nod /dev/console 600 0 0 c 5 1'
		for p in "$@"; do echo "file /$p $programs/$p 755 0 0"; done
	} > "$build/.kcsan-files"
	"$out/usr/gen_init_cpio" "$build/.kcsan-files" > "$build/.kcsan-initrd"
}

pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; exit 130' INT TERM HUP
# boot NAME SECONDS "KERNEL ARGUMENTS" [PROGRAM [ARGUMENTS...]]: what the program says
# is in kcsan-NAME/out, what the kernel says in kcsan-NAME/console
boot() {
	local dir=$logs/kcsan-$1 limit=$2 arguments=$3
	shift 3
	rm -rf "$dir"
	mkdir -p "$dir"
	# without ACPI, the firmware tells of the processors as this kernel can read it
	timeout -k 5 "$limit" qemu-system-x86_64 -machine pc,acpi=off -accel tcg,thread=multi -smp "sockets=$cpus" -m 1G \
		-nodefaults -no-user-config -display none -no-reboot -serial "file:$dir/console" -serial "file:$dir/raw" \
		-kernel "$out/arch/x86/boot/bzImage" -initrd "$build/.kcsan-initrd" \
		-append "console=ttyS0 tsc=reliable panic=-1 oops=panic rdinit=/ualink-init $arguments -- $*" < /dev/null > "$dir/qemu" 2>&1 &
	pid=$!
	wait "$pid" || { cat "$dir/qemu"; echo "QEMU failed, or did not end within $limit s"; }
	pid=
	tr -d '\r' < "$dir/raw" > "$dir/out"
	# what else a kernel complains of
	! tr -d '\r' < "$dir/console" | grep -aE "$SPLAT" | grep -av 'BUG: KCSAN' | tee "$dir/splats" | grep . || return
	grep -q "Brought up .* $cpus CPUs" "$dir/console" || { echo "not $cpus processors"; return 1; }
	grep -qx 'exit 0' "$dir/out" || { tail -n 20 "$dir/out" "$dir/console"; return 1; }
}

# the suites of a glob, one boot
kunit() {
	local name=kunit-${1%%\**} results
	boot "$name" 1500 "vualink.pods=0 kunit.filter_glob=$1" || return
	results=$(python3 "$here/results.py" ktap "$logs/kcsan-$name/console")
	cut -f 1 <<< "$results" | sort | uniq -c
	grep -q '^ok' <<< "$results" && ! grep '^not' <<< "$results"
}
soak() {
	boot soak $((seconds * 2 + 300)) 'kunit.enable=0 vualink.pods=1 vualink.accels=4' \
		/ualink-soak "$seconds" ${SEED:+"$SEED"}
}
races() { python3 "$here/kcsan.py" "$out" "$results/kcsan-values.json" "$logs"/kcsan-*/ | tee "$logs/kcsan.txt"; }

[ -n "${NO_DEPS:-}" ] || "$here/deps.sh" kcsan
"$here/tree.sh"
kernel_for_kcsan
LDFLAGS=-static "$here/demo-build.sh" "$programs"
initrd ualink-init ualink-soak
rm -rf "$logs"/kcsan-*
tap_start kcsan
for glob in "${suites[@]}"; do tap_check "KUnit suites $glob" kunit "$glob"; done
tap_check "$seconds s of everything at random, against a model" soak
tap_check "no data race with an unmarked access of ours" races
tap_done
