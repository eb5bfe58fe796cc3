#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# refresh.sh - write the commits of build/linux out: to patches/linux, and their
# new files to this repository's folders, what they add to MAINTAINERS also to
# MAINTAINERS.snippet. What is not committed there is told,
# and left alone. The same commits give the same bytes.
# The cover letter's text, up to the line "---", is kept; what follows is made.
. "$(dirname "$0")/lib.sh"
lock tree
state=$tree/.git/ualink
[ -f "$state/head" ] || die "there is no build/linux yet: make tree"
[ "$(g symbolic-ref -q --short HEAD || true)" = ualink ] ||
	die "build/linux is not on the branch ualink; is a rebase under way there?"
g merge-base --is-ancestor base HEAD || die "the tag base is not below ualink in build/linux"
if [ -z "${FORCE:-}" ] && [ "$(series_sum)" != "$(cat "$state/patches")" ]; then
	die "patches/linux changed since build/linux was made from it. 'make tree' takes the
change over; FORCE=1 overwrites it with the commits."
fi

if g status --porcelain --untracked-files=no | grep -q .; then
	say "note: uncommitted edits in build/linux, not in the patches:"
	g status --porcelain --untracked-files=no >&2
fi

out=$build/refresh
rm -rf "$out"
mkdir -p "$out" "$patches"
n=$(g rev-list --count base..HEAD)
if [ "$n" -gt 0 ]; then
	[ -z "$(g rev-list --merges base..HEAD)" ] || die "there are merges in the series"
	g format-patch -q -n --cover-letter --base=base --zero-commit --no-signature \
		--no-thread --stat=78 --abbrev=12 --diff-algorithm=myers -o "$out" base..HEAD
	python3 "$here/cover.py" "$out/0000-cover-letter.patch" "$patches/0000-cover-letter.patch" \
		"$out/0001-"*.patch
fi
for f in "$patches"/*.patch; do
	if [ ! -e "$f" ] || [ -e "$out/${f##*/}" ]; then continue; fi
	# the letter's text outlives an empty series
	[ "$n:${f##*/}" = 0:0000-cover-letter.patch ] || rm "$f"
done
for f in "$out"/*.patch; do
	[ -e "$f" ] || continue
	cmp -s "$f" "$patches/${f##*/}" || cp "$f" "$patches/"
done
rm -rf "$out"
# for who reads only this repository: what the series adds to MAINTAINERS
g diff -U0 base HEAD -- MAINTAINERS | sed -n '/^+++/!s/^+//p' > "$build/.maintainers"
if [ -s "$build/.maintainers" ] && ! cmp -s "$build/.maintainers" "$top/MAINTAINERS.snippet"; then
	cp "$build/.maintainers" "$top/MAINTAINERS.snippet"
fi
rm -f "$build/.maintainers"
python3 "$here/sync.py" out "$top" "$tree"
g rev-parse HEAD > "$state/head"
series_sum > "$state/patches"
echo "patches/linux: $n patches"
