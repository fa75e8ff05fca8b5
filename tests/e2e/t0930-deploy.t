#!/usr/bin/env bash
# A task graph run on nodes: order, chunks, tolerance, parts of it, stop and resume, what has not changed.
. "$(dirname "$0")/lib.sh"

trail=$work/trail # every task says here that it ran: "task node"
mkdir -p "$work/gates" "$work/cat/site/graphs"
cat >"$work/cat/site/barclamp.yaml" <<'END'
barclamp: site
version: "1"
END
# run TASK: a shell task that leaves a line, waits while its gate is shut and fails if told so
run() { echo "{cmd: 'echo $1 \$ANNEAL_NODE >>$trail; while [ -e $work/gates/$1-\$ANNEAL_NODE ]; do read -rt 0.05 x <> $work/fifo; done; test ! -e $work/gates/fail-$1-\$ANNEAL_NODE', timeout: 60}"; }
mkfifo "$work/fifo"
cat >"$work/cat/site/graphs/tasks.yaml" <<END
- {id: controller, type: group, required_for: [deployment], fault_tolerance: 1}
- {id: compute, type: group, required_for: [deployment], strategy: {type: parallel, amount: 2}}
- {id: prepared, type: shell, groups: [controller, compute], parameters: $(run prepared)}
- {id: database, type: shell, groups: controller, requires: [prepared], parameters: $(run database)}
- id: api
  type: shell
  groups: controller
  requires: [database]
  condition: changed(common.release)
  parameters: {cmd: {expr: '"echo api \$ANNEAL_NODE >>$trail; echo release " ~ common.release'}}
- {id: agent, type: shell, groups: compute, requires: [prepared], cross_depends: [{name: api, role: controller}], parameters: $(run agent)}
- {id: optional, type: shell, groups: compute, requires: [agent], fail_on_error: false, parameters: $(run optional)}
- {id: report, type: shell, role: "*", requires: [deployment], required_for: [post_deployment], parameters: $(run report)}
END
mkdir "$work/cat/site/graphs/files"
cat >"$work/cat/site/graphs/files/tasks.yaml" <<END
- {id: setup, type: shell, role: compute, parameters: {cmd: echo setup}}
- {id: file, type: node_file, role: compute, requires: [setup], parameters: {path: {expr: '"$work/of-" ~ node.name ~ ".yaml"'}}}
END
out=$(anneal lint "$work/cat" 2>&1); ok $? "the catalog is sound" "$out"

start || exit 1
anneal -q catalog load "$work/cat"
nodes a1.t a2.t b1.t b2.t b3.t
anneal -q deployment add d
out=$(anneal deployment deploy d 2>&1); is $? 6 "nothing is deployed where nothing is bound"
has "$out" "anneal deployment bind d" "and it is told what to do"
anneal -q deployment bind d controller=a1.t,a2.t compute=b1.t,b2.t,b3.t --wait >/dev/null
out=$(anneal deployment deploy d 2>&1); is $? 6 "a condition that reads what is not there refuses the run"
has "$out" "condition of api on a1.t: common.release is undefined" "with its task, node and place"
has "$out" "anneal deployment edit d --set task-graph:KEY=VALUE" "and the remedy"
set_release() { anneal -q deployment propose d && anneal -q deployment edit d --set "task-graph:release=$1" && anneal -q deployment commit d; }
set_release one; ok $? "what all tasks share is data of the deployment"

# states OPERATION: how many tasks that run are in which state
states() { anneal task list --operation "$1" -o json | jq -c '[.items[] | select(.rule == "run" or .rule == "skip") | .state] | group_by(.) | map({key: .[0], value: length}) | from_entries'; }
state_of() { anneal task list -o json | jq -r ".items[] | select(.name == \"$1\" and .node == \"$2\") | .state"; }
at() { grep -n "^$1 $2\$" "$trail" | head -n 1 | cut -d: -f1; }
before() { [ "$(at "$1" "$2")" -lt "$(at "$3" "$4")" ] 2>/dev/null; ok $? "$1 on $2 before $3 on $4" "$(cat "$trail")"; }

out=$(anneal deployment deploy d --dry-run 2>&1); ok $? "a dry run"
has "$out" "dry run: 20 tasks; nothing was changed" "shows what would run"
[ ! -e "$trail" ]; ok $? "and runs nothing"

out=$(anneal deployment deploy d --wait 2>&1); ok $? "everything runs" "$out"
is "$(wc -l <"$trail")" 20 "every task once"
for b in b1.t b2.t b3.t; do before api a1.t agent $b; before api a2.t agent $b; done
before optional b1.t prepared b3.t; before optional b2.t prepared b3.t
before optional b3.t report a1.t
is "$(anneal noderole list --deployment d -o json | jq -c '[.items[].state] | unique')" '["ACTIVE"]' "and all is in service"

: >"$trail"
out=$(anneal deployment deploy d --wait 2>&1); ok $? "and again" "$out"
has "$out" "2 left out (2 condition is false)" "what has not changed is left out"
is "$(grep -c api "$trail")" 0 "really"
skipped=$(anneal task list -o json | jq -r '[.items[] | select(.name == "api")][0] | .state + " " + .reason + ": " + .left_out')
is "$skipped" "SKIPPED left-out: condition is false" "and it is told why"
skipped=$(anneal task list -o json | jq -r '[.items[] | select(.name == "api")][0].id')
has "$(anneal why task/"$skipped")" "was left out: condition is false" "why says so, too"
has "$(anneal task show "$skipped")" "condition is false" "and so does the task"
op=$(anneal operation list -o json | jq '[.items[] | select(.kind == "deploy")] | last | .id')
is "$(anneal operation history "$op" -o json | jq -c '[.items[] | select(.name == "prepared") | .role] | unique')" '["compute","controller"]' \
    "its history names the group that each attempt was for"
crash; start
set_release two
: >"$trail"
out=$(anneal deployment deploy d --wait 2>&1); ok $? "with another release" "$out"
is "$(grep -c api "$trail")" 2 "it runs again"

# a failure that is tolerated
touch "$work/gates/fail-database-a1.t" "$work/gates/fail-optional-b2.t"
: >"$trail"
set_release three
out=$(anneal deployment deploy d --wait 2>&1); ok $? "one of two controllers may fail" "$out"
has "$out" "succeeded-with-failures" "and the end says so"
op=$(anneal operation list -o json | jq '[.items[] | select(.kind == "deploy")] | last | .id')
is "$(state_of database a1.t) $(state_of api a1.t) $(state_of api a2.t)" "FAILED DEP_FAILED DONE" "what waits for it on its node does not run, the others do"
is "$(state_of optional b2.t)" TOLERATED "a task that may fail is tolerated"
is "$(grep -c agent "$trail")" 3 "computes go on"
is "$(grep -c report "$trail")" 5 "and so does the stage behind them"
is "$(anneal noderole list --deployment d -o json | jq -r '.items[] | select(.role == "controller" and .node == "a1.t") | .state')" ERROR "the one that failed has failed"
has "$(anneal why operation/"$op")" "database" "why names it"
rm "$work"/gates/fail-*
anneal -q operation retry "$op" --wait >/dev/null 2>&1; ok $? "retry runs what failed"
is "$(state_of database a1.t) $(state_of api a1.t)" "DONE DONE" "and then it is done"

# more than may fail: nothing of it starts any more, and the stage is not reached
touch "$work/gates/fail-database-a1.t" "$work/gates/fail-database-a2.t"
: >"$trail"
out=$(anneal deployment deploy d --wait 2>&1); is $? 11 "two failures are one too many"
op=$(anneal operation list -o json | jq '[.items[] | select(.kind == "deploy")] | last | .id')
is "$(anneal operation show "$op" -o json | jq -r '.state + " " + .reason')" "failed tolerance" "the operation stops for that"
is "$(grep -c 'agent\|report' "$trail")" 0 "nothing behind them has run"
has "$(anneal why operation/"$op")" "2 of group controller failed, 1 may" "why counts them"
figures() { anneal operation show "$1" -o json | jq -c '[.state, .reason, .progress.done, .progress.failed]'; }
was=$(figures "$op")
out=$(anneal deployment deploy d --wait 2>&1); is $? 11 "another deploy fails as well"
is "$(figures "$op")" "$was" "and the one before keeps its figures"
op=$(anneal operation list -o json | jq '[.items[] | select(.kind == "deploy")] | last | .id')
rm "$work"/gates/fail-*
anneal -q operation retry "$op" --wait >/dev/null 2>&1; ok $? "retry goes on from there"
is "$(grep -c report "$trail")" 5 "to the end"

# stop and resume
touch "$work/gates/database-a1.t"
: >"$trail"
anneal -q deployment deploy d >/dev/null
op=$(anneal operation list -o json | jq '[.items[] | select(.kind == "deploy")] | last | .id')
until_true 20 grep -q "database a1.t" "$trail"
out=$(anneal deployment deploy d 2>&1); is $? 5 "two deploys at once are refused"
anneal -q operation cancel "$op"; ok $? "stop"
rm "$work/gates/database-a1.t"
until_true 20 sh -c "[ \"\$('$bin/anneal' operation show $op -o json | jq -r .state)\" = cancelled ]"; ok $? "what runs ends, nothing else starts"
is "$(state_of database a1.t) $(grep -c agent "$trail")" "DONE 0" "and it is seen what became of what"
has "$(anneal why task/"$(anneal task list -o json | jq '.items[] | select(.name == "database" and .node == "a2.t" or .name == "agent" and .node == "b1.t") | .id' | tail -n 1)")" "cancelled" "why says that it is held"
crash; start
anneal -q operation resume "$op" --wait >/dev/null 2>&1; ok $? "resume goes on, after a crash as well"
is "$(sort "$trail" | uniq -d | wc -l)" 0 "and nothing runs twice"
is "$(grep -c report "$trail")" 5 "to the end"
touch "$work/gates/agent-b1.t"
anneal -q deployment deploy d >/dev/null
op=$(anneal operation list -o json | jq '[.items[] | select(.kind == "deploy")] | last | .id')
until_true 20 sh -c "tail -n 3 '$trail' | grep -q 'agent b1.t'"
anneal -q operation cancel "$op" --abort
until_true 20 sh -c "[ \"\$('$bin/anneal' operation show $op -o json | jq -r .state)\" = cancelled ]"; ok $? "abort ends what runs"
is "$(state_of agent b1.t)" CANCELLED "the task that ran is cancelled"
rm "$work/gates/agent-b1.t"
anneal -q operation resume "$op" --wait >/dev/null 2>&1; ok $? "and resume runs it again"

# parts of it
part() { : >"$trail"; out=$(anneal deployment deploy d --wait "$@" 2>&1); ok $? "deploy $*" "$out"; ran=$(sort "$trail" | paste -sd, -); }
part --only database --on a2.t; is "$ran" "database a2.t" "one task on one node"
part --only agent/b1.t; is "$ran" "agent b1.t" "a task and its node"
part --start agent --end optional; is "$ran" "agent b1.t,agent b2.t,agent b3.t,optional b1.t,optional b2.t,optional b3.t" "from one to the other"
part --skip prepared --skip database --skip agent --skip optional; is "$(cut -d' ' -f1 "$trail" | sort -u)" report "all but some"
part --start deployment; is "$(cut -d' ' -f1 "$trail" | sort -u)" report "what is behind a stage"
for word in --only --skip --start --end; do
    out=$(anneal deployment deploy d $word nothing 2>&1); is $? 4 "$word with a word that matches nothing is refused"
done
has "$(anneal deployment deploy d --only agnt 2>&1)" 'did you mean agent?' "with the nearest name"
out=$(anneal deployment deploy d --on zz.t 2>&1); [ $? -ne 0 ]; ok $? "and so is a node that is not there"

: >"$trail"
out=$(anneal deployment deploy d --force --no-op --wait 2>&1); ok $? "a run that changes nothing" "$out"
is "$(wc -l <"$trail")" 0 "really changes nothing"
marks() { anneal noderole list --deployment d -o json | jq -c '[.items[] | select(.role == "compute") | .no_op] | unique'; }
is "$(marks)" "[true]" "and noderoles say that their states are of such a run"
out=$(anneal deployment deploy d --wait 2>&1); has "$out" "left out" "and is not taken for a deploy"
is "$(marks)" "[false]" "until the next one"

# the faces of it
has "$(anneal deployment graph d --format dot)" "digraph" "the graph as DOT"
has "$(anneal deployment graph d --format roles)" "controller" "and as it is written"
is "$(anneal deployment graph d --node-file b1.t -o json | jq -c '[.tasks[].id]')" '["prepared","agent","optional","report"]' "a node's part as its file"
out=$(anneal deployment deploy d --graph files --wait 2>&1); ok $? "another graph brings each node its file" "$out"
is "$(grep -c 'priority:' "$work/of-b1.t.yaml") $(grep 'release:' "$work/of-b1.t.yaml" | tr -d ' "')" "2 release:three" "its tasks by priority, and its settings"
is "$(stat -c %a "$work/of-b2.t.yaml")" 600 "for its owner only"
anneal -q deployment unbind d compute=b3.t --wait >/dev/null; ok $? "a node leaves its group"
part; is "$(grep -c 'b3.t' "$trail")" 0 "and is not deployed any more"
anneal -q deployment unbind d compute=b1.t,b2.t controller=a1.t,a2.t --wait >/dev/null
anneal -q deployment delete d; ok $? "a deployment goes with its stages"
anneal -q admin check >/dev/null; ok $? "the store is sound"
stop; ok $? "and the server ends well"
done_testing
