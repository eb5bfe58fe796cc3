#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# fetch-libdrm.sh DEST VERSION - unpack Debian's source of that version of libdrm into
# DEST. It is fetched once, and kept in build/.
. "$(dirname "$0")/lib.sh"
. "$here/apt-private.sh"
[ $# = 2 ] || die "usage: fetch-libdrm.sh DEST VERSION"
dest=$1 version=$2 dir=$build/apt-libdrm
mkdir -p "$dir/dl"
tar=$dir/dl/libdrm_$version.orig.tar.xz

# whatever Debian release has it
fetch() {
	local full
	apt_private "$dir" 'deb-src trixie main' 'deb-src trixie-backports main' 'deb-src sid main'
	full=$(apt-cache showsrc --only-source libdrm | awk '/^Version:/ {print $2}' |
		grep -F "$version-" | sort -V | head -n 1)
	[ -n "$full" ] || die "Debian has no source of libdrm $version any more"
	cd "$dir/dl"
	apt-get -qq source --download-only "libdrm=$full"
}
[ -e "$tar" ] || { say "fetching libdrm $version" && (fetch); }
mkdir -p "$dest"
tar -xf "$tar" -C "$dest" --strip-components=1
