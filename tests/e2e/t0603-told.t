#!/usr/bin/env bash
# What somebody is told before, while and after what is wanted changes: who is concerned, what goes, when all is done.
. "$(dirname "$0")/lib.sh"

# A cluster of stores, each on its disc; readers need all stores, a page wants what its reader returns.
shop() { # GREETING
    catalog shop <<Y
barclamp: shop
version: 1.0.0
roles:
  - {name: disc, jig: shell, flags: [implicit], actions: {converge: [{name: mount, params: {script: 'echo $1'}}]}}
  - name: store
    jig: shell
    flags: [cluster]
    requires: [disc]
    actions: {converge: [{name: store-up, params: {script: 'true'}}]}
  - name: reader
    jig: shell
    requires: [store]
    attributes:
      size: {schema: {type: integer, minimum: 1}, default: 1}
      url: {schema: {type: string}}
    actions:
      converge: [{name: read, params: {script: 'printf "{\"url\":\"reader:%s\"}" "\$(jq .data.size)" >&3'}}]
  - name: page
    jig: shell
    requires: [reader]
    wants: [reader.url]
    actions:
      converge: [{name: show, params: {script: 'jq -r .data.url >"$work/page"'}}]
Y
    anneal -q catalog load "$work/shop"
}
d() { anneal deployment "$@" 2>&1; }
marks() { sed -n 's/^  \([-+~*!] [^ ]*\).*/\1/p' | tr '\n' ';'; } # the first words of the lines of a diff
field() { anneal noderole list --role "$1" --node "$2" -o json | jq -r ".items[0].$3 // \"none\""; }

start || exit 1
shop one || exit 1
nodes n1.t n2.t n3.t n10.t
anneal -q deployment add shop
has "$(anneal why store@n1.t)" "anneal deployment bind shop store=n1.t" "why suggests the deployment that there is"
anneal -q deployment add front --parent shop
d bind shop store=n1.t reader=n2.t,n10.t --wait >/dev/null; ok $? "bound"
d bind front reader=n3.t page=n3.t --wait >/dev/null; ok $? "and in a deployment below"
has "$(anneal why reader@n1.t)" "anneal deployment bind shop reader=n1.t" "of several the one where most of the role are"
has "$(d bind shop store=n1.t)" "nothing to do" "what is bound already makes no operation"

# a member joins the cluster
d propose shop >/dev/null
d edit shop --bind store=n3.t --set reader@n2.t:size=2 >/dev/null; ok $? "a member more is proposed"
out=$(d diff shop)
is "$(marks <<<"$out")" "+ disc@n3.t;~ reader@n2.t;+ store@n3.t;* reader@n3.t;* reader@n10.t;" "the diff names all whom it concerns, by name"
has "$out" "      + size: 2
      needs store@n3.t" "what they gain"
has "$out" "in deployment front
      needs store@n3.t" "and where they are"
out=$(d commit shop -n); has "$out" "2 new, 3 changed, 0 removed; 5 tasks; nothing" "a dry run counts the same"
out=$(d commit shop --wait); ok $? "committed" "$out"
op=$(sed -n 's/^operation \([0-9]*\):.*/\1/p' <<<"$out")
has "$out" "3 changed, 0 removed; 5 tasks" "as it was told"
is "$(field reader n10.t operation) $(field reader n3.t operation)" "$op $op" "who gained the member ran in the same operation"
is "$(field reader n10.t state) $(field reader n3.t state)" "ACTIVE ACTIVE" "and has ended with it"

# what follows from what a run returns
d propose front >/dev/null; d edit front --set reader@n3.t:size=7 >/dev/null
out=$(d commit front --wait); ok $? "other data" "$out"
is "$(cat "$work/page")" "reader:7" "who reads what its parent returned is done when the wait ends"
is "$(field page n3.t operation)" "$(field reader n3.t operation)" "in one operation"
has "$(anneal why "operation/$op")" "operation $op succeeded" "which why calls by its end"

# another catalog
shop two
d propose shop >/dev/null
out=$(d diff shop); is "$(marks <<<"$out")" "* disc@n1.t;* disc@n3.t;" "another catalog concerns what it defines otherwise"
has "$out" "is defined otherwise by the catalog" "and says so"
d recall shop >/dev/null

# two at once
d propose shop >/dev/null; d edit shop --set reader@n2.t:size=4 --set reader@n10.t:size=4 >/dev/null
anneal -q noderole set "$(field reader n2.t id)" size=3 --wait >/dev/null 2>&1
out=$(d diff shop); has "$out" "size: before 2, theirs 3, yours 4" "a conflict shows all sides"
has "$out" "  ~ reader@n10.t" "and what does not collide against what is committed now"
d recall shop >/dev/null

# what goes, in order
out=$(d unbind shop disc=n3.t); has "$out" "anneal: disc@n3.t: store@n3.t needs disc@n3.t" "a refusal names what was typed"
is "$(anneal deployment unbind shop disc=n3.t -o json 2>&1 | jq -r .pointer)" "/bindings/0" "programs get the pointer"
out=$(d unbind shop disc=n3.t --cascade -n)
is "$(marks <<<"$out")" "- store@n3.t;- disc@n3.t;~ reader@n2.t;~ reader@n3.t;~ reader@n10.t;" "a dry run lists what goes, children first, and who loses it"
d unbind shop disc=n3.t --cascade --wait >/dev/null; ok $? "and so it is"
is "$(d history shop -o json | jq -c '[.items[].number] | . == (sort | reverse)')" true "history begins with the newest"
is "$(d history shop -o json --limit 1 | jq '.items[0].number')" "$(d history shop -o json | jq '[.items[].number] | max')" "also a short one"
stop; ok $? "the server ends well"
done_testing
