#!/usr/bin/env bash
# Two tenants and workers that come and go: shares are made anew each time, and what runs keeps to them.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
declare -A pids=()
trap 'for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done; finish' EXIT
catalog slow <<'Y'
barclamp: slow
version: 1.0.0
jigs: [{name: here, implementation: test}]
roles:
  - {name: wait, jig: here, actions: {converge: [{name: wait, retries: 9, params: {sleep_ms: 600000}}]}}
Y
start --set worker_enabled=false --set tls=on --set worker_lease=3s || exit 1
export ANNEAL_SERVER=https://127.0.0.1:$port ANNEAL_CACERT=$work/data/ca.pem
worker() { # NAME PLACES
    "$bin/anneal-worker" --state "$work/$1" --set node_access=local --set beat=200ms --set grace=100ms --set "capacity=$2" >>"$work/$1.log" 2>&1 &
    pids[$1]=$!
}
join() { # NAME PLACES
    anneal worker token --name "$1" --save "$work/$1.join" >/dev/null || return 1
    "$bin/anneal-worker" --state "$work/$1" --name "$1" --join-file "$work/$1.join" --join-only 2>>"$work/$1.log" || return 1
    worker "$1" "$2"
}
# Each tenant's name and share, in one line.
shares() { anneal tenant list -o json | jq -r '[.items[] | "\(.name)=\(.share)"] | join(" ")'; }
shares_are() { [ "$(shares)" = "$1" ]; }
short() { anneal tenant list -o json | jq -r '[.items[] | select(.short) | .name] | join(" ")'; }
runs() { anneal task list --state RUNNING --limit 100 -o json | jq -r '[.items[].node[:1]] | group_by(.) | map("\(.[0])=\(length)") | join(" ")'; }
run_so() { [ "$(runs)" = "$1" ]; }
as() { local tenant=$1; shift; ANNEAL_TOKEN_FILE=$work/$tenant.token anneal "$@"; }

anneal -q catalog load "$work/slow" || exit 1
nodes a1 a2 a3 a4 b1 b2 b3 b4
join w1 3; ok $? "a worker of three places" "$(cat "$work/w1.log")"
until_true 20 shares_are "default=3"; ok $? "which are the first tenant's"
anneal -q tenant add a --places 1 && anneal -q tenant add b --places 2; ok $? "two tenants wish for three"
is "$(shares)" "default=1 a=1 b=2" "and have them"
for t in a b; do
    anneal -q token add "$t-ops" --tenant $t --scope operate --save "$work/$t.token"
    for i in 1 2 3 4; do as $t -q deployment bind system "wait=$t$i" >/dev/null; done
done
until_true 20 run_so "a=1 b=2"; ok $? "as much runs of each" "$(runs)"

join w2 3; ok $? "another worker comes" "$(cat "$work/w2.log")"
until_true 20 shares_are "default=3 a=1 b=2"; ok $? "wishes stay what they are, the rest is who has none's" "$(shares)"
anneal -q tenant set a --places 3; ok $? "now one may wish for more"
until_true 20 shares_are "default=1 a=3 b=2"; ok $? "and has it" "$(shares)"
until_true 20 run_so "a=3 b=2"; ok $? "at once" "$(runs)"
is "$(short)" "" "nobody is short of anything"

kill "${pids[w2]}"; wait "${pids[w2]}"; is $? 0 "the second worker goes"
until_true 20 shares_are "default=1 a=2 b=1"; ok $? "three places for five wished for: in proportion" "$(shares)"
is "$(short)" "a b" "both say that they are short"
until_true 30 run_so "a=1 b=2"; ok $? "what the first one runs, runs on" "$(runs)"
id=$(anneal task list --limit 100 -o json | jq -r '[.items[] | select(.state == "READY" and (.node | startswith("b")))][0].id')
has "$(anneal why "task/$id")" "worker" "why says that places are waited for"
anneal -q operation cancel --abort "$(anneal task list --state RUNNING -o json | jq -r '[.items[] | select(.node | startswith("b"))][0].operation')"
until_true 20 run_so "a=2 b=1"; ok $? "the next place is for who has less than its share" "$(runs)"

worker w2 3
until_true 20 shares_are "default=1 a=3 b=2"; ok $? "it comes back: so do the shares" "$(shares)"
until_true 20 run_so "a=3 b=2"; ok $? "and the work" "$(runs)"
is "$(short)" "" "nobody is short any more"

kill -9 "${pids[w2]}"; wait "${pids[w2]}" 2>/dev/null
until_true 40 shares_are "default=1 a=2 b=1"; ok $? "killed, it is missed as well" "$(shares)"
until_true 40 run_so "a=2 b=1"; ok $? "what it ran is run by the other, as far as shares go" "$(runs)"
kill "${pids[w1]}"; wait "${pids[w1]}"
stop; ok $? "the server ends"
done_testing
