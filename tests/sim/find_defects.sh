#!/bin/sh
# find_defects.sh WORKDIR [SOURCE] - seeds one known defect at a time and shows that the simulator finds it.  TAP.
#
# Each defect is a build of its own, of what the simulator needs and no more; WORKDIR keeps them for the next time.
# SPDX-License-Identifier: Apache-2.0
work=${1:?usage: find_defects.sh WORKDIR [SOURCE]}
source=${2:-$(cd "$(dirname "$0")/../.." && pwd)}
seeds=200
n=0
failed=0

for defect in none generation ripple outbox node timer order hooks archive trie recall join tolerance undo chain correct word rollout leave quorum; do
    build=$work/$defect
    n=$((n + 1))
    if ! { [ -f "$build/build.ninja" ] ||
           meson setup "$build" "$source" -Ddefect=$defect -Dbuildtype=debugoptimized; } > "$work.log" 2>&1 ||
       ! ninja -C "$build" -j 2 tests/sim/anneal_sim_tool >> "$work.log" 2>&1; then
        echo "not ok $n - $defect: could not be built"
        tail -5 "$work.log" | sed 's/^/# /'
        failed=1
        continue
    fi
    last=$seeds
    [ $defect = none ] && last=20
    found=$("$build/tests/sim/anneal_sim_tool" --seeds 1..$last --jobs 2 --no-shrink)
    status=$?
    if [ $defect = none ] && [ $status = 0 ]; then
        echo "ok $n - without a defect $last seeds pass"
    elif [ $defect != none ] && [ $status = 1 ]; then
        echo "ok $n - $defect: $(echo "$found" | grep '^seed .* FAILED' | sed 's/ FAILED/ fails/')"
        echo "$found" | sed -n '/^seed .* FAILED/{n;s/^ */#   /p;}'
    else
        echo "not ok $n - $defect: exit $status of $last seeds"
        failed=1
    fi
done
echo "1..$n"
exit $failed
