#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# fetch-qemu.sh - a QEMU that has vfio-user-pci (10.1 or later): the machine's own, or
# else Debian's backport with all libraries that it needs, unpacked in build/qemu and
# not installed. Prints its path. Nothing is done if it is there.
. "$(dirname "$0")/lib.sh"
. "$here/apt-private.sh"
dest=$build/qemu dir=$build/apt-qemu name=qemu-system-x86_64

# works PATH: it starts, and has the devices
works() {
	grep -q 'socket=' <<< "$("$1" -device vfio-user-pci,help 2>&1)" &&
		grep -q 'fsdev=' <<< "$("$1" -device virtio-9p-pci,help 2>&1)"
}

if works "$name"; then
	command -v "$name"
	exit
fi
lock qemu
if [ ! -x "$dest/$name" ]; then
	say "fetching QEMU"
	apt_private "$dir" 'deb trixie main' 'deb trixie-backports main'
	# what would be installed on a machine that has nothing; of it, the libraries
	mapfile -t debs < <(apt-get -qq -s --no-install-recommends -t trixie-backports install qemu-system-x86 |
		sed -nE 's/^Inst (qemu-system-(x86|common|data)|seabios|lib[^ ]*) \(([^ ]+).*/\1=\3/p')
	[ ${#debs[@]} -gt 0 ] || die "no package qemu-system-x86 found"
	rm -rf "$dir/dl" "$dest"
	mkdir "$dir/dl" "$dest"
	(cd "$dir/dl" && apt-get -qq download "${debs[@]}")
	for deb in "$dir/dl"/*.deb; do dpkg-deb -x "$deb" "$dest"; done
	rm -r "$dir/dl"
	cat > "$dest/new" <<-'END'
		#!/bin/sh
		usr=$(dirname "$0")/usr
		lib=$usr/lib/x86_64-linux-gnu
		export QEMU_MODULE_DIR="$lib/qemu"
		exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib" "$usr/bin/qemu-system-x86_64" \
			-L "$usr/share/qemu" -L "$usr/share/seabios" "$@"
	END
	chmod +x "$dest/new"
	works "$dest/new" || die "the QEMU in $dest does not work: $dest/new -device vfio-user-pci,help"
	mv "$dest/new" "$dest/$name"
fi
echo "$dest/$name"
