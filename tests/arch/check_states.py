#!/usr/bin/env python3
"""docs/states.md and docs/states/*.dot are what tools/statedot.py writes, and it cannot miss a change.  TAP."""
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import pathlib
import re
import shutil
import sys
import tempfile

TOP = pathlib.Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("statedot", TOP / "tools/statedot.py")
statedot = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(statedot)
points = []


def check(good, what, detail=""):
    points.append(good)
    print(f"{'ok' if good else 'not ok'} {len(points)} - {what}")
    if not good and detail:
        print(f"#   {detail}")


def noticed(name, old, new):
    """Does a changed source change a picture, or is it refused?"""
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch)
        for part in ("src/model", "src/annealer", "docs/states"):
            shutil.copytree(TOP / part, copy / part)
        shutil.copy(TOP / "docs/states.md", copy / "docs/states.md")
        text, places = re.subn(old, new, (copy / name).read_text())
        if places != 1:
            return f"{old} is in {places} places of {name}: change this test with it"
        (copy / name).write_text(text)
        try:
            return "" if statedot.differing(copy) else "nothing differs"
        except statedot.Unreadable:
            return ""


try:
    for name, text in statedot.generate(TOP).items():
        have = (TOP / name).read_text() if (TOP / name).exists() else ""
        check(have == text, f"{name} is up to date", "run tools/statedot.py and look at what it changes")
except statedot.Unreadable as e:
    check(False, "the source is understood", str(e))

LISTS, TABLE, DERIVED = "src/model/states.h", "src/annealer/task_fsm.c", "src/annealer/noderole_fsm.c"
CHANGES = [  # what, where, a pattern that is there once, what it becomes
    ("a new transition", TABLE, r"(\[TASK_DONE\]\s*=\s*\{)", r"\1[TASKEV_FAIL] = GO(FAILED), "),
    ("a transition that went", TABLE, r"\[TASKEV_ASK\]\s*=\s*GO\(RUNNING\),", ""),
    ("a cell with an unknown state", TABLE, r"(\[TASKEV_ASK\]\s*=\s*GO)\(RUNNING\)", r"\1(WALKING)"),
    ("a new task state", LISTS, r"(#define TASK_STATES\(X\)\s*\\\n)", r"\1    X(PAUSED) \\\n"),
    ("another meaning of an event", LISTS, "the scheduler grants a slot", "a slot is granted"),
    ("a new noderole state", LISTS, r"(#define NODEROLE_STATES\(X\)\s*\\\n)", r"\1    X(LIMBO) \\\n"),
    ("another order of the derivation", DERIVED, r"(    if \(nr->failed > 0\))",
     r"    if (nr->ready > 0)\n        return NODEROLE_TODO;\n\1"),
    ("a condition without words", DERIVED, r"if \(nr->failed > 0\)", "if (nr->failed > 1)"),
]
for what, name, old, new in CHANGES:
    problem = noticed(name, old, new)
    check(not problem, f"noticed: {what}", problem)

print(f"1..{len(points)}")
sys.exit(not all(points))
