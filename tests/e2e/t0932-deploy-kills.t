#!/usr/bin/env bash
# A server killed at any moment of a deploy: nothing that succeeded runs again, nothing is left undone, and the next
# deploy compares with what really ran.
. "$(dirname "$0")/lib.sh"

# 40 tasks on 5 nodes, in chunks, in a pool, across groups, before and behind a stage.  Each says when it begins:
# "id of its task, attempt, name, node".  ANNEAL_SEED repeats a run.
seed=${ANNEAL_SEED:-$$}
RANDOM=$seed
echo "# ANNEAL_SEED=$seed"
deploys=5 kills=3 # kills in each deploy
trail=$work/trail
mkdir -p "$work/cat/site/graphs"
printf 'barclamp: site\nversion: "1"\n' >"$work/cat/site/barclamp.yaml"
says() { echo "{cmd: 'echo \$ANNEAL_TASK \$ANNEAL_ATTEMPT $1 \$ANNEAL_NODE >>$trail; sleep 0.0$2', timeout: 30}"; }
cat >"$work/cat/site/graphs/tasks.yaml" <<END
- {id: head, type: group, required_for: [deployment]}
- {id: tail, type: group, required_for: [deployment], requires: [head], strategy: {type: parallel, amount: 2}}
- {id: first, type: shell, role: "*", required_for: [pre_deployment], parameters: $(says first 1)}
- {id: keys, type: shell, groups: [head, tail], parameters: $(says keys 3)}
- {id: config, type: shell, groups: [head, tail], requires: [keys], condition: changed(common.release), parameters: $(says config 2)}
- {id: service, type: shell, groups: [head, tail], requires: [config], parameters: $(says service 5)}
- {id: join, type: shell, groups: [head, tail], cross_depends: [{name: service, role: self}], strategy: {type: parallel, amount: 1}, parameters: $(says join 1)}
- {id: probe, type: shell, role: "*", requires: [deployment], required_for: [post_deployment], parameters: $(says probe 4)}
- {id: own, type: shell, role: "*", requires: [probe], condition: changed(node.roles), parameters: $(says own 1)}
- {id: last, type: shell, role: "*", requires: [post_deployment], parameters: $(says last 2)}
END

start || exit 1
again() { until_true 20 start --listen "127.0.0.1:$port"; }
anneal -q catalog load "$work/cat"; ok $? "the catalog is loaded"
nodes n1.t n2.t n3.t n4.t n5.t
anneal -q deployment add d
anneal -q deployment bind d head=n1.t,n2.t tail=n3.t,n4.t,n5.t --wait >/dev/null
release() { anneal -q deployment propose d && anneal -q deployment edit d --set "task-graph:release=$1" && anneal -q deployment commit d; }
latest() { anneal operation list -o json | jq '[.items[] | select(.kind == "deploy") | .id] | max // 0'; }
is_over() { [ "$(anneal operation show "$1" -o json | jq -r .state)" != running ]; }
pause() { read -rt "$1" <> <(:) || :; } # the moment of a kill, not a wait for something

# One deploy: begun, and killed at random moments, the request itself among them.
deploy_killed() {
    local before i asking
    before=$(latest)
    anneal -q deployment deploy d >/dev/null 2>&1 &
    asking=$!
    for ((i = 0; i < kills; i++)); do
        pause "0.$(printf %03d $((RANDOM % 500)))"
        crash 2>/dev/null
        again || return 1
        [ $i -gt 0 ] || wait $asking
        [ "$(latest)" != "$before" ] || anneal -q deployment deploy d >/dev/null
    done
    op=$(latest)
    until_true 20 is_over "$op"
}

# What an operation says of itself, held against what the tasks said.
right() { # LABEL TASKS-THAT-RUN TASKS-LEFT-OUT
    local history tasks
    is "$(anneal operation show "$op" -o json | jq -r .state)" succeeded "$1: it succeeds"
    tasks=$(anneal task list --operation "$op" --limit 1000 -o json)
    is "$(jq -c '[.items[] | select(.rule == "run") | .state] | group_by(.) | map([.[0], length])' <<<"$tasks")" "[[\"DONE\",$2]]" "$1: $2 tasks are done"
    is "$(jq -c '[.items[] | select(.rule == "skip") | .name] | unique | join(" ")' -r <<<"$tasks")" "$3" "$1: left out is what has not changed"
    history=$(anneal operation history "$op" --limit 1000 -o json | jq -c '[.items[] | select(.number)] | group_by(.task) | map(sort_by(.number))')
    is "$(jq -r 'map(select((map(.outcome) | index("ok")) != length - 1) | .[0].name + "@" + .[0].node) | join(" ")' <<<"$history")" "" "$1: each ends with its success"
    is "$(jq -r '.items[] | select(.rule == "run") | .id' <<<"$tasks" | sort | comm -23 - <(cut -d' ' -f1 "$trail" | sort -u) | wc -l)" 0 "$1: each has really run"
    # Whatever began is an attempt that the server knows, and began once.
    is "$(jq -r '.[][] | "\(.task) \(.number) \(.name) \(.node)"' <<<"$history" | sort | comm -13 - <(sort "$trail") | wc -l)" 0 "$1: nothing ran that nobody asked for"
    is "$(sort "$trail" | uniq -d | wc -l)" 0 "$1: and no attempt twice"
}
left_out() { anneal deployment deploy d --dry-run -o json | jq -c .tasks.left_out; }

for ((round = 1; round <= deploys; round++)); do
    label="deploy $round"
    : >"$trail"
    if [ $((round % 2)) -eq 1 ]; then
        release "r$round"; ok $? "$label: another release"
    fi
    deploy_killed; ok $? "$label: it ends, $kills kills or not" "$(anneal why operation/"$op" 2>&1)"
    case $round in
    1) right "$label" 40 "" ;;
    *[13579]) right "$label" 35 own ;;
    *) right "$label" 30 "config own" ;;
    esac
    is "$(left_out)" '{"condition is false":10}' "$label: the next one would leave out all that compares"
done
anneal -q admin check >/dev/null; ok $? "the store is sound"
stop; ok $? "and the server ends well"
done_testing
