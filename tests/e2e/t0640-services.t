#!/usr/bin/env bash
# Roles with phases: bound like any role, their phases run in order, and what is wrong is told.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cli.sh"
need anneal

cp -r "$top/examples/clusters" "$work/clusters"
find "$work/clusters" -name '*.yaml' -exec sed -i "s#/var/tmp/anneal-shop#$work/scratch#" {} +
run anneal lint "$work/clusters"
is "$rc" 0 "the example is sound"
has "$out" "1 barclamp, 6 roles, 31 tasks" "with all its services"
has "$out" "for clusters: 2 templates, 1 provider, 2 hardware types, 1 image" "and what clusters are made of"
start || skip_all "no server"
run anneal catalog load "$work/clusters"
is "$rc" 0 "a server loads it"
run anneal catalog export "$work/exported"
is "$(cd "$work/exported" && find . -path '*/templates/*' -o -path '*/providers/*' -name '*.yaml' | wc -l)" 2 "and keeps all of it"
anneal -q node add n1.t --available --alive alive
run anneal deployment bind system web=n1.t --wait
is "$rc" 0 "a service is bound like any role"
is "$(cut -d' ' -f3,4 <"$work/scratch/log" | tr '\n' ,)" "web install,web configure,web initialize,web start," \
   "by the phases that bring it up, in order, and without what it depends on"
run anneal deployment unbind system web=n1.t --wait
is "$rc" 0 "it is unbound"
is "$(cut -d' ' -f4 <"$work/scratch/log" | tail -n 2 | tr '\n' ,)" "stop,remove," "by those that take it down"
mkdir -p "$work/scratch/fail"
touch "$work/scratch/fail/n1.t-cache-configure"
run anneal deployment bind system cache=n1.t --wait
is "$rc" 11 "a phase that fails ends it"
is "$(grep -c ' cache start ' <"$work/scratch/log")" 0 "and those behind it do not run"

sed -i 's/install: \[base\], run: \[sql\]/install: [base], run: [sqll]/' "$work/clusters/shop/roles/services.yaml"
sed -i 's/balancer: {min: 1, max: 1}/balancer: {min: 2, max: 1}/' "$work/clusters/shop/templates/shop.yaml"
run anneal lint "$work/clusters"
is "$rc" 2 "faults are found without a server"
has "$out" 'requires "sqll", which no role is or provides' "what nobody has"
has "$out" "at least 2 of" "and what cannot be"
done_testing
