#!/usr/bin/env bash
# Everything a user can get wrong: refused with the place and the remedy, and nothing half-applied.
. "$(dirname "$0")/lib.sh"

lint() { "$bin/anneal" lint "$work/$1" 2>&1; }
catalog broken <<'Y'
barclamp: broken
roles:
  - name: a
    jig: noop
   requires: [b]
Y
out=$(lint broken); [ $? -eq 2 ]; ok $? "malformed YAML is exit code 2" "$out"
has "$out" "barclamp.yaml:5:" "with file and line"
has "$out" "requires: [b]" "and the line itself"
catalog loop <<'Y'
barclamp: loop
version: 1.0.0
roles:
  - {name: a, jig: noop, requires: [b]}
  - {name: b, jig: noop, requires: [c]}
  - {name: c, jig: noop, requires: [a]}
Y
out=$(lint loop); ok $((! $?)) "a cycle is refused"
has "$out" "a -> b -> c -> a" "with its whole path"
catalog near <<'Y'
barclamp: near
version: 1.0.0
roles:
  - {name: database, jig: noop}
  - {name: web, jig: noop, requires: [databse]}
Y
out=$(lint near); ok $((! $?)) "an unknown name is refused"
has "$out" "database" "with the name that was meant"
catalog implied <<'Y'
barclamp: implied
version: 1.0.0
roles:
  - {name: a, jig: noop}
  - {name: b, jig: noop, requires: [a]}
  - {name: c, jig: noop, requires: [a, b]}
Y
out=$(lint implied); ok $? "an implied requirement is only a warning" "$out"
has "$out" "warning" "and it is told"

start || exit 1
anneal -q catalog load "$top/examples/catalog"
out=$(anneal catalog load "$work/loop" 2>&1); ok $((! $?)) "the server refuses the cycle too"
is "$(anneal -o json catalog show | jq .generation)" 1 "and the last good catalog stays"
nodes n1.t

out=$(api POST /v1/nodes -H 'Content-Type: application/json' -d '{"name": "x.t"'); is "${out##*$'\n'}" 400 "malformed JSON is 400"
has "$out" "line" "naming the place"
out=$(api POST /v1/nodes -H 'Content-Type: application/json' -d '{"name": 7}'); is "${out##*$'\n'}" 400 "a wrong type is 400"
has "$out" '"pointer":"/name"' "with a pointer to the field"
out=$(api POST /v1/nodes -H 'Content-Type: application/json' -d '{"name": "x.t", "lables": {}}'); is "${out##*$'\n'}" 400 "an unknown field is 400"
has "$out" "labels" "with the field that was meant"
out=$(api POST /v1/nodes -H 'Content-Type: application/json' -d '{"name": "n1.t"}'); is "${out##*$'\n'}" 409 "a name that is taken is 409"
head -c 20000 /dev/zero | tr '\0' '[' >"$work/deep"
out=$(api POST /v1/nodes -H 'Content-Type: application/json' --data-binary "@$work/deep"); is "${out##*$'\n'}" 400 "20,000 levels of nesting are refused"
head -c 9000000 /dev/zero | tr '\0' ' ' >"$work/large"
out=$(api POST /v1/nodes -H 'Content-Type: application/json' --data-binary "@$work/large"); is "${out##*$'\n'}" 413 "a body over the limit is 413"
has "$out" "body_limit" "naming the setting"
out=$(api PATCH /v1/nodes/n1.t -H 'Content-Type: application/json' -d '{"note": "x"}'); is "${out##*$'\n'}" 428 "a PATCH without If-Match is 428"
out=$(api PATCH /v1/nodes/n1.t -H 'Content-Type: application/json' -H 'If-Match: "99"' -d '{"note": "x"}'); is "${out##*$'\n'}" 412 "a stale one is 412"
out=$(curl -s -o /dev/null -w '%{http_code}' -X POST -H 'Content-Type: application/json' -d '{"name": "x.t"}' "$ANNEAL_SERVER/v1/nodes"); is "$out" 401 "no write without a token"
out=$(anneal deployment bind system databse=n1.t 2>&1); ok $((! $?)) "a binding of an unknown role is refused"
has "$out" "database" "with the role that was meant"
out=$(anneal deployment bind system database=n2.t 2>&1); ok $((! $?)) "a binding to an unknown node is refused"
is "$(anneal noderole list -o json | jq -c '[.items[].role]')" '["machine"]' "and nothing was bound: only the machine is there"
key=$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
one=$(api POST /v1/nodes -H 'Content-Type: application/json' -H "Idempotency-Key: $key" -d '{"name": "twice.t"}')
two=$(api POST /v1/nodes -H 'Content-Type: application/json' -H "Idempotency-Key: $key" -d '{"name": "twice.t"}')
is "$two" "$one" "the same request with the same key has the same answer"
out=$(api POST /v1/nodes -H 'Content-Type: application/json' -H "Idempotency-Key: $key" -d '{"name": "other.t"}'); is "${out##*$'\n'}" 409 "another request with it is 409"
stop
done_testing
