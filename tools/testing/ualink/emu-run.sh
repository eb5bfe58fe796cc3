#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# emu-run.sh [options] SCRIPT [kernel arguments...]
# Boots VMs with emulated GPUs (see emu-vm.sh) and runs SCRIPT in each, at the same time.
# Prints its output and exits with its status, of the first VM where it is not 0; 124 when
# a kernel died or hung, 99 when the script passed but the kernel complained; 1 when the
# emulator failed.
#   -a REGEX  complaints of the kernel that are meant to be
#   -d        the debug kernel
#   -f PATH   copy PATH to /mnt, which all VMs share and where SCRIPT runs (repeat at will)
#   -g GPUS   GPUs of each VM (1)     -v VMS    VMs (1)
#   -m MEM    memory of a VM (1G)     -n CPUS   its processors (2)
#   -o DIR    keep /mnt, and the logs of kernels, QEMU and emulator, in DIR
#   -t SEC    give up after this (300)
# In the environment: EMU_OPTIONS, of the emulator (see emu/main.c).
. "$(dirname "$0")/lib.sh"
. "$here/emu-vm.sh"

files=() kind=emu gpus=1 vms=1 keep=''
while getopts a:df:g:m:n:o:t:v: o; do
	case $o in
	a) vm_allow=$OPTARG ;; d) kind="emu-debug" ;; f) files+=("$OPTARG") ;; g) gpus=$OPTARG ;;
	m) vm_mem=$OPTARG ;; n) vm_cpus=$OPTARG ;; o) keep=$OPTARG ;; t) vm_limit=$OPTARG ;; v) vms=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
script=$1
shift
# shellcheck disable=SC2034
vm_args=("$@")

trap 'emu_end "$keep"' EXIT
vm_kernel "$kind"
[ ${#files[@]} = 0 ] || cp -r "${files[@]}" "$emu_mnt/"
[ "$gpus" = 0 ] || emu_start $((gpus * vms)) ${EMU_OPTIONS:-}
for ((vm = 0; vm < vms; vm++)); do
	mapfile -t mine < <(seq $((vm * gpus)) $((vm * gpus + gpus - 1)))
	vm_start "vm$vm" "$script" "${mine[@]}"
done
status=0
for ((vm = 0; vm < vms; vm++)); do
	[ "$vms" = 1 ] || echo "--- vm$vm"
	vm_wait "vm$vm" || [ "$status" != 0 ] || status=$rc
done
emu_stop || [ "$status" != 0 ] || status=1
exit "$status"
