# workers.sh - sourced after bed.sh by the tests of workers elsewhere: a server without one of its own, over TLS, and programs anneal-worker
# beside it that reach the hosts of the bed
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
declare -A pids=()
finish_workers() {
    local p
    for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done
    [ ! -d "$bed" ] || fleet down >/dev/null 2>&1
    finish
}
trap finish_workers EXIT

serve() { # OPTIONS: a server without a worker of its own
    serve_bed --set worker_enabled=false --set tls=on --set node_lease=3s --set recover_grace=3s "$@" || return 1
    export ANNEAL_SERVER=https://127.0.0.1:$port ANNEAL_CACERT=$work/data/ca.pem
}
again() { until_true 20 serve --listen "127.0.0.1:$port"; }
# worker NAME [VARIABLE=VALUE]...: its log is $work/NAME.log
worker() {
    local name=$1
    shift
    "$top/tests/bed/fleet" --dir "$bed" enter env "$@" "$real/anneal-worker" --state "$work/$name" --set beat=200ms --set ssh_identity="$bed/key" \
        --set ssh_kex=curve25519-sha256 --set ssh_keepalive=1s >>"$work/$name.log" 2>&1 &
    pids[$name]=$!
}
attached() { [ "$(anneal worker show "$1" -o json | jq -r .state)" = attached ]; }
# join NAME PORT [VARIABLE=VALUE]...: by way of that port
join() {
    local name=$1 by=$2
    shift 2
    anneal worker token --name "$name" -o json | jq -r .token | sed "s/:$port#/:$by#/" >"$work/$name.join"
    fleet enter "$real/anneal-worker" --state "$work/$name" --name "$name" --join-file "$work/$name.join" --join-only 2>>"$work/$name.log" || return 1
    worker "$name" "$@"
    until_true 20 attached "$name"
}
back() { worker "$@" && until_true 20 attached "$1"; }
killed() { kill -9 "${pids[$1]}"; wait "${pids[$1]}" 2>/dev/null; unset "pids[$1]"; }
ended() { kill "${pids[$1]}"; wait "${pids[$1]}" 2>/dev/null; unset "pids[$1]"; }
only() { # WORKER: whatever starts from now on is this one's; `all` is for the others what `only` is not
    local w
    for w in "${!pids[@]}"; do [ "$w" = "$1" ] || anneal -q worker drain "$w"; done
}
all() { local w; for w in "${!pids[@]}"; do anneal -q worker undrain "$w"; done; }
holds() { [ "$(anneal worker show "$1" -o json | jq -r .running)" = "$2" ]; }
hosts() { seq -f 'h%04g' "$1" "$2"; }
runs() { local h; for h in $(hosts "$1" "$2"); do fleet exec "$h" cat /root/runs 2>/dev/null; done; }
ran_times() { [ "$(runs "$1" "$2" | wc -l)" -ge "$3" ]; } # FIRST LAST LINES
overlaps() { local h; for h in $(hosts "$1" "$2"); do fleet exec "$h" cat /root/overlaps 2>/dev/null; done; }
strangers() { local h; for h in $(hosts "$1" "$2"); do fleet exec "$h" ps -eo args= | grep -v 'sshd\|anneal-host\|ps -eo\|^init\|grep'; done; }

# A script that writes a line a run, and one if it finds another attempt of its task at work.
begin='mkdir /root/at.$ANNEAL_TASK || echo "overlap $ANNEAL_TASK" >>/root/overlaps; echo "$ANNEAL_TASK $ANNEAL_ATTEMPT $ANNEAL_KEY" >>/root/runs'
end='rmdir /root/at.$ANNEAL_TASK'
