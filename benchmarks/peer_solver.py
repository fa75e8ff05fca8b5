"""Problems of bench_solver as other solvers read them, and what those say about their own time.

Both get the kinds of node enumerated, which is what suits them best here: a variable for each kind and its number of
nodes, one row for each service.  With variables for each node they would drown in nodes that can be exchanged.
"""
# SPDX-License-Identifier: Apache-2.0
import re
import shutil
import subprocess

GECODE, CBC = shutil.which("minizinc"), shutil.which("cbc")


def kinds(problem):
    """Every (services, hardware) that fits."""
    services, found = problem["services"], []
    for h, hardware in enumerate(problem["hardware"]):
        level = [((), tuple(hardware["capacity"]))]
        while level:
            longer = []
            for chosen, room in level:
                for s in range(chosen[-1] + 1 if chosen else 0, len(services)):
                    left = tuple(a - b for a, b in zip(room, services[s]["demand"]))
                    if min(left, default=0) >= 0:
                        longer.append((chosen + (s,), left))
            found += [(chosen, h) for chosen, _ in longer]
            level = longer
    return found


def write_lp(problem, path):
    """The format of CPLEX, which CBC reads."""
    k = kinds(problem)

    def total(terms):
        lines, row = [], ""
        for t in terms:
            row += t
            if len(row) > 200:
                lines, row = lines + [row], ""
        return "\n ".join(lines + [row])

    with open(path, "w") as out:
        out.write("Minimize\n cost: " + total(f"+ {problem['hardware'][h]['cost']} x{i} " for i, (_, h) in enumerate(k)))
        out.write("\nSubject To\n nodes: " + total(f"+ x{i} " for i in range(len(k))) + f"= {problem['nodes']}\n")
        for s, service in enumerate(problem["services"]):
            have = [f"+ x{i} " for i, (chosen, _) in enumerate(k) if s in chosen]
            out.write(f" low{s}: {total(have)}>= {service['min']}\n high{s}: {total(have)}<= {service['max']}\n")
        out.write("General\n " + total(f"x{i} " for i in range(len(k))) + "\nEnd\n")
    return len(k)


def write_mzn(problem, path):
    k = kinds(problem)
    n = problem["nodes"]
    with open(path, "w") as out:
        out.write(f"array[1..{len(k)}] of var 0..{n}: x;\n")
        out.write(f"array[1..{len(k)}] of int: cost = {[problem['hardware'][h]['cost'] for _, h in k]};\n")
        most = n * max(h["cost"] for h in problem["hardware"])
        out.write(f"var 0..{most}: total = sum(i in 1..{len(k)})(cost[i] * x[i]);\n")
        out.write(f"constraint sum(x) = {n};\n")
        for s, service in enumerate(problem["services"]):
            have = " + ".join(f"x[{i + 1}]" for i, (chosen, _) in enumerate(k) if s in chosen)
            out.write(f"constraint {have} >= {service['min']} /\\ {have} <= {service['max']};\n")
        order = sorted(range(len(k)), key=lambda i: (problem["hardware"][k[i][1]]["cost"], -len(k[i][0])))
        out.write(f"solve :: int_search([x[i] | i in {[i + 1 for i in order]}], input_order, indomain_max)\n"
                  "  minimize total;\noutput [\"total=\\(total)\\n\"];\n")
    return len(k)


def output(command, seconds):
    """What it printed; nothing if it did not end."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=seconds).stdout
    except subprocess.TimeoutExpired:
        return ""


def cbc(path, seconds):
    """(seconds by its own account, cost) or None if it did not end."""
    out = output([CBC, path, "sec", str(seconds), "ratioGap", "0", "allowableGap", "0", "solve", "quit"], seconds)
    value = re.search(r"Objective value:\s+([0-9.]+)", out)
    time = re.search(r"Total time \(CPU seconds\):\s+([0-9.]+)", out)
    if "Optimal solution found" not in out or not value or not time:
        return None
    return float(time.group(1)), round(float(value.group(1)))


def gecode(path, seconds):
    out = output([GECODE, "--solver", "gecode", "-s", path], seconds)
    totals = re.findall(r"total=(\d+)", out)
    time = re.search(r"solveTime=([0-9.]+)", out)
    if "==========" not in out or not totals or not time:
        return None
    return float(time.group(1)), int(totals[-1])
