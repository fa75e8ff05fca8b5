#!/usr/bin/env bash
# Nodes come back: deleted, installed anew and added again, under the same name, another one, at another address, as often as one likes; by the
# server's own worker and by one elsewhere, which may have been away meanwhile.  And what is said of machines that are off, untrusted, replaced.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
. "$(dirname "$0")/workers.sh"
watch=(--set probe_interval=2s --set dead_after=4s --set probe_count=2 --set ssh_keepalive=1s)
catalog b <<'Y'
barclamp: b
version: "1"
roles:
  - name: base
    jig: shell
    actions:
      converge: [{name: mark, params: {script: "echo $ANNEAL_NODE >>/root/marks"}}]
      remove: [{name: clear, params: {script: "rm -f /root/marks"}}]
Y
field() { anneal node show "$1" -o json | jq -r "$2"; } # NODE JQ-PATH
lives() { [ "$(field "$1" .alive)" = alive ]; }
is_dead() { [ "$(field "$1" .alive)" = dead ]; }
gone() { ! anneal node show "$1" >/dev/null 2>&1; }
probed() { [ "$(field "$1" .probe.result)" = "$2" ]; } # NODE RESULT
key_of() { cut -d' ' -f1,2 "$bed/hosts.d/$1/host_key.pub"; } # HOST
pinned() { [ "$(field "$1" '.access.host_keys[0] // ""' | cut -d' ' -f1,2)" = "$(key_of "$2")" ]; } # NODE HOST
is_machine() { [ "$(field "$1" .machine_id)" = "$(fleet exec "$2" cat /etc/machine-id)" ]; } # NODE HOST
add() { anneal -q node add "$1" --address "$(address "$2")"; } # NODE HOST
seen_as() { until_true 40 lives "$1" && until_true 20 pinned "$1" "$2" && until_true 20 is_machine "$1" "$2"; } # NODE HOST
deployed() { anneal -q deployment bind system base="$1" --wait=40s >/dev/null && [ "$(fleet exec "$2" cat /root/marks)" = "$1" ]; } # NODE HOST
anew() { fleet off "$1" && fleet on "$1"; } # HOST: another disk, machine id and host key
missed() { probed "$1" silent || is_dead "$1"; } # NODE
# The same while it is a node, which is missed meanwhile: whoever is back before anybody looked is asked who it is at its next use.
swapped() { fleet off "$1" && until_true 40 missed "$2" && fleet on "$1"; } # HOST NODE
deleted() { anneal -q node delete "$1" --cascade --wait=30s >/dev/null; until_true 30 gone "$1"; } # NODE
remedy() { anneal why "$1" -o json | jq -r --arg r "$2" 'first(.reasons[] | select(.rule == $r) | .remedy) // "none"'; } # OBJECT RULE
helps() { [ "$(remedy "$1" "$2")" = "$3" ]; }
attends() { anneal status | grep -q "! $1  *$2\$"; } # TEXT REMEDY
told() { anneal node show "$1"; anneal why "node/$1"; }

# rounds HOST NODE: three times gone and back; each life has had more changes than the next one will have when it is first looked at
rounds() {
    local i k
    add "$2" "$1"; seen_as "$2" "$1"; ok $? "$2 is there" "$(told "$2")"
    for i in 1 2 3; do
        for k in 1 2 3 4 5; do anneal -q node set "$2" --label round="$i.$k"; done
        deployed "$2" "$1"; ok $? "round $i: a role on it" "$(told "$2")"
        deleted "$2"; ok $? "round $i: it is deleted"
        anew "$1"; ok $? "round $i: and installed anew"
        add "$2" "$1"
        seen_as "$2" "$1"; ok $? "round $i: added again it is alive, by its own key, and nobody had to trust it" "$(told "$2")"
    done
    deployed "$2" "$1"; ok $? "and tasks run on it" "$(told "$2")"
}

out=$(fleet up 6 2>&1); ok $? "hosts" "$out"
serve_bed "${watch[@]}"; ok $? "a server with a worker of its own"
anneal -q catalog load "$work/b"; ok $? "the catalog"

# --- by the server's own worker, with OpenSSH
rounds h0001 a.t

# --- a key that really changed
swapped h0001 a.t
until_true 40 probed a.t host-key-changed; ok $? "installed anew while it is known, it is not spoken to" "$(told a.t)"
until_true 20 helps node/a.t host-key-changed "anneal node trust a.t"; ok $? "why of the node says what helps" "$(anneal why node/a.t)"
asked_by_role() { anneal why base@a.t | grep -q "anneal node trust a.t" && ! anneal why base@a.t | grep -q "report a.t alive"; }
until_true 20 asked_by_role; ok $? "and why of a role on it" "$(anneal why base@a.t)"
attends "node a.t shows another host key" "anneal node trust a.t"; ok $? "and status" "$(anneal status)"
for i in 1 2 3; do anneal -q node set a.t --label more="$i"; done
probed a.t host-key-changed; ok $? "other changes of it do not trust it"
anneal -q node trust a.t
seen_as a.t h0001; ok $? "node trust does" "$(told a.t)"
replaced() { helps base@a.t failed "anneal node redeploy a.t"; }
until_true 20 replaced; ok $? "it is another machine: to be deployed anew" "$(anneal why base@a.t)"
attends "node a.t is another machine" "anneal node redeploy a.t"; ok $? "status says so, too" "$(anneal status)"
anneal -q node redeploy a.t --wait=40s >/dev/null; ok $? "that command helps" "$(anneal why base@a.t)"
is "$(fleet exec h0001 cat /root/marks)" a.t "and what it had is there again"
for i in 1 2; do
    swapped h0001 a.t
    until_true 40 probed a.t host-key-changed && anneal -q node trust a.t
    seen_as a.t h0001; ok $? "as often as one likes ($i)" "$(told a.t)"
done

# --- names and addresses go from one to the other
deleted a.t && add a.t h0002; seen_as a.t h0002; ok $? "the name, for a machine at another address" "$(told a.t)"
add b.t h0001; seen_as b.t h0001; ok $? "the machine and its address, under another name" "$(told b.t)"
deleted b.t && deleted a.t && add a.t h0001 && add b.t h0002
seen_as a.t h0001 && seen_as b.t h0002; ok $? "and both exchanged" "$(told a.t; told b.t)"

# --- a machine that is off
deployed b.t h0002; ok $? "a role on a machine"
fleet off h0002
until_true 60 is_dead b.t; ok $? "that is switched off"
on="power on b.t or repair its network; its return is noticed by itself"
is "$(remedy node/b.t node-not-alive)" "$on" "why: it is to be switched on"
is "$(remedy base@b.t node-not-alive)" "$on" "asked by its role, too"
attends "node b.t is dead" "$on"; ok $? "and in status" "$(anneal status)"
deleted b.t; ok $? "a dead node can be deleted" "$(told b.t 2>&1)"
fleet on h0002; add b.t h0002
seen_as b.t h0002; ok $? "and comes back" "$(told b.t)"

# --- by a worker elsewhere, with libssh
stop; ok $? "the server stops"
serve "${watch[@]}"; ok $? "one without a worker"
libssh() { # as `worker`, by libssh
    "$top/tests/bed/fleet" --dir "$bed" enter "$real/anneal-worker" --state "$work/w" --set beat=200ms --set ssh_identity="$bed/key" --set ssh_transport=libssh \
        --set ssh_kex=curve25519-sha256 --set ssh_keepalive=1s >>"$work/w.log" 2>&1 &
    pids[w]=$!
}
anneal worker token --name w --save "$work/w.join" >/dev/null
fleet enter "$real/anneal-worker" --state "$work/w" --name w --join-file "$work/w.join" --join-only 2>>"$work/w.log"; ok $? "a worker joins"
libssh; until_true 20 attached w; ok $? "and comes" "$(tail -3 "$work/w.log")"
rounds h0003 c.t
swapped h0003 c.t
until_true 40 probed c.t host-key-changed; ok $? "a key that really changed"
anneal -q node trust c.t
seen_as c.t h0003; ok $? "is trusted anew" "$(told c.t)"

# --- which was away when the node went and came
add d.t h0004; seen_as d.t h0004; ok $? "a node"
for i in 1 2 3 4 5; do anneal -q node set d.t --label n="$i"; done
kill -STOP "${pids[w]}"
anneal -q node delete d.t --cascade >/dev/null; until_true 20 gone d.t; ok $? "it is deleted while the worker hears nothing"
anew h0004; add d.t h0004
kill -CONT "${pids[w]}"
seen_as d.t h0004; ok $? "heard again, the worker reaches the one that was added" "$(told d.t)"
deployed d.t h0004; ok $? "and tasks run there" "$(told d.t)"
deleted d.t; killed w
missing() { [ "$(anneal worker show w -o json | jq -r .state)" = silent ]; } # else it is given the first probe, which goes with it
until_true 30 missing; ok $? "the worker is killed, and missed" "$(anneal worker show w)"
anew h0004; add d.t h0004
libssh; until_true 20 attached w; ok $? "a worker that is started anew"
seen_as d.t h0004; ok $? "knows nothing, and needs nothing" "$(told d.t)"
ended w
stop; ok $? "the server stops"
out=$(fleet enter "$real/anneald" --verify --data-dir "$work/data" 2>&1); ok $? "all of that can be replayed" "$out"
fleet down >/dev/null 2>&1; ok $? "the hosts go"
done_testing
