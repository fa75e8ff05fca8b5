#!/usr/bin/env bash
# Data travel from a parent's run to those below that want them, and to nobody else.
. "$(dirname "$0")/lib.sh"

catalog names <<Y
barclamp: data
version: 1.0.0
roles:
  - name: dns
    jig: shell
    attributes:
      domain: {schema: {type: string}, default: example.org, path: net/domain}
      address: {schema: {type: string}}
    actions:
      converge:
        - name: serve
          params:
            script: |
              printf '{"address":"%s"}' "\$(cat "$work/address")" >&3
  - name: web
    jig: shell
    wants: [dns.address]
    attributes: {port: {schema: {type: integer, minimum: 1}, default: 80}}
    actions:
      converge:
        - {name: run-web, params: {script: "cat >$work/web.seen"}}
  - name: quiet
    jig: shell
    requires: [dns]
    actions: {converge: [{name: run-quiet, params: {script: "true"}}]}
Y
noderole() { anneal noderole list --role "$1" -o json | jq -r '.items[0].id'; }
runs() { anneal noderole list --role "$1" -o json | jq -r '.items[0].run_count'; }
ran() { [ "$(runs "$1")" -ge "$2" ]; }
active() { [ "$(anneal noderole list -o json | jq -c '[.items[].state] | unique')" = '["ACTIVE"]' ]; }
seen() { jq -r ".data.$1" "$work/web.seen"; }

echo 10.0.0.1 >"$work/address"
start || exit 1
anneal -q catalog load "$work/names" || exit 1
nodes n1.t n2.t
anneal -q deployment bind system dns=n1.t web=n2.t quiet=n2.t --wait >/dev/null
ok $? "all are brought up"
is "$(seen address)" "10.0.0.1" "a child gets what its parent's script returned"
is "$(seen port)" "80" "and its own defaults"
is "$(seen node.name)" "n2.t" "and its node"
is "$(runs web) $(runs quiet)" "1 1" "each ran once"
is "$(anneal noderole data "$(noderole dns)" --wall address)" "10.0.0.1" "it is the parent's wall"

anneal -q noderole rerun "$(noderole dns)" --wait >/dev/null
until_true 20 active
is "$(runs dns) $(runs web)" "2 1" "the same again re-runs nobody"
echo 10.0.0.2 >"$work/address"
anneal -q noderole rerun "$(noderole dns)" --wait >/dev/null
until_true 20 ran web 2 && until_true 20 active
is "$(seen address)" "10.0.0.2" "another value re-runs who wants it"
is "$(runs dns) $(runs web) $(runs quiet)" "3 2 1" "and nobody else"

crash
echo 10.0.0.3 >"$work/address"
start || exit 1
until_true 20 active
is "$(anneal noderole data "$(noderole web)" address --visible)" "10.0.0.2" "after SIGKILL it is what it was"
is "$(runs web) $(runs quiet)" "2 1" "and nobody ran for that"
anneal -q noderole rerun "$(noderole dns)" --wait >/dev/null
until_true 20 ran web 3 && until_true 20 active
is "$(seen address)" "10.0.0.3" "a re-run is seen as before"
is "$(runs web) $(runs quiet)" "3 1" "by those who want it"

anneal -q noderole set "$(noderole dns)" address=10.9.9.9 --wait >/dev/null
until_true 20 ran web 4 && until_true 20 active
is "$(seen address)" "10.9.9.9" "a user's word is stronger"
out=$(anneal noderole data "$(noderole web)" --explain address)
is "$(printf '%s\n' "$out" | awk 'NR > 1 {print $1, $2, $3}' | tr '\n' ';')" "wall dns@n1.t \"10.0.0.3\";* user dns@n1.t;" "explain: who gave it, and who wins"
out=$(anneal noderole data "$(noderole web)" --explain address -o json)
is "$(jq -r '[.visible, (.layers | map(select(.wins)) | .[].layer), (.layers | length)] | join(" ")' <<<"$out")" "10.9.9.9 user 2" "and as JSON"
out=$(anneal noderole data "$(noderole web)" --explain port -o json)
is "$(jq -r '.layers[0].layer' <<<"$out")" "default" "a default is told as one"
anneal noderole data "$(noderole web)" --explain no.such >/dev/null 2>&1
is $? 4 "nothing is not found"
anneal -q noderole set "$(noderole dns)" net.domain=7 2>/dev/null
is $? 2 "data at an attribute's path are checked there"
stop
done_testing
