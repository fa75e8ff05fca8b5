#!/usr/bin/env bash
# What the engine ran with is history: a journal can be replayed by whoever does not know how the server was started.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
verify() { "$bin/anneald" --verify --data-dir "$work/data" 2>&1; }
told() { anneal events --since 0 --limit 10000 -o json | jq -s '[.[] | select(.kind == "settings.set")] | length'; }
alive_of() { anneal node show "$1" -o json | jq -r .alive; }
# Silent until it is dead, or for two seconds.
falls_silent() { anneal -q node report "$1" silent && [ "$(alive_of "$1")" = dead ]; }

start --set dead_after=1s --set probe_count=2; ok $? "a server that takes a node for dead after a second"
nodes n1.t n2.t n3.t n4.t; ok $? "with nodes"
until_true 20 falls_silent n1.t; ok $? "one of them is silent for so long"
is "$(told)" 1 "what the engine runs with is an event"
has "$(anneal events --since 0 --limit 1)" "settings.set  dead_after=1s probe_count=2 suspect_percent=20" "the first of all, and it says what"
stop; ok $? "it stops"
out=$(verify); ok $? "README's command finds a sound store sound, whatever the server ran with" "$out"

start --set dead_after=1s --set probe_count=2; ok $? "started in the same way"
is "$(told)" 1 "there is nothing to tell"
crash
start; ok $? "killed, and started with other settings in the middle of this"
is "$(told)" 2 "that is told"
for i in 1 2 3 4; do anneal -q node report n2.t silent; done
is "$(alive_of n2.t)" alive "by which another one is alive, however often it is silent"
crash
start --set dead_after=1s --set probe_count=1 --set suspect_min=1 --set suspect_percent=1; ok $? "and with others again"
suspects() { anneal -q node report n3.t silent && [ "$(anneal status -o json | jq .suspect)" = true ]; }
until_true 20 suspects; ok $? "by which nobody is dead: the server suspects itself"
stop; ok $? "it stops"
out=$(verify); ok $? "all of that can be replayed" "$out"
has "$out" "give what is stored" "and gives what is stored"
out=$("$bin/anneald" --verify --data-dir "$work/data" --set dead_after=1h --set probe_count=100 2>&1); ok $? "what --verify is told besides does not matter" "$out"
start; ok $? "a last start"
is "$(alive_of n1.t) $(alive_of n2.t)" "dead alive" "finds what was there"
stop
done_testing
