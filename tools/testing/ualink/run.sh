#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# run.sh - build what is missing, boot the kernel in UML, and run the demo in it.
#   PODS=N ACCELS=M   so many pods of so many virtual accelerators (1 and 2)
. "$(dirname "$0")/lib.sh"
[ -n "${NO_DEPS:-}" ] || "$here/deps.sh" run
kernel_for plain
"$here/demo-build.sh" "$build/demo"
pods=${PODS:-1} accels=${ACCELS:-2}
case $pods$accels in *[!0-9]*) die "PODS and ACCELS are numbers" ;; esac
echo ./ualink-demo > "$build/.demo-cmd"
# each accelerator has 64 MiB of memory of its own
mem=$((400 + pods * accels * 72))
status=0
"$here/run-uml.sh" -f "$build/demo/ualink-demo" -m "${mem}M" -t 300 -o "$logs/demo" \
	"$kernel" "$build/.demo-cmd" vualink.pods="$pods" vualink.accels="$accels" || status=$?
[ "$status" = 0 ] || say "exit status $status; the kernel's log is in $logs/demo"
exit "$status"
