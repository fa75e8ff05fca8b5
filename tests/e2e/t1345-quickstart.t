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
    lacks=$(. "$top/tools/setup.sh" && packages_missing hosts examples)
    out=$(quickstart); is $? 1 "where hosts cannot be had, not all of it can, and that is no success"
    has "$(head -n 1 <<<"$out")" "the clusters of examples/debian cannot be had here: " "which is the first that it says"
    [ -n "$lacks" ] || has "$(head -n 1 <<<"$out")" "here: 10." "with the reason"
    has "$out" "./quickstart --shop asks for less" "and what can be had"
    [ ! -e "$work/clone/.quickstart/data" ]; ok $? "nothing was started"
    out=$(quickstart --shop); is $? 0 "less can be had"
    has "$out" "this machine under 8 names: 10." "and it says why it is less"
    has "$out" "The shop is ACTIVE on 8 nodes" "the shop is there"
    is "$(ip -o link | grep -cE ': (ah|anq)')" 0 "and nothing of hosts is left"
    out=$(quickstart --clean); is $? 0 "cleaned"

    # --- namespaces that root may not make
    mkdir "$work/first"
    printf '#!/bin/sh\nexit 1\n' >"$work/first/unshare"
    chmod +x "$work/first/unshare"
    out=$(PATH=$work/first:$PATH quickstart); is $? 1 "without namespaces, neither"
    has "$out" "root may not make namespaces here" "for that reason"
fi

# --- somebody who is not root
if [ "$(id -u)" = 0 ]; then
    open_dir
    cp -r "$top/quickstart" "$top/tools" "$opened/"
    out=$(setpriv --reuid=nobody --clear-groups env ANNEAL_BIN_DIR="$opened" "$opened/quickstart" 2>&1); is $? 1 "only root can have all of it"
    has "$(head -n 1 <<<"$out")" "cannot be had here: only root can have hosts of its own" "and anybody else is told so at once"
fi
done_testing
