#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""exports.py TREE FOLDER... - what modpost would say of the modules in the build
folders, without a whole kernel: symbols that nobody exports, name spaces that
are not imported, no licence or description."""
import os
import re
import subprocess
import sys

EXPORT = re.compile(r"EXPORT_(?:PER_CPU_)?SYMBOL(?:_[A-Z_]+)?\(\s*(\w+)\s*(?:,\s*\"?(\w+)\"?)?")
POINT = re.compile(r"EXPORT_TRACEPOINT_SYMBOL(?:_GPL)?\(\s*(\w+)")
# made by the linker or the loader, or exported by a macro that pastes names
IGNORE = re.compile(r"^(__this_module|_GLOBAL_OFFSET_TABLE_|param_ops_\w+|__start_\w+|__stop_\w+"
                    r"|pt_iommu_\w+|_dev_\w+|get_random_u\d+)$")


def run(*cmd):
    return subprocess.run(cmd, check=True, stdout=subprocess.PIPE).stdout.decode()


def exported(tree):
    symbols = {}
    text = run("git", "-c", "safe.directory=*", "-C", tree, "grep", "-hE", "--untracked",
               r"EXPORT_(PER_CPU_)?SYMBOL|EXPORT_TRACEPOINT_SYMBOL", "--", "*.c", "*.S", "*.h")
    for m in EXPORT.finditer(text):
        symbols[m[1]] = m[2]
    for m in POINT.finditer(text):
        symbols.update({"__tracepoint_" + m[1]: None, "__traceiter_" + m[1]: None,
                        "__SCK__tp_func_" + m[1]: None, "__SCT__tp_func_" + m[1]: None})
    return symbols


def modules(folders):
    """The objects that modules are made of: those that modules.order names."""
    found = set()
    for folder in folders:
        try:
            with open(os.path.join(folder, "modules.order")) as f:
                order = f.read().split()
        except FileNotFoundError:
            continue
        for name in order:
            found.add(os.path.join(folder, os.path.relpath(name, re.search(r"drivers/.*", folder)[0])))
    return sorted(found)


def main():
    tree, folders = sys.argv[1], sys.argv[2:]
    known = exported(tree)
    bad, n = 0, 0
    for obj in modules(folders):
        n += 1
        name = os.path.basename(obj)
        with open(obj, "rb") as f:
            info = f.read()
        for tag in (b"license=", b"description="):
            if b"\0" + tag not in info:
                print(f"{name}: no MODULE_{tag[:-1].decode().upper()}()")
                bad += 1
        spaces = set(re.findall(rb"\0import_ns=(\w+)", info))
        for line in run("nm", "-u", obj).splitlines():
            symbol = line.split()[-1]
            if IGNORE.match(symbol):
                continue
            if symbol not in known:
                print(f"{name}: {symbol} is not exported")
                bad += 1
            elif known[symbol] and known[symbol].encode() not in spaces:
                print(f"{name}: {symbol} is in the name space {known[symbol]}, not imported")
                bad += 1
    if not n:
        print("no modules")
    return 1 if bad or not n else 0


if __name__ == "__main__":
    sys.exit(main())
