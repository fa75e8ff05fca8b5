#!/bin/bash
# What tasks of a cluster see: its config with macros expanded, all nodes, and what tasks before them told.
# SPDX-License-Identifier: Apache-2.0
. "${ANNEAL_TOP:?}/tests/e2e/cluster.sh"
rm -rf "$work/catalog"
mkdir -p "$work/catalog" "$work/seen"
cat >"$work/catalog/barclamp.yaml" <<Y
barclamp: seen
jigs: [{name: machines, implementation: shell, reach: outside}]
providers:
  - provider: cloud
    jig: machines
    config: {region: north}
    actions:
      create:
        - name: make
          returns: [provider-id]
          params: {script: 'cat >$work/seen/make-\$ANNEAL_NODE; echo "{\"provider-id\":\"i-\$ANNEAL_NODE\",\"secret\":\"x\"}" >&3'}
      confirm:
        - name: confirm
          returns: [ipaddress]
          params: {script: 'cat >$work/seen/confirm-\$ANNEAL_NODE; n=\${ANNEAL_NODE#c-}; echo "{\"ipaddress\":\"10.0.0.\${n%%.*}\",\"nodes\":\"mine\",\"config\":\"mine\"}" >&3'}
  - provider: confused
    jig: machines
    actions:
      create: [{name: make, params: {script: 'true'}}]
      confirm: [{name: confirm, retries: 2, backoff: 1ms, params: {script: 'echo "{\"addresses\":{\"main\":\"10.0.0.1\"}}" >&3'}}]
hardware: [{hardware: small, providers: {cloud: {flavor: s1, cost: 0.1, vcpu: 1}, confused: {flavor: s1, cost: 0.1}}}]
images: [{image: plain, providers: {cloud: {image: img-1, user: admin}, confused: {image: img-1}}}]
templates:
  - template: two
    defaults:
      services: [front, back]
      provider: cloud
      image: plain
      config:
        front: {peers: "%join(map(ip.service.back,'\$:80'),';')%", me: "%host.self%", which: "%instance.self.service.front%", plain: "100% sure"}
    links: [{label: door, url: "http://%ip.service.front[0]%:80"}, {label: none, url: "http://%ip.service.back[7]%"}]
    constraints: {apart: [[front, back]], services: {front: {min: 1, max: 1}, back: {min: 2}}}
roles:
  - {name: front, jig: shell, requires: {run: [back]}, actions: {configure: [{name: write-front, params: {script: 'cat >$work/seen/front'}}], start: [{name: start-front, params: {script: 'cat >$work/seen/start'}}]}}
  - {name: back, jig: shell, actions: {configure: [{name: write-back, params: {script: 'echo "{\"ready\":true}" >&3'}}], start: [{name: start-back, params: {script: 'true'}}], remove: [{name: remove-back, params: {script: 'cat >$work/seen/gone'}}]}}
Y
start || { echo "1..0 # SKIP no server"; exit 0; }
anneal catalog load "$work/catalog" >"$work/out" 2>&1; ok $? "the catalog is loaded" "$(cat "$work/out")"
operate create '{"name":"c","template":"two","nodes":3}'
is "$(ended)" succeeded "created" || anneal why operation "$op" | sed 's/^/# /'
see() { python3 - "$@" <<'P'
import json, sys
v = json.load(open(sys.argv[1]))
v = v.get("data", v)
for k in sys.argv[2:]:
    v = v[int(k)] if isinstance(v, list) else (v or {}).get(k)
print("" if v is None else v if isinstance(v, str) else json.dumps(v, sort_keys=True))
P
}
front=$(anneal noderole list --limit 100 -o json | python3 -c 'import json,sys; print([n["node"] for n in json.load(sys.stdin)["items"] if n["role"]=="front"][0])')
m=$work/seen/make-$front
is "$(see "$m" hardware) $(see "$m" flavor) $(see "$m" image_id) $(see "$m" user)" "small s1 img-1 admin" "who makes a machine is told what it is to be"
is "$(see "$m" provider_config region)" north "and what the provider is configured with"
c=$work/seen/confirm-$front
is "$(see "$c" config provider-id)" "i-$front" "what was declared to be returned is in the config of the next task"
is "$(see "$c" results make secret)" x "everything is under results"
is "$(see "$c" config secret)" "" "and nothing else in the config"
f=$work/seen/front
is "$(see "$f" config front me)" "$front" "macros of the node are expanded"
is "$(see "$f" config front which)" 1 "numbers too"
is "$(see "$f" config front plain)" "100% sure" "a lone percent sign is text"
has "$(see "$f" config front peers)" ":80;10.0.0." "lists of other nodes' addresses"
is "$(see "$f" nodes "$front" ipaddresses bind_v4)" "10.0.0.$(echo "$front" | sed 's/^c-\([0-9]*\).*/\1/')" "the nodes of the cluster, with their addresses"
is "$(see "$f" nodes | python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')" 3 "all of them: no result takes the place of a reserved key"
is "$(see "$f" cluster name) $(see "$f" cluster template) $(see "$f" cluster owner)" "c two admin" "and what the cluster is"
anneal cluster show c -o json >"$work/seen/cluster"
is "$(see "$work/seen/cluster" links)" "[{\"label\": \"door\", \"url\": \"http://$(see "$f" nodes "$front" ipaddresses bind_v4):80\"}]" "its links lead there; one to nowhere is left out"
has "$(anneal cluster show c)" "door   http://10.0.0." "and are shown"
# Over a restart of the server
crash; start
operate() { answer=$(post "/v1/clusters/c/$1" "$2"); op=$(field "$answer" operation id); }
operate configure '{"config":{"front":{"extra":"%num.service.back%"}}}'
is "$(ended)" succeeded "configured after a restart"
is "$(see "$f" config front extra)" 2 "with the new config"
is "$(see "$f" results make provider-id)" "i-$front" "results are kept"
# A machine that says nonsense of itself
anneal cluster create d --template two --provider confused --nodes 3 --wait=60s >"$work/out" 2>&1
is $? 11 "what a machine says and is no address fails its task each time it says so"
is "$(grep -cF '    | the provider'"'"'s "addresses" are no list of addresses' "$work/out")" 3 "which is told, though the task wrote nothing"
confirms=$(anneal task list --operation "$(anneal cluster show d -o json | jq .operation)" --limit 100 -o json | jq -r '.items[] | select(.name == "confirm") | .id')
is "$(for t in $confirms; do anneal task attempts "$t" -o json | jq -r '.items[].note'; done | sort | uniq -c | sed 's/^ *//')" \
    "9 the provider's \"addresses\" are no list of addresses; by what they are for they are told as \"ipaddresses\"" "and of each attempt"
# A node that goes
operate expand '{"by":1}'
is "$(ended)" succeeded "a node more"
operate shrink '{"by":1}'
is "$(ended)" succeeded "and gone again"
g=$work/seen/gone
is "$(see "$g" cluster name) $(see "$g" config front me)" "c c-1003.local" "who goes still sees the cluster, and itself"
is "$(see "$g" results confirm ipaddress)" "10.0.0.1003" "and what its own tasks told"
is "$(see "$g" config front peers | tr ';' '\n' | sort | xargs)" "$(see "$f" config front peers | tr ';' '\n' | sort | xargs)" "of the others those that stay"
is "$(see "$g" nodes | python3 -c 'import json,sys; print(*sorted(json.load(sys.stdin)))')" "$(see "$f" nodes | python3 -c 'import json,sys; print(*sorted(json.load(sys.stdin)))')" "and no more nodes than these"
operate configure '{"config":{"front":{"extra":"%nonsense.of(%"}}}'
is "${answer##*$'\n'}" 400 "a macro that cannot be read is refused at once"
done_testing
