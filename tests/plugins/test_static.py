#!/usr/bin/env python3
"""plugins/static: each machine is somebody's or nobody's, whoever asks at once and whatever is killed.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import json
import random
import socket
import threading

from plug import Plugin, Tap, scratch

t, work = Tap(), scratch()
inventory, state = work / "machines", work / "machines.state"
inventory.write_text("\n".join(f"m{i} 127.0.1.{i} rack=r{i % 2} # remark" for i in range(1, 9)) + "\n")
static = Plugin("static", {"inventory": str(inventory), "user": "op", "full": "fail"})


def taken():
    return json.loads(state.read_text()) if state.exists() else {}


# --- one
word, made = static.call("create", "a.x", "k1")
t.eq((word, made.get("machine"), made.get("ipaddress")), ("result", "m1", "127.0.1.1"), "the first free machine")
t.eq(made["access"], {"via": "ssh", "user": "op", "port": 22}, "and how it is reached")
t.eq(static.call("create", "a.x", "k1"), ("result", made), "the same key, the same machine")
t.eq(static.call("create", "a.x", "k2")[0], "error", "another run does not get it")
t.eq(static.call("find", "a.x", "k1"), ("result", {"found": True, **made}), "it is found by its key")
t.eq(static.call("find", "a.x", "k2"), ("result", {"found": False}), "and by no other")
t.eq(static.call("create", "b.x", "k3", dry_run=True), ("result", {}), "a dry run")
t.eq(list(taken()), ["m1"], "takes nothing")
t.eq(static.call("create", "b.x", "k3", fields={"want": "rack=r0"})[1]["machine"], "m2", "a wanted label is heeded")
t.has(static.call("create", "c.x", "k4", fields={"want": "rack=r7"})[1]["text"], "no machine with rack=r7", "or refused")

# --- ssh answers, or not
word, value = static.call("confirm", "a.x")
t.eq((word, value.get("watch")), ("again", "ssh of m1 at 127.0.1.1:22"), "a machine that does not answer is waited for")
with socket.create_server(("127.0.0.1", 0)) as server:
    inventory.write_text(f"{inventory.read_text()}s1 127.0.0.1 port={server.getsockname()[1]} rack=s host_key=\"ssh-ed25519 AAAA\"\n")
    word, made = static.call("create", "s.x", "k5", fields={"want": "rack=s"})
    t.eq((made["access"]["host_keys"], made["access"]["trust"]), (["ssh-ed25519 AAAA"], "pinned"), "a host key that is known is pinned")

    def greet(text):
        c, _ = server.accept()
        with c:
            c.sendall(text)
            with contextlib.suppress(ConnectionResetError):
                c.recv(1)

    for text, wanted in ((b"HTTP/1.1 400\r\n", "again"), (b"SSH-2.0-x\r\n", "result")):
        thread = threading.Thread(target=greet, args=(text,))
        thread.start()
        t.eq(static.call("confirm", "s.x")[0], wanted, f"what says {text.decode().strip()} is {'ready' if wanted == 'result' else 'not ssh'}")
        thread.join()
t.eq(static.call("delete", "s.x"), ("result", {}), "given back")

# --- a wipe
log = work / "wiped"
wipe = {"wipe": f'echo "$MACHINE $ADDRESS" >>{log}; test ! -e {work}/broken'}
(work / "broken").touch()
word, why = static.call("delete", "b.x", fields=wipe)
t.has(why["text"], "m2 could not be wiped", "a machine that cannot be wiped")
t.eq("m2" in taken(), True, "is not free")
t.has(static.call("create", "b.x", "k3")[1]["text"], "m2, which b.x had, was not wiped to the end", "nor its last owner's")
(work / "broken").unlink()
t.eq(static.call("delete", "b.x", fields=wipe), ("result", {}), "wiped at the second try")
t.eq((log.read_text(), "m2" in taken()), ("m2 127.0.1.2\nm2 127.0.1.2\n", False), "and free")
t.eq(static.call("delete", "b.x", fields=wipe), ("result", {}), "given back twice is fine")
t.eq(static.call("delete", "a.x"), ("result", {}), "the other, too")

# --- lists that are wrong
good = inventory.read_text()
for text, part in (("m1\n", ":1: a machine is NAME ADDRESS"), ("m1 a\nm1 b\n", ":2: m1 is in line 1"), ("m1 a\nm2 a\n", ":2: a:22 is in line 1"),
                   ("m1 a rack\n", "is not KEY=VALUE"), ("m1 a port=0\n", "is no port"), ("m1 a 'b\n", "No closing quotation"),
                   ("m1 a host_key=x\n", "a type and a key")):
    inventory.write_text(text)
    word, why = static.call("create", "w.x")
    t.ok(word == "error" and part in why["text"] and why["remedy"], f"refused: {text!r}", why)
inventory.write_text(good)
t.has(static.call("create", "w.x", fields={"inventory": str(work / "none")})[1]["text"], "there is no inventory", "no list")
t.has(static.call("create", "../../x")[1]["text"], "no node", "a name that is a path")

# --- many at once, and many killed: never one machine twice, nothing lost
inventory.write_text("".join(f"m{i} 127.0.1.{i}\n" for i in range(1, 9)))
word, made = zip(*[static.end(p) for p in [static.begin("create", f"n{i}.x", f"n{i}") for i in range(12)]])
got = [m["machine"] for w, m in zip(word, made) if w == "result"]
t.eq((len(got), len(set(got))), (8, 8), "12 ask at once for 8 machines: 8 get one each")
t.has([m["text"] for w, m in zip(word, made) if w == "error"][0], "all 8 machines are taken", "the others are told")
full, why = static.call("create", "n99.x", "n99", fields={"full": "wait"})
t.eq((full, why.get("watch")), ("again", "a free machine: all 8 machines are taken"), "or wait")
for i in range(12):
    static.call("delete", f"n{i}.x")
t.eq(taken(), {}, "all are given back")
random.seed(7)
bad = []
for turn in range(40):
    verb = random.choice(["create", "create", "delete"])
    crowd = [static.begin(verb, f"n{i}.x", f"n{i}") for i in random.sample(range(8), 4)]
    for p in crowd:
        try:
            p.wait(random.uniform(0, 0.15))
        except Exception:  # it still runs
            p.kill()
        p.communicate()
    owners = [v["node"] for v in taken().values()]
    if len(owners) != len(set(owners)):
        bad.append(owners)
t.eq(bad, [], "after each of 40 rounds of kills, no node has two machines")
answers = [static.call("create", f"n{i}.x", f"n{i}") for i in range(8)]
t.eq(sorted(v.get("machine", v.get("text")) for _, v in answers), [f"m{i}" for i in range(1, 9)], "asked again, each node has its own")
for i in range(8):
    static.call("delete", f"n{i}.x")
t.eq((taken(), sorted(p.name for p in work.iterdir() if p.name.startswith("machines"))),
     ({}, ["machines", "machines.state", "machines.state.lock"]), "and nothing is left over")
t.done()
