#!/usr/bin/env bash
# What may go wrong with hosts: full disks, another machine under the same name, a third of them silent at once, servers that
# are killed again and again.  Counted is on the hosts: nothing is lost, nothing is done twice that must not be, nothing overlaps.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
n=20

out=$(fleet up $n 2>&1); ok $? "$n hosts" "$out"
catalog b <<'Y'
barclamp: b
version: "1"
roles:
  - name: writes
    jig: upload_file
    actions: {converge: [{name: put, retries: 0, params: {path: /srv/big, data: DATA}}]}
  - name: slow
    jig: shell
    actions: {converge: [{name: mark, params: {script: "echo $ANNEAL_ATTEMPT >>/root/marks; while [ ! -e /root/go ]; do sleep 0.05; done"}}]}
  - name: counts
    jig: shell
    actions:
      converge:
        - {name: alone, params: {script: COUNT}}
        - {name: keyed, repeat: token, params: {script: COUNT}}
        - {name: single, repeat: once, params: {script: COUNT}}
        - {name: last, params: {script: COUNT}}
  - name: gigabyte
    jig: shell
    actions: {converge: [{name: loud, params: {script: "head -c 1G /dev/zero | tr '\\0' x; echo; echo end >/root/loud"}}]}
Y
# One line a run, and one for each that finds another attempt of the same task at work.
count='mkdir /root/at.$ANNEAL_TASK || echo "overlap $ANNEAL_TASK" >>/root/overlaps; echo "$ANNEAL_TASK $ANNEAL_KEY" >>/root/runs; sleep 0.3; rmdir /root/at.$ANNEAL_TASK'
python3 - "$work/b/b/barclamp.yaml" "$count" <<'P'
import json, sys
path, count = sys.argv[1:]
text = open(path).read().replace("DATA", json.dumps("x" * 100000)).replace("COUNT", json.dumps(count))
open(path, "w").write(text)
P
serve_bed --set ssh_keepalive=1s; ok $? "a server among them"
anneal -q catalog load "$work/b"; ok $? "the catalog"
bed_nodes; ok $? "nodes with addresses"
reason() { anneal task show "$1" -o json | jq -r .state; }
is_now() { [ "$(reason "$1")" = "$2" ]; }

# --- no space on the node: where the file should go, then where the runner keeps what it knows
fleet exec h0001 mount -t tmpfs -o size=64k tmpfs /srv
anneal -q deployment bind system writes=h0001.t >/dev/null
op=$(last); id=$(task_id "$op" put)
until_true 30 is_now "$id" FAILED; ok $? "a file that finds no space on its node fails" "$(anneal task show "$id")"
has "$(anneal why "task/$id")" "/srv/big could not be written" "and why says so"
is "$(fleet exec h0001 ls -A /srv)" "" "nothing of it is left there"
fleet exec h0001 umount /srv
anneal -q task retry "$id"
until_true 30 over "$op" succeeded; ok $? "with space again it is written"
is "$(fleet exec h0001 stat -c %s /srv/big)" 100000 "whole"
fleet exec h0002 sh -c 'mkdir -p /run/anneal && mount -t tmpfs -o size=64k tmpfs /run/anneal && head -c 70000 /dev/zero >/run/anneal/fill; :' 2>/dev/null
anneal -q deployment bind system writes=h0002.t >/dev/null
op=$(last); id=$(task_id "$op" put)
until_true 30 is_now "$id" FAILED; ok $? "no space for the runner: the task fails and has not run" "$(anneal task show "$id"; anneal why "task/$id")"
has "$(anneal why "task/$id")" "could not be unpacked in /run/anneal" "why says so"
fleet exec h0002 umount /run/anneal
anneal -q task retry "$id"
until_true 30 over "$op" succeeded; ok $? "with space again it runs"

# --- another machine under the same name
anneal -q deployment bind system slow=h0003.t >/dev/null
op=$(last); id=$(task_id "$op" mark)
until_true 30 ran h0003; ok $? "a task runs"
fleet off h0003; fleet on h0003
until_true 60 noted "$id" "host key"; ok $? "its host is replaced by another one: that is not spoken to" "$(anneal task show "$id")"
has "$(anneal why "task/$id")" "the host key is not the one that is known" "and why tells"
fleet exec h0003 test -e /root/marks; is $? 1 "nothing ran there"
anneal -q node trust h0003.t
replaced() { [ "$(anneal noderole list --node h0003.t -o json | jq -r '.items[] | select(.role == "slow") | .state + " " + .reason')" = "ERROR replaced" ]; }
until_true 40 replaced; ok $? "trusted, the new one is asked: it is another machine" "$(anneal noderole list --node h0003.t)"
is "$(anneal task attempts "$id" -o json | jq -r '.items[0].outcome')" lost "what ran on the old one is lost, as its history says"
fleet exec h0003 touch /root/go
anneal -q noderole retry "$(anneal noderole list --node h0003.t -o json | jq -r '.items[] | select(.role == "slow") | .id')"; ok $? "a person takes it for the old one's place"
in_service() { [ "$(anneal noderole list --node h0003.t -o json | jq -r '.items[] | select(.role == "slow") | .state')" = ACTIVE ]; }
until_true 60 in_service; ok $? "and it runs there, to its end" "$(anneal task attempts "$id"; anneal noderole list --node h0003.t)"

# --- a third of the hosts are silent at once
silent=$(seq -f 'h%04g' 10 15)
group=$(seq -f 'h%04g.t' 4 20 | paste -sd,)
anneal -q deployment bind system "slow=$group" >/dev/null
op=$(last)
all_ran() { local h; for h in $(seq -f 'h%04g' 4 20); do ran "$h" || return 1; done; }
until_true 30 all_ran; ok $? "a task on 17 hosts"
for h in $silent; do fleet link "$h" down; done
notes() { anneal task list --operation "$op" --limit 100 -o json | jq '[.items[] | select((.note // "") | test("cannot be reached"))] | length'; }
six_noted() { [ "$(notes)" = 6 ]; }
until_true 60 six_noted; ok $? "six of them cannot be reached, and say so" "$(notes)"
is "$(task_state "$op" mark)" "17 RUNNING" "none is taken for failed"
for h in $(seq -f 'h%04g' 4 20); do fleet exec "$h" touch /root/go; done
eleven() { [ "$(task_state "$op" mark)" = "11 DONE 6 RUNNING" ]; }
until_true 30 eleven; ok $? "the others go on" "$(task_state "$op" mark)"
for h in $silent; do fleet link "$h" up; done
until_true 90 over "$op" succeeded; ok $? "they are back, and all is done" "$(task_state "$op" mark)"
for h in $(seq -f 'h%04g' 4 20); do marks "$h"; done | sort | uniq -c | xargs >"$work/times"
is "$(cat "$work/times")" "17 1" "each once"

# --- servers that are killed in the middle, again and again
anneal -q deployment bind system counts='*' >/dev/null
op=$(last)
for i in 1 2 3 4; do
    some() { [ "$(for h in $(seq -f 'h%04g' $n); do fleet exec "$h" cat /root/runs 2>/dev/null; done | wc -l)" -ge $((i * 15)) ]; }
    until_true 30 some
    crash
    serve_bed --set ssh_keepalive=1s >/dev/null || break
done
ok $? "a server that is killed four times in the middle"
until_true 90 over "$op" succeeded; ok $? "all is done in the end" "$(anneal operation show "$op"; anneal why "operation/$op")"
for h in $(seq -f 'h%04g' $n); do fleet exec "$h" cat /root/overlaps 2>/dev/null; done >"$work/overlaps"
is "$(wc -l <"$work/overlaps")" 0 "no two attempts of a task ever ran at the same time"
for h in $(seq -f 'h%04g' $n); do fleet exec "$h" cat /root/runs; done | sort | uniq -c >"$work/runs"
is "$(wc -l <"$work/runs")" $((4 * n)) "every task ran"
is "$(awk '$1 > 1' "$work/runs")" "" "and none twice: what the nodes kept was collected"
is "$(task_state "$op" single)" "$n DONE" "what may run once ran once"

# --- a gigabyte of output
anneal -q deployment bind system gigabyte=h0005.t --wait=180s >/dev/null; ok $? "a task that writes 1 GB"
is "$(fleet exec h0005 cat /root/loud)" end "comes to its end"
size=$(anneal task log "$(task_id "$(last)" loud)" | wc -c)
ok "$([ "$size" -le 1100000 ]; echo $?)" "and its log has a limit" "$size"

# --- what is left
strangers() { for h in $(seq -f 'h%04g' $n); do fleet exec "$h" ps -eo args= | grep -v 'sshd\|anneal-host\|ps -eo\|^init\|grep'; done; }
quiet() { [ -z "$(strangers)" ]; } # who is asked which machine it is at this moment is so for a moment only
until_true 10 quiet; ok $? "and nothing runs there but what was there before" "$(strangers)"
stop; ok $? "the server ends"
fleet down >/dev/null 2>&1; ok $? "the hosts go"
done_testing
