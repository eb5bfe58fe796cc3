#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What in a kernel tree is ours?

ours.py new TREE       new files of the series
ours.py changed TREE   files of the base that the series changes
ours.py filter TREE    of the messages on stdin, PATH:LINE:..., those about new
                       files and about lines that the series adds
ours.py uncovered TREE new files for which the series adds no MAINTAINERS entry
"""
import fnmatch
import os
import re
import sys

from sync import ROOTS, git, names

MESSAGE = re.compile(r"^(?:(?:Warning|Error|warning|error|WARNING|ERROR): )?([^\s:]+\.(?:[chS]|rst)|[^\s:]*Kconfig):(\d+)")


def lists(tree):
    listed = {}
    for flt in "AM":
        listed[flt] = names(git(tree, "diff", "-z", "--no-renames", "--name-only",
                                f"--diff-filter={flt}", "base"))
    listed["A"] |= names(git(tree, "ls-files", "-z", "--others", "--exclude-standard",
                             "--", *ROOTS))
    return listed["A"], listed["M"]


def added_lines(tree, changed):
    lines, name = {}, None
    if not changed:
        return lines
    diff = git(tree, "diff", "-U0", "--no-renames", "base", "--", *sorted(changed))
    for line in diff.decode(errors="replace").splitlines():
        if line.startswith("+++ b/"):
            name = line[6:]
        m = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if m:
            first, count = int(m[1]), int(m[2] or 1)
            lines.setdefault(name, set()).update(range(first, first + count))
    return lines


def main():
    what, tree = sys.argv[1], os.path.realpath(sys.argv[2])
    new, changed = lists(tree)
    if what in ("new", "changed"):
        print("\n".join(sorted(new if what == "new" else changed)))
    elif what == "filter":
        added = added_lines(tree, changed)
        for line in sys.stdin:
            m = MESSAGE.match(line)
            if not m:
                continue
            # absolute, or relative to the tree or to the output folder beside it
            path = m[1].replace(tree + "/", "")
            path = re.sub(r"^(\.\./)*" + re.escape(os.path.basename(tree)) + "/", "", path)
            path = re.sub(r"^\./", "", path)
            if path in new or int(m[2]) in added.get(path, ()):
                sys.stdout.write(line)
    elif what == "uncovered":
        diff = git(tree, "diff", "-U0", "base", "--", "MAINTAINERS").decode()
        globs = re.findall(r"^\+[FX]:\s+(\S+)", diff, flags=re.M)
        # entries of amdgpu's that are there
        globs += ["drivers/gpu/drm/amd/", "Documentation/gpu/amdgpu/"]
        for name in sorted(new):
            if not any(name.startswith(g) if g.endswith("/") else fnmatch.fnmatch(name, g)
                       for g in globs):
                print(name)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
