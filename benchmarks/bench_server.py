#!/usr/bin/env python3
"""Figures of the whole server over HTTP: scale, end to end, API reads.

    bench_server.py BUILD_DIR WORK_DIR scale|discovery|desired|endtoend|api
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time

from figures import end, figure, seen

BUILD, WORK, AREA = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]


class Server:
    def __init__(self, name, *settings):
        self.data = WORK / name
        self.settings = [x for s in settings for x in ("--set", s)]
        self.process = None

    def start(self):
        log = WORK / f"{self.data.name}.log"
        begin = time.monotonic()
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [str((BUILD / "bin/anneald").resolve()), "--data-dir", str(self.data), "--listen", "127.0.0.1:0",
                 "--set", "node_access=local", *self.settings], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        while True:
            m = re.search(rb"server\.ready.*?port=(\d+)", log.read_bytes())
            if m:
                self.port = int(m.group(1))
                break
            if self.process.poll() is not None:
                sys.exit(f"bench: the server did not start: {log.read_text()}")
            time.sleep(0.005)
        self.token = (self.data / "admin.token").read_text().strip()
        return time.monotonic() - begin

    def stop(self, signo=signal.SIGTERM):
        self.process.send_signal(signo)
        self.process.wait()

    def connect(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        c.connect()
        c.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return c

    def call(self, method, path, body=None, connection=None, headers=None):
        c = connection or self.connect()
        c.request(method, path, None if body is None else json.dumps(body),
                  {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **(headers or {})})
        reply = c.getresponse()
        text = reply.read()
        if reply.status >= 400:
            sys.exit(f"bench: {method} {path}: {reply.status} {text[:500]}")
        return json.loads(text) if text else None

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024


def catalog(roles, requires, tasks, implicit=True):
    lines = ["barclamp: bench", "version: 1.0.0", "roles:"]
    for r in range(roles):
        lines += [f"  - name: r{r}", "    jig: noop"]
        if implicit:
            lines += ["    flags: [implicit]"]
        if requires and r:
            lines += ["    requires: [" + ", ".join(f"r{x}" for x in range(max(0, r - requires), r)) + "]"]
        lines += ["    actions:", "      converge:"]
        lines += [f"        - {{name: r{r}t{t}, timeout: 10m}}" for t in range(tasks)]
    return {"origin": "bench", "files": {"bench/barclamp.yaml": "\n".join(lines) + "\n"}}


def add_nodes(server, n):
    c = server.connect()
    for i in range(n):
        server.call("POST", "/v1/nodes", {"name": f"n{i}.bench.test", "alive": "alive"}, c)


def wait_operation(server, op, patience):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        v = server.call("GET", f"/v1/operations/{op}")
        if v["state"] != "running":
            return v
        time.sleep(0.2)
    sys.exit(f"bench: operation {op} did not end: {json.dumps(v)}")


def scale():
    server = Server("scale", "worker_capacity=64")
    server.start()
    server.call("POST", "/v1/catalog", catalog(100, 6, 1))
    add_nodes(server, 100)
    latencies, errors, go = [], [], threading.Event()

    def client(k):
        c = server.connect()
        go.wait()
        for i in range(10):
            begin = time.monotonic()
            try:
                server.call("POST", "/v1/nodes", {"name": f"x{k}-{i}.bench.test"}, c)
            except (SystemExit, OSError, http.client.HTTPException) as e:
                errors.append(str(e))
                return
            latencies.append((time.monotonic() - begin) * 1000)

    clients = [threading.Thread(target=client, args=(k,)) for k in range(50)]
    for t in clients:
        t.start()
    body = {"bindings": [{"role": f"r{r}", "nodes": "n*"} for r in range(100)], "title": "scale"}
    c = server.connect()
    begin = time.monotonic()
    go.set()
    op = server.call("POST", "/v1/deployments/system/bind", body, c)["operation"]["id"]
    first = time.monotonic() - begin
    for t in clients:
        t.join()
    total = server.call("GET", "/v1/noderoles?limit=1")["total"]
    figure("scale.noderoles", total, ">=", 10000, "noderoles")
    figure("scale.first_dispatch", first, "<=", 0.5, "s")
    figure("scale.memory", server.memory_mb(), "<=", 120, "MB")
    latencies.sort()
    figure("scale.create_nodes", len(latencies), ">=", 500, "created")
    figure("scale.create_p99", latencies[int(len(latencies) * 0.99) - 1], "<=", 250, "ms")
    figure("scale.client_retries", len(errors), "<=", 0, "retries")
    server.stop(signal.SIGKILL)
    figure("scale.restart", server.start(), "<=", 0.5, "s")
    wait_operation(server, op, 120)
    figure("scale.memory_after", server.memory_mb(), "<=", 120, "MB")
    server.stop()


DISCOVERY = """barclamp: bench
version: 1.0.0
roles:
  - {name: dns, jig: noop, actions: {converge: [{name: serve}]}}
  - {name: access, jig: noop, flags: [implicit], provides: [shell-access], actions: {converge: [{name: let-in}]}}
  - {name: clock, jig: noop, flags: [implicit], requires: [dns, access], actions: {converge: [{name: set}]}}
  - {name: inventory, jig: noop, flags: [discovery, implicit], requires: [clock, shell-access], actions: {converge: [{name: look}]}}
"""


def discovery():
    """Each node gets four noderoles when it is made; what that costs the server must not grow with the nodes."""
    server = Server("discovery")
    server.start()
    server.call("POST", "/v1/catalog", {"origin": "bench", "files": {"bench/barclamp.yaml": DISCOVERY}})
    c = server.connect()

    def make(first, end):
        begin, cpu = time.monotonic(), server.cpu_s()
        for i in range(first, end):
            server.call("POST", "/v1/nodes", {"name": f"n{i}.bench.test"}, c)
        n = end - first
        return (time.monotonic() - begin) / n * 1e6, (server.cpu_s() - cpu) / n * 1e6

    make(0, 10)
    early, early_cpu = make(10, 510)
    make(510, 10000)
    late, late_cpu = make(10000, 10500)
    total = server.call("GET", "/v1/noderoles?limit=1")["total"]
    seen("discovery.node_10", early, "us a node, with its answer durable")
    seen("discovery.node_10000", late, "us a node, with its answer durable")
    figure("discovery.noderoles", total, ">=", 42000, "noderoles")
    figure("discovery.growth", late / early, "<=", 1.5, "times node 10")
    figure("discovery.cpu_growth", late_cpu / early_cpu, "<=", 1.5, "times node 10")
    server.stop()


def million(shape, requires, implicit):
    """A million tasks, killed and restarted midway. What a group writes lies together in one shape only."""
    server = Server(shape, "worker_capacity=2000", "body_limit=64MiB")
    server.start()
    server.call("POST", "/v1/catalog", catalog(50, requires, 10, implicit))
    add_nodes(server, 2000)
    body = {"bindings": [{"role": f"r{r}", "nodes": "*"} for r in range(50)], "title": "a million"}
    begin = time.monotonic()
    op = server.call("POST", "/v1/deployments/system/bind", body)["operation"]["id"]
    seen(f"endtoend.{shape}.bind", time.monotonic() - begin, "s from request to durable plan and first starts")
    while server.call("GET", f"/v1/operations/{op}")["progress"]["done"] < 500000:
        time.sleep(0.2)
    server.stop(signal.SIGKILL)
    restart = server.start()
    v = wait_operation(server, op, 300)
    took = time.monotonic() - begin
    figure(f"endtoend.{shape}.tasks", v["progress"]["done"], ">=", 1000000, "done")
    figure(f"endtoend.{shape}.million_noops", took, "<=", 60, "s", "Celery on RabbitMQ: about 950 s")
    figure(f"endtoend.{shape}.restart_midway", restart, "<=", 5, "s")
    seen(f"endtoend.{shape}.memory", server.memory_mb(), "MB")
    server.stop()


def endtoend():
    million("chain", 1, True)  # on each node one role after the other: all nodes walk through the ids together
    million("independent", 0, False)  # nothing waits for another role: each start is far from the one before


def timed(fn, times):
    """The middle of several, in milliseconds, and the last answer."""
    took = []
    for i in range(times):
        begin = time.monotonic()
        answer = fn(i)
        took.append((time.monotonic() - begin) * 1000)
    return sorted(took)[len(took) // 2], answer


def desired():
    """What is wanted of 100,000 noderoles, changed by steps, through the whole server."""
    nodes, roles = 1000, 100
    server = Server("desired", "worker_capacity=64")
    server.start()
    files = catalog(roles, 2, 1)
    text = files["files"]["bench/barclamp.yaml"]
    for r in range(roles):  # each its own: who is below sees the name, and would run again by right
        attribute = f"    attributes: {{size{r}: {{schema: {{type: integer}}, default: 1}}}}"
        text = text.replace(f"  - name: r{r}\n", f"  - name: r{r}\n{attribute}\n")
    files["files"]["bench/barclamp.yaml"] = text
    server.call("POST", "/v1/catalog", files)
    server.call("POST", "/v1/deployments", {"name": "big"})
    add_nodes(server, nodes)
    body = {"bindings": [{"role": f"r{r}", "nodes": "n*"} for r in range(roles)], "title": "desired"}
    op = server.call("POST", "/v1/deployments/big/bind", body)["operation"]["id"]
    wait_operation(server, op, 300)
    total = server.call("GET", "/v1/noderoles?deployment=big&limit=1")["total"]
    figure("desired.server.noderoles", total, ">=", nodes * roles, "noderoles")
    figure("desired.server.memory", server.memory_mb(), "<=", 400, "MB")
    c = server.connect()
    at = "/v1/deployments/big"

    def again(i):
        if i:
            server.call("DELETE", f"{at}/proposal", None, c, {"If-Match": "*"})
        begin = time.monotonic()
        server.call("POST", f"{at}/proposal", {}, c)
        return (time.monotonic() - begin) * 1000

    # Each answer waits until it is on disk: the share of the disk is what a node's change of note takes.
    disk, _ = timed(lambda i: server.call("PATCH", "/v1/nodes/n0.bench.test", {"note": str(i)}, c, {"If-Match": "*"}),
                    21)
    took = sorted(again(i) for i in range(21))[10]
    seen("desired.server.write_of_a_note", disk, "ms, on disk")
    figure("desired.server.propose", max(took - disk, 0), "<=", 1, "ms, beyond a note")

    def edit(i):
        return server.call("PATCH", f"{at}/proposal",
                           {"edits": [{"edit": "set-data", "role": f"r{i}", "nodes": f"n{i * 7}.bench.test",
                                       "data": {f"size{i}": 2}}]}, c, {"If-Match": "*"})

    took, _ = timed(edit, 10)
    figure("desired.server.edit", max(took - disk, 0), "<=", 1, "ms, beyond a note")
    took, diff = timed(lambda i: server.call("GET", f"{at}/diff", None, c), 21)
    figure("desired.server.diff_of_10", took, "<=", 5, "ms")
    if len(diff["changes"]) != 10:
        sys.exit(f"bench: the diff has {len(diff['changes'])} changes")
    before = server.call("GET", "/v1/status", None, c)["journal"]
    took, answer = timed(lambda i: server.call("POST", f"{at}/commit", {}, c), 1)
    seen("desired.server.commit_of_10", took, "ms, on disk")
    figure("desired.server.commit_touches", answer["added"] + answer["changed"] + answer["removed"], "<=", 10, "noderoles")
    done = wait_operation(server, answer["operation"]["id"], 60)
    figure("desired.server.commit_runs", done["progress"]["total"], "<=", 10, "tasks")
    seen("desired.server.commit_events", server.call("GET", "/v1/status", None, c)["journal"] - before, "events")
    figure("desired.server.memory_after", server.memory_mb(), "<=", 400, "MB")
    server.stop()
    figure("desired.server.restart", server.start(), "<=", 2, "s")
    server.stop()


def wrk(port, path, token=None):
    command = ["wrk", "-t1", "-c64", "-d5s", f"http://127.0.0.1:{port}{path}"]
    if token:
        command[1:1] = ["-H", f"Authorization: Bearer {token}"]
    out = subprocess.run(command, capture_output=True, text=True).stdout
    if "Non-2xx" in out:
        sys.exit(f"bench: {path}: {out}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))


def api():
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    server = Server("api")
    server.start()
    server.call("POST", "/v1/catalog", catalog(5, 1, 1))
    add_nodes(server, 20)
    body = json.dumps(server.call("GET", "/v1/nodes/n1.bench.test"))
    peer = subprocess.Popen([str(BUILD / "benchmarks/bench_mhd"), body], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    port = int(peer.stdout.readline())
    ratios = []
    for _ in range(3):  # interleaved, so that both see the same machine
        ceiling = wrk(port, "/")
        ours = wrk(server.port, "/v1/nodes/n1.bench.test", server.token)
        ratios.append((ours / ceiling, ours, ceiling))
    ratio, ours, ceiling = sorted(ratios)[1]
    seen("api.reads", ours, "requests/s")
    figure("api.reads_of_ceiling", ratio, ">=", 0.25, "of the ceiling", f"libmicrohttpd, fixed body: {ceiling:.0f}/s")
    peer.stdin.close()
    peer.wait()
    streams = []
    for _ in range(1000):
        s = socket.create_connection(("127.0.0.1", server.port))
        s.sendall(f"GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
                  f"Authorization: Bearer {server.token}\r\n\r\n".encode())
        streams.append(s)
    for s in streams:
        s.settimeout(10)
        if b"200" not in s.recv(512):
            sys.exit("bench: a stream was refused")
    begin = time.monotonic()
    server.call("POST", "/v1/nodes", {"name": "streamed.bench.test"})
    got = 0
    for s in streams:
        data = b""
        while b"streamed.bench.test" not in data and b"node.add" not in data:
            data += s.recv(4096)
        got += 1
    figure("api.event_streams", got, ">=", 1000, "streams told")
    seen("api.event_to_all", (time.monotonic() - begin) * 1000, "ms from request to the last of them")
    for s in streams:
        s.close()
    server.stop()


{"scale": scale, "discovery": discovery, "desired": desired, "endtoend": endtoend, "api": api}[AREA]()
end()
