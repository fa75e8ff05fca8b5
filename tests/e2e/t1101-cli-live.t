#!/usr/bin/env bash
# Live displays on a real terminal, and following over a restart of the server.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
need anneal
need anneald
need anneal-runner
command -v script >/dev/null || { echo "1..0 # SKIP script(1) gives the terminal"; exit 0; }

# A task that goes on until somebody writes into a pipe.
mkfifo "$work/gate"
mkdir "$work/catalog"
cat >"$work/catalog/barclamp.yaml" <<END
barclamp: e2e
roles:
  - name: slow
    jig: shell
    actions:
      converge:
        - {name: linger, params: {script: "echo begun; cat $work/gate; echo over"}}
END
start
anneal -q catalog load "$work/catalog"
anneal -q node add n1.example.net --alive alive --available
anneal -q deployment add prod

on_terminal() { # COMMAND: runs it on a terminal of 80 columns, what it shows goes to $work/screen
    : >"$work/screen"
    script -qefc "stty cols 80 rows 24; exec $1" "$work/screen" >/dev/null </dev/null &
    terminal_pid=$!
}
screen_has() { grep -qaF "$1" "$work/screen"; }

on_terminal "$bin/anneal deployment bind prod slow=n1.example.net --wait"
until_true 30 screen_has linger
ok $? "the running task is on the screen"
ok "$(screen_has $'\033[?25l'; echo $?)" "the cursor is hidden meanwhile"
task=$(anneal task list --state RUNNING -o name)
operation=$(anneal operation list --state running -o json | jq '.items[] | select(.kind != "standing").id')

# A second one watches, and is interrupted.
: >"$work/watch"
script -qefc "stty cols 80 rows 24; exec $bin/anneal watch" "$work/watch" >/dev/null </dev/null &
watch_pid=$!
until_true 30 grep -qaF linger "$work/watch"
ok $? "watch shows it too"
program=$(pgrep -P "$watch_pid" -f "anneal watch" | head -1)
kill -INT "$program"
wait "$watch_pid" 2>/dev/null
ok "$(grep -qaF $'\033[?25h' "$work/watch"; echo $?)" "an interrupted watch shows the cursor again"
ok "$(grep -qaF 'the work goes on' "$work/watch"; echo $?)" "and says that the work goes on"

# Plain followers: one of the operation, one of events, one of the log.
anneal operation watch "$operation" >"$work/follow" 2>"$work/follow.err" &
follow_pid=$!
anneal events -f -o name >"$work/events" 2>"$work/events.err" &
events_pid=$!
anneal task log "$task" -f >"$work/tasklog" 2>&1 &
log_pid=$!
until_true 30 grep -q begun "$work/tasklog"
ok $? "the log is followed"
until_true 30 test -s "$work/events"
ok $? "events are followed"
until_true 30 grep -q running "$work/follow.err"
ok $? "the operation is followed"

echo opened >"$work/gate"
wait "$terminal_pid"
is $? 0 "the first one ends with the operation: exit code 0"
ok "$(screen_has $'\033[?25h'; echo $?)" "the cursor is back"
ok "$(screen_has 'succeeded in'; echo $?)" "the end is told"
wait "$follow_pid"
is $? 0 "so does the plain one"
has "$(cat "$work/follow")" "succeeded in" "with the same words"
wait "$log_pid"
is $? 0 "the log ends with its attempt"
has "$(cat "$work/tasklog")" "over" "whole"

# The server goes away and comes back at the same address; the follower of events goes on.
before=$(wc -l <"$work/events")
stop
until_true 30 grep -q "trying again" "$work/events.err"
ok $? "a lost server is told"
start --listen "127.0.0.1:$port"
anneal -q node add n2.example.net
more() { [ "$(wc -l <"$work/events")" -gt "$before" ]; }
until_true 30 more
ok $? "events go on after the restart"
kill "$events_pid"
wait "$events_pid" 2>/dev/null
is "$(sort -n "$work/events" | uniq -d)" "" "none came twice"
is "$(sort -nc "$work/events" 2>&1)" "" "all came in order"
done_testing
