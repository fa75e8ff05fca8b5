#!/usr/bin/env bash
# What runs on a node is what the plan says and what docs/rfc/09, section 5 says of the runner, nothing else: the kernel of the host
# writes down every process that ends there (acct(2), of a pid namespace).
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
command -v python3 >/dev/null || skip_all 'no python3'

out=$(fleet up 2 2>&1); ok $? "two hosts" "$out"
root=/proc/$(cat "$bed/hosts.d/h0001/init.pid")/root # what is on its disk, without a process there
accounts() { # on|off
    fleet exec h0001 python3 -c 'import ctypes, os, sys
on = sys.argv[1] == "on"
if on:
    open("/root/acct", "w").close()
if ctypes.CDLL(None, use_errno=True).acct(b"/root/acct" if on else None):
    sys.exit(os.strerror(ctypes.get_errno()))' "$1"
}
out=$(accounts on 2>&1) || skip_all "the kernel does not write down processes: $out"
accounts off

# processes FILE: "COUNT NAME" of all that ran but what came past the network; NAME is in brackets for a shell that only forked
cat >"$work/read.py" <<'P'
import collections, struct, sys
data = open(sys.argv[1], "rb").read()
all = []
for at in range(0, len(data), 64):
    flags, version, pid, ppid, name = struct.unpack_from("<BB14xII24x16s", data, at)
    assert version & 0x0F == 3, version
    all.append((pid, ppid, name.rstrip(b"\0").decode(), flags & 1))
parents = {pid: ppid for pid, ppid, _, _ in all}
def ours(pid):
    while pid in parents:
        pid = parents[pid]
    return pid != 0  # whoever was put into the host from outside has no parent there
count = collections.Counter("[%s]" % name if forked else name for pid, _, name, forked in all if ours(pid))
for name in sorted(count):
    print(count[name], name)
P
forgotten() { [ -z "$(ls "$root/run/anneal/chains" 2>/dev/null)" ]; }
# audit COMMAND...: what ran on h0001 meanwhile, until the node has forgotten it, is in $work/ran
audit() {
    accounts on || return 1
    "$@" >/dev/null || return 1
    until_true 30 forgotten || return 1
    accounts off
    python3 "$work/read.py" "$root/root/acct" >"$work/ran"
}
times() { awk -v n="$1" '$2 == n { print $1; found = 1 } END { if (!found) print 0 }' "$work/ran"; }
total() { awk '$2 != "sleep" { n += $1 } END { print n }' "$work/ran"; } # a watchdog of a short chain may not have come to sleep

catalog b <<'Y'
barclamp: b
version: "1"
roles:
  - {name: warm, jig: shell, actions: {converge: [{name: warm, params: {command: [expr, "7"]}}]}}
  - {name: one, jig: shell, actions: {converge: [{name: one, params: {command: [expr, "1"]}}]}}
  - name: six
    jig: shell
    actions:
      converge:
        - {name: six1, params: {command: [expr, "1"]}}
        - {name: six2, params: {command: [expr, "2"]}}
        - {name: six3, params: {command: [expr, "3"]}}
        - {name: six4, params: {command: [expr, "4"]}}
        - {name: six5, params: {command: [expr, "5"]}}
        - {name: six6, params: {command: [expr, "6"]}}
  - name: plan
    jig: shell
    actions:
      converge:
        - {name: command, params: {command: [seq, "3"]}}
        - {name: text, params: {script: "uname -a; factor 12"}}
        - {name: file, type: upload_file, params: {path: /etc/a, data: "one\n"}}
        - {name: returns, params: {script: "echo '{}' >&3"}}
        - {name: files, type: upload_files, params: {files: [{path: /etc/b, data: "b\n", mode: "0755"}, {path: /etc/c, data: "c\n"}]}}
        - {name: last, params: {command: [nproc]}}
Y
serve_bed --set probe_interval=0; ok $? "a server among them, which looks at no node by itself"
anneal -q catalog load "$work/b"; ok $? "the catalog"
bed_nodes; ok $? "nodes with addresses"

# --- what is documented
tools=$(sed -n '/^## 5. The runner/,/^Everything is under/p' "$top/docs/rfc/09-fleet.md" | tr '\n' ' ' | grep -o '`[a-z0-9 ]*`' | tr -d '`' | xargs)
has " $tools " " tar " "the runner's tools are written down: $tools"
audit anneal -q deployment bind system warm=h0001.t --wait=30s; ok $? "a first task, and its connection"
is "$(times expr)" 1 "ran once"
is "$(times mkdir)" 0 "directories came with it"

# --- a chain costs a task a process
audit anneal -q deployment bind system one=h0001.t --wait=30s; ok $? "a chain of one task"
one=$(total) one_forks=$(times '[sh]')
is "$(times expr)" 1 "which ran once"
audit anneal -q deployment bind system six=h0001.t --wait=30s; ok $? "a chain of six"
is "$(times expr)" 6 "which ran once each"
is "$(times tar)" 1 "in one chain"
is "$(($(total) - one))" 5 "costs five processes more: each task is one" "$(cat "$work/ran")"
is "$(times '[sh]')" "$one_forks" "and no shell more"

# --- a plan
audit anneal -q deployment bind system plan=h0001.t --wait=60s; ok $? "a plan of commands, scripts and files"
plan="seq uname factor nproc"
for p in $plan; do is "$(times "$p")" 1 "$p ran once"; done
is "$(times dd)" 3 "three files were written"
is "$(times chmod)" 1 "one of which was made executable"
chains=$(times tar)
is "$(times sh)" $((chains + 1 + 2)) "shells: one a chain, one to forget them all, one a script" "$(cat "$work/ran")"
# Whatever else there was is the runner's.
strangers=$(awk '{ print $2 }' "$work/ran" | grep -vxF -e sh -e '[sh]' -e sshd -e '[sshd]' -e bash $(printf -- '-e %s ' $plan $tools))
is "$strangers" "" "nothing else ran there"
for t in systemctl shutdown reboot; do is "$(times $t)" 0 "not $t"; done
is "$(fleet exec h0001 cat /etc/a /etc/b /etc/c | xargs)" "one b c" "(and the files are there)"

# --- who was not asked does nothing
is "$(ls "/proc/$(cat "$bed/hosts.d/h0002/init.pid")/root/run/anneal" 2>/dev/null)" "" "a host without tasks was not touched"

# --- nothing is left
stop; ok $? "the server ends"
left() { fleet exec h0001 ps -eo comm= | sort | uniq -c | xargs; }
quiet() { [ "$(left)" = "1 host-init 1 ps 1 sshd" ]; }
until_true 10 quiet; ok $? "and on the host runs what ran there before" "$(left)"
fleet down >/dev/null 2>&1; ok $? "the hosts go"
done_testing
