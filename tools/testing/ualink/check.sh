#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# check.sh - all tests. A tier that does not run, or ends early, counts as
# failed; so does one that ran nothing. The last line is the sum.
#   TIERS="..."   only these of: verify kunit igt selftests top libdrm demo lint bench fuzz
#                 model emu faults coverage kcsan amdgpu docs; all but the last three are the
#                 default. What the tiers measure of faults is in build/results/faults.json.
#   LONG=1        also what the tiers leave out here, but not when they are run alone
. "$(dirname "$0")/lib.sh"
[ -n "${NO_DEPS:-}" ] || "$here/deps.sh" check
default="verify kunit igt selftests top libdrm demo lint bench fuzz model emu faults coverage"
read -ra tiers <<< "${TIERS:-$default}"
for tier in "${tiers[@]}"; do
	case " $default kcsan amdgpu docs " in *" $tier "*) ;; *) die "TIERS: there is no $tier" ;; esac
done
[ -n "${LONG:-}" ] || export SHORT=1
mkdir -p "$results"
rm -f "$results"/*.tap "$results"/*.json "$results/junit.xml"

demo() {
	tap_start demo
	tap_check "two accelerators of a pod" "$here/run.sh"
	PODS=2 ACCELS=3 tap_check "two pods of three accelerators" "$here/run.sh"
	tap_done
}

"$here/tree.sh" || say "there is no tree to test"
begin=$SECONDS
: > "$logs/.check"
child=
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; exit 130' INT TERM HUP
for tier in "${tiers[@]}"; do
	echo "--- $tier"
	start=$SECONDS
	case $tier in
	demo) (demo) || true ;;
	*)
		timeout -k 30 "${TIER_TIMEOUT:-7200}" "$here/$tier.sh" < /dev/null &
		child=$!
		wait "$child" || true
		child=
		;;
	esac
	echo "    $((SECONDS - start)) s"
done
python3 "$here/results.py" boots "$logs" "$logs/.check" > "$results/boots-values.json"
python3 "$here/results.py" merge "$results"/{faults,fuzz,kcsan,coverage,boots}-values.json > "$results/faults.json"
echo "--- results, in $results, after $((SECONDS - begin)) s"
status=0
python3 "$here/junit.py" write "$results" "${tiers[@]}" || status=1
python3 "$here/results.py" sum "$results" "${tiers[@]}" || status=1
exit "$status"
