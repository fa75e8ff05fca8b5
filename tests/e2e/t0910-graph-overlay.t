#!/usr/bin/env bash
# Overlays of task graphs: set, refused, compared, run, kept over a crash, exported.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
export ANNEAL_TOKEN_FILE=$work/data/admin.token
need anneal

mkdir -p "$work/site/site/graphs" "$work/site/base/graphs" "$work/done"
printf 'barclamp: site\nversion: 1.0.0\n' >"$work/site/site/barclamp.yaml"
printf 'barclamp: base\nversion: 1.0.0\nlenient: true\ngraphs: {requires: same-node}\n' >"$work/site/base/barclamp.yaml"
cat >"$work/site/site/graphs/site.yaml" <<END
- {id: web, type: group}
- {id: install, type: shell, groups: web, parameters: {cmd: 'echo install >>$work/done/\$ANNEAL_NODE'}}
- {id: serve, type: shell, groups: web, requires: [install], parameters: {cmd: 'echo serve >>$work/done/\$ANNEAL_NODE'}}
END
cat >"$work/site/base/graphs/base.yaml" <<END
- {id: clock, type: shell, role: web, required_for: [install], parameters: {cmd: 'echo clock >>$work/done/\$ANNEAL_NODE'}}
END
cat >"$work/shop.yaml" <<END
# the shop waits for its switch
- {id: switch, type: shell, groups: web, required_for: [serve], requires: [install], parameters: {cmd: 'echo switch >>$work/done/\$ANNEAL_NODE'}}
- {id: serve, type: shell, groups: web, requires: [install], parameters: {cmd: 'echo other >>$work/done/\$ANNEAL_NODE'}}
END
cat >"$work/base.yaml" <<END
- {id: clock, type: shell, role: web, required_for: [install], parameters: {cmd: 'echo watch >>$work/done/\$ANNEAL_NODE'}}
- {id: dns, type: shell, role: web, required_for: [install], parameters: {cmd: 'true'}}
END
printf -- '- {id: more, type: shell, groups: web,\n   requires: [instal], parameters: {}}\n' >"$work/bad.yaml"

start
anneal -q catalog load "$work/site"
anneal -q deployment add shop
nodes n1
anneal -q deployment bind shop web=n1 --wait

run anneal deployment tasks shop
has "$out" "deployment shop has nothing over task graph default" "nothing at first"
run anneal deployment tasks-set shop "$work/bad.yaml"
is "$rc" 6 "what does not fit is refused"
has "$err" "bad.yaml:2:15" "with file, line and column"
has "$err" 'did you mean "install"?' "and the nearest name"
run anneal deployment tasks-set shop "$work/shop.yaml" --dry-run
has "$out" "could have 2 tasks over task graph default; nothing was changed" "a dry run changes nothing"
run anneal deployment tasks-set shop "$work/shop.yaml" --message 'the switch'
has "$out" "has 2 tasks over task graph default, version 1" "it is set"
run anneal deployment tasks-set shop "$work/shop.yaml"
has "$out" "already, version 1" "once"
run anneal barclamp tasks-set base "$work/base.yaml"
has "$out" "barclamp base has 2 tasks" "a barclamp has one too"
run anneal deployment tasks shop
is "$out" "$(cat "$work/shop.yaml")" "byte for byte"
run anneal deployment tasks shop --merged -o json
is "$(jq -rc '[.tasks[].id]' <<<"$out")" '["switch","serve","clock","dns","web","install"]' "the graph that it gives"

anneal -q deployment deploy shop --wait
is "$(paste -sd' ' "$work/done/n1")" "watch install switch other" "is the graph that runs"

# A crash right behind an answer: what was answered is there.
crash
start
run anneal deployment tasks shop
is "$out" "$(cat "$work/shop.yaml")" "it is there after a crash"
for i in 1 2 3; do
    sed "s/the shop/the shop, $i/" "$work/shop.yaml" >"$work/shop.$i.yaml"
    run anneal deployment tasks-set shop "$work/shop.$i.yaml"
    crash
    start
    run anneal deployment tasks-history shop -o json
    is "$(jq -c '[.items[].version]' <<<"$out")" "$(jq -nc "[range($((i + 1)); 0; -1)]")" "version $((i + 1)) after a crash"
    run anneal deployment tasks shop
    is "$out" "$(cat "$work/shop.$i.yaml")" "as it was set"
done
stop
is $? 0 "the server ends in order"
start
run anneal deployment tasks shop --number 1
is "$out" "$(cat "$work/shop.yaml")" "the first version is still there"
run anneal deployment tasks-diff shop --from 0 --to 1
has "$out" "  + switch" "what it added"
has "$out" "  ~ serve" "and changed"
run anneal deployment tasks-diff shop
has "$out" "nothing differs" "another comment is no other graph"
is "$(api PUT /v1/deployments/shop/deployment_tasks -H 'Content-Type: application/json' -H 'If-Match: "1"' -d '{"tasks": []}' | tail -n 1)" \
    412 "who has seen an old version only is refused"
is "$(api PUT /v1/deployments/shop/deployment_tasks -H 'Content-Type: application/json' -d '{"tasks": []}' | tail -n 1)" \
    428 "and so is who has seen none"
run anneal events --since 0 -o json
has "$out" '"overlay.changed"' "the journal tells of it"

# As files: what lint and plan see is what is run.
run anneal catalog export "$work/copy" --deployment shop
is "$rc" 0 "the catalog is exported"
has "$out" "2 overlays" "with what lies over it"
run cmp "$work/site/site/graphs/site.yaml" "$work/copy/site/graphs/site.yaml"
is "$rc" 0 "files are as they were loaded"
run anneal lint "$work/copy"
is "$rc" 0 "lint finds no fault in it"
printf 'nodes:\n  - {name: n1, roles: [web]}\n' >"$work/nodes.yaml"
anneal plan "$work/copy" --nodes "$work/nodes.yaml" -o json | jq -S '[.tasks[] | {id, task, type, requires}]' >"$work/plan.files"
anneal deployment graph shop -o json | jq -S '[.tasks[] | {id, task, type, requires}]' >"$work/plan.server"
run cmp "$work/plan.files" "$work/plan.server"
is "$rc" 0 "a plan of the files is the plan of the deployment"
[ "$(jq length "$work/plan.files")" -gt 4 ]
ok $? "which is not empty"

# What lies over a catalog must fit the next one.
sed -i 's/id: install/id: setup/; s/\[install\]/[setup]/' "$work/site/site/graphs/site.yaml"
run anneal catalog load "$work/site"
is "$rc" 6 "a catalog that an overlay does not fit is refused"
has "$err" "does not fit version 4 of the overlay of deployment shop" "naming it"
has "$err" "anneal deployment tasks-set shop" "and what to do"
echo '[]' >"$work/none.yaml"
run anneal deployment tasks-set shop "$work/none.yaml"
has "$out" "has 0 tasks over task graph default, version 5" "it is taken away"
run anneal catalog load "$work/site"
is "$rc" 0 "and nothing is in the way"

# A backup has what was there when it was made.
anneal -q admin backup overlays
sed 's/instal/setup/' "$work/bad.yaml" >"$work/good.yaml"
run anneal deployment tasks-set shop "$work/good.yaml"
has "$out" "version 6" "another version"
stop
mv "$work/data" "$work/before"
run anneal admin restore "$work/before/backups/overlays.tar" --data-dir "$work/data"
is "$rc" 0 "the backup is restored"
start
run anneal deployment tasks-history shop -o json
is "$(jq -c '[.items[].version]' <<<"$out")" '[5,4,3,2,1]' "without what came later"
run anneal deployment tasks shop --number 4
is "$out" "$(cat "$work/shop.3.yaml")" "and with all that was before"
stop
done_testing
