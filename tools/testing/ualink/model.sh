#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# model.sh - the models of the protocol in model/, searched by spin: they hold,
# whatever the order of events, and each seeded bug breaks the property that it is
# meant to break. Writes build/results/model.tap.
#   LONG=1    also a search that takes minutes
. "$(dirname "$0")/lib.sh"
models=$here/model
out=$build/model
# the searches of the correct models take up to 1.2 GB each
[ "$JOBS" -le 2 ] || JOBS=2

# MODEL KIND PROPERTY MACRO...: PROPERTY is what the seeded bug, the first MACRO,
# breaks; or "holds". KIND is safe or live.
searches() {
	grep -v '^#' <<-END
		greeting safe holds
		share safe holds IMPORTERS=2 MAXREQ=1 ONE_MESSAGE NO_CACHE
		share safe holds
		greeting live holds
		greeting live holds DEAF
		share live holds
		# a session on the strength of a HELLO; a gate opened, or READY said, too early
		greeting safe S1 HELLO_BELIEVED
		greeting safe S1 OPENED_WITH_READY
		greeting safe S2 READY_BEFORE_DEAD
		greeting safe S1 IMPORT_KEPT
		greeting safe S1 OPEN_AFTER_RESET
		# grants forgotten while the gate is open
		greeting safe S1 DROPPED_WHEN_DOWN
		greeting safe S1 DROPPED_WHEN_CLEANING
		# late messages believed
		greeting safe S1 CHALLENGE_KEPT
		greeting safe S1 ANY_READY_ACK
		greeting safe S1 ANY_SESSION
		greeting safe S3 NOT_ASKED_AGAIN
		greeting live L1 ALL_REFUSED
		greeting live L1 NAK_IGNORED
		greeting live L1 NO_START_OVER
		greeting live L1 PATIENCE_RENEWED DEAF
		greeting live L2 READY_ONCE
		greeting live L2 NO_KICK
		greeting live L2 PENDING_FORGOTTEN
		greeting live L2 NOT_RECEIVED_AGAIN
		share safe S1 GRANT_KEPT FAST_FABRIC
		share safe S1 ANY_GRANT_RELEASED FAST_FABRIC
		share safe S1 ANY_GRANT_REVOKED FAST_FABRIC
		share safe S1 ANY_SESSION FAST_FABRIC
		share safe S1 DROPPED_WHEN_DOWN FAST_FABRIC
		share safe S1 OPEN_AFTER_RESET FAST_FABRIC
		share safe S1 NO_QUARANTINE FAST_FABRIC
		share safe S2 FREED_AT_DEADLINE FAST_FABRIC
		share safe S2 RELEASED_BEFORE_FLUSH FAST_FABRIC
		share safe S1 PENDING_NOT_REVOKED FAST_FABRIC
		share safe S1 IDLE_NOT_REVOKED FAST_FABRIC
		share safe S1 ACKED_AT_ONCE FAST_FABRIC
		share safe S1 ACKED_BEFORE_FLUSH FAST_FABRIC
		share safe S1 RELEASED_BEFORE_UNMAPPED FAST_FABRIC
		share safe S1 MAPPED_WHEN_DYING FAST_FABRIC
		share safe S1 IMPORT_KEPT FAST_FABRIC
		share safe S1 READY_BEFORE_DEAD FAST_FABRIC
		share safe S3 NOT_CLOSED_FIRST
		share live L2 RELEASE_ONCE
		share live L2 REVOKE_ONCE
	END
	[ -z "${LONG:-}" ] || printf '%s\n' 'greeting safe holds LONG' 'share safe holds MAXREQ=3 FAST_FABRIC'
}

# what pan says of a property that is broken
said() {
	case $1 in
	L1) echo 'non-progress cycle' ;;
	L2) echo 'assertion violated (202&&' ;;
	S*) echo "assertion violated (10${1#S}&&" ;;
	esac
}

# search MODEL KIND PROPERTY MACRO...: one line in its file, ok or not ok
search() {
	local model=$1 kind=$2 property=$3 name dir states
	dir=$out/$(tr -c 'A-Za-z0-9=_\n' - <<< "$*")
	shift 3
	name="$model, $kind${*:+: $*}"
	mkdir -p "$dir"
	cd "$dir" || return
	rm -f pan* ./*.trail
	local depth=5000000 memory=1400
	case "$* " in *LONG* | *MAXREQ=3*) depth=12000000 memory=2900 ;; esac
	local options=(-DSAFETY) run=(-w20 -m1000000) level=-O0
	[ "$property" != holds ] || { level=-O2; run=(-w24 -m"$depth"); }
	[ "$kind" = safe ] || { options=(-DNP -DNOFAIR); run+=(-l); set -- LIVE "$@"; }
	spin -a "${@/#/-D}" "$models/$model.pml" > spin.log 2>&1 &&
		gcc -w "$level" "${options[@]}" -DMEMLIM="$memory" -o pan pan.c >> spin.log 2>&1 ||
		{ echo "not $name: it is not built" > result; cat spin.log > pan.log; return; }
	nice ./pan -n "${run[@]}" > pan.log 2>&1 || true
	states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.log)
	if [ "$property" = holds ]; then
		if grep -q 'errors: 0$' pan.log && ! grep -qE 'too small|not completed|memory limit|out of memory' pan.log; then
			echo "ok $name: $states states" > result
		else
			echo "not $name" > result
		fi
	elif grep -q "^pan:1: $(said "$property" | sed 's/[(&]/[&]/g')" pan.log; then
		echo "ok $name: breaks $property" > result
	else
		echo "not $name: does not break $property" > result
	fi
}

# the functions that the comments name, and that the models stand for
named() {
	local f bad=0
	for f in $(sed -nE 's,.*(/\*|^ \*) ,,p' "$models"/*.pml | grep -oE '\b[a-z_]+\(\)' | sort -u); do
		grep -qE "^[a-z].*[ *]${f%()}\(" "$top"/drivers/gpu/drm/ualink/*.c || { echo "there is no $f"; bad=1; }
	done
	return "$bad"
}
# each bug that a model can be given is asked for
asked() {
	local m bad=0
	for m in greeting share; do
		grep -ohE '^#(ifn?def|elif defined\() *[A-Z_]+' "$models/$m.pml" | grep -oE '[A-Z_]+$' | sort -u |
			grep -vxE 'LIVE|LONG|CRASHES|LOSSES|DUPS|WISHES|EXPORTS|IMPORTERS' | while read -r x; do
			searches | grep -qE "^$m .*\b$x\b" || echo "$m: nobody asks for $x"
		done
	done | { ! grep .; } || bad=1
	return "$bad"
}

tap_start model
have spin || { tap_fail "spin is there"; tap_done; }
rm -rf "$out"
mkdir -p "$out"
tap_check "the functions that the models stand for exist" named
tap_check "each seeded bug is searched for" asked
export -f search said
export models out
searches | xargs -P "$JOBS" -I LINE bash -c 'set -f; search LINE'
while read -r line; do
	# shellcheck disable=SC2086
	dir=$out/$(tr -c 'A-Za-z0-9=_\n' - <<< "$line")
	read -r verdict name < "$dir/result" || { verdict=not name=$line; }
	if [ "$verdict" = ok ]; then tap_ok "$name"; else tap_fail "$name" "$dir/pan.log"; fi
done < <(searches)
tap_done
