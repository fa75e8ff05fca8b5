#!/usr/bin/env bash
# The jigs with real programs on hosts over ssh: files, puppet, rsync, boots; what each changes, leaves alone, and would do.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
for program in puppet rsync; do
    command -v $program >/dev/null || skip_all "no $program: tools/packages.txt names the package"
done
n=4

real=$bin
serve_bed() { # OPTIONS: as start, in the controller's network
    : >"$work/log"
    "$top/tests/bed/fleet" --dir "$bed" enter "$real/anneald" --data-dir "$work/data" --listen 127.0.0.1:0 --set recover_grace=1s \
        --set ssh_identity="$bed/key" --set ssh_kex=curve25519-sha256 "$@" >>"$work/log" 2>&1 &
    server_pid=$!
    until grep -q server.ready "$work/log"; do
        kill -0 $server_pid 2>/dev/null || return 1
        read -rt 0.02 <> <(:) || :
    done
    port=$(sed -n 's/.*server.ready.* port=\([0-9]*\).*/\1/p' "$work/log")
    export ANNEAL_SERVER=http://127.0.0.1:$port
}
anneal() { fleet enter "$real/anneal" "$@"; }
address() { awk -v h="$1" '$2 == h { print $1 }' "$bed/hosts"; }
host() { local h=$1; shift; fleet exec "$h" "$@"; }
last() { anneal operation list --limit 1000 -o json | jq -r '[.items[].id] | max'; }
task_id() { anneal task list --operation "$1" --limit 1000 -o json | jq -r --arg t "$2" '.items[] | select(.name == $t) | .id' | head -1; }
# said TASK [OPERATION]: the text of its last attempt
said() { anneal task attempts "$(task_id "${2:-$(last)}" "$1")" -o json | jq -r '.items[-1].note // ""'; }
log_of() { anneal task log "$(task_id "${2:-$(last)}" "$1")"; }
state_of() { anneal task show "$(task_id "$2" "$1")" -o json | jq -r .state; }
noderole() { anneal noderole list --limit 100 -o json | jq -r --arg r "$1" --arg n "$2.t" '.items[] | select(.role == $r and .node == $n) | .id'; }
rerun() { anneal -q noderole rerun "$(noderole "$1" "$2")" --wait=60s >/dev/null; }
bind() { anneal -q deployment bind system "$1=$2.t" --wait="${3:-60s}" >/dev/null 2>&1; }

out=$(fleet up $n 2>&1); ok $? "$n hosts" "$out"
serve_bed; ok $? "a server among them"

# --- what is copied from the controller's machine
mkdir -p "$work/tree/sub" && echo one >"$work/tree/one" && echo two >"$work/tree/sub/two" && chmod 750 "$work/tree/sub/two"
mkdir -p "$work/many" && for i in $(seq 200); do echo "file $i" >"$work/many/f$i"; done
catalog j <<Y
barclamp: j
version: "1"
roles:
  - name: files
    jig: shell
    actions:
      converge:
        - name: texts
          type: upload_files
          params:
            owner: daemon
            files:
              - {path: /etc/j/a, data: "one\n", mode: "0640", group: adm}
              - {path: /etc/j/d/b, data: "it's \$two \`id\`\n", dir_mode: "0711"}
        - {name: copies, type: copy_files, params: {files: [{src: $work/tree, dst: /srv/tree}, {src: $work/tree/one, dst: /srv/, mode: "0600"}]}}
  - name: many
    jig: shell
    actions: {converge: [{name: manys, type: copy_files, params: {files: [{src: $work/many, dst: /srv/many}]}}]}
  - name: manifests
    jig: shell
    actions:
      converge:
        - name: text
          type: puppet
          params:
            secret: swordfish
            report: applied
            manifest: |
              file { '/etc/p.conf': content => "\${facts['anneal']['params']['secret']} \${facts['anneal']['node']['name']}\n", mode => '0600' }
        - {name: path, type: puppet, params: {puppet_manifest: /root/site.pp, puppet_modules: /root/modules}}
  - name: broken
    jig: shell
    actions:
      converge:
        - {name: breaks, type: puppet, retries: 0, params: {manifest: "exec { 'boom': command => '/bin/false' }\nfile { '/etc/fine': content => 'x' }\n"}}
  - name: synced
    jig: shell
    actions:
      converge:
        - {name: sync, type: rsync, params: {src: $work/tree/, dst: /srv/deep/er/synced, delete: true, excludes: ["*.tmp"], report: sync}}
  - name: booted
    jig: shell
    actions:
      converge:
        - {name: before, params: {script: "cat /proc/sys/kernel/random/boot_id >/root/boot.before"}}
        - {name: boots, type: reboot, timeout: 2m}
        - {name: behind, params: {script: "cat /proc/sys/kernel/random/boot_id >/root/boot.after"}}
  - name: asks
    jig: shell
    actions:
      converge:
        - {name: wants, takes_down: true, params: {script: 'echo "\$ANNEAL_ASK \$(cat /proc/sys/kernel/random/boot_id)" >>/root/asks; [ "\$(grep -c . /root/asks)" -gt 1 ] || exit 76'}}
  - name: sees
    jig: shell
    actions: {converge: [{name: env, params: {port: 8080, script: 'echo "\$ANNEAL_PARAM_port"; cmp - "\$ANNEAL_INPUT_FILE" && echo same; stat -c %a "\$ANNEAL_INPUT_FILE"; echo "\$ANNEAL_INPUT_FILE" >/root/input.name'}}]}
Y
out=$(anneal -q catalog load "$work/j" 2>&1); ok $? "the catalog" "$out"
for i in $(seq $n); do
    h=$(printf 'h%04d' "$i")
    anneal -q node add "$h.t" --address "$(address "$h")" --alive alive || break
done
ok $? "nodes with addresses"
until_true 60 identified; ok $? "which machines they are is found out"

# --- files
bind files h0001; ok $? "files on a host"
is "$(host h0001 stat -c '%a %U %G' /etc/j/a /etc/j/d/b /etc/j/d | xargs)" "640 daemon adm 644 daemon root 711 root root" "with mode, owner and group"
is "$(host h0001 cat /etc/j/a /etc/j/d/b)" $'one\nit\'s $two `id`' "and what was written"
is "$(host h0001 stat -c %a /srv/tree/one /srv/tree/sub/two /srv/one | xargs)" "644 750 600" "copies have the modes of their sources, or their own"
is "$(host h0001 cat /srv/tree/one /srv/tree/sub/two | xargs)" "one two" "and what was in them"
has "$(said texts)" "written: changed 2 of 2" "the result counts"
rerun files h0001; ok $? "once more"
is "$(said texts)" "unchanged: 2 files" "nothing is written"
is "$(said copies)" "unchanged: 3 files" "nothing is copied"
host h0001 sh -c 'echo mine >/srv/tree/one; chown root /etc/j/a'
rerun files h0001
has "$(said texts)" "changed 1 of 1" "what differs is sent, and only that"
has "$(log_of texts)" "/etc/j/a: 4 bytes, mode 0640: owner" "for a reason"
is "$(host h0001 cat /srv/tree/one)" one "and put right"

# --- 200 unchanged files: nothing is sent.  Bytes are counted at the host's own interface.
received() { host h0001 sh -c 'cat /sys/class/net/*/statistics/rx_bytes 2>/dev/null || awk "/eth|ah/ {print \$2}" /proc/net/dev' | sort -n | tail -1; }
bind many h0001; ok $? "200 files"
is "$(host h0001 sh -c 'cat /srv/many/* | sort | sha256sum')" "$(cat "$work"/many/* | sort | sha256sum)" "are there"
before=$(received)
rerun many h0001
is "$(said manys)" "unchanged: 200 files" "once more they are unchanged"
after=$(received)
[ "${before:-0}" -gt 0 ] && [ $((after - before)) -gt 0 ] && [ $((after - before)) -lt 40000 ]; ok $? "and only their names were sent: $((after - before)) bytes"

# --- puppet
host h0002 sh -c 'mkdir -p /root/modules/m/manifests; echo "class m { file { \"/etc/m\": content => \"m\" } }" >/root/modules/m/manifests/init.pp; echo "include m" >/root/site.pp'
# What runs there, as anybody on the host can see it, all the while.
fleet exec h0002 sh -c 'while [ ! -e /root/stop ]; do cat /proc/[0-9]*/cmdline | tr "\0" " "; echo; done >/root/seen 2>/dev/null' &
watcher=$!
bind manifests h0002 120s; ok $? "manifests on a host" "$(log_of text)"
host h0002 touch /root/stop
wait $watcher
has "$(host h0002 sh -c 'grep -o "[a-z/]*bin/puppet apply" /root/seen | sort -u')" "puppet apply" "who looks at processes sees puppet"
is "$(host h0002 grep -c swordfish /root/seen)" 0 "and no secret"
is "$(host h0002 sh -c 'cat /etc/p.conf; stat -c %a /etc/p.conf; cat /etc/m' | xargs)" "swordfish h0002.t 600 m" "are applied, with the parameters of the task as facts, and modules"
manifests=$(last)
has "$(said text)" "1 changed" "what was done is the result"
has "$(said path)" "1 changed" "of both"
is "$(anneal noderole data "$(noderole manifests h0002)" --wall -o json | jq -c '.applied | [.changed, .failed, .failed_resources]')" '[1,0,[]]' "and is returned as was asked"
rerun manifests h0002
has "$(said path)" "0 changed" "once more nothing is"
bind broken h0002; [ $? -ne 0 ]; ok $? "a manifest with a resource that fails fails"
is "$(said breaks)" "1 of 9 resources failed: Exec[boom]" "and says which"
is "$(host h0002 cat /etc/fine)" x "the others are applied"
is "$(host h0002 sh -c 'ls -d /run/anneal/chains/*/*.facts 2>/dev/null | wc -l')" 0 "no facts are left behind"

# --- rsync
bind synced h0003; ok $? "a tree by rsync" "$(log_of sync)"
is "$(host h0003 sh -c 'cd /srv/deep/er/synced && cat one sub/two; stat -c %a sub/two' | xargs)" "one two 750" "is on the host"
key=$(anneal node show h0003.t -o json | jq -r '.access.host_keys[0] // ""')
has "$key" "$(cut -d' ' -f2 "$bed/hosts.d/h0003/host_key.pub")" "whose key was pinned by that"
has "$(said sync)" "2 sent" "what was sent is counted"
host h0003 touch /srv/deep/er/synced/old /srv/deep/er/synced/x.tmp
rerun synced h0003
has "$(said sync)" "1 deleted" "what should not be there goes"
is "$(host h0003 ls /srv/deep/er/synced | xargs)" "one sub x.tmp" "what is excluded stays"
anneal -q node trust h0003.t --key "$(cut -d' ' -f1,2 "$bed/hosts.d/h0004/host_key.pub")"
anneal -q noderole rerun "$(noderole synced h0003)" >/dev/null
op=$(last)
waits() { [ "$(state_of "$1" "$2")" = WAITING ]; }
until_true 30 waits sync "$op"; ok $? "a host with another key is not spoken to: it waits"
anneal -q node trust h0003.t --key "$(cut -d' ' -f1,2 "$bed/hosts.d/h0003/host_key.pub")"
anneal -q task poke "$(task_id "$op" sync)"
finished() { [ "$(state_of "$1" "$2")" = DONE ]; }
until_true 30 finished sync "$op"; ok $? "with its own key it goes on"

# --- boots
anneal -q deployment bind system booted=h0004.t >/dev/null
op=$(last)
until_true 30 waits boots "$op"; ok $? "a host is told to boot: the task waits"
until_true 60 finished behind "$op"; ok $? "when it is up again the next one runs" "$(anneal why "task/$(task_id "$op" boots)")"
was=$(host h0004 cat /root/boot.before) is=$(host h0004 cat /root/boot.after)
[ -n "$was" ] && [ -n "$is" ] && [ "$was" != "$is" ]; ok $? "in another boot: $was, $is"
is "$(said boots "$op")" "booted anew" "and the result says so"
is "$(anneal task attempts "$(task_id "$op" boots)" -o json | jq '.items | length')" 1 "in one attempt"
is "$(host h0004 sh -c 'ls /var/lib/anneal | wc -l')" 0 "nothing is left to remember"
anneal -q deployment bind system asks=h0004.t >/dev/null
op=$(last)
until_true 60 finished wants "$op"; ok $? "a program that asks for a boot (76) comes to its end" "$(anneal why "task/$(task_id "$op" wants)"; log_of wants "$op")"
is "$(host h0004 sh -c 'grep -c . /root/asks; cut -d" " -f2 /root/asks | sort -u | wc -l' | xargs)" "2 2" "having run twice, in two boots"
is "$(anneal task attempts "$(task_id "$op" wants)" -o json | jq '.items | length')" 1 "in one attempt"

# --- what programs see
bind sees h0001; ok $? "a program"
is "$(log_of env | xargs)" "8080 same 600" "has its parameters as variables, and its document as a file"
is "$(host h0001 sh -c 'cat "$(cat /root/input.name)" 2>/dev/null | wc -c')" 0 "that is empty afterwards"

# --- what would be done: task graphs have no-op runs
mkdir -p "$work/j/g/graphs" && cat >"$work/j/g/barclamp.yaml" <<Y
barclamp: g
version: "1"
Y
cat >"$work/j/g/graphs/tasks.yaml" <<Y
- {id: all, type: group, required_for: [deployment]}
- {id: g_file, type: upload_file, groups: [all], parameters: {path: /etc/would, data: "x"}}
- {id: g_files, type: upload_files, groups: [all], requires: [g_file], parameters: {files: [{dst: /etc/j/a, data: "one\n", permissions: "0640"}, {dst: /etc/would2, data: y}]}}
- {id: g_copy, type: copy_files, groups: [all], requires: [g_files], parameters: {files: [{src: $work/tree, dst: /etc/would3}]}}
- {id: g_puppet, type: puppet, groups: [all], requires: [g_copy], parameters: {manifest: "file { '/etc/would4': content => 'x' }"}}
- {id: g_sync, type: sync, groups: [all], requires: [g_puppet], parameters: {src: $work/tree, dst: /etc/would5}}
- {id: g_boot, type: reboot, groups: [all], requires: [g_sync], parameters: {timeout: 100}}
Y
out=$(anneal -q catalog load "$work/j" 2>&1); ok $? "a catalog with a graph of all of them" "$out"
anneal -q deployment add d && anneal -q deployment bind d all=h0001.t --wait=30s >/dev/null; ok $? "bound to a host"
boot=$(host h0001 cat /proc/sys/kernel/random/boot_id)
out=$(anneal deployment deploy d --no-op --wait=120s 2>&1); ok $? "run as a no-op" "$out"
is "$(said g_file)" "no-op: would be written, there is none" "one file"
is "$(said g_files)" "no-op: 1 of 2 files would be written" "two of which one is as it should be"
is "$(said g_copy)" "no-op: 2 of 2 files would be written" "copies"
has "$(said g_puppet)" "no-op: 1 of " "a manifest"
has "$(said g_sync)" "no-op: would be: 2 sent" "a tree"
is "$(said g_boot)" "no-op: would boot the node" "a boot"
is "$(host h0001 sh -c 'ls -d /etc/would* 2>/dev/null | wc -l'; host h0001 cat /proc/sys/kernel/random/boot_id)" "0
$boot" "and nothing of it was done"

# --- nothing that is nobody's
is "$(grep -c swordfish "$work/log")" 0 "no secret in the server's log"
is "$(log_of text "$manifests" | grep -c swordfish)" 0 "nor in the log of the task"
stop; ok $? "the server stops"
for h in h0001 h0002 h0003 h0004; do
    is "$(host $h ps -eo comm= | sort -u | xargs)" "host-init ps sshd" "nothing runs on $h that nobody asked for"
done
is "$(ls "$work/data" -R | grep -c 'f\.[12]$')" 0 "no file of a run is left"
fleet down; ok $? "the hosts go"
done_testing
