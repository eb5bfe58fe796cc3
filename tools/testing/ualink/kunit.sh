#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# kunit.sh [TIER] - the KUnit suites of the series, in the debug kernel
# with a look for leaks afterwards, a boot for each of core, DRM helpers and
# virtual accelerator; and those of TTM, which must go on passing, in the plain
# kernel. Writes build/results/TIER.tap (kunit).
#   SUITES="GLOB..."  only these      KERNEL=FILE  in this kernel
. "$(dirname "$0")/lib.sh"
tier=${1:-kunit}
kernel_for debug
read -ra suites <<< "${SUITES:-ualink* drm_ualink* vualink* ttm*}"

script=$build/.kunit-$tier
echo : > "$script"
tap_start "$tier"
for glob in "${suites[@]}"; do
	name=${glob%%\**}
	dir=$logs/$tier-$name
	options=(-k "$glob" -m 1G -t "${KUNIT_TIMEOUT:-1500}" -o "$dir")
	run=$kernel
	case $name in
	ttm)
		# These provoke warnings on purpose, and ttm_device has, in 7.3.4,
		# a use after free of its own that ends KASAN's and lockdep's work.
		options+=(-a 'ttm_device_init|ttm_bo_reserve_no_wait_ticket')
		if [ -z "${KERNEL:-}" ]; then
			"$here/build-uml.sh" plain
			run=$build/um-plain/linux
		fi
		;;
	*) options+=(-l) ;;
	esac
	status=0
	# ttm_device counts all devices of TTM; a default pod would be among them
	"$here/run-uml.sh" "${options[@]}" "$run" "$script" vualink.pods=0 > "$dir.log" 2>&1 || status=$?
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
