#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# fetch-linux.sh DEST - unpack Debian's linux-source-7.3 into DEST: the version
# that base.conf names, or the newest 7.3.y if that one is gone. Prints the
# version. The package is kept in build/apt.
. "$(dirname "$0")/lib.sh"
. "$here/apt-private.sh"
. "$here/base.conf"
dest=$1 dir=$build/apt

have dpkg-deb || die "fetching the kernel source needs Debian's apt and dpkg; or set KSRC=<kernel tree>"
mkdir -p "$dir/dl"
deb=$dir/dl/linux-source-7.3_${BASE_VERSION}_all.deb
version=$BASE_VERSION
if [ ! -s "$deb" ]; then
	say "fetching linux-source-7.3 $BASE_VERSION (160 MB)"
	apt_private "$dir" 'deb trixie-backports main'
	there=$(apt-cache madison linux-source-7.3 | awk -F'|' '{gsub(/ /, "", $2); print $2}')
	if ! grep -qxF "$BASE_VERSION" <<<"$there"; then
		version=$(grep -E '^7\.3\.[0-9]' <<<"$there" | sort -V | tail -n 1) || true
		[ -n "$version" ] || die "Debian's backports have no linux-source-7.3 any more; set KSRC=<kernel tree>"
		say "note: $BASE_VERSION is gone, taking $version"
		deb=$dir/dl/linux-source-7.3_${version}_all.deb
	fi
	# apt checks the hash against the signed index
	[ -s "$deb" ] || (cd "$dir/dl" && apt-get -qq download "linux-source-7.3=$version")
fi
mkdir -p "$dest"
dpkg-deb --fsys-tarfile "$deb" | tar -xO ./usr/src/linux-source-7.3.tar.xz |
	tar -xJ -C "$dest" --strip-components=1
echo "$version"
