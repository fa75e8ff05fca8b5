#!/usr/bin/env bash
# docs/tutorial.md, as written: every command, in order, and what it prints.  TUTORIAL names another page,
# TUTORIAL_SECONDS how long all of it may take; with TUTORIAL_EXAMPLES times and the like are not taken at their word.
#
# As root the nodes of ./quickstart are hosts on a bridge: in a network of the test's own.
if [ -z "${ANNEAL_OWN_NETWORK:-}" ] && [ "$(id -u)" = 0 ] && unshare --net --mount true 2>/dev/null; then
    ANNEAL_OWN_NETWORK=1 exec unshare --net --mount "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
[ -z "${ANNEAL_OWN_NETWORK:-}" ] || ip link set lo up

# The page is read in a clone; this is one, with the programs that are built already.
mkdir -p "$work/clone/build" "$work/tmp"
cp -r "$top/quickstart" "$top/tools" "$top/examples" "$top/plugins" "$work/clone/" || exit 1
ln -s "$bin" "$work/clone/build/bin"
cd "$work/clone" || exit 1
runner=
clone_finish() {
    [ -n "$runner" ] && kill "$runner" 2>/dev/null && wait "$runner"
    [ ! -d "$work/clone/.quickstart" ] || "$work/clone/quickstart" --clean >/dev/null 2>&1
    finish
}
trap clone_finish EXIT
trap 'exit 1' INT TERM HUP

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])') || exit 1
export ANNEAL_SERVER=http://127.0.0.1:$port ANNEAL_BIN_DIR=$work/clone/build/bin TMPDIR=$work/tmp
unset ANNEAL_TOKEN_FILE ANNEAL_TOKEN
python3 "$top/tests/e2e/tutorial.py" "${TUTORIAL:-$top/docs/tutorial.md}" "${TUTORIAL_SECONDS:-55}" ${TUTORIAL_EXAMPLES:+--examples} &
runner=$!
wait $runner
code=$?
runner=
exit $code
