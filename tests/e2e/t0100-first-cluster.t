#!/usr/bin/env bash
# The way of a new user: load, add, bind, look, re-run, back up, crash, restore.
. "$(dirname "$0")/lib.sh"

start; ok $? "a server with no configuration file starts"
[ "$(stat -c %a "$work/data/admin.token")" = 600 ]; ok $? "the admin token is readable by its owner only"
anneal -q catalog load "$top/examples/catalog"; ok $? "the example catalog loads"
nodes db1.t cache1.t web1.t web2.t lb1.t mon1.t; ok $? "six nodes are added"
out=$(anneal deployment bind system database=db1.t cache=cache1.t 'web=web*' load-balancer=lb1.t monitor=mon1.t --wait 2>&1)
ok $? "a cluster with dependencies across nodes is brought up" "$out"
is "$(anneal noderole list -o json | jq '[.items[] | select(.state != "ACTIVE")] | length')" 0 "every noderole is ACTIVE"
has "$(anneal task log 1)" "checking db1.t" "what a task printed was kept"
before=$(anneal -o json status | jq .journal)
out=$(anneal role rerun web --wait 2>&1); ok $? "a role is re-run on all its nodes" "$out"
is "$(anneal noderole list --role web -o json | jq -c '[.items[].run_count]')" "[2,2]" "both ran again"
is "$(anneal noderole list --role load-balancer -o json | jq -c '[.items[].run_count]')" "[1]" "what needs them did not: it sees the same"
anneal events --since "$before" -o json >"$work/events"; ok $? "events are read from a number on"
[ -s "$work/events" ]; ok $? "and there are some"

said=$(anneal admin backup first); ok $? "a backup is made while the server runs" "$said"
has "$said" "backup written to $work/data/backups/first.tar" "and told"
cp "$work/data/backups/first.tar" "$work/"; ok $? "the backup is there"
nodes late.t
crash
start; ok $? "after SIGKILL it starts again"
is "$(anneal node list -o json | jq .total)" 7 "with what was acknowledged before the crash"
stop; ok $? "it ends in order"
said=$("$bin/anneald" --data-dir "$work/data" --verify 2>&1); ok $? "journal and rows agree" "$said"
has "$said" "events replayed from the last checkpoint give what is stored" "and that is told"
out=$("$bin/anneal" admin restore "$work/first.tar" --data-dir "$work/data" 2>&1); is $? 6 "a backup does not replace what is there"
has "$out" "not empty" "and says so"
mv "$work/data" "$work/before"
"$bin/anneal" admin restore "$work/first.tar" --data-dir "$work/data" >/dev/null 2>"$work/err"; ok $? "where there is nothing it is put in place" "$(cat "$work/err")"
start; ok $? "a server starts on it"
is "$(anneal node list -o json | jq .total)" 6 "with what there was when it was made"
out=$(anneal role rerun cache --wait 2>&1); ok $? "and goes on from there" "$out"
stop
done_testing
