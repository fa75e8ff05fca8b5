#!/usr/bin/env bash
# `anneal why` names the object to act on.
. "$(dirname "$0")/lib.sh"

catalog why <<'Y'
barclamp: why
version: 1.0.0
pools: {licence: 1}
jigs:
  - {name: off, implementation: noop, active: false}
  - {name: mine, implementation: test}
roles:
  - {name: base, jig: noop}
  - {name: fails, jig: test, actions: {converge: [{name: fails, params: {fail_times: 1, exit: 3}}]}}
  - {name: blocked, jig: noop, requires: [fails]}
  - {name: slow, jig: test, actions: {converge: [{name: slow, pools: [licence], params: {sleep_ms: 600000}}]}}
  - {name: later, jig: test, actions: {converge: [{name: later, params: {again_times: 5, again_ms: 600000}}]}}
  - {name: jigless, jig: off}
  - {name: switched, jig: mine}
  - {name: one, jig: noop, conflicts: [two]}
  - {name: two, jig: noop}
Y
start || exit 1
anneal -q catalog load "$work/why" || exit 1
nodes n1.t n2.t n3.t n4.t n5.t n6.t
bind() { anneal -q deployment bind system "$@" >/dev/null; }
why() { anneal why "$@" 2>&1; }
noderole() { anneal noderole list --role "$1" --node "$2" -o json | jq -r '.items[0].id'; }
state() { [ "$(anneal noderole list --role "$1" --node "$2" -o json | jq -r '.items[0].state')" = "$3" ]; }

bind fails=n1.t blocked=n1.t
until_true 20 state fails n1.t ERROR
out=$(why "noderole/$(noderole blocked n1.t)"); has "$out" "fails" "a blocked noderole: what failed before it"
has "$out" "anneal task" "and what to do about it"
anneal -q node set n2.t --unavailable
bind base=n2.t
out=$(why "noderole/$(noderole base n2.t)"); has "$out" "anneal node set n2.t --available" "an unavailable node"
bind slow=n3.t; until_true 20 state slow n3.t TRANSITION
bind slow=n4.t; until_true 20 state slow n4.t TODO
out=$(why "noderole/$(noderole slow n4.t)"); has "$out" "anneal pool set licence" "a pool limit"
bind later=n5.t; until_true 20 state later n5.t TRANSITION
task=$(anneal task list --node n5.t -o json | jq '.items[0].id')
until_true 20 sh -c "'$bin/anneal' task show $task -o json | grep -q WAITING"
out=$(why "task/$task"); has "$out" "anneal task poke $task" "a waiting task"
op=$(anneal operation list -o json | jq '[.items[] | select(.state == "running" and .kind != "standing")][0].id')
anneal -q operation cancel "$op"
held=$(anneal task list --operation "$op" -o json | jq '[.items[] | select(.state == "READY" or .state == "PENDING" or .state == "CANCELLED")][0].id')
[ "$held" = null ] || { out=$(why "task/$held"); has "$out" "anneal operation resume $op" "a held task"; }
anneal -q node set n6.t --unavailable; bind two=n6.t
op=$(anneal operation list -o json | jq '[.items[] | select(.state == "running" and .kind != "standing")] | max_by(.id).id')
anneal -q operation cancel "$op"
out=$(why "noderole/$(noderole two n6.t)"); has "$out" "anneal operation resume $op" "a held noderole"
out=$(why one@n6.t); has "$out" "two" "a refused binding: what it conflicts with"
out=$(why jigless@n1.t); has "$out" "anneal jig enable off" "an inactive jig"
out=$(why jig/off); has "$out" "anneal jig enable off" "asked about the jig itself"
anneal -q jig disable mine; bind switched=n1.t 2>/dev/null
out=$(why switched@n1.t); has "$out" "anneal jig enable mine" "a jig that was switched off"
stop
done_testing
