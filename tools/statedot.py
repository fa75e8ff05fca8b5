#!/usr/bin/env python3
"""Draws the states of tasks and noderoles from the source that decides them.

    tools/statedot.py            rewrite docs/states/*.dot and the tables of docs/states.md
    tools/statedot.py --check    say which of them differ from what would be written

Tasks: names and meanings of events from src/model/states.h, transitions from the table in
src/annealer/task_fsm.c.  An event that no engine file fires is reserved and drawn dashed.
Noderoles: the first-match list is read off noderole_derive() in src/annealer/noderole_fsm.c.
A shape of source that is not understood is an error, so that a picture cannot fall behind.
"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
STATES = "src/model/states.h"
TASKS = "src/annealer/task_fsm.c"
NODEROLES = "src/annealer/noderole_fsm.c"
ENGINE = "src/annealer"
PAGE = "docs/states.md"
ENDED = "DONE SKIPPED TOLERATED FAILED DEP_FAILED CANCELLED".split()

# What the counters of struct noderole say, in words.  A condition is "and" of these, or "or" of these.
WORDS = {
    "nr->failed > 0": "a task FAILED",
    "nr->target == TARGET_ABSENT": "its target is absent",
    "nr->target == TARGET_STOPPED": "its target is stopped",
    "!gate_shut(a, id)": "nobody needs it",
    "nr->passed == nr->n_tasks": "every task passed",
    "nr->parents_out == 0": "every need-parent is in service",
    "(nr->mode & MODE_REFRESH)": "the run is a refresh",
    "nr->live > 0": "a task is RUNNING or WAITING",
    "nr->passed > 0": "a task passed",
    "nr->cancelled > 0": "a task is CANCELLED",
    "nr->ready > 0": "a task is READY",
}


class Unreadable(Exception):
    pass


def need(match, what):
    if not match:
        raise Unreadable(f"cannot find {what}")
    return match


def x_list(text, name):
    """Entries of an X-macro list: [(identifier, comment)]."""
    body = need(re.search(rf"#define {name}\(X\)((?:.*\\\n)*.*)", text), f"{name} in {STATES}").group(1)
    entries = re.findall(r"X\((\w+)[^)]*\)[ \\]*(?:/\*\s*(.*?)\s*\*/)?", body)
    return need(entries, f"entries of {name}")


def task_table(text, states, events):
    """{(from, event): to}, every name checked against the lists."""
    body = need(re.search(r"task_table\[TASK_STATE_COUNT\]\[TASKEV_COUNT\]\s*=\s*\{\n(.*?)\n\};", text, re.S),
                f"the table in {TASKS}").group(1)
    cells = {}
    rows = re.findall(r"\[TASK_(\w+)\]\s*=\s*\{(.*?)\}", body, re.S)
    for state, row in rows:
        for event, to in re.findall(r"\[TASKEV_(\w+)\]\s*=\s*GO\((\w+)\)", row):
            if state not in states or to not in states or event not in events:
                raise Unreadable(f"{TASKS}: {state} {event} {to}: not in the lists of {STATES}")
            cells[state, event] = to
    if len(cells) != body.count("GO("):
        raise Unreadable(f"{TASKS}: {body.count('GO(')} cells, {len(cells)} understood")
    return cells


def fired_events(top, events):
    """Events that some engine file hands to task_go(): named anywhere outside the table."""
    text = ""
    for path in sorted((top / ENGINE).glob("*.c")):
        text += re.sub(r"task_table\[.*?\n\};", "", path.read_text(), flags=re.S)
    return {event for event in events if re.search(rf"\bTASKEV_{event}\b", text)}


def reachable(cells, fired):
    found, todo = {"PENDING"}, ["PENDING"]
    while todo:
        at = todo.pop()
        for (state, event), to in cells.items():
            if state == at and event in fired and to not in found:
                found.add(to)
                todo.append(to)
    return found


def in_words(condition):
    joint = " and " if "&&" in condition else " or "
    parts = [part.strip() for part in re.split(r"&&|\|\|", condition)]
    if "&&" in condition and "||" in condition:
        raise Unreadable(f"{NODEROLES}: mixed condition {condition}")
    for part in parts:
        if part not in WORDS:
            raise Unreadable(f"{NODEROLES}: {part}: no words for it in {pathlib.Path(__file__).name}")
    return joint.join(WORDS[part] for part in parts)


def derivation(text, states):
    """[(condition in words or None, state)], in the order in which they are tried."""
    body = need(re.search(r"noderole_derive\(const struct anneal \*a, uint32_t id\)\n\{\n(.*?)\n\}", text, re.S),
                f"noderole_derive() in {NODEROLES}").group(1)
    steps = []
    for condition, result in re.findall(r"if \((.*?)\)\n\s+return ([^;]+);", body, re.S):
        condition = " ".join(condition.split())
        if result == "nr->state":
            continue  # states that are kept, not derived
        steps.append((in_words(condition), need(re.fullmatch(r"NODEROLE_(\w+)", result), result).group(1)))
    last = need(re.search(r"return (.+?) \? NODEROLE_(\w+) : NODEROLE_(\w+);", body), "the last line of the derivation")
    steps += [(in_words(last.group(1)), last.group(2)), (None, last.group(3))]
    kept = body.count("return nr->state;")
    if len(steps) != body.count("return ") - kept + 1:  # the last return gives two
        raise Unreadable(f"{NODEROLES}: {body.count('return ')} returns, {len(steps)} steps understood")
    for _, state in steps:
        if state not in states:
            raise Unreadable(f"{NODEROLES}: {state} is not in {STATES}")
    return steps


def task_dot(states, cells, fired):
    here = reachable(cells, fired)
    out = ["// Generated by tools/statedot.py from " + TASKS + ".", "digraph task {", "  rankdir=LR;",
           '  node [shape=box, style=rounded, fontname="sans-serif"];', '  edge [fontname="sans-serif", fontsize=10];']
    for state in states:
        style = ["peripheries=2"] if state in ENDED else []
        style += [] if state in here else ['style="rounded,dashed"']
        out.append(f"  {state}{' [' + ', '.join(style) + ']' if style else ''};")
    edges = {}
    for (state, event), to in cells.items():
        edges.setdefault((state, to, event in fired), []).append(event)
    for (state, to, live), events in edges.items():
        style = "" if live else ", style=dashed"
        out.append(f'  {state} -> {to} [label="{", ".join(events)}"{style}];')
    return "\n".join(out + ["}", ""])


def noderole_dot(states, steps):
    derived = [state for _, state in steps]
    out = ["// Generated by tools/statedot.py from " + NODEROLES + ".", "digraph noderole {", "  rankdir=TB;",
           '  node [fontname="sans-serif"];', '  edge [fontname="sans-serif", fontsize=10];']
    for state in states:
        service = ", peripheries=2" if state in ("ACTIVE", "STALE") else ""
        style = "rounded" if state in derived else "rounded,dashed"
        out.append(f'  {state} [shape=box, style="{style}"{service}];')
    for i, (words, state) in enumerate(steps):
        if words is None:
            continue
        out.append(f'  q{i} [shape=plaintext, label="{words}?"];')
        out.append(f'  q{i} -> {state} [label="yes"];')
        following = f"q{i + 1}" if steps[i + 1][0] else steps[i + 1][1]
        out.append(f'  q{i} -> {following} [label="no"];')
    return "\n".join(out + ["}", ""])


def task_tables(states, events, cells, fired):
    here = reachable(cells, fired)
    out = ["| event | meaning | from → to |", "|---|---|---|"]
    for event, meaning in events:
        moves = {}
        for state in states:
            if (state, event) in cells:
                moves.setdefault(cells[state, event], []).append(state)
        text = "; ".join(f"{' '.join(f'`{s}`' for s in froms)} → `{to}`" for to, froms in moves.items())
        note = "" if event in fired else " *(reserved)*"
        out.append(f"| `{event}`{note} | {meaning} | {text} |")
    unseen = [state for state in states if state not in here]
    out += ["", "Not reached by any event that is fired today: " +
            (", ".join(f"`{state}`" for state in unseen) if unseen else "none") + "."]
    return "\n".join(out)


def noderole_table(states, steps):
    out = ["| | first match | state |", "|---|---|---|"]
    for i, (words, state) in enumerate(steps, 1):
        out.append(f"| {i} | {words or 'otherwise'} | `{state}` |")
    kept = [state for state in states if state not in [s for _, s in steps]]
    out += ["", "Not derived: " + ", ".join(f"`{state}`" for state in kept) + "."]
    return "\n".join(out)


def fill(page, name, text):
    begin, end = f"<!-- {name}: generated by tools/statedot.py -->", f"<!-- end of {name} -->"
    if begin not in page or end not in page:
        raise Unreadable(f"{PAGE}: no place for {name}")
    head, tail = page.index(begin) + len(begin), page.index(end)
    return page[:head] + "\n" + text + "\n" + page[tail:]


def generate(top):
    """{path relative to the tree: what it must contain}"""
    lists = (top / STATES).read_text()
    task_states = [name for name, _ in x_list(lists, "TASK_STATES")]
    events = x_list(lists, "TASK_EVENTS")
    noderole_states = [name for name, _ in x_list(lists, "NODEROLE_STATES")]
    cells = task_table((top / TASKS).read_text(), task_states, [name for name, _ in events])
    fired = fired_events(top, [name for name, _ in events])
    steps = derivation((top / NODEROLES).read_text(), noderole_states)
    page = (top / PAGE).read_text()
    page = fill(page, "task table", task_tables(task_states, events, cells, fired))
    page = fill(page, "noderole table", noderole_table(noderole_states, steps))
    return {
        "docs/states/task.dot": task_dot(task_states, cells, fired),
        "docs/states/noderole.dot": noderole_dot(noderole_states, steps),
        PAGE: page,
    }


def differing(top):
    return [name for name, text in generate(top).items()
            if not (top / name).exists() or (top / name).read_text() != text]


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if arguments:
        for name in differing(TOP):
            print(f"{name} is not what tools/statedot.py writes")
        return 1 if differing(TOP) else 0
    for name, text in generate(TOP).items():
        (TOP / name).parent.mkdir(parents=True, exist_ok=True)
        (TOP / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
