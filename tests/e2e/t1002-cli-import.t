#!/usr/bin/env bash
# anneal import: what is imported is sound, loads into a server, and keeps its faults to itself.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
need anneal

mkdir -p "$work/src/script/roles/site"
cat >"$work/src/site.yml" <<'END'
barclamp: {name: site, version: 1}
roles:
  - {name: site, jig: script, attribs: [{name: site-port, map: site/port, schema: {type: int}, default: 80}]}
  - {name: reader, jig: noop, wants-attribs: [site-port]}
  - {name: broken, jig: noop, requires: [milestone]}
END
echo 'echo a site' >"$work/src/script/roles/site/01-up.sh"
run anneal import crowbar "$work/src" "$work/dst"
is "$rc" 0 "a barclamp is imported"
has "$out" "site.yml:5: fault: broken: requires milestone" "its fault is told with its line"
has "$out" "imported 1 barclamps of 1 files, 2 jigs, 3 roles" "and what came over is counted"
run anneal lint "$work/dst"
is "$rc" 0 "the result is sound"
has "$out" "0 errors, 1 warning" "but for the fault, which is a warning"
run anneal import crowbar "$work/src" "$work/dst"
is "$rc" 5 "it is not written over"
run anneal import crowbar "$work/src" "$work/again" -o json
is "$(printf '%s' "$out" | jq .counts.scripts)" 1 "in JSON, with counts"
if [ -d "${ANNEAL_TEST_DATA:-$top/../shared}/data/crowbar" ]; then
    run anneal import crowbar "${ANNEAL_TEST_DATA:-$top/../shared}/data/crowbar" "$work/crowbar"
    is "$rc" 0 "all barclamps of Crowbar are imported"
    run anneal lint "$work/crowbar"
    is "$rc" 0 "and sound"
    has "$out" "18 barclamps, 64 roles" "all of them"
fi
if [ -d "${ANNEAL_TEST_DATA:-$top/../shared}/data/fuel" ]; then
    run anneal import fuel "${ANNEAL_TEST_DATA:-$top/../shared}/data/fuel" "$work/fuel"
    is "$rc" 0 "all task files of Fuel are imported"
    has "$out" "imported 233 stages, groups and tasks of 47 files in 4 graphs" "all of them"
    run anneal lint "$work/fuel"
    is "$rc" 0 "and sound"
    has "$out" "graph default: 6 stages, 11 groups, 187 tasks" "graph by graph"
fi
mkdir -p "$work/coopr-src"
cat >"$work/coopr-src/web.json" <<'END'
{"name": "web", "dependencies": {"runtime": {"uses": ["cache"]}},
 "provisioner": {"actions": {"start": {"type": "shell", "fields": {"script": "echo up"}},
                             "stop": {"type": "chef-solo", "fields": {"run_list": "recipe[web]"}}}}}
END
cat >"$work/coopr-src/small.json" <<'END'
{"name": "small", "providermap": {"acme": {"flavor": "s", "cost": "0.05", "ram": "2"}}}
END
cat >"$work/coopr-src/acme.json" <<'END'
{"name": "acme", "providertype": "fog", "provisioner": {"region": "east"}}
END
cat >"$work/coopr-src/shop.json" <<'END'
{"name": "shop", "defaults": {"services": ["web"], "provider": "acme", "hardwaretype": "small"}, "label": "x"}
END
run anneal import coopr "$work/coopr-src" "$work/coopr"
is "$rc" 0 "entities of Coopr are imported"
has "$out" "web.json:1: fault: web: uses cache, which no service is or provides" "what they lack is told"
has "$out" "shop.json:1: left out: shop: label" "and what has no equal"
has "$out" "imported 1 template, 1 service, 1 hardware type, 0 images and 1 provider of 4 files" "and all is counted"
run anneal lint "$work/coopr"
is "$rc" 0 "the result is sound"
run anneal import coopr "$work/coopr-src" "$work/coopr-json" -o json
is "$(printf '%s' "$out" | jq -c '.counts | [.templates, .roles, .providers]')" "[1,1,1]" "in JSON, with counts"
if [ -d "${ANNEAL_TEST_DATA:-$top/../shared}/data/coopr/current" ]; then
    run anneal import coopr "${ANNEAL_TEST_DATA:-$top/../shared}/data/coopr/current" "$work/coopr-all"
    is "$rc" 0 "all that was published of Coopr is imported"
    has "$out" "imported 15 templates, 53 services, 5 hardware types, 11 images and 8 providers" "all of it"
    run anneal lint "$work/coopr-all"
    is "$rc" 0 "and sound"
fi
start || skip_all "no server"
run anneal catalog load "$work/coopr"
is "$rc" 0 "a server loads what came of Coopr"
anneal -q node add n2.t --available --alive alive
run anneal deployment bind system web=n2.t --wait
is "$rc" 0 "a service is bound, and its script runs"
run anneal catalog load "$work/dst"
is "$rc" 0 "a server loads it"
anneal -q node add n1.t --available --alive alive
run anneal deployment bind system reader=n1.t --wait
is "$rc" 0 "what reads an attribute is bound with its owner, whose script runs"
run anneal role list
has "$out" "broken" "the faulty role is listed"
run anneal deployment bind system broken=n1.t
is "$rc" 6 "but cannot be bound"
has "$err" "site/roles/broken.yaml:5:5" "for its fault, with its place"
done_testing
