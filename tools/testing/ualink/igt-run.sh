#!/bin/sh
# SPDX-License-Identifier: MIT
# igt-run.sh TESTDIR RESULTDIR [PATTERN...]: run the IGT tests in TESTDIR, each
# subtest in a process of its own, on this machine. A PATTERN is a shell pattern
# for test@subtest. Prints TAP; RESULTDIR gets igt.json, and a log for each
# subtest.
#
# IGT_TIMEOUT	seconds for each subtest (120)
# IGT_ALLOW	complaints of the kernel that are meant to be, an extended regular expression
# IGT_DEVICES	"make": make virtual accelerators, the default; "keep": use what is there

tests=${1:?usage: igt-run.sh TESTDIR RESULTDIR [PATTERN...]}
results=${2:?usage: igt-run.sh TESTDIR RESULTDIR [PATTERN...]}
shift 2
timeout=${IGT_TIMEOUT:-120}
mkdir -p "$results"

configfs=/sys/kernel/config

# make_pod NAME SEGMENT_SHIFT ID...
make_pod() {
	pod=$configfs/vualink/$1
	mkdir "$pod" || return 1
	echo "$2" > "$pod/segment_shift"
	shift 2
	for id; do
		mkdir "$pod/accels/$id" || return 1
		echo "$id" > "$pod/accels/$id/id"
		echo $((32 << 20)) > "$pod/accels/$id/vram_size"
		echo $((8 << 20)) > "$pod/accels/$id/visible_size"
	done
	echo 1 > "$pod/enabled"
}

# A pod with holes among its ids, and one whose segments are smaller than VRAM.
make_devices() {
	[ -d $configfs/vualink ] || mount -t configfs configfs $configfs
	make_pod igt 36 0 1 511 1023 && make_pod igt-small 23 0 1
}

matches() {
	name=$1
	shift
	[ $# -gt 0 ] || return 0
	for pattern; do
		# shellcheck disable=SC2254 # it is a pattern
		case $name in $pattern) return 0 ;; esac
	done
	return 1
}

list() {
	for test in "$tests"/ualink_*; do
		case $test in *.o) continue ;; esac
		"$test" --list-subtests | while read -r subtest; do
			name=$(basename "$test")@$subtest
			if matches "$name" "$@"; then echo "$name"; fi
		done
	done
}

splats() {
	dmesg | grep -E 'BUG:|WARNING:|KASAN|UBSAN|Oops|possible (recursive|circular)|unreferenced object' |
		grep -vcE "${IGT_ALLOW:-^\$}"
}

now() { cut -d ' ' -f 1 /proc/uptime; }

# The log as comment lines, at most the end of it.
show() { tail -n 60 "$1" | sed 's/^/# /'; }

run() {
	name=$1
	log=$results/$name.log
	before=$(splats)
	start=$(now)
	timeout -k 5 "$timeout" "$tests/${name%@*}" --run-subtest "${name#*@}" \
		> "$log" 2>&1 < /dev/null
	rc=$?
	seconds=$(awk "BEGIN { printf \"%.2f\", $(now) - $start }")

	result=fail
	case $rc in
	0) result=pass ;;
	77) result=skip ;;
	124 | 137) echo "no end within $timeout seconds" >> "$log" ;;
	*) echo "exit status $rc" >> "$log" ;;
	esac
	# old ones may have fallen out of the log
	if [ "$(splats)" -gt "$before" ]; then
		result=fail
		dmesg | tail -n 60 >> "$log"
	fi
}

# Why it was skipped: what follows the condition, or the condition
reason() {
	awk '/^Test requirement: / {
		text = $0
		getline
		if ($0 !~ /^(Last errno|Subtest)/)
			text = $0
		print text
		exit
	}' "$log"
}

report() {
	case $result in
	pass) echo "ok $number $name" ;;
	skip) echo "ok $number $name # SKIP $(reason)" ;;
	fail)
		echo "not ok $number $name"
		show "$log"
		;;
	esac

	[ "$number" = 1 ] || echo , >> "$results/igt.json"
	printf '  {"name": "%s", "result": "%s", "seconds": %s}' \
		"$name" "$result" "$seconds" >> "$results/igt.json"
}

if [ "${IGT_DEVICES:-make}" = make ] && ! make_devices; then
	echo "Bail out! cannot make virtual accelerators"
	exit 1
fi

list "$@" > "$results/list"
echo "TAP version 13"
echo "1..$(wc -l < "$results/list")"

number=0 pass=0 fail=0 skip=0
echo '[' > "$results/igt.json"
while read -r name; do
	number=$((number + 1))
	run "$name"
	eval "$result=\$(($result + 1))"
	report
done < "$results/list"
printf '\n]\n' >> "$results/igt.json"

echo "# $pass passed, $fail failed, $skip skipped"
[ "$fail" = 0 ] && [ "$pass" -gt 0 ]
