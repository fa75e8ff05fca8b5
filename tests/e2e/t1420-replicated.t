#!/usr/bin/env bash
# Bad days of a replicated service: Redis with replicas and web servers on hosts over ssh, by a catalog as users write them
# (replicated/kv).  Deployed, broken by data and by the catalog, corrected, rolled back, with a machine that dies and another one in
# its place, a member less and a member more; in each step the server is killed in the middle of it.  What is said of Redis and of
# pages is asked of the hosts themselves.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
for program in jq curl sshd redis-server redis-cli nginx; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || skip_all "no $program"
done
unshare --net --mount true 2>/dev/null || skip_all "this root may not make namespaces"
declare -A host=([db1]=h0001 [r1]=h0002 [r2]=h0003 [r3]=h0004 [w1]=h0005 [w2]=h0006 [r4]=h0007)
watched=(--set probe_interval=1s --set dead_after=3s --set probe_count=2)
ip() { address "${host[$1]}"; }
node() { fleet exec "${host[$1]}" "${@:2}"; } # NODE COMMAND...
add() { anneal -q node add "$1" --address "$(ip "$1")" --label "tier=$2"; }

# --- what hosts say
member() { node "$1" sh -c 'redis-cli info replication | tr -d "\r" | sed -n "s/^\(role\|master_host\|master_link_status\)://p"
    redis-cli config get maxmemory | tail -1; redis-cli config get maxmemory-policy | tail -1; redis-cli get truth' | xargs; }
followers() { node db1 redis-cli info replication | tr -d '\r' | sed -n 's/^slave[0-9]*:ip=\(.*\),port=6379,state=online.*/\1/p' | sort | xargs; }
page() { fleet enter curl -sS --max-time 5 "http://$(ip "$1")/" 2>&1 | xargs; }
# truth LABEL "MEMBERS" "LISTED": who follows the primary, with what is wanted and with what was written just now; what pages say
written=0 megabytes=32 policy=noeviction
truth() {
    local n out want=
    written=$((written + 1))
    # until so many have it, which Redis tells who wrote it
    node db1 sh -c "printf 'set truth %s\nwait %s 10000\n' $written $(wc -w <<<"$2") | redis-cli" >/dev/null
    out="$(followers) |$(for n in $2; do echo " $n $(member "$n") |"; done)$(for n in w1 w2; do echo " $(page "$n") |"; done)"
    want="$(for n in $2; do ip "$n"; done | sort | xargs) |"
    want+=$(for n in $2; do echo " $n slave $(ip db1) up $((megabytes << 20)) $policy $written |"; done)
    for n in w1 w2; do want+=" primary $(ip db1):6379$(for n in $3; do echo " replica $(ip "$n")"; done | sort | tr -d '\n') |"; done
    is "$(xargs <<<"$out")" "$(xargs <<<"$want")" "$1"
}

# --- what Anneal says
states() { anneal noderole list --deployment kv --role redis-replica -o json | jq -r '.items | sort_by(.node) | map("\(.node) \(.state)") | join(", ")'; }
served() { [ "$(anneal noderole list --deployment kv --role web -o json | jq '[.items[] | select(.state == "ACTIVE" or .state == "STALE")] | length')" = 2 ]; }
quiet() { [ "$(anneal noderole list --deployment kv --limit 100 -o json | jq '[.items[] | select(.state != "ACTIVE")] | length')" = 0 ]; }
head_of() { anneal deployment history kv -o json | jq '.items[] | select(.state == "committed").number'; }
propose() { anneal -q deployment propose kv --message "$1"; }
memory() { anneal -q deployment edit kv --set "redis-replica:replica.memory=$1"; }
commit() { anneal deployment commit kv -o json | jq .operation.id; }
catalog_with() { sed "s/^\( *\)maxmemory .*/&\n\1$1/" "$top/tests/e2e/replicated/kv/barclamp.yaml" >"$work/catalog/kv/barclamp.yaml" && anneal -q catalog load "$work/catalog"; }

# killed LABEL OPERATION DONE EXIT: the server is killed when so many tasks of it have ended and one runs; another one brings it to its end
midway() { anneal operation show "$1" -o json | jq -e --argjson n "$2" '.state != "running" or (.progress.running > 0 and .progress.done >= $n)'; }
killed() {
    local at out
    until_true 60 midway "$2" "$3"
    at=$(date -u +%FT%T.%3NZ)
    crash
    serve_bed "${watched[@]}" || ok 1 "$1: the server starts again" "$(tail "$work/log")"
    out=$(anneal operation watch "$2" 2>&1)
    [ $? -eq "$4" ]; ok $? "$1: with the server killed in the middle it ends as it should" "$out"
    [ "$(anneal operation show "$2" -o json | jq -r .ended_at)" \> "$at" ]; ok $? "$1: which was the middle"
}
# let_go OPERATION NODE: nothing of its removal begins before those that lose it have ended
let_go() {
    anneal operation timeline "$1" -o json | jq -e --arg n "$2" '
        ([.nodes[] | select(.node == $n).items[].start_ms] | min) as $begun | [.nodes[] | select(.node != $n).items[].end_ms] | length > 0 and max <= $begun' >/dev/null
}

out=$(fleet up 7 2>&1); ok $? "hosts" "$out"
serve_bed "${watched[@]}"; ok $? "a server"
mkdir -p "$work/catalog/kv" && cp "$top/tests/e2e/replicated/kv/barclamp.yaml" "$work/catalog/kv/"
out=$(anneal lint --strict "$work/catalog" 2>&1); ok $? "the catalog has no fault" "$out"
anneal -q catalog load "$work/catalog"
add db1 primary
for n in r1 r2 r3; do add $n replica; done
for n in w1 w2; do add $n web; done
anneal -q deployment add kv

# --- deployed
op=$(anneal deployment bind kv redis-primary=tier=primary redis-replica=tier=replica web=tier=web -o json | jq .operation.id)
killed "deploy" "$op" 6 0
truth "deploy: replicas follow, pages name all" "r1 r2 r3" "r1 r2 r3"

# --- bad data: the roll-out stops after one
propose "more memory" && memory banana
op=$(commit)
killed "bad data" "$op" 0 11
is "$(states)" "r1 ERROR, r2 STALE, r3 STALE" "bad data: one has failed, no other has begun"
served; ok $? "bad data: one replica is enough for the web servers" "$(anneal noderole list --deployment kv)"
is "$(anneal operation show "$op" -o json | jq -r .reason)" rollout "bad data: the roll-out has stopped"
has "$(anneal why redis-replica@r1)" "anneal noderole retry" "bad data: why says what helps"
has "$(anneal why redis-replica@r3)" "anneal operation resume $op" "bad data: and what goes on with the rest"
is "$(for n in r1 r2 r3; do node $n grep -l banana /etc/redis/redis.conf; done | wc -l)" 1 "bad data: they are on one host"
truth "bad data: the others serve as before" "r2 r3" "r1 r2 r3"
propose "more memory, a number" && memory 64mb
megabytes=64
op=$(commit)
killed "corrected data" "$op" 3 0
is "$(states)" "r1 ACTIVE, r2 ACTIVE, r3 ACTIVE" "corrected data: all are ACTIVE, by a commit alone"
truth "corrected data: all have them" "r1 r2 r3" "r1 r2 r3"

# --- a bad catalog
catalog_with "maxmemory-polciy allkeys-lru"; ok $? "bad catalog: it is loaded, nobody knows what Redis knows"
propose "forget what is old"
op=$(commit)
killed "bad catalog" "$op" 0 11
is "$(states)" "r1 ERROR, r2 STALE, r3 STALE" "bad catalog: one has failed, no other has begun"
truth "bad catalog: the others serve as before" "r2 r3" "r1 r2 r3"
catalog_with "maxmemory-policy allkeys-lru"
propose "forget what is old, spelt as Redis does"
policy=allkeys-lru
op=$(commit)
killed "corrected catalog" "$op" 3 0
is "$(states)" "r1 ACTIVE, r2 ACTIVE, r3 ACTIVE" "corrected catalog: all are ACTIVE, by a commit alone"
truth "corrected catalog: all have it" "r1 r2 r3" "r1 r2 r3"

# --- rollbacks: of a change that went well, and out of one that failed
good=$(head_of)
propose "80 MB" && memory 80mb
megabytes=80
out=$(anneal deployment commit kv --wait 2>&1); ok $? "good change" "$out"
truth "good change: all have it" "r1 r2 r3" "r1 r2 r3"
anneal -q deployment rollback kv "$good"
megabytes=64
op=$(commit)
killed "rollback" "$op" 3 0
truth "rollback: all have what they had" "r1 r2 r3" "r1 r2 r3"
good=$(head_of)
catalog_with "maxmemory-polciy allkeys-lfu"
propose "another policy"
out=$(anneal deployment commit kv --wait 2>&1); is $? 11 "failed change"
is "$(states)" "r1 ERROR, r2 STALE, r3 STALE" "failed change: it has stopped"
anneal -q deployment rollback kv "$good"
op=$(commit)
killed "rollback of a failure" "$op" 0 0
is "$(states)" "r1 ACTIVE, r2 ACTIVE, r3 ACTIVE" "rollback of a failure: all are ACTIVE"
truth "rollback of a failure: all have what they had" "r1 r2 r3" "r1 r2 r3"
catalog_with "maxmemory-policy allkeys-lru"

# --- a dead node
dead() { [ "$(anneal node show "$1" -o json | jq -r .alive)" = dead ]; }
follow() { local n; for n; do [ "$(node "$n" redis-cli config get maxmemory | tail -1)" = $((megabytes << 20)) ] || return 1; done; }
fleet off "${host[r3]}"
until_true 60 dead r3; ok $? "dead node: it is missed" "$(anneal node show r3)"
has "$(anneal why redis-replica@r3)" "power on r3 or repair its network" "dead node: why says what helps"
truth "dead node: the others serve" "r1 r2" "r1 r2 r3"
propose "96 MB" && memory 96mb
megabytes=96
op=$(commit)
until_true 60 midway "$op" 0
crash
serve_bed "${watched[@]}"; ok $? "dead node: the server is killed in the middle of a change"
until_true 60 follow r1 r2; ok $? "dead node: and the change comes to the others" "$(anneal why "operation/$op")"
truth "dead node: they serve" "r1 r2" "r1 r2 r3"
served; ok $? "dead node: and so do the web servers" "$(anneal noderole list --deployment kv)"

# --- another machine in its place: new disk, new host key
probed() { [ "$(anneal node show "$1" -o json | jq -r .probe.result)" = "$2" ]; }
offers() { anneal status | grep -q "$1"; }
fleet on "${host[r3]}"
until_true 60 probed r3 host-key-changed; ok $? "replaced machine: its key is another one" "$(anneal node show r3)"
offers "anneal node trust r3"; ok $? "replaced machine: status says what helps" "$(anneal status)"
anneal -q node trust r3
until_true 60 offers "anneal node redeploy r3"; ok $? "replaced machine: then, too" "$(anneal status)"
op=$(anneal node redeploy r3 -o json | jq .id)
killed "replaced machine" "$op" 0 0
until_true 60 quiet; ok $? "replaced machine: all are ACTIVE, those that need it too" "$(anneal noderole list --deployment kv)"
truth "replaced machine: it follows, with all of the data" "r1 r2 r3" "r1 r2 r3"

# --- one less, in order
op=$(anneal deployment unbind kv redis-replica=r2 -o json | jq .operation.id)
killed "removal" "$op" 0 0
let_go "$op" r2; ok $? "removal: pages had let go of it before it was stopped" "$(anneal operation timeline "$op")"
is "$(node r2 sh -c 'systemctl is-active redis-server; ls -A /etc/redis /var/lib/redis' | xargs)" "inactive /etc/redis: /var/lib/redis:" "removal: nothing of it is left there"
truth "removal: the others serve, pages name them" "r1 r3" "r1 r3"

# --- one more
add r4 replica
op=$(anneal deployment bind kv redis-replica=r4 -o json | jq .operation.id)
killed "expansion" "$op" 0 0
quiet; ok $? "expansion: all are ACTIVE" "$(anneal noderole list --deployment kv)"
truth "expansion: it has the data, pages name it" "r1 r3 r4" "r1 r3 r4"
anneal admin check >/dev/null; ok $? "the engine is sound"
stop; ok $? "the server stops"
out=$(fleet enter "$real/anneald" --verify --data-dir "$work/data" 2>&1); ok $? "all of that can be replayed" "$out"
done_testing
