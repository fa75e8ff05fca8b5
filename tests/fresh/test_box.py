#!/usr/bin/env python3
"""The box of tests/fresh: apart from the machine while it is held, and gone without trace however its holder ends.  TAP.

Its root is this machine's own, bound to a directory: what counts here is the box.
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import box as boxes  # noqa: E402
import fresh  # noqa: E402

MARK = "anneal-box-test"
MESS = f"""mount -t tmpfs {MARK} /mnt && ip link add {MARK[:12]} type bridge && (setsid sleep 98765 &) && echo made && exec sleep 98765"""


def traces(directory):
    """What of a box can be seen from the machine: mounts, interfaces, processes."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    found = [line for line in mounts.splitlines() if MARK in line or str(directory) in line]
    found += [line for line in fresh.said("ip", "-o", "link").splitlines() if MARK[:12] in line]
    return found + processes(directory)


def processes(directory):
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if "sleep 98765" in words or (str(directory) in words and "box.py" in words):
            found.append(words)
    return found


def hold(directory):
    """As a test would, for ever: its first process is told to make a mess."""
    with (directory / "log").open("w", encoding="utf-8") as log, boxes.Box(directory / "root", log) as box:
        fill(box, directory)
        box.enter()
        box.run(["sh", "-c", MESS], timeout=None)


def fill(box, directory):
    """This machine's directories, bound; it is all in the box's own mounts."""
    for name in ("bin", "sbin", "lib", "lib64", "usr", "etc"):
        real, here = pathlib.Path("/") / name, directory / "root" / name
        if real.is_symlink():
            here.symlink_to(os.readlink(real))
        elif real.is_dir():
            here.mkdir()
            box.run(["mount", "--bind", real, here])
    for name in ("proc", "sys", "run", "dev", "mnt", "tmp"):
        (directory / "root" / name).mkdir()


def until(what):
    end = time.monotonic() + 30
    while time.monotonic() < end and not what():
        time.sleep(0.02)
    return what()


def killed(tap, how):
    with tempfile.TemporaryDirectory(prefix="anneal-box-") as name:
        directory = pathlib.Path(name)
        (directory / "root").mkdir()
        holder = subprocess.Popen([sys.executable, __file__, "hold", name], stdout=subprocess.DEVNULL)
        log = directory / "log"
        tap.ok(until(lambda: log.exists() and "made" in log.read_text(encoding="utf-8")), "a box with a mount, a bridge and processes in it",
               log.read_text(encoding="utf-8") if log.exists() else "no log")
        tap.ok(len(processes(directory)) >= 2, "which can be seen from outside")
        seen = [t for t in traces(directory) if t not in processes(directory)]
        tap.ok(not seen, "mounts and interfaces are its own", "\n".join(seen))
        holder.send_signal(how)
        holder.wait()
        tap.ok(until(lambda: not traces(directory)), f"its holder ends by {how.name}: nothing is left", "\n".join(traces(directory)))
        tap.ok(os.listdir(directory / "root/mnt") == [], "and its directory is as it was before")


def main():
    why = fresh.box_without()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    tap = fresh.Tap()
    for how in (signal.SIGKILL, signal.SIGTERM):
        killed(tap, how)
    with tempfile.TemporaryDirectory(prefix="anneal-box-") as name:
        directory = pathlib.Path(name)
        (directory / "root").mkdir()
        with (directory / "log").open("w", encoding="utf-8") as log, boxes.Box(directory / "root", log) as box:
            fill(box, directory)
            box.enter()
            tap.ok(box.run(["sh", "-c", "exit 3"]) == 3, "what runs in it has an exit status")
            tap.ok(box.run(["sh", "-c", "kill -9 $$"]) == 137, "also if it is killed")
            tap.ok(box.run(["sh", "-c", "(sleep 0.1 & echo $! >/tmp/pid); while kill -0 $(cat /tmp/pid); do sleep 0.01; done 2>/dev/null"],
                           timeout=20) == 0, "orphans are buried")
            tap.ok(box.run(["unshare", "--mount", "--pid", "--fork", "true"]) == 0, "namespaces can be made in it")
            tap.ok(box.run(["sleep", "98765"], timeout=0.2) == 124, "what takes too long is told")
        tap.ok(until(lambda: not traces(directory)), "it is left: nothing is there any more", "\n".join(traces(directory)))
    return tap.done()


if __name__ == "__main__":
    if sys.argv[1:2] == ["hold"]:
        hold(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(main())
