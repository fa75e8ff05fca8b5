#!/usr/bin/env python3
"""A provider of machines that exist: it knows a list of them and who has which.

The inventory has a line for each machine, in the quoting of a shell, with # for remarks:
    NAME ADDRESS [user=... port=... identity=... host_key="ssh-ed25519 AAAA..." KEY=VALUE...]

The state file has, for each machine that is taken, the run that took it, its node, and what the inventory said then.
It is replaced as a whole, under a lock, before anybody is told: a machine is either free or somebody's, whatever is
killed.  One that is being wiped is still its last owner's.
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import anneal_plugin as ap  # noqa: E402

OWN_KEYS = ("user", "port", "identity", "host_key")


def pairs(words, where):
    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise ap.Refused(f"{where}: \"{word}\" is not KEY=VALUE", "write for instance rack=r1")
        found[key] = value
    return found


def machine_of(words, where):
    if len(words) < 2 or not ap.NAME.fullmatch(words[0]):
        raise ap.Refused(f"{where}: a machine is NAME ADDRESS [KEY=VALUE]...", "correct the line")
    more = pairs(words[2:], where)
    port = more.get("port", "22")
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise ap.Refused(f"{where}: \"{port}\" is no port", "give a number from 1 to 65535")
    if len(more.get("host_key", "ssh-ed25519 A").split()) < 2:
        raise ap.Refused(f"{where}: a host key is a type and a key", "write host_key=\"ssh-ed25519 AAAA...\"")
    return {"name": words[0], "address": words[1], "port": int(port),
            **{k: more[k] for k in ("user", "identity", "host_key") if k in more},
            "labels": {k: v for k, v in more.items() if k not in OWN_KEYS}}


def inventory(path):
    """Machines in the order of the file.  One that stands there twice would be given out twice."""
    machines, seen = [], {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise ap.Refused(f"there is no inventory {path}", "write a line NAME ADDRESS for each machine") from None
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        try:
            words = shlex.split(line, comments=True)
        except ValueError as why:
            raise ap.Refused(f"{where}: {why}", "correct the line") from None
        if not words:
            continue
        machine = machine_of(words, where)
        for what in (machine["name"], f"{machine['address']}:{machine['port']}"):
            if what in seen:
                raise ap.Refused(f"{where}: {what} is in line {seen[what]} already", "remove one of the two lines")
            seen[what] = number
        machines.append(machine)
    return machines


class Stock:
    def __init__(self, task):
        self.task, self.key = task, task["key"]
        self.node = ap.node_name(task)
        self.inventory = ap.path_field(task, "inventory")
        self.state = ap.path_field(task, "state", f"{self.inventory}.state")

    def alone(self):
        self.state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return ap.locked(self.state.with_name(self.state.name + ".lock"))

    def taken(self):
        return ap.read_json(self.state) or {}

    def mine(self, taken):
        """What the node has: at most one."""
        return next((name for name, t in taken.items() if t["node"] == self.node), None)

    def answer(self, machine):
        access = {"via": "ssh", "user": machine.get("user") or ap.text_field(self.task, "user", "root"), "port": machine["port"]}
        identity = machine.get("identity") or ap.text_field(self.task, "identity")
        if identity:
            access["identity"] = identity
        if machine.get("host_key"):
            access.update(trust="pinned", host_keys=[machine["host_key"]])
        return {"machine": machine["name"], "ipaddress": machine["address"], "addresses": [machine["address"]],
                "labels": machine["labels"], "access": access}

    def choose(self, taken):
        wanted = pairs([w for w in ap.text_field(self.task, "want").split(",") if w], "want")
        fit = [m for m in inventory(self.inventory) if wanted.items() <= m["labels"].items()]
        # Whoever is taken under another name is taken: names are the list's, addresses are the machine's.
        places = {(t["machine"]["address"], t["machine"]["port"]) for t in taken.values()}
        free = [m for m in fit if m["name"] not in taken and (m["address"], m["port"]) not in places]
        if free:
            return free[0]
        such = "".join(f" with {k}={v}" for k, v in wanted.items())
        if not fit:
            raise ap.Refused(f"the inventory has no machine{such}", f"add one to {self.inventory}")
        text = f"all {len(fit)} machines{such} are taken"
        if ap.text_field(self.task, "full", "fail") == "wait":
            raise ap.Again(5, f"a free machine: {text}")
        raise ap.Refused(text, f"delete a cluster, add machines to {self.inventory}, or set full=wait")

    # ---- actions ----

    def find(self):
        with self.alone():
            taken = self.taken()
        name = self.mine(taken)
        if name is None or taken[name]["key"] != self.key or taken[name].get("wiping"):
            return {"found": False}
        return {"found": True, **self.answer(taken[name]["machine"])}

    def create(self):
        with self.alone():
            taken = self.taken()
            name = self.mine(taken)
            if name is not None and taken[name].get("wiping"):
                raise ap.Refused(f"{name}, which {self.node} had, was not wiped to the end", "delete the node again, then create it")
            if name is not None and taken[name]["key"] != self.key:
                raise ap.Refused(f"{self.node} has {name} already, given by another run", "delete that first")
            if name is None:
                machine = self.choose(taken)
                name = machine["name"]
                ap.say(log=f"{self.node} gets {name} at {machine['address']}")
                if self.task["dry_run"]:
                    return {}
                taken[name] = {"key": self.key, "node": self.node, "machine": machine}
                ap.write_json(self.state, taken)
            return self.answer(taken[name]["machine"])

    def confirm(self):
        with self.alone():
            taken = self.taken()
        name = self.mine(taken)
        if self.task["dry_run"]:
            return {}
        if name is None:
            raise ap.Refused(f"{self.node} has no machine", "create it first")
        machine = taken[name]["machine"]
        if not ap.ssh_answers(machine["address"], machine["port"]):
            raise ap.Again(5, f"ssh of {name} at {machine['address']}:{machine['port']}")
        return self.answer(machine)

    def wipe(self, machine, command):
        ap.say(log=f"wiping {machine['name']}")
        done = subprocess.run(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False,
                              env={**os.environ, "MACHINE": machine["name"], "ADDRESS": machine["address"]})
        if done.returncode != 0:
            raise ap.Refused(f"{machine['name']} could not be wiped: status {done.returncode}",
                             "it is nobody's until that succeeds: see the log, then delete again")

    def release(self, name, taken):
        if self.mine(taken) == name:
            del taken[name]
            ap.write_json(self.state, taken)
        ap.say(log=f"{name} is free")

    def delete(self):
        command = ap.text_field(self.task, "wipe")
        with self.alone():
            taken = self.taken()
            name = self.mine(taken)
            if name is None or self.task["dry_run"]:
                return {}
            if not command:  # in one step: whoever is killed has given the machine back, or still has it as it was
                self.release(name, taken)
                return {}
            taken[name]["wiping"] = True
            ap.write_json(self.state, taken)
        self.wipe(taken[name]["machine"], command)  # may take long: others are served meanwhile
        with self.alone():
            self.release(name, self.taken())
        return {}


sys.exit(ap.main("static", {name: (lambda task, name=name: getattr(Stock(task), name)())
                            for name in ("create", "find", "confirm", "delete")}))
