#!/usr/bin/env python3
"""The machines of ./quickstart: hosts of their own on this one, by the plugin netns.

    quickstart_hosts.py probe DIR BIN              can hosts be had here?  One is made and ended
    quickstart_hosts.py up DIR BIN NAME=LABEL...   hosts of these names, known to the server as nodes with that label
    quickstart_hosts.py down DIR BIN               ends all hosts of DIR
    quickstart_hosts.py fields DIR BIN             what to tell the provider netns, so that its hosts are in DIR: NAME=VALUE a line

The last part of DIR says whose hosts they are: `hosts` of the shop, which `up` makes, or `clusters`, which the server makes.
`up` may be said again: what is there stays.  If hosts cannot be had here, `probe` and `up` say why on standard error, leave nothing
behind and exit with 3.
SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
plugins = pathlib.Path(__file__).resolve().parent.parent / "plugins"
sys.path.insert(0, str(plugins / "lib"))
import anneal_plugin  # noqa: E402

PLUGIN = plugins / "netns/netns.py"
NETWORKS = {"hosts": ("anq", 64), "clusters": ("anc", 128)}  # the bridge, before the port; the least second byte of the address
UNAVAILABLE = 3
CONFIRM_S = 60
PROBE = "probe.example.net"


class Failed(Exception):
    pass


class Hosts:
    def __init__(self, directory, programs):
        # Of each server its own, so that several can be tried at once.
        port = int(os.environ["ANNEAL_SERVER"].rsplit(":", 1)[1])
        self.dir = pathlib.Path(directory).resolve()
        bridge, first = NETWORKS[self.dir.name]
        self.provider = {"dir": str(self.dir), "bridge": f"{bridge}{port}",
                         "network": f"10.{first + port % 64}.{port // 64 % 256}.0/24",
                         "program": str(pathlib.Path(programs).resolve() / "anneal-host"), "disk": "memory"}
        self.fields = {**self.provider, "size": "64m"}

    def ask(self, action, name):
        task = {"protocol": 1, "plugin": "netns", "type": "netns", "action": action, "key": "quickstart", "dry_run": False,
                "fields": self.fields, "params": {}, "data": {}, "task": {}, "node": {"name": name}}
        said = subprocess.run([PLUGIN], input=json.dumps(task), capture_output=True, text=True, check=False)
        for line in said.stdout.splitlines():
            answer = json.loads(line)
            if "error" in answer:
                raise Failed(answer["error"]["text"])
            if "result" in answer:
                return answer
        raise Failed(said.stderr.strip() or "the plugin netns gave no answer")

    def make(self, name):
        made = self.ask("create", name)["result"]
        deadline = time.monotonic() + CONFIRM_S
        while not anneal_plugin.ssh_answers(made["ipaddress"], made["access"]["port"]):
            if time.monotonic() >= deadline:
                raise Failed(f"{name} does not answer")
            time.sleep(0.02)
        return made

    def names(self):
        return [c.stem for c in (self.dir / "hosts").glob("*.json")]

    def down(self):
        with concurrent.futures.ThreadPoolExecutor(8) as crowd:
            list(crowd.map(lambda name: self.ask("delete", name), self.names()))


def tell(method, path, body):
    token = pathlib.Path(os.environ["ANNEAL_TOKEN_FILE"]).read_text(encoding="ascii").strip()
    request = urllib.request.Request(os.environ["ANNEAL_SERVER"] + path, method=method, data=json.dumps(body).encode(), headers={
        "Authorization": f"Bearer {token}", "Content-Type": "application/json", "If-Match": "*"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def register(name, label, made):
    """A node that is reached as its host is; one that is known already learns where it is now."""
    where = {"addresses": made["addresses"], "access": made["access"]}
    key, _, value = label.partition("=")
    try:
        tell("POST", "/v1/nodes", {"name": name, "alive": "alive", "labels": {key: value}, **where})
    except urllib.error.HTTPError as why:
        if why.code != 409:
            raise
        tell("PATCH", f"/v1/nodes/{name}", where)


def probe(hosts):
    """Where some are up already there is nothing to ask."""
    if not hosts.names():
        hosts.make(PROBE)
        hosts.ask("delete", PROBE)


def up(hosts, nodes):
    with concurrent.futures.ThreadPoolExecutor(8) as crowd:
        made = list(crowd.map(hosts.make, nodes))
    for (name, label), machine in zip(nodes.items(), made):
        register(name, label, machine)


def main(verb, directory, programs, *words):
    hosts = Hosts(directory, programs)
    if verb == "down":
        hosts.down()
        return 0
    if verb == "fields":
        print(*(f"{name}={value}" for name, value in hosts.provider.items()), sep="\n")
        return 0
    try:
        if os.geteuid() != 0:
            raise Failed("only root can have hosts of its own")
        if verb == "probe":
            probe(hosts)
        else:
            up(hosts, dict(word.split("=", 1) for word in words))
    except Failed as why:
        print(why, file=sys.stderr)
        hosts.down()
        return UNAVAILABLE
    return 0


sys.exit(main(*sys.argv[1:]))
