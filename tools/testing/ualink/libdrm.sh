#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# libdrm.sh [check|tree|build|refresh] - the patches for libdrm, patches/libdrm.
#   check    builds libdrm with them, and tests it: on this machine with a device that is
#            only made up, in UML with virtual accelerators. Writes build/results/libdrm.tap
#   tree     build/libdrm: the source that the cover letter names, and the patches as commits
#   build    build/libdrm-build: libdrm with them, and its tests
#   refresh  commits of build/libdrm -> patches/libdrm
# The source is Debian's. To change a patch: edit build/libdrm, commit --fixup, rebase
# --autosquash base, check, refresh.
#   LIBDRM_SRC=DIR  check: apply them to a copy of that tree, in build/libdrm-src, and test
#                   that. Its drm.h may be too new for the first patch, which is left out then
. "$(dirname "$0")/lib.sh"
dir=$top/patches/libdrm
work=$build/libdrm
letter=$dir/0000-cover-letter.patch
d() { git_plain -C "$work" "$@"; }
# author of what has none
export GIT_AUTHOR_NAME='UALink series' GIT_AUTHOR_EMAIL=ualink@localhost

patches_sum() { cat "$dir"/0*.patch | grep -v '^From ' | sha256sum | cut -d' ' -f1; }
# what the commits of the tree would be as patches
write_patches() {
	rm -rf "$1"
	d format-patch -q -n --cover-letter --subject-prefix='PATCH libdrm' --zero-commit \
		--no-signature --no-thread --stat=78 --abbrev=12 --diff-algorithm=myers -o "$1" base..HEAD
	python3 "$here/cover.py" "$1/0000-cover-letter.patch" "$letter" "$1"/0001-*.patch
}
is_clean() { [ -z "$(d status --porcelain --untracked-files=no)" ]; }

apply() {
	local p
	d tag -f base > /dev/null
	for p in "$dir"/0*.patch; do
		[ "$p" != "$letter" ] || continue
		d am -q --no-3way "$p" > "$logs/libdrm-am.log" 2>&1 && continue
		d am --abort
		if [ -n "${LIBDRM_SRC:-}" ] && [[ $p == */0001-* ]]; then
			say "left out, since drm.h is another one: ${p##*/}"
			continue
		fi
		cat "$logs/libdrm-am.log" >&2
		die "does not apply: ${p##*/}"
	done
}

is_as_made() { is_clean && [ "$(cut -d' ' -f2 "$work/.git/ualink")" = "$(d rev-parse HEAD)" ]; }

# build/libdrm; one that has work in it is not touched
make_tree() {
	local version state=$work/.git/ualink
	# a sentence of its text
	version=$(sed -n 's/^The series is against libdrm \([0-9.]*[0-9]\)\..*/\1/p' "$letter")
	[ -n "$version" ] || die "the cover letter does not say for which libdrm the patches are"
	if [ -e "$state" ]; then
		[ "$(cat "$state")" != "$(patches_sum) $(d rev-parse HEAD)" ] || return 0
		if [ -z "${FORCE:-}" ] && ! is_as_made; then
			say "build/libdrm has work that is not in patches/libdrm, and is taken as it is"
			return
		fi
	fi
	rm -rf "$work"
	"$here/fetch-libdrm.sh" "$work" "$version"
	commit_all "$work" "libdrm $version, as Debian has it"
	apply
	echo "$(patches_sum) $(d rev-parse HEAD)" > "$state"
}

make_copy() {
	local src
	src=$(cd "$LIBDRM_SRC" && pwd -P) || die "LIBDRM_SRC: no such folder"
	[ -f "$src/core-symbols.txt" ] || die "LIBDRM_SRC=$src is not a tree of libdrm"
	work=$build/libdrm-src
	copy_tree "$src" "$work" "libdrm as it was"
	apply
}

refresh() {
	[ -e "$work/.git/ualink" ] || die "there is no build/libdrm yet: libdrm.sh tree"
	is_clean || die "build/libdrm has changes that are not committed"
	write_patches "$build/libdrm-patches"
	rm -f "$dir"/0*.patch
	cp "$build"/libdrm-patches/*.patch "$dir/"
	rm -rf "$build/libdrm-patches"
	echo "$(patches_sum) $(d rev-parse HEAD)" > "$work/.git/ualink"
	echo "patches/libdrm: $(d rev-list --count base..HEAD) patches"
}

# --- tests -----------------------------------------------------------------
is_refreshed() {
	write_patches "$build/libdrm-patches" && diff -r "$build/libdrm-patches" "$dir" && return
	echo "make libdrm-refresh writes them"
	return 1
}

# The headers are those of this repository, as make headers_install leaves them.
same_headers() {
	local uapi=$top/include/uapi/drm
	diff "$work/include/drm/drm_ualink.h" <(sed 's/_UAPI_DRM/_DRM/' "$uapi/drm_ualink.h") &&
	diff "$work/tests/ualink/vualink_drm.h" <(sed 's/_UAPI_VUALINK/_VUALINK/' "$uapi/vualink_drm.h")
}

options=(-Dauto_features=disabled -Damdgpu=enabled -Dudev=false --prefix=/usr --libdir=lib)
# build_in DIR SOURCE [OPTION...]: with meson, what is not built yet
build_in() {
	local out=$1 source=$2
	shift 2
	if [ ! -f "$out/build.ninja" ]; then
		rm -rf "$out"
		meson setup "$out" "$source" "${options[@]}" "$@" || return
	fi
	ninja -C "$out" -j"$JOBS"
}
build_old() {
	local now
	now=$(d rev-parse base)
	if [ "$(cat "$old/.ualink" 2>/dev/null)" != "$now" ]; then
		rm -rf "$old"
		mkdir -p "$old/source"
		d archive base | tar -x -C "$old/source"
		build_in "$old/build" "$old/source" -Dtests=false || return
		echo "$now" > "$old/.ualink"
	fi
}
build_new() {
	# it was made for a tree at another place, or is broken
	[ ! -d "$new" ] || grep -qF "$work" "$new/build.ninja" || rm -rf "$new"
	build_in "$new" "$work" -Dman-pages=enabled || return
	# what ninja says of files that were not changed is in the log of another run
	! grep -E '(UALink|ualink|xf86drmMode|amdgpu_bo)[^:]*:.*warning:' "$logs/libdrm.check"
}

# The tests of the library, each of them a line: NAME RESULT
test_results() {
	python3 - "$new/meson-logs/testlog.json" <<-'END'
		import json, sys
		for line in open(sys.argv[1]):
		    test = json.loads(line)
		    print(test["name"].split(":")[-1].strip().replace(" ", "-"), test["result"])
	END
}
run_tests() {
	local name result
	ninja -C "$new" test > "$logs/libdrm-test.log" 2>&1 || true
	test_results > "$logs/libdrm-tests"
	for name in {core,amdgpu}-symbols-check ualink_{wrappers,cache,threads,amdgpu,device} \
			ualink_amdgpu_device allgather; do
		grep -q "^$name " "$logs/libdrm-tests" ||
			tap_fail "test $name: did not run" "$logs/libdrm-test.log"
	done
	while read -r name result; do
		case $name:$result in
		*:OK) tap_ok "test $name" ;;
		ualink_device:SKIP | ualink_amdgpu_device:SKIP | allgather:SKIP)
			tap_ok "test $name is skipped without accelerators"
			;;
		*:SKIP) tap_skip "test $name" "needs what this machine does not have" ;;
		*) tap_fail "test $name: $result" "$logs/libdrm-test.log" ;;
		esac
	done < "$logs/libdrm-tests"
}

symbols() { nm -D --defined-only "$1" | awk '{ print $NF }' | sort; }
soname() { readelf -d "$1" | grep SONAME; }
# abi_grows LIB LIST HEADER...: no symbol is gone; new ones are in the list and a header
abi_grows() {
	local lib=$1 list=$2 s
	shift 2
	diff <(soname "$old/build/$lib") <(soname "$new/$lib") || return
	symbols "$old/build/$lib" > "$logs/libdrm-old"
	symbols "$new/$lib" > "$logs/libdrm-new"
	[ -s "$logs/libdrm-old" ] || return
	[ -z "$(comm -23 "$logs/libdrm-old" "$logs/libdrm-new" | tee /dev/stderr)" ] || return
	comm -13 "$logs/libdrm-old" "$logs/libdrm-new" > "$logs/libdrm-added"
	[ -s "$logs/libdrm-added" ] || return
	while read -r s; do
		grep -qx "$s" "$work/$list" || { echo "$s is not in $list"; return 1; }
		(cd "$work" && grep -qw "$s" "$@") || { echo "$s is in no header"; return 1; }
	done < "$logs/libdrm-added"
}
# What programs were compiled with only gets more.
headers_grow() {
	local gone
	gone=$(d diff base HEAD -- xf86drm.h xf86drmMode.h libsync.h amdgpu/amdgpu.h |
		grep '^-[^-]' || true)
	[ -z "$gone" ] || { echo "$gone"; return 1; }
}

install_new() {
	rm -rf "$root"
	DESTDIR=$root meson install -C "$new" --no-rebuild --quiet
	[ -s "$root/usr/share/man/man3/drmHandleEvent.3" ] &&
	[ -s "$root/usr/share/man/man7/drm-ualink.7" ]
}
# Each header by itself, as C and C++; MACHINE may be -m32
headers_compile() {
	local h lang
	for h in xf86drm.h xf86drmUALink.h libdrm/drm.h libdrm/drm_ualink.h libdrm/amdgpu.h; do
		for lang in "c -std=c99" "c -std=c11" "c++ -std=c++11"; do
			# shellcheck disable=SC2086
			printf '#include <%s>\n#include <%s>\n' "$h" "$h" |
				gcc "$@" -Wall -Wextra -Werror -fsyntax-only -x $lang \
					-I"$root/usr/include" -I"$root/usr/include/libdrm" - || return
		done
	done
}
program_links() {
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/pkgconfig \
		pkg-config --cflags --libs libdrm_amdgpu libdrm) || return
	# shellcheck disable=SC2086
	gcc -Wall -Werror -o "$build/.libdrm-program" -x c - $flags \
		-Wl,-rpath-link,"$root/usr/lib" <<-'END'
		#include <amdgpu.h>
		#include <xf86drmUALink.h>
		int main(void)
		{
			drmUALinkCachePtr cache;
			return amdgpu_ualink_cache_create(0, 0, &cache) + drmUALinkCacheTrim(cache, 0);
		}
	END
	rm -f "$build/.libdrm-program"
}

# In UML, which has no /tmp of this machine's: NAME STATUS for each, and what is left behind.
boot() {
	local f t files=()
	for f in "$new"/tests/ualink/{ualink_device,allgather} "$new"/libdrm.so.2* "$new"/amdgpu/libdrm_amdgpu.so.1*; do
		[ ! -f "$f" ] || files+=(-f "$f")
	done
	{
		echo 'export LD_LIBRARY_PATH=$PWD'
		for t in ualink_device allgather; do
			echo "timeout 300 ./$t; echo result: $t \$?"
		done
		# shellcheck disable=SC2016 # it is for the other shell
		echo 'for f in /sys/kernel/debug/dri/[0-9]*/hw/hw_stats; do' \
			'grep "^stale 0\$" $f || echo result: stale; done'
	} > "$build/.libdrm-cmd"
	"$here/run-uml.sh" "${files[@]}" -m 512M -t 700 -o "$logs/libdrm-uml" "$kernel" "$build/.libdrm-cmd" \
		vualink.pods=1 vualink.accels=3
}
booted() { grep -q "^result: $1 0\$" "$logs/libdrm-uml.log"; }
booted_well() {
	[ -f "$logs/libdrm-uml/rc" ] && [ ! -f "$logs/libdrm-uml/splats" ] &&
	grep -q '^stale 0$' "$logs/libdrm-uml.log" &&
	! grep -q '^result: stale' "$logs/libdrm-uml.log"
}
run_uml() {
	boot > "$logs/libdrm-uml.log" 2>&1 || true
	for t in ualink_device allgather; do
		if booted $t; then
			tap_ok "$t with virtual accelerators"
		else
			tap_fail "$t with virtual accelerators" "$logs/libdrm-uml.log"
		fi
	done
	if booted_well; then
		tap_ok "no access went where it must not, the kernel did not complain"
	else
		tap_fail "an access went where it must not, or the kernel complained" "$logs/libdrm-uml.log"
	fi
}

check() {
	[ -n "${NO_DEPS:-}" ] || "$here/deps.sh" libdrm
	lock libdrm
	tap_start libdrm
	# in a shell of its own, since what fails there ends it
	if ! (if [ -n "${LIBDRM_SRC:-}" ]; then make_copy; else make_tree; fi) \
			> "$logs/libdrm-tree.log" 2>&1; then
		tap_fail "the patches apply" "$logs/libdrm-tree.log"
		tap_done
		exit 1
	fi
	cat "$logs/libdrm-tree.log"
	[ -z "${LIBDRM_SRC:-}" ] || work=$build/libdrm-src
	old=$work-old new=$work-build root=$work-root
	tap_ok "the patches apply to $(d log -1 --format=%s base)"
	[ -n "${LIBDRM_SRC:-}" ] || tap_check "patches/libdrm is what build/libdrm has" is_refreshed
	tap_check "the headers are the kernel's" same_headers
	tap_check "libdrm builds without the patches" build_old
	tap_check "libdrm builds with them, and without warnings" build_new
	run_tests
	tap_check "the ABI of libdrm only grows" \
		abi_grows libdrm.so core-symbols.txt xf86drm.h xf86drmUALink.h
	tap_check "the ABI of libdrm_amdgpu only grows" \
		abi_grows amdgpu/libdrm_amdgpu.so amdgpu/amdgpu-symbols.txt amdgpu/amdgpu.h
	tap_check "public headers only grow" headers_grow
	tap_check "it can be installed" install_new
	tap_check "each header compiles as C and C++" headers_compile
	if echo '#include <stdio.h>' | gcc -m32 -fsyntax-only -x c - 2>/dev/null; then
		tap_check "each header compiles for 32 bits" headers_compile -m32
	else
		tap_skip "each header compiles for 32 bits" "gcc-multilib is not installed"
	fi
	tap_check "a program finds it with pkg-config" program_links
	kernel_for plain
	run_uml
	tap_done
}

case ${1:-check} in
check) check ;;
tree) lock libdrm && make_tree ;;
build)
	lock libdrm
	make_tree
	build_in "$work-build" "$work" -Dman-pages=enabled > "$logs/libdrm-build.log" 2>&1 ||
		{ tail -n 30 "$logs/libdrm-build.log"; die "libdrm does not build"; }
	;;
refresh) lock libdrm && refresh ;;
*) die "usage: libdrm.sh [check|tree|build|refresh]" ;;
esac
