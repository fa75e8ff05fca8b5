"""What the tests of the plugins share: TAP, and calls of a plugin as a worker makes them.

SPDX-License-Identifier: Apache-2.0
"""
import atexit
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(os.environ.get("ANNEAL_TOP") or pathlib.Path(__file__).resolve().parents[2])
BIN = pathlib.Path(os.environ.get("ANNEAL_BIN_DIR") or TOP / "build/bin")


class Tap:
    def __init__(self):
        self.points = self.failures = 0

    def ok(self, good, label, detail=""):
        self.points += 1
        self.failures += not good
        print(f"{'ok' if good else 'not ok'} {self.points} - {label}", flush=True)
        if not good and str(detail):
            print("\n".join("#   " + line for line in str(detail).splitlines()[:12]), flush=True)
        return bool(good)

    def eq(self, got, wanted, label):
        return self.ok(got == wanted, label, f"got {got!r}, wanted {wanted!r}")

    def has(self, text, part, label):
        return self.ok(part in text, label, f"no {part!r} in {text!r}")

    def done(self):
        print(f"1..{self.points}")
        sys.exit(self.failures != 0)


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def scratch():
    path = pathlib.Path(tempfile.mkdtemp(prefix="anneal-plug-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def own_network():
    """Starts this test again in a network of its own, where it may do as it likes."""
    if os.geteuid() != 0:
        skip("hosts in namespaces need root")
    if os.environ.get("ANNEAL_OWN_NETWORK"):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    if subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, check=False).returncode:
        skip("this root may not make namespaces")
    os.environ["ANNEAL_OWN_NETWORK"] = "1"
    os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv])


class Plugin:
    def __init__(self, name, fields):
        self.dir, self.fields = TOP / "plugins" / name, fields
        self.name = name
        self.program = self.dir / f"{name}.py"

    def task(self, action, node, key="k", dry_run=False, fields=None, params=None):
        return json.dumps({"protocol": 1, "plugin": self.name, "type": self.name, "action": action, "key": key, "dry_run": dry_run,
                           "fields": {**self.fields, **(fields or {})}, "params": params or {}, "data": {},
                           "task": {}, "node": {"name": node}})

    def begin(self, action, node, key="k", before=(), **more):
        """Started, its task handed over, not waited for."""
        p = subprocess.Popen([*before, self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, cwd=self.dir, start_new_session=True)
        with contextlib.suppress(BrokenPipeError):
            p.stdin.write(self.task(action, node, key, **more))
            p.stdin.close()
        p.stdin = None
        return p

    def end(self, p):
        """Its answer: the last line, as (word, value); ("none", what it said on standard error) for none."""
        out, err = p.communicate(timeout=120)
        lines = [json.loads(line) for line in out.splitlines()]
        answers = [(k, v) for line in lines for k, v in line.items() if k in ("result", "again", "error")]
        return answers[-1] if answers else ("none", err)

    def call(self, action, node, key="k", **more):
        return self.end(self.begin(action, node, key, **more))

    def until(self, action, node, key="k", seconds=60, **more):
        """As a server would: asked again while it says so."""
        deadline = time.monotonic() + seconds
        while True:
            word, value = self.call(action, node, key, **more)
            if word != "again" or time.monotonic() >= deadline:
                return word, value
            time.sleep(min(value["in"], 0.2))
