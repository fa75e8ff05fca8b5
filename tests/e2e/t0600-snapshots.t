#!/usr/bin/env bash
# What is wanted is proposed, edited, compared, committed, rolled back and removed; what runs follows.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/shop.sh"

live() { (cd "$work/live" && grep -H . ./* 2>/dev/null | sed 's/^..//' | tr '\n' ';'); }
runs() { sort "$work/runs" 2>/dev/null | tr '\n' ' '; rm -f "$work/runs"; }
d() { anneal deployment "$@" 2>&1; }
state() { anneal noderole list --role "$1" --node "$2" -o json | jq -r '.items[0].state // "none"'; }

start || exit 1
shop hello || exit 1
nodes n1.t n2.t n3.t
anneal -q deployment add shop
d bind shop db=n1.t web=n1.t,n2.t --wait >/dev/null; ok $? "bound at once"
is "$(live)" "db-n1.t:db;web-n1.t:hello 80;web-n2.t:hello 80;" "and running"; runs >/dev/null

# propose, edit, diff
out=$(d propose system); has "$out" "never proposed" "the system deployment is never proposed"
out=$(d edit shop --bind web=n3.t); has "$out" "anneal deployment propose shop" "without a proposal nothing is edited"
d propose shop --message "port 8080 and a third" >/dev/null; ok $? "proposed"
out=$(d propose shop); has "$out" "has proposal" "a second one is refused, naming the author of the first"
d edit shop --bind web=n3.t --set web@n1.t:port=8080 >/dev/null; ok $? "edited"
out=$(d edit shop --set web@n1.t:port=none); has "$out" "port" "data that break the schema are refused by name"
out=$(d edit shop --set web@n9.t:port=1); has "$out" "n9.t" "nodes that there are not"
out=$(d edit shop --bind db=n3.t --bind nope=n1.t); has "$out" "no role nope" "an edit that fails"
out=$(d diff shop); has "$out" "+ web@n3.t" "the diff: what is new"
has "$out" "port: 8080" "and what is changed"
case $out in *db@n3.t*) ok 1 "of an edit that failed nothing is left" "$out" ;; *) ok 0 "of an edit that failed nothing is left" ;; esac
is "$(live)" "db-n1.t:db;web-n1.t:hello 80;web-n2.t:hello 80;" "nothing runs before the commit"
out=$(d commit shop --dry-run); has "$out" "1 new, 1 changed, 0 removed" "a dry run counts"
out=$(d commit shop --wait); ok $? "committed" "$out"
is "$(live)" "db-n1.t:db;web-n1.t:hello 8080;web-n2.t:hello 80;web-n3.t:hello 80;" "and done"
is "$(runs)" "n1.t n3.t " "only what changed ran"
out=$(d commit shop); has "$out" "nothing is proposed" "nothing left to commit"

# two proposers: at once and by steps
d propose shop >/dev/null; d edit shop --set web@n2.t:port=90 >/dev/null
anneal -q noderole set "$(anneal noderole list --role web --node n3.t -o json | jq '.items[0].id')" port=91 --wait >/dev/null 2>&1
out=$(d commit shop --wait); ok $? "changes of different entries are merged" "$out"
is "$(live)" "db-n1.t:db;web-n1.t:hello 8080;web-n2.t:hello 90;web-n3.t:hello 91;" "both of them"
d propose shop >/dev/null; d edit shop --set web@n2.t:port=70 >/dev/null
anneal -q noderole set "$(anneal noderole list --role web --node n2.t -o json | jq '.items[0].id')" port=71 --wait >/dev/null 2>&1
out=$(d commit shop); has "$out" "web@n2.t" "of the same entry, differently, they are refused by name"
out=$(d diff shop); has "$out" "! web@n2.t" "the diff shows the conflict"; has "$out" "port: 71 -> 70" "with both values"
d recall shop >/dev/null; ok $? "recalled"
runs >/dev/null

# rollback across a catalog change
shop goodbye
is "$(runs)" "" "a new catalog changes nothing by itself"
d propose shop >/dev/null; out=$(d diff shop); has "$out" "catalog: generation 1 -> 2" "a proposal takes up the newest"
out=$(d commit shop --wait); ok $? "committed" "$out"
is "$(live)" "db-n1.t:db;web-n1.t:goodbye 8080;web-n2.t:goodbye 71;web-n3.t:goodbye 91;" "the new definitions run"
is "$(runs)" "n1.t n2.t n3.t " "of those that differ"
d unbind shop web=n3.t --wait >/dev/null; ok $? "one is unbound"
is "$(cat "$work/removed")" "stop n3.t
web n3.t" "by stop and remove"; rm "$work/removed"
is "$(state web n3.t)" none "and it is gone"
first=$(anneal deployment history shop -o json | jq '.items[0].number')
out=$(d rollback shop "$first"); ok $? "going back is proposed" "$out"
out=$(d diff shop); has "$out" "catalog: generation 2 -> 1" "with its catalog"
out=$(d commit shop --wait); ok $? "committed" "$out"
is "$(live)" "db-n1.t:db;web-n1.t:hello 80;web-n2.t:hello 80;" "everything is as it was"

# what needs it stands in the way
out=$(d unbind shop db=n1.t); has "$out" "needs db@n1.t" "what is needed is not unbound"; has "$out" "cascade" "the remedy is named"
touch "$work/stuck"
out=$(d unbind shop db=n1.t --cascade --wait); [ $? -ne 0 ]; ok $? "a removal that fails fails the operation"
is "$(state web n1.t)" ERROR "its noderole is in error"
is "$(state db n1.t)" REMOVING "who is needed by it waits"
out=$(anneal why "noderole/$(anneal noderole list --role db --node n1.t -o json | jq '.items[0].id')" 2>&1); has "$out" "web" "why names it"
rm "$work/stuck"
anneal -q noderole retry "$(anneal noderole list --role web --node n1.t -o json | jq '.items[0].id')" --wait >/dev/null 2>&1
gone() { [ "$(state "$@")" = none ]; }
until_true 20 gone web n1.t; is "$(state web n1.t)" none "retried, it is gone"
out=$(anneal noderole abandon "$(anneal noderole list --role web --node n2.t -o json | jq '.items[0].id')" --reason "lost" 2>&1); has "$out" "not done: down-web" "abandoned: what may remain is told"
empty() { [ "$(anneal noderole list --deployment shop -o json | jq .total)" = 0 ]; }
until_true 20 empty
is "$(anneal noderole list --deployment shop -o json | jq .total)" 0 "nothing is left"
out=$(anneal deployment delete shop 2>&1); ok $? "an empty deployment is deleted" "$out"

# a deployment of the same name begins anew
anneal -q deployment add shop
is "$(anneal deployment history shop -o json | jq '.items | length')" 0 "without the history of the old one"
stop; ok $? "and the server ends well"
start || exit 1
is "$(anneal noderole list -o json | jq -c '[.items[].role] | unique')" '["machine"]' "a restart brings nothing back: only the machines are there"
stop
done_testing
