#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# lint.sh [CHECK...] - checks of the source of build/linux that is ours: the new
# files, and the lines that the series adds to others. Any finding fails. Writes
# build/results/lint.tap. Without CHECK all of:
#   scripts patches files w1 sparse variants exports cocci kerneldoc headers
#   uapi maintainers
. "$(dirname "$0")/lib.sh"
"$here/tree.sh"
lock lint
out=$build/lint
mkdir -p "$out"
wanted=" ${*:-scripts patches files w1 sparse variants exports cocci kerneldoc headers uapi maintainers} "
mine() { python3 "$here/ours.py" "$1" "$tree"; }
mine new > "$out/new"
mine changed > "$out/changed"
sources() { grep '\.c$' "$out/$1" | while read -r f; do [ ! -f "$tree/$f" ] || echo "$f"; done; }
# folders that hold our sources and have a Makefile of ours
folders() { grep '/Makefile$' "$out/new" | xargs -r -n 1 dirname | sort; }
# our sources in other folders, and those of the base that we change, as objects
objects() {
	{ sources new; sources changed; } | while read -r f; do
		folders | while read -r d; do case $f in "$d"/*) echo in; esac; done | grep -q in || echo "${f%.c}.o"
	done
}
kbuild() { "$here/build-uml.sh" plain "$tree" "$1" "${@:2}"; }
# the output of make for what names the same folder
findings() { mine filter < "$logs/$(basename "$1").log"; }

# --- scripts of this repository
scripts() {
	local f bad=0
	for f in "$here"/*.sh "$top/.ci/run"; do
		[ ! -f "$f" ] || bash -n "$f" || bad=1
	done
	sh -n "$here/uml-init.sh" || bad=1
	for f in "$here"/*.py; do
		python3 - "$f" <<-'END' || bad=1
			import sys
			compile(open(sys.argv[1]).read(), sys.argv[1], "exec")
		END
	done
	return "$bad"
}
shell() { shellcheck -x "$here"/*.sh "$top/.ci/run"; }

# --- checkpatch. The tree has one MAINTAINERS entry for all files, so that a
# patch that adds a file need not change it.
checkpatch() {
	(cd "$tree" && perl scripts/checkpatch.pl --strict --no-signoff --no-summary --show-types --terse -q \
		--ignore FILE_PATH_CHANGES "$@") && return
	return 1
}
each_patch() {
	[ "$(g rev-list --count base..HEAD)" -gt 0 ] || { echo "no patches"; return 1; }
	checkpatch -g base..HEAD
}
each_file() {
	local f
	grep -E '\.(c|h|rst|sh|py)$|Kconfig$|Makefile$' "$out/new" | while read -r f; do
		[ ! -f "$tree/$f" ] || echo "$f"
	done > "$out/files"
	[ -s "$out/files" ] || { echo "no files"; return 1; }
	# shellcheck disable=SC2046
	checkpatch -f $(cat "$out/files")
}

# --- W=1: our objects are compiled again, the rest of the tree is not needed
compile() {
	local dir=$1 o
	shift
	for o in $(folders); do [ ! -d "$dir/$o" ] || find "$dir/$o" -name '*.o' -delete; done
	for o in $(objects); do rm -f "$dir/$o"; done
	# shellcheck disable=SC2046
	kbuild "$dir" "$@" $(folders | sed 's,$,/,') $(objects)
}
nothing_found() {
	findings "$1" | sort -u > "$out/found"
	cat "$out/found"
	[ ! -s "$out/found" ]
}
w1() {
	kbuild "$build/um-lint" prepare || return
	compile "$build/um-lint" W=1 || return
	nothing_found "$build/um-lint"
}

# --- sparse. An old one makes make warn once and check nothing.
run_sparse() {
	local sparse=$build/sparse/sparse want n
	"$here/fetch-sparse.sh" || return
	[ "$(cd "$tree" && sh scripts/checker-valid.sh "$sparse")" = 1 ] || { echo "this sparse cannot check this kernel"; return 1; }
	compile "$build/um-lint" C=2 CHECK="$sparse" CF=-D__CHECK_ENDIAN__ || return
	! grep 'not available or not up to date' "$logs/um-lint.log" || return
	want=$({ sources new; sources changed; } | wc -l)
	n=$(grep -cE '^  CHECK ' "$logs/um-lint.log")
	[ "$n" -ge "$want" ] || { echo "only $n of $want files were checked"; return 1; }
	nothing_found "$build/um-lint"
}

# --- other configurations: as modules, without debugfs, without tests
variant() {
	local dir=$build/um-lint-$1
	[ "$1" != modules ] || echo "CONFIG_MODULES=y" > "$out/$1.config"
	EXTRA_CONFIG=$out/$1.config compile "$dir" prepare || return
	nothing_found "$dir"
}
variants() {
	local ours='DRM_VUALINK UALINK_KUNIT_TEST DRM_UALINK_KUNIT_TEST DRM_VUALINK_KUNIT_TEST' o
	{
		echo CONFIG_MODULES=y
		for o in $ours; do echo "CONFIG_$o=m"; done
	} > "$out/modules.config"
	echo CONFIG_DEBUG_FS=n > "$out/nodebugfs.config"
	{
		echo CONFIG_KUNIT=n
		for o in $ours; do case $o in *KUNIT*) echo "CONFIG_$o=n" ;; esac; done
	} > "$out/notests.config"
	for o in modules nodebugfs notests; do
		tap_check "builds without a warning: $o" variant "$o"
	done
}
