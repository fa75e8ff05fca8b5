#!/usr/bin/env bash
# Stores that programs of earlier schemas left (tests/golden/store), killed in the middle of a large loss: its rows are aside, with
# the columns of then.  --verify leaves such a store as it is; a start brings it up to date, nothing is lost, and it can be replayed.
. "$(dirname "$0")/lib.sh"

db() { sqlite3 "$work/data/anneal.db" "$1"; }
verify() { "$bin/anneald" --verify --data-dir "$work/data" 2>&1; }
noderoles() { anneal noderole list -o json | jq -c '[.items[] | select(.role != "machine") | [.id, .state, .reason, .operation, .run_count]]'; }
tasks() { anneal task list -o json | jq -c '[.items[] | [.id, .state, .reason, .attempt]]'; }
# store_of SCHEMA FILE: with a token that this test knows, since a store has but the hash.
store_of() {
    mkdir -p "$work/data"
    (umask 077 && printf 'anl_%043d' 0 >"$work/data/admin.token")
    {
        for f in "$top"/sql/000[1-"$1"]-*.sql; do cat "$f"; done
        cat "$top/tests/golden/store/schema-$1.sql"
        echo "UPDATE token SET hash = '$(b2sum -l 256 "$work/data/admin.token" | cut -d' ' -f1)';"
        echo "PRAGMA application_id = $((0x416e6e6c)); PRAGMA user_version = $1;"
    } | sqlite3 "$2"
}

for schema in 1 2; do
    rm -rf "$work/data"
    store_of $schema "$work/data/anneal.db"
    is "$(db 'SELECT count(*) FROM aside')" 3 "a store of schema $schema has rows aside"
    before=$(md5sum <"$work/data/anneal.db")
    last=$(db 'SELECT journal_seq FROM meta')
    out=$(verify); is $? 6 "--verify does not replay by rules that it does not know"
    has "$out" "schema $schema is older than this program's" "and says so"
    has "$out" "or use the version that wrote it" "with what can be done"
    is "$(md5sum <"$work/data/anneal.db")" "$before" "the store is as it was"

    start; ok $? "a server starts on it" "$(cat "$work/log")"
    is "$(noderoles)" '[[6,"ERROR","data",5,1],[7,"BLOCKED","parent-lost",1,2],[8,"BLOCKED","parent-lost",1,2],[9,"BLOCKED","parent-lost",1,2]]' "the loss is there"
    is "$(tasks)" '[[1,"DONE","",2],[2,"FAILED","exit",2],[3,"PENDING","parent-lost",2],[4,"PENDING","parent-lost",2],[5,"PENDING","parent-lost",2],[6,"PENDING","parent-lost",2],[7,"PENDING","parent-lost",2],[8,"PENDING","parent-lost",2]]' "down to its tasks"
    is "$(anneal events --since 0 -o json | jq -s "[.[] | select(.id <= $last and .kind != \"?\" and .input != null)] | length")" "$last" "events of before are read"
    crash
    out=$(verify); ok $? "what came after can be replayed" "$out"
    start; ok $? "after SIGKILL it starts again"
    out=$(anneal noderole set 6 mood=good --wait 2>&1); ok $? "what had failed is corrected" "$out"
    is "$(noderoles | jq -c '[.[][1]] | unique')" '["ACTIVE"]' "and all is in service"
    stop
    out=$(verify); ok $? "all of that can be replayed" "$out"
    is "$(db 'SELECT min(seq) FROM checkpoint')" "$last" "from where the other version ended"
done

# A backup of before, put in place by this version: up to date, but no server has begun its history.
mv "$work/data" "$work/other"
store_of 1 "$work/before.db"
out=$("$bin/anneald" --restore "$work/before.db" --data-dir "$work/data" 2>&1); ok $? "a store of before is restored" "$out"
is "$(db 'PRAGMA user_version')" "$(find "$top/sql" -name '0*.sql' | wc -l)" "in today's schema"
out=$(verify); is $? 6 "--verify does not call it corrupt"
has "$out" "journal 1 to 100 was written by an earlier version" "but says which part it cannot replay"
has "$out" "the stored rows fit together" "and what it can tell"
has "$out" "start anneald on it once" "with what can be done"
start; ok $? "a server starts on it" "$(cat "$work/log")"
is "$(noderoles | jq -c '[.[][1]]')" '["ERROR","BLOCKED","BLOCKED","BLOCKED"]' "nothing is lost there either"
stop
out=$(verify); ok $? "and it can be replayed" "$out"
done_testing
