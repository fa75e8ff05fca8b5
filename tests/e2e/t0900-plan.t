#!/usr/bin/env bash
# anneal plan: a task graph over nodes, without a server.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
need anneal

mkdir -p "$work/cat/graphs"
echo 'barclamp: site' >"$work/cat/barclamp.yaml"
cat >"$work/cat/graphs/site.yaml" <<'END'
- {id: start, type: stage}
- {id: end, type: stage, requires: [start]}
- {id: db, type: group, role: db, requires: [start], required_for: [web, end]}
- {id: web, type: group, role: web, required_for: [end], strategy: {type: parallel, amount: 2}}
- {id: install, type: shell, role: [db, web], parameters: {cmd: install}}
- {id: serve, type: shell, role: [db, web], requires: [install], parameters: {cmd: serve, timeout: 60}}
END
cat >"$work/nodes.yaml" <<'END'
nodes:
  - {name: d1, roles: [db]}
  - {name: w1, roles: [web]}
  - {name: w2, roles: [web]}
  - {name: w3, roles: [web]}
END
plan() { run anneal plan "$work/cat" --nodes "$work/nodes.yaml" "$@"; }

plan -o json
is "$rc" 0 "a graph is laid over nodes"
is "$(jq -c '[.tasks[] | select(.type != "join")] | length' <<<"$out")" 10 "two stages and eight tasks"
is "$(jq -c '.tasks[] | select(.id == "serve/w1") | [.node, .role, .roles, .task, .type, .stage, .requires[-1:][0], .reason]' <<<"$out")" \
    '["w1","web",["web"],"serve","shell","end","web:begin","run"]' "with what there is to say of each"
is "$(jq -c '. as $p | [.tasks | to_entries[] | .key as $k | .value.requires[] as $r | select(([$p.tasks[:$k][].id] | index($r)) == null)] | length' <<<"$out")" \
    0 "each behind all that it requires"
plan -o stages
has "$out" "== start ==" "by levels: stages as headings"
has "$out" "install  2 nodes" "and what runs on how many nodes"
plan -o dot
has "$out" "digraph plan" "for Graphviz"
run anneal plan "$work/cat" --roles
has "$out" "shape=folder" "and the graph as it is written"
plan
has "$out" "8 tasks on 4 nodes, in " "as a table, counted"
levels=$(awk '$1 ~ /^[0-9]+$/ && NF == 7 { print $1 }' <<<"$out")
is "$(wc -l <<<"$levels")" 10 "a row for each"
is "$levels" "$(sort -n <<<"$levels")" "level by level"
plan --node-file w3
has "$out" "- w3" "the file of a node"
has "$out" "timeout: 60" "with its parameters"

plan --start serve/w1 -o json
is "$(jq -rc '[.tasks[] | select(.node != null and .reason == "run") | .id]' <<<"$out")" '["serve/w1"]' \
    "a part: what waits for it, and not whose turn only comes after it"
plan --only install --on web -o json
is "$(jq -rc '[.tasks[] | select(.node != null and .reason == "run") | .id] | sort' <<<"$out")" \
    '["install/w1","install/w2","install/w3"]' "only some, on some"
plan --start instal
is "$rc" 4 "a word that matches nothing is an error"
has "$err" "nothing is called instal" "which it names"
run anneal plan "$work/cat" --nodes 5
has "$err" "NODES.yaml" "a number is not a file of nodes: both forms are shown"
run anneal plan "$work/cat" --nodes "$work/nodes.yaml" --graph other
has "$err" "no graph called other" "nor is there any other graph"

cat >>"$work/cat/graphs/site.yaml" <<'END'
- {id: join, type: shell, role: web, requires: [install], parameters: {cmd: x}, cross_depends: [{name: install, role: web}]}
END
plan
is "$rc" 5 "a strategy that dependencies contradict is refused"
has "$err" "waits for web:chunk-0" "with the way round"
has "$err" "strategy parallel with 2 at a time of web" "and its name"
plan --limit-circles -o json
is "$rc" 0 "or becomes a limit"
is "$(jq -c '[.limits[].size] | unique' <<<"$out")" '[2]' "of each of its tasks"

sed -i '$d' "$work/cat/graphs/site.yaml"
plan --simulate
is "$rc" 0 "a run of it can be simulated"
has "$out" "would end as succeeded: 8 DONE" "which tells how it ends"
plan --simulate --fail install/w1
is "$rc" 11 "what if a task fails on a node: the operation fails"
is "$(sed -n 2p <<<"$out" | tr -s ' ')" "install w1 FAILED exit" "what failed is first"
plan --simulate --fail install/w1 -o json
is "$(jq -c '[.operation.state, .operation.reason]' <<<"$out")" '["failed","rollout"]' "as data: how it ended"
is "$(jq -c '[.tasks[] | select(.node == "w1") | [.id, .task, .node, .state, .reason]]' <<<"$out")" \
    '[["install/w1","install","w1","FAILED","exit"],["serve/w1","serve","w1","DEP_FAILED","dependency"]]' "what became of each task"
is "$(jq -c '[.noderoles[] | select(.node == "d1" or .node == "w1") | [.role, .node, .state]]' <<<"$out")" \
    '[["db","d1","ACTIVE"],["web","w1","ERROR"]]' "and of each noderole"
plan --simulate --skip install -o json
is "$(jq -c '[.tasks[] | select(.task == "install") | [.state, .reason, .left_out]] | unique' <<<"$out")" \
    '[["SKIPPED","left-out","skipped"]]' "what is left out is passed, with why"
plan --simulate --seed 1 --workers 1 -o json
first=$out
plan --simulate --seed 1 --workers 1 -o json
is "$out" "$first" "the same seed is the same run"
plan --simulate --fail instal
is "$rc" 4 "a word that matches nothing is an error here too"
has "$err" "did you mean install?" "with what would match"
plan --simulate --fail install/w9
has "$err" "did you mean install/w1?" "node by node"
plan --simulate --fail start
has "$err" "nothing of start is run" "nor can a stage fail"
plan --fail install
is "$rc" 2 "without --simulate nothing fails"
plan --simulate -o dot
is "$rc" 2 "a run is no graph"
plan --simulate --workers 0
is "$rc" 2 "and nobody works without workers"

fuel=${ANNEAL_TEST_DATA:-$top/../shared}/data/fuel
if [ -d "$fuel" ]; then
    run anneal import fuel "$fuel" "$work/fuel"
    is "$rc" 0 "real task files are imported"
    {
        echo 'common: {network_metadata: {vips: {vrouter: {ipaddr: 10.0.0.1, node_roles: [controller, primary-controller]}}}}'
        echo 'nodes:'
        tags='controller, rabbitmq, database, keystone, neutron'
        echo "- {name: 1, roles: [primary-${tags//, /, primary-}]}" | sed 's/name: 1/name: "1"/'
        for i in 2 3 4 5 6 7 8; do echo "- {name: '$i', roles: [$tags]}"; done
        echo "- {name: '9', roles: [compute]}"
    } >"$work/eight.yaml"
    run anneal plan "$work/fuel" --nodes "$work/eight.yaml" -o json
    is "$rc" 5 "seven controllers by six contradict what their tasks wait for"
    has "$err" "controller:chunk-0" "the way round is told"
    run anneal import fuel "$fuel" "$work/limited" --limit-circles
    run anneal plan "$work/limited" --nodes "$work/eight.yaml" -o json
    is "$rc" 0 "with the import's switch they are a limit"
    has "$err" "is a limit for each of its tasks" "which is said"
fi
done_testing
