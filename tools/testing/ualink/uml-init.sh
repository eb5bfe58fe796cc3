#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
# uml-init.sh - process 1 inside UML, or in a VM of QEMU; run-uml.sh and emu-vm.sh put
# it there. The kernel command line gives uml_rw=DIR, a folder of the host that appears
# as /mnt, and uml_cmd=SCRIPT in it. Leaves in SCRIPT's folder: out (output), rc (exit
# status), dmesg. uml_leak=1 looks for memory leaks afterwards.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t configfs configfs /sys/kernel/config 2>/dev/null
mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t tmpfs -o mode=755 run /run
[ -d /dev/shm ] || mkdir /dev/shm
mount -t tmpfs -o mode=1777 shm /dev/shm
# what a device manager makes
for a in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
	[ -e "/dev/${a%:*}" ] || ln -s "/proc/self/${a#*:}" "/dev/${a%:*}"
done
rw='' cmd='' leak=''
for a in $(cat /proc/cmdline); do
	case $a in
	uml_rw=*) rw=${a#*=} ;;
	uml_cmd=*) cmd=${a#*=} ;;
	uml_leak=1) leak=1 ;;
	esac
done
if grep -q hostfs /proc/filesystems; then
	# mount(8) of Debian 12 hands the option to mount(2), where it is the bare path;
	# that of Debian 13 uses fsconfig(), which wants a key
	mount -t hostfs -o "$rw" none /mnt 2>/dev/null ||
		mount -t hostfs -o "hostfs=$rw" none /mnt || echo "<1>uml-init: cannot mount $rw" > /dev/kmsg
else
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 mnt /mnt || echo "<1>uml-init: cannot mount $rw" > /dev/kmsg
fi
echo "<1>uml-init: begin" > /dev/kmsg
rc=125
to=/mnt
if [ -n "$cmd" ]; then
	cd /mnt || exit
	to=$(dirname "/mnt/$cmd")
	sh "./$cmd" > "$to/out" 2>&1 < /dev/null
	rc=$?
fi
if [ -n "$leak" ] && [ -e /sys/kernel/debug/kmemleak ]; then
	# what is younger than 5 s is never reported
	sleep 6
	echo scan > /sys/kernel/debug/kmemleak
	sleep 1
	echo scan > /sys/kernel/debug/kmemleak
	cat /sys/kernel/debug/kmemleak > "$to/kmemleak"
fi
if [ -e /proc/lockdep_stats ] && ! grep -q 'debug_locks: *1' /proc/lockdep_stats; then
	echo "<1>WARNING: lockdep has turned itself off" > /dev/kmsg
fi
dmesg > "$to/dmesg" 2>/dev/null
echo "$rc" > "$to/rc.tmp" && mv "$to/rc.tmp" "$to/rc"
sync
# This powers off, which ends the UML process, or QEMU. Process 1 may not end before, and
# can start no program once the devices of its files are off.
mkfifo /tmp/never
echo o > /proc/sysrq-trigger
read -r _ < /tmp/never
