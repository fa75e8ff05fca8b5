#!/usr/bin/env bash
# Six seeded defects, each built in and found by the simulator within 200 seeds; TAP.  usage: defects.sh TOP WORK
# SPDX-License-Identifier: Apache-2.0
set -u
top=$1 work=$2
mkdir -p "$work"
n=0
bad=0
for defect in generation ripple outbox node timer order; do
    n=$((n + 1))
    dir=$work/$defect
    [ -f "$dir/build.ninja" ] || meson setup "$dir" "$top" -Ddefect=$defect -Dtests=enabled >"$work/$defect.log" 2>&1
    if ! ninja -C "$dir" tests/sim/anneal_sim_tool >>"$work/$defect.log" 2>&1; then
        echo "not ok $n - $defect: builds"
        tail -n 5 "$work/$defect.log" | sed 's/^/#   /'
        bad=1
        continue
    fi
    if found=$(timeout 300 "$dir/tests/sim/anneal_sim_tool" --seeds 1..200 --jobs 2 2>&1); then
        echo "not ok $n - $defect is found within 200 seeds"
        bad=1
    else
        echo "ok $n - $defect is found: $(printf '%s\n' "$found" | grep -m 1 FAILED), $(printf '%s\n' "$found" | sed -n 2p | cut -c1-90)"
    fi
done
echo "1..$n"
exit $bad
