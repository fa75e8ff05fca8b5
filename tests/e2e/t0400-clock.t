#!/usr/bin/env bash
# A wall clock set back an hour changes what is shown, not what happens.
. "$(dirname "$0")/lib.sh"
shim=$(ls "$bin"/../tests/e2e/*realclock*.so 2>/dev/null | head -n 1)
[ -n "$shim" ] || skip_all "the clock shim is not built"
[ "${ANNEAL_VARIANT:-}" = asan ] && skip_all "the sanitizer must be the first library"

catalog clock <<'Y'
barclamp: clock
version: 1.0.0
roles:
  - {name: waits, jig: test, actions: {converge: [{name: waits, timeout: 1m, deadline: 5m, params: {again_times: 3, again_ms: 300}}]}}
  - {name: backs, jig: test, actions: {converge: [{name: backs, retries: 2, backoff: 300ms, params: {fail_times: 2}}]}}
Y
export REALCLOCK_FILE=$work/offset
echo 0 >"$REALCLOCK_FILE"
PRELOAD=$shim
start || exit 1
anneal -q catalog load "$work/clock" || exit 1
nodes n1.t n2.t
first=$(anneal -o json events --since 0 2>/dev/null | head -c 100000 | jq -rs 'flatten | map(.items? // .) | flatten | last.at')
anneal -q deployment bind system waits=n1.t backs=n2.t
echo -3600 >"$REALCLOCK_FILE"
out=$(anneal deployment bind system waits=n1.t --wait=60s 2>&1); ok $? "the server goes on" "$out"
active() { [ "$(anneal noderole list -o json | jq '[.items[] | select(.state == "ACTIVE" and .role != "machine")] | length')" = 2 ]; }
until_true 30 active; ok $? "timers and back-offs fire as if nothing had happened"
echo 7200 >"$REALCLOCK_FILE"
out=$(anneal role rerun waits --wait=60s 2>&1); ok $? "nor does a jump ahead end a task before its time" "$out"
crash
echo -86400 >"$REALCLOCK_FILE"
start; ok $? "a restart with the clock a day back is fine"
out=$(anneal role rerun waits --wait=60s 2>&1); ok $? "and work goes on" "$out"
stop
done_testing
