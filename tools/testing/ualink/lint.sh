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
export QUIET=1
out=$build/lint
mkdir -p "$out"
wanted=" ${*:-scripts patches files w1 sparse variants exports cocci kerneldoc headers uapi maintainers} "
# amdgpu is not in these UML kernels: amdgpu.sh builds it, and checkpatch sees its patches
mine() { python3 "$here/ours.py" "$1" "$tree" | { grep -v '^drivers/gpu/drm/amd/' || true; }; }
mine new > "$out/new"
mine changed > "$out/changed"
# tools/ has make files of its own, see selftests.sh; Documentation/ an example, see docs.sh
sources() { grep '\.c$' "$out/$1" | grep -Ev '^(tools|Documentation)/' | while read -r f; do [ ! -f "$tree/$f" ] || echo "$f"; done; }
# folders that have a Makefile of ours, without those below another one
folders() {
	grep '/Makefile$' "$out/new" | grep -v '^tools/' | xargs -r -n 1 dirname | sort |
		awk '{for (i = 1; i < NR; i++) if (index($0, d[i] "/") == 1) next; d[NR] = $0; print}'
}
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
	python3 "$here/junit.py" test || bad=1
	return "$bad"
}
shell() { (cd "$here" && shellcheck -x -S warning ./*.sh "$top/.ci/run"); }

# --- checkpatch. The tree has one MAINTAINERS entry for all files, so that a
# patch that adds a file need not change it.
checkpatch() {
	# its check of SPDX lines wants python3-ply and python3-git, and says
	# nothing but a traceback without them
	(cd "$tree" && PATH=/usr/bin:$PATH perl scripts/checkpatch.pl --strict --no-signoff --no-summary \
		--show-types --terse -q --ignore FILE_PATH_CHANGES "$@") 2> "$out/checkpatch.$$" || return 1
	! grep . "$out/checkpatch.$$" || return 1
	rm "$out/checkpatch.$$"
}
# in_parallel N ARGUMENTS...: N lines of the input after the arguments
in_parallel() {
	export -f checkpatch
	export tree out
	xargs -P "$JOBS" -n "$1" bash -c 'checkpatch "$@"' checkpatch "${@:2}"
}
each_patch() {
	[ "$(g rev-list --count base..HEAD)" -gt 0 ] || { echo "no patches"; return 1; }
	g rev-list --reverse base..HEAD | in_parallel 1 -g
}
each_file() {
	local f
	grep -E '\.(c|h|rst|sh|py)$|Kconfig$|Makefile$' "$out/new" | while read -r f; do
		[ ! -f "$tree/$f" ] || echo "$f"
	done > "$out/files"
	[ -s "$out/files" ] || { echo "no files"; return 1; }
	in_parallel 12 -f < "$out/files"
}

# --- compilers. Only our objects are compiled, the rest of the tree is not needed.
# compile DIR ARGUMENTS...: again, so that each warning comes again
compile() {
	local dir=$1 o
	shift
	kbuild "$dir" W=1 prepare || return
	for o in $(folders); do [ ! -d "$dir/$o" ] || find "$dir/$o" -name '*.o' -delete; done
	for o in $(objects); do rm -f "$dir/$o"; done
	# shellcheck disable=SC2046
	kbuild "$dir" W=1 "$@" $(folders | sed 's,$,/,') $(objects)
}
nothing_found() {
	findings "$1" | sort -u > "$out/found"
	cat "$out/found"
	[ ! -s "$out/found" ]
}
w1() {
	compile "$build/um-lint" || return
	nothing_found "$build/um-lint"
}

# An old sparse makes make warn once and check nothing.
run_sparse() {
	local sparse=$build/sparse/sparse missed
	"$here/fetch-sparse.sh" || return
	[ "$(cd "$tree" && sh scripts/checker-valid.sh "$sparse")" = 1 ] ||
		{ echo "this sparse cannot check this kernel"; return 1; }
	compile "$build/um-lint" C=2 CHECK="$sparse" CF=-D__CHECK_ENDIAN__ || return
	! grep 'not available or not up to date' "$logs/um-lint.log" || return
	missed=$(comm -13 <(sed -n 's/^  CHECK *//p' "$logs/um-lint.log" | sort -u) <({ sources new; sources changed; } | sort))
	[ -z "$missed" ] || printf 'not checked, since not built:\n%s\n' "$missed"
	nothing_found "$build/um-lint" && [ -z "$missed" ]
}

# Other configurations. KUnit itself stays: it brings UML its PCI, and so DRM.
tests='UALINK_KUNIT_TEST DRM_UALINK_KUNIT_TEST DRM_VUALINK_KUNIT_TEST DRM_VUALINK_KUNIT_BENCH'
fragment() {
	local o
	case $1 in
	modules)
		for o in DRM_VUALINK $tests; do echo "CONFIG_$o=m"; done
		echo CONFIG_MODULES=y
		;;
	notests) for o in $tests; do echo "CONFIG_$o=n"; done ;;
	nodebugfs) printf 'CONFIG_%s=n\n' DEBUG_FS KUNIT_DEBUGFS ;;
	off) for o in DRM_VUALINK $tests; do echo "CONFIG_$o=n"; done ;;
	esac > "$out/$1.config"
}
variant() {
	fragment "$1"
	EXTRA_CONFIG=$out/$1.config compile "$build/um-lint-$1" || return
	nothing_found "$build/um-lint-$1"
}
# Switched off, our own files are not built; those that include our headers are.
variant_off() {
	fragment off
	export EXTRA_CONFIG=$out/off.config
	kbuild "$build/um-lint-off" W=1 prepare || return
	local o objects
	objects=$(sources changed | sed 's/c$/o/')
	for o in $objects; do rm -f "$build/um-lint-off/$o"; done
	# shellcheck disable=SC2086
	[ -z "$objects" ] || kbuild "$build/um-lint-off" W=1 $objects || return
	nothing_found "$build/um-lint-off"
}

# Leaves out what orplus.cocci says of lines in tests that add sizes to addresses or
# to each other, which it takes for flags.
no_flags() {
	local line f n
	while IFS= read -r line; do
		IFS=: read -r f n _ <<< "$line"
		case $line in
		*/tests/*'sum of probable bitmasks'*)
			! sed -n "${n}p" "$tree/$f" | grep -qE '\b(VA|SZ_[0-9]+[KMG]) [+-] SZ_[0-9]+[KMG]' || continue
			;;
		esac
		printf '%s\n' "$line"
	done
}

# --- coccinelle: each semantic patch of the kernel that has a report mode
cocci() {
	local f options requires version key bad=0
	# shellcheck disable=SC2046
	key=$(cd "$tree" && cat $(sources new) $(sources changed) | cat - "$here/lint.sh" | sha256sum)
	[ "$(cat "$out/.cocci" 2>/dev/null)" != "$key" ] || return 0
	version=$(spatch --version | awk 'NR == 1 {print $3}')
	: > "$out/cocci.log"
	while read -r f; do
		requires=$(sed -n 's/.*Requires: *//p' "$f")
		[ "$(printf '%s\n' "$requires" "$version" | sort -V | head -n 1)" = "$requires" ] || continue
		options=$(sed -n 's/.*Options://p' "$f")
		# shellcheck disable=SC2046,SC2086
		(cd "$tree" && timeout 900 spatch -D report --no-show-diff --very-quiet --cocci-file "$f" $options \
			--jobs "$JOBS" --chunksize 1 -I include -I include/uapi $(sources new) $(sources changed)) \
			>> "$out/cocci.log" 2>&1 || { echo "spatch failed: $f"; bad=1; }
	done < <(grep -rlE 'virtual[[:space:]]+report' "$tree/scripts/coccinelle" --include='*.cocci' | sort)
	mine filter < "$out/cocci.log" | sort -u | no_flags > "$out/found"
	cat "$out/found"
	if [ "$bad" != 0 ] || [ -s "$out/found" ]; then return 1; fi
	echo "$key" > "$out/.cocci"
}

# --- kernel-doc
kernel_doc() {
	local f bad=0
	for f in $(grep '\.[ch]$' "$out/new"); do
		[ ! -f "$tree/$f" ] || (cd "$tree" && python3 tools/docs/kernel-doc -none -Wall -Werror "$f") || bad=1
	done
	for f in $(grep '\.[ch]$' "$out/changed"); do
		(cd "$tree" && python3 tools/docs/kernel-doc -none -Wall "$f" 2>&1) | mine filter > "$out/found" || true
		cat "$out/found"
		[ ! -s "$out/found" ] || bad=1
	done
	return "$bad"
}

# --- headers: each compiled alone, and twice
headers() {
	local h n=0 dir=$out/headers objects=
	rm -rf "$dir"
	mkdir -p "$dir"
	echo '# our headers, each alone' > "$dir/Makefile"
	for h in $(grep '\.h$' "$out/new" | grep -v '^tools/'); do
		# a header of trace events is read several times by design
		[ -f "$tree/$h" ] || continue
		n=$((n + 1))
		printf '#include "%s"\n#include "%s"\n' "$tree/$h" "$tree/$h" > "$dir/h$n.c"
		echo "CFLAGS_h$n.o := -I$tree/$(dirname "$h")" >> "$dir/Makefile"
		echo "obj-m += h$n.o" >> "$dir/Makefile"
		objects+=" h$n.o"
	done
	[ "$n" -gt 0 ] || { echo "no headers"; return 1; }
	fragment modules
	EXTRA_CONFIG=$out/modules.config kbuild "$build/um-lint-modules" W=1 prepare || return
	# shellcheck disable=SC2086
	EXTRA_CONFIG=$out/modules.config kbuild "$build/um-lint-modules" W=1 M="$dir" KBUILD_MODPOST_WARN=1 $objects || return
	! grep -E 'warning:|error:' "$logs/um-lint-modules.log"
}

# --- uAPI headers as user space gets them, in C and in C++
uapi() {
	local h bad=0 m32='' dir=$build/uapi-headers
	if gcc -m32 -fsyntax-only -x c -include stdint.h /dev/null 2>/dev/null; then m32=yes; fi
	make -s -C "$tree" ARCH=x86 O="$dir" headers > "$logs/uapi-headers.log" 2>&1 ||
		{ tail "$logs/uapi-headers.log"; return 1; }
	grep '^include/uapi/.*\.h$' "$out/new" > "$out/uapi" || { echo "no uAPI headers"; return 1; }
	while read -r h; do
		h=${h#include/uapi/}
		echo "#include <$h>" > "$out/uapi.c"
		cp "$out/uapi.c" "$out/uapi.cc"
		gcc -std=c90 -Wall -Wextra -Werror -fsyntax-only -isystem "$dir/usr/include" -include "$dir/usr/include/$h" "$out/uapi.c" || bad=1
		# no padding but what is named; drm.h has some of its own
		printf '#include <drm/drm.h>\n#pragma GCC diagnostic warning "-Wpadded"\n#include <%s>\n' "$h" > "$out/padded.c"
		gcc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I "$dir/usr/include" "$out/padded.c" || bad=1
		[ -z "$m32" ] || gcc -m32 -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I "$dir/usr/include" "$out/padded.c" || bad=1
		g++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -I "$dir/usr/include" "$out/uapi.cc" || bad=1
	done < "$out/uapi"
	return "$bad"
}

# --- what modpost would say about our modules, without the rest of the kernel
exports() {
	[ -d "$build/um-lint-modules/drivers/gpu/drm" ] || variant modules || return
	# shellcheck disable=SC2046
	python3 "$here/exports.py" "$tree" $(folders | sed "s,^,$build/um-lint-modules/,")
}

covered() { ! python3 "$here/ours.py" uncovered "$tree" | grep .; }

something() { grep -q '\.c$' "$out/new" && grep -q '\.h$' "$out/new"; }

run() { case $wanted in *" $1 "*) shift; tap_check "$@" ;; esac; }
tap_start lint
tap_check "there are sources of ours" something
run scripts "scripts: syntax" scripts
if have shellcheck; then run scripts "scripts: shellcheck" shell; fi
run patches "checkpatch --strict, each patch" each_patch
run files "checkpatch --strict, each new file" each_file
run w1 "W=1" w1
run sparse "sparse" run_sparse
run variants "W=1 as modules" variant modules
run exports "as modules: symbols, licences, name spaces" exports
run variants "W=1 without debugfs" variant nodebugfs
run variants "W=1 without tests" variant notests
run variants "W=1 switched off" variant_off
run cocci "coccicheck, report mode" cocci
run kerneldoc "kernel-doc -Wall" kernel_doc
run headers "each header alone and twice" headers
run uapi "uAPI headers in C and C++" uapi
run maintainers "MAINTAINERS covers each new file" covered
tap_done
