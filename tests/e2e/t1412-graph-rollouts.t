#!/usr/bin/env bash
# A group of a task graph that goes a few nodes at a time stops: after more have failed than may no further node begins, whatever
# else it did before; the rest are as they were until somebody resumes or retries.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip_all "no jq"

trail=$work/trail
mkdir -p "$work/fail" "$work/cat/site/graphs"
echo 'barclamp: site' >"$work/cat/site/barclamp.yaml"
run() { echo "{cmd: 'echo $1 \$ANNEAL_NODE >>$trail; test ! -e $work/fail/$1-\$ANNEAL_NODE'}"; }
graph() { # OPTIONS OF THE GROUP
    cat >"$work/cat/site/graphs/tasks.yaml" <<END
- {id: web, type: group, requires: [pre_deployment], required_for: [deployment], $1}
- {id: base, type: group, required_for: [pre_deployment]}
- {id: early, type: shell, role: "*", required_for: [pre_deployment], parameters: $(run early)}
- {id: stop, type: shell, groups: [web], parameters: $(run stop)}
- {id: serve, type: shell, groups: [web], requires: [stop], parameters: $(run serve)}
- {id: report, type: shell, role: "*", requires: [deployment], parameters: $(run report)}
END
}
load() { graph "$1"; out=$(anneal catalog load "$work/cat" 2>&1); ok $? "$1: loaded" "$out"; }
deploy() { : >"$trail"; anneal deployment deploy d --wait 2>&1; }
tried() { awk -v t="$1" '$1 == t {print $2}' "$trail" | sort -u | grep -c .; }
fail() { local n; for n in n1.t n2.t n3.t n4.t n5.t; do touch "$work/fail/serve-$n"; done; }
heal() { rm -f "$work/fail"/*; }
last() { anneal operation list -o json | jq '.items | max_by(.id).id'; }
states() { anneal noderole list --role web -o json | jq -r '.items | map(.state) | group_by(.) | map("\(.[0]) \(length)") | join(" ")'; }
figures() { anneal operation show "$op" -o json | jq -r '.reason, (.rollouts[] | "\(.name) \(.failed)/\(.members) \(.may_fail) \(.left)")' | paste -sd' '; }

start || exit 1
graph "strategy: {type: one_by_one}"
anneal -q catalog load "$work/cat"
nodes n1.t n2.t n3.t n4.t n5.t
anneal -q deployment add d
anneal -q deployment bind d web=n1.t,n2.t,n3.t,n4.t,n5.t --wait >/dev/null

# case OPTIONS MOST: a bad run, of which so many are touched; the same from a server that was killed; then on to the end
case_of() {
    local most=$2 failed
    load "$1"
    heal
    out=$(deploy); ok $? "$1: deployed" "$out"
    is "$(states)" "ACTIVE 5" "$1: all serve"
    fail
    out=$(deploy); is $? 11 "$1: a bad run fails"
    is "$(tried early)" 5 "$1: what comes before runs everywhere"
    failed=$(tried stop)
    [ "$failed" -ge 1 ] && [ "$failed" -le "$most" ]; ok $? "$1: of five at most $most are touched" "$failed: $(cat "$trail")"
    is "$(states)" "ERROR $failed STALE $((5 - failed))" "$1: the rest serve as they are"
    is "$(tried report)" 0 "$1: what waits for all of them does not run"
    op=$(last)
    has "$(figures)" "rollout web $failed/5" "$1: the operation says why"
    has "$out" "the roll-out of web stopped: $failed of 5 members failed" "$1: and so does who waits for it"
    has "$out" "anneal operation resume $op" "$1: with what goes on"
    has "$(anneal why "operation/$op")" "the roll-out of web" "$1: why says it"
    crash
    start || exit 1
    : >"$trail"
    is "$(states)" "ERROR $failed STALE $((5 - failed))" "$1: a crash changes nothing"
    heal
    out=$(anneal operation resume "$op" --wait 2>&1); ok $? "$1: resumed, it goes on" "$out"
    is "$(tried stop) $(states)" "$((5 - failed)) ACTIVE $((5 - failed)) ERROR $failed" "$1: with the rest"
    [ "$(tried report)" -ge "$((5 - failed))" ]; ok $? "$1: and what waits for all of them, what failed is forgiven" "$(cat "$trail")"
    : >"$trail"
    out=$(anneal operation retry "$op" --wait 2>&1); ok $? "$1: retried, what failed is put right" "$out"
    is "$(states)" "ACTIVE 5" "$1: and all serve"
}
case_of "strategy: {type: one_by_one}" 1
case_of "strategy: {type: parallel, amount: 2}" 2
case_of "strategy: {type: rolling, amount: 2}" 2
case_of "strategy: {type: one_by_one, failures: 1}" 2
case_of "strategy: {type: parallel, amount: 2}, fault_tolerance: 1" 2
case_of "strategy: {type: rolling, amount: 1}, fault_tolerance: '40%'" 3

# --- all have begun: nobody is left to stop, but who waits for them
load "strategy: {type: parallel, amount: 5}, fault_tolerance: 1"
heal
fail
out=$(deploy); is $? 11 "all had begun, and all failed"
op=$(last)
is "$(figures) $(tried report)" "rollout web 5/5 1 0 0" "with a budget that was spent"
has "$out" "the roll-out of web stopped: 5 of 5 members failed, 1 may; none was left to begin" "which is told"
show=$(anneal operation show "$op")
has "$show" "$(anneal operation show "$op" -o json | jq -r '.outcome | "\(.done)/\(.done + .failed + .never_ran)  \(.failed) failed  \(.never_ran) never ran"')" "the first lines count as the summary does"
is "$(anneal operation list -o json | jq -c ".items[] | select(.id == $op) | .progress.failed")" 5 "and so does the list"
has "$out" "on with who waits for it:  anneal operation resume $op" "with what goes on"
has "$(anneal why "operation/$op")" "stopped: 5 members failed, 1 may; no member was left to begin" "and by why"
: >"$trail"
anneal operation resume "$op" --wait >/dev/null 2>&1
is "$(tried report)" 5 "resumed, what failed is forgiven by who waits for them"
heal
out=$(anneal operation retry "$op" --wait 2>&1); ok $? "put right" "$out"

# --- within what may fail
load "strategy: {type: one_by_one, failures: 1}"
touch "$work/fail/serve-n2.t"
out=$(deploy); ok $? "one of one that may fail" "$out"
is "$(tried stop) $(states)" "5 ACTIVE 4 ERROR 1" "goes over all of them"
is "$(anneal operation show "$(last)" -o json | jq -r .state)" succeeded-with-failures "and says what failed"

# --- all at once
load "strategy: {type: parallel}"
fail
out=$(deploy); is $? 11 "all at once"
is "$(tried stop) $(states)" "5 ERROR 5" "is no roll-out"
load "strategy: {type: parallel}, fault_tolerance: 1"
out=$(deploy)
is "$(anneal operation show "$(last)" -o json | jq -r .reason)" tolerance "a group without a strategy drains its operation"
graph "strategy: {type: one_by_one, failures: 1}, fault_tolerance: 1"
out=$(anneal lint "$work/cat" 2>&1); is $? 2 "who says both says it twice"
has "$out" "one is enough" "and is told so"
anneal admin check >/dev/null; ok $? "the engine is sound"
done_testing
