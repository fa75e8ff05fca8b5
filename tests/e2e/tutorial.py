#!/usr/bin/env python3
"""Runs the commands of a page as written, in one shell, and compares what they print with what the page says.

    tutorial.py PAGE SECONDS [--examples]

In the page's ```console blocks a line that begins with "$ " is a command, which a backslash at its end continues on the
next line, and a here-document (<<'END') to its own end.  What follows is its output, both streams as they come: a line
`...` stands for any number of lines, `...` inside a line for any text.  A command fails if and only if the page shows a
line that begins with "anneal: ", or asks with `echo $?` next and is told.  With --examples, what differs from run to run (times,
sizes, ports of this machine, numbers of events) need not be `...`: whatever the page shows there, any other of its kind will do.
A line `<!-- check: COMMAND -->` outside the blocks is what the text before it says: the command must succeed.
One TAP point for each command; the commands run in the current directory and have SECONDS for all of it together.
SPDX-License-Identifier: Apache-2.0
"""
import difflib
import os
import re
import signal
import subprocess
import sys
import threading

MARK = '==== end of output ===='


class Step:
    """One command of the page and what it should print."""

    def __init__(self, line, command):
        self.line, self.command, self.wanted = line, command, []


def steps_read(path):
    """The steps of a page, in order."""
    steps, inside, more, until = [], False, False, None
    with open(path, encoding='utf-8') as page:
        for number, text in enumerate(page, 1):
            text = text.rstrip()
            if until is not None:
                steps[-1].command += '\n' + text
                until = None if text == until else until
            elif text.startswith('```'):
                inside = not inside and text == '```console'
            elif not inside and (check := re.fullmatch(r'<!-- check: (.*) -->', text)):
                steps.append(Step(number, check[1]))
                steps[-1].wanted = ['...']
            elif inside and more:
                steps[-1].command += '\n' + text
                more = text.endswith('\\')
            elif inside and text.startswith('$ '):
                steps.append(Step(number, text[2:]))
                more = text.endswith('\\')
                until = next(iter(re.findall(r"<<'(\w+)'$", text)), None)
            elif inside:
                if not steps:
                    sys.exit(f'{path}:{number}: output before the first command')
                steps[-1].wanted.append(text)
    if until is not None:
        sys.exit(f'{path}:{steps[-1].line}: a here-document without its {until}')
    return steps


# What differs from run to run: as it stands in a page, and what may stand there instead.
VARYING = [(r'\b\d+(?:\.\d+)?m?s\b|\b\d+m\d\ds\b', r'(?:\d+(?:\.\d+)?m?s|\d+m\d\ds)'),
           (r'\b\d+(?:\.\d+)? [kMG]?B\b', r'\d+(?:\.\d+)? [kMG]?B'),
           (r'(?<=127\.0\.0\.1:)\d+', r'\d+'),
           (r'(?<=\bevent )\d+', r'\d+')]
examples = '--examples' in sys.argv[3:]


def part_pattern(part):
    if not examples:
        return re.escape(part)
    pattern, at = '', 0
    for found in re.finditer('|'.join(f'({page})' for page, _ in VARYING), part):
        pattern += re.escape(part[at:found.start()]) + VARYING[found.lastindex - 1][1]
        at = found.end()
    return pattern + re.escape(part[at:])


def line_pattern(line):
    return '[^\n]*'.join(part_pattern(part) for part in line.split('...'))


def output_matches(wanted, got):
    pattern = ''.join('(?:[^\n]*\n)*' if line == '...' else line_pattern(line) + '\n' for line in wanted)
    return re.fullmatch(pattern, ''.join(line + '\n' for line in got)) is not None


def output_difference(wanted, got):
    """Lines of a diff in which what `...` stands for is no difference by itself."""
    shown = [next((g for g in got if w != '...' and re.fullmatch(line_pattern(w), g)), w) for w in wanted]
    return list(difflib.unified_diff(shown, got, 'the page', 'the command', lineterm='', n=1000))


class Shell:
    """A bash that keeps its variables from one command to the next."""

    def __init__(self, seconds):
        self.bash = subprocess.Popen(['bash', '--norc', '--noprofile'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.late = threading.Timer(seconds, os.killpg, (self.bash.pid, signal.SIGKILL))
        self.late.start()

    def run(self, command):
        """(lines printed, exit status); the status is None if the time is over."""
        quoted = "'" + command.replace("'", "'\\''") + "'"
        try:
            # The next command may ask for the status of this one.
            self.bash.stdin.write(f'eval {quoted} </dev/null\nended=$?\nprintf "\\n%s %s\\n" "{MARK}" $ended\n'
                                  '(exit $ended)\n')
            self.bash.stdin.flush()
        except BrokenPipeError:
            return [], None
        text = ''
        for line in self.bash.stdout:
            if line.startswith(MARK):
                text = text[:-1]  # the newline before the mark
                return [got.rstrip() for got in text.splitlines()], int(line.split()[-1])
            text += line
        return text.splitlines(), None

    def close(self):
        """Ends it and what it may still run, but nothing that made itself a session of its own."""
        self.late.cancel()
        if self.bash.poll() is None:
            os.killpg(self.bash.pid, signal.SIGKILL)
        self.bash.wait()


def steps_run(steps, shell):
    """How many of them failed; what comes after one that never ends is not run."""
    failures = 0
    for number, step in enumerate(steps, 1):
        got, status = shell.run(step.command)
        refused = any(line.startswith('anneal: ') for line in step.wanted)
        asked = number < len(steps) and steps[number].command == 'echo $?'
        good = status is not None and (asked or (status != 0) == refused) and output_matches(step.wanted, got)
        failures += not good
        first = step.command.split('\n')[0].replace('#', '\\#')
        print(f'{"ok" if good else "not ok"} {number} - line {step.line}: {first}', flush=True)
        if not good:
            ending = 'it did not end in time' if status is None else f'its exit status is {status}'
            for line in [f'$ {step.command}', ending] + output_difference(step.wanted, got):
                print('#   ' + line.replace('\n', '\n#   '), flush=True)
        if status is None:
            break
    return failures


def main():
    steps = steps_read(sys.argv[1])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    shell = Shell(float(sys.argv[2]))
    try:
        failures = steps_run(steps, shell)
    finally:
        shell.close()
    print(f'1..{len(steps)}')
    sys.exit(failures > 0 or not steps)


main()
