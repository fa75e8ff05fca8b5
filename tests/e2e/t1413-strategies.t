#!/usr/bin/env bash
# A strategy holds for whoever lives: whatever the catalog said when a member was bound, by whatever plan it came, and whoever has left.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip_all "no jq"

site() { # STRATEGY [SCRIPT]: web servers that do not come up with a bad version
    catalog site <<Y
barclamp: site
version: 1.0.0
roles:
  - name: web
    jig: shell
    strategy: $1
    attributes:
      version: {path: version, schema: {type: string}, default: good}
    actions:
      converge:
        - {name: stop, params: {script: 'echo "\$ANNEAL_NODE" >>$work/ran'}}
        - {name: start, params: {script: '${2:-test "\$ANNEAL_DATA_version" != bad}'}}
Y
    anneal -q catalog load "$work/site"
}
members() { anneal noderole list --role web -o json | jq -r '[.items[].node] | join(",")'; }
ran() { sort "$work/ran" | paste -sd' '; }
commit() { : >"$work/ran"; anneal deployment commit shop --wait 2>&1; }
adopt() { anneal -q deployment propose shop && commit; } # what lives by the catalog of now
all() { # VERSION: the same data for all of them, in one commit
    anneal -q deployment propose shop && anneal -q deployment edit shop --set "web@$(members):version=$1" && commit
}
one_only() { # LABEL
    local out
    out=$(all bad); is $? 11 "$1: a bad change fails"
    is "$(wc -w <"$work/ran")" 1 "$1: one has tried it" "$(ran)"
    out=$(all good); ok $? "$1: a correction succeeds" "$out"
}

start || exit 1
nodes n1.t n2.t n3.t n4.t
anneal -q deployment add shop
site '{type: parallel}'
out=$(anneal deployment bind shop web=n1.t,n2.t,n3.t,n4.t --wait 2>&1); ok $? "bound without a strategy" "$out"
site '{type: rolling, max: 2}'
out=$(adopt); ok $? "a strategy is adopted" "$out"
is "$(ran)" "" "for which nothing is run"
site '{type: rolling, max: 1}'
out=$(adopt); ok $? "another limit is adopted" "$out"
is "$(ran)" "" "for which nothing is run either"
is "$(anneal pool list -o json | jq -r '.items[] | select(.name | startswith("role:")).size')" 1 "the pool has its size"
one_only "a strategy that came later"

site '{type: parallel}'
out=$(adopt); ok $? "it is given up" "$out"
out=$(all bad); is $? 11 "without one a bad change fails"
is "$(ran)" "n1.t n2.t n3.t n4.t" "on all of them"
out=$(all good); ok $? "and a correction succeeds" "$out"
site '{type: one_by_one}' false
out=$(adopt); is $? 11 "a strategy with a bad definition fails"
is "$(wc -w <"$work/ran")" 1 "on one alone" "$(ran)"
site '{type: one_by_one}'
out=$(adopt); ok $? "a good one succeeds" "$out"
one_only "one by one"

anneal -q deployment unbind shop web=n2.t --wait
one_only "one by one, without one in the middle"
anneal -q deployment bind shop web=n2.t --wait
one_only "one by one, with one that was bound by itself"
anneal admin check >/dev/null; ok $? "the engine is sound"
stop; ok $? "the server stops"
out=$("$bin/anneald" --verify --data-dir "$work/data" 2>&1); ok $? "all of that can be replayed" "$out"
done_testing
