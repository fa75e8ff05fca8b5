#!/usr/bin/env bash
# A catalog that is only loaded changes nobody: what a noderole sees by comes with a commit and goes
# with a rollback, as its tasks do.
. "$(dirname "$0")/lib.sh"

generation() { # NAME DEFAULT [MORE ATTRIBUTES]
    catalog "$1" <<Y
barclamp: shop
version: 1.0.0
roles:
  - name: db
    jig: shell
    flags: [cluster]
    actions: {converge: [{name: run-db, params: {script: "true"}}]}
  - name: web
    jig: shell
    requires: [db]
    attributes:
      port: {schema: {type: integer}, default: $2}${3-}
    actions:
      converge:
        - {name: run-web, params: {script: "cat >$work/web.seen"}}
      remove: [{name: drop-web, params: {script: "echo web >>$work/removed"}}]
  - name: other
    jig: shell
    actions: {converge: [{name: run-other, params: {script: "true"}}]}
Y
}
noderole() { anneal noderole list --role "$1" -o json | jq -r '.items[0].id'; }
runs() { anneal noderole list --role "$1" -o json | jq -r '.items[0].run_count'; }
active() { [ "$(anneal noderole list -o json | jq -c '[.items[].state] | unique')" = '["ACTIVE"]' ]; }
seen() { jq -rc ".data.$1" "$work/web.seen"; }
rerun() { anneal -q noderole rerun "$(noderole web)" --wait >/dev/null && until_true 20 active; }

generation one 80
generation two 8080 "
      threads: {schema: {type: integer}, default: 4}"
start || exit 1
anneal -q catalog load "$work/one" || exit 1
nodes n1.t n2.t n3.t
anneal -q deployment add shop && anneal -q deployment bind shop db=n1.t web=n2.t --wait >/dev/null
ok $? "all are brought up"
is "$(seen port) $(seen threads)" "80 null" "with the defaults of their catalog"

anneal -q catalog load "$work/two" || exit 1
rerun
is "$(runs web) $(seen port) $(seen threads)" "2 80 null" "a catalog that is only loaded is not seen"
is "$(anneal noderole data "$(noderole web)" --explain port -o json | jq -c '[.layers[] | [.layer, .value]]')" \
    '[["default",80]]' "nor told"
anneal -q noderole set "$(noderole web)" threads=2 2>/dev/null
is $? 2 "data are checked by what it follows"
crash
start || exit 1
rerun
is "$(runs web) $(seen port)" "3 80" "nor after SIGKILL"
anneal -q deployment bind shop db=n3.t other=n1.t --wait >/dev/null
ok $? "others are bound with the new one"
rerun
is "$(seen port) $(seen threads)" "80 null" "even where one more parent came from it, it stays what it was"

anneal -q deployment propose shop --message "the new catalog" &&
    anneal -q deployment commit shop --wait >/dev/null
ok $? "a commit brings it"
until_true 20 active
is "$(seen port) $(seen threads)" "8080 4" "to all who stay"
ran=$(runs web)
crash
start || exit 1
until_true 20 active
is "$(runs web) $(anneal noderole data "$(noderole web)" port --visible)" "$ran 8080" "and after SIGKILL it is what it was"
anneal -q noderole set "$(noderole web)" threads=2 --wait >/dev/null
ok $? "its new attribute can be set"
until_true 20 active
is "$(seen threads)" "2" "and is seen"

anneal -q deployment rollback shop 1 && anneal -q deployment commit shop --wait >/dev/null
ok $? "a rollback takes the catalog of its time along"
until_true 20 active
is "$(seen port) $(seen threads)" "80 null" "with its defaults"
rerun
is "$(seen port)" "80" "and they stay"

# one whose role the catalog has forgotten
catalog bare <<Y
barclamp: shop
version: 3.0.0
roles:
  - {name: db, jig: shell, flags: [cluster], actions: {converge: [{name: run-db, params: {script: "true"}}]}}
Y
anneal -q catalog load "$work/bare" || exit 1
anneal -q deployment propose shop && anneal -q deployment edit shop --unbind web=n2.t
out=$(anneal deployment commit shop 2>&1)
is $? 6 "is not taken down without what its own catalog runs for that"
has "$out" "anneal deployment unbind shop web=n2.t" "the way to do it is told"
anneal -q deployment recall shop
is "$(cat "$work/removed" 2>/dev/null)" "" "nothing ran"
anneal -q deployment unbind shop web=n2.t --wait >/dev/null
ok $? "unbound at once"
is "$(cat "$work/removed")" "web" "by the catalog that it follows"
stop
done_testing
