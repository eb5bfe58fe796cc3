#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""coverage.py TREE OUT FOLDER COUNTS... - branch coverage of FOLDER of the kernel that
was built in OUT, from the folders COUNTS that hold what /sys/kernel/debug/gcov had.

Prints, for each source file, what was never taken and, from coverage-why.txt, why;
then a line for each file, and the sum of the core. Branches that the compiler makes
of tracing, lockdep, assertions, cleanup and macros that are a whole statement are left
out, and counted: they are no decisions of ours. Writes coverage-values.json beside the results."""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NO_DECISION = re.compile(r"\b(trace_ualink_\w+|lockdep_\w+|might_\w+|WARN_ON\w*|dev_\w+_ratelimited|guard|"
                         r"scoped_guard|dev_err|wait_event\w*|wait_var_event\w*|static_assert|"
                         r"(mutex|init_waitqueue|spin_lock|INIT)_\w+|alloc_workqueue|KMEM_CACHE|"
                         r"cond_resched_lock|store_release_wake_up)\(")
# Statements that are a macro of the kernel and nothing else: whether the error of an
# allocation is handled is decided in the line after it.
ONLY_MACRO = re.compile(r"^((\w|->)+ = )?(flush_workqueue|(__)?(set|clear)_bit|kv?zalloc_objs?|kmem_cache_zalloc|"
                        r"kfree_rcu|get_random_once|WRITE_ONCE|msecs_to_jiffies)\(.*\);$|"
                        r"^u64 fitting = .*rounddown_pow_of_two\(|^return (rounddown_pow_of_two|ilog2)\(|"
                        r"^msecs_to_jiffies\(")


def counts_of(out, folder, root):
    """(file name, line) -> list of counts, one for each branch, of one run."""
    found = {}
    for gcda in glob.glob(os.path.join(root, "**", folder, "*.gcda"), recursive=True):
        name = os.path.basename(gcda)[:-5]
        with tempfile.TemporaryDirectory() as d:
            shutil.copy(gcda, os.path.join(d, name + ".gcda"))
            shutil.copy(os.path.join(out, folder, name + ".gcno"), d)
            text = subprocess.run(["gcov", "-b", "-c", "-j", "-t", name + ".gcda"], cwd=d, check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for line in text.splitlines():
            for file in json.loads(line)["files"]:
                path = file["file"]
                if not path.endswith(os.path.join(folder, name + ".c")):
                    continue
                for entry in file["lines"]:
                    branches = [b["count"] for b in entry["branches"]]
                    if branches:
                        key = (name + ".c", entry["line_number"], entry.get("function_name", ""))
                        found.setdefault(key, []).extend(branches)
    return found


def merge(runs):
    total = {}
    for run in runs:
        for key, counts in run.items():
            old = total.setdefault(key, [0] * len(counts))
            total[key] = [a + b for a, b in zip(old, counts)] if len(old) == len(counts) else max(old, counts)
    return total


def reasons():
    rules = []
    with open(os.path.join(HERE, "coverage-why.txt")) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                file, text, why = [x.strip() for x in line.split(" | ", 2)]
                rules.append((file, re.compile(text), why))
    return rules


def main():
    tree, out, folder, *roots = sys.argv[1:]
    total = merge([counts_of(out, folder, r) for r in roots])
    if not total:
        sys.exit("no counts")
    rules = reasons()
    sums = collections.defaultdict(lambda: [0, 0])
    unexplained = 0
    left_out = collections.Counter()
    for (file, number, function), counts in sorted(total.items()):
        with open(os.path.join(tree, folder, file)) as f:
            text = f.read().splitlines()[number - 1].strip()
        macro = NO_DECISION.search(text) or ONLY_MACRO.search(text)
        if macro:
            if not file.startswith("drm_"):
                name = macro.group(1) if macro.re is NO_DECISION else re.findall(r"(\w+)\(", text)[-1]
                left_out[re.sub(r"^(trace_ualink|lockdep|might)_\w+", r"\1_*", name)] += len(counts)
            continue
        taken = sum(c > 0 for c in counts)
        sums[file][0] += taken
        sums[file][1] += len(counts)
        if taken == len(counts):
            continue
        why = next((w for f, r, w in rules if re.fullmatch(f, f"{file}:{function}" if ":" in f else file) and r.search(text)), None)
        unexplained += why is None and not file.startswith("drm_")
        print(f"{file}:{number}: {taken}/{len(counts)}: {text}" + (f"\n    {why}" if why else ""))
    print()
    core = [0, 0]
    for file, (taken, of) in sorted(sums.items()):
        print(f"{file:28} {taken:5} of {of:5} {100 * taken / of:6.1f} %")
        if not file.startswith("drm_"):
            core = [core[0] + taken, core[1] + of]
    percent = round(100 * core[0] / core[1], 1)
    results = os.path.join(os.path.dirname(os.path.abspath(tree)), "results")
    with open(os.path.join(results, "coverage-values.json"), "w") as f:
        json.dump({"core_branch_coverage": percent, "core_branches": core[1], "core_branches_left_out": sum(left_out.values()), "not_explained": unexplained,
                   "files": {k: {"taken": v[0], "branches": v[1]} for k, v in sorted(sums.items())}}, f, indent=1)
    print("\nbranches of the core that are no decisions of ours: " +
          ", ".join(f"{name} {n}" for name, n in left_out.most_common()))
    print(f"core: {core[0]} of {core[1]} branches, {percent} %; {unexplained} lines without a reason")


if __name__ == "__main__":
    main()
