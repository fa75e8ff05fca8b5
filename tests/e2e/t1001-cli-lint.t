#!/usr/bin/env bash
# anneal lint: the example is sound, and every fault is shown where it is.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
need anneal

run anneal lint "$top/examples/catalog"
is "$rc" 0 "the example catalog is sound"
has "$out" "roles" "and counted"
mkdir "$work/broken"
cat >"$work/broken/barclamp.yaml" <<'END'
barclamp: site
roles:
  - {name: web, requires: [databse], flags: [clustr]}
  - {name: database}
END
run anneal lint "$work/broken"
is "$rc" 2 "a broken one: exit code 2"
has "$out" 'barclamp.yaml:3:28: error: ' "an error has its place"
has "$out" '      - {name: web, requires: [databse], flags: [clustr]}' "its line"
has "$out" $'\n                               ^\n' "a caret under the word"
has "$out" 'did you mean "database"?' "and a remedy"
has "$out" "2 errors" "all errors are shown at once"
run anneal lint "$work/broken" -o json
is "$rc" 2 "the same in JSON"
is "$(printf '%s' "$out" | jq .errors)" 2 "with the count"
printf '\xff\xfe' >"$work/broken/logo.yaml"
run anneal lint "$work/broken"
has "$err" "logo.yaml is not UTF-8" "a file that is no text is named"
run anneal lint "$work/nowhere"
is "$rc" 4 "no directory: exit code 4"
done_testing
