#!/usr/bin/env bash
# Clusters from the command line: every verb, what it prints, and that it did it.
# SPDX-License-Identifier: Apache-2.0
. "${ANNEAL_TOP:?}/tests/e2e/cluster.sh"
. "$(dirname "$0")/cli.sh"
need anneal
need anneald
need anneal-runner
start
# cluster VERB ...: runs it; what its tasks did is in did() and count()
cluster() { : >"$scratch/log"; run anneal cluster "$@"; }
json() { printf '%s' "$out" | jq -r "$1"; }
node=shop.example
is "$(anneal catalog load "$work/catalog" | grep -c loaded)" 1 "the catalog is loaded"

# --- create
cluster list
is "$rc $err" "0 no clusters" "none at first"
cluster create shop
is "$rc" 2 "a template must be named"
cluster create shop --template shop --nodes 5 --dry-run
is "$rc" 0 "a dry run"
has "$out" "COUNT  SERVICES                                  HARDWARE  IMAGE  LABELS" "shows the layout as a table"
has "$out" "1  balancer, base, cache, database, metrics  large     plain" "with what goes together"
has "$out" "5 nodes, cost 0.375" "what it costs"
has "$out" "  + 5 new nodes" "what is new"
has "$out" "; nothing was changed" "and changes nothing"
cluster list
is "$err" "no clusters" "indeed nothing"
cluster create shop --template shop --nodes 4 -n -o json
is "$(json '[.operation, .layout.status, (.layout.layout | map(.count) | add)] | map(tostring) | join(" ")')" \
    "null solved 4" "as JSON"
cluster create shop --template shop --nodes 4 -n -o yaml
has "$out" "status: solved" "as YAML"
cluster create shop --template shop --nodes 2
is "$rc" 6 "fewer than the template allows are refused"
has "$err" "is for 3 to 50 nodes, not for 2" "with what it allows"
cluster create shop --template shop --nodes 5 --hardware small
is "$rc" 6 "what no layout can satisfy is refused"
has "$err" "hint: " "with what would help"
cluster create shop --template shpo --nodes 5
is "$rc" 6 "an unknown template"
has "$err" "shop" "has a near one"
printf 'web: {threads: 4, color: red}\n' >"$work/web.yaml"
cluster create shop --template shop --nodes 5 --config "$work/web.yaml" --set web.color=blue --lease 10d --title 'the shop' --wait
is "$rc" 0 "made"
has "$out" " succeeded in " "and followed to its end"
is "$(count 'machine create')" 5 "five machines"
cluster create shop --template shop
is "$rc" 5 "a second one of that name: exit code 5"

# --- look
cluster list
has "$out" "NAME  STATE   TEMPLATE  NODES  SERVICES" "a list"
has "$out" "shop  active  shop          5  " "has it"
has "$out" "  9d23h  " "and how long it is lent"
cluster list --state incomplete -o name
is "$out" "" "not by another state"
cluster list --state active -o name
is "$out" shop "by its state"
cluster show shop
has "$out" "template    shop" "one of them: of which template"
has "$out" "  1000  shop-1000.$node  ACTIVE  large     plain  " "its nodes"
has "$out" "    color: blue" "its configuration, as single keys say"
has "$out" "    threads: 4" "and the file"
cluster show shop -o json
is "$(json '[.state, .size, .last, .config.web.color, (.config.web | has("database"))] | map(tostring) | join(" ")')" \
    "active 5 create blue true" "as JSON, the template's configuration below it"
cluster show shpo
is "$rc" 4 "one that there is not: exit code 4"
has "$err" shop "has a near one"

# --- expand, configure
cluster expand shop --by 1 --dry-run
has "$out" "6 nodes" "one more"
has "$out" "  new" "which is new"
has "$out" "  there" "and the rest is there"
cluster expand shop --by 1 -o json
is "$(json .cluster.size)" 6 "as JSON"
anneal -q operation watch "$(json .operation.id)" >/dev/null
cluster expand shop --to 6
is "$rc" 6 "no more than there are is refused"
cluster configure shop --set web.threads=8 --services web --restart --in-turn --wait
is "$rc" 0 "configured"
is "$(did | cut -d' ' -f2- | grep -v bootstrap | sort -u | tr '\n' ,)" "web configure,web start,web stop," "what was named, and nothing else"
is "$(anneal cluster show shop -o json | jq .config.web.threads)" 8 "with other values"

# --- stop, start, restart, act
cluster stop shop --wait
is "$rc $(count 'web stop') $(count 'database stop')" "0 5 1" "all stopped"
cluster start shop --wait
is "$rc $(count 'web start') $(count 'database start')" "0 5 1" "all started"
cluster restart shop --services cache --wait
is "$rc $(count 'cache stop') $(count 'cache start')" "0 3 3" "one service restarted"
is "$(count 'web stop') $(count 'database stop')" "5 0" "with what needs it, and without what does not"
cluster restart shop --services nobody
is "$rc" 6 "a service that is not there"
has "$err" "nobody" "is named"
cluster act shop backup --wait
is "$rc $(did | cut -d' ' -f2-)" "0 database backup" "an action of its own"
touch "$scratch/fail/shop-1000.$node-database-backup"
cluster act shop backup --services database --wait
is "$rc" 11 "one that fails: exit code 11"
has "$err" "fails, as it was told to" "with what the task wrote"
cluster list -o json
is "$(json '.items[0].state')" inconsistent "which is seen"
cluster act shop backup --services database --wait
is "$rc" 0 "and mended"

# --- one after the other
anneal -q node maintenance "shop-1001.$node" on --note held >/dev/null
cluster restart shop --services web -o json
first=$(json .operation.id)
cluster act shop backup
is "$rc" 5 "while one is under way another is refused: exit code 5"
has "$err" "operation $first (restart) of cluster shop is under way" "by name"
cluster act shop backup --queue
is "$rc $out" "0 it waits until operation $first has ended well" "or it waits"
cluster show shop
has "$out" "waiting     act" "which is seen"
anneal -q node maintenance "shop-1001.$node" off >/dev/null
backed_up() { grep -q 'database backup' "$scratch/log" && [ "$(state)" = active ]; }
until_true 20 backed_up
ok $? "and comes"

# --- services
cluster remove-service shop metrics --dry-run
has "$out" "  ~ shop-1000.$node  - metrics" "what would go, node by node"
cluster remove-service shop metrics --wait
is "$rc $(count 'metrics stop')" "0 6" "a service goes"
cluster add-service shop metrics --dry-run
has "$out" "  ~ shop-1000.$node  + metrics" "what would come, node by node"
cluster add-service shop metrics --wait
is "$rc $(count 'metrics start')" "0 6" "and comes back"
cluster add-service shop metrics
is "$rc" 6 "what is there already is refused"

# --- shrink
cluster shrink shop --by 1 --dry-run
has "$out" "  - shop-1005.$node" "the highest number goes"
cluster shrink shop --by 1 --rev 1
is "$rc" 5 "of a revision that is gone: exit code 5"
cluster shrink shop --to 5 --yes --wait
is "$rc $(nodes)" "0 1000 1001 1002 1003 1004" "fewer nodes"

# --- history, diff, rollback
cluster history shop
has "$out" "NUMBER  STATE      ENTRIES  CATALOG" "its history"
has "$out" "create shop: 5 nodes" "from its beginning"
cluster history shop -o json
is "$(json '.items[-1].number')" 1 "as JSON"
cluster diff shop
has "$out" "  - web@shop-1005.$node" "what the last change was"
cluster diff shop --from 2 --to 3
has "$out" "config.web.threads: 4 -> 8" "what another was"
cluster diff shop --from 2 --to 3 -o json
is "$(json '.changes | length')" 1 "as JSON"
cluster rollback shop 2 --dry-run
has "$out" "  + 1 new node" "what went comes back"
has "$out" "  ~ configuration" "and the configuration of that time"
cluster rollback shop 2 --wait
is "$rc" 0 "rolled back"
is "$(anneal cluster show shop -o json | jq -c '[.size, .config.web.threads]')" "[6,4]" "as it was"
cluster rollback shop 99
is "$rc" 4 "what never was: exit code 4"

# --- upgrade
sed -i 's/^  version: "15"/  version: "16"/' "$work/catalog/shop/roles/services.yaml"
anneal -q catalog load "$work/catalog" >/dev/null
cluster upgrade shop --dry-run
has "$out" "nothing was changed" "an upgrade to another catalog"
cluster upgrade shop --wait
is "$rc $(count 'database install')" "0 1" "does again what is defined otherwise"

# --- lease, delete
cluster lease shop 5d
has "$out" "cluster shop is lent until 2" "a shorter lease"
cluster lease shop 80d
is "$rc" 6 "the template limits how far it is prolonged"
has "$err" "hint: until " "and says how far it may"
cluster lease shop 6d -o json
is "$(json .name)" shop "as JSON"
cluster delete shop --dry-run
has "$out" "  - shop-1000.$node" "what would go with it"
if command -v script >/dev/null; then # it gives the terminal
    rc=0
    echo n | script -qefc "stty cols 100; exec $bin/anneal cluster delete shop" "$work/screen" >/dev/null || rc=$?
    is "$rc" 6 "on a terminal it asks, and no is no"
    has "$(tr -d '\r' <"$work/screen")" "  - shop-1006.$node
delete cluster shop (6 nodes given up, 6 tasks)? [y/N] " "once it has shown what will go"
    is "$(anneal cluster show shop -o json | jq -r .state)" active "nothing went"
fi
cluster delete shop --wait
is "$rc $(count 'machine delete')" "0 6" "deleted, with its machines"
gone() { ! "$bin/anneal" cluster show shop; }
until_true 20 gone
ok $? "and gone"
is "$(find "$scratch/machines" -mindepth 1 | wc -l)" 0 "no machine is left"
done_testing
