#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""cover.py GENERATED OLD FIRST-PATCH - put OLD's subject and text, up to the
line "---", into the cover letter that git format-patch GENERATED; its author
and date come from the first patch, so that they do not change by themselves."""
import re
import sys

TEMPLATE = "*** Write this letter in patches/linux/0000-cover-letter.patch, above the line '---'. ***\n"


def split(path):
    with open(path) as f:
        head, _, body = f.read().partition("\n\n")
    return re.sub(r"\n[ \t]+", " ", head).split("\n"), body


def field(head, name):
    return next((h for h in head if h.startswith(name + ":")), None)


def main():
    new, old, first = sys.argv[1:4]
    head, body = split(new)
    # git: "*** BLURB HERE ***", then shortlog, diffstat, base-commit
    tail = body.partition("*** BLURB HERE ***\n\n")[2]
    subject, text = "*** Subject of the series ***", TEMPLATE
    try:
        old_head, old_body = split(old)
        found = re.match(r"Subject: (?:\[[^]]*\] *)?(.*)", field(old_head, "Subject") or "")
        if found:
            subject = found[1]
        text = re.split(r"^---$\n?", old_body, maxsplit=1, flags=re.M)[0].strip("\n") + "\n"
    except FileNotFoundError:
        pass
    number = re.match(r"Subject: (\[[^]]*\])", field(head, "Subject"))[1]
    first_head = split(first)[0]
    with open(new, "w") as f:
        f.write("From " + "0" * 40 + " Mon Sep 17 00:00:00 2001\n")
        f.write(field(first_head, "From") + "\n" + field(first_head, "Date") + "\n")
        f.write(f"Subject: {number} {subject}\n\n{text}---\n{tail}")


if __name__ == "__main__":
    main()
