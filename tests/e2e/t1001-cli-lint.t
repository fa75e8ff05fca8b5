#!/usr/bin/env bash
# anneal lint: the example is sound, and every fault is shown where it is.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need anneal

run anneal lint "$top/examples/catalog"
is "$rc" 0 "the example catalog is sound"
has "$out" "roles" "and counted"
mkdir "$scratch/broken"
cat >"$scratch/broken/barclamp.yaml" <<'END'
barclamp: site
roles:
  - {name: web, requires: [databse], flags: [clustr]}
  - {name: database}
END
run anneal lint "$scratch/broken"
is "$rc" 2 "a broken one: exit code 2"
has "$out" 'barclamp.yaml:3:28: error: ' "an error has its place"
has "$out" '      - {name: web, requires: [databse], flags: [clustr]}' "its line"
has "$out" $'\n                               ^\n' "a caret under the word"
has "$out" 'did you mean "database"?' "and a remedy"
has "$out" "2 errors" "all errors are shown at once"
run anneal lint "$scratch/broken" -o json
is "$rc" 2 "the same in JSON"
is "$(printf '%s' "$out" | python3 -c 'import json,sys; print(json.load(sys.stdin)["errors"])')" 2 "with the count"
printf '\xff\xfe' >"$scratch/broken/logo.yaml"
run anneal lint "$scratch/broken"
has "$err" "logo.yaml is not UTF-8" "a file that is no text is named"
run anneal lint "$scratch/nowhere"
is "$rc" 4 "no directory: exit code 4"
finish
