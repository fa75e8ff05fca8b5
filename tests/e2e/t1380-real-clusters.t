#!/usr/bin/env bash
# The clusters of examples/debian, as ./quickstart makes them: used, cut off, grown, restarted, shrunk and deleted.  Whatever is said
# here of PostgreSQL, HAProxy, nginx and etcd is asked of the programs themselves.
# SPDX-License-Identifier: Apache-2.0
if [ -z "${ANNEAL_OWN_NETWORK:-}" ] && [ "$(id -u)" = 0 ] && unshare --net --mount true 2>/dev/null; then
    ANNEAL_OWN_NETWORK=1 exec unshare --net --mount "$0" "$@"
fi
. "${ANNEAL_TOP:?}/tests/e2e/lib.sh"
. "$top/tests/e2e/nodes.sh"
[ -n "${ANNEAL_OWN_NETWORK:-}" ] || skip_all "hosts in namespaces need root, and a root that may make them"
[ -x /usr/sbin/sshd ] || skip_all "no sshd"
lacks=$(. "$top/tools/setup.sh"; packages_missing examples | xargs)
[ -z "$lacks" ] || skip_all "packages are missing: $lacks"
ip link set lo up

mkdir -p "$work/clone/build"
cp -r "$top/quickstart" "$top/tools" "$top/examples" "$top/plugins" "$work/clone/" || exit 1
ln -s "$bin" "$work/clone/build/bin"
state=$work/clone/.quickstart
watcher=
trap '[ -z "$watcher" ] || kill "$watcher" 2>/dev/null; "$work/clone/quickstart" --clean >/dev/null 2>&1; finish' EXIT
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])') || exit 1
export ANNEAL_SERVER=http://127.0.0.1:$port ANNEAL_TOKEN_FILE=$state/data/admin.token ETCDCTL_API=3
quickstart() { ANNEAL_BIN_DIR=$work/clone/build/bin "$work/clone/quickstart" "$@" 2>&1; }
operate() { # LABEL VERB CLUSTER ...: to its end
    local label=$1 out
    shift
    out=$(anneal cluster "$@" --wait=120s 2>&1)
    ok $? "$label" "$out"
}
nodes_with() { anneal cluster show "$1" -o json | jq -r --arg s "$2" '.nodes[] | select(.services | index($s)) | .name'; } # CLUSTER SERVICE
stop_here() { [ $failures -eq 0 ] || { anneal task list --state failed; tail -n 20 "$state/log"; done_testing; }; }

# --- passwords that are known to the test, looked for all the time in what every process of this machine says of itself
(umask 077; mkdir -p "$state/secrets/site")
for user in replicator:replication site:web; do
    secret=$(od -An -N 24 -tx1 /dev/urandom | tr -d ' \n')
    echo "$secret" >>"$work/secrets"
    (umask 077; echo "*:*:*:${user%:*}:$secret" >"$state/secrets/site/${user#*:}.pgpass")
done
watch_processes() {
    while :; do
        cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -aFf "$work/secrets" >>"$work/leaked"
        read -rt 0.1 <> <(:) || :
    done
}
watch_processes &
watcher=$!

# --- deployed
machines_ports() { ss -Hltn | awk '{ print $4 }' | sort | xargs; }
out=$(quickstart); is $? 0 "quickstart ends well"
for line in "The shop is ACTIVE on 8 nodes" "the cluster etcd, on 3 hosts" "the cluster site, on 6 hosts" "Two clusters of software"; do
    has "$out" "$line" "it says: $line"
done
is "$(anneal cluster list --state active -o name | sort | xargs)" "etcd site" "both clusters are active"
stop_here
site=$(anneal cluster show site -o json | jq -r '.links[0].url')
has "$out" "curl $site" "it says where the site is"
is "$(machines_ports)" "127.0.0.1:$port" "on the machine itself nobody listens but the server"
is "$(ls -d /var/lib/postgresql/15/site /etc/postgresql/15/site /var/lib/etcd/default/member /var/www/site 2>/dev/null)" "" "and nothing was written there"

# --- the site
primary=$(nodes_with site postgres) balancer=$(nodes_with site haproxy)
mapfile -t replicas < <(nodes_with site postgres-replica)
mapfile -t webs < <(nodes_with site nginx)
is "${#replicas[@]} ${#webs[@]}" "2 2" "two replicas, two web servers"
sql() { run_on "$1" "cd /; runuser -u postgres -- psql -XAtq site -c \"$2\""; } # NODE STATEMENT
page() { curl -fsS --max-time 10 "$site"; }
has_entry() { [ "$(sql "$1" "SELECT count(*) FROM entries WHERE said = '$2'")" = 1 ]; } # NODE TEXT
everywhere() { # TEXT LABEL: on every replica
    local r
    for r in "${replicas[@]}"; do
        until_true 20 has_entry "$r" "$1"
        ok $? "$2: on $r" "$(sql "$r" 'SELECT * FROM entries')"
    done
}
sql "$primary" "INSERT INTO entries (said) VALUES ('from the primary')"
everywhere "from the primary" "a row that is written on the primary"
page_has() { page | grep -qxF -- "- $1"; }
until_true 20 page_has "from the primary"
ok $? "and on the page, through HAProxy" "$(page 2>&1)"
is "$(curl -fsS --max-time 10 -d "said=from a browser; DROP TABLE entries --'" "$site")" written "what a browser says is written"
everywhere "from a browser; DROP TABLE entries --''" "through HAProxy, a web server and the primary"
is "$(curl -s -o /dev/null -w '%{http_code}' --max-time 10 -d said= "$site")" 400 "who says nothing is told"
is "$(sql "$primary" "SELECT string_agg(application_name || ' ' || state, ',' ORDER BY application_name) FROM pg_stat_replication")" \
    "$(printf '%s streaming\n' "${replicas[@]}" | sort | paste -sd,)" "each replica streams from the primary"
has "$(sql "${replicas[0]}" "INSERT INTO entries (said) VALUES ('x')")" "read-only transaction" "a replica takes nothing that is written"
# A page says who made it and whom it asked; both are looked for until all of a list were seen.
seen_all() { # PREFIX WORDS...
    local prefix=$1 w
    shift
    page >>"$work/pages"
    for w; do grep -q "$prefix$w\$\|$prefix$w," "$work/pages" || return 1; done
}
all_used() { # LABEL: every web server and every replica has a part in what HAProxy serves
    local r at=()
    for r in "${replicas[@]}"; do at+=("$(address_of "$r")"); done
    : >"$work/pages"
    until_true 20 seen_all "page by " "${webs[@]}"
    ok $? "$1: every web server makes pages" "$(sort "$work/pages" | uniq -c)"
    until_true 20 seen_all "read from the replica at " "${at[@]}"
    ok $? "$1: every replica is read from" "$(sort "$work/pages" | uniq -c)"
}
all_used "at first"
is "$(run_on "${webs[0]}" "cd /; runuser -u www-data -- psql -XAtw 'host=$(address_of "$balancer") port=5432 dbname=site user=site passfile=/etc/site/web.pgpass' -c 'SELECT pg_is_in_recovery()'")" \
    f "behind port 5432 of HAProxy is the primary"
has "$(run_on "${webs[0]}" "psql -XAtw 'host=$(address_of "$primary") dbname=site user=site' -c 'SELECT 1'")" "no password" "nobody gets in without the password"

# --- etcd
mapfile -t members < <(nodes_with etcd etcd)
etcd() { etcdctl --endpoints="http://$1:2379" --dial-timeout=2s --command-timeout=5s "${@:2}" 2>&1; } # ADDRESS ARGUMENTS...
at() { address_of "${members[$1]}"; }
is "$(etcd "$(at 0)" put color green)" OK "a value is put at one member"
is "$(etcd "$(at 2)" get --print-value-only color)" green "and got at another"
is "$(etcd "$(at 0)" member list | grep -c ', started, ')" 3 "three members"
cable() { ip link set "$(printf 'ah%02x%02x%02x%02x' $(echo "$1" | tr . ' '))" "$2"; } # ADDRESS up|down
puts() { [ "$(etcd "$1" put color "$2")" = OK ]; }
gets() { [ "$(etcd "$1" get --consistency=s --print-value-only color)" = "$2" ]; }
leader=$(for n in 0 1 2; do etcd "$(at $n)" endpoint status | awk -F ', ' -v n=$n '$5 == "true" { print n }'; done)
cable "$(at "$leader")" down
others=() && for n in 0 1 2; do [ "$n" = "$leader" ] || others+=("$(at "$n")"); done
until_true 30 puts "${others[0]}" blue
ok $? "without its leader the other two choose another, and take what is put"
is "$(etcd "${others[1]}" get --print-value-only color)" blue "both have it"
cable "${others[1]}" down
out=$(etcd "${others[0]}" put taste sweet); ok "$([ $? -ne 0 ]; echo $?)" "one of three takes nothing" "$out"
cable "${others[1]}" up
cable "$(at "$leader")" up
until_true 30 gets "$(at "$leader")" blue
ok $? "who was cut off learns what was put meanwhile"

# --- grown
config() { run_on "$balancer" cat /etc/haproxy/haproxy.cfg; }
operate "the site grows" expand site --by 2
old=("${replicas[@]}" "${webs[@]}")
mapfile -t replicas < <(nodes_with site postgres-replica)
mapfile -t webs < <(nodes_with site nginx)
is "${#replicas[@]} ${#webs[@]}" "3 3" "by a replica and a web server"
everywhere "from the primary" "what was there before"
new=$(printf '%s\n' "${replicas[@]}" "${webs[@]}" | grep -vxFf <(printf '%s\n' "${old[@]}"))
for n in $new; do
    followed() { config | grep -q "server $(address_of "$n") "; }
    until_true 30 followed
    ok $? "HAProxy's configuration has $n" "$(config)"
done
all_used "grown"
until_true 30 puts "$(at 0)" white
operate "etcd grows" expand etcd --to 5
mapfile -t members < <(nodes_with etcd etcd)
is "$(etcd "$(at 0)" member list | grep -c ', started, ')" 5 "five members, of whom each has started"
for n in 3 4; do is "$(etcd "$(at $n)" get --consistency=s --print-value-only color)" white "the new member ${members[$n]} has what was there"; done
is "$(etcd "$(at 3)" put color black)" OK "and takes what is put"
is "$(etcd "$(at 1)" get --print-value-only color)" black "for all of them"

# --- restarted
postmaster() { run_on "$primary" 'head -n 1 /var/lib/postgresql/15/site/postmaster.pid'; }
before=$(postmaster)
operate "PostgreSQL is restarted" restart site --services postgres
after=$(postmaster)
ok "$([ -n "$after" ] && [ "$before" != "$after" ]; echo $?)" "by another process ($before, $after)"
is "$(run_on "$primary" "ps -o comm= -p $after")" postgres "which runs"
is "$(sql "$primary" 'SELECT count(*) FROM entries')" 2 "with what was written"
until_true 30 page_has "from the primary"
ok $? "and the page is back"
# Who makes pages has started when HAProxy has seen it: no request that is made after that finds the site closed.
answer() { curl -s -o /dev/null -w '%{http_code}' --max-time 5 "$site"; }
closed() { [ "$(answer)" = 503 ]; }
refused() { # when each request was made, in the server's form, until one is answered
    local at
    while at=$(date -u +%FT%T.%3NZ); [ "$(answer)" != 200 ]; do echo "$at"; done
}
operate "the web servers stop" stop site --services nginx
until_true 20 closed; ok $? "HAProxy says that nobody makes pages"
refused >"$work/refused" &
operate "they start" start site --services nginx
wait $!
started=$(anneal operation history "$(anneal operation list --limit 1000 -o json | jq '[.items[].id] | max')" --task start-nginx -o json | jq -r '[.items[].ended_at] | min')
[ "$(tail -n 1 "$work/refused")" \< "$started" ]; ok $? "and the site is open when the first of them has started" "refused until $(tail -n 1 "$work/refused"), started $started"
etcd_pids() { local m; for m in "${members[@]}"; do run_on "$m" pgrep -x etcd; done | xargs; }
before=$(etcd_pids)
operate "etcd is restarted, one member at a time" restart etcd --in-turn
after=$(etcd_pids)
is "$(wc -w <<<"$after") $(comm -12 <(tr ' ' '\n' <<<"$before" | sort -u) <(tr ' ' '\n' <<<"$after" | sort -u) | wc -l)" "5 0" "five other processes"
is "$(etcd "$(at 4)" get --print-value-only color)" black "with what was put"
operate "an action of PostgreSQL's own" act site backup
ok "$(run_on "$primary" 'test -s /var/lib/postgresql/site.dump' >/dev/null; echo $?)" "has left a dump"

# --- shrunk
operate "the site shrinks" shrink site --by 1 --yes
gone=$(printf '%s\n' "${replicas[@]}" "${webs[@]}" | grep -vxFf <(nodes_with site postgres-replica; nodes_with site nginx))
anneal operation timeline "$(anneal operation list --limit 1000 -o json | jq '[.items[] | select(.kind == "cluster-shrink").id] | max')" -o json | jq -e --arg b "$balancer" --arg gone "$gone" '
    ([.nodes[] | select(.node == $b).items[].end_ms] | max) as $told | [.nodes[] | select(.node == $gone).items[].start_ms] | length > 0 and min >= $told' >/dev/null
ok $? "HAProxy had let go of $gone before anything of it was stopped" "$(anneal operation list | tail -n 3)"
is "$(config | grep -c "server .*$gone\|server $(address_of "$gone" 2>/dev/null || echo none) ")" 0 "and does not send to it"
operate "etcd shrinks" shrink etcd --to 3 --yes
mapfile -t members < <(nodes_with etcd etcd)
is "$(etcd "$(at 0)" member list | grep -c .)" 3 "those that went are no members any more"
is "$(etcd "$(at 0)" get --print-value-only color)" black "and nothing is lost"

# --- secrets
kill "$watcher" && wait "$watcher" 2>/dev/null
watcher=
is "$(cat "$work/leaked")" "" "no password was in the arguments or variables of a process"
{ anneal events --limit 100000; anneal cluster show site -o json; for t in $(anneal task list --limit 10000 -o name); do anneal task log "$t"; done; } >"$work/said" 2>&1
ok "$([ "$(wc -l <"$work/said")" -gt 100 ]; echo $?)" "the server has said a lot"
is "$(grep -rlaFf "$work/secrets" "$work/said" "$state/data" "$state/log" "$state/catalog" "$state/clusters")" "" "and no password: not in events, logs, data, catalog, nor beside hosts"
for n in "$primary" "${replicas[0]}" "${webs[0]}"; do
    fleeting=$(tr '\n' '|' <"$work/secrets"); fleeting=${fleeting%|}
    out=$(run_on "$n" "printf '%s' '$fleeting' | tr '|' '\n' >/tmp/p; grep -rlaFf /tmp/p /run /tmp /var /etc 2>/dev/null | grep -v '^/tmp/p\$' | xargs -r stat -c '%a %U %n'; rm /tmp/p")
    case $n in
    "$primary" | "${replicas[0]}") is "$out" "600 postgres /var/lib/postgresql/replication.pgpass" "on $n one file has one, for one user" ;;
    *) is "$out" "600 www-data /etc/site/web.pgpass" "on $n one file has one, for one user" ;;
    esac
done

# --- deleted: processes, by the namespaces that they were in; interfaces; files
grep -lazsF "$state/clusters/hosts/" /proc/[0-9]*/cmdline | cut -d/ -f3 >"$work/owners"
for p in $(cat "$work/owners"); do for c in "$p" $(cat "/proc/$p/task/$p/children"); do readlink "/proc/$c/ns/pid" "/proc/$c/ns/net"; done; done 2>/dev/null |
    sort -u | grep -vxFf <(readlink /proc/self/ns/pid /proc/self/ns/net) >"$work/spaces"
inside() { find /proc -mindepth 3 -maxdepth 3 -path '/proc/[0-9]*/ns/*' -printf '%h %l\n' 2>/dev/null | grep -Ff "$work/spaces" | cut -d/ -f3 | sort -u; }
is "$(wc -l <"$work/spaces")" 20 "ten hosts, a network and a tree of processes each"
names=$(for p in $(inside); do cat "/proc/$p/comm"; done 2>/dev/null | sort -u | xargs)
for name in etcd haproxy nginx php-fpm8.2 postgres; do has " $names " " $name " "$name runs in them"; done
operate "the site is deleted" delete site --yes
operate "etcd is deleted" delete etcd --yes
nobody() { [ -z "$(inside)" ]; }
until_true 20 nobody
ok $? "no process is left" "$(for p in $(inside); do cat "/proc/$p/comm"; done)"
of_shop() { [ "$(ip -o link | grep -c ': ah[0-9a-f]*@')" = 8 ] && [ "$(ip -o link | grep -c ': anc')" = 0 ]; }
until_true 20 of_shop
ok $? "no interface but those of the shop" "$(ip -o link)"
is "$(ls -A "$state/clusters/hosts")" "" "no file"
known() { anneal cluster list -o name; anneal node list -o name | grep -v 'example\.net$'; }
forgotten() { [ -z "$(known)" ]; }
until_true 10 forgotten
ok $? "and the server knows of none" "$(known)"
out=$(quickstart --clean); is $? 0 "cleaned" "$out"
gone() { [ "$(ip -o link | wc -l)" = 1 ]; }
until_true 20 gone
ok $? "nothing is left of the shop, either" "$(ip -o link)"
is "$(ls -A "$work/clone" | xargs)" "build examples plugins quickstart tools" "and no file"
is "$(machines_ports)" "" "and nobody listens"
done_testing
