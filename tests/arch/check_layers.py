#!/usr/bin/env python3
"""The rules of the tree, checked: layers, headers, names, banned calls, sizes.  TAP."""
# SPDX-License-Identifier: Apache-2.0
import collections
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(sys.argv[1])
SRC = TOP / "src"

# module: what it may include (its own headers are always allowed)
MAY = {
    "base": "",
    "sys": "base",
    "model": "base",
    "plugin": "base model",
    "graph": "base",
    "solver": "base",
    "template": "base model",
    "catalog": "base model graph template",
    "planner": "base model catalog graph solver template",
    "annealer": "base model graph",
    "store": "base sys model",
    "archive": "base sys",
    "tls": "base sys",
    "http": "base sys",
    "queue": "base sys http",
    "ssh": "base sys",
    "reach": "base sys",
    "jig": "base sys model http reach plugin",
    "worker": "base sys model plugin queue jig reach ssh",
    "server": "base sys model graph template catalog planner annealer store archive queue plugin",
    "sim": "base model catalog graph planner annealer store server",
    "api": "base sys model server",
    "cli": "base sys model http sim catalog planner graph solver template plugin",
    "host": "base sys",
    "bin": "base sys model graph catalog planner annealer store queue jig worker server sim api cli http host tls archive",
}
# what the simulator may see of the server: the commit step and what surrounds it, nothing with a socket
SIM_SEES = {"server/commit.h", "server/desire.h", "server/hook_round.h", "server/hook_store.h", "server/lease.h", "server/restore.h"}
# facades besides <module>/<module>.h
FACADES = {
    "base": None, "sys": None, "model": None,  # every header that is not *_i.h
    "server": {"server/server.h", "server/commit.h", "server/desire.h", "server/hook_round.h", "server/hook_store.h", "server/lease.h", "server/restore.h", "server/backup.h", "server/sealed.h", "server/verify.h"},
    "queue": {"queue/queue.h", "queue/remote.h"},
    "jig": {"jig/jig.h", "jig/runner.h"},
    "catalog": {"catalog/catalog.h", "catalog/import.h", "catalog/kinds.h", "catalog/taskgraph.h"},
    "planner": {"planner/planner.h", "planner/layout.h", "planner/layout_phase.h", "planner/phase.h", "planner/phase_plan.h", "planner/phase_write.h", "planner/weave.h", "planner/weave_plan.h", "planner/weave_write.h"},
    "template": {"template/expr.h", "template/hook.h", "template/macro.h"},
    "plugin": {"plugin/plugin.h", "plugin/plugin_lines.h", "plugin/plugin_versions.h"},
    "sim": {"sim/sim.h", "sim/sim_graph.h", "sim/sim_phase.h"},
}
BANNED = re.compile(r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|strncpy|strncat|atoi|atol|atoll|alloca|system|popen)\s*\(")
LIBRARY_HEADERS = {  # adapters hide their library: no type of it in a header
    "sqlite3.h": "store", "uv.h": "sys", "microhttpd.h": "api", "curl/curl.h": "http", "gnutls/gnutls.h": "tls", "libssh/libssh.h": "ssh", "libfyaml.h": "base",
}
failures = collections.defaultdict(list)
count = collections.Counter()
names = collections.defaultdict(list)

for path in sorted(SRC.rglob("*.[ch]")):
    module = path.relative_to(SRC).parts[0]
    text = path.read_text()
    rel = path.relative_to(TOP)
    lines = text.splitlines()
    names[path.name].append(str(rel))
    count["files"] += 1
    for header in re.findall(r'^#include "([^"]+)"', text, re.M):
        target = header.split("/")[0]
        count["includes"] += 1
        if "/" not in header:
            if module != "bin" and (path.parent / header).exists():
                failures["includes name their module"].append(f"{rel}: {header}")
            continue
        if target == module:
            continue
        if target not in MAY:
            if (SRC / target).exists():
                failures["every module is in the table"].append(f"{rel}: {header}")
            continue
        if target not in MAY[module].split():
            failures["layers"].append(f"{rel} includes {header}")
        if module == "sim" and target == "server" and header not in SIM_SEES:
            failures["layers"].append(f"{rel} includes {header}")
        facade = FACADES.get(target, {f"{target}/{target}.h"})
        if header.endswith("_i.h") or (facade is not None and header not in facade):
            failures["facades"].append(f"{rel} includes {header}, which is private to {target}")
    if path.suffix == ".h":
        for library, owner in LIBRARY_HEADERS.items():
            if f"<{library}>" in text and not (path.name.endswith("_i.h") and module == owner):
                failures["libraries stay hidden"].append(f"{rel} includes <{library}>")
    if "SPDX-License-Identifier: Apache-2.0" not in text:
        failures["licence line"].append(str(rel))
    code = re.sub(r'"(\\.|[^"\\])*"|/\*.*?\*/|//[^\n]*', '""', text, flags=re.S)
    for call in BANNED.finditer(code):
        failures["banned calls"].append(f"{rel}: {call.group(1)}")
    if len(lines) > 700:
        failures["file length"].append(f"{rel}: {len(lines)} lines")
    if path.suffix == ".c" and str(rel) != "src/base/log.c":
        for m in re.finditer(r"^static (?!const|inline|struct \w+ \*?\w+\(|_Thread_local)([^(;=]*?)(=[^;]*)?;$", code, re.M):
            if "const" not in m.group(0) and "(" not in m.group(0):
                failures["no mutable file-scope variables"].append(f"{rel}: {m.group(0).strip()[:70]}")

for tree in ("src", "tests", "benchmarks"):
    for path in sorted((TOP / tree).rglob("*.[ch]")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > 100:
                failures["line length"].append(f"{path.relative_to(TOP)}:{number}: {len(line)} columns")

for name, where in names.items():
    if len(where) > 1 and name.endswith(".c"):
        failures["unique file names"].append(f"{name}: {', '.join(where)}")

checks = ["layers", "facades", "every module is in the table", "includes name their module", "libraries stay hidden",
          "licence line", "banned calls", "file length", "line length", "no mutable file-scope variables",
          "unique file names"]

# Each public header compiles alone.
alone = []
for path in sorted(SRC.rglob("*.h")):
    alone.append(f'#include "{path.relative_to(SRC)}"')
for include in alone:
    run = subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", '-DANNEAL_VERSION="x"', f"-I{SRC}", "-Wall", "-Werror",
                          "-fsyntax-only", "-x", "c", "-"], input=include, text=True, capture_output=True)
    count["headers"] += 1
    if run.returncode and "schemas_text.h" not in include:
        failures["headers compile alone"].append(f"{include}: {run.stderr.splitlines()[0] if run.stderr else ''}")
checks.append("headers compile alone")

if not count["includes"]:
    failures["layers"].append("nothing was checked")
for i, check in enumerate(checks, 1):
    print(f"{'not ok' if failures[check] else 'ok'} {i} - {check}")
    for f in failures[check][:20]:
        print(f"#   {f}")
print(f"# counts: {count['files']} files, {count['includes']} includes, {count['headers']} headers")
print(f"1..{len(checks)}")
sys.exit(any(failures.values()))
