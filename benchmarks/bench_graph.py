#!/usr/bin/env python3
"""Figures of task graphs, beside networkx in the same run.

    bench_graph.py BUILD_DIR WORK_DIR FUEL_DIR
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys
import time

from figures import end, figure, seen

BUILD, WORK, FUEL = (pathlib.Path(a) for a in sys.argv[1:4])
HERE = pathlib.Path(__file__).parent


def ours(*args):
    out = subprocess.run([BUILD / "benchmarks/bench_graph", *args], stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout)


def peer(vertices, edges):
    """By the interpreter that Debian's package is for."""
    out = subprocess.run(["/usr/bin/python3", HERE / "peer_networkx.py", str(vertices), edges],
                         stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout)


def real():
    settings = HERE.parent / "tests/e2e/fuel-settings.json"
    mine = ours("real", FUEL, WORK, settings)
    plain = peer(mine["tasks"], WORK / "plain.bin")
    joined = peer(mine["vertices"], WORK / "joined.bin")
    # The peer takes half a minute, we take moments: measured on both sides of it, so that one bad moment of the
    # machine is not taken for our speed.
    behind = ours("real", FUEL, WORK, settings)
    for key in ("cpu", "cpu_first", "cpu_again"):
        mine[key] = min(mine[key], behind[key])
    seen("graph.real.tasks", mine["tasks"], "tasks and stages on 2,000 nodes")
    seen("graph.real.plain", mine["plain"], "dependencies")
    seen("graph.real.joined", mine["joined"], f"with {mine['joins']} joins")
    seen("graph.real.cpu", mine["cpu"] * 1000, "ms of CPU, from a parsed catalog to an ordered plan")
    figure("graph.real.times_plain", plain["cpu"] / mine["cpu"], ">=", 500, "times less CPU",
           f"networkx, edges given: {plain['cpu']:.1f} s")
    figure("graph.real.times_joined", joined["cpu"] / mine["cpu"], ">=", 15, "times less CPU",
           f"networkx, our joined edges given: {joined['cpu']:.2f} s")
    seen("graph.real.conditions", mine["evaluated"], f"conditions; {mine['left_again']} tasks left out on redeploy")
    slower = max(mine["cpu_first"], mine["cpu_again"])
    figure("graph.real.times_conditions", plain["cpu"] / slower, ">=", 100, "times less CPU, every condition",
           f"{slower * 1000:.0f} ms; at first {mine['cpu_first'] * 1000:.0f}, again {mine['cpu_again'] * 1000:.0f}")
    figure("graph.real.memory", mine["mb"], "<=", 60, "MB", f"networkx: {plain['mb']:.0f} MB")


def random():
    mine = ours("random", WORK)
    other = peer(1000000, WORK / "random.bin")
    seen("graph.random.edges", mine["edges"], "edges of 1,000,000 tasks")
    figure("graph.random.times", other["cpu"] / mine["cpu"], ">=", 100, "times less CPU",
           f"networkx: {other['cpu']:.1f} s")
    figure("graph.random.memory", other["mb"] / mine["mb"], ">=", 10, "times less",
           f"networkx: {other['mb']:.0f} MB")
    figure("graph.random.bare", mine["cpu"] / mine["bare"], "<=", 2, "of a bare sort",
           f"CSR and Kahn: {mine['bare'] * 1000:.0f} ms")


def whole():
    """Files to a plan on disk."""
    catalog = WORK / "catalog"
    anneal = BUILD / "src/bin/anneal"
    subprocess.run([anneal, "-q", "import", "fuel", FUEL, catalog], check=True, stdout=subprocess.DEVNULL)
    tags = ["controller", "rabbitmq", "database", "keystone", "neutron"]
    nodes = [{"name": "1", "roles": ["primary-" + t for t in tags]}]
    nodes += [{"name": str(i), "roles": tags} for i in (2, 3)]
    nodes += [{"name": str(i), "roles": ["compute"]} for i in range(4, 504)]
    vrouter = {"ipaddr": "10.0.0.1", "node_roles": ["controller", "primary-controller"]}
    (WORK / "nodes.yaml").write_text(json.dumps(
        {"common": {"network_metadata": {"vips": {"vrouter": vrouter}}}, "nodes": nodes}))
    best = 1e9
    for _ in range(3):
        begun = time.monotonic()
        with open(WORK / "plan.json", "wb") as out:
            subprocess.run([anneal, "plan", catalog, "--nodes", WORK / "nodes.yaml", "-o", "json"], check=True,
                           stdout=out)
        best = min(best, time.monotonic() - begun)
    tasks = sum(t["type"] != "join" for t in json.loads((WORK / "plan.json").read_text())["tasks"])
    seen("graph.whole.tasks", tasks, "tasks and stages on 503 nodes")
    figure("graph.whole.seconds", best, "<=", 0.3, "s, YAML to JSON")


if FUEL.is_dir():
    real()
    whole()
else:
    print("graph: the real task files are not here: ANNEAL_TEST_DATA", flush=True)
random()
end()
