#!/bin/bash
# A server that is killed in the middle of an operation on a cluster goes on to the same end.
# SPDX-License-Identifier: Apache-2.0
. "${ANNEAL_TOP:?}/tests/e2e/cluster.sh"

lines() { [ "$(wc -l <"$scratch/log")" -ge "$1" ]; }
# life KILL: every operation, the server killed when so many lines of each are there (0: never);
# what there is after each is kept in $work/after-KILL.N
life() {
    local kill=$1 n=0 verb body
    rm -rf "$work/data" "$scratch"
    mkdir -p "$scratch"
    sed -i 's/version: "16"/version: "15"/' "$work"/catalog/shop/roles/services.yaml
    start
    anneal catalog load "$work/catalog" >/dev/null
    while read -r verb body; do
        n=$((n + 1))
        if [ "$verb" = catalog ]; then
            sed -i 's/version: "15"/version: "16"/' "$work"/catalog/shop/roles/services.yaml
            anneal catalog load "$work/catalog" >/dev/null
            continue
        fi
        operate "$verb" "$body"
        if [ "$kill" -gt 0 ]; then
            until_true 10 sh -c "[ \$(wc -l <'$scratch/log') -ge $kill ] || '$bin/anneal' operation show $op | grep -q succeeded"
            crash
            start
        fi
        echo "$verb $(ended)" >"$work/after-$kill.$n"
        noderoles | grep -v "^- " >>"$work/after-$kill.$n" # what holds joins goes a moment later
        anneal admin check >/dev/null || echo unsound >>"$work/after-$kill.$n"
        # Whatever was begun was done; machines are made once.
        did | sort -u >"$work/did-$kill.$n"
        did | grep -E ' (create|initialize)$' | sort | uniq -d >"$work/twice-$kill.$n"
    done <<L
create {"name":"shop","template":"shop","nodes":4}
expand {"by":1}
configure {"config":{"web":{"color":"red"}},"restart":true}
stop {"services":["web"]}
start {}
restart {"services":["cache"]}
remove-service {"services":["metrics"]}
add-service {"services":["metrics"]}
catalog
upgrade {}
rollback {"revision":2}
shrink {"by":1}
delete {}
L
    steps=$n
    until_true 10 sh -c "! '$bin/anneal' deployment list | grep -q shop"
    ls "$scratch/machines" >"$work/machines-$kill"
    crash
}
life 0
is "$(cat "$work"/after-0.* | grep -cE '^[a-z-]+ succeeded$')" 12 "every operation succeeds"
for kill in 1 3 6; do
    life $kill
    for n in $(seq "$steps"); do
        [ -e "$work/after-0.$n" ] || continue
        what=$(head -n 1 "$work/after-0.$n")
        cmp -s "$work/after-0.$n" "$work/after-$kill.$n"
        ok $? "${what% *}, killed after $kill: the same in the end" "$(diff "$work/after-0.$n" "$work/after-$kill.$n")"
        cmp -s "$work/did-0.$n" "$work/did-$kill.$n"
        ok $? "${what% *}, killed after $kill: the same was done" "$(diff "$work/did-0.$n" "$work/did-$kill.$n")"
    done
    is "$(cat "$work/machines-$kill")" "" "killed after $kill: no machine is left"
done

# --- killed while machines are looked at: that was only lost, they are not made anew
rm -rf "$work/data" "$scratch"
mkdir -p "$scratch"
sed -i 's#^\( *\)test -d "$machine" ||#\1[ ! -e "$scratch/slow" ] || sleep 1000\n&#' "$work/catalog/shop/providers/scratch.yaml"
start
anneal catalog load "$work/catalog" >/dev/null; ok $? "a provider that takes its time to look"
touch "$scratch/slow"
operate create '{"name":"shop","template":"shop","nodes":4}'
until_true 20 sh -c "[ \$(grep -c ' machine confirm ' '$scratch/log') -ge 4 ]"; ok $? "machines are made and looked at"
crash
rm "$scratch/slow"
start
is "$(ended)" succeeded "killed there, it goes on"
is "$(did | grep -c ' delete$')" 0 "no machine is deleted"
is "$(did | grep -c ' create$')" 4 "nor made twice"
crash
done_testing
