#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# absorb.sh - move each edit, of this repository's folders and of build/linux,
# into the commit of the series that it belongs to, then write the patches
# (refresh.sh). What no single commit can take stays uncommitted in build/linux
# and is told; then the exit status is 1.
. "$(dirname "$0")/lib.sh"
"$here/deps.sh" dev
"$here/tree.sh"
lock absorb
PATH=$PATH:/usr/lib/git-core
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'

[ "$(g symbolic-ref -q --short HEAD || true)" = ualink ] ||
	die "build/linux is not on the branch ualink; is a rebase under way there?"
[ "$(g rev-parse HEAD)" != "$(g rev-parse 'base^{commit}')" ] || die "there are no commits in build/linux yet"
g add -u
if g diff --cached --quiet; then
	say "no edits to absorb"
else
	old=$(g rev-parse HEAD)
	# when files do not change in the end, neither should their times: make
	# would build them again
	g diff --name-only --diff-filter=d base HEAD | while read -r f; do
		[ ! -f "$tree/$f" ] || printf '%s %s %s\n' "$(g hash-object "$f")" "$(stat -c %.9Y "$tree/$f")" "$f"
	done > "$build/.times"

	(cd "$tree" && git-absorb --force --base base) > "$logs/absorb.log" 2>&1 || {
		cat "$logs/absorb.log" >&2
		die "git absorb failed"
	}
	moved=$(g rev-list --count "$old..HEAD")
	if [ "$moved" -gt 0 ] && ! g rebase -q -i --autosquash --autostash --committer-date-is-author-date base >> "$logs/absorb.log" 2>&1; then
		g rebase --abort || true
		g reset -q --soft "$old"
		tail -n 20 "$logs/absorb.log" >&2
		die "the edits cannot be moved without a conflict; nothing was changed. By hand, in
build/linux: git commit --fixup=COMMIT, then git rebase -i --autosquash base"
	fi
	while read -r hash time f; do
		[ ! -f "$tree/$f" ] || [ "$(g hash-object "$f")" != "$hash" ] || touch -d "@$time" "$tree/$f"
	done < "$build/.times"
	rm "$build/.times"
	g reset -q
	say "moved into the series: $moved hunks or groups of hunks"
	g range-diff --no-color -s "base..$old" base..HEAD | grep -v ' = ' >&2 || true
fi

"$here/refresh.sh"
# shellcheck disable=SC2086
left=$(g status --porcelain --untracked-files=all -- . | grep -vE '^\?\? ' || true; g ls-files --others --exclude-standard -- $roots | sed 's/^/?? /')
if [ -n "$left" ]; then
	say "
Not absorbed: no single commit of the series is the obvious place for these.
$left
In build/linux: git diff; git add -p; then git commit (a new patch), or
git commit --fixup=COMMIT and git rebase -i --autosquash base; then make refresh."
	exit 1
fi
