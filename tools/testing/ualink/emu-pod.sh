# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0 OR MIT
# emu-pod.sh - a pod of several VMs with one emulated GPU each. Sourced, after emu-vm.sh.
#   pod_build            builds the program that runs in each VM (see emu/pod/ualink-node.c)
#   pod_boot VM GPU      boots a VM, in which the program then runs
#   ask VM COMMAND...    has it done there, and prints what it gave; false if it does not end
#   expect WANT VM COMMAND...  the same, and false if it gave something else
#   pod_exit VM          ends it; true if nobody complained
# page faults are many, and a serial line is slow
vm_args+=(loglevel=3)
pod_seconds=${POD_SECONDS:-180}

pod_build() {
	local lib
	"$here/igt-build.sh" "$build/igt" > "$logs/igt-build.log" 2>&1 || { cat "$logs/igt-build.log"; return 1; }
	lib=$(compgen -G '/usr/lib/*/libigt.so.0' | head -n 1)
	gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE -I"$top/tools/testing/igt/lib" -I"$here/igt-shim" \
		-I"$top/include/uapi/drm" -isystem /usr/include/libdrm "$here/emu/pod/ualink-node.c" \
		"$build"/igt/igt_ualink*.o -o "$build/emu/ualink-node" "$lib" -ldrm -Wl,-rpath-link,"$(dirname "$lib")"
}

pod_boot() {
	cat > "$logs/pod.sh" <<-'END'
		modprobe amdgpu || exit 1
		echo 0 > /proc/sys/kernel/printk_ratelimit
		exec ./ualink-node /mnt/$VM.commands /mnt/$VM.answers
	END
	cp "$build/emu/ualink-node" "$emu_mnt/"
	: > "$emu_mnt/$1.commands"
	: > "$emu_mnt/$1.answers"
	vm_start "$1" "$logs/pod.sh" "$2"
}

ask() {
	local vm=$1 number i
	shift
	number=$(wc -l < "$emu_mnt/$vm.commands")
	echo "$*" >> "$emu_mnt/$vm.commands"
	for ((i = 0; i < pod_seconds * 10; i++)); do
		grep "^$number " "$emu_mnt/$vm.answers" | cut -d ' ' -f 2- | grep . && return 0
		[ ! -e "$emu_mnt/$vm/rc" ] || break
		sleep 0.1
	done
	say "$vm: no answer to: $*"
	tail -n 30 "$emu_mnt/$vm/out" >&2
	return 1
}

expect() {
	local want=$1 got
	shift
	got=$(ask "$@") || return
	[ "$got" = "$want" ] || { say "$*: $got, not $want"; return 1; }
}

# until FIELD VALUE VM: waits until "info" has the value in this field
until_info() {
	local i got=()
	for ((i = 0; i < 300; i++)); do
		read -ra got <<< "$(ask "$3" info)"
		[ "${got[$1]:-}" != "$2" ] || return 0
		sleep 0.1
	done
	say "$3: field $1 of its info is not $2: ${got[*]}"
	return 1
}

pod_exit() {
	echo exit >> "$emu_mnt/$1.commands"
	vm_wait "$1"
}

# The whole course: what it says is what a reader should see.
pod_course() {
	local a b c d e f vm pid adders=()
	emu_start 3 || return
	pod_boot vm0 0; pod_boot vm1 1; pod_boot vm2 2

	say "vm0 exports, vm1 imports: its load and store reach vm0, and the other way round"
	a=$(ask vm0 export a 262144 1) && expect ok vm1 import a "$a" && expect ok vm1 check a 1 &&
		expect ok vm1 fill a 2 && expect ok vm0 check a 2 || return
	b=$(ask vm1 export b 262144 3) && expect ok vm0 import b "$b" && expect ok vm0 check b 3 &&
		expect ok vm0 fill b 4 && expect ok vm1 check b 4 || return

	say "atomics of three GPUs"
	c=$(ask vm0 export c 4096 5) && expect ok vm0 zero c && expect ok vm1 import c "$c" &&
		expect ok vm2 import c "$c" || return
	for vm in vm0 vm1 vm2; do
		ask "$vm" add c 20 > /dev/null &
		adders+=($!)
	done
	for pid in "${adders[@]}"; do wait "$pid" || return; done
	expect 60 vm0 load c || return

	say "vm2 shares with vm0 and vm1, and keeps what it has from whom stays"
	d=$(ask vm2 export d 262144 6) && expect ok vm1 import d "$d" || return

	say "a revoke takes access away"
	expect ok vm0 revoke a && expect 1 vm1 death a && expect ok vm1 gone a && expect ok vm0 check a 2 || return

	say "kill -9 of vm1 while it reads and writes memory of vm0"
	e=$(ask vm0 export e 262144 7) && expect ok vm1 import e "$e" && expect ok vm2 import e "$e" &&
		expect ok vm1 traffic e || return
	vm_kill vm1
	expect ok vm2 check e 7 && until_info 1 2 vm0 && until_info 4 0 vm0 && expect ok vm2 check d 6 || return

	say "vm1 comes back with the same id, as another node"
	pod_boot vm1 1
	expect ok vm1 import e "$e" && expect ok vm1 check e 7 && expect -2 vm1 import b "$b" || return
	f=$(ask vm1 export f 262144 8) && expect ok vm2 import f "$f" && expect ok vm2 check f 8 || return

	say "kill -9 of vm0 while the others read and write its memory"
	expect ok vm1 traffic e && expect ok vm2 traffic e || return
	vm_kill vm0
	expect 2 vm1 death e && expect ok vm1 gone e && expect 2 vm2 death e && expect ok vm2 gone e || return
	expect ok vm2 check f 8 && expect ok vm2 fill f 9 && expect ok vm1 check f 9 || return

	say "vm0 comes back: old handles are gone, new ones work"
	pod_boot vm0 0
	expect ok vm0 import f "$f" && expect ok vm0 check f 9 && expect -2 vm1 import g "$e" || return
	a=$(ask vm0 export a 262144 10) && expect ok vm1 import h "$a" && expect ok vm1 check h 10 || return

	say "nobody used an outdated translation, and nobody complains"
	for vm in vm0 vm1 vm2; do
		[ "$(ask "$vm" info | cut -d ' ' -f 6)" = 0 ] || { say "$vm: stale uses"; return 1; }
		pod_exit "$vm" || return
	done
	emu_stop
}
