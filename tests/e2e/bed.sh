# bed.sh - sourced after lib.sh by the tests that need hosts: a fleet of the test's own, gone when the test ends
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
[ "$(id -u)" = 0 ] || skip_all "hosts in namespaces need root"
bed=$work/bed
fleet() { "$top/tests/bed/fleet" --dir "$bed" "$@"; }
# on H COMMAND: what it prints on that host
on() { fleet ssh "$@" 2>&1; }
trap '[ ! -d "$bed" ] || fleet down >/dev/null 2>&1; finish' EXIT

# Of the bed and nobody else, since other tests run beside this one:
bed_pids() { local h p; cut -d" " -f1 "$bed/owner.pid"; for h in "$bed"/hosts.d/*; do cat "$h/pid" "$h/init.pid" 2>/dev/null; done; }
bed_namespaces() { # as "net:[4026532178]", this machine's own left out
    local p
    for p in $(bed_pids); do readlink /proc/"$p"/ns/{net,mnt,pid,uts,ipc}; done 2>/dev/null | sort -u | grep -vxFf <(readlink /proc/self/ns/{net,mnt,pid,uts,ipc})
}
# How many processes of this machine are in one of the namespaces of FILE.
processes_in() { find /proc -mindepth 3 -maxdepth 3 -path '/proc/[0-9]*/ns/*' -printf '%h %l\n' 2>/dev/null | grep -Ff "$1" | cut -d' ' -f1 | sort -u | wc -l; }
interfaces() { ip -o link | cut -d' ' -f2 | grep -cE '^(br77|ah0a4d)' || :; }
mounts() { grep -c "$work" /proc/self/mountinfo || :; }
no_process() { [ "$(processes_in "$1")" = 0 ]; }
