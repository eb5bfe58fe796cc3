#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# build-uml.sh plain|debug|kcsan|ia32|emu|emu-debug [SOURCE [OUT [make arguments...]]]
# Builds the UML kernel: by default of build/linux, in build/um-plain or
# build/um-debug; or an x86 kernel for QEMU, in build/qemu-kcsan or build/qemu-ia32, or,
# with amdgpu as a module, in build/qemu-emu or build/qemu-emu-debug.
# Options of ours that SOURCE does not have yet are left out; any other option
# that does not come out as asked for is an error.
# EXTRA_CONFIG: a file of options to add, or to set otherwise.
. "$(dirname "$0")/lib.sh"
# the last word on an option counts
kind=$1 src=${2:-$tree} place=$build/um-$1 arch=um targets="vmlinux linux"
fragments=("$here/uml.config")
case $kind in
plain) steps=1500 ;;
debug) fragments+=("$here/uml-debug.config") steps=1550 ;;
kcsan) fragments=("$here/kcsan.config") steps=1000 place=$build/qemu-kcsan arch=x86 targets=bzImage ;;
ia32) fragments=("$here/ia32.config") steps=1000 place=$build/qemu-ia32 arch=x86 targets=bzImage ;;
emu | emu-debug)
	fragments=("$here/emu.config") steps=1800 place=$build/qemu-$kind arch=x86 targets="bzImage modules"
	[ "$kind" = emu ] || fragments+=("$here/emu-debug.config")
	;;
*) die "plain, debug, kcsan, ia32, emu or emu-debug, not $kind" ;;
esac
out=${3:-$place}
shift $(($# < 3 ? $# : 3))
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $targets
[ "$(uname -m)" = x86_64 ] || die "the kernels are for an x86-64 machine"
mkdir -p "$out"
name=$(basename "$out")
lock "$name"

cc=gcc
! have ccache || cc="ccache gcc"
# the same relative paths in each folder that holds a source and an output
CCACHE_BASEDIR=$(dirname "$out")
export CCACHE_BASEDIR
# nothing in the kernel that differs from build to build
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' KBUILD_BUILD_USER=ualink KBUILD_BUILD_HOST=localhost
mk=(make -C "$src" ARCH="$arch" O="$out" CC="$cc" LOCALVERSION= -j"$JOBS")

[ -z "${EXTRA_CONFIG:-}" ] || fragments+=("$EXTRA_CONFIG")
sed -n '/^CONFIG_/p' "${fragments[@]}" | awk -F= '{want[$1] = $0} END {for (k in want) print want[k]}' | sort > "$out/.want.new"

# configure again if what is asked for changed, or any Kconfig file did
find "$src" -path "$src/.git" -prune -o -name 'Kconfig*' -newer "$out/.want" -print -quit > "$out/.newer" 2>/dev/null || true
if ! cmp -s "$out/.want.new" "$out/.want" || [ ! -f "$out/.config" ] || [ -s "$out/.newer" ]; then
	cp "$out/.want.new" "$out/.config"
	# what is not asked for is as its Kconfig has it, or in QEMU, which is slow, off
	configure=olddefconfig
	[ "$arch" = um ] || configure=allnoconfig
	KCONFIG_ALLCONFIG=$out/.want.new "${mk[@]}" -s "$configure" > "$logs/$name-config.log" 2>&1 ||
		{ tail -n 20 "$logs/$name-config.log" >&2; die "cannot configure $src"; }
	while IFS='=' read -r key value; do
		case $key in CONFIG_*) ;; *) continue ;; esac
		if [ "$value" = n ]; then
			! grep -q "^$key=" "$out/.config" || die "$key is still on"
		elif ! grep -qxF "$key=$value" "$out/.config"; then
			grep -rqE "^[[:space:]]*(menu)?config ${key#CONFIG_}\$" --include='Kconfig*' \
				"$src/drivers" "$src/init" "$src/lib" "$src/kernel" "$src/mm" "$src/fs" "$src/arch/$arch" "$src/net" &&
				die "$key=$value did not come out so"
			case $key in *UALINK*) ;; *) die "$key: there is no such option" ;; esac
		fi
	done < "$out/.want.new"
	mv "$out/.want.new" "$out/.want"
fi

total=$(cat "$out/.steps" 2>/dev/null || echo "$steps")
log=$logs/$name.log
if ! "${mk[@]}" "$@" 2>&1 < /dev/null | python3 "$here/progress.py" "kernel $name" "$total" "$log"; then
	grep -nE -m 20 -A 6 'error:|Error |undefined reference' "$log" >&2 || tail -n 30 "$log" >&2
	die "the kernel does not build; all of make's output: $log"
fi
steps=$(grep -cE '^  (CC|AS|LD|AR) ' "$log") || true
[ "$steps" -lt 500 ] || echo "$steps" > "$out/.steps"
case $kind in emu*)
	# for modprobe -d
	rm -rf "$out/modules"
	"${mk[@]}" -s INSTALL_MOD_PATH="$out/modules" INSTALL_MOD_STRIP=1 modules_install > "$logs/$name-modules.log" 2>&1 ||
		{ cat "$logs/$name-modules.log" >&2; die "cannot gather the modules"; } ;;
esac
