#!/usr/bin/env python3
"""docs/states.md and docs/states/*.dot are what tools/statedot.py writes, and it cannot miss a change.  TAP."""
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import pathlib
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
        text = (copy / name).read_text()
        if text.count(old) != 1:
            return f"{name} does not hold {old!r} once: change this test with it"
        (copy / name).write_text(text.replace(old, new))
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

CHANGES = [
    ("a new transition", "src/annealer/task_fsm.c", "[TASK_DONE] = {", "[TASK_DONE] = {[TASKEV_FAIL] = GO(FAILED), "),
    ("a transition that went", "src/annealer/task_fsm.c", "[TASKEV_ASK] = GO(RUNNING), ", ""),
    ("a cell with an unknown state", "src/annealer/task_fsm.c", "[TASKEV_ASK] = GO(RUNNING)", "[TASKEV_ASK] = GO(WALKING)"),
    ("a new task state", "src/model/states.h", "X(DEP_FAILED) X(CANCELLED)", "X(DEP_FAILED) X(CANCELLED) X(PAUSED)"),
    ("another meaning of an event", "src/model/states.h", "the scheduler grants a slot", "a slot is granted"),
    ("a new noderole state", "src/model/states.h", "X(REMOVING) X(REMOVED)", "X(REMOVING) X(REMOVED) X(LIMBO)"),
    ("another order of the derivation", "src/annealer/noderole_fsm.c", "if (nr->failed > 0)\n        return NODEROLE_ERROR;",
     "if (nr->ready > 0)\n        return NODEROLE_TODO;\n    if (nr->failed > 0)\n        return NODEROLE_ERROR;"),
    ("a condition without words", "src/annealer/noderole_fsm.c", "if (nr->failed > 0)", "if (nr->failed > 1)"),
]
for what, name, old, new in CHANGES:
    problem = noticed(name, old, new)
    check(not problem, f"noticed: {what}", problem)

print(f"1..{len(points)}")
sys.exit(not all(points))
