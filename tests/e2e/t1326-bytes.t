#!/usr/bin/env bash
# What a task is given arrives on its node byte for byte: the digest that the node makes of it is the one in the journal.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
command -v python3 >/dev/null || skip_all 'no python3'

out=$(fleet up 1 2>&1); ok $? "a host" "$out"
# Texts that a shell, a terminal or a careless JSON writer would change.
python3 - "$work" <<'P'
import json, os, sys
work = sys.argv[1]
every = "".join(chr(c) for c in range(1, 256)) + "\u2028\u2029\ufeff\U0001f525\u05d0\u0301"
odd = "'\"`$(id) ${HOME} $((1+1)) \\ \\\\ \\n %s %% !! ~ * ? [a] {a,b} & ; | < > # \t\r\n\n  trailing  "
long = "".join("%06d '\"$x\n" % i for i in range(256 * 1024 // 12))
args = ["", " ", "-n", "--", odd, "a\nb\n", every, "*", "\\"]
texts = {"every": every, "odd": odd, "long": long, "list": [every, {odd: [1, 2.5, None, True]}], every: "as a key"}
os.makedirs(work + "/b/b")
os.makedirs(work + "/tree/sub")
open(work + "/tree/bytes", "wb").write(bytes(range(256)) * 1024)
open(work + "/tree/empty", "wb")
open(work + "/tree/sub/cut", "wb").write(b"no newline at the end\0")
open(work + "/every", "w", newline="").write(every + odd)
open(work + "/args", "wb").write(b"".join(a.encode() + b"\0" for a in args))
json.dump(texts, open(work + "/texts.json", "w"))
keep = "cat >/root/%s.input; cmp /root/%s.input \"$ANNEAL_INPUT_FILE\" || exit 1"
role = lambda name, *tasks: {"name": name, "jig": "shell", "actions": {"converge": list(tasks)}}
shell = lambda name, **params: {"name": name, "params": params}
roles = [
    role("texts", shell("doc", script=keep % ("doc", "doc"), texts=texts, env={"ODD": odd}),
         shell("words", command=["sh", "-c", "cat >/root/words.input; printf '%s\\0' \"$@\" >/root/args", "x"] + args),
         shell("variable", script="cat >/root/variable.input; printf %s \"$ODD\" >/root/odd", env={"ODD": odd})),
    role("file", {"name": "put", "type": "upload_file", "params": {"path": "/srv/every", "data": every + odd}}),
    role("files", {"name": "puts", "type": "upload_files", "params": {"files": [
        {"path": "/srv/f 1", "data": odd}, {"path": "/srv/f'2", "data": every}, {"path": "/srv/f3", "data": ""}]}}),
    role("copies", {"name": "copy", "type": "copy_files", "params": {"files": [{"src": work + "/tree", "dst": "/srv/tree"}]}}),
    role("telling", shell("tells", script="cat /root/told.json >&3")),
    {"requires": ["telling"]} | role("seen", shell("sees", script=keep % ("sees", "sees"))),
]
text = json.dumps({"barclamp": "b", "version": "1", "roles": roles})
open(work + "/b/b/barclamp.yaml", "w").write(text.replace("\\ud83d\\udd25", "\\U0001f525"))  # YAML has no surrogates
P
serve_bed; ok $? "a server beside it"
out=$(anneal catalog load "$work/b" 2>&1); ok $? "a catalog of odd texts" "$out"
bed_nodes; ok $? "the node"
bind() { anneal -q deployment bind system "$1=h0001.t" --wait=60s >/dev/null && op=$(last); }
# What the journal says that the node was given in the last attempt of this task.
given() {
    local id
    id=$(task_id "$op" "$1")
    anneal events --since 0 -o json 2>/dev/null | jq -r --argjson id "$id" 'select(.kind == "result" and .input.id == $id) | .input.digest' | tail -n 1
}
arrived() { fleet exec h0001 sh -c "cat $1 | b2sum -l 128" | cut -d' ' -f1; } # FILES
is_given() { # TASK FILES LABEL
    local digest
    digest=$(given "$1")
    is "${#digest}" 32 "$3: the journal has a digest"
    is "$(arrived "$2")" "$digest" "$3: the node makes the same of what arrived"
}

# --- programs: standard input
bind texts; ok $? "programs with odd parameters"
is_given doc /root/doc.input "a document of 260 KiB"
ok "$([ "$(fleet exec h0001 stat -c %s /root/doc.input)" -gt 262144 ]; echo $?)" "(it is as large as that)"
is "$(fleet exec h0001 cat /root/doc.input | jq -S .params.texts | sha256sum)" "$(jq -S . "$work/texts.json" | sha256sum)" "its texts are what was written"
is_given words /root/words.input "a program with arguments"
is "$(fleet exec h0001 sha256sum </dev/null /root/args | cut -d' ' -f1)" "$(sha256sum <"$work/args" | cut -d' ' -f1)" "which are what was written"
is_given variable /root/variable.input "a program with variables"
is "$(fleet exec h0001 cat /root/odd | sha256sum)" "$(jq -j .odd "$work/texts.json" | sha256sum)" "which are what was written"
fleet exec h0001 sh -c 'printf x >>/root/doc.input'
[ "$(arrived /root/doc.input)" != "$(given doc)" ]; ok $? "(one byte more would show)"

# --- files
bind file; ok $? "a file"
is_given put /srv/every "it"
is "$(fleet exec h0001 cat /srv/every | sha256sum)" "$(sha256sum <"$work/every")" "is what was written"
bind files; ok $? "several files with odd names"
is_given puts "'/srv/f 1' \"/srv/f'2\" /srv/f3" "they, one behind the other"
bind copies; ok $? "files with all bytes there are"
is_given copy "/srv/tree/bytes /srv/tree/empty /srv/tree/sub/cut" "they"
is "$(fleet exec h0001 cat /srv/tree/bytes /srv/tree/sub/cut | sha256sum)" "$(cat "$work/tree/bytes" "$work/tree/sub/cut" | sha256sum)" "are those of the controller"
anneal -q noderole rerun "$(anneal noderole list --limit 100 -o json | jq -r '.items[] | select(.role == "copies") | .id')" --wait=30s >/dev/null
op=$(last)
is "$(given copy)" null "nothing is sent again, and there is no digest of it"

# --- data: what many tasks see is sent to a worker once, by its own digest, and is part of each one's document
jq -c '{seen: {every, odd, long: (.long[:20000])}}' "$work/texts.json" >"$work/data.json"
fleet exec h0001 sh -c 'cat >/root/told.json' <"$work/data.json"
bind telling; ok $? "a program that returns 20 KiB"
bind seen; ok $? "a program that sees data"
is_given sees /root/sees.input "its document"
is "$(fleet exec h0001 cat /root/sees.input | jq -S .data.seen | sha256sum)" "$(jq -S .seen "$work/data.json" | sha256sum)" "has them as they were returned"

# --- the end
stop; ok $? "the server ends"
out=$(fleet enter "$real/anneald" --verify --data-dir "$work/data" 2>&1); ok $? "its journal can be replayed" "$out"
fleet down >/dev/null 2>&1; ok $? "the host goes"
done_testing
