#!/usr/bin/env bash
# Workers of their own, over TLS, that run tasks on hosts: killed, frozen, cut off, with wrong clocks.  Another worker goes on where the
# last one was, under the same attempt; counted is on the hosts.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
n=15
shim=$(ls "$bin"/../tests/e2e/*realclock*.so 2>/dev/null | head -n 1)
. "$(dirname "$0")/workers.sh"
until_go='while [ ! -e /root/go.NAME ]; do sleep 0.05; done; echo end of NAME'
catalog b <<'Y'
barclamp: b
version: "1"
roles:
  - name: chain
    jig: shell
    actions:
      converge:
        - {name: first, params: {script: WAIT first}}
        - {name: second, repeat: token, params: {script: WAIT second}}
        - {name: third, params: {script: COUNT}}
  - {name: keyed, jig: shell, actions: {converge: [{name: token, repeat: token, params: {script: WAIT token}}]}}
  - {name: single, jig: shell, actions: {converge: [{name: once, repeat: once, params: {script: WAIT once}}]}}
  - name: times
    jig: shell
    actions:
      converge:
        - {name: short, params: {script: "seq 1 2000"}}
        - {name: long, timeout: 30s, params: {script: "sleep 4; echo slept"}}
  - {name: late, jig: shell, actions: {converge: [{name: never, timeout: 2s, retries: 0, params: {script: "echo begun; sleep 4321 & sleep 4321"}}]}}
Y
python3 - "$work/b/b/barclamp.yaml" "$begin" "$until_go" "$end" <<'P'
import json, re, sys
path, begin, wait, end = sys.argv[1:]
text = open(path).read().replace("COUNT", json.dumps("; ".join((begin, "sleep 0.3", end))))
text = re.sub(r"WAIT (\w+)", lambda m: json.dumps("; ".join((begin, wait.replace("NAME", m[1]), end))), text)
open(path, "w").write(text)
P
# trio FIRST: a chain, a token and a once task on three hosts from FIRST on, all begun
trio() {
    first=$1
    h1=$(hosts "$1" "$1") h2=$(hosts $(($1 + 1)) $(($1 + 1))) h3=$(hosts $(($1 + 2)) $(($1 + 2)))
    anneal -q deployment bind system "chain=$h1.t" "keyed=$h2.t" "single=$h3.t" >/dev/null || return 1
    op=$(last)
    until_true 30 ran_times "$first" $((first + 2)) 3
}
go() { local t; for t; do case $t in token) fleet exec "$h2" touch /root/go.token ;; once) fleet exec "$h3" touch /root/go.once ;; *) fleet exec "$h1" touch "/root/go.$t" ;; esac; done; }
# Nothing of the trio ran twice, nothing overlapped, each task was one attempt.
trio_once() { # LABEL
    is "$(runs "$first" $((first + 2)) | cut -d' ' -f2 | sort | uniq -c | xargs)" "5 1" "$1: five tasks ran, once each, in their first attempt"
    is "$(overlaps "$first" $((first + 2)))" "" "$1: none beside itself"
    is "$(anneal operation history "$op" --limit 100 -o json | jq -c '[.items[] | [.number, .outcome]] | unique')" '[[1,"ok"]]' "$1: as their history says"
}
sent_again() { [ "$(grep -c attempt.again "$work/log")" -ge "$1" ]; }

out=$(fleet up $n 2>&1); ok $? "$n hosts" "$out"
serve; ok $? "a server among them"
anneal -q catalog load "$work/b"; ok $? "the catalog"
bed_nodes; ok $? "nodes with addresses"
join w1 "$port" && join w2 "$port"; ok $? "two workers" "$(cat "$work"/w?.log)"

# --- killed in mid-task, then the other one in mid-chain
only w1
trio 1; ok $? "three hosts at work for w1" "$(anneal why "operation/$op"; anneal worker list)"
all
killed w1
id=$(task_id "$op" first)
until_true 20 waits "$id" "worker w1 is silent since .*another one asks node h0001.t"; ok $? "w1 is killed: why says who is silent and what follows" "$(anneal why "task/$id")"
until_true 20 sent_again 3; ok $? "the same attempts are sent to another one"
until_true 20 holds w2 5; ok $? "w2 has them, and what is to run behind them" "$(anneal worker list)"
is "$(anneal task show "$id" -o json | jq -r .state)" RUNNING "for the engine nothing happened"
is "$(pgrep -fc "ssh -M .*$work/w1/run/ssh")" 0 "the connections of w1 have ended with it"
go first
until_true 20 ran_times 1 1 2; ok $? "the chain goes on"
back w1; ok $? "w1 comes back"
forward() { fleet exec "$h1" sh -c 'cat /run/anneal/chains/*/forward'; } # who copies the output of the chain there
watched() { [ "$(forward | wc -l)" = 2 ] && [ "$(forward)" != "$copied" ]; }
copied=$(forward)
killed w2
until_true 20 sent_again 6; ok $? "w2 is killed in mid-chain: its work is w1's again"
# What a program writes while nobody is there to read it may be lost with the connection; attached, it is not.
until_true 20 watched; ok $? "it attaches to the chain"
go second token once
until_true 30 over "$op" succeeded; ok $? "all is done" "$(anneal why "operation/$op")"
trio_once "killed"
has "$(anneal task log "$(task_id "$op" second)")" "end of second" "the log has its end"
back w2; ok $? "w2 comes back"

# --- frozen for longer than its lease, then awake
only w1
trio 4; ok $? "three hosts at work for w1" "$(anneal why "operation/$op"; anneal worker list)"
all
kill -STOP "${pids[w1]}"
until_true 20 holds w2 5; ok $? "w1 is frozen: w2 has its work"
kill -CONT "${pids[w1]}"
until_true 20 holds w1 0; ok $? "awake again it is told that it has it no more" "$(anneal worker list)"
is "$(fleet exec "$h1" sh -c 'ls -d /root/at.* | wc -l')" 1 "which ended nothing on the hosts"
go first second token once
until_true 30 over "$op" succeeded; ok $? "all is done" "$(anneal why "operation/$op")"
trio_once "frozen"

# --- killed with results that it could not tell, back when they are known
only w1
trio 7; ok $? "three hosts at work for w1" "$(anneal why "operation/$op"; anneal worker list)"
all
crash
go first second token once
until_true 30 ran_times 7 7 3
kept() { [ "$(grep -ac '"result"' "$work/w1/spool/results.spool")" -ge 1 ]; }
until_true 30 kept; ok $? "the server is away: w1 keeps what it has to say"
killed w1
cp "$work/w1/spool/results.spool" "$work/spool.was"
again; ok $? "the server is back, w1 is not"
until_true 40 over "$op" succeeded; ok $? "w2 has collected everything" "$(anneal why "operation/$op")"
history=$(anneal operation history "$op" --limit 100 -o json)
cmp -s "$work/spool.was" "$work/w1/spool/results.spool"; ok $? "(what w1 kept is still there)"
back w1; ok $? "w1 comes back late"
said() { [ ! -s "$work/w1/spool/results.spool" ]; }
until_true 20 said; ok $? "and says what it had kept"
is "$(anneal operation history "$op" --limit 100 -o json)" "$history" "which changes nothing"
trio_once "late"

# --- the way to the server is cut, not the one to the hosts
cat >"$work/proxy.py" <<'P'
import socket, sys, threading
def copy(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try: s.shutdown(socket.SHUT_RDWR)
        except OSError: pass
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(listener.getsockname()[1], flush=True)
while True:
    client = listener.accept()[0]
    try:
        server = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    except OSError:
        client.close()
        continue
    for pair in ((client, server), (server, client)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
P
proxy() { # PORT, 0: any
    : >"$work/proxy.port"
    "$top/tests/bed/fleet" --dir "$bed" enter python3 "$work/proxy.py" "$1" "$port" >"$work/proxy.port" 2>"$work/proxy.log" &
    pids[proxy]=$!
    until_true 10 test -s "$work/proxy.port" && by=$(cat "$work/proxy.port")
}
ended w1
ended w2
proxy 0; ok $? "a way that can be cut" "$(cat "$work/proxy.log")"
join w3 "$by"; ok $? "w3 joins by it" "$(cat "$work/w3.log")"
trio 10; ok $? "three hosts at work for w3" "$(anneal why "operation/$op"; anneal worker list)"
id=$(task_id "$op" first)
kill -STOP "${pids[proxy]}"
until_true 20 waits "$id" "worker w3 is silent since .*the next worker that comes asks node h0010.t"; ok $? "it is cut: why says so" "$(anneal why "task/$id")"
go first second token once
until_true 30 ran_times 10 10 3; ok $? "the chain goes on by itself"
is "$(anneal task show "$id" -o json | jq -r .state)" RUNNING "nobody can know"
killed proxy
kept() { [ "$(grep -ac '"result"' "$work/w3/spool/results.spool")" -ge 1 ]; }
until_true 30 kept; ok $? "w3 keeps what it has to say" "$(cat "$work/w3.log")"
proxy "$by"; ok $? "the way is there again"
until_true 40 over "$op" succeeded; ok $? "and everything is said" "$(anneal why "operation/$op")"
trio_once "cut off"
until_true 20 attached w3
ended w3
killed proxy

# --- a worker's clock is ten minutes off
if [ -n "$shim" ] && [ "${ANNEAL_VARIANT:-}" != asan ]; then
    host=13
    for off in 600 -600; do
        h=$(hosts $host $host) name=c$host
        echo "$off" >"$work/$name.clock"
        join "$name" "$port" "LD_PRELOAD=$shim" "REALCLOCK_FILE=$work/$name.clock"; ok $? "a worker $off s off"
        log_time=$(sed -n 's/^\([0-9T:.-]*Z\).*server.connected.*/\1/p' "$work/$name.log" | tail -n 1)
        away=$(($(date -d "$log_time" +%s) - $(date +%s) - off))
        [ "${away#-}" -lt 120 ]; ok $? "$off: its clock is" "$log_time"
        anneal -q deployment bind system "times=$h.t" --wait=60s >/dev/null; ok $? "$off: tasks run, and longer than a lease"
        op=$(last)
        is "$(anneal operation history "$op" --limit 100 -o json | jq -c '[.items[] | [.number, .outcome]]')" '[[1,"ok"],[1,"ok"]]' "$off: in one attempt each"
        is "$(anneal task log "$(task_id "$op" short)" | sha256sum)" "$(seq 1 2000 | sha256sum)" "$off: with their output"
        anneal -q deployment bind system "late=$h.t" --wait=60s >/dev/null 2>&1
        op=$(last)
        is "$(anneal task list --operation "$op" -o json | jq -r '.items[0] | .state + " " + .reason')" "FAILED timeout" "$off: a time limit"
        took=$(anneal operation history "$op" --limit 10 -o json | jq '.items[0].ran_ms // .items[0].duration_ms // 0')
        [ "$took" -ge 1900 ] && [ "$took" -lt 30000 ]; ok $? "$off: is of time, not of clocks: $took ms"
        has "$(anneal task log "$(task_id "$op" never)")" begun "$off: and its log is there"
        is "$(fleet exec "$h" pgrep -fc 'sleep 432[1]')" 0 "$off: nothing is left of it"
        ended "$name"
        host=$((host + 1))
    done
    # The same worker, whose clock was set back meanwhile: its numbers begin lower than those of its last life.
    echo -600 >"$work/c13.clock"
    back c13 "LD_PRELOAD=$shim" "REALCLOCK_FILE=$work/c13.clock"; ok $? "one that was ahead is behind"
    anneal -q deployment bind system times=h0015.t --wait=60s >/dev/null; ok $? "and works"
    is "$(anneal operation history "$(last)" --limit 100 -o json | jq -c '[.items[] | [.number, .outcome]]')" '[[1,"ok"],[1,"ok"]]' "in one attempt each"
    ended c13
else
    ok 0 "a worker's clock # SKIP the clock shim is not built, or the sanitizer must be the first library"
fi

# --- what is left
is "$(strangers 1 $n)" "" "nothing runs on the hosts but what was there before"
stop; ok $? "the server ends"
out=$(fleet enter "$real/anneald" --verify --data-dir "$work/data" 2>&1); ok $? "its journal tells the same" "$out"
fleet down >/dev/null 2>&1; ok $? "the hosts go"
done_testing
