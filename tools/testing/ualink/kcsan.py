#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""kcsan.py OUT VALUES.json DIR... - the reports of KCSAN in DIR/console of each run, of
the kernel that was built in OUT.

A report is ours if one of its accesses that is not marked (READ_ONCE() and the like) is
in an object file of ours, or in one of a helper that leaves locking to us, called by us:
who marks an access expects others at the same time. Prints ours whole, and how often
others' were seen; writes how many there were, and what the soak in one of the runs did.
Exit status 1 if there is one of ours, or if nothing was watched."""
import collections
import glob
import json
import os
import re
import subprocess
import sys

OURS = ("drivers/gpu/drm/ualink/**/*.o", "drivers/gpu/drm/vualink/**/*.o", "drivers/gpu/drm/drm_gem_ualink.o")
HELPERS = ("drivers/gpu/drm/drm_mm.o", "drivers/gpu/buddy.o")
TITLE = re.compile(r"BUG: KCSAN: (.*)")
ACCESS = re.compile(r"(?:read|write|read-write|assert no accesses|assert no writes)( \([^)]*\))? to 0x")
FRAME = re.compile(r"^ (\S+)\+0x[0-9a-f]+/0x[0-9a-f]+")


def functions(out, patterns):
    objects = [o for pattern in patterns for o in glob.glob(os.path.join(out, pattern), recursive=True)]
    text = subprocess.run(["nm", "--defined-only", *objects], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    return {m[1] for m in re.finditer(r" [tTwW] (\S+)$", text, re.M)}


def reports(path):
    """Yields (title, lines) of each report."""
    title, lines = None, []
    with open(path, errors="replace") as f:
        for line in f:
            line = line.rstrip("\r\n")
            m = TITLE.search(line)
            if m:
                title, lines = m[1], []
            if title and line.startswith("====="):
                yield title, lines
                title = None
            elif title:
                lines.append(line)
    if title:
        yield title, lines


def is_ours(lines, ours, helpers):
    plain = False
    for line in lines:
        m = ACCESS.search(line)
        if m:
            plain = "marked" not in (m[1] or "")
            continue
        m = FRAME.match(line)
        if m and plain:
            if m[1] in ours:
                return True
            plain = m[1] in helpers
    return False


def value(directory, key):
    path = os.path.join(directory, "out")
    if not os.path.exists(path):
        return 0
    with open(path, errors="replace") as f:
        m = re.search(rf"^(?:faults: )?{key}[: ]+(\d+)$", f.read(), re.M)
    return int(m[1]) if m else 0


def main():
    out, values, *directories = sys.argv[1:]
    ours, helpers = functions(out, OURS), functions(out, HELPERS)
    count, others = 0, collections.Counter()
    for directory in directories:
        path = os.path.join(directory, "console")
        for title, lines in reports(path) if os.path.exists(path) else ():
            if is_ours(lines, ours, helpers):
                count += 1
                print("\n".join([f"--- {os.path.basename(os.path.dirname(path))}", *lines]))
            else:
                others[title] += 1
    for title, n in sorted(others.items()):
        print(f"others' only, {n} times: {title}")
    watched = sum(value(d, "setup_watchpoints") for d in directories)
    result = {"kcsan_reports": count, "kcsan_reports_others": sum(others.values()),
              "kcsan_watched": watched,
              "kcsan_soak_operations": sum(value(d, "soak_operations") for d in directories)}
    with open(values, "w") as f:
        json.dump(result, f, indent=1, sort_keys=True)
        f.write("\n")
    print(f"{count} reports of races in our code, {sum(others.values())} in others' only; "
          f"{watched} accesses were watched")
    return 1 if count or not watched else 0


if __name__ == "__main__":
    sys.exit(main())
