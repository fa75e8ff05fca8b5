#!/usr/bin/env bash
# Hooks end to end: addresses from a range, refusals that leave nothing, faults of a catalog, crashes.
. "$(dirname "$0")/lib.sh"

catalog broken <<'Y'
barclamp: broken
roles:
  - name: bad
    jig: noop
    hooks:
      on_active: [{set: a, to: nod.name}]
      on_error: [{set: a, to: 1 +}]
Y
out=$(anneal lint "$work/broken" 2>&1); ok $((! $?)) "lint refuses hooks that cannot run"
has "$out" 'broken/barclamp.yaml:6:18' "with file, line and column"
has "$out" 'there is no "nod" to look at' "with what is wrong"
has "$out" 'broken/barclamp.yaml:7:34' "of an expression, too"

cp -r "$top/examples/hooks" "$work/hooks"
sed -i 's/last: 192.0.2.14}/last: 192.0.2.13}/' "$work/hooks/network/barclamp.yaml"
start || exit 1
out=$(anneal catalog load "$work/broken" 2>&1); ok $((! $?)) "and so does loading"
has "$out" 'broken/barclamp.yaml:6:18' "with the same place"
anneal -q catalog load "$work/hooks" || exit 1
nodes n1.t n2.t n3.t n4.t n5.t
taken() { anneal role store "$1" -o json | jq -c '.store.taken // {}'; }
total() { anneal "$1" list -o json | jq .total; }
operations=$(total operation)

out=$(anneal deployment bind system 'network-admin=n*.t' 2>&1); is $? 6 "five nodes do not fit into a range of four"
has "$out" "no address is left from 192.0.2.10 to 192.0.2.13" "the refusal names the range"
has "$out" "network-admin@n5.t" "and whom it met"
has "$out" "network/barclamp.yaml:25" "and the hook"
out=$(anneal deployment bind system 'network-admin=n*.t' --dry-run 2>&1); is $? 6 "a dry run says the same"
is "$(taken network-admin)" '{}' "nothing was taken"
is "$(anneal noderole list --role network-admin -o json | jq .total)" 0 "nothing was bound"
is "$(total operation)" "$operations" "nothing was begun"

anneal -q catalog load "$top/examples/hooks" || exit 1
anneal -q deployment bind system 'network-admin=n*.t' --wait >/dev/null; ok $? "five nodes fit into a range of five"
is "$(taken network-admin | jq '[.[]] | unique | length')" 5 "five addresses, none twice"
is "$(anneal role store network-admin -o json | jq .rev)" 2 "in one change of the store"
anneal -q deployment bind system 'network-hosts=n1.t' --wait >/dev/null
anneal -q node add n6.t --alive alive --address 192.0.2.99 >/dev/null
is "$(anneal role store network-hosts -o json | jq -c '.store.hosts["n6.t"]')" '["192.0.2.99"]' "a new node is told to hooks"
runs() { [ "$(anneal noderole list --role network-hosts --node n1.t -o json | jq '.items[0].run_count')" -ge 2 ]; }
until_true 20 runs; ok $? "which run what depends on it"
out=$(anneal role store network-hosts); has "$out" "n6.t" "a store is shown to people"

was=$(taken network-admin | jq -r '."n2.t"')
anneal -q deployment unbind system network-admin=n2.t --wait >/dev/null; ok $? "a role is taken off a node"
is "$(taken network-admin | jq -c 'has("n2.t")')" false "and gives its address back"
anneal -q deployment bind system network-admin=n6.t --wait >/dev/null
is "$(taken network-admin | jq -r '."n6.t"')" "$was" "to the next"

# A commit that a hook refuses changes nothing; the same without the cause goes through.
anneal -q deployment add site && anneal -q deployment propose site >/dev/null
anneal -q deployment edit site --bind network-admin=n2.t >/dev/null
before=$(taken network-admin)
out=$(anneal deployment commit site 2>&1); is $? 6 "a commit may be refused by a hook"
has "$out" "network-admin@n2.t: no address is left" "with its words"
is "$(taken network-admin)" "$before" "nothing is taken"
is "$(anneal noderole list --role network-admin --node n2.t -o json | jq .total)" 0 "nothing is bound"
anneal -q deployment unbind system network-admin=n1.t --wait >/dev/null
anneal -q deployment commit site --wait >/dev/null; ok $? "with room again the proposal is committed"
is "$(taken network-admin | jq '[.[]] | length - (unique | length)')" 0 "and no address is given twice"
is "$(taken network-admin | jq -c 'has("n2.t")')" true "the new one is there"

# Killed in the middle of many bindings: what was answered is kept, nothing is given twice.
for i in $(seq 1 40); do anneal -q node add "s$i.t" --alive alive || exit 1; done >/dev/null
: >"$work/answered"
(for i in $(seq 1 40); do anneal -q deployment bind system "network-storage=s$i.t" >/dev/null 2>&1 && echo "s$i.t" >>"$work/answered"; done) &
binder=$!
until_true 20 test -s "$work/answered"
crash
wait $binder
start || exit 1
answered=$(wc -l <"$work/answered")
kept=$(taken network-storage)
[ "$answered" -lt 40 ]; ok $? "the server was killed on the way ($answered of 40)"
is "$(jq -n --argjson t "$kept" --rawfile a "$work/answered" '$a | split("\n") | map(select(length > 0)) | map(select($t[.] == null)) | length')" 0 "what was answered is kept"
is "$(jq '[.[]] | length - (unique | length)' <<<"$kept")" 0 "nothing is given twice"
is "$(jq length <<<"$kept")" "$(anneal noderole list --role network-storage --limit 1000 -o json | jq .total)" "an address for each noderole, and none besides"
anneal -q deployment bind system 'network-storage=s*.t' >/dev/null; ok $? "the others are bound after all"
all=$(taken network-storage)
is "$(jq '[.[]] | unique | length' <<<"$all")" 40 "forty addresses, none twice"
is "$(jq -n --argjson was "$kept" --argjson now "$all" '[$was | to_entries[] | select($now[.key] != .value)] | length')" 0 "those of before are the same"
crash; start || exit 1
is "$(taken network-storage)" "$all" "and after another crash it is all still so"
stop
done_testing
