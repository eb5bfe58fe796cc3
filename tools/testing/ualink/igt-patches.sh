#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# igt-patches.sh - make patches/igt-gpu-tools from tools/testing/igt and the
# kernel's uAPI headers: one for each file of igt-series, which has the files on
# its first line, and below it the message. They only add files, so that they
# apply to any IGT; git am takes them.
#   IGT_SRC=DIR  also apply them to a copy of that IGT tree, in build/igt-src, and
#                add the new files to its meson.build lists, as a commit of its own
. "$(dirname "$0")/lib.sh"
igt=$top/tools/testing/igt
out=${OUT:-$top/patches/igt-gpu-tools}
scratch=$build/igt-patches
rm -rf "$scratch"
git_plain init -q "$scratch"
s() { git_plain -C "$scratch" "$@"; }
me="$(git -C "$top" config user.name || echo 'UALink series') <$(git -C "$top" config user.email || echo ualink@localhost)>"
now=$(date -R)
GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x s commit -q --allow-empty --no-verify -m start

mkdir -p "$scratch/include/drm-uapi"
for h in drm_ualink vualink_drm; do
	sed 's/ __user / /g' "$top/include/uapi/drm/$h.h" > "$scratch/include/drm-uapi/$h.h"
done
cp -r "$igt/lib" "$igt/tests" "$scratch/"
n=0
for message in "$here"/igt-series/*; do
	n=$((n + 1))
	# a patch that is there already keeps its author and date
	old=$(compgen -G "$top/patches/igt-gpu-tools/$(printf %04d $n)-*.patch" | head -n 1 || true)
	author=$me date=$now
	if [ -n "$old" ]; then
		author=$(git mailinfo /dev/null /dev/null < "$old" | sed -n 's/^Author: //p')
		author="$author <$(git mailinfo /dev/null /dev/null < "$old" | sed -n 's/^Email: //p')>"
		date=$(sed -n 's/^Date: //p;/^$/q' "$old")
	fi
	# shellcheck disable=SC2046
	(cd "$scratch" && git_plain add -f -- $(head -n 1 "$message"))
	tail -n +2 "$message" | s commit -q --no-verify --author="$author" --date="$date" -F -
done
[ -z "$(s status --porcelain)" ] || { s status --short >&2; die "files that are in no patch of igt-series"; }
mkdir -p "$out"
rm -f "$out"/*.patch
s format-patch -q -n --zero-commit --no-signature --stat=78 --abbrev=12 --no-renames \
	-o "$out" "HEAD~$n..HEAD"
rm -rf "$scratch"
echo "patches/igt-gpu-tools: $n patches"

[ -n "${IGT_SRC:-}" ] || exit 0
IGT_SRC=$(cd "$IGT_SRC" && pwd -P) || die "IGT_SRC: no such folder"
[ -f "$IGT_SRC/lib/meson.build" ] || die "IGT_SRC=$IGT_SRC is not an IGT tree"
copy=$build/igt-src
copy_tree "$IGT_SRC" "$copy" "IGT as it was"
for p in "$out"/*.patch; do
	git_plain -C "$copy" am -q --no-3way "$p" || die "does not apply to $IGT_SRC: ${p##*/}"
done
python3 "$here/igt-meson.py" "$copy"
git_plain -C "$copy" -c user.name="${me% <*}" -c user.email=ualink@localhost commit -q --no-verify -a --author="$me" \
	-m "meson: Build the tests of UALink memory sharing" -m "Assisted-by: LLM"
# until late in 2025 these macros had no parentheses
if grep -q '^#define igt_fixture for' "$copy/lib/igt_core.h"; then
	(cd "$copy" && sed -i 's/\bigt_fixture()/igt_fixture/; s/\bigt_subtest_group()/igt_subtest_group/; s/^int igt_main()/igt_main/' \
		lib/igt_ualink*.c tests/ualink_*.c)
	git_plain -C "$copy" -c user.name="${me% <*}" -c user.email=ualink@localhost commit -q --no-verify -a \
		--author="$me" -m "tests/ualink: Spell macros as this tree does" -m "Assisted-by: LLM"
fi
echo "applied, in $copy; build it there as IGT says: meson setup build && ninja -C build"
