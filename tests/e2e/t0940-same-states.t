#!/usr/bin/env bash
# One graph, written natively and as Fuel's files, run on a server and simulated: the same states.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
need anneal

# A task fails where a file says so, or whenever it is called `note`.
cmd() { echo "{cmd: 'test ! -e $work/fail-$1-\$ANNEAL_NODE', timeout: 30}"; }
check() { echo "{cmd: 'test ! -e $work/fail-$1-\$ANNEAL_NODE', timeout: 30}"; }
mkdir -p "$work/native/site/graphs" "$work/fuel"
echo 'barclamp: site' >"$work/native/site/barclamp.yaml"
cat >"$work/native/site/graphs/site.yaml" <<END
- {id: pre, type: stage}
- {id: main, type: stage, requires: [pre]}
- {id: post, type: stage, requires: [main]}
- {id: ctl, type: group, requires: [pre], required_for: [main], fault_tolerance: 1}
- {id: web, type: group, requires: [pre], required_for: [main], strategy: {type: parallel, amount: 1}}
- {id: prep, type: shell, role: '*', required_for: [pre], parameters: $(cmd prep)}
- {id: db, type: shell, groups: [ctl], strategy: {type: parallel, amount: 2}, parameters: $(cmd db)}
- {id: api, type: shell, groups: [ctl], requires: [db], test_pre: $(check pre-api), parameters: $(cmd api)}
- {id: agent, type: shell, groups: [web], requires: [api], test_post: $(check post-agent), parameters: $(cmd agent)}
- {id: note, type: shell, groups: [web], fail_on_error: false, parameters: {cmd: 'exit 3', timeout: 30}}
- {id: old, type: skipped, groups: [web], requires: [note]}
- {id: serve, type: shell, groups: [web], requires: [agent, old], parameters: $(cmd serve)}
- {id: verify, type: shell, role: '*', requires: [main], required_for: [post], parameters: $(cmd verify)}
END
# The same as those files say it: on one node only, unless cross-depends.
cat >"$work/fuel/tasks.yaml" <<END
- {id: pre, type: stage}
- {id: main, type: stage, requires: [pre]}
- {id: post, type: stage, requires: [main]}
- {id: ctl, type: group, role: [ctl], requires: [pre], required_for: [main], fault_tolerance: 1}
- id: web
  type: group
  role: [web]
  requires: [pre]
  required_for: [main]
  parameters: {strategy: {type: parallel, amount: 1}}
- {id: prep, type: shell, version: 2.1.0, role: '*', required_for: [pre], parameters: $(cmd prep)}
- id: db
  type: shell
  version: 2.1.0
  groups: [ctl]
  requires: [pre]
  required_for: [main]
  parameters: {strategy: {type: parallel, amount: 2}, cmd: 'test ! -e $work/fail-db-\$ANNEAL_NODE', timeout: 30}
- {id: api, type: shell, version: 2.1.0, groups: [ctl], requires: [db], required_for: [main], test_pre: $(check pre-api), parameters: $(cmd api)}
- id: agent
  type: shell
  version: 2.1.0
  groups: [web]
  requires: [pre]
  cross-depends: [{name: api, role: ctl}]
  required_for: [main]
  test_post: $(check post-agent)
  parameters: $(cmd agent)
- id: note
  type: shell
  version: 2.1.0
  groups: [web]
  requires: [pre]
  required_for: [main]
  fail_on_error: false
  parameters: {cmd: 'exit 3', timeout: 30}
- {id: old, type: skipped, version: 2.1.0, groups: [web], requires: [note], required_for: [main]}
- {id: serve, type: shell, version: 2.1.0, groups: [web], requires: [agent, old], required_for: [main], parameters: $(cmd serve)}
- {id: verify, type: shell, version: 2.1.0, role: '*', requires: [main], required_for: [post], parameters: $(cmd verify)}
END
cat >"$work/nodes.yaml" <<'END'
nodes:
  - {name: c1.t, roles: [ctl]}
  - {name: c2.t, roles: [ctl]}
  - {name: c3.t, roles: [ctl]}
  - {name: w1.t, roles: [web]}
  - {name: w2.t, roles: [web]}
END
run anneal import fuel "$work/fuel" "$work/imported"
is "$rc" 0 "Fuel's files are imported"
run anneal lint "$work/imported"
is "$rc" 0 "and sound"

# served KIND CASE [OPTION...]: deploys it and keeps how the operation, its tasks and its noderoles ended.
served() {
    run anneal deployment deploy "$1" --force --wait -o json "${@:3}"
    kept "$1" "$2"
}
kept() { # KIND CASE: of the operation in $out
    echo "$rc" >"$work/$1.$2.rc"
    jq -r '"operation \(.state) \(.reason)"' <<<"$out" >"$work/$1.$2"
    anneal task list --operation "$(jq .id <<<"$out")" --limit 1000 -o json >"$work/tasks.json"
    jq -r '.items[] | select(.rule == "run" or .rule == "skip" or (.name | IN("pre", "main", "post")))
        | "task \(.name)/\(if (.node // "") == "" then "-" else .node end) \(.state)"' "$work/tasks.json" | sort >>"$work/$1.$2"
    anneal noderole list --limit 1000 -o json |
        jq -r '.items[] | select(.role | IN("ctl", "web")) | "noderole \(.role)@\(.node) \(.state)"' | sort >>"$work/$1.$2"
}
# simulated KIND CASE WORD... [-- OPTION...]: the same of a simulated run in which the words fail.
simulated() {
    local kind=$1 case=$2 fails=()
    shift 2
    for (( ; $#; )); do
        [ "$1" = -- ] && { shift; break; }
        fails+=(--fail "${1#p*-}") # a test that fails is a task that fails
        shift
    done
    run anneal plan "$work/$kind" --nodes "$work/nodes.yaml" --simulate "${fails[@]}" -o json "$@"
    echo "$rc" >"$work/$kind.$case.sim.rc"
    {
        jq -r '"operation \(.operation.state) \(.operation.reason)"' <<<"$out"
        jq -r '.tasks[] | "task \(.task)/\(.node // "-") \(.state)"' <<<"$out" | sort
        jq -r '.noderoles[] | select(.node != null) | "noderole \(.role)@\(.node) \(.state)"' <<<"$out" | sort
    } >"$work/$kind.$case.sim"
}
same() { # FILE FILE LABEL
    diff "$work/$1" "$work/$2" >"$work/diff"
    ok $? "$3" "$(cat "$work/diff")"
}

# The cases: what fails, as files and as words.
declare -A failing=([none]='' [tolerated]='db/c2.t' [beyond]='db/c2.t db/c1.t' [web]='serve/w1.t'
    [pre]='pre-api/c2.t' [post]='post-agent/w2.t')
declare -A parts=([start]='--start api' [end]='--end db' [only]='--only db --only agent' [skip]='--skip serve' [on]='--on w1.t')
for kind in native imported; do
    rm -rf "$work/data"
    start || { ok 1 "a server for the $kind graph"; continue; }
    run anneal catalog load "$work/$kind"
    is "$rc" 0 "$kind: a server loads it"
    nodes c1.t c2.t c3.t w1.t w2.t
    anneal -q deployment add "$kind"
    run anneal deployment bind "$kind" ctl=c1.t,c2.t,c3.t web=w1.t,w2.t --wait
    is "$rc" 0 "$kind: its groups are bound"
    for case in none web tolerated beyond pre post; do
        rm -f "$work"/fail-*
        served "$kind" before # a run that does not reach all leaves some in the state that they were in
        for word in ${failing[$case]}; do : >"$work/fail-${word/\//-}"; done
        served "$kind" "$case"
        # shellcheck disable=SC2086
        simulated "$kind" "$case" note ${failing[$case]}
        if [ $case = beyond ]; then # what else had begun when it was stopped is a matter of time
            for file in "$kind.$case" "$kind.$case.sim"; do
                grep '^operation\|^task \(db\|api\)/c[12]' "$work/$file" >"$work/kept"
                mv "$work/kept" "$work/$file"
            done
        fi
        same "$kind.$case" "$kind.$case.sim" "$kind, $case: a run and a simulated one end in the same states"
        same "$kind.$case.rc" "$kind.$case.sim.rc" "$kind, $case: and with the same code"
    done
    rm -f "$work"/fail-*
    for case in start end only skip on; do
        read -ra options <<<"${parts[$case]}"
        served "$kind" "$case" "${options[@]}"
        note=(note)
        [ "$(grep -c 'note/.*TOLERATED' "$work/$kind.$case")" -gt 0 ] || note=() # left out, it cannot fail
        simulated "$kind" "$case" "${note[@]}" -- "${options[@]}"
        same "$kind.$case" "$kind.$case.sim" "$kind, ${parts[$case]}: a part and a simulated one end in the same states"
    done
    # stopped in the middle and gone on with: as if it had not been
    : >"$work/fail-db-c1.t"; : >"$work/fail-db-c2.t"
    run anneal deployment deploy "$kind" --force --wait -o json
    operation=$(jq .id <<<"$out")
    rm -f "$work"/fail-*
    anneal -q operation retry "$operation" >/dev/null && anneal -q operation cancel "$operation" >/dev/null
    until_true 30 sh -c "[ \"\$('$bin/anneal' operation show $operation -o json | jq -r .state)\" != running ]"
    anneal -q operation resume "$operation" --wait >/dev/null 2>&1
    run anneal operation show "$operation" -o json
    kept "$kind" resumed
    same "$kind.none" "$kind.resumed" "$kind: stopped and resumed, it ends in the states of a run that was not"
    stop
done

has "$(cat "$work/native.pre")" "task api/c2.t FAILED" "a test before a task fails it"
has "$(cat "$work/native.post")" "task agent/w2.t FAILED" "and so does one behind it"
has "$(head -n 1 "$work/native.none")" "operation succeeded-with-failures" "nothing but a task that may fail fails: it succeeds"
is "$(grep -c ' DONE$' "$work/native.none")" 23 "and all others are done"
has "$(cat "$work/native.none")" "task old/w1.t SKIPPED" "but for what is left out"
has "$(head -n 1 "$work/native.tolerated")" "operation succeeded-with-failures" "within tolerance it succeeds"
has "$(cat "$work/native.tolerated")" "task api/c2.t DEP_FAILED" "with what failed"
has "$(cat "$work/native.tolerated")" "noderole ctl@c2.t ERROR" "on its node"
has "$(cat "$work/native.tolerated")" "task verify/c2.t DONE" "and stages are reached"
has "$(head -n 1 "$work/native.beyond")" "operation failed tolerance" "beyond it it fails"
same native.none imported.none "both forms end in the same states: nothing fails"
same native.beyond imported.beyond "both forms end in the same states: beyond it"
same native.tolerated imported.tolerated "both forms end in the same states: a failure within tolerance"

# Where they differ, and why: stages of imported files wait for the end only, and an imported group that says nothing of failures is no roll-out.
has "$(cat "$work/native.web")" "task main/- DEP_FAILED" "a failure that nobody forgives: our stage is not reached"
has "$(cat "$work/native.web")" "task verify/c1.t DEP_FAILED" "nor what comes behind it"
has "$(cat "$work/imported.web")" "task main/- DONE" "an imported one is"
has "$(cat "$work/imported.web")" "task verify/c1.t DONE" "and what comes behind it is done"
has "$(cat "$work/native.web")" "task agent/w2.t CANCELLED" "our group stops with its first failure"
has "$(cat "$work/imported.web")" "task agent/w2.t DEP_FAILED" "an imported one waits for the node before"
# Tasks of ctl that wait for that stage count against its tolerance: the reason differs with it.
rest() { sed -n '/^task \(main\|post\|verify\)/d; s/^\(task [a-z]*.w2.t\) CANCELLED$/\1 DEP_FAILED/; s/^operation failed .*/operation failed/; /^noderole/!p' "$work/$1"; }
is "$(rest native.web)" "$(rest imported.web)" "everything else is the same"
done_testing
