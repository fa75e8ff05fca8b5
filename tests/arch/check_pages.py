#!/usr/bin/env python3
"""What pages say in words and nobody generates, held against the source that decides it.  TAP.

A list of a page that falls behind is found here: jigs, plugins, scopes and open routes of README.md, states of
docs/states.md, and sections of docs/rfc that two others could mean.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import pathlib
import re
import sys

TOP = pathlib.Path(sys.argv[1])
points = []


def check(good, what, detail=""):
    points.append(good)
    print(f"{'ok' if good else 'not ok'} {len(points)} - {what}")
    if not good and detail:
        print(f"#   {detail}")


def same(page, source, what):
    page, source = set(page), set(source)
    check(bool(source) and page == source, what, f"only in the page: {sorted(page - source)}; only in the source: {sorted(source - page)}")


def text(name):
    return (TOP / name).read_text(encoding="utf-8")


def section(page, title):
    """What stands under a heading of that page, as one line."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.S | re.M)
    return " ".join(found.group(1).split()) if found else ""


def names(sentence):
    """What is said in code in the first sentence or item that begins so."""
    return re.findall(r"`([^`]+)`", sentence)


def listed(where, begin, end):
    found = re.search(rf"{begin}(.*?){end}", where)
    return found.group(1) if found else ""


def states(name):
    body = re.search(rf"#define {name}\(X\)((?:.*\\\n)*.*)", text("src/model/states.h")).group(1)
    return re.findall(r'X\(\w+, "([^"]+)"\)', body)


readme = text("README.md")
status, security = section(readme, "Status"), section(readme, "Security")

table = re.findall(r"&jig_(\w+)", text("src/jig/jig.c"))
same(names(listed(status, "- jigs ", r" \(\[what")), [{"upload": "upload_file"}.get(j, j) for j in table], "README's jigs are those there are")
same(names(listed(status, "and power, by .*?: ", " \\[come")), [p.name for p in (TOP / "plugins").iterdir() if (p / "plugin.yaml").exists()],
     "README's plugins are those that come with it")
scopes = re.search(r"api_scope_name.*?\};", text("src/api/routes.c"), re.S).group(0)
same(listed(security, r"--scope ", "`").split("|"), set(re.findall(r'"(\w+)"', scopes)) - {"none", "worker", "?"}, "README's scopes are those of tokens")

routes = re.findall(r'\{API_\w+, "([^"]+)",(?:(?!\{API_).)*?FOR\(NONE\)', text("src/api/routes.c"), re.S)
said = {"health": "/v1/health", "readiness": "/v1/ready", "version": "/v1/version", "the OpenAPI document": "/v1/openapi.json", "metrics": "/metrics"}
open_to_all = re.split(r", | and ", listed(security, "needs a token, except ", r"\."))
same([said.get(word, word) for word in open_to_all], set(routes) - {"/v1/join"},
     "README's requests without a token are those there are, but for a worker's join, which has one of its own")

page = text("docs/states.md")
for what, lists in (("operation", "OPERATION_STATES"), ("cluster", "CLUSTER_STATES")):
    row = re.search(rf"^\| {what} \|.*$", page, re.M)
    same(names(row.group(0) if row else ""), states(lists), f"docs/states.md has all states: {what}")
check("reserved)" not in page, "no state of docs/states.md is said to be reserved that occurs")

for rfc in sorted((TOP / "docs/rfc").glob("*.md")):
    numbers = collections.Counter(re.findall(r"^#+ (\d+(?:\.\d+)*)\.? ", rfc.read_text(encoding="utf-8"), re.M))
    twice = [number for number, n in numbers.items() if n > 1]
    check(not twice, f"docs/rfc/{rfc.name}: each section has a number of its own", f"twice: {twice}")

print(f"1..{len(points)}")
sys.exit(not all(points))
