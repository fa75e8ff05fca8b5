#!/usr/bin/env bash
# Servers and workers are killed in turn while chains of safe, token and once tasks run on 20 hosts: nothing is lost, nothing runs
# twice, nothing overlaps.  Counted is on the hosts.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
. "$(dirname "$0")/workers.sh"
n=20
catalog b <<Y
barclamp: b
version: "1"
roles:
  - {name: warm, jig: shell, actions: {converge: [{name: warm, params: {script: "true"}}]}}
  - name: counts
    jig: shell
    actions:
      converge:
        - {name: alone, params: {script: '$begin; sleep 0.5; $end'}}
        - {name: keyed, repeat: token, params: {script: '$begin; sleep 0.5; $end'}}
        - {name: single, repeat: once, params: {script: '$begin; sleep 0.5; $end'}}
        - {name: behind, repeat: token, params: {script: '$begin; sleep 0.5; $end'}}
        - {name: last, params: {script: '$begin; sleep 0.5; $end'}}
Y
out=$(fleet up $n 2>&1); ok $? "$n hosts" "$out"
serve; ok $? "a server among them"
anneal -q catalog load "$work/b"; ok $? "the catalog"
bed_nodes; ok $? "nodes with addresses"
join w1 "$port" && join w2 "$port"; ok $? "two workers" "$(cat "$work"/w?.log)"
# A node that is asked for the first time cannot say of anything that it never began there.
anneal -q deployment bind system warm='*' --wait=60s >/dev/null; ok $? "all hosts are known"

anneal -q deployment bind system counts='*' >/dev/null
op=$(last)
step=0
for victim in server w1 server w2 w1 server; do
    step=$((step + 1))
    until_true 30 ran_times 1 $n $((step * 13))
    case $victim in
    server) crash && again ;;
    *) killed $victim && worker $victim ;;
    esac || break
done
ok $? "servers and workers are killed in turn"
until_true 90 over "$op" succeeded; ok $? "all is done in the end" "$(anneal operation show "$op"; anneal why "operation/$op")"
runs 1 $n | sort >"$work/runs"
is "$(overlaps 1 $n)" "" "no two attempts of a task ever ran at the same time"
is "$(wc -l <"$work/runs")" $((5 * n)) "as many runs as tasks"
is "$(cut -d' ' -f1 "$work/runs" | uniq | wc -l)" $((5 * n)) "each of another task"
is "$(cut -d' ' -f3 "$work/runs" | sort | uniq -d)" "" "no key was used twice"
is "$(task_state "$op" single)" "$n DONE" "what may run once ran once"
is "$(anneal operation history "$op" --limit 1000 -o json | jq '[.items[] | select(.outcome == "lost" or .outcome == "cancelled")] | length')" 0 "and nothing was given up on the way"

# --- what is left
ended w1; ended w2
is "$(strangers 1 $n)" "" "nothing runs on the hosts but what was there before"
stop; ok $? "the server ends"
out=$(fleet enter "$real/anneald" --verify --data-dir "$work/data" 2>&1); ok $? "its journal tells the same" "$out"
fleet down >/dev/null 2>&1; ok $? "the hosts go"
done_testing
