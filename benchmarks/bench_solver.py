#!/usr/bin/env python3
"""Figures of the solver, beside CBC and Gecode in the same run.

    bench_solver.py BUILD_DIR WORK_DIR COOPR_DIR

Our time is from the problem to the whole answer: cost, then services, then the original order among all equals.  The
peers are asked for the least cost only, and their time is what they report of solving, without reading and start-up.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys

import peer_solver
from figures import end, figure, seen

BUILD, WORK, COOPR = (pathlib.Path(a) for a in sys.argv[1:4])
PROGRAM = BUILD / "benchmarks/bench_solver"
PEER_SECONDS = 20


def lines(command):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        answers = [json.loads(line) for line in run.stdout]
    if run.returncode:
        sys.exit(f"{command[0].name} failed")
    return answers


def ours():
    """Problems as the solver sees them; of real templates also the whole way from names to names."""
    answers = lines([PROGRAM, "run"] + ([COOPR] if COOPR.is_dir() else []))
    if COOPR.is_dir():
        answers += lines([BUILD / "benchmarks/bench_layout", COOPR])
    return {a["case"]: a for a in answers}


def problem(case):
    return json.loads(subprocess.run([PROGRAM, "describe", case], stdout=subprocess.PIPE, check=True).stdout)


def each(answers):
    """Real and made-up templates, one by one."""
    for case, a in answers.items():
        kind = case.split(".")[0]
        bar = 1 if kind.endswith("-distributed") else 50 if kind in ("loose", "masters", "grouped") else None
        if bar is None:
            continue
        ended = a["status"] == "solved" and a["settled"]
        figure(f"solver.{case}", a["ms"] if ended else float("inf"), "<=", bar, "ms")
    a = answers["impossible"]
    figure("solver.impossible", a["ms"] if a["conflict"] else float("inf"), "<=", 1, "ms",
           f"refused with a conflict of {a['conflict']} rules")
    if not COOPR.is_dir():
        print("solver: the real templates are not here: ANNEAL_TEST_DATA", flush=True)


def tight(answers):
    cases = [a for case, a in answers.items() if case.startswith("tight.")]
    proved = [a for a in cases if a["status"] != "limit"]
    unsolvable = sum(a["status"] == "unsatisfiable" for a in cases)
    figure("solver.tight.slowest", max(a["ms"] for a in cases), "<=", 1000, "ms", f"{len(cases)} seeds")
    figure("solver.tight.proved", 100 * len(proved) / len(cases), ">=", 90, "% proved",
           f"{unsolvable} of them to have no solution")


def beside(answers, family, name, program, write, suffix):
    """Where the peer needs a tenth of a second or more: how many times longer."""
    for case in (c for c in answers if c.split(".")[0] == family):
        if not program:
            print(f"solver.{case}.{name}: skipped, it is not installed", flush=True)
            continue
        path = WORK / f"{case}{suffix}"
        count = write(problem(case), path)
        result = getattr(peer_solver, name)(path, PEER_SECONDS)
        a = answers[case]
        if result is None:
            seen(f"solver.{case}.{name}", a["ms"], f"ms; {name} did not end in {PEER_SECONDS} s")
        elif result[1] != a["values"][0]:
            figure(f"solver.{case}.{name}", float("inf"), "<=", 0, "", f"another optimum: {result[1]}")
        elif result[0] < 0.1:
            seen(f"solver.{case}.{name}", result[0] * 1e3 / a["ms"], f"times; {name}: {result[0] * 1e3:.0f} ms, too short")
        else:
            figure(f"solver.{case}.{name}", result[0] * 1e3 / a["ms"], ">=", 10, "times faster",
                   f"{name}, {count} kinds given: {result[0] * 1e3:.0f} ms, same cost")


ANSWERS = ours()
each(ANSWERS)
tight(ANSWERS)
beside(ANSWERS, "sixteen", "cbc", peer_solver.CBC, peer_solver.write_lp, ".lp")
beside(ANSWERS, "four", "gecode", peer_solver.GECODE, peer_solver.write_mzn, ".mzn")
end()
