#!/usr/bin/env python3
"""A provider whose machines are directories.

A machine is ROOT/NAME/machine.json.  The key of the run that made it is in there: a run that comes a second time,
because the answer of the first was lost, finds its machine by that and does not make another.
SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import json
import pathlib
import shutil
import sys


def say(**line):
    print(json.dumps(line), flush=True)


class Refused(Exception):
    """What the plugin cannot do, and what to do about it."""

    def __init__(self, text, remedy=""):
        super().__init__(text)
        self.remedy = remedy


class Machines:
    def __init__(self, task):
        self.task, self.fields = task, task["fields"]
        if not self.fields.get("root"):
            raise Refused("no root", "anneal provider set NAME --set root=DIR")
        self.root = pathlib.Path(self.fields["root"])
        self.place = self.root / task["node"]["name"]

    def card(self):
        """What is known of the machine; None: it is not there."""
        try:
            return json.loads((self.place / "machine.json").read_text())
        except FileNotFoundError:
            return None

    def answer(self, card):
        return {"machine": card["id"], "ipaddress": card["address"]}

    def find(self):
        card = self.card()
        found = card is not None and card["key"] == self.task["key"]
        return {"found": True, **self.answer(card)} if found else {"found": False}

    def create(self):
        card = self.card()
        if card is not None and card["key"] != self.task["key"]:
            raise Refused(f"{self.place} is another's", "delete it first")
        if card is None:
            say(log=f"making {self.place}")
            digest = hashlib.sha256(str(self.place).encode()).digest()
            card = {"id": "m-" + digest.hex()[:8], "key": self.task["key"], "size": self.fields["size"],
                    "address": "127.%d.%d.%d" % (digest[0], digest[1], 1 + digest[2] % 250)}
            images = self.task.get("resources", {}).get("images", {})
            if images:  # each is a directory, read-only: what is in it belongs to the machine
                card["images"] = {name: {"version": image["version"], "files": len(list(pathlib.Path(image["path"]).iterdir()))}
                                  for name, image in images.items()}
            if self.task["dry_run"]:
                return {}
            # Under another name first: whoever looks sees all of it or nothing.
            making = self.root / (".making-" + self.place.name)
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir(parents=True)
            (making / "machine.json").write_text(json.dumps(card))
            making.rename(self.place)
        say(progress=1, text="made")
        return self.answer(card)

    def confirm(self):
        if self.task["dry_run"]:
            return {}
        card = self.card()
        if card is None:
            raise Refused(f"there is no {self.place}")
        return self.answer(card)

    def delete(self):
        say(log=f"removing {self.place}")
        if not self.task["dry_run"]:
            shutil.rmtree(self.place, ignore_errors=True)
        return {}


def main():
    try:
        task = json.load(sys.stdin)
        action = task["action"]
        if action not in ("create", "find", "confirm", "delete"):
            raise Refused(f"dirs cannot {action}")
        say(result=getattr(Machines(task), action)())
    except Refused as why:
        say(error={"text": str(why), "remedy": why.remedy})
        return 1
    except (ValueError, KeyError, TypeError) as why:
        say(error={"text": f"this is no task: {type(why).__name__}"})
        return 1
    return 0


sys.exit(main())
