#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# kunit.sh [KERNEL [TIER]] - the KUnit suites of the series, in the debug kernel
# with a look for leaks afterwards; a boot for each of core, DRM helpers, virtual
# accelerator, and TTM's own suites, which must go on passing. Writes
# build/results/TIER.tap (kunit). Without KERNEL builds and takes build/um-debug.
# SUITES="GLOB...": only these
. "$(dirname "$0")/lib.sh"
kernel=${1:-}
tier=${2:-kunit}
if [ -z "$kernel" ]; then
	"$here/tree.sh"
	"$here/build-uml.sh" debug
	kernel=$build/um-debug/linux
fi
read -ra suites <<< "${SUITES:-ualink* drm_ualink* vualink* ttm*}"

script=$build/.kunit-$tier
echo : > "$script"
tap_start "$tier"
for glob in "${suites[@]}"; do
	name=${glob%%\**}
	dir=$logs/$tier-$name
	options=(-k "$glob" -m 1G -t "${KUNIT_TIMEOUT:-600}" -o "$dir")
	case $name in
	# these suites provoke warnings on purpose
	ttm) options+=(-a 'ttm_device_init|ttm_bo_reserve_no_wait_ticket') ;;
	*) options+=(-l) ;;
	esac
	status=0
	"$here/run-uml.sh" "${options[@]}" "$kernel" "$script" > "$dir.log" 2>&1 || status=$?
	n=0
	while IFS=$'\t' read -r verdict test reason; do
		n=$((n + 1))
		case $verdict in
		ok) tap_ok "$test" ;;
		skip) tap_skip "$test" "$reason" ;;
		*)
			echo "$reason" | sed 's/; # /\n# /g' > "$dir.why"
			tap_fail "$test" "$dir.why"
			;;
		esac
	done < <(python3 "$here/results.py" ktap "$dir/console")
	if [ "$n" = 0 ] && [ -z "${NONE_IS_FINE:-}" ]; then tap_fail "$glob: there are no such suites" "$dir.log"; fi
	if [ "$status" = 0 ]; then
		[ "$n" = 0 ] || tap_ok "$glob: the kernel did not complain, lockdep is on, nothing leaks"
	else
		tap_fail "$glob: the kernel complained, leaked or died" "$dir.log"
	fi
done
rm -f "$script"
tap_done
