#!/usr/bin/env bash
# Whether hosts are there is found out by itself: they come, fall silent, die, return, boot, and are replaced.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
n=20
watch=(--set probe_interval=2s --set dead_after=5s --set probe_count=2 --set ssh_keepalive=1s)

out=$(fleet up $n 2>&1); ok $? "$n hosts" "$out"
serve_bed "${watch[@]}"; ok $? "a server among them"
catalog b <<'Y'
barclamp: b
version: "1"
roles:
  - name: base
    jig: shell
    flags: [implicit]
    actions: {converge: [{name: mark, params: {script: "echo $ANNEAL_ATTEMPT >>/root/marks"}}]}
  - name: above
    jig: shell
    requires: [base]
    actions: {converge: [{name: also, params: {script: "echo above >>/root/marks"}}]}
  - name: far
    jig: shell
    actions: {converge: [{name: far, params: {script: "true"}}]}
Y
anneal -q catalog load "$work/b"; ok $? "the catalog"
host() { printf 'h%04d' "$1"; }
alive_of() { anneal node show "$1.t" -o json | jq -r .alive; }
is_alive() { [ "$(alive_of "$1")" = "$2" ]; } # HOST BELIEF
how_many() { anneal node list --limit 100 -o json | jq "[.items[] | select(.alive == \"$1\")] | length"; }
all_are() { [ "$(how_many "$1")" = "$2" ]; } # BELIEF NUMBER
probe_of() { anneal node show "$1.t" -o json | jq -r ".probe.$2"; }
probed() { [ "$(probe_of "$1" result)" = "$2" ]; } # HOST RESULT
role_state() { anneal noderole list --node "$1.t" --limit 100 -o json | jq -r --arg r "$2" '.items[] | select(.role == $r) | .state'; }
role_is() { [ "$(role_state "$1" "$2")" = "$3" ]; } # HOST ROLE STATE
told() { anneal why "node/$1.t" | grep -q "$2"; } # HOST WORDS
boot_of() { anneal node show "$1.t" -o json | jq -r .boot_id; }
metric() { fleet enter curl -s -H "Authorization: Bearer $(cat "$ANNEAL_TOKEN_FILE")" "$ANNEAL_SERVER/metrics" | grep -F "$1 " | tail -1 | sed 's/.* //'; }

# --- they come to life by themselves
for i in $(seq $n); do anneal -q node add "$(host "$i").t" --address "$(address "$(host "$i")")" || break; done
ok $? "nodes, of which nobody says that they are alive"
anneal -q deployment bind system above=h0001.t >/dev/null; op=$(last)
until_true 60 all_are alive $n; ok $? "all are seen" "$(anneal node list)"
until_true 60 over "$op" succeeded; ok $? "and what waited for that runs"
is "$(fleet exec h0003 cat /etc/machine-id)" "$(anneal node show h0003.t -o json | jq -r .machine_id)" "which machine it is was asked"
is "$(fleet exec h0003 cat /proc/sys/kernel/random/boot_id)" "$(boot_of h0003)" "and in which boot"
is "$(probe_of h0003 seen_by)" probe "how it was seen is told"
anneal -q deployment bind system above=h0002.t --wait=60s >/dev/null; ok $? "another one"

# --- what does not change costs nothing
before=$(metric 'anneal_probes_total{result="answers"}') journal=$(metric anneal_journal_seq)
more_probes() { [ "$(metric 'anneal_probes_total{result="answers"}')" -ge $((before + 2 * n)) ]; }
until_true 60 more_probes; ok $? "they are looked for again and again"
is "$(metric anneal_journal_seq)" "$journal" "and nothing is written of it"

# --- a cable is pulled
marks_before=$(marks h0001)
fleet link h0001 down
until_true 60 told h0001 "is silent: it has not answered"; ok $? "without its cable it is silent" "$(anneal why node/h0001.t)"
is "$(alive_of h0001)" alive "which is not dead yet"
until_true 60 is_alive h0001 dead; ok $? "then it is"
told h0001 "h0001.t is dead: it has not answered for .*tried at $(address h0001)"; ok $? "why says since when, and where it was looked for" "$(anneal why node/h0001.t)"
until_true 30 role_is h0001 above BLOCKED; ok $? "what needs it is blocked" "$(anneal noderole list --node h0001.t)"
is "$(how_many alive)" $((n - 1)) "the others are alive"
fleet link h0001 up
until_true 90 is_alive h0001 alive; ok $? "with its cable it is back" "$(anneal node show h0001.t)"
until_true 30 role_is h0001 above ACTIVE; ok $? "and in service"
is "$(marks h0001)" "$marks_before" "nothing ran again: it is as it was"

# --- it boots
old=$(boot_of h0002)
fleet reboot h0002
anneal -q deployment bind system far=h0002.t >/dev/null # a use that does not reach it looks at once; else the next probe does
booted() { [ "$(boot_of h0002)" = "$(fleet exec h0002 cat /proc/sys/kernel/random/boot_id)" ]; }
fleet link h0002 down
until_true 60 probed h0002 silent; ok $? "a host boots, and is missed"
fleet link h0002 up
until_true 60 booted; ok $? "the other boot is seen" "$old $(anneal node show h0002.t)"
ok "$([ "$(boot_of h0002)" != "$old" ]; echo $?)" "which it is"
reran() { [ "$(fleet exec h0002 grep -c above /root/marks)" = 2 ]; }
until_true 60 reran; ok $? "what does not survive a boot runs again" "$(fleet exec h0002 cat /root/marks)"
until_true 30 role_is h0002 above ACTIVE; ok $? "and is in service"

# --- so many at once that the fault is ours
for i in 11 12 13 14 15 16; do fleet link "$(host $i)" down; done
suspects() { [ "$(anneal status -o json | jq .suspect)" = "$1" ]; }
until_true 90 suspects true; ok $? "30 % of the hosts are silent at once: the server suspects itself" "$(anneal status)"
is "$(how_many dead)" 0 "none is taken for dead"
has "$(anneal why node/h0011.t)" "with so many others" "which why says"
for i in 11 12 13 14 15 16; do fleet link "$(host $i)" up; done
until_true 90 suspects false; ok $? "they answer again, and that is over"
none_silent() { [ "$(anneal node list --limit 100 -o json | jq '[.items[] | select(.probe.silent_since != null)] | length')" = 0 ]; }
until_true 60 none_silent; ok $? "of all of them"
is "$(how_many alive)" $n "all are alive"

# --- another machine with its key
anneal -q deployment bind system above=h0004.t --wait=60s >/dev/null; ok $? "a role on a host"
fleet exec h0004 sh -c 'echo 0123456789abcdef0123456789abcdef >/etc/machine-id'
fleet link h0004 down
until_true 60 probed h0004 silent; ok $? "it is silent"
fleet link h0004 up
until_true 60 role_is h0004 base ERROR; ok $? "another machine answers in its place: what ran there is in error" "$(anneal noderole list --node h0004.t)"
has "$(anneal why "noderole/$(anneal noderole list --node h0004.t -o json | jq -r '.items[] | select(.role == "base") | .id')")" "another machine answers" "why says so"
is "$(marks h0004)" "1 above" "nothing runs there"

# --- another machine with a key of its own
anneal -q deployment bind system above=h0005.t --wait=60s >/dev/null; ok $? "a role on a host"
fleet off h0005
until_true 60 told h0005 "is silent\|is dead"; ok $? "it is switched off"
fleet on h0005
until_true 90 probed h0005 host-key-changed; ok $? "what comes back has another key" "$(anneal node show h0005.t)"
told h0005 "anneal node trust h0005.t"; ok $? "why says what to do about it" "$(anneal why node/h0005.t)"
is "$(anneal why node/h0005.t -o json | jq -r '[.reasons[].rule] | index("host-key-changed") != null')" true "by that name"
fleet exec h0005 test -e /root/marks; is $? 1 "nothing runs there"
anneal -q node trust h0005.t
until_true 60 is_alive h0005 alive; ok $? "trusted, it is seen"
until_true 60 role_is h0005 base ERROR; ok $? "as another machine" "$(anneal noderole list --node h0005.t)"

# --- no way in
anneal -q node add h0099.t --address "$(address h0006)" --access user=nobody
until_true 60 probed h0099 auth; ok $? "a host that does not let us in" "$(anneal node show h0099.t)"
is "$(alive_of h0099)" unknown "is not seen"
told h0099 "does not let us in"; ok $? "and why says so" "$(anneal why node/h0099.t)"

# --- a server that was away: what was booted meanwhile is found
stop; ok $? "the server stops"
old=$(fleet exec h0007 cat /proc/sys/kernel/random/boot_id)
fleet reboot h0007
serve_bed "${watch[@]}"; ok $? "and comes again"
booted7() { [ "$(boot_of h0007)" != "$old" ] && [ "$(boot_of h0007)" != null ]; }
until_true 60 booted7; ok $? "a host that was booted meanwhile" "$old $(anneal node show h0007.t)"

# --- nobody to look: no silence
stop
serve_bed "${watch[@]}" --set worker_enabled=false; ok $? "a server without a worker"
fleet link h0008 down
up_long() { [ "$(metric anneal_up_seconds)" -ge 9 ]; }
until_true 30 up_long
is "$(alive_of h0008)" alive "a host without its cable is not missed by who cannot look"
is "$(metric 'anneal_probes_total{result="silent"}')" 0 "and no silence is counted"

# --- a worker elsewhere, whose clock is a day ahead
shim=$(ls "$real"/../tests/e2e/*realclock*.so 2>/dev/null | head -n 1)
echo 86400 >"$work/clock"
anneal worker token --name far --save "$work/far.join" >/dev/null; ok $? "a worker of its own may join"
REALCLOCK_FILE=$work/clock LD_PRELOAD=$shim "$top/tests/bed/fleet" --dir "$bed" enter "$real/anneal-worker" --state "$work/far" --name far --join-file "$work/far.join" --set beat=200ms \
    --set ssh_identity="$bed/key" --set ssh_kex=curve25519-sha256 --set ssh_keepalive=1s --set ssh_idle=1s --set log_level=debug >"$work/far.log" 2>&1 &
worker_pid=$!
until_true 60 is_alive h0008 dead; ok $? "it looks: the host without its cable is dead" "$(anneal node show h0008.t; tail -3 "$work/far.log")"
is "$(anneal node list --alive dead --limit 100 -o json | jq '.items | length')" 1 "that one alone"
seen_now() { [ "$(($(date +%s) - $(date -d "$(probe_of h0009 seen_at)" +%s)))" -le 10 ]; }
until_true 30 seen_now; ok $? "and the others were seen a moment ago, by the server's clock" "$(anneal node show h0009.t)"
fleet link h0008 up
until_true 60 is_alive h0008 alive; ok $? "with its cable it is alive"
fleet exec h0009 sh -c 'test -e /run/anneal' ; ok $? "who they are was asked through it, too"
let_go() { grep -q 'ssh\.closed node=h0009\.t .* why=idle' "$work/far.log"; }
until_true 30 let_go; ok $? "a connection that nothing uses is closed after ssh_idle, and the log says so" "$(grep ssh.closed "$work/far.log" | tail -3)"
kill "$worker_pid"; wait "$worker_pid"; is $? 0 "the worker ends"
stop; ok $? "the server stops"
fleet down; ok $? "the hosts go"
done_testing
