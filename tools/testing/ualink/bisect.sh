#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# bisect.sh - each commit of the series, from the first on, builds and passes the
# KUnit suites that it has by then. What passed is remembered by its content.
# Writes build/results/bisect.tap.
. "$(dirname "$0")/lib.sh"
"$here/tree.sh"
lock bisect
# the same two names side by side as in build/, for the compiler cache
work=$build/bisect
b() { git_plain -C "$work/linux" "$@"; }
mkdir -p "$work/passed"
[ -d "$work/linux/.git" ] || git_plain clone -q --shared --no-checkout "$tree" "$work/linux"
b fetch -q "$tree" ualink

# what else decides
setup=$(cat "$here/uml.config" "$here/build-uml.sh" "$here/kunit.sh" "$here/run-uml.sh" | sha256sum | cut -c1-16)
one() {
	b checkout -q -f "$1" || return
	b clean -qfd || return
	"$here/build-uml.sh" plain "$work/linux" "$work/um-plain" || return
	! grep -E '^[^ ]*(drivers|include)/.*warning:' "$logs/um-plain.log" || return
	NONE_IS_FINE=1 KERNEL=$work/um-plain/linux "$here/kunit.sh" bisect-kunit || return
}

tap_start bisect
for commit in $(g rev-list --reverse base..HEAD); do
	name="$(g log -1 --format=%s "$commit")"
	stamp=$work/passed/$(g rev-parse "$commit^{tree}")-$setup
	if [ -e "$stamp" ]; then
		tap_ok "$name"
		continue
	fi
	if one "$commit" > "$logs/bisect.log" 2>&1; then
		tap_ok "$name"
		touch "$stamp"
	else
		tap_fail "$name" "$logs/bisect.log"
	fi
done
rm -f "$results"/bisect-kunit.*
tap_done
