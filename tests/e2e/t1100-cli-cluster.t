#!/usr/bin/env bash
# The command line against a real server: from an empty one to a cluster, its failures, its tokens, its backup.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
need anneal
need anneald
need anneal-runner

# A catalog whose role `site` fails as long as a file is missing.
mkdir "$work/catalog"
cat >"$work/catalog/barclamp.yaml" <<END
barclamp: e2e
roles:
  - name: base
    jig: shell
    actions:
      converge:
        - {name: prepare, params: {script: "echo prepared"}}
  - name: site
    jig: shell
    requires: [base]
    actions:
      converge:
        - {name: publish, params: {script: "echo looking; echo trouble ahead >&2; test -e $work/allowed"}}
END
start

run anneal status
is "$rc" 0 "status of a new server"
has "$out" "no catalog is loaded" "says what is missing"
run anneal status --check
is "$rc" 11 "and --check makes it an exit code"
run anneal catalog load "$work/catalog"
is "$rc" 0 "a catalog is loaded"
has "$out" "2 roles" "and counted"
has "$err" "" "without warnings"
run anneal role list -o name
has "$out" site "its roles are there"

for n in n1 n2; do
    run anneal node add $n.example.net --alive alive --available --label rack=1 --group edge
    is "$rc" 0 "node $n is added"
done
run anneal node add n1.example.net
is "$rc" 5 "a second one of that name: exit code 5"
run anneal node list 'rack=1&!n2*' -o name
is "$out" n1.example.net "a selector selects"
run anneal group list
has "$out" "edge      2" "groups are counted"
run anneal deployment add prod --description "what customers see"
is "$rc" 0 "a deployment"

run anneal deployment bind prod base=n1.example.net --dry-run
is "$rc" 0 "a dry run"
has "$out" "nothing was changed" "changes nothing"
run anneal noderole list --deployment prod
is "$err" "no noderoles" "indeed nothing"
run anneal deployment bind prod nosuch=n1.example.net
is "$rc" 6 "a role that is not there: exit code 6"
run anneal deployment bind prod base=n1.example.net --wait
is "$rc" 0 "a binding that succeeds"
has "$out" "succeeded in" "is followed to its end"
run anneal deployment bind prod site=n2.example.net --wait
is "$rc" 11 "one that fails: exit code 11"
has "$out" " failed after " "says so"
has "$err" "| trouble ahead" "shows what the task wrote"
has "$err" "anneal why task/" "and where to ask"
task=$(anneal task list --state FAILED -o name)
run anneal why "task/$task"
is "$rc" 0 "why it failed"
has "$out" "task/$task" "names the task"
run anneal task log "$task"
has "$out" "looking" "its log is there"
run anneal noderole list --state error -o json
is "$(printf '%s' "$out" | jq -r '"\(.total) \(.items[0].role)"')" "1 site" "lists in JSON are the server's"
ids=$(anneal noderole list --deployment prod -o json | jq -c "[.items[] | {(.role): .id}] | add")
base=$(jq .base <<<"$ids") site=$(jq .site <<<"$ids")
run anneal noderole tree --deployment prod --no-color
has "$out" "base@n1.example.net  ACTIVE" "the tree has who is needed"
has "$out" "─ $site site@n2.example.net  ERROR" "and who needs it below"
run anneal noderole tree "$site" --up --deployment prod -o json
is "$(printf '%s' "$out" | jq -c .edges)" "[{\"parent\":$base,\"child\":$site}]" "as data, edges"
run anneal noderole tree --dot
has "$out" "n$base -> n$site;" "and as a picture, an arrow"
touch "$work/allowed"
run anneal task retry "$task" --wait
is "$rc" 0 "the cause removed, a retry succeeds"
run anneal status --check
is "$rc" 0 "and nothing needs attention any more"

rev=$(anneal node show n1.example.net -o json | jq .rev)
run anneal node set n1.example.net --slots 2 --unlabel rack
is "$rc" 0 "a node is changed"
run anneal node set n1.example.net --slots 3 --rev "$rev"
is "$rc" 5 "a change of an old revision: exit code 5"
has "$err" "anneal node show n1.example.net" "with advice"
run anneal node delete n1.example.net
is "$rc" 5 "a node in use is not deleted"

run anneal token add watcher --scope read --save "$work/watcher"
is "$rc" 0 "a token is made"
is "$(stat -c %a "$work/watcher")" 600 "and kept where only its owner reads"
run anneal --token-file "$work/watcher" node list -o name
is "$rc" 0 "it may read"
run anneal --token-file "$work/watcher" node set n1.example.net --slots 1
is "$rc" 3 "but not write: exit code 3"
run anneal token revoke 2
is "$rc" 0 "it is revoked"
run anneal --token-file "$work/watcher" node list
is "$rc" 3 "and may nothing any more"
run env -u ANNEAL_TOKEN_FILE "$bin/anneal" node list
has "$err" "no token was found in $work/.config/anneal/token" "without a token we say where we looked"

run anneal events --since 0 -o name
ok "$([ "$(printf '%s\n' "$out" | wc -l)" -gt 10 ]; echo $?)" "events are kept"
is "$(printf '%s\n' "$out" | sort -nc 2>&1)" "" "and numbered in order"

run anneal admin check
is "$rc" 0 "the store is sound"
run anneal admin backup cli
is "$rc" 0 "a backup"
run anneal node add n3.example.net
is "$rc" 0 "a node that the backup does not know"
stop
run anneal node list
is "$rc" 9 "the server is gone"
mv "$work/data" "$work/before"
run anneal admin restore "$work/before/backups/cli.tar" --data-dir "$work/data"
is "$rc" 0 "the backup is put in place"
start
run anneal node list -o name
is "$out" $'n1.example.net\nn2.example.net' "and the server is back where it was"
done_testing
