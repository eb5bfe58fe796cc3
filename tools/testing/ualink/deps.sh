#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# deps.sh run|check|dev|kcsan|ia32|ci|emu|libdrm|docs... - install the Debian packages that
# are missing: those for make run, those for make check as well, or those for make absorb,
# make kcsan, 32-bit programs, make ci, make emu (its QEMU is another, see fetch-qemu.sh),
# make check-libdrm or make check-docs. Who is not root gets the line to type.
. "$(dirname "$0")/lib.sh"

# package:what shows that it is there (a command, or a file with wildcards)
run="make:make gcc:gcc libc6-dev:/usr/include/stdio.h flex:flex bison:bison bc:bc
	xz-utils:xz python3:python3 git:git ccache:ccache mount:mount
	libdrm-dev:/usr/include/libdrm/drm.h
	debian-archive-keyring:/usr/share/keyrings/debian-archive-keyring.gpg"
check="intel-gpu-tools:/usr/lib/*/libigt.so.0 coccinelle:spatch spin:spin rsync:rsync g++:g++
	perl:/usr/share/perl/*/Term/ANSIColor.pm
	python3-ply:/usr/lib/python3/dist-packages/ply python3-git:/usr/lib/python3/dist-packages/git"
kcsan="qemu-system-x86:qemu-system-x86_64 libelf-dev:/usr/include/gelf.h binutils:nm"
ia32="$kcsan gcc-multilib:/usr/lib/gcc/x86_64-linux-gnu/*/32/libgcc.a"
ci="$ia32 rsync:rsync python3-yaml:/usr/lib/python3/dist-packages/yaml"
libdrm="meson:meson ninja-build:ninja pkg-config:pkg-config binutils:readelf g++:g++
	python3-docutils:rst2man"
emu="libelf-dev:/usr/include/gelf.h binutils:nm kmod:modprobe"
docs="python3-sphinx:sphinx-build graphviz:dot rsync:rsync libc6-dev:/usr/include/stdio.h"

# shellcheck disable=SC2034
{
	check="$run $check $libdrm" kcsan="$run $kcsan" ia32="$run $ia32" ci="$run $ci"
	emu="$run $emu" libdrm="$run $libdrm" docs="$run $docs"
	dev="git:git python3:python3 xz-utils:xz git-absorb:/usr/lib/git-core/git-absorb"
}
want=
for what in "${@:-none}"; do
	case $what in
	run | check | dev | kcsan | ia32 | ci | emu | libdrm | docs) want+=" ${!what}" ;;
	*) die "usage: deps.sh run|check|dev|kcsan|ia32|ci|emu|libdrm|docs..." ;;
	esac
done
[ "$(uname -m)" = x86_64 ] || die "UML needs an x86-64 machine"

missing=
for w in $want; do
	case ${w#*:} in
	/*) compgen -G "${w#*:}" >/dev/null || missing+=" ${w%%:*}" ;;
	*) have "${w#*:}" || missing+=" ${w%%:*}" ;;
	esac
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! have apt-get; then
	say "These packages are missing. Please type:"
	say "    sudo apt-get update && sudo apt-get install --no-install-recommends$missing"
	exit 1
fi
say "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$logs/apt.log
# shellcheck disable=SC2086
{ apt-get -q update && apt-get -q -y install --no-install-recommends --no-remove $missing; } > "$log" 2>&1 </dev/null ||
	{ tail -n 20 "$log" >&2; die "apt-get could not install:$missing"; }
