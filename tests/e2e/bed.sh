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
# How many processes of this machine are in one of the namespaces of FILE.  The kernel gives their numbers out again at once: a process in
# one of them that is younger than LAST, the process that was made last, is another bed's.
processes_in() { # FILE [LAST]
    local p n=0
    for p in $(find /proc -mindepth 3 -maxdepth 3 -path '/proc/[0-9]*/ns/*' -printf '%h %l\n' 2>/dev/null | grep -Ff "$1" | cut -d' ' -f1 | sort -u); do
        [ -z "${2:-}" ] || [ "$(born "$p")" -le "$2" ] || continue
        n=$((n + 1))
    done
    echo $n
}
born() { awk '{ sub(/.*\) /, ""); print $20; found = 1 } END { if (!found) print 0 }' "$1/stat" 2>/dev/null || echo 0; } # PROC-DIRECTORY: in ticks since boot
now_ticks() { born /proc/self; }
interfaces() { ip -o link | cut -d' ' -f2 | grep -cE '^(br77|ah0a4d)' || :; }
mounts() { grep -c "$work" /proc/self/mountinfo || :; }
no_process() { [ "$(processes_in "$@")" = 0 ]; } # FILE [LAST]

# The server and its worker are the controller; the CLI reaches them there.
real=$bin
serve_bed() { # OPTIONS: as start, in the controller's network
    : >"$work/log"
    "$top/tests/bed/fleet" --dir "$bed" enter "$real/anneald" --data-dir "$work/data" --listen 127.0.0.1:0 --set recover_grace=1s \
        --set ssh_identity="$bed/key" --set ssh_kex=curve25519-sha256 "$@" >>"$work/log" 2>&1 &
    server_pid=$!
    until grep -q server.ready "$work/log"; do
        kill -0 $server_pid 2>/dev/null || return 1
        read -rt 0.02 <> <(:) || :
    done
    port=$(sed -n 's/.*server.ready.* port=\([0-9]*\).*/\1/p' "$work/log")
    export ANNEAL_SERVER=http://127.0.0.1:$port
}
anneal() { fleet enter "$real/anneal" "$@"; }
address() { awk -v h="$1" '$2 == h { print $1 }' "$bed/hosts"; }
state_of() { anneal operation show "$1" -o json | jq -r .state; }
last() { anneal operation list --limit 1000 -o json | jq -r '[.items[].id] | max'; }
task_state() { anneal task list --operation "$1" --limit 1000 -o json | jq -r --arg t "$2" '.items[] | select(.name == $t) | .state' | sort | uniq -c | xargs; }
task_id() { anneal task list --operation "$1" --limit 1000 -o json | jq -r --arg t "$2" '.items[] | select(.name == $t) | .id'; }
over() { [ "$(state_of "$1")" = "$2" ]; } # OPERATION STATE
waits() { anneal why "task/$1" | grep -q "$2"; } # TASK REASON
noted() { anneal task show "$1" -o json | jq -r '.note // ""' | grep -q "$2"; } # TASK WORDS
# Tasks that write /root/marks tell there that they ran, and in which attempt.
marks() { fleet exec "$1" cat /root/marks | xargs; }
ran() { fleet exec "$1" grep -q . /root/marks; }
# All nodes were asked which machine they are, and in which boot: that is an input of tasks, and what is sent ahead begins anew when it changes.
identified() { [ "$(anneal node list --limit 1000 -o json | jq '[.items[] | select(.boot_id == null)] | length')" = 0 ]; }
bed_nodes() { # every host of the bed as a node NAME.t
    local ip name
    while read -r ip name; do
        case $name in h[0-9]*) anneal -q node add "$name.t" --address "$ip" --alive alive || return 1 ;; esac
    done <"$bed/hosts"
}
