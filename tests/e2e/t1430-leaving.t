#!/usr/bin/env bash
# Members leave in order: what goes is stopped when all who used it have run without it, and when what takes its place is in service; by
# unbind, commit and node delete alike.  A dead user holds nobody, one that fails keeps what it uses, and --now does not wait.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip_all "no jq"

catalog site <<Y
barclamp: site
version: 1.0.0
roles:
  - name: app
    jig: shell
    flags: [cluster]
    actions:
      converge: [{name: serve, params: {script: '[ ! -e $work/down ] || exit 1; echo "serve \$ANNEAL_NODE" >>$work/ran'}}]
      stop: [{name: stop, params: {script: 'echo "stop \$ANNEAL_NODE" >>$work/ran'}}]
      remove: [{name: clear, params: {script: 'echo "clear \$ANNEAL_NODE" >>$work/ran; test ! -e $work/stuck'}}]
  - name: balancer
    jig: shell
    requires: [app]
    actions:
      converge:
        - name: point
          params:
            script: |
              [ ! -p $work/hold ] || read -r word <$work/hold
              [ ! -e $work/broken ] || exit 1
              echo "point \$ANNEAL_NODE \$(jq -r '.data.peers.app | keys | sort | join(",")' "\$ANNEAL_INPUT_FILE")" >>$work/ran
Y
ran() { paste -sd';' "$work/ran"; }
states() { anneal noderole list --role "$1" -o json | jq -r '.items | sort_by(.node) | map(.node + " " + .state) | join(", ")'; }
runs() { anneal noderole list --role balancer --node "$1" -o json | jq -e '.items[0].state == "STALE"' >/dev/null && anneal task list --node "$1" --state RUNNING -o json | jq -e '.items | length > 0'; }
# asked COMMAND...: what it begins; $op
asked() { : >"$work/ran"; out=$(anneal "$@" -o json 2>&1) || { ok 1 "$*" "$out"; return 1; }; op=$(jq "if type == \"array\" then .[0] else . end | .operation.id // .id" <<<"$out"); }
ends() { anneal -q operation watch "$op" >/dev/null 2>&1; anneal operation show "$op" -o json | jq -r .state; }

start || exit 1
nodes a1.t a2.t a3.t a4.t b1.t b2.t
anneal -q catalog load "$work/site"
anneal -q deployment add shop
out=$(anneal deployment bind shop app=a1.t,a2.t,a3.t balancer=b1.t --wait 2>&1); ok $? "deployed" "$out"

# --- unbind, with the server killed while the removal waits
mkfifo "$work/hold"
asked deployment unbind shop app=a3.t
until_true 20 runs b1.t; ok $? "the balancer is being told"
is "$(states app)" "a1.t ACTIVE, a2.t ACTIVE, a3.t REMOVING" "meanwhile the member is there"
out=$(anneal why app@a3.t 2>&1)
has "$out" "goes when balancer@b1.t has let go of it, which is STALE" "why says who it waits for"
has "$out" "anneal operation resume $op --now" "and how not to"
crash
rm "$work/hold"
start || exit 1
is "$(ends)" succeeded "over a crash: removed"
is "$(ran)" "point b1.t a1.t,a2.t;stop a3.t;clear a3.t" "over a crash: after the balancer had let go of it"

# --- a commit: another one takes its place
anneal -q deployment propose shop
anneal -q deployment edit shop --unbind app=a2.t --bind app=a4.t
asked deployment commit shop
is "$(ends)" succeeded "replaced"
is "$(ran)" "serve a4.t;point b1.t a1.t,a4.t;stop a2.t;clear a2.t" "first the new one, then the balancer, once, then the old one"

# --- a replacement that does not come up takes nothing away
anneal -q deployment propose shop
anneal -q deployment edit shop --unbind app=a4.t --bind app=a2.t
anneal -q node set a2.t --unavailable
asked deployment commit shop
waits() { anneal why app@a4.t 2>&1 | grep -q "goes after app@a2.t, which takes the place of what goes and is TODO"; }
until_true 20 waits; ok $? "why says what it waits for" "$(anneal why app@a4.t 2>&1)"
is "$(ran)" "" "nothing has happened"
is "$(states balancer)" "b1.t STALE" "the balancer serves as it is"
anneal -q node set a2.t --available
is "$(ends)" succeeded "then it comes"
is "$(ran)" "serve a2.t;point b1.t a1.t,a2.t;stop a4.t;clear a4.t" "and the old one goes"

# --- node delete
asked node delete a2.t --cascade
is "$(ends)" succeeded "a node goes"
is "$(ran)" "point b1.t a1.t;stop a2.t;clear a2.t" "in the same order"

# --- users that cannot be told
anneal -q deployment bind shop app=a3.t,a4.t balancer=b2.t --wait
anneal -q node set b1.t --unavailable
anneal -q node report b2.t dead
asked deployment unbind shop app=a4.t
held() { anneal why app@a4.t 2>&1 | grep -q "node b1.t was made unavailable"; }
until_true 20 held; ok $? "a user in maintenance holds it, and why comes down to that" "$(anneal why app@a4.t 2>&1)"
is "$(ran)" "" "nothing has happened"
is "$(anneal why app@a4.t -o json | jq -r '[.reasons[] | select(.rule == "still-used").name] | join(" ")')" "balancer@b1.t" "a dead one does not"
out=$(anneal operation resume "$op" --now 2>&1); ok $? "a person says --now" "$out"
gone() { [ "$(states app)" = "a1.t ACTIVE, a3.t ACTIVE" ]; }
until_true 20 gone; is "$(ran)" "stop a4.t;clear a4.t" "and it goes"
out=$(anneal operation resume "$op" --now 2>&1); is $? 5 "there is nothing more to say"
has "$out" "nothing that operation $op removes waits" "which is told"
anneal -q node set b1.t --available
anneal -q node report b2.t alive
is "$(ends)" succeeded "the rest follows"

# --- one that does not come up at all, and a person who does not wait for it
touch "$work/down"
anneal -q deployment propose shop
anneal -q deployment edit shop --unbind app=a3.t --bind app=a4.t
asked deployment commit shop
is "$(ends)" failed "a successor fails"
is "$(ran)" "" "the old one stays, and its users with it"
has "$(anneal why balancer@b1.t 2>&1)" "anneal operation resume $op --now" "why of a user says how not to wait"
out=$(anneal operation resume "$op" --now 2>&1); ok $? "a person says --now" "$out"
is "$(ends)" failed "the rest is done"
is "$(states balancer)" "b1.t ACTIVE, b2.t ACTIVE" "its users do not wait either"
is "$(sort "$work/ran" | paste -sd';')" "clear a3.t;point b1.t a1.t;point b2.t a1.t;stop a3.t" "they run without both"
rm "$work/down"
out=$(anneal noderole retry "$(anneal noderole list --role app --node a4.t -o json | jq -r ".items[0].id")" --wait 2>&1); ok $? "then it comes" "$out"
is "$(tail -n 2 "$work/ran" | sort | paste -sd';')" "point b1.t a1.t,a4.t;point b2.t a1.t,a4.t" "and they are told again"
anneal -q deployment bind shop app=a3.t --wait
anneal -q deployment unbind shop app=a4.t --wait

# --- what was asked of a node that is given up is not done
anneal -q deployment bind shop app=a4.t --wait
anneal -q node set a4.t --unavailable
asked noderole rerun "$(anneal noderole list --role app --node a4.t -o json | jq -r '.items[0].id')"
waits() { anneal why "operation/$op" 2>&1 | grep -q "node a4.t was made unavailable"; }
until_true 20 waits; ok $? "a run waits for its node" "$(anneal why "operation/$op" 2>&1)"
rerun=$op
asked node delete a4.t --cascade
out=$(anneal operation watch "$rerun" 2>&1); is $? 5 "the node is given up: it has not succeeded"
has "$out" "operation $rerun superseded after" "which is told"
has "$out" ": 0 tasks done, a later one took over the rest" "with what it did"
anneal -q node set a4.t --available
is "$(ends)" succeeded "the other one did what it was to"

# --- a user that fails keeps what it uses
touch "$work/broken"
asked deployment unbind shop app=a3.t
is "$(ends)" failed "the balancer fails"
is "$(states app)" "a1.t ACTIVE, a3.t REMOVING" "the member is there"
is "$(ran)" "" "and untouched"
rm "$work/broken"
out=$(anneal operation retry "$op" --wait 2>&1); ok $? "retried" "$out"
is "$(sort "$work/ran" | head -n 2 | paste -sd';') $(tail -n 2 "$work/ran" | paste -sd';')" "clear a3.t;point b1.t a1.t stop a3.t;clear a3.t" "it goes after both balancers have let go of it"
# --- bound back while it goes, it is gained as a new one is
release() { exec 9<>"$work/hold"; rm "$work/hold"; printf 'go\ngo\n' >&9; exec 9>&-; } # both balancers
told() { grep "^point $1 " "$work/ran" | tail -n 1; }
needs() { anneal noderole list -o json | jq -r --arg node "$1" '.items as $all | $all[] | select(.role == "balancer" and .node == $node).parents[] as $id | $all[] | select(.id == $id and .role == "app").node' | sort | paste -sd,; }
going() { # what the balancers are being told of: app@a3.t goes
    mkfifo "$work/hold"
    asked deployment unbind shop app=a3.t
    until_true 20 runs b1.t && until_true 20 runs b2.t; ok $? "app@a3.t is on its way out"
}
is_back() { # HOW
    is "$(ends)" succeeded "$1"
    is "$(states app)" "a1.t ACTIVE, a3.t ACTIVE, a4.t ACTIVE" "$1: the member serves"
    is "$(told b1.t);$(told b2.t)" "point b1.t a1.t,a3.t,a4.t;point b2.t a1.t,a3.t,a4.t" "$1: those who used it do again"
    is "$(needs b1.t)" "a1.t,a3.t,a4.t" "$1: and need it"
}
nodes a4.t
out=$(anneal deployment bind shop app=a3.t,a4.t --wait 2>&1); ok $? "three members" "$out"
going
asked deployment bind shop app=a3.t
release
is_back "bound back at once"
going
anneal -q deployment propose shop
anneal -q deployment edit shop --bind app=a3.t
has "$(anneal deployment diff shop 2>&1)" "balancer@b1.t" "the proposal tells whom it touches"
asked deployment commit shop
release
is_back "bound back by a commit"
touch "$work/stuck"
asked deployment unbind shop app=a3.t
is "$(ends) $(states app)" "failed a1.t ACTIVE, a3.t ERROR, a4.t ACTIVE" "a removal fails"
rm "$work/stuck"
asked deployment bind shop app=a3.t
is_back "bound back from there"
anneal admin check >/dev/null; ok $? "the engine is sound"
stop; out=$("$bin/anneald" --verify --data-dir "$work/data" 2>&1); ok $? "all of that can be replayed" "$out"
done_testing
