"""What the plugins beside this directory share: the protocol, files that outlive a kill, processes that stay.

The contract is docs/rfc/10-plugins.md.  Python's own library is all that is needed.
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")


class Refused(Exception):
    """What cannot be done, and what to do about it."""

    def __init__(self, text, remedy):
        super().__init__(text)
        self.remedy = remedy


class Again(Exception):
    """Not yet: to be asked again in so many seconds."""

    def __init__(self, seconds, watch):
        super().__init__(watch)
        self.seconds = seconds


# ---- the protocol ----

def say(**line):
    print(json.dumps(line), flush=True)


def task_of(text):
    """The task on standard input, checked as far as every plugin relies on it."""
    try:
        task = json.loads(text)
    except ValueError:
        raise Refused("this is no task: it is not JSON", "give one JSON document, as in docs/plugins.md") from None
    shape = {"action": str, "key": str, "dry_run": bool, "fields": dict, "params": dict, "node": dict}
    for member, kind in shape.items():
        if not isinstance(task, dict) or not isinstance(task.get(member), kind):
            raise Refused(f"this is no task: no \"{member}\"", "give one JSON document, as in docs/plugins.md")
    return task


def main(name, actions):
    """Answers one task by the function that `actions` has for it; the exit status."""
    try:
        task = task_of(sys.stdin.read())
        act = actions.get(task["action"])
        if act is None:
            raise Refused(f"{name} cannot {task['action'][:64]}", "it can " + ", ".join(actions))
        say(result=act(task))
    except Again as wait:
        say(again={"in": wait.seconds, "watch": str(wait)})
    except Refused as why:
        say(error={"text": str(why), "remedy": why.remedy})
        return 1
    except OSError as why:
        say(error={"text": f"{name}: {why}", "remedy": "see the log of the task; the plugin runs as the worker's user"})
        return 1
    return 0


def node_name(task, longest=253):
    """The node's name, fit to be a file's."""
    name = task["node"].get("name", "")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Refused("the task is for no node", "ask for a node that has a name")
    if len(name) > longest:
        raise Refused(f"{name} is longer than {longest} bytes", "give the cluster a shorter name or domain")
    return name


def text_field(task, field, otherwise=""):
    """A field that is a text; numbers, which files of values may have instead, are one too."""
    value = task["fields"].get(field)
    value = otherwise if value is None or value == "" else value
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise Refused(f"{field} is no text", f"anneal provider set NAME --set {field}=...")
    return str(value)


def number_field(task, field, low, high):
    value = task["fields"].get(field)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Refused(f"{field} is no number from {low} to {high}", f"anneal provider set NAME --set {field}=...")
    return value


def path_field(task, field, otherwise=""):
    path = text_field(task, field, otherwise)
    if not os.path.isabs(path):
        raise Refused(f"{field} is no path that begins with /", f"anneal provider set NAME --set {field}=/...")
    return pathlib.Path(os.path.realpath(path))


# ---- files ----

@contextlib.contextmanager
def locked(path):
    """Alone with what the path stands for.  Its holder may remove the file: who waited for it looks again.

    The descriptor is closed by exec, not before: a process on its way to become another still holds the lock.
    """
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                break
        except FileNotFoundError:
            pass
        os.close(fd)
    try:
        yield
    finally:
        os.close(fd)


def write_json(path, value):
    """All of it or nothing, whatever is killed, and still there after a power failure.  One writer at a time."""
    new = path.with_name(f".{path.name}.new")
    with open(new, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        json.dump(value, file, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def read_json(path):
    """None: there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        raise Refused(f"{path} is not JSON", "somebody else wrote it: put back what was there, or remove it") from None


def last_line(path):
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


# ---- programs ----

def need(program, package):
    found = shutil.which(program, path=PATH)
    if not found:
        raise Refused(f"there is no program {program}", f"install the package {package}")
    return found


def run(argv, remedy, **more):
    """What it printed.  Its words are never a shell's."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        why = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Refused(f"{os.path.basename(argv[0])} failed: {why[-1] if why else 'status ' + str(done.returncode)}", remedy)
    return done.stdout


def make_key(path):
    """A key pair of ssh.  Its private half gets its name last: while it has none there is no pair."""
    if path.exists():
        return
    new = path.with_name(f".{path.name}.new")
    for old in (new, new.with_name(new.name + ".pub")):
        old.unlink(missing_ok=True)
    run([need("ssh-keygen", "openssh-client"), "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(new)],
        f"may the worker write {path.parent}?")
    os.replace(new.with_name(new.name + ".pub"), path.with_name(path.name + ".pub"))
    os.replace(new, path)


def public_key(path):
    """Type and key, without the comment."""
    return " ".join(path.read_text(encoding="ascii").split()[:2])


# ---- processes that stay ----

def start(argv, log):
    """Starts a process that outlives us: the plugin's action says `leaves`, and it has not got the runner's variable.

    The caller holds the lock of what it starts; see locked().
    """
    to = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        return os.posix_spawn(argv[0], argv, {"PATH": PATH, "LANG": "C.UTF-8", "HOME": "/"}, setsid=True, file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, to, 1),
            (os.POSIX_SPAWN_DUP2, to, 2)])
    finally:
        os.close(to)


def exit_status(pid):
    """Of a child of ours; None while it runs."""
    got, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if got == pid else None


def command_line(pid):
    """Its words, each ended by a zero byte; b"" for one that has none, be it dead or the kernel's.

    In the middle of an exec a process has none for a moment: it is looked at until it has become somebody.
    """
    deadline = time.monotonic() + 2
    while True:
        text = pathlib.Path("/proc", pid, "cmdline").read_bytes()
        if text or time.monotonic() >= deadline:
            return text
        try:
            os.readlink(f"/proc/{pid}/exe")
        except FileNotFoundError:
            return b""


def processes(words):
    """Those that have these words, one after the other, in their command line: pid to parent.

    A path that only one of us would name is among the words: no name of a program is relied on.
    """
    found = {}
    wanted = b"\0" + b"\0".join(os.fsencode(w) for w in words) + b"\0"
    for pid in os.listdir("/proc"):
        try:
            if not pid.isdigit() or int(pid) == os.getpid() or wanted not in command_line(pid):
                continue
            stat = pathlib.Path("/proc", pid, "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has just gone
        state, parent = stat.rsplit(")", 1)[1].split()[:2]  # the name before it may hold anything
        if state not in "ZX":
            found[int(pid)] = int(parent)
    return found


def end(words, grace_s):
    """Ends the processes with these words: asks the first of each family, then kills it, until none is left."""
    deadline, signo = time.monotonic() + grace_s, signal.SIGTERM
    asked = set()
    while True:
        alive = processes(words)
        if not alive:
            return
        if time.monotonic() >= deadline:
            if signo == signal.SIGKILL:
                raise Refused(f"process {min(alive)} does not end", "look at what it waits for in /proc")
            signo, asked, deadline = signal.SIGKILL, set(), time.monotonic() + grace_s
        for pid in [p for p, parent in alive.items() if parent not in alive and p not in asked]:
            asked.add(pid)
            with contextlib.suppress(ProcessLookupError):
                fd = os.pidfd_open(pid)
                try:
                    if pid in processes(words):  # still the one that we found
                        signal.pidfd_send_signal(fd, signo)
                finally:
                    os.close(fd)
        time.sleep(0.02)


# ---- ssh ----

def ssh_answers(address, port, patience_s=3):
    """Does an ssh server introduce itself there?"""
    deadline = time.monotonic() + patience_s
    try:
        with socket.create_connection((address, port), timeout=patience_s) as s:
            left = max(0.0, deadline - time.monotonic())
            return bool(select.select([s], [], [], left)[0]) and s.recv(4) == b"SSH-"
    except OSError:
        return False
