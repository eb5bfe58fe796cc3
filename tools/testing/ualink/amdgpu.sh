#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# amdgpu.sh [TEST...] - the real amdgpu driver on emulated GPUs (see emu/ and emu-vm.sh):
# KUnit of the driver, a GPU without UALink, libdrm's functions and the IGT tests on two GPUs of
# one VM, and a pod of three VMs of which some get killed. Writes build/results/amdgpu.tap. TEST: an IGT test, or a
# shell pattern for test@subtest, instead of all.
#   LONG=1   all IGT tests; else a selection that takes some minutes
#   PLAIN=1  a kernel without lockdep and KASAN
. "$(dirname "$0")/lib.sh"
[ -n "${NO_DEPS:-}" ] || "$here/deps.sh" check emu
. "$here/emu-vm.sh"
. "$here/emu-pod.sh"

# what shows each part of the client once; all of ualink_amdgpu
short="ualink_basic@* ualink_amdgpu@* ualink_revoke@free ualink_revoke@busy ualink_revoke@sigkill
	ualink_import@same* ualink_dmabuf@* ualink_events@* ualink_lifetime@fork* ualink_pod@m*"
patterns=("$@")
[ $# -gt 0 ] || [ -n "${LONG:-}" ] || read -ra patterns <<< "$(tr '\n' ' ' <<< "$short")"
kind="emu-debug"
[ -z "${PLAIN:-}" ] || kind=emu
# jobs that wait, as some tests have them; less VRAM to fill
amdgpu_args+=(amdgpu.lockup_timeout=10000 amdgpu.vramlimit=640 kunit.enable=1 kunit.autorun=1)
# A job that is begun just when a reset is: amdgpu looks for the reset's lock, and finds that
# somebody else has it. Not ours.
# shellcheck disable=SC2034
vm_allow='WARNING: at amdgpu_device_skip_hw_access'

# in_vm NAME GPUS "EMULATOR OPTIONS" SECONDS [COMMAND]: runs $logs/amdgpu-NAME.sh in a VM, and
# COMMAND here meanwhile
in_vm() {
	local name=$1 gpus=$2 options=$3 mine=() status=0 meanwhile=
	vm_limit=$4
	# shellcheck disable=SC2086
	emu_start "$gpus" $options
	mapfile -t mine < <(seq 0 $((gpus - 1)))
	vm_start "$name" "$logs/amdgpu-$name.sh" "${mine[@]}"
	if [ $# -gt 4 ]; then
		"$5" &
		meanwhile=$!
	fi
	vm_wait "$name" > "$logs/amdgpu-$name.out" 2>&1 || status=$?
	if [ -n "$meanwhile" ]; then
		kill "$meanwhile" 2>/dev/null || true
		wait "$meanwhile" || status=1
	fi
	emu_ask unknown > "$logs/amdgpu-$name.unknown" || true
	emu_ask stale >> "$logs/amdgpu-$name.unknown" || true
	emu_stop >> "$logs/amdgpu-$name.out" 2>&1 || status=1
	return "$status"
}

# a GPU without the block: nothing of ours shows, and all of amdgpu works as before
without() {
	cat > "$logs/amdgpu-none.sh" <<-'END'
		modprobe amdgpu || exit 1
		[ ! -e /sys/class/drm/renderD128/device/ualink ] || exit 2
		ls /sys/kernel/debug/dri/*/amdgpu_evict_vram > /dev/null || exit 3
		! ls -d /sys/kernel/debug/dri/*/ualink 2> /dev/null || exit 3
		modprobe -r amdgpu || exit 4
		modprobe amdgpu || exit 5
		for t in /usr/libexec/igt-gpu-tools/amdgpu/amd_basic /usr/libexec/intel-gpu-tools/amdgpu/amd_basic; do
			[ -x $t ] || continue
			for s in memory-alloc userptr-with-IP-DMA cs-compute-with-IP-COMPUTE cs-sdma-with-IP-DMA; do
				$t --list-subtests | grep -qx "$s" || continue
				$t --run-subtest "$s"; rc=$?
				echo "amd_basic@$s $rc"
				case $rc in 0|77) ;; *) exit 6 ;; esac
			done
		done
		exit 0
	END
	in_vm none 1 --no-ualink 300 || { cat "$logs/amdgpu-none.out"; return 1; }
}

# unit tests are in the module, and run when it is loaded
units() {
	cat > "$logs/amdgpu-units.sh" <<-'END'
		modprobe amdgpu || exit 1
		dmesg | sed 's/^\[ *[0-9.]*\] //' | grep -aE '^ *(not )?ok |^ *# ' > /mnt/units.ktap
		grep -c '^ *ok' /mnt/units.ktap
		! grep '^ *not ok' /mnt/units.ktap
	END
	in_vm units 1 "" 300 || { cat "$logs/amdgpu-units.out"; return 1; }
	grep -q 'ok .* amdgpu_ualink_npa' "$emu_mnt/units.ktap" && grep -q 'ok .* amdgpu_ualink_v1_0' "$emu_mnt/units.ktap"
}

# A block that does not answer costs one reset, and its GPU works on without it; it is back
# after the next one. A driver that is leaving resets nothing, then or later.
fails() {
	cat > "$logs/amdgpu-fails.sh" <<-'END'
		step=0
		next_step() {
			step=$((step + 1))
			touch /mnt/step.$step
			until [ -e /mnt/stepped.$step ]; do sleep 0.1; done
		}
		connect() {
			IGT_DEVICES=keep sh ./igt-run.sh tests igt.$step 'ualink_basic@m1-load*' | grep -q '^# 1 passed' &&
				[ "$(grep -c gate=open $debugfs/ualink/peers)" = 2 ]
		}
		resets() { dmesg | grep -c "$gpu: UALink does not answer, resetting"; }
		gpu=0000:01:00.0 other=0000:02:00.0
		debugfs=/sys/kernel/debug/dri/$gpu state=/sys/bus/pci/devices/$gpu/ualink/state
		driver=/sys/bus/pci/drivers/amdgpu
		modprobe amdgpu && connect || exit 1

		# the other one says goodbye, and the gate for it cannot be closed
		next_step
		echo $other > $driver/unbind
		until [ "$(resets)" = 1 ] && [ "$(cat $state)" != active ]; do sleep 0.1; done
		sleep 3
		[ "$(resets)" = 1 ] && [ "$(cat $state)" != active ] || exit 2
		grep -q . $debugfs/amdgpu_test_ib || exit 3

		next_step
		cat $debugfs/amdgpu_gpu_recover > /dev/null
		until [ "$(cat $state)" = active ]; do sleep 0.1; done
		echo $other > $driver/bind && connect || exit 4

		# a command is never answered; the reset helps
		next_step
		echo $other > $driver/unbind
		until [ "$(resets)" = 2 ] && [ "$(cat $state)" = active ]; do sleep 0.1; done
		sleep 3
		[ "$(resets)" = 2 ] && [ "$(cat $state)" = active ] || exit 9
		echo $other > $driver/bind && connect || exit 10

		next_step
		dmesg -C
		echo $gpu > $driver/unbind
		dmesg | grep -q 'translations cannot be flushed' || exit 5
		sleep 2
		[ "$(resets)" = 0 ] || exit 6

		next_step
		echo $gpu > $driver/bind && [ "$(cat $state)" = active ] && connect || exit 7
		modprobe -r amdgpu || exit 8
	END
	in_vm fails 2 "" 600 fail_in_turn || { cat "$logs/amdgpu-fails.out"; return 1; }
}
# What the GPU's block does in each of the steps.
fail_in_turn() {
	local step=0 i command
	for command in "flush-fail 1 1000000" "flush-fail 1 0" "cmd-hang 1 1" "flush-fail 1 1000000" "flush-fail 1 0"; do
		step=$((step + 1))
		for i in {1..3000}; do
			[ ! -e "$emu_mnt/step.$step" ] || break
			sleep 0.2
		done
		emu_ask "$command" && touch "$emu_mnt/stepped.$step" || return
	done
}

# libdrm with patches/libdrm: two GPUs of one VM, by BOs and SDMA
libdrm() {
	"$here/libdrm.sh" build || return
	cat > "$logs/amdgpu-libdrm.sh" <<-END
		modprobe amdgpu || exit 1
		timeout 250 $build/libdrm-build/tests/ualink/ualink_amdgpu_device || exit 2
		modprobe -r amdgpu || exit 3
	END
	in_vm libdrm 2 "" 300 || { cat "$logs/amdgpu-libdrm.out"; return 1; }
}

# what igt-run.sh needs, where the VMs look for it
igt_files() {
	local name
	cp "$here/igt-run.sh" "$emu_mnt/"
	mkdir -p "$emu_mnt/tests"
	for name in "$build"/igt/ualink_*; do
		case $name in *.o | *vualink*) ;; *) cp "$name" "$emu_mnt/tests/" ;; esac
	done
}

igt() {
	local timeout=${IGT_TIMEOUT:-240} name result
	{
		echo 'modprobe amdgpu || exit 1'
		# a fault that is not printed is not remembered either
		echo 'echo 0 > /proc/sys/kernel/printk_ratelimit'
		echo "export IGT_DEVICES=keep IGT_TIMEOUT=$timeout IGT_ALLOW='$vm_allow'"
		printf 'sh ./igt-run.sh tests results'
		[ ${#patterns[@]} = 0 ] || printf " '%s'" "${patterns[@]}"
		echo
		cat <<-'END'
			rc=$?
			# with imports that are kept for later
			modprobe -r amdgpu || exit 30
			exit $rc
		END
	} > "$logs/amdgpu-pair.sh"
	in_vm pair 2 "" 3000 || true
	while read -r result name; do
		case $result/$name in
		ok/*" # SKIP"*) tap_skip "${name%% # SKIP*}" "${name#* # SKIP }" ;;
		ok/*) tap_ok "$name" ;;
		*) tap_fail "$name" "$emu_mnt/results/$name.log" ;;
		esac
	done < <(sed -nE 's/^ok [0-9]+ /ok /p; s/^not ok [0-9]+ /bad /p' "$logs/amdgpu-pair.out")
	tap_check "two GPUs in one VM: the kernel did not complain, the module went" pair_ended
}
pair_ended() {
	[ ! -s "$emu_mnt/pair/splats" ] || { cat "$emu_mnt/pair/splats"; return 1; }
	if [ "$(cat "$emu_mnt/pair/rc" 2>/dev/null)" = 30 ] || ! grep -aq '^# [0-9]* passed' "$logs/amdgpu-pair.out"; then
		tail -n 40 "$logs/amdgpu-pair.out"
		return 1
	fi
}

trap 'emu_end "$logs/amdgpu"' EXIT
vm_kernel "$kind"
pod_build || exit
igt_files
tap_start amdgpu
if [ $# = 0 ]; then
	tap_check "amdgpu on a GPU without UALink" without
	[ -n "${PLAIN:-}" ] || tap_check "unit tests in amdgpu" units
	tap_check "a block that does not answer" fails
	tap_check "libdrm's functions for amdgpu" libdrm
fi
igt
[ $# != 0 ] || tap_check "a pod of three VMs, of which some get killed" pod_course
tap_done
