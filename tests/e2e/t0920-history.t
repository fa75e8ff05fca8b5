#!/usr/bin/env bash
# What ran in an operation is told: a failure, the retry after it, when, and what is expected next time.
. "$(dirname "$0")/lib.sh"

catalog shop <<Y
barclamp: shop
version: 1.0.0
roles:
  - name: db
    jig: shell
    flags: [cluster]
    actions:
      converge:
        - name: prepare
          params: {script: 'exit 0'}
        - name: install
          retries: 1
          backoff: 100ms
          params:
            script: |
              test -e "$work/tried" || { : >"$work/tried"; echo "no room" >&2; exit 7; }
              sleep 0.4
  - name: web
    jig: shell
    requires: [db]
    actions:
      converge:
        - name: deploy
          retries: 0
          params: {script: 'test ! -e "$work/broken"'}
        - name: announce
          params: {script: 'exit 0'}
Y
start || exit 1
anneal -q catalog load "$work/shop" || exit 1
nodes n1.t n2.t
last() { anneal operation list -o json | jq '[.items[].id] | max'; }
history() { anneal operation history "$@" -o json | jq -r '.items[] | [.name, .number, .outcome, .exit_code] | join(" ")'; }

# --- a task that fails once
anneal -q deployment bind system db=n1.t --wait=60s >/dev/null
ok $? "an operation with a task that fails at first"
op=$(last)
is "$(history "$op")" "prepare 1 ok 0
install 1 failed 7
install 2 ok 0" "its history: attempts in the order of their starts"
is "$(history "$op" --failed)" "install 1 failed 7" "what failed of it"
is "$(history "$op" --task prepare)" "prepare 1 ok 0" "one task of it"
is "$(history "$op" --node n2.t)" "" "nothing ran on another node"
has "$(anneal operation history "$op")" "install" "and as a table"
is "$(anneal operation history "$op" --limit 1 -o json | jq -c '[.items[].name, .total]')" '["prepare",3]' "page by page"
ran=$(anneal operation history "$op" -o json | jq '.items[2].ran_ms')
[ "$ran" -ge 300 ]; ok $? "it ran as long as it ran" "$ran"

# --- the timeline
out=$(anneal operation timeline "$op" -o json)
is "$(jq -c '[.nodes[].items[] | [.name, .attempt, .outcome]]' <<<"$out")" \
    '[["prepare",1,"ok"],["install",1,"failed"],["install",2,"ok"]]' "the timeline has the same"
is "$(jq -c '[.critical[].name]' <<<"$out")" '["prepare","install"]' "the longest chain goes through the order of tasks"
jq -e '[.nodes[].items[] | .end_ms >= .start_ms] | all' <<<"$out" >/dev/null; ok $? "ends come after beginnings"
jq -e '.span_ms >= (.critical[-1].end_ms - 50)' <<<"$out" >/dev/null; ok $? "and within the operation" "$out"
out=$(anneal operation timeline "$op")
has "$out" "longest chain: 2 tasks" "drawn: the chain"
has "$out" "install #2" "and the second attempt"

# --- progress by weight: the second time it is known that install is nearly all of it
is "$(anneal operation show "$op" -o json | jq -c '[.progress.percent, .eta_ms]')" '[100,null]' "an operation that has ended is complete"
anneal -q node set n2.t --unavailable
anneal -q deployment bind system db=n2.t >/dev/null
op2=$(last)
out=$(anneal operation show "$op2" -o json)
jq -e '.progress.weight_total >= 300 and .progress.weight_done == 0 and .progress.percent == 0' <<<"$out" >/dev/null
ok $? "another operation weighs what the first one taught" "$out"
jq -e '.eta_ms >= 300' <<<"$out" >/dev/null; ok $? "and how long it takes can be told before it begins" "$out"
stop; start || exit 1
out=$(anneal operation show "$op2" -o json)
jq -e '.progress.weight_total >= 300' <<<"$out" >/dev/null; ok $? "a restart has not forgotten it" "$out"
anneal -q node set n2.t --available --alive alive
ended() { [ "$(anneal operation show "$1" -o json | jq -r .state)" = "$2" ]; }
until_true 30 ended "$op2" succeeded; ok $? "it ends"
is "$(history "$op2")" "prepare 1 ok 0
install 1 ok 0" "with a history of its own"

# --- a failure that stays: what never ran is told if asked for
: >"$work/broken"
anneal -q deployment bind system web=n1.t --wait=60s >/dev/null 2>&1
op3=$(last)
is "$(history "$op3")" "deploy 1 failed 1" "a failure that stays"
is "$(anneal operation history "$op3" --all -o json | jq -c '.items[-1] | [.name, .state, .number]')" '["announce","DEP_FAILED",null]' \
    "what never ran because of it"
rm "$work/broken"
anneal -q operation retry "$op3" --wait=60s >/dev/null; ok $? "retried"
is "$(history "$op3")" "deploy 1 failed 1
deploy 2 ok 0
announce 2 ok 0" "the retry belongs to the same history"
is "$(anneal operation timeline "$op3" -o json | jq -c '[.critical[].name]')" '["deploy","announce"]' "and to its timeline"

# --- work that moves on leaves its history behind
anneal -q noderole rerun "$(anneal noderole list --role web -o json | jq '.items[0].id')" --wait=60s >/dev/null
ok $? "run again in an operation of its own"
is "$(history "$op3" | wc -l)" 3 "the old one keeps its history"
is "$(history "$(last)" | wc -l)" 2 "the new one has one"
anneal operation history 999 >/dev/null 2>&1; is $? 4 "an operation that is not there"
stop
done_testing
