#!/usr/bin/env bash
# Resources of plugins on a real server: uploaded in parts over a crash, staged, synced, used by tasks that run, lost from disk.
. "${ANNEAL_TOP:?}/tests/e2e/lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'
mkdir -p "$work/plugins/tool" "$work/seen"
cat >"$work/plugins/tool/plugin.yaml" <<'END'
plugin: tool
type: automator
version: "1.2"
protocol: 1
executable: run
actions: {install: {}}
types:
  tool: {resources: {images: {format: archive}, keys: {format: file, permissions: "0400"}}}
END
# It writes what it was given, waits while it is told to, and reads its files again: they must be as they were.
cat >"$work/plugins/tool/run" <<END
#!/usr/bin/env python3
import json, os, pathlib, sys, time
doc = json.load(sys.stdin)
got = {}
def look():
    for kind, names in doc.get("resources", {}).items():
        for name, r in names.items():
            p = pathlib.Path(r["path"])
            text = (p / "etc" / "release").read_text() if p.is_dir() else p.read_text()
            got[kind + "/" + name] = [r["version"], text.strip(), oct((p / "etc" / "release" if p.is_dir() else p).stat().st_mode & 0o777)]
look()
first, seen = dict(got), pathlib.Path("$work/seen") / doc["node"]["name"]
seen.write_text(json.dumps(got, sort_keys=True))
while pathlib.Path("$work/hold-" + doc["node"]["name"]).exists():
    time.sleep(0.05)
look()
print(json.dumps({"result": {}} if got == first else {"error": {"text": "a resource changed under it"}}))
END
chmod +x "$work/plugins/tool/run"
catalog tools <<'END'
barclamp: tools
version: "1"
roles: [{name: tool, jig: plugin, actions: {converge: [{name: install, params: {type: tool}}]}}]
END
image() { # VERSION FILE
    rm -rf "$work/image" && mkdir -p "$work/image/etc" && echo "image $1" >"$work/image/etc/release"
    tar czf "$2" -C "$work/image" etc
}
image 1 "$work/image1.tgz"; image 2 "$work/image2.tgz"
echo 'a key' >"$work/key"
task_on() { anneal task list --limit 1000 -o json | python3 -c 'import json,sys; print([t["id"] for t in json.load(sys.stdin)["items"] if t["node"]==sys.argv[1]][0])' "$1"; }
of() { anneal resource show "$1" -o json | python3 -c 'import json,sys; v=json.load(sys.stdin); print(" ".join(i["state"] for i in v["items"]))'; }

start --set "plugin_path=$work/plugins"
ok $? "a server with a plugin that has resources"
anneal -q catalog load "$work/tools" && anneal -q deployment add d && nodes n1 n2 n3 n4 n5
ok $? "a catalog and nodes"

# --- versions ---
out=$(anneal resource upload tool/images debian "$work/image1.tgz" 2>&1)
is "$out" "tool/images/debian@1 is inactive" "an upload is a version that nobody gets"
out=$(anneal resource upload tool/keys root "$work/key" 2>&1)
is "$out" "tool/keys/root@1 is inactive" "of any kind that the type declares"
out=$(anneal resource upload tool/image debian "$work/key" 2>&1)
is $? 6 "a kind that is not declared is refused"
has "$out" "did you mean images" "with the nearest"
is "$(stat -c %a "$work/data/resources/"[0-9a-f]* | sort -u)" 600 "contents are their owner's only"
out=$(anneal resource stage debian 2>&1)
is "$out" "tool/images/debian@1 is staged" "it is staged"
anneal -q resource stage keys/root@1
out=$(anneal resource delete debian@1 --yes 2>&1)
is $? 5 "what is staged is not deleted"
out=$(anneal resource sync 2>&1)
is "$out" "2 became active, 0 inactive" "a sync makes all of it active"

# --- tasks ---
anneal deployment bind d tool=n1 --wait=60s >"$work/out" 2>&1
ok $? "a task with resources" "$(cat "$work/out")"
is "$(cat "$work/seen/n1")" '{"images/debian": [1, "image 1", "0o444"], "keys/root": [1, "a key", "0o400"]}' "has an archive unpacked and a file with its mode"

touch "$work/hold-n2"
anneal -q deployment bind d tool=n2
until_true 20 test -s "$work/seen/n2"
ok $? "an older task runs"
anneal -q resource upload tool/images debian "$work/image2.tgz"
anneal -q resource stage debian
is "$(of debian)" "recalled staged" "staging another version recalls the one that is active"
anneal deployment bind d tool=n3 --wait=60s >"$work/out" 2>&1
has "$(cat "$work/seen/n3")" '[1, "image 1"' "until the sync tasks get the old one"
anneal -q resource sync
is "$(of debian)" "inactive active" "then the new one is active"
anneal deployment bind d tool=n4 --wait=60s >"$work/out" 2>&1
has "$(cat "$work/seen/n4")" '[2, "image 2"' "and tasks get it"
rm "$work/hold-n2"
ended() { anneal task show "$(task_on n2)" -o json | grep -q '"state":"DONE"'; }
until_true 20 ended
ok $? "while the older task keeps what it has"

# --- content that is gone ---
digest=$(anneal resource show debian@2 -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["digest"])')
stop
mv "$work/data/resources/$digest" "$work/aside"
start --set "plugin_path=$work/plugins"
anneal -q deployment bind d tool=n5
waits() { anneal task show "$(task_on n5)" -o json | grep -q '"state":"WAITING"'; }
until_true 20 waits
ok $? "a task whose content was removed from disk waits"
has "$(anneal task attempts "$(task_on n5)" -o json)$(anneal why task/"$(task_on n5)")" "images debian version 2 is not on the server's disk" "and the reason is told"
mv "$work/aside" "$work/data/resources/$digest"
anneal -q task poke "$(task_on n5)"
there() { test -s "$work/seen/n5"; }
until_true 20 there
ok $? "when it is back the task runs"

# --- killed between two parts ---
head -c 6000000 /dev/urandom >"$work/big"
sum=$(python3 -c 'import hashlib,sys; print(hashlib.blake2b(open(sys.argv[1],"rb").read(), digest_size=16).hexdigest())' "$work/big")
part() { # OFFSET BYTES
    python3 -c 'import base64,json,sys; f=open(sys.argv[1],"rb"); f.seek(int(sys.argv[2])); print(json.dumps({"size": 6000000, "offset": int(sys.argv[2]), "content": base64.b64encode(f.read(int(sys.argv[3]))).decode()}))' "$work/big" "$1" "$2" >"$work/body"
    api POST "/v1/contents/$sum" -H 'Content-Type: application/json' --data-binary "@$work/body"
}
has "$(part 0 2000000)" '"received":2000000' "a first part"
crash
start --set "plugin_path=$work/plugins"
has "$(api GET "/v1/contents/$sum")" '"received":2000000,"complete":false' "after a kill it is still there"
has "$(part 0 2000000)" 409 "and is not sent again"
has "$(part 2000000 1000000)" '"received":3000000' "a second part"
crash
start --set "plugin_path=$work/plugins"
out=$(anneal -v resource upload tool/keys big "$work/big" 2>&1)
ok $? "the command goes on from there" "$out"
cmp "$work/big" "$work/data/resources/$sum"
ok $? "and the content is whole"
is "$(ls -A "$work/data/resources/incoming")" "" "with nothing left of its parts"
crash
start --set "plugin_path=$work/plugins"
is "$(of keys/big)" inactive "its version is there after a kill, with its content"

# --- the end of a version ---
test -e "$work/data/resources/$sum" && anneal -q resource delete big --yes
ok $? "an inactive version is deleted"
gone() { ! test -e "$work/data/resources/$sum"; }
until_true 20 gone
ok $? "and its content with it"
anneal -q resource recall root && anneal -q resource sync
is "$(of root)" inactive "what is recalled is inactive after a sync"
out=$(anneal plugin list 2>&1)
has "$out" tool "the plugin is listed"
stop
ok $? "the server ends"
done_testing
