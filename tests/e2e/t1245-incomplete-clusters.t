#!/usr/bin/env bash
# Clusters of which something could not be made: what they say of themselves, what finishes them, what is refused.
# Machines are hosts of this machine, by a provider that fails where it is told to, before or after it made one.
# SPDX-License-Identifier: Apache-2.0
if [ -z "${ANNEAL_OWN_NETWORK:-}" ] && [ "$(id -u)" = 0 ] && unshare --net --mount true 2>/dev/null; then
    ANNEAL_OWN_NETWORK=1 exec unshare --net --mount "$0" "$@"
fi
. "${ANNEAL_TOP:?}/tests/e2e/lib.sh"
. "$top/tests/e2e/nodes.sh"
. "$top/tests/e2e/cli.sh"
[ -n "${ANNEAL_OWN_NETWORK:-}" ] || skip_all "hosts in namespaces need root, and a root that may make them"
command -v ssh >/dev/null || skip_all "no ssh"
ip link set lo up
hosts=$work/hosts fail=$work/fail
mkdir -p "$fail" "$work/plugins/faulty"
trap 'for p in $(cat "$hosts"/hosts/*/pid 2>/dev/null); do kill "$p" 2>/dev/null; done; finish' EXIT

# --- a provider that fails on purpose: $fail/NODE-ACTION before anything is done, $fail/NODE-ACTION-after when it is done
sed "s/^plugin: netns/plugin: faulty/; s/^executable: .*/executable: faulty.py/; s/^  netns:/  faulty:/" \
    "$top/plugins/netns/plugin.yaml" >"$work/plugins/faulty/plugin.yaml"
cat >"$work/plugins/faulty/faulty.py" <<END
#!/usr/bin/env python3
import json, os, subprocess, sys
text = sys.stdin.read()
task = json.loads(text)
word = "$fail/%s-%s" % (task["node"]["name"].split(".")[0], task["action"])
def fails(when):
    if os.path.exists(word + when):
        print(json.dumps({"error": {"text": "no quota is left", "remedy": "ask for more"}}))
        sys.exit(0)
fails("")
done = subprocess.run(["$top/plugins/netns/netns.py"], input=text, stdout=subprocess.PIPE, text=True)
if '"error"' not in done.stdout:
    fails("-after")
sys.stdout.write(done.stdout)
sys.exit(done.returncode)
END
chmod +x "$work/plugins/faulty/faulty.py"
catalog lab <<END
barclamp: lab
providers:
  - provider: faulty
    jig: plugin
    actions:
      create: [{name: create, retries: 1, backoff: 10ms, returns: [machine, ipaddress]}]
      confirm: [{name: confirm, retries: 3, timeout: 1m}]
      delete: [{name: delete}]
hardware: [{hardware: any, providers: {faulty: {flavor: any, cost: 1}}}]
images: [{image: any, providers: {faulty: {image: none}}}]
roles:
  - name: site
    jig: shell
    flags: [service]
    actions:
      install: [{name: install-site, params: {script: 'mkdir -p /srv/site && echo "\$ANNEAL_NODE \$ANNEAL_DATA_config__site__ghosts" >/srv/site/index'}}]
      start: [{name: start-site, params: {script: "touch /srv/site/serves"}}]
      stop: [{name: stop-site, params: {script: "rm -f /srv/site/serves"}}]
      dump: [{name: dump-site, params: {script: "cat /srv/site/index"}}]
  - name: ghost
    jig: shell
    flags: [service]
    actions: {start: [{name: start-ghost, params: {script: "true"}}]}
templates:
  - template: lab
    defaults: {services: [site], provider: faulty, hardware: any, image: any, domain: lab.example,
               config: {site: {ghosts: "%num.service.ghost%"}}}
    constraints: {size: {min: 1, max: 50}}
END

serve() { start --set node_access=ssh --set ssh_trust=pinned --set ssh_kex=curve25519-sha256 --set "plugin_path=$work/plugins" "$@"; }
state() { anneal cluster list -o json | jq -r --arg c "$1" '.items[] | select(.name == $c) | .state'; }
is_state() { is "$(state "$1")" "$2" "$3"; }
missing() { anneal cluster show "$1" -o json | jq -r '.missing | sort | join(" ")'; }
site() { run_on "$1.lab.example" cat /srv/site/index; }
echo "$hosts/hosts/" >"$work/pattern" # not as an argument: whoever looks would find itself
host_count() { echo "$(($(grep -lazsf "$work/pattern" /proc/[0-9]*/cmdline | wc -l) / 2)) $(find "$hosts/hosts" -name '*.json' 2>/dev/null | wc -l)"; }
are_hosts() { [ "$(host_count)" = "$1 $1" ]; }
hosts_are() { until_true 10 are_hosts "$1"; is "$(host_count)" "$1 $1" "$2"; }

serve; ok $? "a server with the plugin"
anneal -q catalog load "$work/lab" >"$work/out" 2>&1; ok $? "the catalog" "$(cat "$work/out")"
anneal -q provider add faulty --type faulty --set "dir=$hosts" --set network=10.91.0.0/24 --set bridge=lab1 --set "program=$bin/anneal-host"
ok $? "a provider of hosts"
[ $failures -eq 0 ] || done_testing

# --- what only an administrator may set
run anneal cluster create one --template lab --nodes 1 --field dir=/elsewhere
is "$rc" 2 "a field of an administrator is refused"
has "$err" '"dir" of provider faulty is set by an administrator' "by name"
has "$err" "anneal provider set faulty --set dir=..." "with where it is set"

# --- a create of one node that fails
touch "$fail/one-1000-create"
run anneal cluster create one --template lab --nodes 1 --field size=32m --wait=60s
is "$rc" 11 "a machine that cannot be made: the create fails"
has "$out" ": 0 of 4 tasks done, 1 failed (create on one-1000.lab.example), 3 never ran, 1 undone" "it says what failed and what never ran"
has "$err" "no quota is left" "and why"
op=$(anneal cluster show one -o json | jq .operation)
is "$(anneal operation show "$op" -o json | jq -c '[.outcome.done, .outcome.failed, .outcome.never_ran, .outcome.undone, .outcome.failures[0].name, .outcome.failures[0].node]')" \
    '[0,1,3,1,"create","one-1000.lab.example"]' "in JSON too"
is_state one incomplete "the cluster is incomplete"
is "$(missing one)" "machine.faulty@one-1000.lab.example site@one-1000.lab.example" "and says what is missing"
run anneal cluster upgrade one --wait=60s
is "$rc" 11 "an upgrade tries to finish it"
is_state one incomplete "and it says what it is"
for verb in "stop one" "act one dump"; do
    # shellcheck disable=SC2086
    run anneal cluster $verb
    is "$rc" 5 "$verb is refused"
    has "$err" "cluster one is incomplete: machine.faulty@one-1000.lab.example, site@one-1000.lab.example were never made" "what is missing is named"
    has "$err" "\`anneal cluster start one\` finishes it" "with what helps"
done
crash; serve
is_state one incomplete "after a crash too"
hosts_are 0 "nothing was made so far"
rm "$fail/one-1000-create"
run anneal cluster upgrade one --dry-run
has "$out" "  ! one-1000.lab.example  finishes machine.faulty, site" "a dry run tells what it would finish"
run anneal cluster upgrade one --wait=120s
is "$rc" 0 "with a quota the upgrade makes it"
is_state one active "all of it is there"
is "$(site one-1000)" "one-1000.lab.example 0" "it serves, and there are no ghosts"
hosts_are 1 "one host"

# --- a machine that is made, and fails then; the server is killed while it is finished
touch "$fail/two-1001-create-after"
run anneal cluster create two --template lab --nodes 3 --field size=32m --wait=120s
is "$rc" 11 "one machine of three fails"
has "$out" "1 failed (create on two-1001.lab.example), 3 never ran" "by name"
is_state two incomplete "the cluster is incomplete"
is "$(missing two)" "machine.faulty@two-1001.lab.example site@two-1001.lab.example" "for one node"
is "$(site two-1002)" "two-1002.lab.example 0" "the others serve"
hosts_are 4 "the half-made one is there"
run anneal cluster shrink two --by 1 --dry-run
has "$out" "  - two-1001.lab.example" "it could be given up"
rm "$fail/two-1001-create-after"
op=$(anneal cluster configure two --set site.color=red -o json | jq .operation.id)
crash; serve
anneal operation watch "$op" >"$work/out" 2>&1; ok $? "killed, the operation goes on and finishes it" "$(cat "$work/out")"
is_state two active "then all of it is there"
is "$(site two-1001)" "two-1001.lab.example 0" "it serves"
hosts_are 4 "and no machine is there twice"

# --- a node dies and returns, and nobody operates on it
anneal -q node report two-1000.lab.example dead
is_state two inconsistent "a node is dead"
anneal -q node report two-1000.lab.example alive
is_active() { [ "$(state "$1")" = active ]; }
until_true 30 is_active two; ok $? "it returns"

# --- the create itself is retried
touch "$fail/three-1000-create"
anneal -q cluster create three --template lab --nodes 1 --field size=32m --wait=60s >/dev/null 2>&1
is_state three incomplete "another that fails"
rm "$fail/three-1000-create"
op=$(anneal cluster show three -o json | jq .operation)
anneal -q operation retry "$op" && anneal operation watch "$op" >"$work/out" 2>&1; ok $? "its create is retried" "$(cat "$work/out")"
is_state three active "and it is there"

# --- what cannot be made is given up
touch "$fail/three-1001-create"
anneal -q cluster expand three --by 1 --wait=60s >/dev/null 2>&1
is $? 11 "an expansion that fails"
is_state three incomplete "leaves it incomplete"
anneal -q cluster shrink three --by 1 --yes --wait=60s >/dev/null 2>"$work/out"; ok $? "the node is given up" "$(cat "$work/out")"
is_state three active "and the cluster is whole"
is "$(anneal cluster show three -o json | jq -r '[.nodes[].number] | join(" ")')" 1000 "with what was made"

# --- gone, whatever it was
touch "$fail/four-1000-create-after"
anneal -q cluster create four --template lab --nodes 2 --field size=32m --wait=60s >/dev/null 2>&1
is_state four incomplete "one more that fails"
for c in one two three four; do
    anneal -q cluster delete "$c" --yes --wait=120s >/dev/null 2>"$work/out"; ok $? "$c is deleted" "$(cat "$work/out")"
done
hosts_are 0 "nothing is left"
anneal admin check >/dev/null; ok $? "the engine is sound"
stop
"$bin/anneald" --verify --data-dir "$work/data" >"$work/out" 2>&1; ok $? "and its history gives what is stored" "$(cat "$work/out")"
done_testing
