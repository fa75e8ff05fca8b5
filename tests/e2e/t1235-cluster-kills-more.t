#!/bin/bash
# Killed in the middle of what does not go straight: cancel, waiting requests, failures, dead nodes, reboots, leases.
# SPDX-License-Identifier: Apache-2.0
. "${ANNEAL_TOP:?}/tests/e2e/cluster.sh"
start || { echo "1..0 # SKIP no server"; exit 0; }
anneal catalog load "$work/catalog" >/dev/null
again() { crash; start; }
pause() { anneal node maintenance shop-1003.shop.example on --note test >/dev/null; }
go_on() { anneal node maintenance shop-1003.shop.example off >/dev/null; }
operate create '{"name":"shop","template":"shop","nodes":6}'
is "$(ended)" succeeded "a cluster"

# --- cancelled, then killed: held it stays
pause
operate restart '{}'
anneal operation cancel "$op" >/dev/null
again
is "$(ended)" cancelled "cancelled it is after a kill"
go_on
lines=$(wc -l <"$scratch/log")
again
is "$(wc -l <"$scratch/log")" "$lines" "and nothing of it starts by itself"
anneal operation resume "$op" >/dev/null
until_true 10 sh -c "[ \$(wc -l <'$scratch/log') -gt $lines ]"
again
is "$(ended)" succeeded "resumed and killed again it ends"

# --- one that waits for another
pause
operate restart '{"services":["web"]}'
first=$op
operate stop '{"services":["balancer"],"queue":true}'
again
is "$(field "$(api GET /v1/clusters/shop)" waiting 0)" stop "what waits is not forgotten"
go_on
op=$first; is "$(ended)" succeeded "the first ends"
stopped() { noderoles | grep -q 'balancer ACTIVE stopped'; }
until_true 20 stopped; ok $? "and the second is done"

# --- stopped, killed, rebooted
again
anneal node report shop-1000.shop.example alive --machine-id m --boot-id 1 >/dev/null
: >"$scratch/log"
anneal node report shop-1000.shop.example alive --machine-id m --boot-id 2 >/dev/null
until_true 20 sh -c "grep -q 'balancer stop' '$scratch/log'"
again
until_true 20 sh -c "! '$bin/anneal' noderole list --limit 1000 -o json | grep -qE '\"(STALE|TRANSITION|TODO|BLOCKED)\"'"
is "$(grep -c 'balancer start' "$scratch/log")" 0 "a stopped service stays stopped"
operate start '{}'
is "$(ended)" succeeded "until it is started"

# --- a removal that fails, killed on the way
touch "$scratch/fail/shop-1001.shop.example-web-remove"
operate remove-service '{"services":["balancer","web"]}'
until_true 10 sh -c "grep -q 'web stop' '$scratch/log'"
again
is "$(ended)" failed "a removal fails over a kill as without"
anneal operation retry "$op" >/dev/null
again
is "$(ended)" succeeded "and is done when it is retried"
is "$(noderoles | grep -cE ' (web|balancer) ')" 0 "all of it"
operate add-service '{"services":["balancer","web"]}'
until_true 10 sh -c "grep -q 'web install' '$scratch/log'"
again
is "$(ended)" succeeded "they come back"

# --- shrink with a dead node
anneal node report shop-1002.shop.example dead >/dev/null
operate shrink '{"by":2}'
again
is "$(ended)" succeeded "shrunk over a kill"
is "$(did | grep '^1002' | grep -v bootstrap | sort -u)" "1002 machine delete" "of the dead node only the machine is deleted"
is "$(nodes | wc -w)" 4 "four are left"

# --- a machine that could not be confirmed
number=$(($(nodes | tr ' ' '\n' | sort -n | tail -n 1) + 1))
[ "$number" -lt 1006 ] && number=1006
touch "$scratch/fail/shop-$number.shop.example-machine-confirm"
operate expand '{"by":1}'
until_true 10 sh -c "grep -q 'machine delete' '$scratch/log'"
again
is "$(ended)" succeeded "expanded over a kill and a failure"
is "$(awk -v n="shop-$number" 'index($2, n) == 1 && $3 == "machine" && $4 != "bootstrap" {print $4}' "$scratch/log" | uniq | tr '\n' ' ')" \
    "create confirm delete create confirm " "the first machine was deleted before the second was made"

# --- the lease ends
api PATCH /v1/clusters/shop -H 'Content-Type: application/json' -H 'If-Match: *' -d '{"expires_in":"1s"}' >/dev/null
: >"$scratch/log"
until_true 20 sh -c "grep -q 'machine delete' '$scratch/log'"
again
gone() { [ "$(api GET /v1/clusters/shop | tail -n 1)" = 404 ]; }
until_true 30 gone; ok $? "killed while its lease ends it is deleted all the same"
is "$(ls "$scratch/machines")" "" "with all machines"
anneal admin check >/dev/null; ok $? "the engine is sound"
done_testing
