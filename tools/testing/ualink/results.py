#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Read and write test results.

results.py ktap LOG          KUnit's results in a kernel log, one a line:
                             ok|not|skip TAB suite.test[.parameter] TAB reason
results.py kselftest FILE   the results in what run_kselftest.sh said, likewise
results.py json FILE.tap     write FILE.json beside it
results.py sum DIR TIER...   count the tiers' FILE.tap; the last line is
                             "N passed, N failed, N skipped"; exit status 1 if
                             any failed, or a tier has no or not all results
results.py bench LOG...      the lines "bench: KEY VALUE" of the logs, as JSON
results.py faults DIR...     the lines "faults: KEY VALUE" of the logs of the runs that
                             are kept in DIRs, and how many of these had complaints
                             of the kernel or leaks, as JSON
results.py boots DIR FILE    of the runs below DIR that are younger than FILE: how many
                             there were, with complaints, with leaks, as JSON
results.py merge FILE.json... the values of those that are there, as JSON
results.py goals FILE.json   print them beside the goals; exit status 1 if one
                             of these is not there
"""
import glob
import json
import os
import re
import sys

RESULT = re.compile(r"^( *)(ok|not ok) (\d+)(?: -)? ?(.*?)(?: # SKIP ?(.*))?$")
PLAN = re.compile(r"^( *)1\.\.(\d+)\s*$")
SUBTEST = re.compile(r"^( *)# Subtest: (\S+)")


def ktap(path):
    """Yields (verdict, name, reason) of each leaf, and of what is wrong besides."""
    with open(path, errors="replace") as f:
        lines = f.read().splitlines()
    start = next((i for i, l in enumerate(lines) if l.startswith("KTAP version")), None)
    if start is None:
        yield "not", "kunit", "no KTAP output: did the kernel boot?"
        return
    names = {}          # indent -> name of the subtest whose results have it
    plan, seen, failed = {}, {}, {}
    note = []
    for line in lines[start:]:
        m = SUBTEST.match(line)
        if m:
            indent = len(m[1])
            names[indent] = m[2]
            plan[indent], seen[indent], failed[indent] = None, 0, 0
            continue
        m = PLAN.match(line)
        if m:
            indent = len(m[1])
            plan[indent] = int(m[2])
            seen.setdefault(indent, 0)
            failed.setdefault(indent, 0)
            continue
        m = RESULT.match(line)
        if not m:
            if "EXPECTATION" in line or "ASSERTION" in line or note:
                note = (note + [line.strip()])[-8:]
            continue
        indent, bad, name, skip = len(m[1]), m[2] == "not ok", m[4], m[5]
        path_ = ".".join([names[i] for i in sorted(names) if i <= indent] + [name])
        below = [i for i in names if i > indent]
        seen[indent] = seen.get(indent, 0) + 1
        failed[indent] = failed.get(indent, 0) + bad
        if below:
            i = min(below)
            missing = (plan.get(i) or seen[i]) - seen[i]
            if missing:
                yield "not", path_, f"{missing} of {plan[i]} did not run"
            elif bad and not failed[i]:
                yield "not", path_, "; ".join(note) or "failed outside of its tests"
            elif not seen[i] and not bad and skip is None:
                yield "not", path_, "has no tests"
        elif skip is not None:
            yield "skip", path_, skip or "no reason given"
        else:
            yield ("not" if bad else "ok"), path_, "; ".join(note) if bad else ""
        for i in below:
            for table in (names, plan, seen, failed):
                table.pop(i, None)
        note = []
    want = plan.get(0)
    if want is None:
        yield "not", "kunit", "no plan"
    elif seen[0] != want:
        running = ".".join(names[i] for i in sorted(names))
        yield "not", running or "kunit", f"the kernel ended after {seen[0]} of {want} suites"


def kselftest(path):
    """Yields the same of each test of each program that run_kselftest.sh ran."""
    program, plan, seen, bad, note, programs = None, None, 0, 0, [], 0
    with open(path, errors="replace") as f:
        lines = f.read().splitlines()
    wanted = next((int(l[3:]) for l in lines if re.match(r"1\.\.\d+$", l)), None)
    for line in lines:
        outer = re.match(r"(ok|not ok) \d+ selftests: \S+ (\S+)(?: # (.*))?$", line)
        inner = re.match(r"# (ok|not ok) \d+ (\S*)(?: ?# SKIP ?(.*))?", line)
        if line.startswith("# selftests: "):
            program, plan, seen, bad, note = line.split()[-1], None, 0, 0, []
        elif re.match(r"# 1\.\.\d+$", line):
            plan = int(line[5:])
        elif inner:
            seen += 1
            bad += inner[1] == "not ok"
            name = f"{program}.{inner[2] or seen}"
            if inner[3] is not None:
                yield "skip", name, inner[3] or "no reason given"
            elif inner[1] == "ok":
                yield "ok", name, ""
            else:
                yield "not", name, "; ".join(note[-8:])
            note = []
        elif outer:
            programs += 1
            why = outer[3] or ""
            if why.startswith("SKIP") and not seen:
                yield "skip", outer[2], note[-1] if note else "no reason given"
            elif plan != seen or not seen:
                yield "not", outer[2], f"{seen} of {plan} tests have a result; {why}"
            elif outer[1] == "not ok" and not bad:
                yield "not", outer[2], why
        elif "Expected" in line or "Test terminated" in line or "SKIP" in line:
            note.append(line.lstrip("# "))
    if not wanted or programs != wanted:
        yield "not", "kselftest", f"{programs} of {wanted} programs have a result"


def read_tap(path):
    """(tests, complete): complete if the plan is there and fits."""
    tests, plan = [], None
    with open(path, errors="replace") as f:
        for line in f:
            m = re.match(r"^(ok|not ok) \d+ - (.*?)(?: # SKIP (.*))?$", line.rstrip("\n"))
            if m:
                verdict = "fail" if m[1] == "not ok" else "skip" if m[3] is not None else "pass"
                tests.append({"name": m[2], "result": verdict})
                if m[3]:
                    tests[-1]["reason"] = m[3]
            elif re.match(r"^1\.\.\d+$", line):
                plan = int(line[3:])
            elif tests and line.startswith("  duration_ms: "):
                tests[-1]["seconds"] = int(line.split()[1]) / 1000
            elif tests and line.startswith("    # "):
                tests[-1].setdefault("output", []).append(line[6:].rstrip("\n"))
    return tests, plan == len(tests)


def count(tests):
    return [sum(t["result"] == r for t in tests) for r in ("pass", "fail", "skip")]


def to_json(path):
    tests, complete = read_tap(path)
    p, f, s = count(tests)
    out = {"tier": os.path.basename(path)[:-4], "complete": complete, "passed": p,
           "failed": f, "skipped": s, "tests": tests}
    with open(path[:-4] + ".json", "w") as file:
        json.dump(out, file, indent=1)
        file.write("\n")


def summary(directory, tiers):
    total = [0, 0, 0]
    for tier in tiers:
        path = os.path.join(directory, tier + ".tap")
        if not os.path.exists(path):
            n, word = [0, 1, 0], "did not run"
        else:
            tests, complete = read_tap(path)
            n, word = count(tests), ""
            if not complete:
                n[1] += 1
                word = "ended before its time"
            elif not tests:
                n[1] += 1
                word = "ran nothing"
        total = [a + b for a, b in zip(total, n)]
        print(f"{tier:8} {n[0]:5} passed {n[1]:5} failed {n[2]:5} skipped  {word}".rstrip())
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] or not total[0] else 0


def values(word, paths):
    out = {}
    for path in paths:
        with open(path, errors="replace") as f:
            for line in f:
                m = re.search(r"\b" + word + r": ([A-Za-z0-9_.]+)[ =:]+(\S+)", line)
                if m:
                    try:
                        out[m[1]] = float(m[2]) if "." in m[2] or "e" in m[2] else int(m[2])
                    except ValueError:
                        out[m[1]] = m[2]
    return out


def boots(directories):
    """What all kernels of these runs (see run-uml.sh) complained of."""
    def size(d, name):
        path = os.path.join(d, name)
        return os.path.getsize(path) if os.path.exists(path) else 0

    return {"boots": len(directories), "splats": sum(size(d, "splats") > 0 for d in directories),
            "leaks": sum(size(d, "kmemleak") > 0 for d in directories)}


def boots_since(logs, stamp):
    """Those of the runs that are in the folder logs and younger than the file stamp."""
    consoles = glob.glob(os.path.join(logs, "*", "console"))
    begin = os.path.getmtime(stamp)
    return boots([os.path.dirname(c) for c in consoles if os.path.getmtime(c) >= begin])


def faults(directories):
    logs = [os.path.join(d, "out") for d in directories]
    return values("faults", [p for p in logs if os.path.exists(p)]) | boots(directories)


# what a user may expect: (key, relation, goal)
GOALS = (
    ("reexport_vs_prime", "<=", 1.2),
    ("reimport_vs_prime", "<=", 1.2),
    ("cold_import_messages", "=", 2),
    ("export_100k_vs_1k", "<=", 1.2),
    ("revoke_1_rtt", "<=", 2),
    ("revoke_16_rtt", "<=", 2),
    ("revoke_64_rtt", "<=", 2),
    ("revoke_messages_per_importer", "=", 2),
    ("bytes_per_export", "<", 512),
    ("bytes_per_grant", "<", 128),
    ("npa_map_2m_vs_generic_pt", "<=", 1.0),
    ("npa_map_4k_vs_generic_pt", "<=", 1.0),
    # only to be known
    ("export_p999_vs_median", "", ""),
    ("import_p999_vs_median", "", ""),
)


def goals(path):
    with open(path) as f:
        values = json.load(f)
    missing = 0
    holds = {"": lambda a, b: True, "<=": lambda a, b: a <= b, "<": lambda a, b: a < b, "=": lambda a, b: a == b}
    for key, relation, goal in GOALS:
        value = values.get(key)
        missing += value is None
        verdict = ("is missing" if value is None else
                   "" if holds[relation](value, goal) else "goal not reached")
        print(f"{key:32} {'-' if value is None else value:>12} {relation:>4} {goal:<6} {verdict}".rstrip())
    for key in sorted(set(values) - {g[0] for g in GOALS}):
        print(f"{key:32} {values[key]:>12}")
    return 1 if missing else 0


def main():
    what, *args = sys.argv[1:]
    if what == "ktap":
        for row in ktap(args[0]):
            print("\t".join(row))
    elif what == "kselftest":
        for row in kselftest(args[0]):
            print("\t".join(row))
    elif what == "json":
        to_json(args[0])
    elif what == "sum":
        return summary(args[0], args[1:])
    elif what == "goals":
        return goals(args[0])
    elif what == "bench":
        json.dump(values("bench", args), sys.stdout, indent=1, sort_keys=True)
        print()
    elif what == "merge":
        out = {}
        for path in args:
            if os.path.exists(path):
                with open(path) as f:
                    out.update({k: v for k, v in json.load(f).items() if not isinstance(v, dict)})
        json.dump(out, sys.stdout, indent=1, sort_keys=True)
        print()
    elif what == "boots":
        json.dump(boots_since(*args), sys.stdout, indent=1, sort_keys=True)
        print()
    elif what == "faults":
        json.dump(faults(args), sys.stdout, indent=1, sort_keys=True)
        print()
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
