#!/usr/bin/env python3
"""Our expressions against Jinja2's: every line of expressions.txt, evaluated by both.  TAP.

A line is an expression.  Both must give the same JSON, both "undefined", or both an error.  A line that begins with
"differs REASON: " is an expression where we go our own way: both must be evaluated and must differ, so that a
difference that went away is noticed.  Usage: check_jinja.py EXPR_TOOL EXPRESSIONS
"""
# SPDX-License-Identifier: Apache-2.0
import json
import math
import subprocess
import sys

TOOL, FILE = sys.argv[1:3]
SCOPE = {
    "n": 7, "zero": 0, "neg": -3, "big": 9223372036854775807, "f": 2.5, "t": True, "no": False, "nil": None,
    "s": "Hello World", "empty": "", "umlaut": "Grüße aus Köln", "num": "42", "spaced": "  a b\t c  ",
    "l": [3, 1, 2], "le": [], "words": ["pear", "Apple", "fig", "apple"], "mixed": [1, 1.0, "1", True, None],
    "m": {"b": 2, "a": 1, "C": 3}, "me": {}, "deep": {"x": {"y": [{"z": "found"}, 5]}, "k.k": 1},
    "nodes": [{"name": "n3", "cpus": 4, "rack": "r1", "tags": ["ssd"]},
              {"name": "N1", "cpus": 16, "rack": "r2", "tags": []},
              {"name": "n2", "cpus": 4, "rack": "r1", "tags": ["gpu", "ssd"], "addr": {"ip": "10.0.0.2"}}],
}
# The reasons that a line may give, and what each means.
REASONS = {
    "int64": "integers are 64 bits and overflow is an error",
    "finite": "a real is finite; infinity and not-a-number are errors",
    "tuple": "tuples are lists, and equal to them",
    "keys": "keys of maps are text",
    "nothing-inside": "a list or map cannot hold something undefined",
    "methods": "values have no methods and no hidden attributes",
    "format": "text % values does not format",
    "unicode": "case is known for Latin, Greek and Cyrillic by rule, without context",
    "reserved": "and, or, not, in, is, if, else and for are never names",
    "comprehension": "a list may be made from another, in brackets",
    "change": "there are looks at old data",
    "names": "names are ASCII",
    "subscript": "a[] is no expression",
    "base": "a base that does not exist is an error",
    "test-if": "an if behind a test is an if",
}


def plain(v):
    """What Jinja2 returned as something that JSON has; None of our kinds is an error."""
    if isinstance(v, (str, bool, int)) or v is None:
        return str(v) if isinstance(v, str) else v
    if isinstance(v, float):
        if not math.isfinite(v):
            raise ValueError("not finite")
        return v
    if isinstance(v, dict):
        return {k if isinstance(k, str) else f"key {k!r}": plain(x) for k, x in v.items()}
    if isinstance(v, jinja2.Undefined) or callable(v):
        raise TypeError("nothing that a value can hold")
    return [plain(x) for x in v]


def theirs(env, text):
    try:
        v = env.compile_expression(text, undefined_to_none=False)(**SCOPE)
        if isinstance(v, jinja2.Undefined):
            return "undefined"
        return "= " + json.dumps(plain(v), ensure_ascii=False, sort_keys=True)
    except Exception as e:  # whatever it is: an error
        return f"! {type(e).__name__}: {e}"


def normal(answer):
    if answer.startswith("= "):
        return "= " + json.dumps(json.loads(answer[2:]), ensure_ascii=False, sort_keys=True)
    return "!" if answer.startswith("!") else answer


lines = []
with open(FILE, encoding="utf-8") as f:
    for number, line in enumerate(f, 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        reason = None
        if line.startswith("differs "):
            reason, line = line[8:].split(": ", 1)
            assert reason in REASONS, f"line {number}: no such reason: {reason}"
        lines.append((number, reason, line))

unused = set(REASONS) - {reason for _, reason, _ in lines}
assert not unused, f"reasons that no line gives: {unused}"
given = "".join(json.dumps(x) + "\n" for x in [SCOPE] + [text for _, _, text in lines])
run = subprocess.run([TOOL], input=given, text=True, capture_output=True, timeout=60)
ours = run.stdout.splitlines()
if run.returncode or len(ours) != len(lines):
    print(f"not ok 1 - {TOOL} answers every line\n# {run.returncode} {len(ours)} of {len(lines)} {run.stderr}\n1..1")
    sys.exit(1)
try:
    import jinja2
    import jinja2.sandbox
except ImportError:
    print(f"ok 1 # SKIP python3-jinja2 is not here: {len(lines)} expressions evaluated, none compared\n1..1")
    sys.exit(0)

env = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.StrictUndefined)
failed = used = 0
for i, ((number, reason, text), mine) in enumerate(zip(lines, ours), 1):
    other = theirs(env, text)
    same = normal(mine) == normal(other)
    good = same != bool(reason)
    used += bool(reason)
    failed += not good
    label = text.replace("#", "\\#")
    print(f"{'ok' if good else 'not ok'} {i} - {label}{f' ({reason})' if reason else ''}")
    if not good:
        print(f"#   line {number}\n#   ours:   {mine}\n#   theirs: {other}")
print(f"# {len(lines)} expressions, {used} known differences, Jinja2 {jinja2.__version__}")
print(f"1..{len(lines)}")
sys.exit(failed > 0)
