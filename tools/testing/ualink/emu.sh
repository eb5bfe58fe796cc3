#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# emu.sh - the tests of the emulated GPU by itself, without QEMU and without a driver, also
# with the compiler's checks of threads, addresses and undefined behaviour. Writes
# build/results/emu.tap.
. "$(dirname "$0")/lib.sh"
"$here/tree.sh"
tap_start emu

# emu KIND "CFLAGS" "LDFLAGS"
emu() {
	local out=$build/emu-$1
	[ "$1" != plain ] || out=$build/emu
	CFLAGS=$2 LDFLAGS=$3 "$here/emu/build.sh" "$out" > "$logs/emu-$1-build.log" 2>&1 ||
		{ tap_fail "the emulated GPU builds ($1)" "$logs/emu-$1-build.log"; return; }
	tap_check "tests of the emulated GPU ($1)" timeout 300 "$out/emu-test" "$out/ualink-emu"
}
emu plain "" ""
emu thread -fsanitize=thread -fsanitize=thread
emu address "-fsanitize=address,undefined -fno-sanitize-recover=undefined" -fsanitize=address,undefined
tap_done
