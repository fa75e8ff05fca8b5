#!/usr/bin/env bash
# A service of a cluster that goes in turn stops: whatever of it has not begun when too many have failed serves on as it is,
# until somebody resumes, retries or goes back.
# SPDX-License-Identifier: Apache-2.0
. "${ANNEAL_TOP:?}/tests/e2e/cluster.sh"
command -v jq >/dev/null || skip_all "no jq"

strategy() { sed -i "/^- name: web/,/^- name: balancer/s/^  strategy: .*/  strategy: $1/" "$work/catalog/shop/roles/services.yaml"; }
fail() { local n; for n in $webs; do touch "$scratch/fail/shop-$n.shop.example-web-$1"; done; }
heal() { rm -f "$scratch/fail"/*; }
# web STATE: how many web servers are in it
web() { noderoles | grep -c " web $1 running"; }
ran() { awk '$3 == "'"$1"'" {print $2}' "$scratch/log" | sort -u | grep -c .; }
last() { anneal operation list -o json | jq '.items | max_by(.id).id'; }
configure() { : >"$scratch/log"; anneal cluster configure shop --set "web.threads=$1" --services web --restart --in-turn --wait 2>&1; }
figures() { anneal operation show "$op" -o json | jq -r '.reason, (.rollouts[] | "\(.name) \(.failed)/\(.members) \(.may_fail) \(.left) \(.stopped)")' | paste -sd' '; }

start || { echo "1..0 # SKIP no server"; exit 0; }
anneal catalog load "$work/catalog" >/dev/null; ok $? "the catalog is loaded"
out=$(anneal cluster create shop --template shop --nodes 9 --wait 2>&1); ok $? "nine nodes" "$out"
webs=$(noderoles | sed -n 's/^shop-\([0-9]*\).* web .*/\1/p')
is "$(web ACTIVE)" 8 "eight web servers"

# --- a few at a time
fail start
out=$(configure 16); is $? 11 "rolling: a start that fails fails the operation"
is "$(ran web)" 2 "rolling: two of eight are touched"
is "$(web ERROR) $(web STALE)" "2 6" "rolling: the rest serve as they are"
op=$(last)
is "$(figures)" "rollout web 2/8 0 6 true" "rolling: the operation says it, and its figures"
has "$out" "the roll-out of web stopped: 2 of 8 members failed, 0 may; 6 are left as they are" "so does who waits for it"
has "$out" "anneal operation resume $op [--failures N]" "with the command that goes on"
has "$out" "anneal operation retry $op" "the one that tries what failed"
has "$out" "anneal cluster rollback shop 1" "and the one that goes back"
has "$(anneal operation show "$op")" "2 of 8 members failed" "it can be looked up"
has "$(anneal status)" "the roll-out of web stopped" "it needs attention"
rest=$(noderoles | sed -n 's/ web STALE.*//p' | head -n 1)
has "$(anneal why "web@$rest")" "6 members left as they are" "why of a member says it"
has "$(anneal why "operation/$op")" "the roll-out of web" "and of the operation"
has "$(anneal events --limit 1000)" "CANCELLED (rollout)" "events tell it"
has "$(anneal events --limit 1000)" "operation/$op running->failed (rollout)" "with the end"
crash
start || exit 1
: >"$scratch/log"
is "$(figures)" "rollout web 2/8 0 6 true" "a crash changes nothing"
is "$(ran web)" 0 "and starts nothing"
out=$(anneal operation resume "$op" --wait 2>&1); is $? 11 "resumed, the next ones fail"
is "$(ran web) $(web ERROR) $(web STALE)" "2 4 4" "and these alone were tried"
heal
: >"$scratch/log"
out=$(anneal operation retry "$op" --wait 2>&1); ok $? "put right, a retry finishes it" "$out"
is "$(ran web) $(web ACTIVE)" "8 8" "on all of them"
is "$(anneal status | grep -c roll-out)" 0 "and nothing needs attention"

fail start
out=$(configure 17); is $? 11 "failed again"
op=$(last)
heal
: >"$scratch/log"
out=$(anneal operation resume "$op" --failures 0 --wait 2>&1); ok $? "a resume leaves what failed, and goes on" "$out"
is "$(ran web) $(web ERROR) $(web ACTIVE)" "6 2 6" "with the rest"
is "$(op_state "$op")" succeeded-with-failures "which is what was asked for"

# --- back
fail stop
out=$(configure 18); is $? 11 "a change that is taken back"
back=$(anneal operation show "$(last)" -o json | jq -r .rollback)
heal
: >"$scratch/log"
out=$(anneal ${back#anneal } --wait 2>&1); ok $? "$back" "$out"
is "$(web ACTIVE)" 8 "all serve"
: >"$scratch/times"
awk '$3 == "web" && ($4 == "stop" || $4 == "start") {print $1, ($4 == "stop" ? 1 : -1)}' "$scratch/log" | sort -n >"$scratch/times"
is "$(awk '{n += $2; if (n > most) most = n} END {print most}' "$scratch/times")" 2 "and two at a time were out meanwhile"

# --- back, and that fails as well
fail start
out=$(configure 22); is $? 11 "another change that is taken back"
back=$(anneal operation show "$(last)" -o json | jq -r .rollback)
fail start
out=$(anneal ${back#anneal } --yes --wait 2>&1); is $? 11 "the way back fails"
has "$out" "anneal operation retry $(last)" "it goes on by a retry"
is "$(grep -c "back:" <<<"$out")" 0 "and names no way back to what was left"
heal
out=$(anneal operation retry "$(last)" --wait 2>&1); ok $? "which ends it" "$out"
is "$(web ACTIVE)" 8 "all serve again"

# --- what waits for all of them
touch "$scratch/fail/shop-1002.shop.example-web-start"
: >"$scratch/log"
out=$(anneal cluster restart shop --services web,balancer --in-turn --wait 2>&1); is $? 11 "restarted with what depends on it"
is "$(ran balancer) $(noderoles | grep -c ' balancer STALE')" "0 1" "which does not begin either"
op=$(last)
out=$(anneal operation resume "$op" --wait 2>&1); ok $? "resumed" "$out"
is "$(ran balancer) $(web ERROR)" "1 1" "it is its turn when all others are done, what failed is forgiven"
out=$(anneal cluster restart shop --services web --in-turn --wait 2>&1); ok $? "the next one is another roll-out" "$out"
is "$(web ACTIVE)" 8 "of all members"

# --- a budget, in a row
strategy '{type: one_by_one, failures: "25%"}'
anneal catalog load "$work/catalog" >/dev/null; ok $? "one by one, a quarter may fail"
out=$(anneal cluster upgrade shop --wait 2>&1); ok $? "which the cluster is brought to" "$out"
fail start
out=$(configure 19); is $? 11 "one by one: a bad change"
is "$(ran web) $(web ERROR) $(web STALE)" "3 3 5" "one by one: with the third of eight it stops"
op=$(last)
is "$(figures)" "rollout web 3/8 2 5 true" "one by one: and says so"
crash
start || exit 1
heal
out=$(anneal operation retry "$op" --wait 2>&1); ok $? "one by one: a retry finishes it" "$out"
is "$(web ACTIVE)" 8 "one by one: everywhere"
touch "$scratch/fail/shop-1003.shop.example-web-start"
out=$(configure 20); ok $? "one by one: a single failure is within what may fail" "$out"
is "$(ran web) $(op_state "$(last)")" "8 succeeded-with-failures" "one by one: it goes over all of them"
out=$(anneal operation retry "$(last)" --wait 2>&1); ok $? "and that one is put right" "$out"

# --- what is left is told by whoever leaves it, and taken up by an upgrade
fail start
out=$(configure 21); is $? 11 "one more that stops"
op=$(last)
heal
out=$(anneal cluster restart shop --services metrics --wait 2>&1); ok $? "an operation about something else" "$out"
has "$out" "3 noderoles in ERROR are left as they are:" "says what it leaves"
has "$out" "5 noderoles of a roll-out that stopped are left as they are:" "and what a roll-out left"
has "$out" ": anneal operation retry $op" "with the command that helps"
has "$(anneal cluster show shop)" "anneal operation retry $op" "so does the cluster, whoever came last"
is "$(anneal cluster show shop -o json | jq -r '.left[] | "\(.state) \(.operation)"' | sort | uniq -c | awk '{print $1, $2, $3}' | paste -sd,)" "3 ERROR $op,5 STALE $op" "in JSON too"
has "$(anneal cluster upgrade shop --dry-run)" "takes up web" "an upgrade would take it up"
: >"$scratch/log"
out=$(anneal cluster upgrade shop --wait 2>&1); ok $? "and does" "$out"
is "$(ran web) $(web ACTIVE)" "8 8" "on all of them"
is "$(anneal cluster show shop -o json | jq -c '[.state, .left]')" '["active",[]]' "nothing is left"

# --- all at once, and what is not there yet
fail start
: >"$scratch/log"
out=$(anneal cluster restart shop --services web --wait 2>&1); is $? 11 "who does not ask for turns has all at once"
is "$(ran web) $(web ERROR)" "8 8" "nothing stops it"
heal
out=$(anneal operation retry "$(last)" --wait 2>&1); ok $? "all come up" "$out"
for n in 1009 1010; do touch "$scratch/fail/shop-$n.shop.example-web-start"; done
: >"$scratch/log"
out=$(anneal cluster expand shop --by 4 --wait 2>&1); is $? 11 "new ones are no roll-out"
is "$(web ERROR) $(web ACTIVE)" "2 9" "who comes up serves, whoever fails beside it"

# --- what is missing is finished with what is asked for
phase() { awk '$3 == "web" && $4 == "'"$1"'"' "$scratch/log" | grep -c .; }
is "$(state)" incomplete "two of them never started"
: >"$scratch/log"
out=$(anneal cluster configure shop --set web.threads=23 --wait 2>&1); ok $? "configured" "$out"
is "$(phase configure) $(phase start)" "11 2" "all eleven get the new configuration, and the two that had the old one are started with it"
is "$(state)" active "then all of it is there"
anneal admin check >/dev/null; ok $? "the engine is sound"
done_testing
