#!/usr/bin/env python3
"""Power of machines through their management controllers (BMC), by ipmitool.

What is wanted is compared with what is: `on` of a machine that is on does nothing, and `cycle` of one that is off
switches it on.  The password goes to ipmitool in a file that has no name and no place on a disk.
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import anneal_plugin as ap  # noqa: E402

SETTLE_S = 30  # from the controller's word to the deed
CALL_S = 20
PORT = 623


def split(place):
    """ADDRESS, ADDRESS:PORT, [V6] or [V6]:PORT."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%a-z]+)\]|([^\s:\[\]-][^\s:\[\]]*))(?::([0-9]{1,5}))?", place)
    if not found or not 0 < int(found[3] or PORT) < 65536:
        raise ap.Refused(f"\"{place}\" is not where a controller can be", "write ADDRESS or ADDRESS:PORT")
    return found[1] or found[2], int(found[3] or PORT)


def in_inventory(path, node):
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise ap.Refused(f"there is no inventory {path}", "write a line NODE ADDRESS for each controller") from None
    for line in lines:
        words = line.split("#", 1)[0].split()
        if words[:1] == [node]:
            if len(words) != 2:
                raise ap.Refused(f"{path}: the line of {node} is not NODE ADDRESS", "correct the line")
            return words[1]
    raise ap.Refused(f"{path} does not know {node}", f"add a line: {node} ADDRESS")


class Controller:
    def __init__(self, task):
        self.task = task
        self.node = ap.node_name(task)
        self.user = ap.text_field(task, "user", "root")
        self.password = ap.text_field(task, "password")
        if not self.password:
            raise ap.Refused("no password for the controller", "anneal provider set NAME --set-file password=FILE")
        self.interface = ap.text_field(task, "interface", "lanplus")
        self.cipher = task["fields"].get("cipher")
        if self.cipher is not None:
            self.cipher = ap.number_field(task, "cipher", 0, 17)
        self.host, self.port = split(self.place())

    def place(self):
        said = self.task["params"].get("bmc")  # by the task itself
        if isinstance(said, str) and said:
            return said
        if ap.text_field(self.task, "inventory"):
            return in_inventory(ap.path_field(self.task, "inventory"), self.node)
        pattern = ap.text_field(self.task, "bmc")
        if not pattern:
            raise ap.Refused(f"nothing says where the controller of {self.node} is", "anneal provider set NAME --set bmc={short}-bmc.example.net")
        return pattern.replace("{node}", self.node).replace("{short}", self.node.split(".", 1)[0])

    def power(self, word):
        """One command to the controller; its answer."""
        argv = [ap.need("ipmitool", "ipmitool"), "-I", self.interface, "-H", self.host, "-p", str(self.port), "-U", self.user]
        if self.cipher is not None and self.interface == "lanplus":
            argv += ["-C", str(self.cipher)]
        file = os.memfd_create("password", os.MFD_CLOEXEC)
        try:
            os.write(file, self.password.encode() + b"\n")
            argv += ["-f", f"/proc/self/fd/{file}", "-N", "1", "-R", "3", "chassis", "power", word]
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                  pass_fds=(file,), timeout=CALL_S)
        except subprocess.TimeoutExpired:
            raise self.silent(f"nothing within {CALL_S} s") from None
        finally:
            os.close(file)
        if done.returncode == 0:
            return done.stdout.strip()
        raise self.silent((done.stderr.strip().splitlines() or ["no reason"])[-1].removeprefix("Error: "))

    def silent(self, why):
        return ap.Refused(f"the controller of {self.node} at {self.host}:{self.port} does not do it: {why}",
                          "check its address, user and password, and that it takes IPMI over the network")

    def tell(self):
        return {} if self.task["dry_run"] else {"power": self.status()}

    def status(self):
        said = self.power("status")
        found = re.search(r"Power is (on|off)", said)
        if not found:
            raise self.silent(f"it says \"{said[:80]}\"")
        return found[1]

    def settled(self, wanted):
        deadline = time.monotonic() + SETTLE_S
        while self.status() != wanted:
            if time.monotonic() >= deadline:
                raise ap.Refused(f"{self.node} is not {wanted} {SETTLE_S} s after its controller agreed",
                                 "look at the machine: its supply may be out")
            time.sleep(0.5)
        return {"power": wanted}

    def would(self, what):
        ap.say(log=f"would ask the controller at {self.host}:{self.port} to switch {self.node} {what}")
        return {}

    def switch(self, wanted):
        if self.task["dry_run"]:
            return self.would(wanted)
        if self.status() == wanted:
            ap.say(log=f"{self.node} is {wanted} already")
            return {"power": wanted, "changed": False}
        ap.say(log=f"switching {self.node} {wanted}")
        self.power(wanted)
        return {**self.settled(wanted), "changed": True}

    def cycle(self):
        if self.task["dry_run"]:
            return self.would("off and on")
        if self.status() == "off":
            return self.switch("on")
        ap.say(log=f"switching {self.node} off and on")
        self.power("cycle")
        return {**self.settled("on"), "changed": True}


sys.exit(ap.main("ipmi", {"on": lambda task: Controller(task).switch("on"), "off": lambda task: Controller(task).switch("off"),
                          "cycle": lambda task: Controller(task).cycle(),
                          "status": lambda task: Controller(task).tell()}))
