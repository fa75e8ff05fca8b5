#!/usr/bin/env bash
# Nodes: names, default roles, announcement, maintenance, redeployment, removal, boot environments, and kills.
. "$(dirname "$0")/lib.sh"

mkdir -p "$work/live"
catalog site <<Y
barclamp: site
version: 1.0.0
roles:
  - name: access
    jig: shell
    flags: [implicit]
    actions: {converge: [{name: let-in, params: {script: 'echo in >"$work/live/access-\$ANNEAL_NODE"'}}]}
  - name: inventory
    jig: shell
    flags: [discovery, implicit]
    requires: [access]
    actions: {converge: [{name: look, params: {script: 'test -e "$work/live/access-\$ANNEAL_NODE"; echo seen >>"$work/live/seen-\$ANNEAL_NODE"'}}]}
  - name: wiped
    jig: shell
    flags: [destructive, implicit]
    actions: {converge: [{name: wipe, params: {script: 'echo wiped >>"$work/live/wiped-\$ANNEAL_NODE"'}}]}
  - name: app
    jig: shell
    requires: [wiped]
    actions:
      converge: [{name: up, params: {script: 'echo up >>"$work/live/app-\$ANNEAL_NODE"'}}]
      remove: [{name: down, params: {script: 'sleep 0.3; rm "$work/live/app-\$ANNEAL_NODE"'}}]
  - name: published
    jig: shell
    flags: [implicit]
    attributes:
      boot_environment: {path: node/boot_environment, schema: {type: string}}
    actions: {converge: [{name: publish, params: {script: 'sleep 1; cp "$work/wanted" "$work/live/boots-\$ANNEAL_NODE"'}}]}
  - name: installed
    jig: shell
    requires: [published]
    actions:
      converge:
        - {name: prepare, params: {script: 'touch "$work/live/preparing"; sleep 0.3'}}
        - {name: reboot, takes_down: true, retries: 0, params: {script: 'cmp "$work/wanted" "$work/live/boots-\$ANNEAL_NODE"'}}
Y
start --set node_pattern='r{rack}-{n:2}' --set admin_domain=site.example || exit 1
anneal -q catalog load "$work/site" || exit 1
roles() { anneal noderole list --node "$1" -o json | jq -c '[.items[] | [.role, .state]]'; }
all_active() { ! anneal noderole list -o json | jq -e '[.items[] | select(.state != "ACTIVE")] | length > 0'; }

# names
is "$(anneal -q node add --label rack=3 --alive alive -o json | jq -r .name)" r3-01.site.example "a node without a name gets one"
is "$(anneal -q node add --label rack=3 --alive alive -o json | jq -r .name)" r3-02.site.example "and the next one another"
out=$(anneal node add x1.elsewhere 2>&1); is $? 2 "a name outside the domain is refused"
has "$out" "name it x1.elsewhere.site.example" "with the remedy"
out=$(anneal node add 2>&1); is $? 6 "a pattern that lacks something is refused"
has "$out" "--label rack=VALUE" "with the remedy"

# default roles
until_true 20 all_active; ok $? "discovery runs"
is "$(roles r3-01.site.example)" '[["machine","ACTIVE"],["access","ACTIVE"],["inventory","ACTIVE"]]' "the machine, what is discovered and what that needs"
is "$(anneal deployment history system -o json | jq '.items | length')" 1 "without history"

# announcement
anneal -q token add image --scope announce --save "$work/image.token"
announce() { ANNEAL_TOKEN_FILE=$work/image.token anneal node announce "$@"; }
printf 'rack: 9\n' >"$work/facts.yaml"
out=$(announce --machine-id m1 --boot-id b1 --facts "$work/facts.yaml" 2>&1); ok $? "a machine announces itself" "$out"
has "$out" "this machine is node r9-01.site.example, which is new" "and is told its name"
out=$(announce --machine-id m1 --boot-id b1 --facts "$work/facts.yaml" 2>&1); is "$out" "this machine is node r9-01.site.example" "again it is known"
is "$(anneal node show r9-01.site.example -o json | jq -c '[.alive, .machine_id, .facts.rack, .facts.cpus > 0]')" '["alive","m1",9,true]' "it is alive, with facts"
out=$(announce r9-01.site.example --machine-id m2 --boot-id b1 2>&1); is $? 5 "another machine under its name is refused"
has "$out" "anneal node report r9-01.site.example alive --machine-id" "whose word it takes is told"
ANNEAL_TOKEN_FILE=$work/image.token anneal node list >/dev/null 2>&1; is $? 3 "its token is good for nothing else"
until_true 20 all_active; ok $? "it is discovered like any other"

# maintenance
anneal -q node maintenance r3-02.site.example on --note 'new disk'
has "$(anneal why node/r3-02.site.example)" "by admin: new disk" "why a node is in maintenance is told"
anneal -q deployment bind system app=r3-02.site.example
is "$(anneal task list --node r3-02.site.example -o json | jq '[.items[] | select(.attempt > 0 and .role == "app")] | length')" 0 "nothing starts on it"
anneal -q node maintenance r3-02.site.example off
until_true 20 all_active; ok $? "until it ends"

# redeployment
out=$(anneal node redeploy r3-02.site.example --wait 2>&1); ok $? "a node is redeployed" "$out"
is "$(wc -l <"$work/live/wiped-r3-02.site.example") $(wc -l <"$work/live/app-r3-02.site.example")" "2 2" "what is destructive ran again, and what needs it"

# removal
out=$(anneal node delete r3-02.site.example 2>&1); is $? 5 "a node that something runs on is not deleted"
has "$out" "still has access, inventory, wiped, app" "all of it is named"
out=$(anneal node delete r3-02.site.example --cascade --wait 2>&1); ok $? "with --cascade it is taken down first" "$out"
[ ! -e "$work/live/app-r3-02.site.example" ]; ok $? "indeed"
gone() { ! anneal node show r3-02.site.example; }
until_true 10 gone; ok $? "then the node is gone"
is "$(anneal noderole list -o json | jq '[.items[] | select(.node == "r3-02.site.example")] | length')" 0 "with everything on it"

# a boot environment is published before anything reboots, however slow that is
node=r3-01.site.example
anneal -q node set $node --slots 3
echo one >"$work/wanted"
out=$(anneal deployment bind system installed=$node --wait 2>&1); ok $? "a node boots what was published" "$out"
rm -f "$work/live/preparing"
anneal -q role rerun installed
until_true 10 test -e "$work/live/preparing"
echo two >"$work/wanted"
anneal -q node set $node --boot-environment two
anneal -q operation watch "$(anneal operation list -o json | jq '[.items[].id] | max')" >/dev/null 2>&1; ok $? "set in the middle of a run: the reboot waits for the publication"
is "$(cat "$work/live/boots-$node")" two "which it found"
echo three >"$work/wanted"
anneal -q node set $node --boot-environment three
out=$(anneal role rerun installed --wait 2>&1); ok $? "a run that begins after it waits too" "$out"
is "$(cat "$work/live/boots-$node")" three "and finds it"

# a kill in the middle of a burst leaves no half-made node
burst() { local i; for ((i = 0; i < 3000; i++)); do anneal -q node add --label "rack=b$1" --alive alive >>"$work/burst" 2>/dev/null || return; done; }
burst 1 & one=$!
burst 2 & two=$!
until_true 20 test -s "$work/burst"
read -rt 0.4 <> <(:) || :
crash
wait $one $two
start --set node_pattern='r{rack}-{n:2}' --set admin_domain=site.example; ok $? "it starts again"
whole=$(anneal noderole list --limit 100000 -o json | jq '[.items[] | select(.node | startswith("rb"))] | group_by(.node) | map(map(.role) | sort) | unique | length')
made=$(anneal node list 'rb*' -o json | jq .total)
is "$whole" 1 "every node of the burst has the same roles"
is "$(anneal noderole list --role machine -o json --limit 100000 | jq '[.items[] | select(.node | startswith("rb"))] | length')" "$made" "one machine each"
is "$(anneal deployment diff system -o json 2>/dev/null | jq '.changes | length')" 0 "and what is wanted is what is there"
until_true 60 all_active; ok $? "all $made of them are discovered"
out=$(anneal -q node add --label rack=b1 --alive alive -o json | jq -r .name); ok $? "names go on where they were"
stop; ok $? "the server ends in order"
out=$("$bin/anneald" --data-dir "$work/data" --verify 2>&1); ok $? "journal and rows agree" "$out"
done_testing
