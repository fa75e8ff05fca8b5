# lib.sh - sourced by the shell tests: TAP, a scratch directory, a server of one's own
#
#   ok STATUS LABEL          passes if STATUS is 0
#   is GOT WANTED LABEL      compares texts
#   has TEXT PART LABEL      TEXT contains PART
#   run COMMAND...           sets $rc, $out and $err
#   start_server [OPTION...] serves on a free port with its data in $scratch/data
#   finish                   prints the plan; the exit status says whether all passed
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0

bin=${ANNEAL_BIN_DIR:?ANNEAL_BIN_DIR names the directory of the programs}
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/anneal-e2e-XXXXXX")
export LC_ALL=C.UTF-8 HOME=$scratch
unset ANNEAL_SERVER ANNEAL_TOKEN ANNEAL_TOKEN_FILE NO_COLOR XDG_CONFIG_HOME
tests=0 failed=0 server_pid=

need() { # PROGRAM: the whole test is skipped without it
    [ -x "$bin/$1" ] || { echo "1..0 # SKIP $1 is not built"; exit 0; }
}

anneal() { "$bin/anneal" "$@"; }

ok() {
    tests=$((tests + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests - $2"
    else
        failed=$((failed + 1))
        echo "not ok $tests - $2"
        return 0
    fi
}

diagnose() { printf '%s\n' "$1" | sed "s/^/#   $2 /"; }

is() {
    if [ "$1" = "$2" ]; then
        ok 0 "$3"
    else
        ok 1 "$3"
        diagnose "$1" got
        diagnose "$2" wanted
    fi
}

has() {
    case $1 in
    *"$2"*) ok 0 "$3" ;;
    *)
        ok 1 "$3"
        diagnose "$1" got
        diagnose "$2" without
        ;;
    esac
}

run() {
    rc=0
    out=$("$@" 2>"$scratch/err") || rc=$?
    err=$(cat "$scratch/err")
}

# One moment, without a process.
moment() { read -rt 0.02 <> <(:) || true; }

# until_true SECONDS COMMAND...: 0 as soon as the command succeeds.
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        moment
    done
}

server_is_ready() { grep -q server.ready "$scratch/log" 2>/dev/null || ! kill -0 "$server_pid" 2>/dev/null; }

start_server() {
    : >"$scratch/log"
    "$bin/anneald" --data-dir "$scratch/data" --listen "127.0.0.1:${port:-0}" "$@" >>"$scratch/log" 2>&1 </dev/null &
    server_pid=$!
    until_true 60 server_is_ready
    if ! port=$(grep -o 'server.ready.*' "$scratch/log" | grep -om1 'port=[0-9]*'); then
        sed 's/^/# /' "$scratch/log"
        echo "Bail out! the server did not start"
        exit 1
    fi
    port=${port#port=}
    export ANNEAL_SERVER=http://127.0.0.1:$port ANNEAL_TOKEN_FILE=$scratch/data/admin.token
}

stop_server() {
    [ -n "$server_pid" ] || return 0
    kill "${1:--TERM}" "$server_pid" 2>/dev/null
    wait "$server_pid" 2>/dev/null
    server_pid=
    return 0
}

finish() {
    stop_server
    rm -rf "$scratch"
    echo "1..$tests"
    [ "$failed" -eq 0 ]
}
trap 'stop_server; rm -rf "$scratch"' EXIT
