#!/usr/bin/env python3
"""plugins/ipmi against a simulated controller: ipmi_sim of OpenIPMI.

SPDX-License-Identifier: Apache-2.0
"""
import atexit
import shutil
import socket
import subprocess
import time

from plug import Plugin, Tap, scratch, skip

for program, package in (("ipmi_sim", "openipmi"), ("ipmitool", "ipmitool")):
    if not shutil.which(program):
        skip(f"no {program}: the package is {package}")
PASSWORD = "correct-horse-47"
t, work = Tap(), scratch()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]

# The machine behind the controller: a file that says whether it is on.  It also looks who can be seen to know the password.
machine = work / "machine"
machine.write_text(f"""#!/bin/sh
echo "$*" >>{work}/calls
grep -las {PASSWORD} /proc/[0-9]*/cmdline /proc/[0-9]*/environ >>{work}/seen
[ ! -e {work}/broken ] || exit 1
case "$1 $2" in
"get power") echo "power:$(cat {work}/on)" ;;
"set power") echo "$3" >{work}/on.new; mv {work}/on.new {work}/on ;;
esac
""")
machine.chmod(0o755)
(work / "on").write_text("0\n")
(work / "state").mkdir()
auths = "\n".join(f"    allowed_auths_{who} none md2 md5 straight" for who in ("callback", "user", "operator", "admin"))
(work / "lan.conf").write_text(f"""name "bmc"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
{auths}
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "{machine}"
  user 2 true "admin" "{PASSWORD}" admin 10 none md2 md5 straight
""")
(work / "emu").write_text("mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nmc_enable 0x20\n")
sim = subprocess.Popen(["ipmi_sim", "-n", "-c", work / "lan.conf", "-f", work / "emu", "-s", work / "state"],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
atexit.register(sim.kill)

ipmi = Plugin("ipmi", {"bmc": f"127.0.0.1:{port}", "user": "admin", "password": PASSWORD, "interface": "lanplus", "cipher": 3})
deadline = time.monotonic() + 30
while ipmi.call("status", "a.x")[0] != "result" and time.monotonic() < deadline and sim.poll() is None:
    pass


def sets():
    return [c for c in (work / "calls").read_text().splitlines() if c.startswith("set power")]


t.eq(ipmi.call("status", "a.x"), ("result", {"power": "off"}), "a machine that is off")
t.eq(ipmi.call("on", "a.x"), ("result", {"power": "on", "changed": True}), "is switched on")
t.eq(ipmi.call("status", "a.x"), ("result", {"power": "on"}), "and is on")
n = len(sets())
t.eq(ipmi.call("on", "a.x"), ("result", {"power": "on", "changed": False}), "on again succeeds")
t.eq(len(sets()), n, "and switches nothing")
t.eq(ipmi.call("cycle", "a.x"), ("result", {"power": "on", "changed": True}), "off and on")
t.eq(sets()[n:], ["set power 0", "set power 1"], "in this order")
t.eq(ipmi.call("off", "a.x"), ("result", {"power": "off", "changed": True}), "is switched off")
n = len(sets())
t.eq(ipmi.call("off", "a.x"), ("result", {"power": "off", "changed": False}), "off again succeeds")
t.eq(ipmi.call("cycle", "a.x", dry_run=True), ("result", {}), "a dry run")
t.eq(len(sets()), n, "switches nothing")
t.eq(ipmi.call("cycle", "a.x"), ("result", {"power": "on", "changed": True}), "a cycle of a machine that is off")
t.eq(sets()[n:], ["set power 1"], "switches it on")

# --- where the controller is
(work / "bmcs").write_text(f"# node controller\nb.x 127.0.0.1:{port}\nc.x\n")
by_list = {"bmc": "", "inventory": str(work / "bmcs")}
t.eq(ipmi.call("status", "b.x", fields=by_list), ("result", {"power": "on"}), "by a list")
t.has(ipmi.call("status", "d.x", fields=by_list)[1]["text"], "does not know d.x", "that may not know it")
t.has(ipmi.call("status", "c.x", fields=by_list)[1]["text"], "is not NODE ADDRESS", "or be wrong")
t.eq(ipmi.call("status", "localhost.x", fields={"bmc": f"{{short}}:{port}"}), ("result", {"power": "on"}), "by a pattern")
t.eq(ipmi.call("status", "q.x", fields={"bmc": "192.0.2.1"}, params={"bmc": f"127.0.0.1:{port}"}), ("result", {"power": "on"}), "by the task")
for place in ("", "-x", "a b", "h:99999", "h:", "[::1", "a:b:c"):
    word, why = ipmi.call("status", "q.x", fields={"bmc": place})
    t.ok(word == "error" and why["remedy"], f"refused: {place!r}", why)

# --- what goes wrong
word, why = ipmi.call("status", "a.x", fields={"password": "wrong-horse-1"})
t.ok(word == "error" and "Unable to establish" in why["text"] and "password" in why["remedy"], "a wrong password", why)
t.ok("wrong-horse" not in str(why), "is not told")
t.eq((work / "seen").read_text(), "", "who knows the password could not be seen")
careless = subprocess.Popen(["sh", "-c", "read -r line", PASSWORD], stdin=subprocess.PIPE)
ipmi.call("status", "a.x")
t.has((work / "seen").read_text(), f"/proc/{careless.pid}/cmdline", "(and would have been)")
careless.communicate()
(work / "broken").touch()
word, why = ipmi.call("status", "a.x")
t.ok(word == "error" and why["remedy"], "a controller that fails", why)
sim.kill()
sim.wait()
word, why = ipmi.call("on", "a.x")
t.ok(word == "error" and f"127.0.0.1:{port}" in why["text"], "a controller that is not there", why)
t.done()
