#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Results as JUnit XML, for those who collect it.

junit.py write DIR TIER...  DIR/junit.xml: a test suite for each DIR/TIER.tap; a tier
                            that did not run, or not to its end, has an error
junit.py check FILE         exit status 1 if FILE is not as the usual schema has it
junit.py test               checks this script
"""
import contextlib
import datetime
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as xml

from results import read_tap

# element: attributes (those with ! must be there), elements in it
SCHEMA = {
    "testsuites": ({"name", "tests!", "failures!", "errors!", "time"}, {"testsuite"}),
    "testsuite": ({"name!", "tests!", "failures!", "errors!", "skipped!", "time", "timestamp"},
                  {"testcase"}),
    "testcase": ({"name!", "classname!", "time"}, {"failure", "error", "skipped"}),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "skipped": ({"message"}, set()),
}
# what XML has no room for, however it is written
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text):
    return NO_XML.sub("?", text)


def split(tier, name):
    """Class and name of a test: tests of a program or suite are in a class of that name."""
    m = re.match(r"([A-Za-z0-9_-]+)[@.](\S.*)$", name)
    return (f"{tier}.{m[1]}", m[2]) if m else (tier, name)


def add_case(suite, tier, test):
    classname, name = split(tier, clean(test["name"]))
    case = xml.SubElement(suite, "testcase", name=name, classname=classname)
    if "seconds" in test:
        case.set("time", f"{test['seconds']:.3f}")
    if test["result"] == "skip":
        xml.SubElement(case, "skipped", message=clean(test.get("reason", "")))
    elif test["result"] != "pass":
        output = [clean(line) for line in test.get("output", [])]
        kind = "failure" if test["result"] == "fail" else "error"
        message = next((line for line in output if line.strip()), "no reason given")
        xml.SubElement(case, kind, message=message, type=kind).text = "\n".join(output)


def make_suite(directory, tier):
    path = os.path.join(directory, tier + ".tap")
    suite = xml.Element("testsuite", name=tier)
    tests, complete = [], False
    if os.path.exists(path):
        tests, complete = read_tap(path)
        when = datetime.datetime.fromtimestamp(os.path.getmtime(path), datetime.timezone.utc)
        suite.set("timestamp", when.strftime("%Y-%m-%dT%H:%M:%S"))
    if not complete or not tests:
        what = "ended before its time" if tests else "did not run"
        tests.append({"name": "the tier", "result": "error", "output": [what]})
    for test in tests:
        add_case(suite, tier, test)
    for key, result in (("failures", "fail"), ("errors", "error"), ("skipped", "skip")):
        suite.set(key, str(sum(t["result"] == result for t in tests)))
    suite.set("tests", str(len(tests)))
    suite.set("time", f"{sum(t.get('seconds', 0) for t in tests):.3f}")
    return suite


def write(directory, tiers):
    root = xml.Element("testsuites", name="ualink")
    root.extend([make_suite(directory, tier) for tier in tiers])
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(s.get(key)) for s in root)))
    root.set("time", f"{sum(float(s.get('time')) for s in root):.3f}")
    xml.indent(root)
    path = os.path.join(directory, "junit.xml")
    xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path


def faults_of(element, parent):
    """What is wrong with an element and those in it."""
    if element.tag not in SCHEMA or (parent and element.tag not in SCHEMA[parent][1]):
        yield f"<{element.tag}> in <{parent}>"
        return
    attributes = SCHEMA[element.tag][0]
    names = {a.rstrip("!") for a in attributes}
    yield from (f"<{element.tag}> with {a}" for a in element.keys() if a not in names)
    yield from (f"<{element.tag}> without {a[:-1]}" for a in attributes
                if a.endswith("!") and not element.get(a[:-1]))
    if element.tag == "testcase" and len(element) > 1:
        yield f"<testcase> {element.get('name')} with two results"
    for child in element:
        yield from faults_of(child, element.tag)
    if "tests" in names:
        yield from wrong_sums(element)


def wrong_sums(element):
    sums = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for key, tag in sums.items():
        there = len(element.findall(".//" + tag))
        if key in element.keys() and element.get(key) != str(there):
            yield f"<{element.tag}> says {element.get(key)} {key}, and has {there}"


def check(path):
    root = xml.parse(path).getroot()
    faults = list(faults_of(root, None))
    if root.tag != "testsuites":
        faults.append(f"the root is <{root.tag}>")
    for fault in faults:
        print(f"{path}: {fault}")
    return faults


SAMPLE = """TAP version 14
ok 1 - suite_a.case <&>"'
  ---
  duration_ms: 1500
  ...
not ok 2 - test@subtest
    # first line \x1b[31m and ]]>
    # second \x00 line
ok 3 - a sentence. And more # SKIP no <such> thing
1..3
"""


def test():
    with tempfile.TemporaryDirectory() as d:
        for name, text in (("whole", SAMPLE), ("cut", SAMPLE[:-5]), ("empty", "")):
            with open(os.path.join(d, name + ".tap"), "w") as f:
                f.write(text)
        path = write(d, ["whole", "cut", "empty", "missing"])
        assert not check(path)
        whole, cut, empty, missing = xml.parse(path).getroot()
        sums = [[s.get(k) for k in ("tests", "failures", "errors", "skipped", "time")]
                for s in (whole, cut, empty, missing)]
        assert sums == [["3", "1", "0", "1", "1.500"], ["4", "1", "1", "1", "1.500"],
                        ["1", "0", "1", "0", "0.000"], ["1", "0", "1", "0", "0.000"]], sums
        names = [(c.get("classname"), c.get("name")) for c in whole]
        assert names == [("whole.suite_a", "case <&>\"'"), ("whole.test", "subtest"),
                         ("whole", "a sentence. And more")], names
        assert whole[1][0].text == "first line ?[31m and ]]>\nsecond ? line"
        assert whole[2][0].get("message") == "no <such> thing"
        # and it is noticed when it is not so
        with open(path) as f:
            text = f.read()
        for a, b in (('tests="3"', 'tests="4"'), (' classname="whole"', ""), ("<skipped", "<skip"),
                     ('type="failure"', 'kind="failure"'), ('errors="3"', 'errors="0"')):
            assert a in text, a
            with open(path, "w") as f:
                f.write(text.replace(a, b, 1))
            with contextlib.redirect_stdout(None):
                assert check(path), (a, b)


def main():
    what, *args = sys.argv[1:] or [""]
    if what == "write":
        return 1 if check(write(args[0], args[1:])) else 0
    if what == "check":
        return 1 if check(args[0]) else 0
    if what == "test":
        test()
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
