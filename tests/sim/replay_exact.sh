#!/bin/sh
# replay_exact.sh TOOL - the same seed twice gives the same bytes, however many processes share the work.  TAP.
# SPDX-License-Identifier: Apache-2.0
tool=$1
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0

check() { # label, file, file
    n=$((n + 1))
    if [ -s "$2" ] && cmp -s "$2" "$3"; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        diff "$2" "$3" | head -5 | sed 's/^/# /'
    fi
}
differs() {
    n=$((n + 1))
    if cmp -s "$2" "$3"; then echo "not ok $n - $1"; else echo "ok $n - $1"; fi
}

for i in 1 2; do
    "$tool" --seed 7 --events 3000 --verbose > "$dir/seven.$i"
    "$tool" --seeds 1..6 --events 2000 --jobs $i > "$dir/many.$i"
    "$tool" --seed 7 --events 3000 --verify > "$dir/verify.$i"
done
"$tool" --seed 8 --events 3000 --verbose > "$dir/eight"
"$tool" --seed 7 --events 3000 > "$dir/plain"
check "every step of a seed" "$dir/seven.1" "$dir/seven.2"
check "one job or two" "$dir/many.1" "$dir/many.2"
check "verifying changes nothing" "$dir/verify.1" "$dir/verify.2"
differs "another seed is another run" "$dir/seven.1" "$dir/eight"
grep trail "$dir/verify.1" > "$dir/trail.1"
grep trail "$dir/plain" > "$dir/trail.2"
check "verifying every group leaves the run as it is" "$dir/trail.1" "$dir/trail.2"
echo "1..$n"
