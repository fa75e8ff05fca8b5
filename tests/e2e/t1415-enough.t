#!/usr/bin/env bash
# Of a cluster some are enough: one dead replica of two blocks no web server, the second does, and the return of one ends it.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip_all "no jq"

site() { # NEED: what web requires of the replicas
    catalog site <<Y
barclamp: site
version: 1.0.0
roles:
  - name: replica
    jig: shell
    flags: [cluster]
    actions: {converge: [{name: follow, params: {script: 'echo "follow \$ANNEAL_NODE" >>$work/ran; test ! -e $work/broken-\$ANNEAL_NODE'}}]}
  - name: web
    jig: shell
    requires: [$1]
    attributes:
      title: {path: title, schema: {type: string}, default: first}
    actions: {converge: [{name: serve, params: {script: 'echo "serve \$ANNEAL_NODE \$ANNEAL_DATA_title" >>$work/ran'}}]}
Y
    anneal -q catalog load "$work/site"
}
states() { anneal noderole list --role "$1" -o json | jq -r '.items | sort_by(.node) | map(.state) | join(" ")'; }
web() { anneal noderole list --role web --node "$1" -o json | jq '.items[0].id'; }
are() { [ "$(states "$1")" = "$2" ]; }
title() { # TEXT: committed to both web servers
    anneal -q deployment propose shop && anneal -q deployment edit shop --set "web@w1.t,w2.t:title=$1" && anneal deployment commit shop --wait 2>&1
}
commit() { anneal -q deployment propose shop && anneal deployment commit shop --wait 2>&1; }
dead() { anneal -q node report "$1" dead; }
alive() { anneal -q node report "$1" alive; }

start || exit 1
nodes r1.t r2.t r3.t w1.t w2.t w3.t
anneal -q deployment add shop
site '{role: replica, min: 1}' || exit 1
is "$(anneal role show web -o json | jq -c '[.requires, .enough]')" '[["replica"],{"replica":"1"}]' "the catalog shows how many are enough"
has "$(anneal role show web)" "replica=1" "and says it"
out=$(anneal deployment bind shop replica=r1.t,r2.t web=w1.t,w2.t --wait 2>&1); ok $? "two replicas, two web servers" "$out"
: >"$work/ran"
dead r1.t
is "$(states web)" "ACTIVE ACTIVE" "one replica dies: both serve"
is "$(cat "$work/ran")" "" "and nothing ran"
has "$(anneal why noderole/"$(web w1.t)")" "is at its target" "nothing stands in the way"
is "$(anneal noderole show "$(web w1.t)" -o json | jq -c .quorums)" '[{"role":"replica","members":2,"enough":1,"serving":1}]' "the noderole shows what it counts on"
out=$(title second); ok $? "a change is committed to them" "$out"
is "$(sort "$work/ran" | paste -sd,)" "serve w1.t second,serve w2.t second" "and runs"
crash
start || exit 1
is "$(states web)" "ACTIVE ACTIVE" "a crash of the server changes nothing"
dead r2.t
is "$(states web)" "BLOCKED BLOCKED" "the second dies: they are blocked"
out=$(anneal why web@w1.t 2>&1)
has "$out" "needs 1 of 2 members of replica in service, 0 are" "why says how many are missed"
has "$out" "replica@r1.t" "and who"
crash
start || exit 1
is "$(states web)" "BLOCKED BLOCKED" "a crash does not help"
: >"$work/ran"
alive r2.t
until_true 20 are web "ACTIVE ACTIVE"; ok $? "one returns: they serve" "$(states web)"
is "$(grep -c '^serve' "$work/ran")" 0 "as they were"
alive r1.t
until_true 20 are replica "ACTIVE ACTIVE"; ok $? "the other returns" "$(states replica)"
is "$(grep -c '^serve' "$work/ran")" 0 "which changes nothing for those that serve"

touch "$work/broken-r1.t"
out=$(anneal role rerun replica --wait 2>&1); is $? 11 "a re-run of the replicas fails on one"
is "$(states replica) $(states web)" "ERROR ACTIVE ACTIVE ACTIVE" "and the web servers stay in service"
rm "$work/broken-r1.t"
out=$(anneal noderole retry "$(anneal noderole list --role replica --node r1.t -o json | jq '.items[0].id')" --wait 2>&1); ok $? "it is put right" "$out"

site replica
out=$(commit); ok $? "another catalog needs them all" "$out"
dead r1.t
is "$(states web)" "BLOCKED BLOCKED" "and so it is"
site '{role: replica, min: "50%"}'
: >"$work/ran"
out=$(commit); ok $? "half of them shall be enough" "$out"
until_true 20 are web "ACTIVE ACTIVE"; ok $? "which holds for what is there" "$(states web)"
is "$(cat "$work/ran")" "" "without running anything"
number=$(anneal deployment history shop -o json | jq '[.items[] | select(.state == "archived")] | max_by(.number).number')
anneal -q deployment rollback shop "$number"
out=$(anneal deployment commit shop 2>&1); ok $? "a rollback is committed" "$out"
is "$(states web)" "BLOCKED BLOCKED" "a rollback brings back what was needed then"
site '{role: replica, min: "50%"}'
out=$(commit)
alive r1.t
until_true 20 are replica "ACTIVE ACTIVE"; ok $? "all serve" "$(states replica)"
out=$(anneal deployment bind shop replica=r3.t --wait 2>&1); ok $? "the cluster grows" "$out"
dead r3.t
is "$(states web)" "ACTIVE ACTIVE" "two of three are half"
dead r2.t
is "$(states web)" "BLOCKED BLOCKED" "one is not"
has "$(anneal why web@w1.t)" "needs 2 of 3 members of replica in service, 1 is" "rounded up"
alive r2.t
alive r3.t
until_true 20 are replica "ACTIVE ACTIVE ACTIVE"; ok $? "back" "$(states replica)"

# --- who is missed, and who is not
id() { anneal noderole list --role "$1" --node "$2" -o json | jq '.items[0].id'; }
lacks() { case $1 in *"$2"*) ok 1 "$3" "\"$2\" in: $1" ;; *) ok 0 "$3" ;; esac; }
touch "$work/broken-r3.t"
out=$(anneal noderole rerun "$(id replica r3.t)" --wait 2>&1); is $? 11 "one of three fails"
anneal -q node set r2.t --unavailable
out=$(anneal noderole rerun "$(id replica r2.t)" 2>&1); ok $? "another is to run, and cannot" "$out"
anneal -q deployment propose shop
anneal -q deployment edit shop --set "web@w1.t:title=third"
out=$(anneal deployment commit shop 2>&1); ok $? "a change is committed to who needs two of them" "$out"
is "$(states replica) $(states web)" "ACTIVE STALE ERROR STALE ACTIVE" "all that serve go on"
out=$(anneal why web@w1.t 2>&1)
has "$out" "waits for 2 of 3 members of replica to be complete, 1 is: replica@r2.t is STALE" "why says that it waits for the one that is to run"
has "$out" "anneal node set r2.t --available" "and what helps that"
lacks "$out" "replica@r3.t" "and nothing of the one that failed, which it can do without"
dead r1.t
is "$(states web)" "BLOCKED BLOCKED" "one more is dead"
out=$(anneal why "task/$(anneal task list --node w1.t -o json | jq '[.items[] | select(.name == "serve")] | max_by(.id).id')" 2>&1)
has "$out" "needs 2 of 3 members of replica in service, 1 is: replica@r1.t" "why names the dead one"
has "$out" "in service, 1 is: replica@r3.t is ERROR" "and the one that failed"
has "$out" "anneal noderole retry $(id replica r3.t)" "with what helps it"
lacks "$out" "replica@r2.t" "but not the one that serves"
rm "$work/broken-r3.t"
alive r1.t
anneal -q node set r2.t --available
out=$(anneal noderole retry "$(id replica r3.t)" --wait 2>&1); ok $? "all is put right" "$out"
until_true 20 are web "ACTIVE ACTIVE"; ok $? "and serves" "$(states web)"

site '{role: replica, min: 4}'
out=$(anneal deployment bind shop web=w3.t 2>&1); is $? 6 "more than there are is refused"
has "$out" "web@w3.t requires 4 of replica, and there are 3" "with numbers"
out=$(commit 2>&1); ok $((! $?)) "a commit of such a catalog is, too" "$out"
has "$out" "requires 4 of replica, and there are 3" "for the same reason"
anneal -q deployment recall shop
site '{role: replica, min: 3}'
out=$(commit); ok $? "as many as there are" "$out"
out=$(anneal deployment unbind shop replica=r3.t 2>&1); is $? 6 "then none of them can go"
has "$out" "requires 3 of replica, and there are 2" "says why"
out=$(anneal node delete r3.t --cascade --yes 2>&1); ok $((! $?)) "not with its node either" "$out"
catalog wrong <<Y
barclamp: wrong
roles:
  - {name: primary}
  - {name: web, requires: [{role: primary, min: 1}]}
Y
out=$(anneal lint "$work/wrong" 2>&1); is $? 2 "a role that is no cluster has no number"
has "$out" "has no flag cluster" "lint says so"
anneal admin check >/dev/null; ok $? "the engine is sound"
stop
"$bin/anneald" --data-dir "$work/data" --verify >"$work/verify" 2>&1; ok $? "the journal leads to what is stored" "$(cat "$work/verify")"
done_testing
