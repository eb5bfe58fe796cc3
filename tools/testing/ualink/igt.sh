#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# igt.sh [TEST...] - the IGT tests of tools/testing/igt in the debug kernel,
# linked with the distribution's libigt; a boot for each test, a run for each
# subtest. Writes build/results/igt.tap. TEST: a test, or test@subtest.
. "$(dirname "$0")/lib.sh"
"$here/tree.sh"
"$here/build-uml.sh" debug
"$here/build-progs.sh" igt
limit=${SUBTEST_TIMEOUT:-120}

# what one boot does: /mnt/list has the subtests
cat > "$build/.igt-cmd" <<'EOS'
mkdir log
while read -r s; do
	echo "<6>igt: $s" > /dev/kmsg
	timeout -k 5 LIMIT ./test --run-subtest "$s" > "log/$s" 2>&1 < /dev/null
	echo "$s $?" >> status
done < list
EOS
sed -i "s/LIMIT/$limit/" "$build/.igt-cmd"

why() { [ ! -f "$1" ] || tail -n 40 "$1"; }
# one_test BINARY LIST-OF-SUBTESTS
one_test() {
	local binary=$1 name dir status=0 n rc s
	name=$(basename "$binary")
	dir=$logs/igt-$name
	n=$(wc -l < "$2")
	rm -rf "$dir.in"
	mkdir "$dir.in"
	cp "$binary" "$dir.in/test"
	cp "$2" "$dir.in/list"
	"$here/run-uml.sh" -f "$dir.in/test" -f "$dir.in/list" -l -m 1G -t $((n * limit + 120)) -o "$dir" \
		"$build/um-debug/linux" "$build/.igt-cmd" log_buf_len=8M > "$dir.log" 2>&1 || status=$?
	rm -rf "$dir.in"
	while read -r s; do
		rc=$(awk -v s="$s" '$1 == s {print $2}' "$dir/status" 2>/dev/null || true)
		case $rc in
		0) tap_ok "$name@$s" ;;
		77)
			tap_skip "$name@$s" "$(grep -m 1 -iE 'requirement|SKIP|skip' "$dir/log/$s" || echo '?')"
			;;
		'') echo "it did not end" > "$dir.why"; why "$dir/log/$s" >> "$dir.why"; tap_fail "$name@$s" "$dir.why" ;;
		*) { echo "exit status $rc"; why "$dir/log/$s"; } > "$dir.why"; tap_fail "$name@$s" "$dir.why" ;;
		esac
	done < "$2"
	if [ "$status" = 0 ]; then
		tap_ok "$name: the kernel did not complain, lockdep is on, nothing leaks"
	else
		tap_fail "$name: the kernel complained, leaked or died" "$dir.log"
	fi
}

tap_start igt
for binary in "$build"/igt/*; do
	name=$(basename "$binary")
	list=$logs/igt-$name.list
	if ! "$binary" --list-subtests > "$list" 2> "$logs/igt-list.log" || [ ! -s "$list" ]; then
		tap_fail "$name: list of subtests" "$logs/igt-list.log"
		continue
	fi
	if [ $# -gt 0 ]; then
		for w; do
			case $w in
			"$name") cat "$list" ;;
			"$name"@*) echo "${w#*@}" ;;
			esac
		done > "$list.some"
		mv "$list.some" "$list"
		[ -s "$list" ] || continue
	fi
	one_test "$binary" "$list"
done
tap_done
