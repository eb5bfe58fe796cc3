#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# fuzz.sh - the kernel's decoder of messages in user space, with address and
# undefined-behaviour sanitizers, against random messages; with clang also
# coverage-guided by libFuzzer, whose corpus stays in build/fuzz/corpus. Writes
# build/results/fuzz.tap and, for faults.json, build/results/fuzz-values.json.
#   INPUTS=n   so many random messages (20 million)     SECONDS_GUIDED=n  (20)
. "$(dirname "$0")/lib.sh"
out=$build/fuzz
core=$top/drivers/gpu/drm/ualink
mkdir -p "$out/corpus"
flags=(-O2 -g -Wall "-fsanitize=address,undefined" -fno-sanitize-recover=all
	-D_UALINK_INTERNAL_H_ -I "$here/fuzz/shim" -I "$top/include" -include "$here/fuzz/shim/kernel.h")

# program OUTPUT COMPILER FOLDER FLAGS...: with the decoder of FOLDER
program() { "$2" "${flags[@]}" "${@:4}" -I "$3" -o "$1" "$here/fuzz/wire_fuzz.c" "$3/ualink_wire.c"; }

random() {
	program "$out/wire_fuzz" "${CC:-gcc}" "$core" -Wextra -Werror || return
	"$out/wire_fuzz" "${INPUTS:-20000000}" > "$out/log" || return
	cat "$out/log"
}

# The fuzzer notices a decoder with a fault: a check left out, a field that is too long.
notices() {
	local fault
	for fault in 's/bytes\[AT_RESERVED\] || //' 's/if (bytes\[AT_LENGTH\] != layout->length)/if (0)/' \
		's/pkt->src >= UALINK_MAX_IDS/0/' 's/u8 rest\[UALINK_PAYLOAD_SIZE\]/u8 rest[8]/'; do
		rm -rf "$out/faulty"
		mkdir -p "$out/faulty"
		cp "$core"/*.h "$out/faulty/"
		sed "$fault" "$core/ualink_wire.c" > "$out/faulty/ualink_wire.c"
		! cmp -s "$core/ualink_wire.c" "$out/faulty/ualink_wire.c" || { echo "no such line: $fault"; return 1; }
		program "$out/wire_fuzz_faulty" "${CC:-gcc}" "$out/faulty" -w || return
		! "$out/wire_fuzz_faulty" 2000000 > "$out/faulty.log" 2>&1 || { echo "not noticed: $fault"; return 1; }
	done
}

guided() {
	program "$out/wire_libfuzzer" clang "$core" -DLIBFUZZER -Wno-c2x-extensions -fsanitize=fuzzer || return
	(cd "$out" && ./wire_libfuzzer -max_total_time="${SECONDS_GUIDED:-20}" -print_final_stats=1 corpus) > "$out/guided.log" 2>&1 ||
		{ tail -n 20 "$out/guided.log"; return 1; }
	grep -a 'stat::number_of_executed_units' "$out/guided.log"
}

tap_start fuzz
tap_check "random messages" random
tap_check "a decoder with a fault is noticed" notices
if have clang && clang -fsanitize=fuzzer -x c - -o "$out/try" 2>/dev/null <<< 'int LLVMFuzzerTestOneInput(void) { return 0; }'; then
	tap_check "guided by coverage" guided
else
	tap_skip "guided by coverage" "there is no clang with libFuzzer"
fi
n=$(($(sed -n 's/^fuzz_inputs //p' "$out/log" 2>/dev/null || echo 0) + $(sed -n 's/.*number_of_executed_units: *//p' "$out/guided.log" 2>/dev/null || echo 0)))
echo "{\"fuzz_inputs\": $n}" > "$results/fuzz-values.json"
tap_done
