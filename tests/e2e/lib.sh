# lib.sh - sourced by the end-to-end tests: a server of their own, the CLI against it, TAP
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
set -u
bin=${ANNEAL_BIN_DIR:?the directory of the programs}
top=${ANNEAL_TOP:?the directory of the sources}
work=$(mktemp -d)
points=0 failures=0
server_pid=
export ANNEAL_TOKEN_FILE=$work/data/admin.token NO_COLOR=1

finish() {
    [ -n "$server_pid" ] && kill -9 "$server_pid" 2>/dev/null
    mountpoint -q "$work/small" 2>/dev/null && umount "$work/small"
    rm -rf "$work" ${opened:+"$opened"}
}
trap finish EXIT

# Sets opened: a directory that other users reach, too, which those below $TMPDIR may not be.
open_dir() { opened=$(mktemp -d /var/tmp/anneal-e2e-XXXXXX) && chmod 755 "$opened"; }

# With ANNEAL_TEST_KEEP=DIR, logs and journal are kept there as they were at each point that failed.
keep() {
    [ -n "${ANNEAL_TEST_KEEP:-}" ] || return 0
    local to f
    to=$ANNEAL_TEST_KEEP/$(basename "$0" .t).$$.$points
    mkdir -p "$to"
    for f in "$work/log" "$work"/*.log "$work/data"/*.db*; do [ ! -f "$f" ] || cp "$f" "$to"; done
}
ok() { # STATUS LABEL [DETAIL]
    points=$((points + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $points - $2"
    else
        failures=$((failures + 1))
        echo "not ok $points - $2"
        [ -n "${3:-}" ] && printf '%s\n' "$3" | head -n 12 | sed 's/^/#   /'
        keep
    fi
}
is() { [ "$1" = "$2" ]; ok $? "$3" "got \"$1\", wanted \"$2\""; }
has() { case $1 in *"$2"*) ok 0 "$3" ;; *) ok 1 "$3" "no \"$2\" in: $1" ;; esac; }
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
done_testing() { echo "1..$points"; [ $failures -eq 0 ]; exit; }

anneal() { "$bin/anneal" "$@"; }

# start [OPTIONS]: a server on a free port; its log is $work/log.  Fails if it ends first.
start() {
    : >"$work/log"
    ${PRELOAD:+env LD_PRELOAD="$PRELOAD"} "$bin/anneald" --data-dir "$work/data" --listen 127.0.0.1:0 --set recover_grace=1s --set node_access=local "$@" >>"$work/log" 2>&1 &
    server_pid=$!
    until grep -q server.ready "$work/log"; do
        kill -0 $server_pid 2>/dev/null || { wait $server_pid; code=$?; server_pid=; return "$code"; }
        read -rt 0.02 <> <(:) || :
    done
    port=$(sed -n 's/.*server.ready.* port=\([0-9]*\).*/\1/p' "$work/log")
    export ANNEAL_SERVER=http://127.0.0.1:$port
}
stop() { kill "$server_pid" && wait "$server_pid"; code=$?; server_pid=; return $code; }
crash() { kill -9 "$server_pid"; wait "$server_pid" 2>/dev/null; server_pid=; }
api() { # METHOD PATH [curl arguments]: body, then the status on a line of its own
    local method=$1 path=$2
    shift 2
    curl -s -X "$method" -H "Authorization: Bearer $(cat "$ANNEAL_TOKEN_FILE")" -w '\n%{http_code}' "$@" "$ANNEAL_SERVER$path"
}
# until_true SECONDS COMMAND...: asks until it succeeds.
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        read -rt 0.05 <> <(:) || :
    done
}
# catalog NAME <<yaml: a barclamp in $work/NAME
catalog() { mkdir -p "$work/$1/$1"; cat >"$work/$1/$1/barclamp.yaml"; }
nodes() { local n; for n; do anneal -q node add "$n" --alive alive || return 1; done; }
