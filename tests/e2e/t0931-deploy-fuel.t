#!/usr/bin/env bash
# The real task files on a server: a circle refused, then run as limits; unchanged tasks left out.
. "$(dirname "$0")/lib.sh"

fuel=${ANNEAL_TEST_DATA:-$top/../shared}/data/fuel
[ -d "$fuel" ] || skip_all "the real task files are not here"

anneal import fuel "$fuel" "$work/circles" >/dev/null 2>&1
anneal import fuel "$fuel" "$work/limits" --limit-circles >/dev/null 2>&1
# What executes their types here: nothing is done, everything is dispatched.
for catalog in circles limits; do
    mkdir "$work/$catalog/jigs"
    {
        echo 'barclamp: jigs'
        echo 'version: "1"'
        echo 'jigs:'
        for type in puppet copy_files reboot rsync upload_file shell; do echo "  - {name: $type, implementation: noop}"; done
    } >"$work/$catalog/jigs/barclamp.yaml"
    # Their tests are programs of the machines that they were written for; here they pass.
    find "$work/$catalog" -path '*/graphs/*' -name '*.yaml' -exec sed -i '/^  test_\(pre\|post\):$/{n;s|^    cmd: .*|    cmd: "true"|;}' {} +
done

start || exit 1
out=$(anneal -q catalog load "$work/circles" 2>/dev/null); ok $? "the imported catalog is loaded"
controllers=$(seq -f 'c%g.t' 2 8 | paste -sd,)
nodes $(seq -f 'c%g.t' 1 8) x1.t x2.t m.t
anneal -q deployment add cloud
out=$(anneal -q deployment bind cloud primary-controller=c1.t controller="$controllers" compute=x1.t,x2.t cinder=x1.t --wait 2>&1)
ok $? "groups are roles that nodes are bound to" "$out"

# settings DEBUG: what conditions read, with all nodes in it
settings() {
    anneal -q deployment propose cloud &&
        anneal node list -o json | jq --arg debug "$1" --slurpfile s "$top/tests/e2e/fuel-settings.json" '
            [.items[].name | {key: ("node-" + .), value: {uid: ., name: ., fqdn: ., node_roles: [], network_roles: {}}}] | from_entries as $n |
            {edits: [{edit: "set-data", role: "task-graph", data: ($s[0] * {debug: $debug, network_metadata: {nodes: $n}})}]}' >"$work/edits.json" &&
        anneal -q deployment edit cloud --file "$work/edits.json" && anneal -q deployment commit cloud
}
settings no; ok $? "settings of the deployment are data of a role"

out=$(anneal deployment deploy cloud 2>&1); code=$?
is $code 5 "seven controllers by six contradict what their tasks wait for"
has "$out" "controller:chunk-0" "and the way round is told"
is "$(anneal operation list -o json | jq '[.items[] | select(.kind == "deploy")] | length')" 0 "nothing was started"

anneal -q catalog load "$work/limits" 2>/dev/null
out=$(anneal deployment deploy cloud --dry-run 2>&1); is $? 6 "tasks for the master need a node that is it"
has "$out" "bind cloud master=NODE" "and it is told how"
anneal -q deployment bind cloud master=m.t --wait >/dev/null
out=$(anneal deployment deploy cloud --dry-run -o json 2>/dev/null); ok $? "as limits they are planned"
run=$(jq .tasks.run <<<"$out")
[ "$run" -gt 500 ]; ok $? "hundreds of tasks" "$run"
is "$(jq '[.plan.tasks[] | select(.reason == "run" and .type != "join" and .type != "stage")] | length' <<<"$out")" "$run" "the plan lists them"
out=$(anneal deployment deploy cloud --wait 2>&1); ok $? "they run" "$out"
has "$out" "succeeded" "to a good end"
has "$out" "is a limit for each of its tasks" "with a warning about the strategy"
tasks=$(anneal task list -o json | jq '[.items[] | select(.rule == "run")] | {n: length, states: ([.[].state] | unique)}' -c)
is "$tasks" "{\"n\":$run,\"states\":[\"DONE\"]}" "every task that was planned has run"
is "$(anneal noderole list --deployment cloud -o json | jq -c '[.items[].state] | unique')" '["ACTIVE"]' "all noderoles are in service"

again=$(anneal deployment deploy cloud --dry-run -o json 2>/dev/null | jq .tasks.run)
[ "$again" -lt $((run / 3)) ]; ok $? "on redeploy what has not changed is left out" "$again of $run"
is "$(anneal deployment deploy cloud --dry-run --force -o json 2>/dev/null | jq .tasks.run)" "$run" "unless it is forced"
crash; start
is "$(anneal deployment deploy cloud --dry-run -o json 2>/dev/null | jq .tasks.run)" "$again" "and the same after a crash"
settings yes
debug=$(anneal deployment deploy cloud --dry-run -o json 2>/dev/null | jq .tasks.run)
[ "$debug" -gt "$again" ] && [ "$debug" -lt "$run" ]; ok $? "other settings run what reads them" "$debug"

out=$(anneal deployment deploy cloud --graph provision 2>&1); code=$?
is $code 6 "types that no jig executes are refused when they should run"
has "$out" "no jig executes tasks of type" "by name"
has "$out" "move_to_bootstrap" "the first of them"
done_testing
