#!/usr/bin/env bash
# Workers elsewhere: they join by token over TLS, do the work, keep what they cannot say, drain, die and are removed.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
trail=$work/trail
declare -A pids=()
finish_all() {
    for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done
    finish
}
trap finish_all EXIT

# serve [OPTIONS]: a server without a worker of its own, over TLS
serve() {
    start --set worker_enabled=false --set tls=on --set recover_grace=6s "$@" || return 1 # workers pause for up to 4 s
    export ANNEAL_SERVER=https://127.0.0.1:$port ANNEAL_CACERT=$work/data/ca.pem
}
again() { until_true 20 serve --listen "127.0.0.1:$port"; }
# worker NAME [OPTIONS]: its log is $work/NAME.log
worker() {
    local name=$1
    shift
    : >"$work/$name.log"
    "$bin/anneal-worker" --state "$work/$name" --set node_access=local --set beat=200ms "$@" >>"$work/$name.log" 2>&1 &
    pids[$name]=$!
}
join() { # NAME [OPTIONS]
    local name=$1
    shift
    anneal worker token --name "$name" --label "rack=$name" --save "$work/$name.join" >/dev/null || return 1
    "$bin/anneal-worker" --state "$work/$name" --name "$name" --join-file "$work/$name.join" --join-only 2>"$work/$name.joined" || return 1
    worker "$name" "$@"
    until_true 10 attached "$name"
}
attached() { [ "$(anneal worker show "$1" -o json | jq -r .state)" = attached ]; }
state_of_worker() { anneal worker show "$1" -o json | jq -r .state; }
ended() { wait "${pids[$1]}" 2>/dev/null; code=$?; unset "pids[$1]"; return $code; }
state_of() { anneal operation show "$1" -o json | jq -r .state; }
over() { [ "$(state_of "$1")" != running ]; }
last() { anneal operation list --limit 1000 -o json | jq -r '[.items[].id] | max'; }
lines() { [ "$(wc -l <"$trail")" -ge "$1" ]; }
# Nothing is lost, nothing is done twice: as many lines as tasks, each once.
once_each() { # TASKS LABEL
    is "$(wc -l <"$trail")" "$1" "$2: as many lines as tasks"
    is "$(sort -u "$trail" | wc -l)" "$1" "$2: each once"
}

catalog w <<Y
barclamp: w
version: "1"
roles:
  - name: marks
    jig: shell
    actions:
      converge:
$(for i in 1 2 3 4 5; do echo "        - {name: m$i, repeat: once, params: {script: 'echo \$ANNEAL_NODE m$i >>$trail; sleep 0.05'}}"; done)
  - name: long
    jig: shell
    actions:
      converge: [{name: sleeps, repeat: once, params: {script: 'echo \$ANNEAL_NODE begins >>$trail; sleep 2; echo the end'}}]
  - name: chatty
    jig: shell
    actions:
      converge: [{name: talks, repeat: once, params: {script: 'echo \$ANNEAL_NODE talks >>$trail; seq 1 5000'}}]
  - name: forever
    jig: shell
    actions:
      converge: [{name: stays, params: {script: 'echo \$ANNEAL_NODE >>$trail; test -e $work/free || exec sleep 600'}}]
Y

# --- certificates, tokens, joining ---
serve; ok $? "a server with a certificate of its own"
for f in ca.key server.key; do is "$(stat -c %a "$work/data/$f")" 600 "$f is nobody else's"; done
anneal status >/dev/null; ok $? "the CLI believes its authority"
out=$(ANNEAL_CACERT='' anneal status 2>&1); is $? 9 "and nobody else does"
has "$out" "--cacert" "with the remedy"
print=$(sed -n 's/.*tls.certificate.*fingerprint=\([0-9a-f]*\).*/\1/p' "$work/log")
ANNEAL_CACERT='' anneal --server "$ANNEAL_SERVER#$print" status >/dev/null; ok $? "or it is held to its key"
out=$(ANNEAL_CACERT='' anneal --server "$ANNEAL_SERVER#$(printf '%064d' 0)" status 2>&1); is $? 9 "another key is not taken"
has "$out" "fingerprint" "and so it says"

token=$(anneal worker token)
is "${token#"$ANNEAL_SERVER#$print#anj_"}" "${token##*anj_}" "a token is address, fingerprint and secret"
wrong=${token/"#$print#"/"#$(printf '%064d' 0)#"}
out=$("$bin/anneal-worker" --state "$work/w1" --name w1 --join "$wrong" 2>&1); is $? 9 "another server's fingerprint is refused"
has "$out" "not the server of that fingerprint" "before anything is told"
out=$("$bin/anneal-worker" --state "$work/w1" 2>&1); is $? 4 "who has not joined cannot work"
has "$out" "anneal worker token" "and is told how to"
anneal -q catalog load "$work/w"; ok $? "the catalog is loaded"
for i in $(seq 1 10); do anneal -q node add "n$i.t" --alive alive; done
anneal -q deployment add d
join w1; ok $? "w1 joins" "$(cat "$work/w1.log")"
is "$(stat -c %a "$work/w1/worker.json")" 600 "its credential is its own"
out=$("$bin/anneal-worker" --state "$work/w9" --name w9 --join-file "$work/w1.join" 2>&1); is $? 6 "a token is good once"
has "$out" "used already" "and so it says"
out=$(anneal worker token --name w1 | "$bin/anneal-worker" --state "$work/w9" --name w1 --join-file - 2>&1)
is $? 5 "a name that is at work is not given twice"
has "$out" "--replace" "with the remedy"
short=$(anneal worker token --ttl 1s -o json)
join w2; ok $? "w2 joins" "$(cat "$work/w2.log")"
is "$(anneal worker list -o json | jq -c '[.items[] | [.name, .state, .labels.rack]]')" \
    '[["w1","attached","w1"],["w2","attached","w2"]]' "both are listed"
is_old() { [[ $(date -u +%FT%T.%3NZ) > $(jq -r .expires_at <<<"$short") ]]; }
until_true 5 is_old
out=$(jq -r .token <<<"$short" | "$bin/anneal-worker" --state "$work/w9" --name w9 --join-file - 2>&1); is $? 6 "a token grows old"
has "$out" "too old" "and so it says"

# --- work ---
: >"$trail"
anneal -q deployment bind d "marks=n1.t,n2.t,n3.t,n4.t,n5.t" --wait >/dev/null; ok $? "they work"
once_each 25 "over the network"
anneal -q deployment bind d chatty=n1.t --wait >/dev/null; ok $? "one of them talks"
id=$(anneal task list --limit 1000 -o json | jq '[.items[] | select(.name == "talks") | .id] | max')
is "$(anneal task log "$id" | tail -n 1)" 5000 "and is heard to the end"

# --- the server goes and comes back in the middle ---
: >"$trail"
anneal -q deployment bind d "marks=n6.t,n7.t,n8.t,n9.t,n10.t" >/dev/null
op=$(last)
until_true 10 lines 5
crash
kept() { [ -s "$work/w1/spool/results.spool" ] || [ -s "$work/w2/spool/results.spool" ]; }
until_true 10 kept; ok $? "what cannot be said is kept on disk"
again; ok $? "the server is back"
# A message that had not left when the server was killed: nobody can say that the task has not begun on some worker's machine, so one that
# may run once waits for somebody who looks.
settle() {
    local id line
    while read -r id line; do
        if grep -qx "$line" "$trail"; then anneal -q task resolve "$id" "done"; else anneal -q task resolve "$id" again; fi
    done < <(anneal task list --operation "$op" --limit 100 -o json | jq -r '.items[] | select(.state == "FAILED" and .reason == "uncertain") | "\(.id) \(.node) \(.name)"')
    [ "$(state_of "$op")" = succeeded ]
}
until_true 30 settle
is "$(state_of "$op")" succeeded "the operation succeeds"
once_each 25 "a server killed in the middle"

# --- a worker is told to end in the middle ---
: >"$trail"
anneal -q deployment bind d "long=n1.t,n2.t,n3.t,n4.t" >/dev/null
op=$(last)
until_true 10 lines 4
kill "${pids[w1]}"
ended w1; is $? 0 "w1 drains and ends"
has "$(cat "$work/w1.log")" "said=everything" "and has said everything"
until_true 20 over "$op"
is "$(state_of "$op")" succeeded "what it ran ended well"
once_each 4 "a worker told to end"

# --- a worker is killed in the middle ---
worker w1
until_true 10 attached w1; ok $? "w1 comes back without a token"
: >"$trail"
anneal -q deployment bind d "forever=n5.t,n6.t,n7.t,n8.t" >/dev/null
op=$(last)
until_true 10 lines 4
touch "$work/free"
kill -9 "${pids[w1]}" "${pids[w2]}"
ended w1; ended w2
worker w1
worker w2
until_true 60 over "$op"
is "$(state_of "$op")" succeeded "tasks of dead workers are done again by living ones"
is "$(sort "$trail" | uniq -c | awk '{ print $1 }' | sort -u | xargs)" 2 "once more each"

# --- draining and removing ---
until_true 10 attached w2
anneal -q worker drain w2; ok $? "w2 is to get nothing new"
is "$(state_of_worker w2)" draining "and is shown so"
anneal -q worker undrain w2
is "$(state_of_worker w2)" attached "until it is told otherwise"
anneal -q worker remove w2 --yes; ok $? "w2 is removed"
ended w2; is $? 3 "and its program ends"
has "$(cat "$work/w2.log")" "anneal worker token" "with the remedy"
is "$(anneal worker list -o json | jq -c '[.items[].name]')" '["w1"]' "one is left"
kill "${pids[w1]}"
ended w1; is $? 0 "w1 ends in order"
stop; ok $? "so does the server"
done_testing
