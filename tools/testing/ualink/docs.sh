#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# docs.sh [CHECK...] - the documentation: is it complete, does it build, does it tell the
# truth? Writes build/results/docs.tap. Without CHECK all of:
#   abi     sysfs, configfs and module parameters of the code are those of
#           Documentation/ABI, and the kernel's own tool has no objection
#   html    htmldocs says nothing about our files; the pages are in build/docs
#   share   the program of the overview, with two virtual accelerators
#   trouble what the page for those in trouble says of each symptom is brought about
#           and looked at
# SPHINXDIRS=... (gpu): folders below Documentation for htmldocs.
. "$(dirname "$0")/lib.sh"
[ -n "${NO_DEPS:-}" ] || "$here/deps.sh" docs
"$here/tree.sh"
lock docs
wanted=" ${*:-abi html share trouble} "
dirs=${SPHINXDIRS:-gpu}
out=$build/docs
mkdir -p "$out"
pages=Documentation/gpu/ualink

# --- ABI. What the code makes, as PATTERN-OF-WHAT: names of attributes in their folders.
attributes() {
	(
		cd "$tree"
		sed -n 's/.*__ATTR\(_RO\)\?(\([a-z_]*\).*/ualink\/\2/p' drivers/gpu/drm/ualink/ualink_sysfs.c
		sed -n 's/^CONFIGFS_ATTR\(_[RW]O\)\?(\(accel\|pod\)_, \([a-z_]*\)).*/\2\/\3/p' \
			drivers/gpu/drm/vualink/vualink_configfs.c
		sed -n 's/^module_param_named(\([a-z_]*\),.*/parameters\/\1/p' drivers/gpu/drm/vualink/*.c
	) | sort
}
described() {
	(
		cd "$tree/Documentation/ABI/testing"
		sed -n 's|^What:.*/device/ualink/\([a-z_]\+\)$|ualink/\1|p' sysfs-class-drm-ualink
		sed -n -e 's|^What:.*/accels/<accel>/\([a-z_]\+\)$|accel/\1|p' \
			-e 's|^What:.*/vualink/<pod>/\([a-z_]\+\)$|pod/\1|p' configfs-vualink
		sed -n 's|^What:.*/module/vualink/parameters/\([a-z_]\+\)$|parameters/\1|p' sysfs-module-vualink
	) | sort
}
abi_complete() {
	local code doc
	code=$(attributes) doc=$(described)
	diff <(echo "$code") <(echo "$doc") || return
	echo "$(echo "$code" | wc -l) files"
	[ "$(echo "$code" | wc -l)" -ge 24 ] || { echo "too few; does the search still fit the code?"; return 1; }
}
# No other kind of attribute, anywhere in what is ours
abi_kinds() {
	local f bad=0
	while read -r f; do
		case $f in */ualink_sysfs.c | */vualink_configfs.c | */tests/*) continue ;; esac
		! grep -nE '\b(DEVICE|DRIVER|BUS|CLASS|KOBJ|CONFIGFS|BIN)_ATTR|__ATTR(_|\()|sysfs_create_' "$tree/$f" /dev/null || bad=1
	done < <(python3 "$here/ours.py" new "$tree" | grep '\.[ch]$')
	! g diff base -- drivers | grep -E '^\+.*\b((DEVICE|DRIVER|BUS|CLASS|CONFIGFS|BIN)_ATTR|module_param)' |
		grep -vE 'CONFIGFS_ATTR(_RO)?\((accel|pod)_|module_param_named\((pods|accels),' || bad=1
	return "$bad"
}
abi_valid() {
	(cd "$tree" && python3 tools/docs/get_abi.py --dir Documentation/ABI validate) > "$out/abi.log" 2>&1 || true
	! grep -i ualink "$out/abi.log"
}

# --- HTML. Warnings about other files of the kernel are not ours.
ours_only() {
	local f
	python3 "$here/ours.py" new "$tree" > "$out/new"
	while read -r f; do
		echo "/$f:"
		# as Sphinx calls a page into which a comment was put
		case $f in *.rst) echo "/${f%.rst}:" ;; esac
	done < "$out/new" > "$out/names"
	grep -E 'WARNING|ERROR|[Ww]arning:|[Ee]rror:|CRITICAL' > "$out/said" || true
	grep -F -f "$out/names" "$out/said" || true
	# of other files, the lines that are ours; the first place may be that page
	sed -E 's,^[^ ]+:[0-9]+: /,/,' "$out/said" | python3 "$here/ours.py" filter "$tree"
}
html() {
	local log=$logs/docs-html.log page
	# a page that did not change says nothing again
	rm -rf "$out/Documentation/output"
	PATH=/usr/bin:$PATH make -C "$tree" O="$out" PYTHON3=/usr/bin/python3 SPHINXDIRS="$dirs" \
		SPHINXOPTS="-j$JOBS" htmldocs > "$log" 2>&1 || { tail -n 20 "$log"; return 1; }
	ours_only < "$log" | sed "s,$tree/,,g" | sort -u > "$out/found"
	cat "$out/found"
	[ ! -s "$out/found" ] || return 1
	while read -r page; do
		page=$(basename "$(dirname "$page")")/$(basename "${page%.rst}")
		find "$out/Documentation/output" -path "*/$page.html" | grep -q . || { echo "not built: $page"; return 1; }
	done < <(grep '^Documentation/.*\.rst$' "$out/new")
	# what is included from elsewhere is there
	included driver-guide skel_probe && included overview import_memory && included locking device_prime
}
included() { grep -lq "$2" "$out/Documentation/output"/*/ualink/"$1".html "$out/Documentation/output/$1.html" 2>/dev/null || { echo "$1 lacks $2"; return 1; }; }
# without graphviz, or with a mistake in it, the source of a drawing is put there
drawn() {
	local n
	n=$(find "$out/Documentation/output" -name 'DOT-*.svg' | wc -l)
	echo "drawings: $n"
	[ "$n" -ge 3 ]
}

# --- programs, in UML
in_uml() {
	local name=$1 program=$2
	shift 2
	"$here/run-uml.sh" -f "$program" -m 1G -t 300 -o "$logs/docs-$name" "$kernel" "$@"
}
share() {
	local dir=$build/uapi-headers
	make -s -C "$tree" ARCH=x86 O="$dir" headers > "$logs/uapi-headers.log" 2>&1 || { tail "$logs/uapi-headers.log"; return 1; }
	gcc -std=gnu11 -O2 -Wall -Wextra -Werror -isystem "$dir/usr/include" "$tree/$pages/share.c" -o "$out/share" || return
	cat > "$build/.docs-share" <<-'END'
		# the first two that have UALink; vgem is there as well
		node() { ls -d /sys/class/drm/renderD*/device/ualink | sed -n "$1s,.*/\(renderD[0-9]*\)/.*,/dev/dri/\1,p"; }
		sleep 10 | ./share export "$(node 1)" > /tmp/handle &
		sleep 4
		./share import "$(node 2)" < /tmp/handle > /tmp/says || exit
		cat /tmp/says
		grep -qx "1048576 bytes of accelerator 0" /tmp/says &&
			grep -qx "1 died, the import 0xcafe: taken back" /tmp/says
	END
	in_uml share "$out/share" "$build/.docs-share" vualink.pods=1 vualink.accels=2
}
symptoms() { sed -n 's/^\tbegin("\(.*\)");$/\1/p' "$here/faults/ualink-symptoms.c" | sort; }
headings() { awk 'NR > 6 && /^=+$/ {print last} {last = $0}' "$tree/$pages/troubleshooting.rst" | sort; }
trouble_complete() { diff <(headings) <(symptoms) && [ "$(symptoms | wc -l)" -ge 10 ]; }
trouble() {
	"$here/demo-build.sh" "$build/demo" || return
	echo ./ualink-symptoms > "$build/.docs-trouble"
	in_uml trouble "$build/demo/ualink-symptoms" "$build/.docs-trouble" vualink.pods=1 vualink.accels=3
}

want() { case $wanted in *" $1 "*) return 0 ;; esac; return 1; }
tap_start docs
if want abi; then
	tap_check "each file in sysfs and configfs is described" abi_complete
	tap_check "there are no other such files" abi_kinds
	tap_check "get_abi.py validate" abi_valid
fi
if want html; then
	tap_check "htmldocs of $dirs, nothing said about our files" html
	tap_check "states are drawn" drawn
fi
if want share || want trouble; then kernel_for plain; fi
if want share; then tap_check "the program of the overview shares memory" share; fi
if want trouble; then
	tap_check "each symptom of the page is brought about" trouble_complete
	tap_check "what the page says of each symptom is so" trouble
fi
tap_done
