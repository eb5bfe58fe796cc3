#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# build-progs.sh demo|bench|igt... - compile the programs that run inside UML:
#   build/demo/ualink-demo, build/bench/ualink-bench, build/igt/ualink_*
. "$(dirname "$0")/lib.sh"
igt=$top/tools/testing/igt
cc=(gcc)
! have ccache || cc=(ccache gcc)
flags=(-std=gnu11 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE)

# The uAPI headers of the tree, as far as they are needed, without the marks
# that user space does not have. Everything else comes from the system.
uapi=$build/uapi
rm -rf "$uapi"
mkdir -p "$uapi/drm"
for h in drm drm_mode drm_ualink vualink_drm; do
	[ ! -f "$tree/include/uapi/drm/$h.h" ] || sed 's/ __user / /g' "$tree/include/uapi/drm/$h.h" > "$uapi/drm/$h.h"
done
flags+=(-I "$uapi" -I "$uapi/drm")

# compile OUTPUT SOURCES AND FLAGS...
compile() {
	local to=$1 log=$logs/progs.log
	shift
	mkdir -p "$(dirname "$to")"
	if ! "${cc[@]}" "${flags[@]}" -o "$to.new" "$@" > "$log" 2>&1; then
		cat "$log" >&2
		die "$(basename "$to") does not compile"
	fi
	mv "$to.new" "$to"
}

build_igt() {
	local lib t
	lib=$(compgen -G '/usr/lib/*/libigt.so.0' | head -n 1) || die "no libigt.so.0: install intel-gpu-tools"
	rm -rf "$build/igt" "$build/igt-lib"
	mkdir -p "$build/igt" "$build/igt-lib"
	# IGT's control flow is made of longjmp(); its own build has this flag too
	flags+=(-O1 -Wno-clobbered -I "$here/igt-shim" -I "$igt/lib" -I /usr/include/libdrm)
	for t in "$igt"/lib/*.c; do
		compile "$build/igt-lib/$(basename "$t" .c).o" -c "$t"
	done
	for t in "$igt"/tests/*.c; do
		compile "$build/igt/$(basename "$t" .c)" "$t" "$build"/igt-lib/*.o "$lib" \
			-Wl,-rpath-link,"$(dirname "$lib")" -ldrm -lpthread -lm
	done
}

for what; do
	case $what in
	demo) compile "$build/demo/ualink-demo" "$here"/demo/*.c ;;
	bench) compile "$build/bench/ualink-bench" -I "$here/demo" "$here/bench/ualink-bench.c" "$here/demo/accel.c" -lm ;;
	igt) build_igt ;;
	*) die "demo, bench or igt, not $what" ;;
	esac
done
