#!/bin/bash
# SPDX-License-Identifier: MIT
# demo-build.sh OUTDIR: build the demonstration (ualink-demo), the benchmark of
# the ioctls (ualink-bench) and the programs of the faults tier. LDFLAGS=-static:
# for a machine without libraries. DRM_INCLUDE: a folder with drm.h, when it is
# neither in libdrm's place nor in the kernel tree below build/.
set -euo pipefail

out=${1:?usage: demo-build.sh OUTDIR}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/../../.."

for drm in ${DRM_INCLUDE:-} /usr/include/libdrm /usr/include/drm \
	   build/linux/include/uapi/drm; do
	[ ! -e "$drm/drm.h" ] || break
done
if [ ! -e "$drm/drm.h" ]; then
	echo "drm.h is missing: apt-get install libdrm-dev" >&2
	exit 1
fi

# The kernel's own headers, as opposed to installed ones, have __user, and may
# include others that the system does not have yet.
cflags=(-std=gnu11 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE -D__user=
	-Iinclude/uapi/drm -isystem "$drm" -idirafter "$drm/..")
if command -v ccache > /dev/null; then cc=(ccache "${CC:-cc}"); else cc=("${CC:-cc}"); fi

dir=tools/testing/ualink
for source in $dir/demo/*.c $dir/bench/*.c $dir/faults/*.c; do
	"${cc[@]}" "${cflags[@]}" -I$dir/demo -c "$source" -o "$out/$(basename "$source" .c).o"
done
for program in "$out"/ualink-*.o; do
	program=$(basename "$program" .o)
	"${cc[@]}" ${LDFLAGS:-} "$out/$program.o" "$out/accel.o" "$out/pod.o" -pthread -o "$out/$program"
done
