#!/bin/bash
# SPDX-License-Identifier: MIT
# build.sh OUTDIR [KERNEL]: build the emulated GPU (ualink-emu) and its test (emu-test). KERNEL: a
# kernel tree, whose amdgpu headers say what registers there are (default: build/linux). CFLAGS
# and LDFLAGS are added, for example CFLAGS=-fsanitize=thread LDFLAGS=-fsanitize=thread.
set -euo pipefail

out=${1:?usage: build.sh OUTDIR [KERNEL]}
mkdir -p "$out"
out=$(cd "$out" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
kernel=${2:-$here/../../../../build/linux}
amd=$kernel/drivers/gpu/drm/amd
if [ ! -e "$amd/include/discovery.h" ]; then
	echo "no amdgpu headers in $kernel" >&2
	exit 1
fi

python3 "$here/gen-regs.py" "$kernel" "$out"
read -ra more <<< "${CFLAGS:-}"
read -ra ldflags <<< "${LDFLAGS:-}"
cflags=(-std=gnu11 -O2 -g -Wall -Wextra -Wmissing-prototypes -Werror -D_GNU_SOURCE "${more[@]}"
	-I"$here" -I"$out" -isystem "$amd/include" -isystem "$amd/amdgpu")
if command -v ccache > /dev/null; then cc=(ccache "${CC:-cc}"); else cc=("${CC:-cc}"); fi

# compile DIR FILES...: into DIR, as many at a time as there are processors
compile() {
	local dir=$1 source
	shift
	mkdir -p "$dir"
	rm -f "$dir"/*.o
	# shellcheck disable=SC2016
	for source in "$@"; do
		printf '%s\0' "$source"
	done | xargs -0 -P "$(nproc)" -I{} sh -c \
		'src=$1; dir=$2; shift 2; exec "$@" -c "$src" -o "$dir/$(basename "$src" .c).o"' \
		sh {} "$dir" "${cc[@]}" "${cflags[@]}"
}

compile "$out/emu" "$here"/*.c
"${cc[@]}" "${cflags[@]}" "$out"/emu/*.o "${ldflags[@]}" -pthread -o "$out/ualink-emu"
compile "$out/test" "$here"/test/*.c
"${cc[@]}" "${cflags[@]}" "$out"/test/*.o "${ldflags[@]}" -pthread -o "$out/emu-test"
