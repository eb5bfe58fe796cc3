#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""igt-meson.py TREE - add the UALink files of an IGT tree to the lists in its
meson.build files, each where the alphabet puts it."""
import glob
import os
import re
import sys


def insert(path, listname, entries):
    with open(path) as f:
        lines = f.read().split("\n")
    start = next((i for i, l in enumerate(lines) if re.match(rf"{listname} = \[", l)), None)
    if start is None:
        sys.exit(f"{path}: there is no list {listname}")
    end = next(i for i in range(start + 1, len(lines)) if lines[i].startswith("]"))
    for entry in entries:
        line = f"\t'{entry}',"
        if line in lines[start:end]:
            continue
        # before the first neighbour that sorts after it; the lists are not sorted strictly
        at = next((i for i in range(start + 1, end) if lines[i].startswith("\t'") and lines[i] > line), end)
        lines.insert(at, line)
        end += 1
    with open(path, "w") as f:
        f.write("\n".join(lines))


def main():
    tree = sys.argv[1]
    lib = sorted(os.path.basename(p) for p in glob.glob(tree + "/lib/igt_ualink*.c"))
    tests = sorted(os.path.basename(p)[:-2] for p in glob.glob(tree + "/tests/ualink_*.c"))
    insert(tree + "/lib/meson.build", "lib_sources", lib)
    insert(tree + "/tests/meson.build", "test_progs", tests)


if __name__ == "__main__":
    main()
