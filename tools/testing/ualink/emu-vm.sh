# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0 OR MIT
# emu-vm.sh - emulated GPUs, and virtual machines that have them. Sourced, after lib.sh.
#   vm_kernel emu|emu-debug      builds that kernel, its modules, QEMU and the emulator
#   emu_start GPUS [OPTION...]   starts the emulator (see emu/main.c) of so many GPUs
#   emu_ask COMMAND...           the emulator's answer to a command (see emu/control.c)
#   vm_start NAME SCRIPT GPU...  boots a VM with these GPUs (numbers, from 0), in which
#                                SCRIPT runs as root with sh
#   vm_wait NAME                 its end: prints what SCRIPT said; true if it succeeded, and
#                                the kernel did not complain; sets rc, see boot_result
#   vm_kill NAME                 kill -9; the GPUs remain, and may be given to another VM
#   emu_stop                     ends the emulator; true if it has nothing to complain of
#   emu_end [DIR]                ends all that still runs; keeps the logs in DIR
# A VM runs on this machine's files, read-only. $emu_mnt is /mnt in each VM, where SCRIPT
# starts; what is written there shows at once here and in the other VMs. VM=NAME is in
# SCRIPT's environment; what it said is in $emu_mnt/NAME/out.
# modprobe amdgpu finds the module, its parameters and its firmware.
# In the environment: EMU, another emulator than that of build/emu; VM_AS_IS=1, the kernel
# as it was built last. To set before vm_start:
#   vm_mem, vm_cpus, vm_limit (seconds to wait), vm_allow (complaints that are meant to be)
#   vm_args    more arguments of the kernel, as amdgpu.ras_enable=0; an array
vm_mem=1G vm_cpus=2 vm_limit=300 vm_allow='^$' vm_args=()
# no firmware of the GPU's own, thus neither power management nor RAS
amdgpu_args=(amdgpu.fw_load_type=0 amdgpu.dpm=0 amdgpu.ras_enable=0)

emu_dir=$(mktemp -d "${TMPDIR:-/tmp}/emu.XXXXXX")
emu_mnt=$emu_dir/mnt
emu=${EMU:-$build/emu/ualink-emu}
emu_pid='' vm_qemu='' vm_out=''
declare -A vm_pids=()
mkdir "$emu_mnt"

emu_stop() {
	local pid=$emu_pid status=0
	emu_pid=
	[ -n "$pid" ] || return 0
	kill "$pid" 2>/dev/null || true
	timeout 10 tail -s 0.1 --pid="$pid" -f /dev/null || kill -9 "$pid"
	wait "$pid" 2>/dev/null || status=$?
	case $status in 0 | 143) return 0 ;; esac
	say "the emulator failed (exit status $status):"
	tail -n 30 "$emu_dir/emu.log" >&2
	return 1
}

emu_end() {
	local name
	[ -d "$emu_dir" ] || return 0
	for name in "${!vm_pids[@]}"; do vm_kill "$name"; done
	emu_stop || true
	if [ -n "${1:-}" ]; then
		rm -rf "$1" "${emu_mnt:?}/lib" "${emu_mnt:?}/usr"
		mkdir -p "$1"
		cp -r "$emu_mnt/." "$emu_dir"/*.console "$emu_dir"/*.log "$1/" 2>/dev/null || true
	fi
	rm -rf "$emu_dir"
}
trap emu_end EXIT
trap 'exit 130' INT TERM HUP

# vm_mnt: what all VMs need: modules and firmware where modprobe and the kernel look for them
vm_mnt() {
	mkdir -p "$emu_mnt/usr" "$emu_mnt/firmware/amdgpu"
	cp -r "$vm_out/modules/lib" "$emu_mnt/"
	ln -s ../lib "$emu_mnt/usr/lib"
	"$emu" --firmware "$emu_mnt/firmware/amdgpu" || die "no firmware for the emulated GPUs"
	cp "$here/uml-init.sh" "$emu_mnt/init.sh"
	chmod +x "$emu_mnt/init.sh"
}

vm_kernel() {
	[ -n "${VM_AS_IS:-}" ] || { "$here/tree.sh" && "$here/build-uml.sh" "$1"; } || exit
	[ -n "${EMU:-}" ] || "$here/emu/build.sh" "$build/emu"
	vm_out=$build/qemu-$1
	vm_qemu=$("$here/fetch-qemu.sh")
	vm_mnt
}

emu_start() {
	local gpus=$1 i
	shift
	"$emu" --gpus "$gpus" "$@" "$emu_dir" < /dev/null > "$emu_dir/emu.log" 2>&1 &
	emu_pid=$!
	for i in {1..100}; do
		! grep -qsx ready "$emu_dir/emu.log" || return 0
		kill -0 "$emu_pid" 2>/dev/null || break
		sleep 0.1
	done
	cat "$emu_dir/emu.log" >&2
	die "no emulated GPUs"
}

emu_ask() {
	python3 - "$emu_dir/control.sock" "$*" <<-'END'
		import socket, sys
		with socket.socket(socket.AF_UNIX) as s:
		    s.settimeout(60)
		    s.connect(sys.argv[1])
		    s.sendall(sys.argv[2].encode() + b'\n')
		    for line in s.makefile():
		        if line.startswith('error'):
		            sys.exit(line.strip())
		        if line == 'ok\n':
		            break
		        print(line, end='')
	END
}

vm_start() {
	local name=$1 script=$2 gpu slot=0 devices=() append
	shift 2
	for gpu; do
		slot=$((slot + 1))
		devices+=(-device "pcie-root-port,id=rp$slot,chassis=$slot,slot=$slot,pref64-reserve=4G"
			-device '{"driver":"vfio-user-pci","bus":"rp'"$slot"'","rombar":0,"socket":{"path":"'"$emu_dir/gpu$gpu.sock"'","type":"unix"}}')
	done
	rm -rf "${emu_mnt:?}/$name"
	mkdir "$emu_mnt/$name"
	{ echo "export VM=$name MODPROBE_OPTIONS='-d /mnt'"; cat "$script"; } > "$emu_mnt/$name/cmd.sh"
	# QEMU reserves the memory below 1 TiB of AMD's processors, and puts the GPUs there
	# shellcheck disable=SC2054
	append=(pci=no_e820 console=ttyS0 quiet loglevel=4 tsc=reliable no_timer_check panic=-1 oops=panic log_buf_len=4M
		root=root rootfstype=9p rootflags=trans=virtio,version=9p2000.L,msize=262144,cache=loose ro
		init="$emu_mnt/init.sh" uml_rw=mnt uml_cmd="$name/cmd.sh" firmware_class.path=/mnt/firmware
		"${amdgpu_args[@]}" "${vm_args[@]}")
	"$vm_qemu" -machine q35,memory-backend=ram -accel tcg,thread=multi -cpu EPYC \
		-smp "$vm_cpus" -m "$vm_mem" -object "memory-backend-memfd,id=ram,size=$vm_mem,share=on" \
		-nodefaults -no-user-config -display none -no-reboot -serial "file:$emu_dir/$name.console" \
		-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
		-device virtio-9p-pci,fsdev=root,mount_tag=root \
		-fsdev "local,id=mnt,path=$emu_mnt,security_model=none,multidevs=remap" \
		-device virtio-9p-pci,fsdev=mnt,mount_tag=mnt "${devices[@]}" \
		-kernel "$vm_out/arch/x86/boot/bzImage" -append "${append[*]}" \
		< /dev/null > "$emu_dir/$name.log" 2>&1 &
	vm_pids[$name]=$!
}

vm_wait() {
	local name=$1 pid=${vm_pids[$1]} status=0
	timeout "$vm_limit" tail -s 0.2 --pid="$pid" -f /dev/null || { status=124; kill -9 "$pid"; }
	wait "$pid" 2>/dev/null || [ "$status" != 0 ] || status=$?
	unset "vm_pids[$name]"
	[ -e "$emu_mnt/$name/rc" ] || cat "$emu_dir/$name.log" >&2
	boot_result "$emu_mnt/$name" "$emu_dir/$name.console" 'uml-init: begin' "$vm_allow" "$status" "$vm_limit"
	[ "$rc" = 0 ]
}

vm_kill() {
	kill -9 "${vm_pids[$1]}" 2>/dev/null || true
	wait "${vm_pids[$1]}" 2>/dev/null || true
	unset "vm_pids[$1]"
}
