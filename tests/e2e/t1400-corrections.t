#!/usr/bin/env bash
# A correction corrects: what is in ERROR runs anew when somebody changes what it is or sees, in the operation that
# asked, and an operation never tells a failure of before as its own.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"

site() { # page_definition: a role whose page is written from an attribute and refused by the server if it is bad
    catalog site <<Y
barclamp: site
version: 1.0.0
roles:
  - name: web
    jig: shell
    attributes:
      title: {path: title, schema: {type: string}, default: good}
    actions:
      converge:
        - {name: page, params: {script: '$1 >$work/page.\$(basename \$ANNEAL_NODE)'}}
        - {name: serve, params: {script: 'echo serve >>$work/ran; grep -q "^good" $work/page.\$(basename \$ANNEAL_NODE)'}}
  - name: proxy
    jig: shell
    requires: [web]
    actions:
      converge: [{name: reload, params: {script: 'true'}}]
  - name: wipe
    jig: shell
    flags: [destructive]
    attributes:
      disk: {path: disk, schema: {type: string}, default: sda}
    actions:
      converge:
        - {name: erase, params: {script: 'echo erase >>$work/erased; test -e $work/disk'}}
Y
}
page='echo page >>$work/ran; jq -r .data.title "$ANNEAL_INPUT_FILE"'
page=${page//\$work/$work}
nr() { anneal noderole list --role "$1" -o json | jq -r --arg n "$2" '.items[] | select(.node == $n) | .id'; }
state() { anneal noderole show "$1" -o json | jq -r .state; }
fresh() { : >"$work/ran"; }
ran() { paste -sd' ' "$work/ran"; }

command -v jq >/dev/null || skip_all "no jq"
start || exit 1
site "$page"
anneal -q catalog load "$work/site" || cat "$work/log"
nodes n1.t n2.t
anneal -q deployment add shop
fresh
anneal -q deployment bind shop web=n1.t proxy=n1.t --wait; ok $? "deployed"
web=$(nr web n1.t)
is "$(ran)" "page serve" "both tasks ran"

# bad data, then good data
fresh
out=$(anneal noderole set "$web" title=bad --wait 2>&1); is $? 11 "bad data fail in serve"
is "$(state "$web")" ERROR "it is in ERROR"
out=$(anneal why "web@n1.t" 2>&1)
has "$out" "anneal noderole retry $web" "why names the command that helps"
[ "$(printf '%s\n' "$out" | grep -n 'noderole retry' | cut -d: -f1)" -lt "$(printf '%s\n' "$out" | grep -n 'task log' | cut -d: -f1)" ]; ok $? "before where to look" "$out"
fresh
out=$(anneal noderole retry "$web" --wait 2>&1); is $? 11 "a retry tries what failed, in vain"
is "$(ran)" "serve" "and that alone"
fresh
out=$(anneal noderole set "$web" title=good --wait 2>&1); ok $? "good data correct it" "$out"
is "$(ran)" "page serve" "from the first task on"
is "$(state "$web")" ACTIVE "it serves"
is "$(anneal noderole list --role proxy -o json | jq -r '.items[0].state')" ACTIVE "and so does who needs it"

# each of the other ways out
for way in "noderole rerun" "role rerun" "operation retry"; do
    anneal noderole set "$web" title=bad --wait >/dev/null 2>&1
    op=$(anneal noderole show "$web" -o json | jq .operation)
    fresh
    case $way in
    "noderole rerun") anneal noderole rerun "$web" --wait >/dev/null 2>&1 ;;
    "role rerun") anneal role rerun web --wait >/dev/null 2>&1 ;;
    "operation retry") anneal operation retry "$op" --wait >/dev/null 2>&1 ;;
    esac
    if [ "$way" = "operation retry" ]; then
        is "$(ran)" serve "$way: tries what failed"
    else
        is "$(ran)" "page serve" "$way: the whole run"
    fi
    out=$(anneal noderole set "$web" title=good --wait 2>&1); ok $? "$way: and data correct it" "$out"
done

# a corrected catalog, and only what differs
site "$page; false"
anneal -q catalog load "$work/site"
propose() { anneal -q deployment propose shop && anneal deployment commit shop --wait 2>&1; }
fresh
out=$(propose); is $? 11 "a bad catalog fails"
site "$page"
anneal -q catalog load "$work/site"
fresh
out=$(propose); ok $? "the corrected one succeeds" "$out"
is "$(ran)" "page serve" "and ran it"
case $out in *"failed after"*) ok 1 "no failure of before is told" "$out" ;; *) ok 0 "no failure of before is told" ;; esac

# out of a failed roll-out by a rollback
head=$(anneal deployment history shop -o json | jq '[.items[] | select(.state == "committed")][0].number')
site "$page; false"
anneal -q catalog load "$work/site"
propose >/dev/null
fresh
anneal -q deployment rollback shop "$head"
out=$(anneal deployment commit shop --wait 2>&1); ok $? "a rollback out of it succeeds" "$out"
is "$(state "$web")" ACTIVE "and it serves"

# a failure that waits for a person's own word is left alone, and told
site "$page"
anneal -q catalog load "$work/site"
anneal deployment bind shop wipe=n2.t --wait >/dev/null 2>&1
wipe=$(nr wipe n2.t)
is "$(state "$wipe")" ERROR "a destructive role has failed"
: >"$work/erased"
out=$(anneal noderole set "$wipe" disk=sdb --wait 2>&1); ok $? "its data are set" "$out"
has "$out" "1 noderole in ERROR is left as it is" "that is told"
has "$out" "anneal noderole retry $wipe" "with the command that helps"
is "$(cat "$work/erased")" "" "nothing was erased by it"
is "$(anneal noderole set "$wipe" disk=sdc -o json | jq -r '.left[0].remedy')" "anneal noderole retry $wipe" "in JSON too"
: >"$work/disk"
anneal noderole retry "$wipe" --wait >/dev/null 2>&1; ok $? "a person's retry runs it"
is "$(cat "$work/erased")" erase "once"

# killed between failure and correction
anneal noderole set "$web" title=bad --wait >/dev/null 2>&1
crash
start || exit 1
fresh
out=$(anneal noderole set "$web" title=good --wait 2>&1); ok $? "corrected after a crash" "$out"
is "$(ran)" "page serve" "from the first task on"
anneal admin check >/dev/null; ok $? "and the engine is sound"
done_testing
