#!/bin/sh
# mutator.sh MUTATE REPLAY CORPUS - the driver finds what is broken, and what it found can be repeated.  TAP.
# SPDX-License-Identifier: Apache-2.0
mutate=$1 replay=$2 corpus=$3
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
ulimit -c 0
n=0
failed=0
check() { # STATUS LABEL
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/#   /' "$dir/out"
        failed=1
    fi
}

"$mutate" 60 "$corpus" 7 >"$dir/out" 2>"$dir/err"
[ $? -eq 1 ]; check $? "a broken target is a failure"
grep -q '^not ok 1 - [0-9]* inputs in [0-9]* s, seed 7$' "$dir/out"; check $? "which is told with the seed"
grep -q '^#   input [0-9]*: signal 6$' "$dir/out"; check $? "and the input"
grep -q 'broken promise: no .xff behind a' "$dir/err"; check $? "after the target's own words"
input=$(sed -n 's/^#   input \([0-9]*\):.*/\1/p' "$dir/out")
mkdir "$dir/found"
"$mutate" 0 "$corpus" 7 "$input" >"$dir/found/input"; check $? "the input can be had again"
"$replay" "$corpus" >"$dir/out" 2>&1; check $? "the corpus itself passes"
"$replay" "$dir/found" >"$dir/out" 2>&1
[ $? -ne 0 ]; check $? "the input does not"
"$mutate" 0 "$dir/none" >"$dir/out" 2>&1
[ $? -eq 1 ]; check $? "no corpus is a failure"
echo "1..$n"
exit $failed
