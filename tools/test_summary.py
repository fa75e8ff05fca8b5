#!/usr/bin/env python3
"""Counts every TAP point of a meson test run and prints what failed and one closing line.

A program that ends badly without a failed point counts as one failure, so nothing is lost; so does one that prints
what is not TAP, since a point could hide in there.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import sys


TAP_LINE = re.compile(r"(not )?ok\b|\s*#|\s*$|1\.\.\d+|Bail out!|TAP version \d+$")


def stray_line(out):
    """The first line that is not TAP, or None."""
    return next((line for line in out.splitlines() if not TAP_LINE.match(line)), None)


def main(path, status):
    passed = failed = skipped = 0
    slow = []
    with open(path) as lines:
        for line in lines:
            test = json.loads(line)
            out = test.get("stdout", "")
            good = bad = skip = 0
            for point in re.finditer(r"^(not )?ok\b[^\n]*", out, re.M):
                if re.search(r"#\s*SKIP", point.group(0), re.I):
                    skip += 1
                elif point.group(1):
                    bad += 1
                    print(f"FAILED {test['name']}: {point.group(0)}")
                else:
                    good += 1
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                good += 0 if good or skip else 1
            elif test["result"] == "SKIP":
                skip += 0 if skip else 1
            elif not bad:
                bad = 1
                print(f"FAILED {test['name']}: {test['result']}, exit {test.get('returncode')}")
                print("\n".join((out + test.get("stderr", "")).splitlines()[-25:]))
            stray = stray_line(out)
            if stray is not None and not bad:
                bad = 1
                print(f"FAILED {test['name']}: prints what is not TAP: {stray[:100]}")
            for note in re.finditer(r"^# (cases|counts?|seeds|crashes):[^\n]*", out, re.M):
                print(f"{test['name']}: {note.group(0)[2:]}")
            passed, failed, skipped = passed + good, failed + bad, skipped + skip
            slow.append((test.get("duration", 0), test["name"]))
    if status and not failed:
        failed = 1
        print("FAILED: a check outside the tests; see above")
    for seconds, name in sorted(slow, reverse=True)[:3]:
        print(f"slowest: {name} {seconds:.1f} s")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


sys.exit(main(sys.argv[1], int(sys.argv[2])))
