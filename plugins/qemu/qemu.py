#!/usr/bin/env python3
"""A provider whose machines are virtual ones on the worker's own machine, under QEMU.

Below the directory:
    lock              held while ports are given out
    key, key.pub      what the worker logs in with
    machines/N.json   what N is: whose run made it and its port; written before anything of N exists
    machines/N        its disk (a layer over the image), its seed, its host key, its console
    machines/N.lock   held by whoever makes or ends N

The seed is a NoCloud disk for cloud-init (volume `cidata`): name, the key that may log in, and the host key, so that it
is known before the machine has ever been spoken to.  JSON is YAML: both documents are written by the JSON writer.
The network is QEMU's own: a port of this machine's loopback leads to the machine's sshd.  A machine is one process,
known by the path of its pid file in its command line.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import re
import shutil
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import anneal_plugin as ap  # noqa: E402

GRACE_S = 15
START_S = 30
LOOPBACK = "127.0.0.1"


def is_free(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


class Machine:
    def __init__(self, task):
        self.task, self.key = task, task["key"]
        self.name = ap.node_name(task, 63)
        self.dir = ap.path_field(task, "dir")
        self.all = self.dir / "machines"
        self.place = self.all / self.name
        self.card = self.all / f"{self.name}.json"
        self.user = ap.text_field(task, "user", "root")
        self.words = ["-pidfile", str(self.place / "pid")]

    def alone(self):
        self.all.mkdir(mode=0o700, parents=True, exist_ok=True)
        return ap.locked(self.all / f"{self.name}.lock")

    def runs(self):
        return bool(ap.processes(self.words))

    def program(self):
        said = ap.text_field(self.task, "program", "qemu-system-x86_64")
        return said if os.path.isabs(said) and os.access(said, os.X_OK) else ap.need(said, "qemu-system-x86")

    def file(self, field):
        """A file that is said, or None."""
        if not ap.text_field(self.task, field):
            return None
        path = ap.path_field(self.task, field)
        if "," in str(path) or not path.is_file():  # a comma means something in options of QEMU
            raise ap.Refused(f"{field}: {path} is no file, or has a comma in its name", f"anneal provider set NAME --set {field}=PATH")
        return path

    def answer(self, card):
        return {"machine": card["name"], "ipaddress": LOOPBACK, "addresses": [LOOPBACK],
                "access": {"via": "ssh", "user": self.user, "port": card["port"], "identity": str(self.dir / "key"),
                           "trust": "pinned", "host_keys": [ap.public_key(self.place / "host_key.pub")]}}

    # ---- what it is made of ----

    def enroll(self):
        said = ap.text_field(self.task, "ports", "20022-20999")
        found = re.fullmatch(r"([0-9]{1,5})-([0-9]{1,5})", said)
        if not found or not 0 < int(found[1]) <= int(found[2]) < 65536:
            raise ap.Refused(f"\"{said}\" are no ports", "write FIRST-LAST, such as 20022-20999")
        taken = {json.loads(c.read_text(encoding="utf-8"))["port"] for c in self.all.glob("*.json")}
        port = next((p for p in range(int(found[1]), int(found[2]) + 1) if p not in taken and is_free(p)), None)
        if port is None:
            raise ap.Refused(f"all ports of {said} are taken", "delete a cluster, or allow more ports")
        card = {"key": self.key, "name": self.name, "port": port}
        ap.write_json(self.card, card)
        return card

    def seed(self):
        """Made under another name: what has the right one is whole."""
        ap.make_key(self.place / "host_key")
        made = self.place / "seed.iso"
        if made.exists():
            return made
        source = self.place / "seed"
        source.mkdir(exist_ok=True)
        private = (self.place / "host_key").read_text(encoding="ascii")
        public = ap.public_key(self.place / "host_key.pub")
        user = {"disable_root": False, "ssh_pwauth": False, "ssh_deletekeys": True,
                "ssh_keys": {"ed25519_private": private, "ed25519_public": public},
                "ssh_authorized_keys": [ap.public_key(self.dir / "key.pub")]}
        if self.user != "root":
            user["users"] = [{"name": self.user, "sudo": "ALL=(ALL) NOPASSWD:ALL", "shell": "/bin/sh", "lock_passwd": True,
                              "ssh_authorized_keys": user["ssh_authorized_keys"]}]
        (source / "user-data").write_text("#cloud-config\n" + json.dumps(user, indent=1) + "\n", encoding="utf-8")
        (source / "meta-data").write_text(json.dumps({"instance-id": f"{self.name}-{self.key}", "local-hostname": self.name}, indent=1) + "\n",
                                          encoding="utf-8")
        new = self.place / ".seed.new"
        ap.run([ap.need("genisoimage", "genisoimage"), "-quiet", "-output", str(new), "-volid", "cidata", "-joliet", "-rock",
                str(source / "user-data"), str(source / "meta-data")], f"is there room in {self.dir}?")
        os.replace(new, made)
        return made

    def layer(self):
        """The disk: what is written, over the image that all share.  None: it has none."""
        image = self.file("image")
        made = self.place / "disk.qcow2"
        if image is None or made.exists():
            return image and made
        new = self.place / ".disk.new"
        new.unlink(missing_ok=True)
        size = ap.text_field(self.task, "disk")
        ap.run([ap.need("qemu-img", "qemu-utils"), "create", "-q", "-f", "qcow2", "-b", str(image), "-F",
                ap.text_field(self.task, "format", "qcow2"), str(new), *([size] if size else [])], "is the image what `format` says?")
        os.replace(new, made)
        return made

    def command(self, card):
        accel = ap.text_field(self.task, "accel", "tcg")
        if accel == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
            raise ap.Refused("there is no /dev/kvm that we may use", "anneal provider set NAME --set accel=tcg")
        words = [self.program(), *self.words, "-name", self.name, "-accel", accel, "-nodefaults", "-no-user-config",
                 "-display", "none", "-daemonize", "-m", str(ap.number_field(self.task, "memory", 64, 1 << 20)),
                 "-smp", str(ap.number_field(self.task, "cpus", 1, 255)), "-serial", f"file:{self.place}/console",
                 "-nic", f"user,model=virtio-net-pci,hostfwd=tcp:{LOOPBACK}:{card['port']}-:22",
                 "-drive", f"file={self.seed()},format=raw,if=virtio,readonly=on", "-device", "virtio-rng-pci"]
        disk = self.layer()
        if disk:
            words += ["-drive", f"file={disk},format=qcow2,if=virtio"]
        for field in ("kernel", "initrd"):
            path = self.file(field)
            words += [f"-{field}", str(path)] if path else []
        append = ap.text_field(self.task, "append")
        return words + (["-append", append] if append else [])

    # ---- its life ----

    def boot(self, card):
        if self.runs():
            return
        self.place.mkdir(mode=0o700, exist_ok=True)
        words = self.command(card)
        ap.say(log=f"{self.name} gets {LOOPBACK}:{card['port']}")
        pid = ap.start(words, self.place / "log")
        deadline = time.monotonic() + START_S
        while (status := ap.exit_status(pid)) is None:  # it leaves a child when its devices, ports and files are open
            if time.monotonic() >= deadline:
                raise ap.Refused(f"QEMU has not begun after {START_S} s", f"see {self.place}/log")
            time.sleep(0.02)
        if status != 0:
            raise self.ended()

    def ended(self):
        why = ap.last_line(self.place / "log")
        return ap.Refused(f"the machine {self.name} has ended" + (f": {why}" if why else ""), f"see {self.place}/log and {self.place}/console")

    # ---- actions ----

    def find(self):
        card = ap.read_json(self.card)
        if card is None or card["key"] != self.key or not self.runs():
            return {"found": False}
        return {"found": True, **self.answer(card)}

    def create(self):
        if not ap.text_field(self.task, "image") and not ap.text_field(self.task, "kernel"):
            raise ap.Refused("nothing to boot: no image and no kernel", "anneal provider set NAME --set image=PATH")
        if self.task["dry_run"]:
            ap.say(log=f"would make {self.name} with {self.program()}")
            return {}
        with self.alone():
            card = ap.read_json(self.card)
            if card is not None and card["key"] != self.key:
                raise ap.Refused(f"there is a machine {self.name} already, made by another run", "delete it first")
            with ap.locked(self.dir / "lock"):
                ap.make_key(self.dir / "key")
                if card is None:
                    card = self.enroll()
            self.boot(card)
            return self.answer(card)

    def confirm(self):
        if self.task["dry_run"]:
            return {}
        card = ap.read_json(self.card)
        if card is None:
            raise ap.Refused(f"there is no machine {self.name}", "create it first")
        if not self.runs():
            raise self.ended()
        if not ap.ssh_answers(LOOPBACK, card["port"]):
            raise ap.Again(3, f"sshd of {self.name} behind port {card['port']}")
        return self.answer(card)

    def delete(self):
        ap.say(log=f"ending {self.name}")
        if self.task["dry_run"] or not self.all.is_dir():
            return {}
        with self.alone():
            ap.end(self.words, GRACE_S)
            if self.place.exists():
                shutil.rmtree(self.place)
            self.card.unlink(missing_ok=True)
            (self.all / f"{self.name}.lock").unlink()
        return {}


sys.exit(ap.main("qemu", {name: (lambda task, name=name: getattr(Machine(task), name)())
                          for name in ("create", "find", "confirm", "delete")}))
