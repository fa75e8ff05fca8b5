#!/usr/bin/env python3
"""plugins/qemu: a virtual machine comes up from its seed, is reached with the host key that it was given, and goes.

With ANNEAL_QEMU_IMAGE (a qcow2 image with cloud-init) that is booted; else a tiny machine is made for the occasion.
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import signal
import shutil
import subprocess
import time

import tiny_image
from plug import BIN, Plugin, Tap, scratch, skip

for program, package in (("qemu-system-x86_64", "qemu-system-x86"), ("qemu-img", "qemu-utils"), ("genisoimage", "genisoimage"), ("ssh", "openssh-client")):
    if not shutil.which(program):
        skip(f"no {program}: the package is {package}")
t, work = Tap(), scratch()
root = work / "qemu"
fields = {"dir": str(root), "accel": "tcg", "memory": 128, "cpus": 1, "ports": "21022-21099", "user": "root", "format": "qcow2"}
image = os.environ.get("ANNEAL_QEMU_IMAGE", "")
if image:
    fields.update(image=image, memory=1024)
else:
    try:
        kernel, initrd = tiny_image.make(BIN.parent / "tests/plugins/tiny")
    except (tiny_image.Unavailable, subprocess.TimeoutExpired) as why:
        skip(f"no machine to boot, and none could be made ({why}); ANNEAL_QEMU_IMAGE may name an image")
    base = work / "base.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", base, "4M"], check=True)
    fields.update(image=str(base), disk="8M", kernel=str(kernel), initrd=str(initrd), append="console=ttyS0 quiet panic=-1")
qemu = Plugin("qemu", fields)


def processes():
    found = []
    for p in pathlib.Path("/proc").iterdir():
        if p.name.isdigit() and int(p.name) != os.getpid():
            try:
                if os.fsencode(root / "machines") in (p / "cmdline").read_bytes():
                    found.append(int(p.name))
            except OSError:
                pass
    return found


def counted(n, label):
    deadline = time.monotonic() + 10
    while len(processes()) != n and time.monotonic() < deadline:
        time.sleep(0.02)
    cards = list((root / "machines").glob("*.json"))
    places = [p for p in (root / "machines").glob("*") if p.is_dir()]
    return t.eq((len(processes()), len(cards), len(places)), (n, n, n), label)


def ssh(made, *words):
    known, a = work / "known_hosts", made["access"]
    known.write_text("".join(f"[{made['ipaddress']}]:{a['port']} {k}\n" for k in a["host_keys"]))
    return subprocess.run(["ssh", "-F", "/dev/null", "-i", a["identity"], "-p", str(a["port"]), "-o", "BatchMode=yes",
                           "-o", f"UserKnownHostsFile={known}", "-o", "StrictHostKeyChecking=yes", "-o", "LogLevel=ERROR",
                           f"{a['user']}@{made['ipaddress']}", *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=120).stdout.strip()


def console():
    try:
        return (root / "machines/a.x/console").read_text(errors="replace")
    except OSError:
        return ""


try:
    word, made = qemu.call("create", "a.x", "k1")
    t.eq((word, made.get("ipaddress")), ("result", "127.0.0.1"), "a machine")
    counted(1, "there is one")
    t.eq(qemu.call("create", "a.x", "k1"), ("result", made), "the same key, the same machine")
    t.eq(qemu.call("find", "a.x", "k1"), ("result", {"found": True, **made}), "it is found")
    t.eq(qemu.call("find", "a.x", "k2"), ("result", {"found": False}), "by its key only")
    t.has(qemu.call("create", "a.x", "k2")[1]["text"], "made by another run", "another run does not get it")
    word, confirmed = qemu.until("confirm", "a.x", seconds=180)
    t.ok((word, confirmed) == ("result", made), "it answers", f"{word} {confirmed}\n{console()[-800:]}")
    t.eq(ssh(made, "hostname"), "a.x", "and lets us in with the host key of its seed")
    if not image:
        t.has(console(), "disk 16384", "with a disk of the size that was asked for")
        info = subprocess.run(["qemu-img", "info", "-U", root / "machines/a.x/disk.qcow2"], capture_output=True, text=True, check=False).stdout
        t.has(info, f"backing file: {base}", "over the image")

    # --- killed, and made again: the same key, disk and port
    os.kill(processes()[0], signal.SIGKILL)
    while processes():
        time.sleep(0.01)
    word, why = qemu.call("confirm", "a.x")
    t.ok(word == "error" and "has ended" in why["text"] and why["remedy"], "a machine that was killed is told", why)
    t.eq(qemu.call("create", "a.x", "k1"), ("result", made), "made again, it is what it was")
    counted(1, "there is one")
    t.eq(qemu.call("delete", "a.x"), ("result", {}), "deleted")
    counted(0, "nothing is left")
    t.eq(sorted(p.name for p in (root / "machines").iterdir()), [], "no file of it either")
    t.eq(qemu.call("delete", "a.x"), ("result", {}), "deleted twice is fine")

    # --- the plugin killed in the middle
    for turn, after in enumerate((0.05, 0.1, 0.15, 0.2, 0.3, 0.5)):
        p = qemu.begin("create", "k.x", f"t{turn}")
        try:
            p.wait(after)
        except subprocess.TimeoutExpired:
            p.kill()
        p.communicate()
        if turn % 2:
            t.eq(qemu.call("create", "k.x", f"t{turn}")[0], "result", f"killed after {after} s, created again")
            counted(1, "there is one")
        qemu.call("delete", "k.x")
        counted(0, f"killed after {after} s, deleted: nothing is left")

    # --- two at once, and what cannot be
    crowd = [qemu.begin("create", f"n{i}.x", f"n{i}") for i in range(2)]
    ports = {qemu.end(p)[1]["access"]["port"] for p in crowd}
    t.eq(len(ports), 2, "two at once have a port each")
    for i in range(2):
        qemu.call("delete", f"n{i}.x")
    for more, part in (({"image": "/nowhere"}, "is no file"), ({"ports": "x"}, "are no ports"), ({"memory": 3}, "memory is no number"),
                       ({"image": "", "kernel": ""}, "nothing to boot"), ({"program": "no-such-qemu"}, "no program no-such-qemu"),
                       ({"append": "x", "kernel": str(work / "known_hosts")}, "has ended")):
        word, why = qemu.call("create", "w.x", fields=more)
        t.ok(word == "error" and part in why["text"] and why["remedy"], f"refused: {more}", why)
        qemu.call("delete", "w.x")
    counted(0, "and nothing came of it")
finally:
    for pid in processes():
        os.kill(pid, signal.SIGKILL)
t.done()
