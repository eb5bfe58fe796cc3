#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# verify.sh - check that patches/linux and the folders are one and the same
# series, and that it applies to the pristine base. Writes
# build/results/verify.tap.
. "$(dirname "$0")/lib.sh"
. "$here/base.conf"
[ -f "$tree/.git/ualink/source" ] || "$here/tree.sh"
source=$(cat "$tree/.git/ualink/source")
scratch=$build/verify
s() { git_plain -C "$scratch" "$@"; }
list_series

pristine() {
	[ "$source" = "debian $BASE_VERSION" ] || { echo "base: $source"; return 0; }
	[ "$(g rev-parse 'base^{tree}')" = "$BASE_TREE" ]
}

numbered() {
	local i=0 p
	for p in "${series[@]}"; do
		i=$((i + 1))
		case ${p##*/} in "$(printf %04d $i)"-*) ;; *) echo "unexpected: $p"; return 1 ;; esac
	done
	[ "$i" -gt 0 ] || { echo "no patches"; return 1; }
}

apply() {
	local p
	rm -rf "$scratch"
	git_plain clone -q --shared --no-checkout "$tree" "$scratch"
	s update-ref --no-deref HEAD "$(g rev-parse 'base^{commit}')"
	s read-tree HEAD
	# how the patches were written depends on it, and no file is checked out here
	s show HEAD:.gitattributes > "$scratch/.git/info/attributes"
	for p in "${series[@]}"; do
		s am -q --no-3way --committer-date-is-author-date "$p" || { echo "does not apply: $p"; return 1; }
	done
}

# written out again, it must be the same: no fuzz, no offset, no stale number
again() {
	local p bad=0
	[ "$source" = "debian $BASE_VERSION" ] || { echo "another base: line numbers may differ"; return 0; }
	mkdir "$scratch/again"
	s format-patch -q -n --cover-letter --base="$(g rev-parse 'base^{commit}')" --zero-commit --no-signature \
		--no-thread --stat=78 --abbrev=12 --diff-algorithm=myers -o "$scratch/again" "$(g rev-parse 'base^{commit}')..HEAD"
	cp "$patches/0000-cover-letter.patch" "$scratch/letter" || return
	python3 "$here/cover.py" "$scratch/again/0000-cover-letter.patch" "$scratch/letter" "$scratch/again/0001-"*.patch
	for p in "$scratch/again"/*.patch; do
		cmp "$p" "$patches/${p##*/}" || bad=1
	done
	[ "$bad" = 0 ] || echo "make refresh writes them as git does"
	return "$bad"
}

letter() {
	[ -s "$patches/0000-cover-letter.patch" ] || { echo "no cover letter"; return 1; }
	! grep -n '\*\*\*' "$patches/0000-cover-letter.patch"
}

new_files() { s diff --no-renames --name-only --diff-filter=A "$(g rev-parse 'base^{commit}')" HEAD; }

folder_files() {
	# shellcheck disable=SC2086
	(cd "$top" && find $roots -type f 2>/dev/null) |
		grep -vE "^(${own// /|})/" | sort
}

same_names() {
	local differ
	differ=$(diff <(new_files | sort) <(folder_files) |
		sed -n 's/^</only in the series:/p; s/^>/only in the folders:/p' || true)
	echo "$differ"
	[ -z "$differ" ]
}

same_bytes() {
	local f bad=0 mode
	while read -r f; do
		[ -f "$top/$f" ] || { echo "missing: $f"; bad=1; continue; }
		s cat-file blob "HEAD:$f" | cmp - "$top/$f" || bad=1
		mode=100644
		[ ! -x "$top/$f" ] || mode=100755
		[ "$(s ls-tree HEAD -- "$f" | cut -d' ' -f1)" = "$mode" ] || { echo "another mode: $f"; bad=1; }
	done < <(new_files)
	return "$bad"
}

no_shadow() {
	local bad=0 f
	while read -r f; do
		! s cat-file -e "$(g rev-parse 'base^{commit}'):$f" 2>/dev/null || { echo "the base has it: $f"; bad=1; }
	done < <(folder_files)
	return "$bad"
}

in_roots() { ! new_files | grep -vE "^(${roots// /|})/"; }
no_signoff() { ! grep -niE '^(Signed-off-by|Co-developed-by):' "$patches"/*.patch; }

assisted() {
	local p bad=0
	for p in "${series[@]}"; do
		sed '/^---$/q' "$p" | grep -q '^Assisted-by: ' || { echo "no Assisted-by: $p"; bad=1; }
	done
	return "$bad"
}

subjects() {
	! s log --format=%s "$(g rev-parse 'base^{commit}')..HEAD" | grep -E '.{76}|^(fixup|squash|amend)!|^[^:]*$|\.$'
}

snippet() {
	s diff -U0 "$(g rev-parse 'base^{commit}')" HEAD -- MAINTAINERS | sed -n '/^+++/!s/^+//p' |
		diff - "$top/MAINTAINERS.snippet"
}

igt_patches() {
	OUT=$scratch/igt "$here/igt-patches.sh" || return
	diff -r "$scratch/igt" "$top/patches/igt-gpu-tools" > "$scratch/igt.diff" && return
	grep -E '^(diff|Only)' "$scratch/igt.diff"
	echo "make igt-patches writes them"
	return 1
}

tap_start verify
tap_check "the base is pristine" pristine
tap_check "the patches are numbered without a gap" numbered
tap_check "the patches apply without fuzz" apply
if [ "$tap_bad" = 0 ]; then
	tap_check "written out again, the patches are the same" again
	tap_check "the folders hold exactly the new files of the series" same_names
	tap_check "they are the same byte for byte" same_bytes
	tap_check "no new file shadows one of the base" no_shadow
	tap_check "new files are only in: $roots" in_roots
	tap_check "MAINTAINERS.snippet is what the series adds" snippet
	tap_check "patches/igt-gpu-tools are made of tools/testing/igt" igt_patches
	tap_check "each subject has a prefix and at most 75 letters" subjects
fi
tap_check "there is a cover letter" letter
tap_check "no patch is signed off: only a human can do that" no_signoff
tap_check "each patch says Assisted-by" assisted
rm -rf "$scratch"
tap_done
