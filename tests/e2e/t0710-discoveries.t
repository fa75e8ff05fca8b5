#!/usr/bin/env bash
# 500 machines announce themselves while a commit of 10,000 noderoles runs; a server killed in the middle of both comes
# to the same end.
. "$(dirname "$0")/lib.sh"

# A thousand nodes and a proposal of ten roles on each, made once and copied for both rounds.  Five of the roles need one
# noderole more, the gate, which opens when all machines have been answered: that they meet the commit in its middle is
# no matter of luck.
machines=500 clients=20
catalog site <<Y
barclamp: site
version: 1.0.0
roles:
  - name: inventory
    jig: noop
    flags: [discovery, implicit]
    actions: {converge: [{name: look}]}
$(for r in {0..4}; do echo "  - {name: r$r, jig: noop, actions: {converge: [{name: up-$r}]}}"; done)
$(for r in {5..9}; do echo "  - {name: r$r, jig: noop, requires: [gate], actions: {converge: [{name: up-$r}]}}"; done)
  - name: gate
    jig: shell
    flags: [cluster]
    actions: {converge: [{name: wait, params: {script: 'while test -d "$work" -a ! -e "$work/open"; do sleep 0.05; done'}}]}
Y
clock() { echo "$(($(date +%s%3N) - began))ms"; }
began=$(date +%s%3N)

start || exit 1
token=$(cat "$ANNEAL_TOKEN_FILE")
for ((i = 1; i <= 1000; i++)); do
    [ $i -eq 1 ] || echo next
    printf 'url = "%s/v1/nodes"\nheader = "Authorization: Bearer %s"\njson = "{\\"name\\":\\"n%04d.t\\",\\"alive\\":\\"alive\\"}"\nsilent\noutput = /dev/null\nwrite-out = "%%{http_code}\\\\n"\n' \
        "$ANNEAL_SERVER" "$token" $i
done >"$work/add"
is "$(curl --parallel --parallel-max 4 -K "$work/add" 2>/dev/null | sort | uniq -c | tr -s ' ')" " 1000 201" "a thousand nodes"
anneal -q catalog load "$work/site" || exit 1
anneal -q token add image --scope announce --save "$work/image.token"
anneal -q deployment add prod
anneal -q deployment propose prod
out=$(anneal deployment edit prod --bind gate=n0001.t --bind=r{0..9}='n*' 2>&1); ok $? "ten roles on each are proposed" "$out"
stop || exit 1
mv "$work/data" "$work/prepared"
echo "# prepared after $(clock)"

# announce MACHINE: asks until it is answered, with the same words each time; every eighth is the CLI.
announce() {
    local name=m$1.t code
    while :; do
        if [ $((10#$1 % 8)) -eq 0 ]; then
            ANNEAL_TOKEN_FILE=$work/image.token anneal node announce "$name" --machine-id "id-$1" --boot-id b1 >"$work/said/$1" 2>&1
            code=$?
        else
            code=$(curl -s -o "$work/said/$1" -w '%{http_code}' -H "Authorization: Bearer $image" \
                --json "{\"name\":\"$name\",\"machine_id\":\"id-$1\",\"boot_id\":\"b1\",\"facts\":{\"cpus\":4}}" "$ANNEAL_SERVER/v1/announce")
        fi
        case $code in
            0 | 200 | 201) echo "$name" >>"$work/answered"; return ;;
            9 | 000) echo "$name $code" >>"$work/again" ;; # nobody there
            *) { echo "$name: $code"; cat "$work/said/$1"; } >>"$work/refused"; return ;;
        esac
        read -rt 0.1 <> <(:) || :
    done
}
client() { local i n; for ((i = $1; i <= machines; i += clients)); do printf -v n %03d $i; announce "$n"; done; }
answered() { [ "$(wc -l <"$work/answered")" -ge "$1" ]; }
discovered() { anneal operation list --state running --limit 100000 -o json | jq -e '[.items[] | select(.kind != "standing")] == []'; }
active() { anneal noderole list --deployment prod --state ACTIVE --limit 1 -o json | jq .total; }
past_gate() { [ "$(active)" -gt 5001 ]; }
killed() {
    echo "# killed after $(clock): $(active) of the commit ACTIVE, $(wc -l <"$work/answered") machines answered"
    crash 2>/dev/null
    until_true 10 start --listen "127.0.0.1:$port" || exit 1
    echo "# there again after $(clock)"
}
picture() {
    anneal noderole list --limit 100000 -o json | jq -r '.items | map("\(.role) \(.node) \(.deployment) \(.state)") | sort[]'
    anneal node list --limit 100000 -o json | jq -r '.items | map("\(.name) \(.alive) \(.state)") | sort[]'
    anneal deployment history prod -o json | jq -c '.items | map([.number, .state, .entries])'
    anneal deployment diff system -o json 2>/dev/null | jq -c .changes
}
# round [killed]: the commit and the machines together; what is there afterwards is in $work/picture.
round() {
    local pids=() c
    rm -rf "$work/data" "$work/open" "$work/said" "$work/refused" "$work/again" "$work/picture"
    mkdir "$work/said"
    : >"$work/answered"
    cp -a "$work/prepared" "$work/data"
    start || exit 1
    image=$(cat "$work/image.token")
    began=$(date +%s%3N)
    anneal deployment commit prod --wait >"$work/commit" 2>&1 &
    commit=$!
    for ((c = 1; c <= clients; c++)); do client $c & pids+=($!); done
    [ $# -eq 0 ] || for c in 20 250; do until_true 60 answered $c; killed; done
    wait "${pids[@]}"
    echo "# $machines machines answered after $(clock)"
    kill -0 $commit 2>/dev/null; ok $? "the commit still runs"
    touch "$work/open"
    [ $# -eq 0 ] || { until_true 60 past_gate; killed; }
    wait $commit; ok $? "it succeeds" "$(cat "$work/commit")"
    echo "# committed after $(clock)"
    until_true 60 discovered; ok $? "so does every discovery"
    echo "# all done after $(clock)"
    picture >"$work/picture"
    is "$(cat "$work/refused" 2>/dev/null)" "" "no machine was refused"
    is "$(sort -u "$work/answered" | wc -l)" $machines "each was answered"
}
count() { grep -cE "$1" "$work/picture"; }

round
is "$(cat "$work/again" 2>/dev/null)" "" "at the first time of asking"
is "$(count '^r[0-9] n[0-9]{4}\.t prod ACTIVE$')" 10000 "10,000 noderoles are ACTIVE"
is "$(count '^machine m[0-9]{3}\.t system ACTIVE$') $(count '^inventory m[0-9]{3}\.t system ACTIVE$')" "$machines $machines" "every machine is there once and was discovered"
is "$(count '^m[0-9]{3}\.t alive ')" $machines "and is alive"
is "$(cat "$work"/said/008 "$work"/said/496 | tr '\n' ' ')" "this machine is node m008.t, which is new this machine is node m496.t, which is new " "those that spoke through the CLI were told so"
stop; ok $? "the server ends in order"
mv "$work/picture" "$work/wanted"

round killed
[ -s "$work/again" ]; ok $? "machines met a server that was not there, and asked again"
out=$(diff "$work/wanted" "$work/picture"); ok $? "three kills in the middle: the same end" "$out"
stop; ok $? "the server ends in order"
out=$("$bin/anneald" --data-dir "$work/data" --verify 2>&1); ok $? "journal and rows agree" "$out"
done_testing
