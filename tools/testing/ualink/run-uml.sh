#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# run-uml.sh [options] KERNEL SCRIPT [kernel arguments...]
# Boots KERNEL (a UML binary) on this machine's files, read-only, runs SCRIPT in
# it as root with sh, prints its output and exits with its status; 124 when the
# kernel died or hung, 99 when the script passed but the kernel complained.
#   -a REGEX  complaints of the kernel that are meant to be
#   -f PATH   copy PATH to /mnt, which is where SCRIPT runs (repeat at will)
#   -k GLOB   run the KUnit suites of that name at boot
#   -l        look for leaks at the end (debug kernel)
#   -m MEM    memory (512M)       -n CPUS   processors (2)
#   -o DIR    keep /mnt, with out, dmesg and console, in DIR
#   -t SEC    give up after this (120)
. "$(dirname "$0")/lib.sh"

files=() allow='^$' glob='' leak='' mem=512M cpus=2 keep='' limit=120
while getopts a:f:k:lm:n:o:t: o; do
	case $o in
	a) allow=$OPTARG ;; f) files+=("$OPTARG") ;; k) glob=$OPTARG ;; l) leak=uml_leak=1 ;;
	m) mem=$OPTARG ;; n) cpus=$OPTARG ;; o) keep=$OPTARG ;; t) limit=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
kernel=$1 script=$2
shift 2

w=$(mktemp -d "${TMPDIR:-/tmp}/uml.XXXXXX")
rw=$w/mnt
# shellcheck disable=SC2317
save() {
	if [ -n "$keep" ]; then
		rm -rf "$keep"
		mkdir -p "$keep"
		cp -r "$rw/." "$w/console" "$keep/" 2>/dev/null || true
	fi
	rm -rf "$w"
}
trap save EXIT
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; exit 130' INT TERM HUP
mkdir "$rw"
cp "$here/uml-init.sh" "$rw/init.sh"
chmod +x "$rw/init.sh"
cp "$script" "$rw/cmd.sh"
[ ${#files[@]} = 0 ] || cp -r "${files[@]}" "$rw/"

# UML's memory is a file: in /dev/shm if that is large enough, else on disk
free=$(df -Pm /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ "${free:-0}" -gt "$(($(numfmt --from=iec "$mem") / 1048576 + 64))" ]; then
	unset TMPDIR TMP TEMP
else
	export TMPDIR=$w
fi

# quiet would hide KUnit's lines. Two processors want seccomp: ptrace cannot.
if [ -n "$glob" ]; then
	talk=("kunit.filter_glob=$glob")
	from='KTAP version 1'
else
	talk=(quiet loglevel=4 kunit.enable=0)
	from='uml-init: begin'
fi
status=0
HOME=$w timeout -k 5 "$limit" "$kernel" mem="$mem" ncpus="$cpus" seccomp=on \
	root=/dev/root rootfstype=hostfs rootflags=/ ro init="$rw/init.sh" con0=fd:0,fd:1 \
	panic=-1 oops=panic log_buf_len=4M "${talk[@]}" uml_rw="$rw" uml_cmd=cmd.sh $leak "$@" \
	< /dev/null > "$w/console" 2>&1 &
pid=$!
wait "$pid" || status=$?
pid=

boot_result "$rw" "$w/console" "$from" "$allow" "$status" "$limit"
exit "$rc"
