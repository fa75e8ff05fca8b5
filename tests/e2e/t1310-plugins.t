#!/usr/bin/env bash
# Plugins on a real server: a cluster made by two of them, secrets that nobody sees, and plugins that misbehave.
. "${ANNEAL_TOP:?}/tests/e2e/lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'
secret_admin=open-sesame-47110815 secret_user=correct-horse-47110815
mkdir -p "$work/plugins"
cp -r "$top/examples/plugins/dirs" "$top/examples/plugins/files" "$work/plugins/"
cp -r "$top/examples/plugins/catalog" "$work/catalog"
sed -i "s#/var/tmp/anneal-lab#$work/lab#" "$work/catalog/lab/barclamp.yaml"
printf '%s\n' "$secret_admin" >"$work/admin.txt"
printf '%s\n' "$secret_user" >"$work/user.txt"

# A plugin that does as its action says, badly.
mkdir "$work/plugins/bad"
cat >"$work/plugins/bad/plugin.yaml" <<'END'
plugin: bad
type: automator
version: "1"
protocol: 1
executable: run
actions: {garbage: {}, flood: {}, crash: {}, early: {}, endless: {timeout: 500ms}, leak: {}}
types: {bad: {fields: {user: {key: {type: password}}}}}
END
cat >"$work/plugins/bad/run" <<'END'
#!/bin/sh
read -r doc
case $doc in
*'"action":"garbage"'*) echo hello; echo '{"result":{}}' ;;
*'"action":"flood"'*) exec head -c 1000000000 /dev/zero ;;
*'"action":"crash"'*) echo 'it broke' >&2; kill -SEGV $$ ;;
*'"action":"early"'*) exec >&-; exit 0 ;;
*'"action":"endless"'*) trap '' TERM; echo $$ >"$0.pid"; (while :; do sleep 5; done) ;;
*'"action":"leak"'*)
    key=$(printf '%s' "$doc" | sed -n 's/.*"fields":{[^{}]*"password":"\([^"]*\)".*/\1/p')
    printf '{"log":"the key is %s"}\n' "$key"
    printf '%s' "$key" | cut -c1-9 | tr -d '\n' >&2
    printf '%s\n' "$key" | cut -c10- >&2
    printf '{"result":{"got":"%s","length":%d}}\n' "$key" "${#key}" ;;
esac
END
chmod +x "$work/plugins/bad/run"
catalog misbehaved <<'END'
barclamp: misbehaved
version: "1"
roles:
  - {name: garbage, jig: plugin, actions: {converge: [{name: t, params: {plugin: bad, action: garbage}}]}}
  - {name: flood, jig: plugin, actions: {converge: [{name: t, params: {plugin: bad, action: flood}}]}}
  - {name: crash, jig: plugin, actions: {converge: [{name: t, params: {plugin: bad, action: crash}}]}}
  - {name: early, jig: plugin, actions: {converge: [{name: t, params: {plugin: bad, action: early}}]}}
  - {name: endless, jig: plugin, actions: {converge: [{name: t, params: {plugin: bad, action: endless}}]}}
  - {name: leak, jig: plugin, actions: {converge: [{name: t, params: {plugin: bad, action: leak, provider: lab}}]}}
  - {name: nobody, jig: plugin, actions: {converge: [{name: t, params: {plugin: nobody}}]}}
END
cp -r "$work/misbehaved/misbehaved" "$work/catalog/"

start --set "plugin_path=$work/plugins"
ok $? "a server with plugins"
out=$(anneal plugin list 2>&1)
has "$out" dirs "the provider is listed"
has "$out" automator "and so is the automator"
out=$(anneal plugin show dirs 2>&1)
has "$out" find "a plugin's probe is shown"
has "$out" password "and its fields"

# --- providers ---
anneal -q catalog load "$work/catalog" || ok 1 "the catalog"
out=$(anneal provider add lab --type dirs --set-file "password=$work/admin.txt" 2>&1)
is $? 2 "a provider without what is required is refused"
has "$out" "needs root" "with what is missing"
out=$(anneal provider add lab --type nobody --set root=/x 2>&1)
is $? 6 "a type that no plugin serves is refused"
out=$(anneal provider add lab --type dirs --set "root=$work/lab/machines" --set key=abcdefgh 2>&1)
has "$out" "said in each request" "a user's field is none of an admin's"
out=$(anneal provider add lab --type dirs --set "root=$work/lab/machines" --set-file "password=$work/admin.txt" 2>&1)
is "$out" "provider lab made" "a provider"
is "$(stat -c %a "$work/data/secret.key")" 600 "the key is its owner's only"
out=$(anneal provider show lab -o json)
has "$out" '"password":"***"' "a secret is shown as a mask"
out=$(anneal provider set lab --set root=7 --set-file "password=$work/user.txt" 2>&1)
is "$out" "provider lab changed" "fields are changed"
anneal -q provider set lab --set "root=$work/lab/machines" --set-file "password=$work/admin.txt"
out=$(anneal provider add lab --type dirs 2>&1)
has "$out" "already" "a provider is added once"

# --- a cluster ---
out=$(anneal cluster create one --template lab --nodes 2 2>&1)
is $? 2 "a cluster whose provider needs more is refused"
has "$out" "needs key" "naming what"
out=$(anneal cluster create one --template lab --nodes 2 --field-file "key=$work/user.txt" --field size=5 --wait=60s 2>&1)
ok $? "a cluster made by plugins" "$out"
is "$(ls "$work/lab/machines" | wc -l)" 2 "has its machines"
is "$(cat "$work/lab/services/"*/web | sort | uniq -c | tr -s ' \n' ' ')" " 2 install 2 start " "and its services"
has "$(cat "$work/lab/machines/"*/machine.json | head -n 1)" '"size": 5' "fields of the request reached the plugin"
out=$(anneal cluster expand one --by 1 --wait=60s 2>&1)
ok $? "what was said once need not be said again" "$out"
is "$(ls "$work/lab/machines" | wc -l)" 3 "it has grown"

# --- after a kill: sealed values open again ---
crash
start --set "plugin_path=$work/plugins"
out=$(anneal cluster expand one --by 1 --wait=60s 2>&1)
ok $? "after a crash of the server too" "$out"

# --- killed when the machine is made and nobody has been told: found again, not made twice ---
cat >>"$work/made.py" <<'END'
            with open("makings", "a", encoding="utf-8") as log:
                log.write(str(self.place) + "\n")
            import time
            while pathlib.Path("slow").exists():
                time.sleep(0.05)
END
sed -i "/making.rename(self.place)/r $work/made.py" "$work/plugins/dirs/dirs.py"
touch "$work/plugins/dirs/slow"
op=$(anneal cluster expand one --by 1 -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["operation"]["id"])')
until_true 20 test -s "$work/plugins/dirs/makings"
ok $? "a machine is made, and its plugin has not answered"
crash
rm "$work/plugins/dirs/slow"
start --set "plugin_path=$work/plugins"
anneal operation watch "$op" >"$work/out" 2>&1
ok $? "after a restart the operation goes on to its end" "$(cat "$work/out")"
is "$(wc -l <"$work/plugins/dirs/makings")" 1 "the machine was made once"
is "$(ls "$work/lab/machines" | wc -l)" 5 "and there is no other"
has "$(for t in $(anneal task list --limit 1000 -o name); do anneal task attempts "$t" -o json; done)" \
    "found by find: an earlier attempt had got there" "the probe found it"

# --- misbehaviour ---
anneal -q deployment add zoo
nodes n1 n2 n3 n4 n5 n6 n7
task_on() { anneal task list -o json | python3 -c 'import json,sys; print([t["id"] for t in json.load(sys.stdin)["items"] if t["node"]==sys.argv[1]][0])' "$1"; }
fails() { # ROLE NODE TEXT [REASON]
    local id
    anneal deployment bind zoo "$1=$2" --wait=60s >"$work/out" 2>&1
    is $? 11 "$1: the operation fails"
    id=$(task_on "$2")
    has "$(anneal task attempts "$id" -o json)" "$3" "$1: and says why"
    is "$(anneal task show "$id" -o json | python3 -c 'import json,sys; t=json.load(sys.stdin); print(t["state"], t["reason"])')" "FAILED ${4:-exit}" "$1: the task has failed"
    has "$(anneal why "task/$id")" "$3" "$1: why has its words"
}
fails garbage n1 "does not keep to the protocol: line 1 of its output is not JSON"
fails flood n2 "it was ended: line 1 of its output is longer than"
fails crash n3 "ended by signal 11: it broke"
fails early n4 "it ended without a result"
fails endless n5 "gives endless 500ms, and it took longer" timeout
[ -n "$(cat "$work/plugins/bad/run.pid")" ] && ! kill -0 "$(cat "$work/plugins/bad/run.pid")" 2>/dev/null
ok $? "endless: and nothing of it is left"
fails nobody n7 "there is no plugin"
anneal deployment bind zoo leak=n6 --wait=60s >"$work/out" 2>&1
ok $? "a plugin that tells its secret" "$(cat "$work/out")"
task=$(task_on n6)
out=$(anneal task log "$task" 2>&1)
has "$out" 'the key is ***' "has it masked in its log"
case $out in *open-ses*) ok 1 "in pieces too" "$out" ;; *) ok 0 "in pieces too" ;; esac

# --- nowhere in clear ---
anneal -q admin backup clear || ok 1 "a backup"
anneal events --since 0 -o json >"$work/events" 2>&1 || api GET '/v1/events?since=0' --max-time 2 >"$work/events"
api GET /v1/clusters/one >"$work/answer"; api GET /v1/providers >>"$work/answer"; api GET /v1/metrics >>"$work/answer"
stop
for secret in "$secret_admin" "$secret_user"; do
    found=$(grep -rla -- "$secret" "$work/data" "$work/log" "$work/events" "$work/answer" "$work/out")
    is "$found" "" "no file of the server, no answer and no event has ${secret%%-4*}"
done
grep -rqa "$secret_user" "$work/user.txt"
ok $? "(and looking for it would find it)"

# --- the end ---
start --set "plugin_path=$work/plugins"
count() { python3 - "$work/data" <<'P'
import sqlite3, sys, glob
c = sqlite3.connect(glob.glob(sys.argv[1] + "/*.db")[0])
print(c.execute("select count(*) from credential").fetchone()[0])
P
}
is "$(count)" 1 "the cluster has said something in confidence"
anneal cluster delete one --yes --wait=60s >"$work/out" 2>&1
ok $? "the cluster is deleted" "$(cat "$work/out")"
is "$(ls "$work/lab/machines" | wc -l)" 0 "with its machines"
wiped() { [ "$(count)" = 0 ]; }
until_true 20 wiped
ok $? "and what it said in confidence is wiped"
anneal -q provider remove lab --yes
is "$(anneal provider list -o name | wc -l)" 0 "a provider is removed"

# --- the kit ---
for p in dirs files; do
    out=$(anneal plugin check "$top/examples/plugins/$p" 2>&1)
    ok $? "the kit passes examples/plugins/$p" "$out"
done
out=$(anneal plugin check "$work/plugins/bad" 2>&1)
is $? 11 "and not one that is bad"
has "$out" "FAIL" "which it says"
printf 'plugin: x\ntype: provder\n' >"$work/plugins/bad/plugin.yaml"
out=$(anneal plugin check "$work/plugins/bad" 2>&1)
has "$out" "plugin.yaml:2:7" "a descriptor that is wrong is told with its place"
has "$(anneal plugin list)" "cannot be used" "and by the server, at once"
done_testing
