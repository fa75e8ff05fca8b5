# nodes.sh - sourced after lib.sh by tests whose nodes come from a provider: what the server knows of them, and commands on them
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
node_field() { anneal node show "$1" -o json | jq -r "$2"; } # NODE JQ-PATH
address_of() { node_field "$1" '.addresses[0]'; }
run_on() { # NODE COMMAND...: as the node itself says that it is reached
    local node=$1 known
    shift
    known=$(mktemp -p "$work")
    node_field "$node" '.access.host_keys[]' | sed "s/^/$(address_of "$node") /" >"$known"
    ssh -F /dev/null -i "$(node_field "$node" .access.identity)" -p "$(node_field "$node" .access.port)" -o BatchMode=yes \
        -o UserKnownHostsFile="$known" -o StrictHostKeyChecking=yes -o LogLevel=ERROR \
        "$(node_field "$node" .access.user)@$(address_of "$node")" "$@" </dev/null 2>&1
}
