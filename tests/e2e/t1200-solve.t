#!/usr/bin/env bash
# anneal solve and anneal plan --template: layouts and plans of clusters, without a server.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
need anneal

shop="$ANNEAL_TOP/examples/clusters/shop"
solve() { run anneal solve "$shop" --template shop "$@"; }
plan() { run anneal plan "$shop" --template shop "$@"; }
# The layout of $out as "2xa,b@small 1xc@large".
brief() { jq -r '[.layout[] | "\(.count)x\(.services | join(","))@\(.hardware)"] | join(" ")' <<<"$out"; }

# --- solve ---
solve --nodes 5 -o json
is "$rc" 0 "a template has a layout"
is "$(jq -r .status <<<"$out")" solved "which is the whole answer"
is "$(jq '[.layout[].count] | add' <<<"$out")" 5 "of as many nodes"
is "$(jq -c '[.layout[] | select(.services | index("database")) | .count]' <<<"$out")" '[1]' "with one database"
is "$(jq -c '[.layout[] | select((.services | index("web")) and (.services | index("database")))]' <<<"$out")" '[]' \
    "apart from what serves the web"
is "$(jq -c '[.layout[].services | (. == sort)] | unique' <<<"$out")" '[true]' "services by name"
is "$(jq -c '.objective | keys_unsorted' <<<"$out")" '["cost","services"]' "and what it was chosen by"
printf '%s' "$out" >"$work/five.json"
first=$out
solve --nodes 5 -o json
is "$out" "$first" "the same question has the same answer"
solve --nodes 5 -o yaml
has "$out" "status: solved" "as YAML"
solve --nodes 5
has "$out" "COUNT  SERVICES" "as a table"
has "$out" "5 nodes, cost " "counted, with the cost"
solve --nodes 4-6 --comparator fewest-nodes -o json
is "$(jq '[.layout[].count] | add' <<<"$out")" 4 "a range, and the fewest of it"
solve --nodes 5 --hardware '*' --image '*' -o json
is "$rc" 0 "whatever is compatible"

# --- refused ---
solve --nodes 2
is "$rc" 6 "a size that the template is not for is refused"
has "$err" "is for 3 to 50 nodes, not for 2" "and told"
solve --nodes 5 --services base,web
is "$rc" 6 "a service without what it requires"
has "$err" 'requires "sql" to run' "is told"
has "$err" "add database" "with what is missing"
solve --nodes 5 --services base,databse
has "$err" 'did you mean "database"?' "a slip"
run anneal solve "$shop" --template shp --nodes 5
has "$err" 'did you mean "shop"?' "of a template too"
solve
is "$rc" 2 "how many must be said"
solve --nodes 5-3
is "$rc" 2 "and not backwards"
solve --nodes 5 --services base,,web
is "$rc" 2 "nor without names"
solve --nodes 5 --remove-nodes 1
has "$err" "is about nodes that exist" "nothing goes where nothing is"

# --- no layout ---
cp -r "$shop" "$work/tight"
sed -i 's/database: {min: 1, max: 1, hardware: \[large\]}/database: {min: 3, max: 3, hardware: [large]}/' \
    "$work/tight/templates/shop.yaml"
run anneal solve "$work/tight" --template shop --nodes 3 -o json
is "$rc" 6 "rules that contradict each other"
is "$(jq -r .status <<<"$out")" unsatisfiable "are an answer"
is "$(jq -c '[.conflict[] | select(.service == "database" and .rule == "min") | .text]' <<<"$out")" \
    '["database is on at least 3 nodes"]' "that names them"
line=$(grep -n 'database: {min: 3' "$work/tight/templates/shop.yaml" | cut -d: -f1)
has "$(jq -r '.conflict[] | select(.service == "database" and .rule == "min") | .at' <<<"$out")" \
    "templates/shop.yaml:$line:" "with their place"
is "$(jq -c '.relaxation' <<<"$out")" '[{"text":"let database and web be on one node","change":{"rule":"apart","dropped":true}}]' \
    "and the least that helps"
run anneal solve "$work/tight" --template shop --nodes 3
is "$rc" 6 "for people too"
has "$out" "cannot hold together" "why"
has "$out" "let database and web be on one node" "and what would help"
sed -i 's/apart: \[\[database, web\], /apart: [/' "$work/tight/templates/shop.yaml"
run anneal solve "$work/tight" --template shop --nodes 3 -o json
is "$rc" 0 "it does"
solve --nodes 29 --steps 1 -o json
is "$rc" 7 "a search that was cut off"
is "$(jq -c '[.status, has("best"), has("bound")]' <<<"$out")" '["limit",true,true]' "says so"

# --- what exists ---
solve --existing "$work/five.json" --nodes 8 -o json
is "$rc" 0 "an answer is what exists of the next question"
is "$(jq '[.layout[] | select(has("existing")) | .count] | add' <<<"$out")" 5 "all of it stays"
is "$(jq '[.layout[] | select(has("existing") | not) | .count] | add' <<<"$out")" 3 "and more comes"
jq -c .layout "$work/five.json" >"$work/list.json"
all=$out
solve --existing "$work/list.json" --nodes 8 -o json
is "$out" "$all" "its list alone does as well"
run anneal solve "$shop" --template shop --existing - --nodes 8 -o json <"$work/list.json"
is "$out" "$all" "and standard input"
solve --existing "$work/five.json" --remove-nodes 1 -o json
is "$(jq -c '[([.layout[].count] | add), ([.given_up[].count] | add)]' <<<"$out")" '[4,1]' "fewer"
echo '[{"count": 1}]' >"$work/bad.json"
solve --existing "$work/bad.json"
is "$rc" 2 "what is no layout is refused"
has "$err" "layout[0] has no hardware" "with what is wrong"

# --- plan ---
plan --nodes 5 -o json
is "$rc" 0 "a cluster is planned"
is "$(jq -r '[.tasks[] | select(.phase == "start" and .service == "database")] | length' <<<"$out")" 1 "its database starts"
is "$(jq -r '[.tasks[].node] | unique | .[0]' <<<"$out")" shop-1000.shop.example "nodes are numbered from 1000"
is "$(jq -r '[.tasks[].node] | unique | length' <<<"$out")" 5 "all of them"
plan --existing "$work/five.json" -o json
is "$(jq -c '[.tasks | length]' <<<"$out")" "$(plan --nodes 5 -o json; jq -c '[.tasks | length]' <<<"$out")" "the same of a layout that is given"
plan --nodes 5 --cluster Prod_1 --domain example.org -o json
is "$(jq -r '[.tasks[].node] | unique | .[0]' <<<"$out")" prod-1-1000.example.org "and named as it is asked for"
plan --nodes 5 -o stages
has "$out" "install base  5 nodes" "by stages"
plan --nodes 5 -o dot
has "$out" "digraph" "for Graphviz"
plan --nodes 5
has "$out" "tasks of create on 5 nodes, in " "as a table"
plan --nodes 5 -o yaml
has "$out" "tasks:" "as YAML"
for op in delete configure configure-restart start stop restart upgrade; do
    plan --existing "$work/five.json" --operation "$op" -o json
    ok "$([ "$rc" -eq 0 ] && [ "$(jq '.tasks | length' <<<"$out")" -gt 0 ]; echo $?)" "$op has tasks"
done
plan --existing "$work/five.json" --operation restart --services database -o json
is "$(jq -c '[.tasks[] | select(.pulled | not) | .service] | unique' <<<"$out")" '["database"]' "one service restarts"
has "$(jq -c '[.tasks[] | select(.pulled) | .service] | unique' <<<"$out")" web "with what depends on it"
plan --existing "$work/five.json" --operation act --action backup -o json
is "$(jq -c '[.tasks[] | [.phase, .service]]' <<<"$out")" '[["action","database"]]' "an action of its own"
plan --existing "$work/five.json" --operation expand --add 2 -o json
is "$(jq -c '[.tasks[].node] | unique' <<<"$out")" '["shop-1005.shop.example","shop-1006.shop.example"]' "new nodes only"
plan --existing "$work/five.json" --operation shrink --remove 1 -o json
is "$(jq -c '[.tasks[] | select(.phase == "delete")] | length' <<<"$out")" 1 "a machine goes"
plan --existing "$work/five.json" --operation remove-services --services metrics -o json
is "$(jq -c '[.tasks[].service] | unique' <<<"$out")" '["metrics"]' "a service goes"
run anneal solve "$shop" --template shop --nodes 5 --services base,database,web,balancer -o json
printf '%s' "$out" >"$work/bare.json"
plan --existing "$work/bare.json" --operation add-services --services cache -o json
is "$(jq -c '[.tasks[] | select(.phase == "install") | .service] | unique' <<<"$out")" '["cache"]' "a service comes"
plan --existing "$work/bare.json" --operation add-services --services web
has "$err" "the cluster has a web" "one that is there does not"
plan --existing "$work/bare.json" --operation remove-services --services database
is "$rc" 6 "what others require does not go"

plan --nodes 5 --operation expand
is "$rc" 2 "expand says by how many"
plan --nodes 5 --add 2
has "$err" "--add goes with --operation expand" "and nothing else does"
plan --existing "$work/five.json" --nodes 5
has "$err" "without --nodes" "a layout has its size"
plan --existing "$work/five.json" --services web
has "$err" "without --services" "and its services"
plan --nodes 5 --graph default
has "$err" "--graph is about a task graph" "options of task graphs are not for clusters"
run anneal plan "$shop" --nodes x --services web
has "$err" "--template NAME" "nor the other way round"
run anneal plan "$work/tight" --template shop --nodes 3 --services base,database,web,balancer --hardware small -o stages
is "$rc" 6 "without a layout there is no plan"
has "$out" "cannot hold together" "and it is told why"
done_testing
