#!/usr/bin/env bash
# What the command line does without a server: help, complaints, exit codes, completion, manual pages.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
need anneal
unset ANNEAL_TOKEN_FILE

run anneal
is "$rc" 0 "no arguments: an overview"
has "$out" "usage: anneal NOUN VERB" "with the usage"
run anneal --version
is "$rc" 0 "--version"
has "$out" "anneal " "names the program"
run anneal node lst
is "$rc" 2 "an unknown verb: exit code 2"
has "$err" 'did you mean `anneal node list`?' "and the nearest known one"
run anneal node list --stat ACTIVE
has "$err" "did you mean --state?" "the same for options"
run anneal --server http://127.0.0.1:1 node list
is "$rc" 9 "nobody listens: exit code 9"
has "$err" "cannot reach http://127.0.0.1:1" "the address is named"
has "$err" "is anneald running?" "and a remedy"
run anneal --server http://127.0.0.1:1 node list -o json
is "$(printf '%s' "$err" | jq .status)" 503 "in JSON the error is a problem object"
run env ANNEAL_TOKEN=anl_x "$bin/anneal" --server http://192.0.2.1 node list
is "$rc" 6 "a token is not sent in clear beyond this machine"
run env ANNEAL_TOKEN_FILE=/nonexistent "$bin/anneal" node list
has "$err" "ANNEAL_TOKEN_FILE names this file" "a token file that is not there"
printf 'anl_x' >"$work/token"
chmod 644 "$work/token"
run anneal --server http://127.0.0.1:1 --token-file "$work/token" node list
has "$err" "chmod 600" "a token that others may read is warned about"

# Output that cannot be written is an error, not a silence.
rc=0
"$bin/anneal" help >/dev/full 2>"$work/err" || rc=$?
is "$rc" 1 "a full disk: exit code 1"
has "$(cat "$work/err")" "cannot be written" "and a word about it"

# bash runs the completion script with its own word splitting.
cat >"$work/complete.sh" <<END
source <("$bin/anneal" completion bash)
ask() { COMP_WORDS=("\$@"); COMP_CWORD=\$((\$# - 1)); COMPREPLY=(); compopt() { :; }; _anneal; echo "\${COMPREPLY[*]}"; }
ask "$bin/anneal" no
ask "$bin/anneal" node s
ask "$bin/anneal" node list --state = A
END
run bash --norc "$work/complete.sh"
is "$out" $'node noderole\nshow set\nACTIVE' "completion in a real bash"

run anneal man --dir "$work/man"
is "$rc" 0 "manual pages are written"
if command -v man >/dev/null; then
    said=$(MANPATH=$work/man man --warnings -E UTF-8 anneal-node 2>&1 >"$work/page" | grep -v '^$')
    is "$said" "" "man finds and formats them without a complaint"
    has "$(cat "$work/page")" "anneal node add [NAME]" "with their content"
else
    ok 0 "man is not installed # SKIP"
fi
# on_page PROGRAM PAGE: the options that --help tells of and the page does not
on_page() {
    local option
    "$bin/anneal" man "$2" | sed 's/\\-/-/g' >"$work/page"
    for option in $("$bin/$1" --help | grep -oE -- '--[a-z-]+' | sort -u); do
        grep -q "^\.B .*$option\b" "$work/page" || echo "$option"
    done
}
for pair in anneal:anneal.1 anneald:anneald.8 anneal-worker:anneal-worker.8; do
    [ "$("$bin/${pair%:*}" --help | grep -cE -- '^ .*--[a-z-]+')" -ge 8 ]; ok $? "${pair%:*} --help has options"
    is "$(on_page "${pair%:*}" "${pair#*:}")" "" "each of them is on ${pair#*:}"
done
run "$bin/anneald" --frob
is "$rc" 2 "an unknown option of anneald"
has "$err" "unknown option --frob" "is named"
has "$err" 'anneald --help' "with a remedy"
run "$bin/anneald" --set
has "$err" "--set needs a value" "so is one without its value"
run "$bin/anneald" --verify --restore "$work/none"
has "$err" "either --verify or --restore, not both" "two wishes at once are refused"
run "$bin/anneald" --frob=1 --help
is "$rc" 2 "what comes first counts"
run "$bin/anneald" stray
has "$err" '"stray" is not understood' "a stray word is named"
run anneal help --markdown
has "$out" "### anneal deployment bind" "the reference in Markdown"
run anneal sim --seed 1 --events 200
is "$rc" 0 "the simulator is one of the verbs"
done_testing
