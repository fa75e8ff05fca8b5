#!/usr/bin/env python3
"""Figures of tasks on hosts over ssh, beside what an operator would pick instead, on the same hosts in the same run.

    bench_fleet.py BUILD_DIR WORK_DIR FLEET_SCRIPT

Each side does its work three times, in turns, from cold connections; the best counts.  CPU is that of everything a side
starts on the controller's side, children included; the hosts' own is not.  The server journals every task with
synchronous=FULL on the same disk.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

from figures import end, figure, seen

BUILD, WORK, FLEET = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
BIN = BUILD / "bin"
ROUNDS, TASKS = 3, 20
FILES, FILE_BYTES = 200, 8192
CONNECTIONS = 1000
IDLE = "10m"  # longer than a slow machine takes to make that many: the first ones are idle meanwhile
KEX = "curve25519-sha256"


class Fleet:
    """N hosts; programs of the controller are run in its network."""

    def __init__(self, n):
        self.n, self.dir = n, WORK / f"bed{n}"
        self.env = dict(os.environ, ANNEAL_BED_DIR=str(self.dir), ANNEAL_BIN_DIR=str(BIN))
        subprocess.run([FLEET, "up", str(n)], env=self.env, check=True, stdout=subprocess.DEVNULL)
        self.names = (self.dir / "names").read_text().split()
        self.ssh = ["ssh", "-n", "-F", str(self.dir / "ssh_config"), "-o", f"KexAlgorithms={KEX}"]
        self.masters = self.dir / "masters"
        self.masters.mkdir()
        self.mux = self.ssh + ["-o", "ControlMaster=auto", "-o", "ControlPersist=60s", "-o", f"ControlPath={self.masters}/%h"]

    def enter(self, *words, **more):
        return subprocess.run([FLEET, "enter", *words], env=self.env, **more)

    def address(self, name):
        return re.search(rf"^(\S+)\s+{name}$", (self.dir / "hosts").read_text(), re.M).group(1)

    def cold(self):
        """Masters that a peer left behind end with it."""
        for socket in self.masters.iterdir():
            subprocess.run([FLEET, "enter", "ssh", "-F", str(self.dir / "ssh_config"), "-o", f"ControlPath={socket}", "-O",
                            "exit", "x"], env=self.env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            socket.unlink(missing_ok=True)

    def down(self):
        subprocess.run([FLEET, "down"], env=self.env, check=True, stdout=subprocess.DEVNULL)


def children_cpu():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def timed(run):
    """Wall and CPU of a call and all its children that have ended."""
    cpu, begun = children_cpu(), time.monotonic()
    run()
    return time.monotonic() - begun, children_cpu() - cpu


def tree_cpu(pid):
    """Of a process that lives, with its children that have ended and those that live."""
    tick, total, todo = os.sysconf("SC_CLK_TCK"), 0, [pid]
    while todo:
        at = todo.pop()
        try:
            stat = pathlib.Path(f"/proc/{at}/stat").read_text().rsplit(")", 1)[1].split()
            total += sum(int(stat[i]) for i in (11, 12, 13, 14)) / tick
            for task in pathlib.Path(f"/proc/{at}/task").iterdir():
                todo += [int(c) for c in (task / "children").read_text().split()]
        except OSError:
            pass
    return total


class Server:
    """A server, with its worker unless a setting says otherwise, as the controller."""

    def __init__(self, fleet, name, *settings):
        self.fleet, self.data = fleet, WORK / f"data-{name}"
        shutil.rmtree(self.data, ignore_errors=True)
        log = WORK / f"{name}.log"
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [FLEET, "enter", BIN / "anneald", "--data-dir", self.data, "--listen", "127.0.0.1:0",
                 "--set", f"ssh_identity={fleet.dir}/key", "--set", f"ssh_kex={KEX}", "--set", "ssh_transport=libssh",
                 "--set", "worker_capacity=1000", "--set", "probe_interval=0", *settings],  # no probe connects before us
                env=fleet.env, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        while not (m := re.search(rb"server\.ready.*?port=(\d+)", log.read_bytes())):
            if self.process.poll() is not None:
                sys.exit(f"bench: the server did not start: {log.read_text()}")
            time.sleep(0.005)
        self.env = dict(fleet.env, ANNEAL_SERVER=f"http://127.0.0.1:{int(m.group(1))}",
                        ANNEAL_TOKEN_FILE=str(self.data / "admin.token"))

    def anneal(self, *words):
        out = subprocess.run([FLEET, "enter", BIN / "anneal", *words, "-o", "json"], env=self.env, check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return json.loads(out.stdout) if out.stdout.strip() else None

    def prepare(self, catalog, nodes=0):
        """A catalog and the hosts as nodes; more nodes than hosts are several names of each."""
        where = WORK / "catalog" / "bench"
        shutil.rmtree(where.parent, ignore_errors=True)
        where.mkdir(parents=True)
        (where / "barclamp.yaml").write_text(json.dumps(catalog))
        self.anneal("-q", "catalog", "load", str(where.parent))
        hosts, rows = self.fleet.names, []
        for i in range(nodes or len(hosts)):
            name, again = hosts[i % len(hosts)], i // len(hosts)
            rows.append(f"{name}{'-' + str(again) if again else ''}.t {self.fleet.address(name)}")
        subprocess.run([FLEET, "enter", "sh", "-c", 'while read -r name address; do "$0" -q node add "$name" --address "$address" '
                        "--alive alive </dev/null || exit; done", BIN / "anneal"], env=self.env, check=True, input="\n".join(rows).encode() + b"\n")

    def bind(self, role):
        """Wall and CPU from the request to the end of the operation, the request's own process included."""
        own = tree_cpu(self.process.pid)
        wall, asked = timed(lambda: self.anneal("-q", "deployment", "bind", "system", f"{role}=*", "--wait=600s"))
        return wall, tree_cpu(self.process.pid) - own + asked

    def stop(self):
        self.process.terminate()
        self.process.wait()


def chains(fleet):
    """Which chains each host knows of: every chain is one message to it, and so a round trip."""
    found = {}
    for name in fleet.names:
        init = (fleet.dir / "hosts.d" / name / "init.pid").read_text().strip()
        found[name] = set(os.listdir(f"/proc/{init}/root/run/anneal/chains"))
    return found


def role(name, tasks, jig="shell"):
    return {"name": name, "jig": jig, "actions": {"converge": tasks}}


CATALOG = {"barclamp": "bench", "version": "1", "roles": [
    role("twenty", [{"name": f"t{i}", "params": {"command": ["true"]}} for i in range(TASKS)]),
    role("one", [{"name": "one", "params": {"command": ["true"]}}]),
    role("file", [{"name": "put", "params": {"path": "/srv/bench.conf", "data": "x" * 4096}}], "upload_file")]}


def ours(fleet, name, what):
    """From cold: a server that has never spoken to a host.  All tasks are in its journal and their logs kept."""
    server = Server(fleet, name)
    server.prepare(CATALOG)
    result = server.bind(what)
    done = server.anneal("status")["tasks"]
    if done.get("DONE", 0) != len(fleet.names) * (TASKS if what == "twenty" else 1):
        sys.exit(f"bench: {what}: {done}")
    # The next server's tasks have the same numbers: what nodes know of ours would be in their way.
    deadline = time.monotonic() + 60
    while any(chains(fleet).values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    server.stop()
    return result


def playbook(fleet, strategy, tasks):
    path = fleet.dir / f"play-{strategy}-{tasks}.yml"
    path.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "strategy": strategy,
                                 "tasks": [{"shell": "true"}] * tasks}]))
    config = fleet.dir / "ansible.cfg"
    config.write_text(f"[defaults]\nforks=50\nhost_key_checking=False\nretry_files_enabled=False\n"
                      f"inventory={fleet.dir}/inventory.ini\nstdout_callback=minimal\n"
                      f"[ssh_connection]\npipelining=True\nssh_args=-F {fleet.dir}/ssh_config -o KexAlgorithms={KEX} "
                      f"-o ControlMaster=auto -o ControlPersist=60s\ncontrol_path_dir={fleet.masters}\n")
    return lambda: fleet.enter("env", f"ANSIBLE_CONFIG={config}", "ANSIBLE_LOCAL_TEMP=" + str(fleet.dir / "ansible"),
                               "ansible-playbook", str(path), check=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)


def xargs(fleet, command):
    """A shell command for each host, fifty at once."""
    def run():
        fleet.enter("xargs", "-P", "50", "-I{}", "sh", "-c", command, check=True, input="\n".join(fleet.names).encode(),
                    stdout=subprocess.DEVNULL)
    return run


def fan(fleet, program, ssh, times):
    hosts = ",".join(fleet.names)
    rsh = " ".join(ssh[2:]).replace("%", "%%")  # it has signs of its own
    words = (["pdsh", "-S", "-R", "exec", "-f", "50", "-w", hosts, *ssh, "%h", "true"] if program == "pdsh" else
             ["clush", "-S", "-q", "-f", "50", "-o", rsh, "-w", hosts, "true"])

    def run():
        for _ in range(times):
            fleet.enter(*words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return run


def best_of(fleet, sides, rounds=ROUNDS):
    """{side: (wall, cpu)}: the best wall, with its CPU; sides take turns, so that noise is everybody's."""
    best = {}
    for _ in range(rounds):
        for side, run in sides.items():
            fleet.cold()
            try:
                result = run() if side == "anneal" else timed(run)
            except subprocess.CalledProcessError as why:  # a peer that loses a host has no time to compare with
                print(f"bench: {side} failed with status {why.returncode} and is asked again", flush=True)
                fleet.cold()
                result = timed(run)
            if side not in best or result[0] < best[side][0]:
                best[side] = result
    fleet.cold()
    return best


def told(prefix, best):
    for side, (wall, cpu) in best.items():
        seen(f"{prefix}.{side}", wall, f"s, {cpu:.2f} s of CPU")


def sequential(fleet):
    n = fleet.n
    mux = " ".join(fleet.mux)
    loop = f"for i in $(seq {TASKS}); do {mux} {{}} true || exit 255; done"
    sides = {"anneal": lambda: ours(fleet, f"seq{n}", "twenty"),
             "xargs": xargs(fleet, loop),
             "pdsh": fan(fleet, "pdsh", fleet.mux, TASKS),
             "clush": fan(fleet, "clush", fleet.mux, TASKS)}
    best = best_of(fleet, sides)
    # The slowest peers take minutes a round; noise does not matter at that length.
    best |= best_of(fleet, {f"ansible-{s}": playbook(fleet, s, TASKS) for s in ("linear", "free")}, 1)
    told(f"fleet.{n}.twenty", best)
    wall, cpu = best["anneal"]
    ansible = min((best["ansible-linear"], best["ansible-free"]))
    other = min(best[s][0] for s in ("xargs", "pdsh", "clush"))
    figure(f"fleet.{n}.twenty.ansible", ansible[0] / wall, ">=", 50, "times faster", f"ansible: {ansible[0]:.1f} s")
    figure(f"fleet.{n}.twenty.multiplexed", other / wall, ">=", 2.5, "times faster", f"best of three: {other:.2f} s")
    figure(f"fleet.{n}.twenty.cpu", ansible[1] / cpu, ">=", 50, "times less CPU", f"ansible: {ansible[1]:.1f} s")


def one_command(fleet):
    plain = " ".join(fleet.ssh)
    best = best_of(fleet, {"anneal": lambda: ours(fleet, "one", "one"),
                           "xargs": xargs(fleet, f"{plain} {{}} true"),
                           "pdsh": fan(fleet, "pdsh", fleet.ssh, 1),
                           "clush": fan(fleet, "clush", fleet.ssh, 1)})
    told(f"fleet.{fleet.n}.one", best)
    other = min(best[s][0] for s in ("xargs", "pdsh", "clush"))
    figure(f"fleet.{fleet.n}.one", best["anneal"][0] / other, "<=", 1, "of the best peer", f"{other:.2f} s")


def upload(fleet):
    plain = " ".join(w for w in fleet.ssh if w != "-n")
    source = fleet.dir / "bench.conf"
    source.write_text("x" * 4096)
    scp = f"scp -q -F {fleet.dir}/ssh_config -o KexAlgorithms={KEX}"
    best = best_of(fleet, {"anneal": lambda: ours(fleet, "file", "file"),
                           "xargs": xargs(fleet, f"{plain} {{}} 'cat >/srv/bench.conf' <{source}"),
                           "scp": xargs(fleet, f"{scp} {source} {{}}:/srv/bench.conf")})
    told(f"fleet.{fleet.n}.upload", best)
    other = min(best[s][0] for s in ("xargs", "scp"))
    figure(f"fleet.{fleet.n}.upload", best["anneal"][0] / other, "<=", 1, "of the best peer", f"{other:.2f} s")


def bytes_sent(fleet):
    """By the controller to all hosts together, so far."""
    out = fleet.enter("cat", "/sys/class/net/br77/statistics/tx_bytes", check=True, stdout=subprocess.PIPE).stdout
    return int(out)


def unchanged(fleet):
    """A tree of files that is as it should be: asked for again, over connections that stand."""
    tree = fleet.dir / "tree"
    tree.mkdir()
    for i in range(FILES):
        (tree / f"f{i:03}").write_bytes(os.urandom(FILE_BYTES))
    catalog = {"barclamp": "bench", "version": "1", "roles": [
        role("tree", [{"name": "copy", "params": {"files": [{"src": str(tree), "dst": "/srv/tree"}]}}], "copy_files")]}
    mux = " ".join(w for w in fleet.mux if w != "-n")
    peer = xargs(fleet, f"rsync -a -e '{mux}' {tree}/ {{}}:/srv/peer/")
    server = Server(fleet, "tree")
    server.prepare(catalog)
    seen(f"fleet.{fleet.n}.tree.first", server.bind("tree")[0], "s")
    peer()
    best, other, trips, sent = [], [], 0, 0
    for _ in range(ROUNDS):
        before, bytes_before = chains(fleet), bytes_sent(fleet)
        best.append(timed(lambda: server.anneal("-q", "role", "rerun", "tree", "--wait=600s"))[0])
        sent = max(sent, bytes_sent(fleet) - bytes_before)
        trips = max(trips, max(len(now - before[name]) for name, now in chains(fleet).items()))
        other.append(timed(peer)[0])
    server.stop()
    fleet.cold()
    name = f"fleet.{fleet.n}.unchanged"
    seen(f"{name}.anneal", min(best), "s")
    figure(f"{name}.trips", trips, "<=", 1, "a host")
    figure(f"{name}.sent", sent / fleet.n / (FILES * FILE_BYTES), "<=", 0.03, "of the contents", f"{sent / fleet.n / 1024:.1f} kB a host")
    seen(f"{name}.rsync", min(other), "s, by time and size of files; ours compares contents")


class Worker:
    """anneal-worker as a program of its own, with the server's own worker switched off."""

    def __init__(self, fleet, transport):
        self.fleet, self.log = fleet, WORK / f"worker-{transport}.log"
        self.server = Server(fleet, f"conn-{transport}", "--set", "worker_enabled=false")
        state = WORK / f"worker-{transport}"
        shutil.rmtree(state, ignore_errors=True)
        words = [FLEET, "enter", BIN / "anneal-worker", "--state", state, "--name", "bench"]
        token = subprocess.run([FLEET, "enter", BIN / "anneal", "worker", "token", "--name", "bench"], env=self.server.env, check=True,
                               stdout=subprocess.PIPE).stdout
        subprocess.run([*words, "--join-file", "-", "--join-only"], input=token, env=fleet.env, check=True, stderr=subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [*words, "--set", f"ssh_identity={fleet.dir}/key", "--set", f"ssh_kex={KEX}", "--set", f"ssh_transport={transport}",
             "--set", "capacity=1000", "--set", f"ssh_idle={IDLE}", "--set", "log_level=debug"], env=fleet.env, stderr=open(self.log, "wb"))

    def pids(self):
        """Of the worker and everything that it has started."""
        found, todo = [], [self.process.pid]
        while todo:
            at = todo.pop()
            found.append(at)
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                for task in pathlib.Path(f"/proc/{at}/task").iterdir():
                    todo += [int(c) for c in (task / "children").read_text().split()]
        return found

    def pss(self):
        total = 0
        for pid in self.pids():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                total += int(re.search(r"^Pss:\s+(\d+)", rollup, re.M).group(1))
        return total / 1024

    def connections(self):
        mine = set()
        for pid in self.pids():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                    with contextlib.suppress(OSError):
                        mine.add(os.readlink(fd))
        table = pathlib.Path(f"/proc/{self.process.pid}/net/tcp").read_text().splitlines()[1:]
        rows = [line.split() for line in table]
        return sum(r[3] == "01" and r[2].endswith(":0016") and f"socket:[{r[9]}]" in mine for r in rows)

    def closed(self):
        """{why: how many} of connections that do not stand any more."""
        return collections.Counter(re.findall(r"ssh\.closed .*?why=(\"[^\"]*\"|\S+)", self.log.read_text()))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.server.stop()


def connections(fleet):
    """Memory of a worker that has a thousand connections, all of which have just run something."""
    for transport, bar in (("libssh", 90), ("openssh", None)):
        worker = Worker(fleet, transport)
        worker.server.prepare(CATALOG, CONNECTIONS)
        worker.server.bind("one")
        # At rest: everything was acknowledged, the connections stand.
        deadline = time.monotonic() + 30
        while any(chains(fleet).values()) and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(8)
        stand, pss, closed = worker.connections(), worker.pss(), worker.closed()
        worker.stop()
        if bar and stand != CONNECTIONS:
            sys.exit(f"bench: {stand} of {CONNECTIONS} connections stand; closed: {dict(closed)}")
        name = f"fleet.connections.{transport}"
        if bar:
            figure(name, pss, "<=", bar, "MB by PSS", f"{CONNECTIONS} connections, worker and children")
        else:
            seen(name, pss, f"MB by PSS, {stand} connections, worker and masters")


PARTS = {"twenty": sequential, "one": one_command, "upload": upload, "unchanged": unchanged, "connections": connections}


def main():
    if os.geteuid() != 0:
        print("fleet: hosts in namespaces need root", flush=True)
        end()
    sizes = [int(n) for n in os.environ.get("ANNEAL_BENCH_HOSTS", "50 200").split()]
    parts = os.environ.get("ANNEAL_BENCH_PARTS", " ".join(PARTS)).split()
    for n in sizes:
        fleet = Fleet(n)
        try:
            for part in parts:
                if part == "twenty" or n == sizes[-1]:
                    PARTS[part](fleet)
        finally:
            fleet.down()
    end()


main()
