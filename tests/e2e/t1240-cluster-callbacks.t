#!/bin/bash
# Callbacks of a cluster: signed, in time, repeated, and no obstacle unless they are meant to be one.
# SPDX-License-Identifier: Apache-2.0
. "${ANNEAL_TOP:?}/tests/e2e/cluster.sh"

# A receiver that keeps what it is sent and answers what $work/answers says, a word for each request:
# a status, or "hang" to say nothing until the caller goes away; 200 when there are no more.
cat >"$work/receiver.py" <<'P'
import http.server, json, os, sys, threading, time
calls, answers = sys.argv[1:3]
lock = threading.Lock()
class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with lock:
            words = open(answers).read().split() if os.path.exists(answers) else []
            open(answers + ".new", "w").write("\n".join(words[1:]))
            os.replace(answers + ".new", answers)
            answer = words[0] if words else "200"
            with open(calls, "a") as f:
                f.write(json.dumps({"at": time.time_ns(), "path": self.path, "answer": answer, "body": body,
                                    "headers": {k.lower(): v for k, v in self.headers.items()}}) + "\n")
        if answer == "hang":
            self.rfile.read(1)
            return
        self.send_response(int(answer))
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *args):
        pass
class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *args):
        pass
server = Server(("127.0.0.1", 0), Receiver)
print(server.server_address[1], flush=True)
server.serve_forever()
P
exec 3< <(exec python3 "$work/receiver.py" "$work/calls" "$work/answers")
receiver=$!
trap 'kill "$receiver" 2>/dev/null; finish' EXIT
read -r -t 10 -u 3 receiver_port || skip_all "no receiver"
url=http://127.0.0.1:$receiver_port/hook?token=hush

# callbacks MAP: what the shop's template says from now on
callbacks() {
    sed -i '/^  callbacks:/d' "$work/catalog/shop/templates/shop.yaml"
    echo "  callbacks: $1" >>"$work/catalog/shop/templates/shop.yaml"
    anneal catalog load "$work/catalog" >/dev/null
}
# answering WORD...: forgets what was sent, and what comes next is answered so
answering() { : >"$work/calls"; printf '%s\n' "$@" >"$work/answers"; }
# calls PYTHON: an expression over the list `c` of what was sent; b(x): its body, h(x, name): a header
calls() { python3 - "$work" "$work/data/callback.key" "$scratch/log" "$1" <<'P'
import hashlib, hmac, json, os, sys
work, key, log, what = sys.argv[1:]
c = [json.loads(line) for line in open(work + "/calls")] if os.path.exists(work + "/calls") else []
done = [int(line.split()[0]) for line in open(log)] if os.path.exists(log) else []
b = lambda x: json.loads(x["body"])
h = lambda x, name: x["headers"].get(name, "")
def sound(x):
    digest = hmac.new(open(key).read().strip().encode(), x["body"].encode(), hashlib.sha256).hexdigest()
    return h(x, "anneal-signature") == "sha256=" + digest
v = eval(what)
print(v if isinstance(v, str) else json.dumps(v))
P
}
called() { [ "$(calls 'len(c)')" -ge "$1" ]; }
events() { calls '" ".join(h(x, "anneal-event") for x in c)'; }

start || { echo "1..0 # SKIP no server"; exit 0; }
callbacks "{url: \"$url\"}"; ok $? "a template with callbacks"

# --- start and success
answering
operate create '{"name":"shop","template":"shop","nodes":3}'
is "$status" 201 "asked for" || echo "# $answer"
is "$(ended)" succeeded "created"
is "$(events)" "start success" "who is named is told of both"
is "$(calls 'c[0]["at"] < min(done)')" true "of the start before anything is done"
is "$(calls 'c[1]["at"] > max(done)')" true "of the end when all is"
is "$(calls 'all(sound(x) for x in c)')" true "signed with the server's key"
is "$(stat -c %a "$work/data/callback.key")" 600 "which is its own"
is "$(calls 'h(c[0], "anneal-delivery") != h(c[1], "anneal-delivery")')" true "each is a delivery of its own"
is "$(calls 'c[0]["path"]')" "/hook?token=hush" "at the whole address"
is "$(calls 'h(c[0], "content-type")')" application/json "as JSON"
is "$(calls '[b(x)["event"] for x in c]')" '["start", "success"]' "the text names the event, too"
is "$(calls 'b(c[1])["cluster"]["name"] + " " + b(c[1])["cluster"]["template"] + " " + b(c[1])["cluster"]["owner"]')" "shop shop admin" "the cluster"
is "$(calls 'str(b(c[1])["operation"]["id"]) + " " + b(c[1])["operation"]["kind"]')" "$op cluster-create" "the operation"
is "$(calls 'b(c[1])["operation"]["counts"]["failed"]')" 0 "how it went"
is "$(calls '[n["number"] for n in b(c[1])["nodes"]]')" "[1000, 1001, 1002]" "and the nodes"
is "$(calls 'sorted(b(c[1])["nodes"][0])')" '["hardware", "image", "ipaddresses", "name", "number", "services"]' "with what is known of them"
is "$(calls 'sorted({s for n in b(c[1])["nodes"] for s in n["services"]})')" '["balancer", "base", "cache", "database", "metrics", "web"]' "and what is on them"
grep -q "$(cat "$work/data/callback.key")" "$work/log"; is $? 1 "the key is in no log"
grep -q "hush" "$work/log"; is $? 1 "nor is the address"
anneal admin check >/dev/null; ok $? "the store is sound"

# --- failure
answering
mkdir -p "$scratch/fail"
touch "$scratch/fail/shop-1000.shop.example-base-configure"
operate configure '{"config":{"base":{"x":1}}}'
is "$(ended)" failed "an operation that fails"
is "$(events)" "start failure" "is told as such"
is "$(calls 'b(c[1])["operation"]["counts"]["failed"] > 0')" true "with how many"
is "$(calls 'all(sound(x) for x in c)')" true "signed"

failed=$(calls 'h(c[1], "anneal-delivery")')
answering
anneal operation retry "$op" >/dev/null; ok $? "it is retried"
is "$(ended)" succeeded "and succeeds"
is "$(events)" success "which is told as well"
[ "$(calls 'h(c[0], "anneal-delivery")')" != "$failed" ]; ok $? "as another delivery"

# --- a roll-out that stops
answering
touch "$scratch/fail/shop-1001.shop.example-web-start"
operate configure '{"config":{"web":{"x":1}},"services":["web"],"restart":true,"in_turn":true}'
is "$(ended)" failed "a roll-out that stops"
is "$(events)" "start failure" "is told as a failure, at once"
answering
anneal operation retry "$op" >/dev/null; ok $? "it goes on"
is "$(ended)" succeeded "to its end"
is "$(events)" success "which is told as well"

# --- asked again
answering 500 503
operate configure '{"config":{"base":{"x":2}}}'
is "$(ended)" succeeded "who fails twice is asked again"
is "$(events)" "start start start success" "until it is taken"
is "$(calls 'len({h(x, "anneal-delivery") for x in c[:3]})')" 1 "with the same delivery"
is "$(calls 'c[2]["at"] < min(done)')" true "and before that nothing is done"

# --- refused
answering 403 403
operate configure '{"config":{"base":{"x":3}}}'
is "$(ended)" succeeded-with-failures "who refuses does not stop anything"
is "$(events)" "start success" "and is asked once for each"
[ "$(count configure)" -gt 0 ]; ok $? "all was done"

# --- the end of a server in the middle
answering hang
operate configure '{"config":{"base":{"x":4}}}'
until_true 10 called 1; ok $? "a delivery is under way"
crash
start
is "$(ended)" succeeded "the next server goes on"
is "$(events)" "start start success" "and delivers it again"
is "$(calls 'h(c[0], "anneal-delivery") == h(c[1], "anneal-delivery")')" true "as the same delivery"
is "$(calls 'c[1]["at"] < min(done)')" true "before anything else"
anneal admin check >/dev/null; ok $? "the store is sound"

# --- stopped in the middle, and resumed
answering hang
operate configure '{"config":{"base":{"x":5}}}'
until_true 10 called 1; ok $? "a delivery is under way"
anneal operation cancel "$op" --abort >/dev/null; ok $? "and is aborted"
is "$(ended)" cancelled "with its operation"
is "$(did)" "" "nothing was done"
anneal operation resume "$op" >/dev/null; ok $? "it is resumed"
is "$(ended)" succeeded "and goes on"
is "$(events)" "start start success" "with what was not delivered"

# --- nothing to tell
answering
operate upgrade '{}'
is "$(ended)" succeeded "an operation that finds nothing to do"
is "$(events)" "" "tells nobody"

# --- only some
gone() { ! anneal deployment list | grep -q shop; }
answering
operate delete '{}'
is "$(ended)" succeeded "deleted"
is "$(events)" "start success" "the end of a cluster is told as well"
until_true 20 gone; ok $? "and it is gone"
callbacks "{url: \"$url\", on: [failure]}"
answering
operate create '{"name":"shop","template":"shop","nodes":3}'
is "$(ended)" succeeded "who wants failures only"
is "$(count create)" 3 "when all goes well"
is "$(events)" "" "is not told"
touch "$scratch/fail/shop-1000.shop.example-base-configure"
operate configure '{"config":{"base":{"x":1}}}'
is "$(ended)" failed "but when it does not"
is "$(events)" failure "is"

# --- required
operate delete '{}'
is "$(ended)" succeeded "deleted"
until_true 20 gone; ok $? "and gone"
callbacks "{url: \"$url\", required: true}"
answering 403
operate create '{"name":"shop","template":"shop","nodes":3}'
is "$(ended)" failed "who must agree and does not"
is "$(events)" "start failure" "is told what that meant"
is "$(did)" "" "nothing was run"
answering
operate delete '{}'
is "$(ended)" succeeded "what never was is deleted"
is "$(events)" "start success" "and that is told"
is "$(calls 'b(c[1])["operation"]["kind"]')" cluster-delete "as what it is"
until_true 20 gone; ok $? "nothing is left of it"
anneal admin check >/dev/null; ok $? "the store is sound"
done_testing
