# cli.sh - sourced by the tests of the command line, after lib.sh
#
#   need PROGRAM     the whole test is skipped without it
#   run COMMAND...   sets $rc, $out and $err
# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
export LC_ALL=C.UTF-8 HOME=$work
unset ANNEAL_SERVER ANNEAL_TOKEN XDG_CONFIG_HOME

need() { [ -x "$bin/$1" ] || skip_all "$1 is not built"; }

run() {
    rc=0
    out=$("$@" 2>"$work/err") || rc=$?
    err=$(cat "$work/err")
}
