#!/bin/sh
# An automator whose services are files: params.root/NODE/SERVICE holds what was done last.
#
# A shell has no JSON.  What this needs of it are a few plain texts, and sed finds those: a value that holds a quote or
# a backslash is refused, not guessed at.  Whoever needs more than that had better use another language.
# SPDX-License-Identifier: Apache-2.0
set -u

# text OUTER KEY: the text of a key inside the map of another; "" if it is not there
text() { printf '%s' "$task" | sed -n "s/.*\"$1\":{[^{}]*\"$2\":\"\([^\"\\\\]*\)\".*/\1/p"; }
log() { printf '{"log":"%s"}\n' "$1"; }
fail() {
    printf '{"error":{"text":"%s","remedy":"%s"}}\n' "$1" "${2:-}"
    exit 1
}

task=$(cat)
case $task in
'{"'*'}') ;;
*) fail 'this is no task' ;;
esac
action=$(printf '%s' "$task" | sed -n 's/^{"protocol":1,"plugin":"[^"]*","type":"[^"]*","action":"\([a-z-]*\)".*/\1/p')
case $action in
install | configure | start | stop | remove) ;;
*) fail "files cannot do that" "install, configure, start, stop or remove" ;;
esac
root=$(text params root)
service=$(text params service)
node=$(text node name)
[ -n "$root" ] && [ -n "$service" ] || fail 'no root, or no service' 'set both as parameters of the task'
[ -n "$node" ] || fail 'no node'

mkdir -p "$root/$node" || fail "cannot make $root/$node"
if [ "$action" = remove ]; then
    rm -f "$root/$node/$service"
else
    printf '%s\n' "$action" >>"$root/$node/$service" || fail "cannot write $root/$node/$service"
fi
log "$service: $action"
printf '{"result":{"service":"%s","state":"%s"}}\n' "$service" "$action"
