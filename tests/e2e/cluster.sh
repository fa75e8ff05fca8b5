# cluster.sh - sourced by tests of clusters: the shop of examples/clusters, whose machines are directories
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
. "${ANNEAL_TOP:?}/tests/e2e/lib.sh"
scratch=$work/scratch
mkdir -p "$scratch"
cp -r "$top/examples/clusters" "$work/catalog"
grep -rl /var/tmp/anneal-shop "$work/catalog" | xargs sed -i "s#/var/tmp/anneal-shop#$scratch#"

post() { api POST "$1" -H 'Content-Type: application/json' -d "$2"; }
# field DOCUMENT PATH...: a value of a JSON document, "" if it is not there
field() { python3 - "$@" <<'P'
import json, sys
v = json.loads(sys.argv[1].rsplit("\n", 1)[0])
for k in sys.argv[2:]:
    v = v[int(k)] if isinstance(v, list) else (v or {}).get(k)
print("" if v is None else v if isinstance(v, str) else json.dumps(v))
P
}
# operate VERB BODY: asks for it; $answer, $status and $op
operate() {
    local path=/v1/clusters/shop/$1
    [ "$1" = create ] && path=/v1/clusters
    : >"$scratch/log"
    answer=$(post "$path" "$2")
    status=${answer##*$'\n'}
    op=$(field "$answer" operation id)
}
op_state() { anneal operation show "$1" -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["state"])'; }
op_ended() { [ "$(op_state "$1")" != running ]; }
ended() { until_true 30 op_ended "$op"; op_state "$op"; }
# did: what the tasks since the last operate did, as "node service action" of node numbers, sorted
did() { awk '{sub(/^shop-/, "", $2); sub(/\..*/, "", $2); print $2, $3, $4}' "$scratch/log" | sort; }
count() { did | grep -c "$1"; }
nodes() { api GET /v1/clusters/shop | head -n 1 | python3 -c 'import json,sys; print(" ".join(str(n["number"]) for n in json.load(sys.stdin)["nodes"]))'; }
state() { api GET /v1/clusters/shop | head -n 1 | python3 -c 'import json,sys; print(json.load(sys.stdin)["state"])'; }
# noderoles: "node role state target", sorted
noderoles() { anneal noderole list --limit 1000 -o json | python3 -c '
import json, sys
v = json.load(sys.stdin)
for n in sorted((n["node"] or "-", n["role"], n["state"], n["target"]) for n in (v["items"] if isinstance(v, dict) else v)):
    print(*n)'; }
