#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# emu-demo.sh - shows a pod of three VMs, each with the real amdgpu driver on an emulated
# GPU: memory shared between them, taken away, and VMs that get killed and come back.
#   DEBUG=1  with lockdep and KASAN
. "$(dirname "$0")/lib.sh"
[ -n "${NO_DEPS:-}" ] || "$here/deps.sh" check emu
. "$here/emu-vm.sh"
. "$here/emu-pod.sh"
kind=emu
[ -z "${DEBUG:-}" ] || kind="emu-debug"
trap 'emu_end "$logs/emu-demo"' EXIT
vm_kernel "$kind"
pod_build
pod_course || die "see $logs/emu-demo"
say "done"
