#!/usr/bin/env python3
"""plugins/netns: hosts come, can be reached with strict host keys, and go without a trace, whatever is killed.

What there is, is counted: processes by the directory in their command lines, the namespaces these are in, mounts,
interfaces and files.  anneal-host makes no cgroups.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from plug import BIN, Plugin, Tap, own_network, scratch

own_network()
t, work = Tap(), scratch()
root = work / "hosts"
netns = Plugin("netns", {"dir": str(root), "network": "10.89.0.0/24", "bridge": "plugtest", "program": str(BIN / "anneal-host"),
                         "disk": "memory", "size": "32m"})


def processes():
    found = []
    for p in pathlib.Path("/proc").iterdir():
        if p.name.isdigit() and int(p.name) != os.getpid():
            try:
                if os.fsencode(root) in (p / "cmdline").read_bytes():
                    found.append(int(p.name))
            except OSError:
                pass
    return found


def links():
    found = json.loads(subprocess.run(["ip", "-json", "link"], capture_output=True, text=True, check=True).stdout)
    return sorted(x["ifname"] for x in found if x["ifname"] != "lo")


def bridge_mac():
    found = json.loads(subprocess.run(["ip", "-json", "link", "show", "plugtest"], capture_output=True, text=True, check=True).stdout)
    return found[0]["address"]


def census():
    """Hosts: by processes (an owner and an init each), by network namespaces, by interfaces, by files; then mounts here."""
    pids, spaces = processes(), set()
    for pid in pids:
        try:
            spaces.add(os.readlink(f"/proc/{pid}/ns/net"))
        except OSError:
            pass
    spaces.discard(os.readlink("/proc/self/ns/net"))
    files = root / "hosts"
    return {"processes": len(pids), "namespaces": len(spaces), "links": len([x for x in links() if x != "plugtest"]),
            "bridge": "plugtest" in links(), "cards": len(list(files.glob("*.json"))),
            "directories": len([p for p in files.glob("*") if p.is_dir()]) if files.exists() else 0,
            "mounts": pathlib.Path("/proc/self/mountinfo").read_text().count(str(root))}


def hosts(n):
    return {"processes": 2 * n, "namespaces": n, "links": n, "bridge": n > 0, "cards": n, "directories": n, "mounts": 0}


def counted(n, label):
    """The kernel takes an interface away a moment after its namespace."""
    deadline = time.monotonic() + 10
    while census() != hosts(n) and time.monotonic() < deadline:
        time.sleep(0.02)
    return t.eq(census(), hosts(n), label)


def ssh(made, *words):
    known, a = work / "known_hosts", made["access"]
    known.write_text("".join(f"{made['ipaddress']} {k}\n" for k in a["host_keys"]))
    return subprocess.run(["ssh", "-F", "/dev/null", "-i", a["identity"], "-p", str(a["port"]), "-o", "BatchMode=yes",
                           "-o", f"UserKnownHostsFile={known}", "-o", "StrictHostKeyChecking=yes", "-o", "LogLevel=ERROR",
                           f"{a['user']}@{made['ipaddress']}", *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=60).stdout.strip()


# --- one
counted(0, "nothing at first")
word, made = netns.call("create", "a.x", "k1")
t.eq((word, made.get("ipaddress")), ("result", "10.89.0.2"), "a host")
word, confirmed = netns.until("confirm", "a.x")
t.eq((word, confirmed), ("result", made), "that answers")
t.eq(ssh(made, "hostname"), "a.x", "and lets us in at once, with a host key that is pinned")
counted(1, "there is one")
t.eq(netns.call("create", "a.x", "k1"), ("result", made), "the same key, the same host")
t.eq(netns.call("find", "a.x", "k1"), ("result", {"found": True, **made}), "it is found")
t.eq(netns.call("find", "a.x", "k2"), ("result", {"found": False}), "by its key only")
t.has(netns.call("create", "a.x", "k2")[1]["text"], "made by another run", "another run does not get it")
counted(1, "there still is one")
t.eq(netns.call("delete", "a.x"), ("result", {}), "deleted")
counted(0, "nothing is left")
t.eq(sorted(p.name for p in (root / "hosts").iterdir()), [], "no file of it either")
t.eq(netns.call("delete", "a.x"), ("result", {}), "deleted twice is fine")

# --- what cannot be
for fields, part in (({"network": "10.89.0.0/30"}, "no size for hosts"), ({"network": "x"}, "network:"), ({"dir": "here"}, "begins with /"),
                     ({"program": "/nowhere"}, "no program anneal-host at /nowhere"), ({"network": "127.0.0.0/24"}, "is in use: lo has"),
                     ({"size": "0"}, "has ended: anneal-host: --size")):
    word, why = netns.call("create", "b.x", fields=fields)
    t.ok(word == "error" and part in why["text"] and why["remedy"], f"refused: {fields}", why)
    netns.call("delete", "b.x")
t.has(netns.call("create", "b." + "x" * 80)[1]["text"], "longer than 63", "refused: a name that is too long for a host")
counted(0, "and nothing came of it")

# --- many at once
crowd = [netns.begin("create", f"n{i}.x", f"n{i}") for i in range(6)]
made = [netns.end(p)[1] for p in crowd]
t.eq(len({m.get("ipaddress") for m in made}), 6, "six at once have an address each")
counted(6, "and there are six")
t.eq(bridge_mac(), "02:77:0a:59:00:01", "their bridge has an address of its own, which none of them takes away with it")
crowd = [netns.begin("delete", f"n{i}.x") for i in range(6)]
t.eq([netns.end(p)[0] for p in crowd], ["result"] * 6, "six at once are deleted")
counted(0, "nothing is left")

# --- a host that dies
made = netns.call("create", "a.x", "k1")[1]
netns.until("confirm", "a.x")
os.kill(int((root / "hosts/a.x/pid").read_text()), signal.SIGKILL)
while processes():
    time.sleep(0.01)
word, why = netns.call("confirm", "a.x")
t.ok(word == "error" and "has ended" in why["text"], "a host that was killed is told", why)
t.eq(netns.call("find", "a.x", "k1"), ("result", {"found": False}), "it is not found")
word, again = netns.call("create", "a.x", "k1")
t.eq((word, again["ipaddress"]), ("result", made["ipaddress"]), "made again by the same key, where it was")
netns.until("confirm", "a.x")
t.eq(ssh(again, "hostname"), "a.x", "and it can be reached")
counted(1, "there is one")
os.kill(int((root / "hosts/a.x/pid").read_text()), signal.SIGKILL)
t.eq(netns.call("delete", "a.x"), ("result", {}), "killed and deleted at once")
counted(0, "nothing is left")

# --- kills in the middle: of the plugin, of the runner above it, of anneal-host
random.seed(11)
strict = [str(BIN / "anneal-runner"), "--lock", str(work / "lock"), "--task", "1", "--grace", "1000"]
runner = [*strict, "--leaves", "1"]
attempt = 0
for turn in range(18):
    kind = ("plugin", "runner", "anneal-host")[turn % 3]
    attempt += 1
    before = [*runner, "--attempt", str(attempt), "--"] if kind != "plugin" else []
    p = netns.begin("create", "k.x", f"t{turn}", before=before)
    try:
        p.wait(random.uniform(0.02, 0.5))
    except subprocess.TimeoutExpired:
        pass
    for pid in [p.pid] if kind != "anneal-host" else [q for q in processes() if q != p.pid][:1]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    p.communicate()
    if turn % 2:
        word, made = netns.call("create", "k.x", f"t{turn}")
        good = t.eq(word, "result", f"{turn}: {kind} killed, created again") and netns.until("confirm", "k.x")[0] == "result"
        good = good and ssh(made, "hostname") == "k.x"
        t.ok(good, f"{turn}: it can be reached")
        counted(1, f"{turn}: there is one")
    netns.call("delete", "k.x")
    counted(0, f"{turn}: {kind} killed, deleted: nothing is left")

# --- under the runner it stays when all went well, and only then
p = netns.begin("create", "r.x", "r1", before=[*runner, "--attempt", str(attempt + 1), "--"])
t.eq((netns.end(p)[0], p.returncode), ("result", 0), "under the runner")
counted(1, "the host stays")
netns.call("delete", "r.x")
counted(0, "until it is deleted")
p = netns.begin("create", "r.x", "r2", before=[*strict, "--attempt", str(attempt + 2), "--"])
t.eq(netns.end(p)[0], "result", "under a runner that spares nobody")
deadline = time.monotonic() + 10
while processes() and time.monotonic() < deadline:
    time.sleep(0.02)
t.eq(processes(), [], "it does not")
netns.call("delete", "r.x")
counted(0, "nothing is left in the end")
t.done()
