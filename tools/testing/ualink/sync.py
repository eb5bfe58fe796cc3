#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Keep the folders and the git tree the same, without ever losing an edit.

sync.py in TOP TREE    folders -> work tree: what was edited in the folders
sync.py out TOP TREE   work tree -> folders: the new files of the series

For each file the content that both sides last agreed on is remembered, in
TREE/.git/ualink/synced; the side that differs from it is the one that was
edited. If both did, that is a conflict: neither is changed, exit status 1.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys

ROOTS = ("drivers", "include", "Documentation", "tools")
OWN = ("tools/testing/ualink/", "tools/testing/igt/")
JUNK = (".o", ".cmd", ".orig", ".rej", ".swp", "~", ".pyc")


def git(tree, *args):
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
    cmd = ["git", "-c", "safe.directory=*", "-c", "core.quotePath=false", "-C", tree]
    return subprocess.run(cmd + list(args), env=env, check=True,
                          stdout=subprocess.PIPE).stdout


def names(raw):
    return {n.decode() for n in raw.split(b"\0") if n}


def digest(path):
    """What is in a file, and whether it can be executed; None if there is none."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as f:
        h = hashlib.sha256(f.read()).hexdigest()
    return h + ("x" if os.access(path, os.X_OK) and os.stat(path).st_mode & 0o100 else "")


def folder_files(top):
    found = set()
    for root in ROOTS:
        for d, dirs, files in os.walk(os.path.join(top, root)):
            rel = os.path.relpath(d, top) + "/"
            dirs[:] = [x for x in dirs if not (rel + x + "/").startswith(OWN)]
            found |= {rel + f for f in files if not f.endswith(JUNK)}
    return found


def series_files(tree):
    """New files: those of the commits, and those not committed yet."""
    new = names(git(tree, "diff", "-z", "--no-renames", "--name-only", "--diff-filter=A",
                    "base", "HEAD"))
    loose = names(git(tree, "ls-files", "-z", "--others", "--exclude-standard", "--", *ROOTS))
    added = names(git(tree, "diff", "-z", "--cached", "--no-renames", "--name-only",
                      "--diff-filter=A", "HEAD"))
    return new, loose | added


def at_commit(tree, commit, name):
    """digest() of a file in a commit."""
    entry = git(tree, "ls-tree", commit, "--", name).split()
    if not entry or entry[1] != b"blob":
        return None
    h = hashlib.sha256(git(tree, "cat-file", "blob", entry[2].decode())).hexdigest()
    return h + ("x" if entry[0] == b"100755" else "")


def put(src, dst):
    if not os.path.isfile(src):
        os.remove(dst)
        d = os.path.dirname(dst)
        while not os.listdir(d):
            os.rmdir(d)
            d = os.path.dirname(d)
        return
    os.makedirs(os.path.dirname(dst), exist_ok=True)
    shutil.copyfile(src, dst)
    mode = os.stat(dst).st_mode
    executable = os.stat(src).st_mode & 0o100
    os.chmod(dst, mode | 0o111 if executable else mode & ~0o111)


def main():
    way, top, tree = sys.argv[1:4]
    state = os.path.join(tree, ".git", "ualink")
    os.makedirs(state, exist_ok=True)
    path = os.path.join(state, "synced")
    try:
        with open(path) as f:
            synced = json.load(f)
    except FileNotFoundError:
        synced = {}
    # where the patches that lie in the repository end in the tree
    try:
        with open(os.path.join(state, "head")) as f:
            head = f.read().strip()
    except FileNotFoundError:
        head = "base"

    new, loose = series_files(tree)
    dirty = names(git(tree, "diff", "-z", "--no-renames", "--name-only", "HEAD")) | loose
    copied, kept, conflicts = [], [], []
    for name in sorted(folder_files(top) | new | loose | set(synced)):
        mine, theirs = os.path.join(top, name), os.path.join(tree, name)
        x, y = digest(mine), digest(theirs)
        if name not in synced:
            synced[name] = at_commit(tree, head, name)
        if x != y:
            edited, other, to = (mine, theirs, y) if way == "in" else (theirs, mine, x)
            if to == synced[name]:
                if way == "out" and name in dirty:
                    kept.append(name)
                    continue
                put(edited, other)
                copied.append(name)
            elif (x if way == "in" else y) == synced[name]:
                if way == "out":
                    kept.append(name)
                continue
            else:
                conflicts.append(name)
                continue
        elif way == "out" and name in dirty:
            kept.append(name)
        synced[name] = digest(mine)
        if synced[name] is None:
            del synced[name]
    with open(path + ".tmp", "w") as f:
        json.dump(synced, f, indent=0, sort_keys=True)
    os.replace(path + ".tmp", path)

    to = "the tree" if way == "in" else "the folders"
    for name in copied:
        print(f"  to {to}: {name}")
    if kept:
        print("Not in any commit of the series yet, left as they are in the folders:")
        print("".join(f"  {n}\n" for n in kept), end="")
    if conflicts:
        print(f"Edited both here and in {tree}; make the two the same first:", file=sys.stderr)
        print("".join(f"  {n}\n" for n in conflicts), end="", file=sys.stderr)
    return 1 if conflicts else 0


if __name__ == "__main__":
    sys.exit(main())
