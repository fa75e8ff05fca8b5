#!/usr/bin/env bash
# Tasks on hosts of their own, over ssh: what they see, chains, uploads, and what breaks on the way.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
n=10

out=$(fleet up $n 2>&1); ok $? "$n hosts" "$out"
serve_bed; ok $? "a server among them"
catalog b <<'Y'
barclamp: b
version: "1"
roles:
  - name: steps
    jig: shell
    actions:
      converge:
        - {name: who, params: {script: "hostname; id -un; cat >/root/input; echo $ANNEAL_NODE $ANNEAL_ADDRESS"}}
        - {name: words, params: {command: [sh, -c, 'printf "%s|" "$@" >/root/words', x, "a b", "c'd\"e", "$HOME `id`", "*", "\\ \n tail", ""]}}
        - {name: file, type: upload_file, params: {path: /etc/steps/conf, data: "all of it\nuntouched: %s $x\n", mode: "0640", dir_mode: "0755"}}
        - {name: sums, params: {script: "sha256sum /root/input /root/words /etc/steps/conf >/root/sums; echo done"}}
        - {name: port, params: {script: 'echo "{\"port\": 8080}" >&3'}}
        - {name: sees, params: {script: "cat >/root/sees"}}
  - name: slow
    jig: shell
    actions:
      converge:
        - {name: mark, params: {script: "echo $ANNEAL_ATTEMPT >>/root/marks; while [ ! -e /root/go ]; do sleep 0.05; done; rm /root/go"}}
        - {name: after, params: {script: "echo after $ANNEAL_ATTEMPT >>/root/marks"}}
  - name: leaves
    jig: shell
    actions: {converge: [{name: leave, params: {script: "setsid sleep 1234 & echo left"}}]}
  - name: loud
    jig: shell
    actions: {converge: [{name: gigabyte, params: {script: "head -c 300M /dev/zero | tr '\\0' x; echo; echo end >/root/loud"}}]}
  - name: late
    jig: shell
    actions: {converge: [{name: never, timeout: 2s, retries: 0, params: {script: "sleep 4321 & sleep 4321"}}]}
  - name: here
    jig: master_shell
    actions: {converge: [{name: local, params: {script: "hostname >\"$WHERE\"", env: {WHERE: WORK/here}}}]}
Y
sed -i "s,WORK/here,$work/here," "$work/b/b/barclamp.yaml"
anneal -q catalog load "$work/b"; ok $? "the catalog"
for i in $(seq $n); do
    h=$(printf 'h%04d' "$i")
    anneal -q node add "$h.t" --address "$(address "$h")" --alive alive || break
done
ok $? "nodes with addresses"
until_true 60 identified; ok $? "which machines they are is found out"

# --- what a task sees and leaves on its node
anneal -q deployment bind system steps='*' --wait=60s >/dev/null; ok $? "six tasks on each of $n hosts"
is "$(task_state "$(last)" sees)" "$n DONE" "all are done"
id=$(task_id "$(last)" who | head -1)
is "$(anneal task log "$id" | xargs)" "h0001 root h0001.t $(address h0001)" "on the host itself"
is "$(fleet exec h0003 cat /root/words)" "$(printf '%s|' 'a b' "c'd\"e" '$HOME `id`' '*' $'\\ \n tail' '')" "arguments arrive as they were written"
is "$(fleet exec h0003 cat /etc/steps/conf)" $'all of it\nuntouched: %s $x' "so does a file"
is "$(fleet exec h0003 stat -c '%a %U' /etc/steps/conf)" "640 root" "with its mode"
is "$(fleet exec h0003 sh -c 'sha256sum /root/input /root/words /etc/steps/conf')" "$(fleet exec h0003 cat /root/sums)" "what the node saw is what is there"
is "$(fleet exec h0003 cat /root/sees | jq -c .data.port)" 8080 "what a task returned the next one sees"
is "$(anneal noderole list --limit 100 -o json | jq '[.items[] | select(.role == "steps" and .state == "ACTIVE")] | length')" $n "and the noderoles are ACTIVE"
attempts=$(anneal operation history "$(last)" --limit 1000 -o json | jq -r '[.items[] | select(.outcome != "ok")] | length')
is "$attempts" 0 "nothing was tried twice"
forgotten() { [ "$(fleet exec h0003 sh -c 'ls /run/anneal/chains | wc -l')" = 0 ]; }
until_true 30 forgotten; ok $? "what was acknowledged the node forgets"
anneal -q noderole rerun "$(anneal noderole list --limit 100 -o json | jq -r '.items[] | select(.role == "steps" and .node == "h0003.t") | .id')" --wait=30s >/dev/null
id=$(task_id "$(last)" file)
has "$(anneal task attempts "$id" | tail -1)" unchanged "a file that is as it should be is not written"
anneal -q deployment bind system here=h0001.t --wait=30s >/dev/null
is "$(cat "$work/here" 2>/dev/null)" "$(hostname)" "master_shell stays with the server"

# --- keys
key=$(anneal node show h0002.t -o json | jq -r '.access.host_keys[0]')
is "${key% *} ${key##* }" "$(cut -d' ' -f1,2 "$bed/hosts.d/h0002/host_key.pub")" "the first key of a node is pinned"
anneal -q node trust h0002.t --key "$(cut -d' ' -f1,2 "$bed/hosts.d/h0009/host_key.pub")"
anneal -q deployment bind system slow=h0002.t >/dev/null
id=$(task_id "$(last)" mark)
until_true 30 waits "$id" "host key"; ok $? "another key: it is not spoken to, and why says so" "$(anneal why "task/$id")"
fleet exec h0002 test -e /root/marks; is $? 1 "nothing ran there"
anneal -q node trust h0002.t
until_true 30 ran h0002; ok $? "trusted again it runs, and nobody has to poke it" "$(anneal why "task/$id"; anneal task attempts "$id")"
fleet exec h0002 touch /root/go
until_true 30 over "$(last)" succeeded; ok $? "to its end" "$(anneal why "operation/$(last)")"
is "$(fleet exec h0002 cat /root/marks | xargs)" "1 after 2" "each task once"

# --- a cable is pulled
stop && serve_bed; ok $? "a server that has no connection yet"
fleet link h0004 down
anneal -q deployment bind system slow=h0004.t >/dev/null
op=$(last); id=$(task_id "$op" mark)
until_true 40 waits "$id" "h0004\|10.77"; ok $? "a node that cannot be reached: the task waits, and why names it" "$(anneal why "task/$id")"
waiting() { [ "$(anneal task show "$1" -o json | jq -r .state)" = WAITING ]; }
until_true 40 waiting "$id"; ok $? "it waits, and has not failed"
fleet link h0004 up
anneal -q task poke "$id"
until_true 40 ran h0004; ok $? "back again it runs"
fleet exec h0004 touch /root/go
until_true 30 over "$op" succeeded; ok $? "to its end" "$(anneal why "operation/$op")"

# --- a cable is pulled in the middle of a task
stop && serve_bed --set ssh_keepalive=1s; ok $? "a server that notices soon"
silent() { ! noted "$1" .; }
anneal -q deployment bind system slow=h0008.t >/dev/null
op=$(last); id=$(task_id "$op" mark)
until_true 30 ran h0008; ok $? "a task runs"
fleet link h0008 down
until_true 40 noted "$id" "cannot be reached"; ok $? "its node cannot be reached any more, and the task says so" "$(anneal task show "$id")"
has "$(anneal why "task/$id")" "h0008.t cannot be reached" "so does why"
is "$(anneal task show "$id" -o json | jq -r .state)" RUNNING "it is not taken for failed: it may go on there"
fleet link h0008 up
until_true 60 silent "$id"; ok $? "the node is back" "$(anneal task show "$id")"
fleet exec h0008 touch /root/go
until_true 30 over "$op" succeeded; ok $? "and the task comes to its end" "$(anneal why "operation/$op")"
is "$(marks h0008)" "1 after 1" "which it did once, as did the one behind it"

# --- and the task ends meanwhile
anneal -q deployment bind system slow=h0009.t >/dev/null
op=$(last); id=$(task_id "$op" mark)
until_true 30 ran h0009; ok $? "a task runs"
fleet link h0009 down
until_true 40 noted "$id" "cannot be reached"; ok $? "its node cannot be reached any more"
fleet exec h0009 touch /root/go
both() { [ "$(marks h0009)" = "1 after 1" ]; }
until_true 30 both; ok $? "on the node it ends, and the one behind it runs"
fleet link h0009 up
until_true 60 over "$op" succeeded; ok $? "both ends are collected" "$(anneal why "operation/$op")"
is "$(marks h0009)" "1 after 1" "and nothing ran twice"

# --- the node is started anew in the middle of a task
anneal -q deployment bind system slow=h0001.t >/dev/null
op=$(last); id=$(task_id "$op" mark)
until_true 30 ran h0001; ok $? "a task runs"
fleet reboot h0001
again() { [ "$(marks h0001)" = "1 2" ]; }
until_true 60 again; ok $? "its node was started anew: that run is lost, and begun again" "$(marks h0001) $(anneal task attempts "$id")"
is "$(anneal task attempts "$id" -o json | jq -r '.items[0] | .outcome + ": " + .note' | cut -c1-5)" lost: "which its history says"
# Whoever looks finds the new boot before the task ends or after it: then it runs in that boot once more, by its digest.
ends() { fleet exec h0001 touch /root/go; over "$op" succeeded; }
until_true 60 ends; ok $? "to its end" "$(anneal why "operation/$op")"
boot_known() { [ "$(anneal node show h0001.t -o json | jq -r .boot_id)" = "$(cat "$bed/hosts.d/h0001/boot_id")" ]; }
until_true 60 boot_known; ok $? "and the new boot is known" "$(anneal node show h0001.t)"
fleet exec h0001 rm -f /root/go

# --- the server dies in the middle of a task
anneal -q deployment bind system slow=h0005.t >/dev/null
op=$(last); id=$(task_id "$op" mark)
until_true 30 ran h0005; ok $? "a task runs"
crash
serve_bed; ok $? "its server is killed and started again"
taken() { grep -q "attempt.again.* task=$id" "$work/log"; }
until_true 30 taken; ok $? "the same attempt is sent again"
fleet exec h0005 touch /root/go
until_true 30 over "$op" succeeded; ok $? "and comes to its end" "$(anneal why "operation/$op")"
is "$(marks h0005)" "1 after 1" "nothing was begun anew"
is "$(anneal task attempts "$id" -o json | jq '.items | length')" 1 "it was one attempt"

# --- the server is told to end in the middle of a task, which ends before it is back
anneal -q deployment bind system slow=h0010.t >/dev/null
op=$(last); id=$(task_id "$op" mark)
until_true 30 ran h0010; ok $? "a task runs"
stop; ok $? "its server ends, and does not wait for it"
is "$(fleet exec h0010 ps -eo args= | grep -c 'chains/[0-9a-f]*/s1')" 1 "on its node it goes on"
fleet exec h0010 touch /root/go
both() { [ "$(marks h0010)" = "1 after 1" ]; }
until_true 30 both; ok $? "to its end, and the one behind it to its own"
serve_bed; ok $? "a server comes again"
until_true 30 over "$op" succeeded; ok $? "and collects both" "$(anneal why "operation/$op")"
is "$(marks h0010)" "1 after 1" "nothing was begun anew"

# --- what tasks do that they should not
anneal -q deployment bind system leaves=h0006.t --wait=30s >/dev/null; ok $? "a task that leaves something behind"
is "$(fleet exec h0006 pgrep -fc 'sleep 123[4]')" 0 "it was ended"
has "$(anneal task log "$(task_id "$(last)" leave)")" "left behind" "and the log says so"
anneal -q deployment bind system loud=h0007.t --wait=120s >/dev/null; ok $? "a task that writes 300 MB"
is "$(fleet exec h0007 cat /root/loud)" end "comes to its end"
ok "$([ "$(anneal task log "$(task_id "$(last)" gigabyte)" | wc -c)" -le 1100000 ]; echo $?)" "and its log has a limit"
anneal -q deployment bind system late=h0008.t --wait=60s >/dev/null 2>&1
is "$(anneal task list --operation "$(last)" -o json | jq -r '.items[0] | .state + " " + .reason')" "FAILED timeout" "one that takes too long"
is "$(fleet exec h0008 pgrep -fc 'sleep 432[1]')" 0 "is ended with all that it has started"
stop; ok $? "the server stops"
is "$(fleet exec h0003 ps -eo comm= | sort | uniq | xargs)" "host-init ps sshd" "nothing runs on a node that nobody asked for"
fleet down; ok $? "the hosts go"
done_testing
