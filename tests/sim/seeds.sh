#!/bin/sh
# The simulator over many seeds, as TAP.  usage: seeds.sh ANNEAL FROM TO
# SPDX-License-Identifier: Apache-2.0
set -u
anneal=$1 from=$2 to=$3
[ -n "${ANNEAL_LONG:-}" ] && to=$((to * 10))
out=$(mktemp)
trap 'rm -f "$out"' EXIT
if "$anneal" sim --seeds "$from..$to" --jobs 2 >"$out" 2>&1; then
    echo "ok 1 - seeds $from to $to, every invariant after every step, everything passed when healed"
else
    echo "not ok 1 - seeds $from to $to"
    head -n 60 "$out" | sed 's/^/#   /'
fi
sed -n 's/^  \([a-z]* *[0-9]*\)$/\1/p' "$out" | tr -s ' ' | paste -sd, | sed 's/^/# counts: /'
events=$(awk '$1 == "events" { print $2 }' "$out")
least=$(((to - from + 1) * 10000))
if [ "${events:-0}" -ge "$least" ]; then
    echo "ok 2 - at least 10,000 events a seed"
else
    echo "not ok 2 - at least 10,000 events a seed"
    echo "#   ${events:-0} events, wanted $least"
fi
echo 1..2
