#!/usr/bin/env bash
# Tests around a task: one that fails before it, one that fails after it, and both passing.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"

catalog tests <<Y
barclamp: tests
version: 1.0.0
roles:
  - name: early
    jig: shell
    actions:
      converge:
        - name: install
          params: {script: "echo installing; touch $work/early"}
          test_pre: {cmd: "echo no package >&2; test -e $work/package", timeout: 10s}
          test_post: "test -e $work/early"
  - name: late
    jig: shell
    actions:
      converge:
        - {name: install, params: {script: "echo installing >> $work/late"}, test_post: {cmd: "date +%s%3N >> $work/tried; exit 4", retries: 2, interval: 300ms}}
  - name: motd
    jig: upload_file
    actions:
      converge:
        - {name: write, params: {path: $work/etc/motd, data: "welcome\n", mode: "0640", dir_mode: "0755"}, test_post: "grep -q welcome $work/etc/motd"}
Y
mkdir "$work/tests/tests/graphs"
cat >"$work/tests/tests/graphs/default.yaml" <<Y
- {id: web, type: group, role: [web]}
- id: conf
  type: upload_file
  role: [web]
  parameters: {path: $work/web/conf, data: "port=80\n", permissions: "0600", dir_permissions: "0750", cwd: /, timeout: 60}
  test_post: grep -q port=80 $work/web/conf
- id: serve
  type: shell
  role: [web]
  requires: [conf]
  parameters: {cmd: touch $work/served}
  test_pre: {cmd: test -e $work/gate}
Y
start || exit 1
anneal -q catalog load "$work/tests" || exit 1
nodes n1.t n2.t n3.t n4.t
bind() { anneal -q deployment bind system "$@" --wait >"$work/out" 2>&1; }
task() { anneal task list --node "$1" -o json | jq -r '[.items[] | select(.role != "machine")][0].id'; }
last() { anneal task attempts "$1" -o json | jq -r ".items[-1].$2"; }

bind early=n1.t; rc=$?
ok "$([ $rc -ne 0 ]; echo $?)" "a task whose first test fails has failed" "exit $rc"
t=$(task n1.t)
is "$(anneal task show "$t" -o json | jq -r '.state + " " + .reason')" "FAILED test-pre" "the task says which test"
has "$(anneal task list --node n1.t)" "test-pre" "so does the list"
has "$(cat "$work/out")" "test-pre" "and whoever waited for it"
is "$(last "$t" phase)" test_pre "the attempt says in which phase it ended"
has "$(last "$t" note)" "test_pre failed: exit status 1: no package" "and what the test said"
ok "$([ ! -e "$work/early" ]; echo $?)" "the task was not started"
has "$(anneal task show "$t")" "test_pre" "people see it"
out=$(anneal why "task/$t"); has "$out" "its test before the start failed: exit status 1: no package" "why says so"
has "$out" "anneal task log $t" "and where to look"
log=$(anneal task log "$t"); has "$log" "--- test_pre: echo no package" "the log says which test wrote"
case $log in *installing*) ok 1 "and nothing of the task" ;; *) ok 0 "and nothing of the task" ;; esac

touch "$work/package"
anneal -q task retry "$t"
state() { [ "$(anneal task show "$1" -o json | jq -r .state)" = "$2" ]; }
until_true 30 state "$t" DONE
ok $? "with what was missing it passes" "$(anneal task show "$t")"
ok "$([ -e "$work/early" ]; echo $?)" "and has run"
is "$(last "$t" phase)" test_post "to the end of its last test"
log=$(anneal task log "$t")
is "$(grep -c '^---' <<<"$log")" 3 "the log has three parts" "$log"

bind late=n2.t
t=$(task n2.t)
is "$(anneal task show "$t" -o json | jq -r '.state + " " + .reason')" "FAILED test-post" "a task whose last test fails has failed"
is "$(last "$t" exit_code)" 4 "with the status of the test"
is "$(wc -l <"$work/late")" 1 "the task has run once"
is "$(wc -l <"$work/tried")" 3 "its test as often as it may"
ok "$(awk 'NR > 1 && $1 - last < 300 {early = 1} {last = $1} END {print early + 0}' "$work/tried")" "with its interval between them" "$(cat "$work/tried")"
has "$(anneal why "task/$t")" "its test after the end failed" "why says so"

crash
start || exit 1
is "$(anneal task show "$t" -o json | jq -r .reason) $(last "$t" phase)" "test-post test_post" "a killed server still knows"

bind motd=n3.t
is $? 0 "a file is uploaded and tested" "$(cat "$work/out")"
is "$(cat "$work/etc/motd")" "welcome" "it has its content"
is "$(stat -c %a "$work/etc/motd")" 640 "and its mode"
inode=$(stat -c %i "$work/etc/motd")
t=$(task n3.t)
anneal -q noderole rerun "$(anneal noderole list --role motd --node n3.t -o json | jq '.items[0].id')" >"$work/out" 2>&1
again() { [ "$(anneal task show "$t" -o json | jq -r '(.attempt | tostring) + .state')" = 2DONE ]; }
until_true 30 again
ok $? "once more" "$(cat "$work/out"; anneal task show "$t")"
is "$(last "$t" note)" "unchanged" "it is left alone"
is "$(stat -c %i "$work/etc/motd")" "$inode" "it is the same file"

# The same on tasks of a graph, and a run that changes nothing.
anneal -q deployment add site
anneal -q deployment bind site web=n4.t --wait >"$work/out" 2>&1 || ok 1 "the group is bound" "$(cat "$work/out")"
of() { anneal task list --node n4.t -o json | jq -r "[.items[] | select(.name == \"$1\")] | max_by(.id).id"; }
anneal -q deployment deploy site --no-op --wait >"$work/out" 2>&1
is $? 0 "a no-op run succeeds, whatever its tests would say" "$(cat "$work/out")"
ok "$([ ! -e "$work/web" ] && [ ! -e "$work/served" ]; echo $?)" "and changes nothing"
is "$(last "$(of conf)" note)" "no-op: would be written, there is none" "it tells what would change"
has "$(anneal task log "$(of serve)")" "touch $work/served" "and what would run"
anneal -q deployment deploy site --wait >"$work/out" 2>&1
is "$(stat -c %a "$work/web/conf" "$work/web" | xargs)" "600 750" "a real one writes the file, with the modes that the graph says"
is "$(last "$(of conf)" phase)" test_post "and tests it"
is "$(anneal task show "$(of serve)" -o json | jq -r '.state + " " + .reason')" "FAILED test-pre" "a task of a graph fails by its test, too"
ok "$([ ! -e "$work/served" ]; echo $?)" "and is not started"
stop
done_testing
