#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""progress.py WHAT TOTAL LOG - copy make's output from stdin to LOG, and show
how far it is: on a terminal one line that changes, else a line every 20 s.
TOTAL is about how many steps a full build has. QUIET=1: copy only."""
import os
import re
import sys
import time

STEP = re.compile(r"^  (?:CC|AS|LD|AR|CHECK)\b[^/]* (\S+)")


def main():
    what, total, log = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    tty = sys.stderr.isatty()
    width = os.get_terminal_size(2).columns - 1 if tty else 0
    begin = last = time.monotonic()
    steps = 0

    def show(text):
        if os.environ.get("QUIET"):
            return
        sys.stderr.write("\r" + text[:width].ljust(width) if tty else text + "\n")
        sys.stderr.flush()

    with open(log, "w", buffering=1) as out:
        for line in sys.stdin:
            out.write(line)
            m = STEP.match(line)
            if not m:
                continue
            steps += 1
            now = time.monotonic()
            if now - last >= (0.2 if tty else 20):
                last = now
                of = f" of about {total}" if steps <= total else ""
                show(f"{what}: step {steps}{of}, {int(now - begin)} s, {m[1]}")
    took = time.monotonic() - begin
    if took >= 2 or steps > 20:
        show(f"{what}: {steps} steps in {int(took)} s")
        if tty and not os.environ.get("QUIET"):
            sys.stderr.write("\n")


if __name__ == "__main__":
    main()
