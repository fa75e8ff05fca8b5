#!/usr/bin/env bash
# A backup is whole: restored by another user into an empty directory, secrets open, resources reach tasks and a worker elsewhere goes on
# with the server at the same address; damage, keys that are missing and interrupted restores are refused with the remedy.
. "${ANNEAL_TOP:?}/tests/e2e/lib.sh"
worker_pid=
finish_all() {
    [ -z "$worker_pid" ] || kill -9 "$worker_pid" 2>/dev/null
    finish
}
trap finish_all EXIT
secret=open-sesame-47110815
open_dir
other=$opened/other # where the empty machine is
plugins=$opened/plugins
mkdir -p "$plugins/tool" "$work/seen" "$other"
cat >"$plugins/tool/plugin.yaml" <<'END'
plugin: tool
type: automator
version: "1"
protocol: 1
executable: run
actions: {install: {}}
types:
  tool:
    fields: {admin: {password: {type: password}}}
    resources: {keys: {format: file, permissions: "0400"}}
END
# It writes down what it was given.
cat >"$plugins/tool/run" <<END
#!/usr/bin/env python3
import json, pathlib, sys
doc = json.load(sys.stdin)
key = pathlib.Path(doc["resources"]["keys"]["root"]["path"]).read_text().strip()
pathlib.Path("$work/seen/" + doc["node"]["name"]).write_text(doc["fields"]["password"] + " " + key)
print(json.dumps({"log": "done"}))
print(json.dumps({"result": {}}))
END
chmod +x "$plugins/tool/run"
catalog tools <<'END'
barclamp: tools
version: "1"
roles: [{name: tool, jig: plugin, actions: {converge: [{name: install, params: {type: tool, provider: lab}}]}}]
END
printf '%s' "$secret" >"$work/secret"
echo 'a key of the fleet' >"$work/key"
head -c 3000000 /dev/urandom >"$work/large"
echo 'correct horse battery staple' >"$work/pass"

serve() { # OPTIONS: a server without a worker of its own, over TLS
    start --set worker_enabled=false --set tls=on --set "plugin_path=$plugins" "$@" || return
    export ANNEAL_SERVER=https://127.0.0.1:$port ANNEAL_CACERT=$work/data/ca.pem
}
attached() { [ "$(anneal worker show w1 -o json | jq -r .state)" = attached ]; }
restore() { "$bin/anneald" --restore "$@"; } # ARCHIVE OPTIONS
fence() { sqlite3 "$1/anneal.db" 'SELECT fence FROM meta'; }

# --- a server with all that one has ---
serve; ok $? "a server with an authority of its own"
anneal -q catalog load "$work/tools" && anneal -q deployment add d && nodes n1.t n2.t n3.t; ok $? "nodes and a catalog"
anneal worker token --name w1 --save "$work/w1.join" >/dev/null &&
    "$bin/anneal-worker" --state "$work/w1" --name w1 --join-file "$work/w1.join" --join-only 2>"$work/joined"; ok $? "a worker joins"
"$bin/anneal-worker" --state "$work/w1" --set node_access=local --set beat=200ms --set "plugin_path=$plugins" >"$work/w1.log" 2>&1 &
worker_pid=$!
until_true 20 attached; ok $? "and works"
anneal -q provider add lab --type tool --set-file "password=$work/secret"; ok $? "a provider with a secret"
anneal -q resource upload tool/keys root "$work/key" && anneal -q resource upload tool/keys large "$work/large" && anneal -q resource stage root && anneal -q resource sync
ok $? "resources"
anneal -q deployment bind d tool=n1.t --wait=60s >"$work/out" 2>&1; ok $? "a task gets both" "$(cat "$work/out")"
is "$(cat "$work/seen/n1.t")" "$secret a key of the fleet" "as they are"

# --- a backup ---
said=$(anneal admin backup one 2>&1); ok $? "a backup is made while the server runs" "$said"
archive=$work/data/backups/one.tar
has "$said" "$archive" "it says where"
has "$said" "keep it as a secret" "and that it holds keys"
is "$(stat -c %a "$archive")" 600 "it is its owner's only"
is "$(anneal status -o json | jq -r .store.backup.digest)" "$(b2sum -l 128 "$archive" | cut -d' ' -f1)" "status has its digest"
is "$(anneal events --since 0 -o json | jq -c 'select(.kind == "backup.made") | .actor')" '"admin"' "the journal has who made it"
mkdir "$work/untarred" && tar xf "$archive" -C "$work/untarred"; ok $? "any tar unpacks it"
(cd "$work/untarred" && b2sum --quiet --strict -c MANIFEST); ok $? "and b2sum checks what came out"
for f in secret.key ca.key ca.pem server.key server.pem admin.token; do cmp -s "$work/data/$f" "$work/untarred/$f"; ok $? "$f is in it"; done
is "$(cd "$work/untarred/resources" && ls | sort)" "$(cd "$work/data/resources" && find . -maxdepth 1 -type f -printf '%f\n' | sort)" "and every content"
is "$(ls -A "$work/data/backups")" one.tar "nothing else is left of it"
out=$(anneal admin backup one 2>&1); is $? 5 "a backup is never overwritten"
out=$(anneal admin backup "$work/x.db" 2>&1); is $? 2 "a path is none of a client's business"
has "$out" backup_dir "which is told, with the setting that is"
out=$(anneal admin backup sealed --logs --passphrase-file "$work/pass" 2>&1); ok $? "a sealed one" "$out"
is "$(grep -c "secret.key\|SQLite format" "$work/data/backups/sealed.tar.sealed")" 0 "shows nothing"
anneal token add lab-admin --scope admin --save "$work/second" >/dev/null 2>&1
anneal -q tenant add lab && anneal token add theirs --tenant lab --scope admin --save "$work/theirs" >/dev/null
out=$(anneal --token-file "$work/theirs" admin backup two 2>&1); is $? 3 "another tenant's administrators do not get the keys of all"

# --- later, all of it is lost ---
nodes late.t
cp "$work/data/ca.pem" "$work/ca.pem"
old_fence=$(fence "$work/data")
cp "$archive" "$work/one.tar"; cp "$work/data/backups/sealed.tar.sealed" "$work/"
crash
mv "$work/data" "$work/lost"

# --- archives that are no good: refused before anything is written ---
refused() { # ARCHIVE WORDS LABEL
    out=$(restore "$1" --data-dir "$work/never" 2>&1)
    [ $? -ne 0 ]; ok $? "$3 is refused" "$out"
    has "$out" "$2" "for that reason"
    [ ! -e "$work/never" ]; ok $? "and nothing is made"
}
head -c 500000 "$work/one.tar" >"$work/cut.tar"
refused "$work/cut.tar" "cut off" "an archive that was cut"
cp "$work/one.tar" "$work/flipped.tar"
at=$(grep -abo 'a key of the fleet' "$work/flipped.tar" | cut -d: -f1)
printf B | dd of="$work/flipped.tar" bs=1 seek="$at" conv=notrunc 2>/dev/null
refused "$work/flipped.tar" "is damaged" "an archive with a bit turned"
(cd "$work/untarred" && tar cf "$work/again.tar" anneal-backup.json anneal.db MANIFEST)
refused "$work/again.tar" "no header" "an archive that somebody packed again"
refused "$top/tests/fuzz/corpus/backup/traversal" "leads out" "an archive that leads out of its directory"
refused "$top/tests/fuzz/corpus/backup/oversized" "more than the whole file" "an archive that promises more than it has"
ln -s /etc/passwd "$work/untarred/callback.key"
(cd "$work/untarred" && tar cf "$work/link.tar" --format=ustar --owner=0 --group=0 --mode=0600 callback.key)
refused "$work/link.tar" "not a plain file" "an archive with a link in it"
refused "$work/key" "cut off" "a file that is none"
refused "$work/sealed.tar.sealed" "sealed with a passphrase" "a sealed archive without its passphrase"
echo 'another battery staple' >"$work/wrong"
out=$(restore "$work/sealed.tar.sealed" --passphrase-file "$work/wrong" --data-dir "$work/never" 2>&1); is $? 8 "a wrong passphrase is refused"
has "$out" "is this the passphrase" "and told to be that"

# --- an empty machine, another user ---
as=()
cp -L "$bin/anneald" "$work/one.tar" "$opened/"
if [ "$(id -u)" -eq 0 ]; then
    as=(setpriv --reuid=nobody --clear-groups)
    chown nobody "$other" "$opened/one.tar"
else
    echo "# not root: the same user restores"
fi
out=$("${as[@]}" "$opened/anneald" --restore "$opened/one.tar" --data-dir "$other/data" 2>&1); ok $? "another user restores it into an empty directory" "$out"
has "$out" "settings.yaml" "and is told how to go on"
is "$(find "$other/data" ! -user "$("${as[@]}" id -un)" | wc -l)" 0 "all of it is that user's"
is "$(find "$other/data" -type f ! -perm 600 -o -type d ! -perm 700 | wc -l)" 0 "and nobody else's"
[ "$(fence "$other/data")" -gt "$old_fence" ]; ok $? "its fence is above that of the server that was lost"
out=$(restore "$work/one.tar" --data-dir "$other/data" 2>&1); is $? 6 "a directory with something in it is refused"
has "$out" "not empty" "for that reason"

ln -s "$other/data" "$work/data" # where the test's tools look for it
: >"$work/log"
"${as[@]}" "$opened/anneald" --config "$other/data/settings.yaml" --data-dir "$other/data" --listen "127.0.0.1:$port" >>"$work/log" 2>&1 &
server_pid=$!
until_true 20 grep -q server.ready "$work/log"; ok $? "a server runs on it, at the same address, with the settings it had" "$(cat "$work/log")"
export ANNEAL_CACERT=$work/ca.pem
is "$(anneal node list -o json | jq -r '[.items[].name] | sort | join(" ")')" "n1.t n2.t n3.t" "with what there was when the backup was made: clients trust it as before"
until_true 30 attached; ok $? "the worker is back by itself, with the credential that it has" "$(tail -n 3 "$work/w1.log")"
kill -0 "$worker_pid"; ok $? "and was never started anew"
anneal -q deployment bind d tool=n2.t --wait=60s >"$work/out" 2>&1; ok $? "a task runs" "$(cat "$work/out")"
is "$(cat "$work/seen/n2.t")" "$secret a key of the fleet" "with the secret that was sealed and the resource that was uploaded before"
anneal role rerun tool --wait=60s >"$work/out" 2>&1; ok $? "what ran before runs again: its node takes the restored server" "$(cat "$work/out")"
anneal admin backup next >"$work/out" 2>&1; ok $? "and it is backed up in its turn" "$(cat "$work/out")"
stop; ok $? "it ends"
"${as[@]}" "$opened/anneald" --verify --data-dir "$other/data" >"$work/out" 2>&1; ok $? "journal and rows agree" "$(cat "$work/out")"
rm "$work/data"

# --- a sealed one ---
restore "$work/sealed.tar.sealed" --passphrase-file "$work/pass" --data-dir "$work/data" >"$work/out" 2>&1; ok $? "a sealed backup is restored with its passphrase" "$(cat "$work/out")"
[ -n "$(find "$work/data/logs" -name '*.log')" ]; ok $? "with the logs that were asked for"

# --- the key ---
mv "$work/data/secret.key" "$work/kept.key"
out=$(timeout 20 "$bin/anneald" --data-dir "$work/data" --listen 127.0.0.1:0 2>&1); is $? 6 "with sealed values and no key no server starts"
has "$out" "values of 1 provider are sealed, and secret.key is missing" "which is told"
has "$out" "--forget-secrets" "with the remedy"
[ ! -e "$work/data/secret.key" ]; ok $? "and no other key is made in silence"
tr 0-9 5 <"$work/kept.key" >"$work/data/secret.key"
out=$(timeout 20 "$bin/anneald" --data-dir "$work/data" --listen 127.0.0.1:0 2>&1); is $? 6 "nor with another one"
has "$out" "not the one that they were sealed with" "which is told"
cp "$work/kept.key" "$work/data/secret.key"
serve; ok $? "with its own it does"
stop
rm "$work/data/secret.key"
out=$("$bin/anneald" --forget-secrets --data-dir "$work/data" 2>&1); ok $? "whoever has lost it for good forgets what it sealed" "$out"
has "$out" 'provider lab: ["password"]' "and is told what must be given again"
serve; ok $? "then a server starts"
anneal -q provider set lab --set-file "password=$work/secret"; ok $? "and is given it"
stop

# --- a store alone, as backups were before ---
sqlite3 "$work/lost/anneal.db" ".backup $work/bare.db"
rm -rf "$work/data"; cp -r "$work/lost" "$work/data"
restore "$work/bare.db" --data-dir "$work/data" >"$work/out" 2>&1; ok $? "a store alone is still restored" "$(cat "$work/out")"
serve; ok $? "into the directory that has the rest"
is "$(anneal node list -o json | jq .total)" 4 "and a server starts on it"
stop

# --- killed at each step ---
shim=$(ls "$bin"/../tests/e2e/*killat*.so 2>/dev/null | head -n 1)
if [ -n "$shim" ] && [ -z "${ANNEAL_VARIANT:-}" ]; then
    KILLAT=0 KILLAT_COUNT=$work/steps LD_PRELOAD=$shim "$bin/anneald" --restore "$work/one.tar" --data-dir "$work/whole" >/dev/null; ok $? "a restore has so many steps"
    want=$("$bin/anneald" --verify --data-dir "$work/whole")
    steps=$(cat "$work/steps") wrong=0 finished=0
    for ((i = 1; i <= steps; i++)); do
        rm -rf "$work/half"
        { KILLAT=$i LD_PRELOAD=$shim "$bin/anneald" --restore "$work/one.tar" --data-dir "$work/half" >/dev/null; } 2>/dev/null
        got=$("$bin/anneald" --verify --data-dir "$work/half" 2>&1); code=$?
        case $code:$got in
        "0:$want") finished=$((finished + 1)); diff -rq -x anneal.db* "$work/whole" "$work/half" >/dev/null || wrong=$i ;; # all of it is there
        4:*"no store"*) ;;                                                               # nothing of it is
        6:*interrupted*) ;;                                                              # told, and not taken for a server's
        *) wrong=$i ;;
        esac
    done
    is "$wrong" 0 "killed at each of $steps steps: all of it is there, or nothing is taken for it"
    [ "$finished" -ge 1 ] && [ "$finished" -lt "$steps" ]; ok $? "($finished times the last step did not matter)"

    # The server, killed while it writes a backup: there is a whole one, or none, and nothing else.
    export KILLAT_PATH=/backups/killed
    for i in 1 2 3 4; do
        KILLAT=$i PRELOAD=$shim serve || ok 1 "a server that dies at step $i of a backup"
        out=$(anneal admin backup "killed$i" 2>&1); code=$?
        [ $code -ne 0 ] && { wait "$server_pid" 2>/dev/null; server_pid=; }
        [ $code -eq 0 ] && stop
        serve || ok 1 "the server starts again"
        is "$(ls -A "$work/data/backups" | grep -v '\.tar\(\.sealed\)\?$')$(ls -d "$work/data/backup.tmp" 2>/dev/null)" "" "step $i of a backup (exit $code): nothing of it is left over"
        stop
        [ ! -e "$work/data/backups/killed$i.tar" ] || restore "$work/data/backups/killed$i.tar" --data-dir "$work/of$i" >"$work/out" 2>&1
        ok $? "what is there is whole" "$(cat "$work/out")"
    done
    [ $code -eq 0 ]; ok $? "(there are three steps)"
    unset KILLAT_PATH
else
    echo "# no preloading here: nothing is killed"
fi
done_testing
