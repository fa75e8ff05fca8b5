#!/usr/bin/env bash
# Our providers on a real server: clusters on hosts of this machine, killed in the middle; machines that are competed for;
# power through a simulated controller.
# SPDX-License-Identifier: Apache-2.0
if [ -z "${ANNEAL_OWN_NETWORK:-}" ] && [ "$(id -u)" = 0 ] && unshare --net --mount true 2>/dev/null; then
    ANNEAL_OWN_NETWORK=1 exec unshare --net --mount "$0" "$@"
fi
. "${ANNEAL_TOP:?}/tests/e2e/lib.sh"
. "$top/tests/e2e/nodes.sh"
[ -n "${ANNEAL_OWN_NETWORK:-}" ] || skip_all "hosts in namespaces need root, and a root that may make them"
command -v ssh >/dev/null || skip_all "no ssh"
ip link set lo up
hosts=$work/hosts

serve() { start --set node_access=ssh --set ssh_trust=pinned --set ssh_kex=curve25519-sha256 --set "plugin_path=$top/plugins" "$@"; }
# Of the hosts below $hosts, by their processes (two a host), interfaces, files and mounts of this namespace.
echo "$hosts/hosts/" >"$work/pattern" # not as an argument: whoever looks would find itself
processes() { grep -lazsf "$work/pattern" /proc/[0-9]*/cmdline | wc -l; }
census() {
    echo "$(processes) $(ip -o link | grep -c ': ah[0-9a-f]*@') $(ip -o link | grep -c ': lab0:') $(find "$hosts/hosts" -name '*.json' 2>/dev/null | wc -l) $(find "$hosts/hosts" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | wc -l) $(grep -c "$hosts" /proc/self/mountinfo)"
}
is_census() { [ "$(census)" = "$1" ]; }
counted() { # N LABEL: the kernel takes an interface away a moment after its namespace
    local want="$((2 * $1)) $1 $(($1 > 0)) $1 $1 0"
    until_true 10 is_census "$want"
    is "$(census)" "$want" "$2"
}
op_of() { jq -r .operation.id; }
anneal_done() { [ "$(anneal operation show "$1" -o json | jq -r .state)" != running ]; }
trap 'for p in $(cat "$hosts"/hosts/*/pid 2>/dev/null); do kill "$p" 2>/dev/null; done; [ -z "${sim:-}" ] || kill "$sim"; finish' EXIT

serve; ok $? "a server with our plugins"
is "$(anneal plugin list -o name | sort | xargs)" "ipmi netns qemu static" "knows them"
anneal -q catalog load "$top/examples/providers" >"$work/out" 2>&1; ok $? "the catalog" "$(cat "$work/out")"
[ $failures -eq 0 ] || done_testing
anneal -q provider add netns --type netns --set "dir=$hosts" --set network=10.90.0.0/24 --set bridge=lab0 --set "program=$bin/anneal-host"
ok $? "a provider of hosts"

# --- a cluster of hosts
anneal cluster create one --template lab --nodes 3 --field size=32m --wait=120s >"$work/out" 2>&1
ok $? "a cluster of three hosts" "$(cat "$work/out")"
[ $failures -eq 0 ] || { anneal task list; tail -n 20 "$work/log"; done_testing; }
counted 3 "three hosts are there"
for n in 1000 1001 1002; do
    is "$(run_on one-$n.lab.example 'hostname; cat /srv/site/index; ls /srv/site')" "$(printf 'one-%s.lab.example\none-%s.lab.example\nindex\nserves' $n $n)" "one-$n was reached, with its own key, and serves"
done
is "$(anneal node list -o json | jq -r '[.items[].addresses[0]] | unique | length')" 3 "each node has the address of its host"
is "$(node_field one-1000.lab.example .access.host_keys[0])" "$(cut -d' ' -f1,2 "$hosts/hosts/one-1000.lab.example/host_key.pub")" "and its key is pinned"
anneal cluster expand one --by 1 --wait=120s >"$work/out" 2>&1; ok $? "it grows" "$(cat "$work/out")"
counted 4 "four hosts are there"
is "$(run_on one-1003.lab.example cat /srv/site/index)" one-1003.lab.example "the new one serves, too"
anneal cluster shrink one --by 2 --wait=120s >"$work/out" 2>&1; ok $? "it shrinks" "$(cat "$work/out")"
counted 2 "two hosts are there"
anneal cluster delete one --yes --wait=120s >"$work/out" 2>&1; ok $? "it is deleted" "$(cat "$work/out")"
counted 0 "nothing is left"

# --- the server killed when so many hosts are made, and when so many are gone
cards() { find "$hosts/hosts" -name '*.json' 2>/dev/null | wc -l; }
cards_are() { [ "$(cards)" "$1" "$2" ]; }
for kill in 1 2 3; do
    op=$(anneal cluster create "two$kill" --template lab --nodes 3 --field size=32m -o json | op_of)
    until_true 60 cards_are -ge "$kill"
    crash
    serve
    anneal operation watch "$op" >"$work/out" 2>&1
    ok $? "killed at host $kill of 3, the creation goes on to its end" "$(cat "$work/out")"
    counted 3 "with three hosts"
    is "$(run_on "two$kill-1002.lab.example" cat /srv/site/index)" "two$kill-1002.lab.example" "that can be reached"
    op=$(anneal cluster delete "two$kill" --yes -o json | op_of)
    until_true 60 cards_are -le "$((3 - kill))"
    crash
    serve
    until_true 60 anneal_done "$op"
    ok $? "killed when $kill of 3 are gone, the deletion goes on to its end"
    counted 0 "and nothing is left"
done

# --- a host that is killed while it is made
op=$(anneal cluster create three --template lab --nodes 2 --field size=32m -o json | op_of)
until_true 60 test -s "$hosts/hosts/three-1000.lab.example/pid"
kill -9 "$(cat "$hosts/hosts/three-1000.lab.example/pid")"
anneal operation watch "$op" >"$work/out" 2>&1
state=$?
anneal cluster delete three --yes --wait=120s >"$work/out2" 2>&1
ok $? "a host was killed while it was made (operation: $state); the cluster is deleted" "$(cat "$work/out" "$work/out2")"
counted 0 "and nothing is left"

# --- machines that exist, and two clusters that want them: hosts of our own stand for them
anneal -q cluster create pool --template lab --nodes 3 --field size=32m --wait=120s >/dev/null; ok $? "three machines"
for n in 1000 1001 1002; do
    node=pool-$n.lab.example
    echo "m$n $(node_field $node '.addresses[0]') identity=$(node_field $node .access.identity) host_key=\"$(node_field $node '.access.host_keys[0]')\""
done >"$work/machines"
anneal -q provider add static --type static --set "inventory=$work/machines" --set "wipe=echo \$MACHINE >>$work/wiped"
ok $? "a provider that has them"
anneal cluster create a --template lab --provider static --nodes 2 --wait=120s >"$work/out" 2>&1; ok $? "a cluster takes two" "$(cat "$work/out")"
is "$(jq -r 'length' "$work/machines.state")" 2 "two are taken"
is "$(run_on a-1000.lab.example hostname)" "$(jq -r 'to_entries[] | select(.value.node == "a-1000.lab.example") | .key' "$work/machines.state" | sed 's/^m\(.*\)/pool-\1.lab.example/')" "its node is the machine"
anneal cluster create b --template lab --provider static --nodes 2 --wait=120s >"$work/out" 2>&1
is $? 11 "a second cluster that wants two does not get them"
has "$(for t in $(anneal task list --limit 1000 -o name); do anneal task attempts "$t" -o json; done)" "all 3 machines are taken" "and is told why"
is "$(jq -r '[.[].node] | unique | length' "$work/machines.state")" "$(jq -r length "$work/machines.state")" "no machine is given twice"
anneal cluster delete b --yes --wait=120s >"$work/out" 2>&1; ok $? "the second is deleted" "$(cat "$work/out")"
is "$(jq -r '[.[].node] | sort | join(" ")' "$work/machines.state")" "a-1000.lab.example a-1001.lab.example" "and what it had is free again"
op=$(anneal cluster create c --template lab --provider static --nodes 2 --field full=wait -o json | op_of)
until_true 30 sh -c "[ \"\$(jq -r length '$work/machines.state')\" = 3 ]"
is "$(anneal operation show "$op" -o json | jq -r .state)" running "one that may wait waits"
has "$(for t in $(anneal task list --operation "$op" --limit 100 -o name); do anneal task show "$t"; anneal task attempts "$t" -o json; done)" "all 3 machines are taken" "and says for what"
anneal cluster delete a --yes --wait=120s >"$work/out" 2>&1; ok $? "the first is deleted" "$(cat "$work/out")"
until_true 60 anneal_done "$op"
is "$(anneal operation show "$op" -o json | jq -r .state)" succeeded "and the one that waited has its machines"
anneal -q cluster delete c --yes --wait=120s >/dev/null; ok $? "deleted"
is "$(jq -r length "$work/machines.state")" 0 "all machines are free"
is "$(sort -u "$work/wiped" | wc -l)" 3 "and were wiped"
anneal -q cluster delete pool --yes --wait=120s >/dev/null; ok $? "the machines go"
counted 0 "and nothing is left"

# --- power
if command -v ipmi_sim >/dev/null && command -v ipmitool >/dev/null; then
    mkdir "$work/bmc"
    echo 0 >"$work/bmc/on"
    cat >"$work/bmc/machine" <<END
#!/bin/sh
case "\$1 \$2" in
"get power") echo "power:\$(cat $work/bmc/on)" ;;
"set power") echo "\$3" >$work/bmc/on.new; mv $work/bmc/on.new $work/bmc/on ;;
esac
END
    chmod +x "$work/bmc/machine"
    cat >"$work/bmc/lan.conf" <<END
name "bmc"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 6230
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "$work/bmc/machine"
  user 2 true "admin" "open-sesame-77" admin 10 none md2 md5 straight
END
    printf 'mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nmc_enable 0x20\n' >"$work/bmc/emu"
    ipmi_sim -n -c "$work/bmc/lan.conf" -f "$work/bmc/emu" -s "$work/bmc" >"$work/bmc/log" 2>&1 </dev/null &
    sim=$!
    echo open-sesame-77 >"$work/password"
    anneal -q provider add bmc --type ipmi --set bmc=127.0.0.1:6230 --set user=admin --set cipher=3 --set-file "password=$work/password"
    ok $? "a provider of power"
    anneal -q deployment add rack
    nodes big.example.net
    anneal deployment bind rack powered=big.example.net --wait=60s >"$work/out" 2>&1; ok $? "a machine is switched on" "$(cat "$work/out")"
    is "$(cat "$work/bmc/on")" 1 "and is on"
    anneal role rerun powered --wait=60s >"$work/out" 2>&1; ok $? "again, which changes nothing" "$(cat "$work/out")"
    stop
    is "$(grep -rla open-sesame-77 "$work/data" "$work/log")" "" "the password is nowhere in clear"
else
    echo "# no ipmi_sim or ipmitool: the packages are openipmi and ipmitool"
fi
done_testing
