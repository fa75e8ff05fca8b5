#!/usr/bin/env bash
# ./quickstart with hosts of its own and without: what it says, where its tasks run, and what is left.
# SPDX-License-Identifier: Apache-2.0
if [ -z "${ANNEAL_OWN_NETWORK:-}" ] && [ "$(id -u)" = 0 ] && unshare --net --mount true 2>/dev/null; then
    ANNEAL_OWN_NETWORK=1 exec unshare --net --mount "$0" "$@"
fi
. "${ANNEAL_TOP:?}/tests/e2e/lib.sh"
[ -z "${ANNEAL_OWN_NETWORK:-}" ] || ip link set lo up
mkdir -p "$work/clone/build"
cp -r "$top/quickstart" "$top/tools" "$top/examples" "$top/plugins" "$work/clone/" || exit 1
ln -s "$bin" "$work/clone/build/bin"
trap '"$work/clone/quickstart" --clean >/dev/null 2>&1; finish' EXIT
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])') || exit 1
export ANNEAL_SERVER=http://127.0.0.1:$port ANNEAL_TOKEN_FILE=$work/clone/.quickstart/data/admin.token
quickstart() { ANNEAL_BIN_DIR=$work/clone/build/bin "$work/clone/quickstart" "$@" 2>&1; }
addresses() { anneal node list -o json | jq -r '.items[].addresses[]' | sort -u | wc -l; }

# --- this machine under eight names
out=$(ANNEAL_NODES=local quickstart); is $? 0 "without hosts it ends well"
has "$out" "the clusters of examples/debian are left out: ANNEAL_NODES is local" "and without clusters, which it says"
has "$out" "this machine under 8 names: ANNEAL_NODES is local" "and says what the nodes are, and why"
has "$out" "The shop is ACTIVE on 8 nodes" "the shop is there"
is "$(addresses)" 0 "no node has an address of its own"
out=$(quickstart --clean); is $? 0 "cleaned"

if [ -n "${ANNEAL_OWN_NETWORK:-}" ] && [ -x /usr/sbin/sshd ]; then
    # --- hosts
    out=$(quickstart --shop); is $? 0 "with hosts it ends well"
    is "$(grep -c clusters <<<"$out")" 0 "who asks for the shop is told of nothing else"
    has "$out" "the nodes are 8 hosts of their own on this machine" "and says so"
    has "$out" "The shop is ACTIVE on 8 nodes" "the shop is there"
    is "$(addresses)" 8 "each node has an address of its own"
    is "$(anneal node list -o json | jq -r '[.items[].access.host_keys[0]] | unique | length')" 8 "and a key of its own, pinned"
    is "$(ip -o link | grep -c ": ah.*@")" 8 "eight hosts are on the bridge"
    out=$(quickstart --stop); is $? 0 "stopped"
    is "$(ip -o link | grep -c ": ah.*@")" 8 "the hosts stay"
    out=$(quickstart --shop); is $? 0 "started again"
    has "$out" "everything is as wanted already" "and nothing is to be done"
    out=$(quickstart --clean); is $? 0 "cleaned" "$out"
    gone() { [ "$(ip -o link | wc -l)" = 1 ]; }
    until_true 10 gone
    ok $? "no host, no bridge is left" "$(ip -o link)"
    is "$(ls -A "$work/clone" | xargs)" "build examples plugins quickstart tools" "and no file"

    # --- hosts that cannot be had: the network is somebody's
    ip link add taken type bridge
    ip address add "10.$((64 + port % 64)).$((port / 64 % 256)).9/24" dev taken
    out=$(quickstart); is $? 0 "where hosts cannot be had it ends well, too"
    has "$out" "this machine under 8 names: 10." "and says why"
    has "$out" "the clusters of examples/debian are left out: " "and has no clusters"
    has "$out" "The shop is ACTIVE on 8 nodes" "the shop is there"
    is "$(ip -o link | grep -cE ': (ah|anq)')" 0 "and nothing of hosts is left"
fi
done_testing
