#!/usr/bin/env bash
# Members of a cluster leave in order: what a role's hook on_leaving enqueues is run before its node is given up, or the service removed.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/cluster.sh"
command -v jq >/dev/null || skip_all "no jq"
python3 - "$work"/catalog/shop/roles/*.yaml <<'P'
import re, sys
for path in sys.argv[1:]:
    text = open(path).read()
    for role in ("web", "metrics"):
        text = re.sub(rf"(?m)^- name: {role}\n", f"- name: {role}\n  hooks: {{on_leaving: [{{enqueue: balancer, on: bound.balancer}}]}}\n", text)
    open(path, "w").write(text)
P

start || exit 1
out=$(anneal catalog load "$work/catalog" 2>&1); ok $? "a catalog whose balancer is told who leaves" "$out"
operate create '{"name": "shop", "template": "shop", "nodes": 6}'
is "$(ended)" succeeded "created"
balancer=$(anneal noderole list --role balancer -o json | jq -r '.items[0].node')
# before FIRST THEN: in what ran, all lines of FIRST are before all lines of THEN, and there are some of both
before() {
    awk -v first="$1" -v then="$2" '{ line = $2 " " $3 " " $4 } line ~ first { f++; if (t) bad = 1 } line ~ then { t++ } END { exit bad || !f || !t }' "$scratch/log"
}

operate shrink '{"by": 1}'
is "$(ended)" succeeded "one node is given up"
before "^$balancer balancer configure" " web stop"; ok $? "its web server is stopped after the balancer has let go of it" "$(cat "$scratch/log")"

operate remove-service '{"services": ["metrics"]}'
is "$(ended)" succeeded "a service is removed"
before "^$balancer balancer configure" " metrics stop"; ok $? "after the balancer was told" "$(cat "$scratch/log")"
is "$(grep -c "balancer configure" "$scratch/log")" 1 "once, for all of them"

# the balancer cannot be told: nothing goes, until somebody says so
mkdir -p "$scratch/fail"
touch "$scratch/fail/$balancer-balancer-configure"
operate shrink '{"by": 1}'
is "$(ended)" failed "the balancer fails"
is "$(grep -c " web stop" "$scratch/log")" 0 "no web server was stopped"
: >"$scratch/log"
out=$(anneal operation retry "$op" --wait 2>&1); ok $? "retried" "$out"
before "^$balancer balancer configure" " web stop"; ok $? "it goes in order" "$(cat "$scratch/log")"
is "$(state)" active "the cluster is whole"
anneal admin check >/dev/null; ok $? "the engine is sound"
done_testing
