#!/usr/bin/env python3
"""A minimal Debian 12 with nothing but a clone in it: both commands of README do what README says.  TAP.

    fresh.py [--all] [--dir DIR] [--keep] [SUITE...]

debootstrap makes the machine (variant minbase: what is essential, and apt), git a clone of HEAD; what was not committed is not in it.
Then, as root, ./quickstart and ./run-tests, in a box (box.py) whose only way out is to this machine's Debian mirror.  By default
./run-tests runs the suites whose tests need packages: SUITES; --all, or ANNEAL_FRESH=all: everything, which takes the better part
of an hour.  --keep leaves the machine in DIR for a look, log and all.

Needs root, namespaces, debootstrap, git and some 6 GB.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import box as boxes  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SUITE = "bookworm"
SUITES = ["arch", "unit", "contract", "plugins", "e2e"]
CLONE = pathlib.Path("/root/anneal")
# Tests that compare with others' data, which are not in the repository, and what a kernel may lack: no package would help.
MAY_SKIP = re.compile(r"/shared/|(is|are) not (here|there|at hand)|no cases of|: (current|old/)|the kernel does not write down processes")
HOURS = 3600


class Tap:
    def __init__(self):
        self.points = self.failures = 0

    def ok(self, good, label, detail=""):
        self.points += 1
        self.failures += not good
        print(f"{'ok' if good else 'not ok'} {self.points} - {label}")
        for line in detail.splitlines()[-40:] if not good else ():
            print(f"#   {line}")
        sys.stdout.flush()
        return good

    def done(self):
        print(f"1..{self.points}")
        return 1 if self.failures else 0


def said(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def box_without(*programs):
    """Why there can be no box here, or none of these programs; nothing: there can."""
    missing = [p for p in ("unshare", "pivot_root", "ip", *programs) if not shutil.which(p)]
    if os.geteuid() != 0:
        return "only root can make a machine of its own"
    if missing:
        return f"no {', '.join(missing)}"
    if subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"], check=False, capture_output=True).returncode:
        return "root may not make namespaces here"
    return ""


def without():
    why = box_without("debootstrap", "git", "apt-get")
    if not why and subprocess.run(["git", "-C", TOP, "rev-parse", "HEAD"], check=False, capture_output=True).returncode:
        why = "this is no clone"
    return why


def mirrors():
    """(URI, suite) of Debian 12 as apt of this machine knows them; the first is the suite itself."""
    known = {}
    for line in said("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Identifier: Packages").splitlines():
        uri, _, suite = line.partition(" ")
        known.setdefault(suite, uri.rstrip("/"))
    if SUITE not in known:  # another release is at home here; its mirror has this one, too
        known[SUITE] = next(iter(known.values()), "")
    return [(known[SUITE], SUITE)] + [(uri, suite) for suite, uri in known.items() if suite.startswith(SUITE + "-")]


def apt_setting(name):
    return said("apt-config", "dump", "--format", "%v%n", name).strip()


class Fresh:
    def __init__(self, directory, tap):
        self.dir, self.root, self.tap = directory, directory / "root", tap
        self.log_path = directory / "log"
        self.log = self.log_path.open("a+", encoding="utf-8", errors="replace")
        self.box = boxes.Box(self.root, self.log, apt_setting("Acquire::http::Proxy"))

    def run(self, label, argv, code=0, **more):
        """Runs it, checks its exit status, and gives back what it printed."""
        from_byte = self.log_path.stat().st_size
        began = time.monotonic()
        got = self.box.run(argv, **more)
        with self.log_path.open(encoding="utf-8", errors="replace") as log:
            log.seek(from_byte)
            out = log.read()
        self.tap.ok(got == code, f"{label} ({time.monotonic() - began:.0f} s)", f"exit {got}\n{out}")
        return out

    def has(self, out, words, label):
        return self.tap.ok(words in out, label, f"no \"{words}\" in:\n{out}")

    # --- the machine ---

    def install(self):
        sources, proxy = mirrors(), f"http://127.0.0.1:{boxes.PROXY_PORT}"
        # Only so that apt believes a mirror that is spoken to by TLS, which is this machine's choice.
        more = ["--include=ca-certificates"] if any(uri.startswith("https") for uri, _ in sources) else []
        self.run("a minimal Debian 12", ["debootstrap", "--variant=minbase", *more, SUITE, self.root, sources[0][0]], timeout=HOURS,
                 http_proxy=proxy, https_proxy=proxy)
        if self.tap.failures:
            return False
        etc = self.root / "etc"
        (etc / "apt/sources.list").write_text("".join(f"deb {uri} {suite} main\n" for uri, suite in sources), encoding="ascii")
        settings = {"Acquire::http::Proxy": proxy, "Acquire::https::Proxy": proxy, "Acquire::http::Pipeline-Depth": "0",
                    "Acquire::Check-Valid-Until": apt_setting("Acquire::Check-Valid-Until") or "true"}
        (etc / "apt/apt.conf.d/00fresh").write_text("".join(f'{k} "{v}";\n' for k, v in settings.items()), encoding="ascii")
        (etc / "hosts").write_text("127.0.0.1 localhost fresh\n", encoding="ascii")
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", TOP, self.root / CLONE.relative_to("/")], check=True)
        self.box.enter()
        return True

    # --- ./quickstart ---

    def listeners(self):
        """Ports on which something of the machine itself listens, hosts not counted: they have a network of their own."""
        out = self.run("its sockets are looked at", ["cat", "/proc/net/tcp", "/proc/net/tcp6"])
        rows = [line.split() for line in out.splitlines()]
        return sorted({int(r[1].rsplit(":", 1)[1], 16) for r in rows if len(r) > 3 and r[3] == "0A"} - {boxes.PROXY_PORT})

    def shell(self, label, script, code=0, **more):
        return self.run(label, ["sh", "-c", f"export PATH=$PATH:$PWD/build/bin ANNEAL_TOKEN_FILE=$PWD/.quickstart/data/admin.token\n{script}"],
                        code=code, cwd=CLONE, **more)

    def quickstart(self):
        out = self.run("./quickstart", ["./quickstart"], cwd=CLONE, timeout=2 * HOURS)
        self.has(out, "anneald is serving on http://127.0.0.1:7480", "a server on 127.0.0.1:7480")
        self.has(out, "the nodes are 8 hosts of their own on this machine", "nodes that are hosts")
        self.has(out, "The shop is ACTIVE on 8 nodes", "an example shop of 8 nodes brought to ACTIVE")
        self.has(out, "Two clusters of software that you know are ACTIVE", "and two clusters")
        out = self.shell("they are asked for", "anneal cluster list --state active -o name")
        self.tap.ok({"etcd", "site"} <= set(out.split()), "both are active", out)
        self.shell("the site takes what is written and has it again", """
            site=$(anneal cluster show site -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["links"][0]["url"])')
            curl -sSf -d said=fresh $site && for i in $(seq 1 200); do curl -sS $site | grep -qx -- '- fresh' && exit; sleep 0.1; done; exit 1""", timeout=120)
        self.shell("etcd has its quorum", """
            etcd=$(anneal cluster show etcd -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["links"][0]["url"])')
            ETCDCTL_API=3 etcdctl --endpoints=$etcd endpoint health --cluster""")
        ports = self.listeners()
        self.tap.ok(ports == [7480], "nothing of the packages is started on the machine itself", str(ports))
        out = self.run("once more", ["./quickstart"], cwd=CLONE, timeout=HOURS)
        self.has(out, "everything is as wanted already", "which changes nothing")
        self.run("./quickstart --stop", ["./quickstart", "--stop"], cwd=CLONE)
        self.tap.ok(self.listeners() == [], "the server has ended")
        self.shell("its data stays", "test -s .quickstart/data/anneal.db && ip -o link | grep -q ': ah'")
        self.run("./quickstart --shop", ["./quickstart", "--shop"], cwd=CLONE, timeout=HOURS)
        self.run("./quickstart --clean", ["./quickstart", "--clean"], cwd=CLONE)
        self.shell("nothing is left of server, nodes and data", "! test -e .quickstart && test $(ip -o link | wc -l) = 1")

    # --- ./run-tests ---

    def skipped(self):
        """What was left out for a reason that a package could have helped."""
        left = []
        with (self.root / CLONE.relative_to("/") / "build/meson-logs/testlog.json").open(encoding="utf-8") as log:
            for line in log:
                test = json.loads(line)
                for skip in re.finditer(r"#\s*SKIP\s*([^\n]*)", test.get("stdout", ""), re.I):
                    print(f"# skipped: {test['name']}: {skip.group(1)}")
                    if not MAY_SKIP.search(f"{test['name']}: {skip.group(1)}"):
                        left.append(f"{test['name']}: {skip.group(1)}")
        return left

    def tests(self, suites):
        out = self.run("./run-tests " + " ".join(suites), ["./run-tests", *suites], cwd=CLONE, timeout=5 * HOURS)
        last = out.rstrip().splitlines()[-1] if out.strip() else ""
        self.tap.ok(re.fullmatch(r"\d+ passed, 0 failed(, \d+ skipped)?", last) is not None, f"its last line: {last}", out)
        left = self.skipped()
        self.tap.ok(not left, "no test is left out for want of a package", "\n".join(left))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", default=os.environ.get("ANNEAL_FRESH") == "all")
    parser.add_argument("--dir", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("suites", nargs="*")
    args = parser.parse_args()
    why = without()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    tap = Tap()
    directory = args.dir or pathlib.Path(tempfile.mkdtemp(prefix="anneal-fresh-"))
    (directory / "root").mkdir(parents=True, exist_ok=True)
    try:
        fresh = Fresh(directory, tap)
        with fresh.box:
            if fresh.install():
                fresh.quickstart()
                fresh.tests([] if args.all else args.suites or SUITES)
    finally:
        if args.keep:
            print(f"# kept: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
