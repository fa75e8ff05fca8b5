#!/usr/bin/env bash
# A second server, a locked, a corrupt and a full store: told clearly, nothing lost.
. "$(dirname "$0")/lib.sh"

start || exit 1
anneal -q catalog load "$top/examples/catalog"
nodes n1.t
out=$(timeout 20 "$bin/anneald" --data-dir "$work/data" --listen 127.0.0.1:0 2>&1); ok $((! $?)) "a second server on the same files does not start"
has "$out" "$server_pid" "and names the pid of the first"
stop

mkfifo "$work/hold"
sqlite3 "$work/data/anneal.db" 'BEGIN EXCLUSIVE; SELECT 1;' '.shell echo locked; read line <'"$work/hold" >"$work/locked" 2>&1 &
holder=$!
until_true 10 grep -q locked "$work/locked"
out=$(timeout 20 "$bin/anneald" --data-dir "$work/data" --listen 127.0.0.1:0 2>&1); ok $((! $?)) "a database locked by another program is not waited for"
has "$out" "anneal.db" "and the error names the file"
echo >"$work/hold"
wait $holder

cp -r "$work/data" "$work/sound"
printf 'this is not a database' | dd of="$work/data/anneal.db" conv=notrunc 2>/dev/null
rm -f "$work/data/anneal.db-wal" "$work/data/anneal.db-shm"
out=$(timeout 20 "$bin/anneald" --data-dir "$work/data" --listen 127.0.0.1:0 2>&1); ok $((! $?)) "a corrupt database is refused"
has "$out" "restore" "with the remedy"
rm -rf "$work/data"; mv "$work/sound" "$work/data"

if [ "$(id -u)" -eq 0 ] && mkdir "$work/small" && mount -t tmpfs -o size=3m none "$work/small" 2>/dev/null; then
    cp -r "$work/data" "$work/small/"
    full=$work/small/data
    real=$work/data
    rm -rf "$real"; ln -s "$full" "$real"
    start; ok $? "a server starts on a small disk"
    count=$(anneal node list -o json | jq .total)
    head -c 3000000 /dev/zero >"$work/small/filler" 2>/dev/null
    made=0 code=0
    for i in $(seq 1 200); do
        out=$(anneal -q node add "full$i.t" --label "text=$(head -c 2000 /dev/zero | tr '\0' x)" 2>&1) || { code=$?; break; }
        made=$((made + 1))
    done
    [ $code -ne 0 ]; ok $? "on a full disk a write is refused"
    has "$out" "full" "and the error says so"
    is "$(anneal node list -o json | jq .total)" $((count + made)) "what was acknowledged is there, what was refused is not"
    rm "$work/small/filler"
    until_true 20 anneal -q node add after.t; ok $? "with room again, writes are taken again"
    crash; start
    is "$(anneal node list -o json | jq .total)" $((count + made + 1)) "and after a crash it is all still so"
    stop
else
    echo "# no tmpfs here: the full disk is tested by tests/fault only"
fi
done_testing
