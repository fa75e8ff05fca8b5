#!/bin/bash
# The life of a cluster: made, changed in every way, gone; with tasks that really run.
# SPDX-License-Identifier: Apache-2.0
. "${ANNEAL_TOP:?}/tests/e2e/cluster.sh"
start || { echo "1..0 # SKIP no server"; exit 0; }
anneal catalog load "$work/catalog" >/dev/null; ok $? "the catalog is loaded"

node_count() { anneal node list -o json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["items"]))'; }
# pause, go_on: tasks of one node wait, and with it any operation on it
pause() { anneal node maintenance shop-1003.shop.example on --note test >/dev/null; }
go_on() { anneal node maintenance shop-1003.shop.example off >/dev/null; }

# --- create
operate create '{"name":"shop","template":"shop","nodes":60}'
is "$status" 422 "60 nodes are more than the template allows"
has "$answer" "50" "and it says so"
operate create '{"name":"shop","template":"shop","nodes":4,"config":{"web":{"x":"%host.service.nobody%"}}}'
is "$status" 422 "a macro about a service that can never be there is refused when it is asked for"
has "$answer" "/config/web/x" "with its place"
operate create '{"name":"shop","template":"shop","nodes":4,"dry_run":true}'
is "$status" 200 "a dry run"
has "$answer" '"status":"solved"' "shows the layout"
is "$(node_count)" 0 "and makes nothing"
operate create '{"name":"shop","template":"shop","nodes":4}'
is "$status" 201 "made" || echo "# $answer"
is "$(ended)" succeeded "created"
is "$(nodes)" "1000 1001 1002 1003" "four nodes"
is "$(count 'machine create')" 4 "each made once"
first=$(awk '$3 == "web" && $4 == "initialize" {print $1; exit}' "$scratch/log")
last=$(awk '$3 == "database" && $4 == "start" {print $1; exit}' "$scratch/log")
[ "$first" -gt "$last" ]; ok $? "web is initialized when the database has started"
operate create '{"name":"shop","template":"shop","nodes":4}'
is "$status" 409 "a second one of that name is refused"

# --- expand
operate expand '{"by":2}'
is "$(ended)" succeeded "expanded"
is "$(nodes)" "1000 1001 1002 1003 1004 1005" "two more"
is "$(did | grep -vcE '^100[45]')" 0 "nothing ran on the others"

# --- configure
operate configure '{"config":{"web":{"color":"red"}}}'
is "$(ended)" succeeded "configured"
is "$(did | grep -vcE 'configure|bootstrap')" 0 "nothing else was run"
is "$(field "$(api GET /v1/clusters/shop)" config web color)" red "the config is the cluster's"

# --- stop, reboot, start
operate stop '{"services":["web"]}'
is "$(ended)" succeeded "web stopped"
is "$(count 'web stop')" 5 "on its five nodes"
is "$(count 'balancer stop')" 1 "and what depends on it before"
is "$(noderoles | grep -c ' web ACTIVE stopped')" 5 "stopped is where they are"
: >"$scratch/log"
node=shop-1001.shop.example
anneal node report $node alive --machine-id m1 --boot-id b1 >/dev/null
anneal node report $node alive --machine-id m1 --boot-id b2 >/dev/null; ok $? "a node comes up in another boot"
until_true 20 sh -c "grep -q 'shop-1001.* web stop' '$scratch/log'"; ok $? "what is on it runs again"
until_true 20 sh -c "! '$bin/anneal' noderole list --limit 1000 -o json | grep -qE '\"(STALE|TRANSITION|TODO)\"'"
is "$(grep -c 'web start' "$scratch/log")" 0 "web stays stopped"
is "$(grep -cE 'install|initialize|machine create' "$scratch/log")" 0 "what lasts is not done again"
operate start '{"services":["balancer"]}'
is "$(ended)" succeeded "the balancer started"
is "$(count 'web start')" 5 "with what it depends on"
is "$(noderoles | grep -c stopped)" 0 "nothing is stopped any more"

# --- restart of one service
operate restart '{"services":["cache"]}'
is "$(ended)" succeeded "cache restarted"
is "$(did | grep -vcE ' (stop|start)$')" 0 "by stop and start alone"

# --- remove a service, whose removal fails
touch "$scratch/fail/shop-1000.shop.example-database-remove"
operate remove-service '{"services":["database"]}'
is "$status" 422 "what others require cannot go"
touch "$scratch/fail/shop-1003.shop.example-metrics-stop"
operate remove-service '{"services":["metrics"]}'
is "$(ended)" failed "one stop fails"
is "$(state)" inconsistent "which the cluster says"
has "$(noderoles)" "metrics ERROR absent" "it is in error, on its way out"
anneal operation retry "$op" >/dev/null; ok $? "retried"
is "$(ended)" succeeded "it goes"
is "$(noderoles | grep -c metrics)" 0 "and is gone"
is "$(state)" active "all is well"

# --- add it again
operate add-service '{"services":["metrics"]}'
is "$(ended)" succeeded "added"
is "$(count 'metrics start')" 6 "on every node"
operate add-service '{"services":["metrics"]}'
is "$status" 422 "twice is refused"

# --- two at once
pause
operate restart '{}'
first=$op
operate stop '{}'
is "$status" 409 "a second operation is refused"
has "$answer" "operation $first" "and the first is named"
operate stop '{"services":["balancer"],"queue":true}'
is "$status" 202 "or waits for its end"
is "$(field "$(api GET /v1/clusters/shop)" waiting 0)" stop "which the cluster shows"
go_on
op=$first; is "$(ended)" succeeded "which comes"
stopped() { noderoles | grep -q 'balancer ACTIVE stopped'; }
until_true 20 stopped; ok $? "and then it is done"
operate start '{}'
is "$(ended)" succeeded "and undone"
is "$(api POST /v1/deployments/shop/bind -H 'Content-Type: application/json' -d '{"bindings":[{"role":"cache","nodes":"*"}]}' | tail -n 1)" 409 "nobody binds by hand what is solved"

# --- cancel: nothing restarts by itself
pause
operate restart '{}'
anneal operation cancel "$op" >/dev/null
is "$(ended)" cancelled "cancelled"
go_on
started=$(wc -l <"$scratch/log")
anneal node report $node alive --machine-id m1 --boot-id b2 >/dev/null
is "$(wc -l <"$scratch/log")" "$started" "nothing of it starts"
anneal operation resume "$op" >/dev/null; is "$(ended)" succeeded "resumed it ends"

# --- shrink with a dead node
anneal node report shop-1002.shop.example dead >/dev/null; ok $? "a node is dead"
operate shrink '{"by":2,"dry_run":true}'
has "$answer" "shop-1002" "who is dead goes first"
operate shrink '{"by":2}'
is "$(ended)" succeeded "shrunk"
is "$(nodes)" "1000 1001 1003 1005" "the dead one, and the highest number without which web is still spread over the racks"
is "$(did | grep '^1002' | grep -v bootstrap)" "1002 machine delete" "on the dead one only its machine is deleted"
[ ! -e "$scratch/machines/shop-1002.shop.example" ]; ok $? "which is gone"

# --- upgrade, and back
before=$(field "$(api GET /v1/clusters/shop)" revision)
sed -i 's/version: "15"/version: "16"/' "$work"/catalog/shop/roles/services.yaml
anneal catalog load "$work/catalog" >/dev/null; ok $? "a catalog with another database"
operate upgrade '{}'
is "$(ended)" succeeded "upgraded"
is "$(did | grep -c ' database ')" 4 "the database: stop, install, configure, start"
is "$(did | grep -vcE ' database |bootstrap')" 0 "and nothing else"
operate upgrade '{}'
is "$(field "$answer" plan tasks)" 0 "there is nothing more to upgrade"
sed -i 's/^- name: web$/- name: web\n  version: "2"/; s/rolling, max: 2/rolling, max: 1/; /name: upgrade-web/d' \
    "$work"/catalog/shop/roles/services.yaml
anneal catalog load "$work/catalog" >/dev/null; ok $? "a catalog with another web, one node at a time"
operate upgrade '{}'
is "$(ended)" succeeded "upgraded"
is "$(awk '$3 == "web" {if ($4 == "stop") {out++; if (out > most) most = out} if ($4 == "start") out--} END {print most}' "$scratch/log")" 1 \
    "never more than one web is out"
is "$(count 'web start')" "$(noderoles | grep -c ' web ')" "and all of them were"
operate rollback "{\"revision\":$before}"
is "$(ended)" succeeded "back across the catalogs"
is "$(did | grep -c ' database ')" 4 "the database is the old one again"
operate rollback '{"revision":1}'
is "$(ended)" succeeded "back to the beginning"
is "$(nodes)" "1000 1001 1003 1006" "what was given up is made anew, what came later goes"
is "$(field "$(api GET /v1/clusters/shop)" config web color)" "" "config too"

# --- undo: a machine that may exist is deleted before another is made
touch "$scratch/fail/shop-1007.shop.example-machine-confirm"
operate expand '{"to":5}'
is "$status" 400 "an unknown field is refused"
operate expand '{"nodes":5}'
is "$(ended)" succeeded "expanded in spite of a failure"
is "$(awk '$2 ~ /1007/ && $3 == "machine" {print $4}' "$scratch/log" | tr '\n' ' ')" "create confirm delete create confirm bootstrap " \
    "the machine that could not be confirmed was deleted before another was made"

# --- a removal that fails
touch "$scratch/fail/shop-1001.shop.example-web-remove"
operate remove-service '{"services":["balancer","web"]}'
is "$status" 202 "who depends on it goes with it" || echo "# $answer"
is "$(ended)" failed "one cannot be removed"
is "$(noderoles | grep -c ' web ')" 1 "the others are gone"
has "$(noderoles)" "shop-1001.shop.example web ERROR absent" "it says which"
operate stop '{}'
is "$(ended)" succeeded "the rest of the cluster is still operated on"
operate start '{}'
is "$(ended)" succeeded "up and down"
id=$(anneal noderole list --limit 1000 -o json | python3 -c 'import json,sys; print([n["id"] for n in json.load(sys.stdin)["items"] if n["role"]=="web"][0])')
anneal noderole retry "$id" >/dev/null; ok $? "retried by itself"
gone_web() { ! noderoles | grep -q ' web '; }
until_true 20 gone_web; ok $? "it goes"

# --- a dead node that rules need
anneal node report shop-1000.shop.example dead >/dev/null
out=$(anneal cluster shrink shop --by 1 --dry-run)
has "$out" "  - shop-10" "where the only node of the database is dead another goes"
has "$out" "  ! shop-1000.shop.example is dead and stays: database is " "and the rule is told that it stays for"
anneal node report shop-1000.shop.example alive >/dev/null

# --- the lease ends
is "$(api PATCH /v1/clusters/shop -H 'Content-Type: application/json' -H 'If-Match: *' -d '{"expires_in":"200d"}' | tail -n 1)" 422 "a lease is not prolonged past what the template allows"
is "$(api PATCH /v1/clusters/shop -H 'Content-Type: application/json' -H 'If-Match: *' -d '{"expires_in":"1s"}' | tail -n 1)" 200 "it may be shortened"
gone() { [ "$(api GET /v1/clusters/shop | tail -n 1)" = 404 ]; }
until_true 30 gone; ok $? "when it ends the cluster is deleted"
is "$(ls "$scratch/machines")" "" "with all its machines"
is "$(node_count)" 0 "and nodes"
anneal admin check >/dev/null; ok $? "the engine is sound"
done_testing
