#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# selftests.sh - tools/testing/selftests/drivers/gpu/ualink of the kernel, built and
# installed as its own make does it, and run by its run_kselftest.sh in the debug
# kernel, also where there is no accelerator; and built for 32 bit, and run in an x86
# kernel in QEMU, since UML runs no such programs. Writes build/results/selftests.tap.
#   KERNEL=FILE  in this UML kernel
#   SHORT=1      not those of 32 bit, whose kernel takes long to build
. "$(dirname "$0")/lib.sh"
kernel_for debug
target=drivers/gpu/ualink
programs="ualink_abi ualink_ioctl ualink_share"
out=$build/kselftest
[ -n "${KERNEL:-}" ] || "$here/tree.sh"

# install NAME [make arguments...]: in $out/NAME
install() {
	local name=$1
	shift
	rm -rf "${out:?}/$name" "$out/kselftest"
	make -C "$tree/tools/testing/selftests" ARCH=x86 O="$out" TARGETS="$target" FORCE_TARGETS=1 \
		INSTALL_PATH="$out/$name" "$@" install
}
# headers and programs, without a warning
build() {
	mkdir -p "$out"
	make -C "$tree" ARCH=x86 O="$out" -j"$JOBS" headers && install "$@"
} > "$logs/selftests-build.log" 2>&1
built() {
	if ! build "$@" || grep -q 'warning:' "$logs/selftests-build.log"; then
		grep -A 8 'warning:' "$logs/selftests-build.log" || tail -n 40 "$logs/selftests-build.log"
		return 1
	fi
}

# report PREFIX FILE: each test of what run_kselftest.sh said
report() {
	local verdict name reason
	while IFS=$'\t' read -r verdict name reason; do
		case $verdict in
		ok) tap_ok "$1$name" ;;
		skip) tap_skip "$1$name" "$reason" ;;
		*)
			echo "$reason" > "$logs/selftests.why"
			tap_fail "$1$name" "$logs/selftests.why"
			;;
		esac
	done < <(python3 "$here/results.py" kselftest "$2")
}

# in_uml NAME [kernel arguments...]: true if the kernel has nothing to complain of
in_uml() {
	local dir=$logs/selftests-$1
	shift
	# run_kselftest.sh opens its output anew, which overwrites what is in a file
	echo 'cd 64 && ./run_kselftest.sh | cat' > "$build/.selftests-cmd"
	"$here/run-uml.sh" -l -f "$out/64" -m 1G -t 900 -o "$dir" "$kernel" "$build/.selftests-cmd" "$@" > "$dir.log" 2>&1 ||
		{ sed -n '/^the kernel/,$p' "$dir.log"; return 1; }
}
skipped() {
	local program
	in_uml none vualink.pods=0 || return
	for program in ualink_ioctl ualink_share; do
		grep -q "^ok .* $program # SKIP" "$logs/selftests-none/out" || { cat "$logs/selftests-none/out"; return 1; }
	done
	grep -q '^ok .* ualink_abi$' "$logs/selftests-none/out"
}

pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; exit 130' INT TERM HUP
# in_qemu PROGRAM: what it says is in $dir/PROGRAM, and how it ended; true if the kernel
# has nothing to complain of
in_qemu() {
	local program=$1 qemu=$build/qemu-ia32
	{
		printf 'dir /%s 755 0 0\n' dev proc sys tmp
		echo 'nod /dev/console 600 0 0 c 5 1'
		echo "file /ualink-init $build/demo-static/ualink-init 755 0 0"
		echo "file /$program $out/32/$target/$program 755 0 0"
	} > "$dir/files"
	"$qemu/usr/gen_init_cpio" "$dir/files" > "$dir/initrd"
	timeout -k 5 300 qemu-system-x86_64 -machine pc,acpi=off -accel tcg,thread=multi -smp sockets=2 -m 512M \
		-nodefaults -no-user-config -display none -no-reboot -serial "file:$dir/$program.console" -serial "file:$dir/raw" \
		-kernel "$qemu/arch/x86/boot/bzImage" -initrd "$dir/initrd" \
		-append "console=ttyS0 tsc=reliable panic=-1 oops=panic rdinit=/ualink-init vualink.pods=1 vualink.accels=2 -- /$program" \
		< /dev/null > "$dir/qemu" 2>&1 &
	pid=$!
	wait "$pid" || cat "$dir/qemu"
	pid=
	tr -d '\r' < "$dir/raw" > "$dir/$program"
	! tr -d '\r' < "$dir/$program.console" | grep -aE "$SPLAT"
}

# the same words as run_kselftest.sh
tell() {
	local program n=0 word end
	echo "1..$(wc -w <<< "$programs")"
	for program in $programs; do
		n=$((n + 1))
		echo "# selftests: $target: $program"
		sed '/^exit [0-9]*$/d; s/^/# /' "$dir/$program"
		end=$(sed -n 's/^exit //p' "$dir/$program")
		case $end in 0) word=ok end='' ;; 4) word=ok end=' # SKIP' ;; *) word='not ok' end=" # exit=$end" ;; esac
		echo "$word $n selftests: $target: $program$end"
	done
}
ia32() {
	local program status=0
	"$here/build-uml.sh" ia32 || return
	LDFLAGS=-static "$here/demo-build.sh" "$build/demo-static" || return
	built 32 USERCFLAGS=-m32 USERLDFLAGS='-m32 -static' || return
	for program in $programs; do
		# the class of an ELF file
		[ "$(od -An -tu1 -j4 -N1 "$out/32/$target/$program")" -eq 1 ] || { echo "$program is not of 32 bit"; return 1; }
		in_qemu "$program" || status=1
	done
	tell > "$dir/out"
	return "$status"
}

tap_start selftests
if built 64; then
	tap_ok "they build without a warning"
	rm -rf "$logs"/selftests-{uml,none,ia32}
	tap_check "the kernel did not complain, lockdep is on, nothing leaks" in_uml uml vualink.pods=1 vualink.accels=2
	report "" "$logs/selftests-uml/out"
	tap_check "without an accelerator they are skipped" skipped
	dir=$logs/selftests-ia32
	mkdir -p "$dir"
	[ -n "${NO_DEPS:-}${SHORT:-}" ] || "$here/deps.sh" ia32 || true
	if [ -n "${SHORT:-}" ]; then
		tap_skip "32 bit" "make selftests runs them"
	elif ! gcc -m32 -x c - -o "$dir/try" 2>/dev/null <<< 'int main(void) { return 0; }' || ! have qemu-system-x86_64; then
		tap_skip "32 bit" "there is no compiler for it, or no QEMU"
	else
		tap_check "32 bit: they build without a warning, and the kernel did not complain" ia32
		[ ! -f "$dir/out" ] || report ia32. "$dir/out"
	fi
else
	tap_fail "they build without a warning" "$logs/selftests-build.log"
fi
tap_done
