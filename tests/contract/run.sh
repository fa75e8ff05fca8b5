#!/bin/sh
# A fresh server on loopback for the contract runner; TAP.  usage: run.sh BIN_DIR TOP
# SPDX-License-Identifier: Apache-2.0
set -eu
bin=$1 top=$2
work=$(mktemp -d)
"$bin/anneald" --data-dir "$work/data" --listen 127.0.0.1:0 --set dead_after=1s --set recover_grace=1s >"$work/log" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null; rm -rf "$work"' EXIT
until grep -q server.ready "$work/log"; do
    kill -0 $pid 2>/dev/null || { cat "$work/log"; echo "not ok 1 - the server starts"; echo 1..1; exit 1; }
done
port=$(sed -n 's/.*server.ready.* port=\([0-9]*\).*/\1/p' "$work/log")
python3 "$top/tests/contract/contract.py" --url "http://127.0.0.1:$port" --token-file "$work/data/admin.token" \
    --catalog "$top/examples/catalog"
