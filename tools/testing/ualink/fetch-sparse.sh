#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# fetch-sparse.sh - build build/sparse/sparse from Debian unstable's source.
# 7.3 needs one that knows __typeof_unqual__; with an older one, as Debian 12
# and 13 ship it, make C=2 warns once and checks nothing. Nothing is done if it
# is there.
. "$(dirname "$0")/lib.sh"
. "$here/apt-private.sh"
dest=$build/sparse dir=$build/apt-sid

[ -x "$dest/sparse" ] && exit
say "fetching and building sparse"
apt_private "$dir" 'deb-src sid main'
mkdir -p "$dir/dl"
cd "$dir/dl"
version=$(apt-cache showsrc --only-source sparse | awk '/^Version:/ {print $2}' | sort -V | tail -n 1)
[ -n "$version" ] || die "no source of sparse found"
apt-get -qq source --download-only "sparse=$version"
rm -rf "$dest.new" && mkdir "$dest.new"
tar -xf sparse_"${version%-*}".orig.tar.* -C "$dest.new" --strip-components=1
make -s -C "$dest.new" -j"$JOBS" HAVE_SQLITE=no HAVE_LIBXML=no HAVE_GTK=no HAVE_LLVM=no sparse > "$logs/sparse-build.log" 2>&1 ||
	{ tail -n 30 "$logs/sparse-build.log" >&2; die "sparse does not build"; }
rm -rf "$dest" && mv "$dest.new" "$dest"
