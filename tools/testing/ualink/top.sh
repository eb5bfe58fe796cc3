#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# top.sh - ualink-top of the kernel tree (tools/gpu/ualink), built with its own make, in
# the plain UML kernel: whether it shows what is shared, what an accelerator that falls
# silent looks like, and what it does when accelerators come and go. Writes
# build/results/top.tap.
. "$(dirname "$0")/lib.sh"
kernel_for plain
"$here/tree.sh"
out=$build/top
dir=$logs/top

built() {
	mkdir -p "$out"
	make -C "$tree/tools/gpu/ualink" OUTPUT="$out/" CFLAGS='-O2 -g -Werror' clean all &&
		"$here/demo-build.sh" "$build/demo"
}

watched() {
	cat > "$build/.top-cmd" <<-'END'
		top=./ualink-top
		fabric=/sys/kernel/debug/vualink/default0
		$top --once --json > before
		mkfifo input
		./ualink-hold 5 3 < input > held &
		hold=$!
		exec 3> input
		until grep -q ready held; do sleep 0.1; done
		$top --once > once
		$top --once --json > shared
		# somebody who may not open the nodes
		cp $top /tmp/top && chmod 755 /tmp/top
		setpriv --reuid=65534 --regid=65534 --clear-groups /tmp/top -1 -j > nobody
		$top -j -d 0.5 -n 3 > rates
		echo 0 > $fabric/mute
		for i in $(seq 600); do
			$top -1 -j > now
			cat now >> muted
			grep -q '"imports_died": 3' now && break
			sleep 0.1
		done
		cp now lost
		echo 0 > $fabric/unmute
		exec 3>&-
		wait $hold || exit 1
		# accelerators that come and go meanwhile
		pod=/sys/kernel/config/vualink/gone
		mkdir $pod
		for id in 0 1 2 3; do
			mkdir $pod/accels/$id
			echo $id > $pod/accels/$id/id
			echo $((8 << 20)) > $pod/accels/$id/vram_size
			echo $((1 << 20)) > $pod/accels/$id/visible_size
		done
		echo 1 > $pod/enabled
		$top -1 -j > many
		$top -j -d 0.01 -n 500 > storm &
		storm=$!
		for i in $(seq 30); do
			for id in 0 1 2 3; do echo 0 > $pod/accels/$id/plugged; done
			for id in 0 1 2 3; do echo 1 > $pod/accels/$id/plugged; done
		done
		wait $storm && touch survived
	END
	"$here/run-uml.sh" -f "$out/ualink-top" -f "$build/demo/ualink-hold" -t 300 -o "$dir" \
		"$kernel" "$build/.top-cmd" vualink.pods=1 vualink.accels=2
}

# check EXPRESSION: in Python, where a name is what the file of that name says: a list of
# documents, or one; dev(name, id) and peer(name, id, other) look things up
check() {
	python3 - "$dir" "$1" <<-'END'
		import json, sys
		d, expression = sys.argv[1:]
		def docs(name):
		    text, found, at = open(f"{d}/{name}").read(), [], 0
		    while text[at:].strip():
		        doc, end = json.JSONDecoder().raw_decode(text[at:].lstrip())
		        at += len(text[at:]) - len(text[at:].lstrip()) + end
		        found.append(doc)
		    return found
		def dev(name, id, at=0):
		    return [v for v in docs(name)[at]["devices"] if v["id"] == id][0]
		def peer(name, id, other, at=0):
		    return [p for p in dev(name, id, at)["peers"] if p["id"] == other][0]
		def rows(name, head):
		    lines = open(f"{d}/{name}").read().split("\n")
		    start = next(i for i, l in enumerate(lines) if l.startswith(head))
		    names = lines[start].split()
		    out = []
		    for l in lines[start + 1:]:
		        if not l:
		            break
		        assert len(l.split()) == len(names), l
		        out.append(dict(zip(names, l.split())))
		    return out
		S = 65536
		ok = eval("(" + expression + ")", globals())
		if not ok:
		    print("not so:", expression)
		    for name in ("before", "shared", "once", "lost"):
		        try:
		            print(name, open(f"{d}/{name}").read())
		        except OSError as e:
		            print(e)
		sys.exit(not ok)
	END
}

tap_start top
tap_check "it builds without a warning" built
tap_check "the kernel did not complain" watched
tap_check "nothing is shared before" check \
	'[(v["exports"], v["grants"], v["imports"], v["exported_bytes"]) for v in docs("before")[0]["devices"]] == [(0, 0, 0, 0)] * 2'
tap_check "exports, grants and imports of the accelerators" check \
	'(lambda a, b: (a["exports"], a["grants"], a["imports"], b["exports"], b["grants"], b["imports"]) == (5, 3, 0, 0, 0, 3)
	and a["exported_bytes"] == a["npa_used"] == 5 * S and a["state"] == b["state"] == "active"
	and a["vpod"] == b["vpod"] and a["npa_quarantined"] == 0)(dev("shared", 0), dev("shared", 1))'
tap_check "and of their peers" check \
	'(peer("shared", 0, 1)["grants"], peer("shared", 0, 1)["imports"], peer("shared", 1, 0)["imports"]) == (3, 0, 3)
	and peer("shared", 1, 0)["state"] == "up" and peer("shared", 1, 0)["reachable"] and peer("shared", 1, 0)["rtt_min_ns"] > 0'
tap_check "the same as columns" check \
	'[(r["ID"], r["EXPORTS"], r["EXPORTED"], r["GRANTS"], r["IMPORTS"]) for r in rows("once", "DEVICE")]
	== [("0", "5", str(5 * S), "3", "0"), ("1", "0", "0", "0", "3")]
	and [(r["ID"], r["PEER"], r["STATE"], r["IMPORTS"], r["GRANTS"]) for r in rows("once", "PEER_OF")]
	== [("0", "1", "up", "0", "3"), ("1", "0", "up", "3", "0")]'
tap_check "who may not open the nodes sees what is in sysfs" check \
	'[(v["id"], v["state"], v["exports"], v["peers"]) for v in docs("nobody")[0]["devices"]] == [(0, "active", None, []), (1, "active", None, [])]
	and dev("nobody", 0)["segment_size"] == dev("shared", 0)["segment_size"] > 0'
tap_check "rates are what came since the last time" check \
	'len(docs("rates")) == 3 and dev("rates", 0, 0)["msgs_sent_per_s"] is None
	and all(0 <= dev("rates", i, n)["msgs_sent_per_s"] * 0.5 <= dev("rates", i, n)["msgs_sent"] - dev("rates", i, n - 1)["msgs_sent"] + 0.01
	for n in (1, 2) for i in (0, 1))
	and any(dev("rates", i, n)["msgs_sent_per_s"] > 0 for n in (1, 2) for i in (0, 1))'
tap_check "an accelerator that is silent is suspect, and then lost with all that was imported" check \
	'any(peer("muted", 1, 0, n)["state"] == "suspect" and dev("muted", 1, n)["imports"] == 3
	and peer("muted", 1, 0, n)["unanswered"] > 0 for n in range(len(docs("muted"))))
	and peer("lost", 1, 0)["state"] in ("down", "greeting") and dev("lost", 1)["imports_died"] == 3 and peer("lost", 1, 0)["imports"] == 0'
tap_check "all pods are shown" check \
	'len(docs("many")[0]["devices"]) == 6 and len({v["vpod"] for v in docs("many")[0]["devices"]}) == 2'
tap_check "accelerators that come and go do not end it" check \
	'len(docs("storm")) == 500 and open(d + "/survived") and {len(x["devices"]) for x in docs("storm")} <= set(range(2, 7))
	and min(len(x["devices"]) for x in docs("storm")) < 6 == max(len(x["devices"]) for x in docs("storm"))'
tap_done
