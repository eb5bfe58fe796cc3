# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# lib.sh - paths, messages, git and TAP for the scripts of this folder.
# Sourced by them, never run.
set -euo pipefail
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
# what the make above, or the user, means for another build
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES ARCH LLVM CROSS_COMPILE KBUILD_OUTPUT KCFLAGS O W C V M CHECK CF

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
top=$(cd "$here/../../.." && pwd -P)
build=${BUILD:-$top/build}
case $build in /*) ;; *) build=$top/$build ;; esac
tree=$build/linux		# git work tree: base, and the series on it
results=$build/results
logs=$build/log
# shellcheck disable=SC2034
patches=$top/patches/linux
# where the new files of the series lie in this repository
# shellcheck disable=SC2034
roots="drivers include Documentation tools"
# folders below the roots that are not part of the series
# shellcheck disable=SC2034
own="tools/testing/ualink tools/testing/igt"

say() { printf '%s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# make and the kernel's Makefile cannot cope with such a path
case $top$build in *[[:space:]:]*) die "the path of this folder has a space or a colon: $top" ;; esac
mkdir -p "$build" "$logs"

# One compiler cache; paths below a base folder are stored relative, so that
# the build of the same source elsewhere below build/ hits it too.
export CCACHE_DIR=${CCACHE_DIR:-$build/ccache}
export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-4G}
export CCACHE_NOHASHDIR=1
JOBS=${JOBS:-$(nproc)}

# git as it comes, without the user's settings (hooks, formats, signing), so
# that it writes the same bytes on every machine. The tree may have been made
# by root and be used by another.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
git_plain() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=: GIT_SEQUENCE_EDITOR=: \
	GIT_COMMITTER_NAME='UALink series' GIT_COMMITTER_EMAIL=ualink@localhost \
	git -c safe.directory='*' "$@"
}
g() { git_plain -C "$tree" "$@"; }

# commit_all DIR MESSAGE: a repository of all files there are, with a date that never changes
commit_all() {
	git_plain -C "$1" init -q
	git_plain -C "$1" add -A -f
	GIT_AUTHOR_NAME='UALink series' GIT_AUTHOR_EMAIL=ualink@localhost \
	GIT_AUTHOR_DATE=2000-01-01T00:00:00Z GIT_COMMITTER_DATE=2000-01-01T00:00:00Z \
		git_plain -C "$1" commit -q --no-verify -m "$2"
}
# copy_tree DIR COPY MESSAGE: a repository of a user's tree, which is only read
copy_tree() {
	rm -rf "$2"
	if [ -e "$1/.git" ]; then
		git_plain clone -q --shared "$1" "$2"
	else
		cp -r "$1" "$2"
		commit_all "$2" "$3"
	fi
}

have() { command -v "$1" >/dev/null 2>&1; }

# The patches in patches/linux without the cover letter: in the array "series",
# and one sum of them all.
list_series() {
	local p
	series=()
	for p in "$patches"/[0-9]*.patch; do
		case $p in */0000-*) ;; *) [ ! -e "$p" ] || series+=("$p") ;; esac
	done
}
series_sum() {
	list_series
	cat "${series[@]}" /dev/null | sha256sum | cut -d' ' -f1
}

# kernel_for plain|debug: what is there to run, built when needed; KERNEL=FILE
# runs that one as it is
kernel_for() {
	kernel=${KERNEL:-}
	[ -z "$kernel" ] || return 0
	"$here/tree.sh"
	"$here/build-uml.sh" "$1"
	# shellcheck disable=SC2034
	kernel=$build/um-$1/linux
}

# Only one script at a time builds in or changes what is named $1.
lock() {
	local fd
	exec {fd}>"$build/.lock-$1"
	flock -n "$fd" && return
	say "waiting for another run that uses $1"
	flock "$fd"
}

# What in a kernel's log makes a run fail.
# shellcheck disable=SC2034
SPLAT='BUG:|WARNING:|KASAN|UBSAN|ODEBUG|Oops|possible (recursive|circular)|suspicious RCU|[Kk]ernel panic|blocked for more than|refcount_t|list_(add|del) corruption|detected stall|unreferenced object|uml-init: cannot'

# boot_result DIR CONSOLE FROM ALLOW STATUS LIMIT: prints what the script in the kernel
# said, and says what the kernel complained of; DIR has what uml-init.sh left. Sets rc:
# that of the script; 124: the kernel did not finish; 99: the kernel complained.
boot_result() {
	local dir=$1 console=$2 from=$3 allow=$4 status=$5 limit=$6 f
	[ ! -f "$dir/out" ] || cat "$dir/out"
	if [ -f "$dir/rc" ]; then
		rc=$(cat "$dir/rc")
	else
		rc=124
		[ "$status" != 124 ] || say "no end after $limit s"
		say "the kernel did not finish (exit status $status); the end of its console:"
		tail -n 60 "$console" >&2
	fi
	# What came before is the kernel's own start: SMP with lockdep and kmemleak
	# always complains there of a "Callback enqueued on offline CPU".
	for f in "$dir/dmesg" "$console"; do
		[ -f "$f" ] || continue
		if grep -aq "$from" "$f"; then sed "0,/$from/d" "$f"; else cat "$f"; fi
	done | tr -d '\r' | sed -E 's/^(<[0-9]>)?\[ *[0-9.]+\] ?//' | grep -aE "$SPLAT" | grep -avE "$allow" | sort -u > "$dir/splats" || true
	[ ! -s "$dir/kmemleak" ] || echo "memory leak: see kmemleak" >> "$dir/splats"
	if [ -s "$dir/splats" ]; then
		say "the kernel complained:"
		head -n 20 "$dir/splats" >&2
		[ ! -s "$dir/kmemleak" ] || head -n 40 "$dir/kmemleak" >&2
		[ "$rc" != 0 ] || rc=99
	else
		rm -f "$dir/splats"
	fi
}

# --- TAP: one file for each tier, build/results/TIER.tap -----------------
tap_start() {
	mkdir -p "$results"
	tap_tier=$1 tap_file=$results/$1.tap tap_n=0 tap_bad=0
	rm -f "$results/$1.json"
	echo "TAP version 14" > "$tap_file"
}

# tap_line ok|not NAME [SKIP-REASON]
tap_line() {
	local word=ok name=${2//#/}
	[ "$1" = ok ] || { word="not ok"; tap_bad=$((tap_bad + 1)); }
	tap_n=$((tap_n + 1))
	echo "$word $tap_n - $name${3:+ # SKIP $3}" >> "$tap_file"
	echo "  $word - $name${3:+ (skipped: $3)}"
}
tap_ok() { tap_line ok "$1"; }
tap_skip() { tap_line ok "$1" "${2:-no reason given}"; }
# tap_fail NAME [FILE]: the end of FILE says why
tap_fail() {
	tap_line not "$1"
	[ -z "${2:-}" ] || { tail -n 60 "$2" | sed 's/^/    # /' | tee -a "$tap_file"; }
}
# tap_check NAME COMMAND...: passes if the command does; shows its output if not
tap_check() {
	local tap_name=$1 tap_out=$logs/$tap_tier.check tap_start_us=${EPOCHREALTIME/./}
	shift
	if "$@" > "$tap_out" 2>&1; then tap_ok "$tap_name"; else tap_fail "$tap_name" "$tap_out"; fi
	printf '  ---\n  duration_ms: %d\n  ...\n' $(((${EPOCHREALTIME/./} - tap_start_us) / 1000)) >> "$tap_file"
}
# ends the tier: true if it ran something, and nothing failed
tap_done() {
	echo "1..$tap_n" >> "$tap_file"
	python3 "$here/results.py" json "$tap_file"
	[ "$tap_bad" = 0 ] && [ "$tap_n" -gt 0 ]
}
