#!/usr/bin/env bash
# Two tenants share three places of workers: neither has more at once than its share, and a wish
# that changes while they run takes effect.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
export ANNEAL_TOKEN_FILE=$work/data/admin.token

catalog slow <<'Y'
barclamp: slow
version: 1.0.0
jigs: [{name: here, implementation: test}]
roles:
  - {name: wait, jig: here, actions: {converge: [{name: wait, params: {sleep_ms: 600000}}]}}
Y
start --set worker_capacity=3 || exit 1
anneal -q catalog load "$work/slow" || exit 1
nodes a1 a2 a3 b1 b2 b3

field() { anneal tenant show "$1" -o json | jq -r ".$2"; }
shares() { [ "$(field "$1" share)" = "$2" ]; }
runs() { anneal task list --state RUNNING -o json | jq "[.items[] | select(.node | startswith(\"$1\"))] | length"; }
runs_so() { [ "$(runs "$1")" = "$2" ]; }
as() { local tenant=$1; shift; ANNEAL_TOKEN_FILE=$work/$tenant.token anneal "$@"; }
bind() { as "$1" deployment bind system "wait=$2" -o json | jq -r .operation.id; } # one operation a node
task() { anneal task list --node "$1" -o json | jq -r '[.items[] | select(.name == "wait")][0].id'; }

# --- made ---
until_true 20 shares default 3
ok $? "without others the first tenant has all places"
run anneal tenant add a --places 4
is "$rc" 6 "more places than workers offer are refused"
has "$err" "workers offer 3 places" "with how many there are"
has "$err" "wish for 3 at most" "and the remedy"
run anneal tenant add a --places 1; is "$rc/$out" "0/tenant a made" "a tenant"
run anneal tenant add b --places 2; is "$rc" 0 "another one"
run anneal tenant list
has "$out" "NAME     PLACES  SHARE  USED  SHORT" "a list"
is "$(anneal tenant list -o json | jq -c '[.items[] | [.name, .places, .share]]')" \
    '[["default",0,1],["a",1,1],["b",2,2]]' "each with its share"
for t in a b; do
    anneal -q token add "$t-ops" --tenant $t --scope operate --save "$work/$t.token"
    ok $? "a token of tenant $t"
done
is "$(as a tenant list -o name)" a "which sees its own tenant only"
run as a tenant set a --places 3; is "$rc" 3 "and does not change it"

# --- shares hold ---
for n in 1 2 3; do bind a a$n; done >"$work/ops.a"
until_true 20 runs_so a 1
ok $? "one of tenant a's three runs"
run anneal why "task/$(for n in 1 2 3; do
    t=$(task a$n); [ "$(anneal task show "$t" -o json | jq -r .state)" = READY ] && echo "$t" && break
done)"
has "$out" "that tenant a has of workers" "why names the share, though places are free"
has "$out" "anneal tenant set a --places" "and what to do about it"
for n in 1 2 3; do bind b b$n; done >"$work/ops.b"
until_true 20 runs_so b 2
ok $? "two of tenant b's"
is "$(runs a)" 1 "and still one of tenant a's"
is "$(field a used)/$(field b used)" 1/2 "as the tenants say themselves"
run anneal tenant set default --places 1
is "$rc" 6 "nothing is left to wish for"

# --- a wish that changes ---
run anneal tenant set b --places 1; is "$rc/$out" "0/tenant b changed" "tenant b wishes for less"
run anneal tenant set a --places 2; is "$rc" 0 "tenant a for more"
is "$(runs b)" 2 "what runs, runs on"
is "$(field b share)/$(field b used)/$(field b short)" 1/2/false "above its share for now"
anneal -q operation cancel --abort "$(anneal task list --state RUNNING -o json |
    jq -r '[.items[] | select(.node | startswith("b"))][0].operation')"
until_true 20 runs_so a 2
ok $? "when one of tenant b's has ended it is tenant a's turn"
is "$(runs b)" 1 "not tenant b's"

# --- kept ---
crash
start --set worker_capacity=3 || exit 1
until_true 20 shares a 2
ok $? "wishes outlive a server"
is "$(field b places)" 1 "all of them"

# --- deleted ---
run anneal tenant delete default -y; is "$rc" 5 "the first tenant stays"
run anneal tenant delete a -y
is "$rc" 5 "a tenant with work is not deleted"
has "$err" "unfinished operations" "it has operations"
has "$err" "places 2" "places"
has "$err" "tokens" "and tokens"
has "$err" "anneal operation cancel" "with what to do first"
while read -r op; do anneal -q operation cancel --abort "$op"; done <"$work/ops.a"
ended() { ! anneal tenant delete a -y 2>&1 | grep -q "unfinished operations"; }
until_true 30 ended
run anneal tenant delete a -y
has "$err" "tenant a still has places 2; tokens" "then its places"
run anneal tenant set a --places 0; is "$rc" 0 "are taken away"
run anneal tenant delete a -y
is "$rc" 5 "its token"
token=$(anneal token list -o json | jq -r '.items[] | select(.tenant == "a").id')
run anneal token revoke "$token"; is "$rc" 0 "is revoked by the first tenant"
run as a tenant list; is "$rc" 3 "which ends it"
run anneal tenant delete a -y; is "$rc/$out" "0/tenant a deleted" "and nothing is left of it"
is "$(anneal tenant list -o name | tr '\n' ' ')" "default b " "but the others"
stop
done_testing
