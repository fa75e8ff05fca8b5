#!/usr/bin/env python3
"""A provider whose machines are hosts in namespaces of the worker's own machine.

Below the directory:
    lock            held while addresses are given out, and while the bridge comes and goes
    key, key.pub    what the worker logs in with
    bridge          the bridge's name, if we made it
    hosts/N.json    what N is: whose run made it, its number and its address; written before anything of N exists
    hosts/N         what anneal-host keeps of N
    hosts/N.lock    held by whoever makes or ends N
    hosts/N.log     what anneal-host said

A host hangs on one process of anneal-host, which is known by the directory in its command line; when it ends, in
whatever way, the kernel takes away all that the host was.  So what there is follows from the files and that process,
and an action that was interrupted is finished by the next one.
SPDX-License-Identifier: Apache-2.0
"""
import ipaddress
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "lib"))
import anneal_plugin as ap  # noqa: E402

BOOT_S = 60  # until it has a key; this machine may be busy
GRACE_S = 15  # longer than anneal-host itself takes to end a host
PORT = 22


def anneal_host(task):
    """Said, or beside this plugin where it is installed, or where it was built."""
    said = ap.text_field(task, "program")
    installed = [prefix / "libexec/anneal/anneal-host" for prefix in here.parents[3:4]]
    places = [said] if said else [*installed, here.parents[1] / "build/bin/anneal-host"]
    for place in places:
        if os.access(place, os.X_OK):
            return str(place)
    raise ap.Refused("there is no program anneal-host" + (f" at {said}" if said else ""),
                     "anneal provider set NAME --set program=PATH")


class Host:
    def __init__(self, task):
        self.task, self.key = task, task["key"]
        self.name = ap.node_name(task, 63)
        self.dir = ap.path_field(task, "dir")
        self.bridge = ap.text_field(task, "bridge")
        try:
            self.network = ipaddress.IPv4Network(ap.text_field(task, "network"))
        except ValueError as why:
            raise ap.Refused(f"network: {why}", "give an IPv4 network such as 10.88.0.0/16") from None
        if not 8 <= self.network.prefixlen <= 29:
            raise ap.Refused(f"a network of /{self.network.prefixlen} is no size for hosts", "use one from /8 to /29")
        self.hosts = self.dir / "hosts"
        self.place = self.hosts / self.name
        self.card = self.hosts / f"{self.name}.json"
        self.log = self.hosts / f"{self.name}.log"
        self.words = ["run", "--dir", str(self.place)]

    def alone(self):
        self.hosts.mkdir(mode=0o700, parents=True, exist_ok=True)
        return ap.locked(self.hosts / f"{self.name}.lock")

    def runs(self):
        return bool(ap.processes(self.words))

    def says(self, file):
        try:
            return (self.place / file).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return ""

    def answer(self, card):
        return {"machine": card["name"], "ipaddress": card["address"], "addresses": [card["address"]],
                "access": {"via": "ssh", "user": "root", "port": PORT, "identity": str(self.dir / "key"),
                           "trust": "pinned", "host_keys": [ap.public_key(self.place / "host_key.pub")]}}

    # ---- the bridge ----

    def link(self, *words):
        return [ap.need("ip", "iproute2"), "link", *words]

    def has_link(self, name):
        return subprocess.run(self.link("show", "dev", name), capture_output=True, check=False).returncode == 0

    def network_is_free(self):
        found = json.loads(ap.run([ap.need("ip", "iproute2"), "-json", "-4", "address"], "is this Linux?"))
        for link in found:
            for a in link.get("addr_info", []):
                if ipaddress.IPv4Network(f"{a['local']}/{a['prefixlen']}", strict=False).overlaps(self.network):
                    raise ap.Refused(f"{self.network} is in use: {link['ifname']} has {a['local']}/{a['prefixlen']}",
                                     "choose another with `anneal provider set NAME --set network=...`")

    def bridge_mac(self):
        """As hosts have theirs: of the address.  A bridge without one of its own takes that of its lowest port, and another
        when this port goes: hosts that have not heard of it then send their answers to a machine that is no more."""
        return ":".join(f"{byte:02x}" for byte in (0x02, 0x77, *self.network[1].packed))

    def bridge_up(self):
        remedy = "hosts need root with CAP_NET_ADMIN; a container needs --privileged"
        if not self.has_link(self.bridge):
            self.network_is_free()
            (self.dir / "bridge").write_text(self.bridge + "\n", encoding="ascii")
            ap.run(self.link("add", self.bridge, "address", self.bridge_mac(), "type", "bridge", "forward_delay", "0",
                             "mcast_snooping", "0"), remedy)
        if (self.dir / "bridge").exists():
            gateway = f"{self.network[1]}/{self.network.prefixlen}"
            ap.run([ap.need("ip", "iproute2"), "address", "replace", gateway, "dev", self.bridge], remedy)
            ap.run(self.link("set", self.bridge, "up"), remedy)

    def bridge_down(self):
        """When the last host is gone, if it is ours."""
        if any(self.hosts.glob("*.json")):
            return
        if (self.dir / "bridge").exists():
            if self.has_link(self.bridge):
                ap.run(self.link("delete", self.bridge), "remove it by hand")
            (self.dir / "bridge").unlink()

    # ---- one host ----

    def enroll(self):
        """The card: who it is, before it is."""
        taken = {json.loads(c.read_text(encoding="utf-8"))["number"] for c in self.hosts.glob("*.json")}
        most = self.network.num_addresses - 3  # the network's own, ours, and the broadcast address
        number = next((n for n in range(1, most + 1) if n not in taken), None)
        if number is None:
            raise ap.Refused(f"all {most} addresses of {self.network} are taken", "delete a cluster, or use a larger network")
        card = {"key": self.key, "name": self.name, "number": number, "address": str(self.network[number + 1])}
        ap.write_json(self.card, card)
        return card

    def unplug(self, card):
        """The interface of a host that was killed may be there for a moment longer."""
        name = "ah%08x" % int(ipaddress.IPv4Address(card["address"]))
        if self.has_link(name):
            subprocess.run(self.link("delete", name), capture_output=True, check=False)

    def boot(self, card):
        """Starts its process, if there is none, and waits until the host has its key."""
        pid = 0
        if not self.runs():
            for old in ("host_key.pub", "state"):
                (self.place / old).unlink(missing_ok=True)
            self.unplug(card)
            disk = ap.text_field(self.task, "disk", "memory")
            size = ["--size", ap.text_field(self.task, "size", "256m")] if disk == "memory" else []
            ap.say(log=f"{self.name} gets {card['address']} on {self.bridge}")
            pid = ap.start([anneal_host(self.task), *self.words, "--name", self.name,
                            "--address", f"{card['address']}/{self.network.prefixlen}", "--bridge", self.bridge,
                            "--gateway", str(self.network[1]), "--authorized-keys", str(self.dir / "key.pub"),
                            "--disk", disk, *size], self.log)
        deadline = time.monotonic() + BOOT_S
        while not self.says("host_key.pub"):
            if ap.exit_status(pid) is not None if pid else not self.runs():
                raise self.ended()
            if time.monotonic() >= deadline:
                raise ap.Refused(f"{self.name} has no host key after {BOOT_S} s", f"see {self.log}")
            time.sleep(0.01)

    def ended(self):
        why = ap.last_line(self.log)
        return ap.Refused(f"the host {self.name} has ended" + (f": {why}" if why else ""),
                          f"see {self.log} and {self.place}/console")

    # ---- actions ----

    def find(self):
        card = ap.read_json(self.card)
        if card is None or card["key"] != self.key or not self.runs() or not self.says("host_key.pub"):
            return {"found": False}
        return {"found": True, **self.answer(card)}

    def create(self):
        program = anneal_host(self.task)
        if self.task["dry_run"]:
            ap.say(log=f"would make {self.name} with {program}")
            return {}
        with self.alone():
            card = ap.read_json(self.card)
            if card is not None and card["key"] != self.key:
                raise ap.Refused(f"there is a host {self.name} already, made by another run", "delete it first")
            with ap.locked(self.dir / "lock"):
                ap.make_key(self.dir / "key")
                if card is None:
                    card = self.enroll()
                self.bridge_up()
            self.boot(card)
            return self.answer(card)

    def confirm(self):
        if self.task["dry_run"]:
            return {}
        card = ap.read_json(self.card)
        if card is None:
            raise ap.Refused(f"there is no host {self.name}", "create it first")
        if not self.runs():
            raise self.ended()
        if self.says("state") != "up" or not ap.ssh_answers(card["address"], PORT):
            raise ap.Again(1, f"sshd of {self.name} at {card['address']}")
        return self.answer(card)

    def delete(self):
        ap.say(log=f"ending {self.name}")
        if self.task["dry_run"] or not self.hosts.is_dir():
            return {}
        with self.alone():
            ap.end(self.words, GRACE_S)
            card = ap.read_json(self.card)
            if card is not None:
                self.unplug(card)
            if self.place.exists():
                shutil.rmtree(self.place)
            self.log.unlink(missing_ok=True)
            with ap.locked(self.dir / "lock"):
                self.card.unlink(missing_ok=True)
                self.bridge_down()
            (self.hosts / f"{self.name}.lock").unlink()
        return {}


sys.exit(ap.main("netns", {name: (lambda task, name=name: getattr(Host(task), name)())
                           for name in ("create", "find", "confirm", "delete")}))
