#!/bin/bash
# SPDX-License-Identifier: MIT
# igt-build.sh OUTDIR: build the IGT tests against the libigt.so.0 that the
# distribution ships, and check that each subtest is documented and that what is
# documented exists.
set -euo pipefail

out=${1:?usage: igt-build.sh OUTDIR}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# relative paths, so that no failure message tells where this was built
cd "$(dirname "$0")/../../.."
igt=tools/testing/igt

lib=
for dir in /usr/lib/*/ /usr/lib64/ /usr/lib/; do
	[ -z "$lib" ] && [ -e "${dir}libigt.so.0" ] && lib=${dir}libigt.so.0
done
if [ -z "$lib" ]; then
	echo "libigt.so.0 is missing: apt-get install intel-gpu-tools" >&2
	exit 1
fi

drm=/usr/include/libdrm
if [ ! -e "$drm/drm.h" ]; then
	echo "$drm/drm.h is missing: apt-get install libdrm-dev" >&2
	exit 1
fi

# -Wno-clobbered as in IGT's own build: it knows nothing of sigsetjmp() in loops
cflags=(-std=gnu11 -O2 -g -Wall -Wextra -Werror -Wno-clobbered -D_GNU_SOURCE
	-I"$igt/lib" -Itools/testing/ualink/igt-shim -Iinclude/uapi/drm
	-isystem "$drm")
if command -v ccache > /dev/null; then cc=(ccache "${CC:-cc}"); else cc=("${CC:-cc}"); fi

# documented TEST.c, listed BINARY: what each says there is
documented() { sed -n 's/^ \* SUBTEST: \([^ ]*\)$/\1/p' "$1" | sort; }
listed() { "$1" --list-subtests | sort; }

objects=()
for source in "$igt"/lib/*.c; do
	object=$out/$(basename "$source" .c).o
	"${cc[@]}" "${cflags[@]}" -c "$source" -o "$object"
	objects+=("$object")
done

for source in "$igt"/tests/*.c; do
	test=$out/$(basename "$source" .c)
	"${cc[@]}" "${cflags[@]}" -c "$source" -o "$test.o"
	# an older library has no igt_kunit(): then it is only compiled
	if nm -u "$test.o" | grep -q ' igt_kunit$' && ! nm -D "$lib" | grep -q ' igt_kunit$'; then
		rm -f "$test"
		continue
	fi
	"${cc[@]}" "$test.o" "${objects[@]}" -o "$test" "$lib" -ldrm \
		-Wl,-rpath-link,"$(dirname "$lib")"
	if ! diff <(documented "$source") <(listed "$test") >&2; then
		echo "$source: '<' is documented only, '>' exists only" >&2
		exit 1
	fi
done
