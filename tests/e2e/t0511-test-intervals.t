#!/usr/bin/env bash
# Tries of a test on a host over ssh: an interval apart, with nothing running in between, and ended there at once.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"

catalog t <<'Y'
barclamp: t
version: "1"
roles:
  - name: comes
    jig: shell
    actions:
      converge:
        - {name: serve, params: {script: "echo ran >>/root/marks"}, test_post: {cmd: "date +%s%3N >>/root/tried; test -e /root/ready", retries: 100, interval: 400ms}}
  - name: never
    jig: shell
    actions:
      converge:
        - {name: hang, params: {script: "true"}, test_pre: {cmd: "echo x >>/root/never; false", retries: 100, interval: 1h}}
  - name: late
    jig: shell
    actions:
      converge:
        - {name: cut, timeout: 3s, params: {script: "true"}, test_post: {cmd: "echo x >>/root/late; false", retries: 2, interval: 1h}}
Y
out=$(fleet up 1 2>&1); ok $? "a host" "$out"
serve_bed; ok $? "a server beside it"
anneal -q catalog load "$work/t" >"$work/out" 2>&1; ok $? "the catalog, with a warning" "$(cat "$work/out")"
has "$(anneal lint "$work/t" 2>&1)" "its last tries cannot run: it waits 2h00m between them, and its task has 3.0s for everything" "which lint tells, too"
bed_nodes; ok $? "a node"
until_true 30 identified
[ $failures -eq 0 ] || done_testing
on_host() { fleet exec h0001 "$@"; }
tried() { [ "$(on_host sh -c "wc -l <$1")" -ge "$2" ]; }
bind() { anneal deployment bind system "$1=h0001.t" -o json | jq -r .operation.id; }
quiet() { ! on_host ps -eo args= | grep -q '[r]oot/never'; }

# --- until it passes
op=$(bind comes)
until_true 30 tried /root/tried 3; ok $? "a test is tried again while it fails"
on_host touch /root/ready
until_true 30 over "$op" succeeded; ok $? "and when it passes, the task is done"
is "$(on_host awk 'NR > 1 && $1 - last < 400 {n++} {last = $1} END {print n + 0}' /root/tried)" 0 "no two tries are closer than its interval"
is "$(marks h0001)" ran "the task itself ran once"

# --- cancelled between two tries
op=$(bind never)
until_true 30 tried /root/never 1; ok $? "another one, which waits for an hour"
task=$(task_id "$op" hang)
has "$(anneal task show "$task")" RUNNING "its attempt is open"
until_true 10 quiet; ok $? "and nothing runs on the host"
anneal -q operation cancel "$op" --abort
until_true 10 over "$op" cancelled; ok $? "ended, it has ended at once"
is "$(anneal task attempts "$task" -o json | jq -r '.items[-1] | .outcome + " " + .phase')" "cancelled test_pre" "and says where"
is "$(on_host cat /root/never)" x "after one try"

# --- out of time between two tries
op=$(bind late)
until_true 30 over "$op" failed; ok $? "the task's own time ends it, too"
task=$(task_id "$op" cut)
is "$(anneal task attempts "$task" -o json | jq -r '.items[-1] | .outcome + " " + .phase')" "timeout test_post" "in that phase"

# --- the server, with its worker, stops between two tries
anneal -q operation resume "$(anneal noderole list --role never -o json | jq '.items[0].operation')"
until_true 30 tried /root/never 2; ok $? "once more"
begin=$SECONDS
stop; ok $? "the server stops"
[ $((SECONDS - begin)) -le 10 ]; ok $? "and does not wait for it"
done_testing
