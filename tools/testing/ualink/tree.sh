#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# tree.sh - make or update build/linux: a git work tree of the kernel with the
# series as commits (branch ualink) on its base (tag base). Edits in this
# repository's folders are copied into it, uncommitted. Nothing is done when
# nothing changed.
#   KSRC=DIR   base it on that kernel tree (git or plain files), which is only
#              read; a git tree counts as of its HEAD
#   FORCE=1    throw away work in build/linux that is in no patch
. "$(dirname "$0")/lib.sh"
. "$here/base.conf"
lock tree
state=$tree/.git/ualink
list_series
key=$(series_sum)

new_repository() {
	git_plain init -q -b ualink "$1"
	set_up "$1"
}
set_up() {
	git_plain -C "$1" config core.autocrlf false
	git_plain -C "$1" config core.fileMode true
	git_plain -C "$1" config gc.auto 0
	git_plain -C "$1" config advice.detachedHead false
	# for the fixups of git absorb; a rebase keeps each patch's author
	[ -n "$(git config --global user.email || git config --system user.email || true)" ] || {
		git_plain -C "$1" config user.name 'UALink series'
		git_plain -C "$1" config user.email ualink@localhost
	}
}

# commit_files DIR MESSAGE DATE [-f]: blobs go straight into one pack. Same
# files, same commit, on every machine. -f: also what .gitignore names.
commit_files() {
	say "making a git repository of it"
	git_plain -C "$1" -c core.bigFileThreshold=1 -c core.compression=1 add -A ${4:+"$4"}
	GIT_AUTHOR_NAME='UALink series' GIT_AUTHOR_EMAIL=ualink@localhost \
	GIT_AUTHOR_DATE=$3 GIT_COMMITTER_DATE=$3 \
		git_plain -C "$1" commit -q --no-verify -m "$2"
}

from_debian() {
	local version have
	version=$("$here/fetch-linux.sh" "$1")
	debian_version=$version
	# Debian's own rule, for its packaging, ignores every file
	sed -i -z 's/\n\n#\n# Debian packaging:.*$/\n/' "$1/.gitignore"
	new_repository "$1"
	commit_files "$1" "Linux ${version%%-*}, Debian linux-source-7.3 $version" \
		"@$(stat -c %Y "$1/Makefile") +0000" -f
	have=$(git_plain -C "$1" rev-parse 'HEAD^{tree}')
	if [ "$version" = "$BASE_VERSION" ] && [ -n "$BASE_TREE" ] && [ "$have" != "$BASE_TREE" ]; then
		die "the source of $version is not what base.conf says: $have"
	fi
}

from_git() {
	say "cloning $KSRC (its objects are shared, nothing in it changes)"
	git_plain -C "$KSRC" diff --quiet HEAD 2>/dev/null || say "note: $KSRC has uncommitted edits; they are not used"
	git_plain clone -q --shared --no-checkout --no-tags --single-branch "$KSRC" "$1"
	git_plain -C "$1" remote remove origin
	set_up "$1"
	git_plain -C "$1" checkout -q -B ualink HEAD
}

from_files() {
	say "copying $KSRC"
	mkdir -p "$1"
	(cd "$KSRC" && tar --exclude=.git -cf - .) | tar -xf - -C "$1"
	new_repository "$1"
	# with the leftovers of a build in it, leave out what git would ignore
	local force=-f
	[ ! -e "$1/.config" ] && [ ! -d "$1/include/config" ] || force=
	commit_files "$1" "$(kernel_version "$1") from plain files" "@0 +0000" "$force"
}

kernel_version() {
	awk -F' *= *' '/^(VERSION|PATCHLEVEL|SUBLEVEL) =/ {v = v s $2; s = "."} END {print "Linux " v}' "$1/Makefile"
}

make_base() {
	local want=$1 new=$tree.new
	rm -rf "$new"
	case $want in
	debian)
		from_debian "$new"
		want="debian $debian_version"
		;;
	git*) from_git "$new" ;;
	*) from_files "$new" ;;
	esac
	git_plain -C "$new" tag base HEAD
	mkdir "$new/.git/ualink"
	echo "$want" > "$new/.git/ualink/source"
	# bisect's clone shares the objects of the old one
	rm -rf "$tree" "$build/bisect/linux"
	mv "$new" "$tree"
}

# work that is in no patch: commits that refresh did not write out
unsaved() { [ "$(g rev-parse ualink)" != "$(cat "$state/head" 2>/dev/null || g rev-parse base)" ]; }

refuse_to_lose() {
	[ -z "${FORCE:-}" ] || return 0
	die "$1
build/linux has commits that are not in patches/linux. 'make refresh' writes
them out, FORCE=1 throws them away."
}

# Which base? An existing tree stays as it is, until KSRC names another one.
want=debian
if [ -n "${KSRC:-}" ]; then
	KSRC=$(cd "$KSRC" 2>/dev/null && pwd -P) || die "KSRC: no such folder"
	[ -f "$KSRC/init/Kconfig" ] || die "KSRC=$KSRC is not a kernel tree"
	[ "$KSRC" != "$tree" ] || die "KSRC is build/linux itself"
	if [ "$(git_plain -C "$KSRC" rev-parse --show-toplevel 2>/dev/null)" = "$KSRC" ]; then
		want="git $KSRC $(git_plain -C "$KSRC" rev-parse HEAD)"
	else
		want="files $KSRC"
	fi
elif [ -f "$state/source" ]; then
	want=$(cat "$state/source")
fi
if [ ! -f "$state/source" ]; then
	[ ! -e "$tree/.git" ] || die "$tree exists, but tree.sh did not make it"
	make_base "$want"
elif [ "$want" != "$(cat "$state/source")" ]; then
	! unsaved || refuse_to_lose "KSRC asks for another base."
	make_base "$want"
fi

# Apply the series in a clone without files, then move the tree to its end: only
# files that differ are written, so that little is built again.
apply_series() {
	local scratch=$build/apply p
	rm -rf "$scratch"
	git_plain clone -q --shared --no-checkout "$tree" "$scratch"
	git_plain -C "$scratch" update-ref --no-deref HEAD "$(g rev-parse 'base^{commit}')"
	git_plain -C "$scratch" read-tree HEAD
	for p in "${series[@]}"; do
		if ! git_plain -C "$scratch" am -q --no-3way --committer-date-is-author-date "$p" > "$logs/am.log" 2>&1; then
			grep -vE '^hint:|git am' "$logs/am.log" >&2 || true
			die "$(kernel_version "$tree"), $(cat "$state/source"): this patch does not apply to it:
  patches/linux/${p##*/}
The series is made for Debian's linux-source-7.3 $BASE_VERSION."
		fi
	done
	git_plain -C "$scratch" rev-parse HEAD > "$state/applied"
	g fetch -q "$scratch" HEAD
	rm -rf "$scratch"
}

if [ "$(cat "$state/patches" 2>/dev/null)" != "$key" ]; then
	if unsaved; then refuse_to_lose "patches/linux changed."; fi
	[ "$(g symbolic-ref -q --short HEAD)" = ualink ] || g checkout -q ualink
	say "applying ${#series[@]} patches"
	apply_series
	tip=$(cat "$state/applied")
	# an uncommitted new file that is the same in the series is in nobody's way
	# shellcheck disable=SC2086
	g ls-files --others --exclude-standard -- $roots | while read -r f; do
		[ "$(g hash-object "$f")" != "$(g rev-parse -q --verify "$tip:$f")" ] || rm "$tree/$f"
	done
	if ! g reset -q --keep "$tip" 2>"$logs/reset.log"; then
		if [ -n "${FORCE:-}" ]; then
			g reset -q --hard "$tip"
		else
			cat "$logs/reset.log" >&2
			die "build/linux has uncommitted edits that the new patches touch too. Commit or undo
them there; FORCE=1 throws them away."
		fi
	fi
	echo "$tip" > "$state/head"
	echo "$key" > "$state/patches"
fi
python3 "$here/sync.py" in "$top" "$tree" >&2
