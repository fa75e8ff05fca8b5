#!/usr/bin/env bash
# Hosts in namespaces: fifty of them, reached by plain OpenSSH, apart from each other and from this machine, and gone
# without trace.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
n=50
interfaces_before=$(interfaces)

out=$(fleet up $n 2>&1)
ok $? "fleet up $n" "$out"
is "$(wc -l <"$bed/names")" $n "$n names"
bed_namespaces >"$work/namespaces"
is "$(wc -l <"$work/namespaces")" $((n * 6 + 2)) "five namespaces a host, its owner's mounts, and the controller's two"
ok "$([ "$(processes_in "$work/namespaces")" -ge $((n * 3)) ]; echo $?)" "an owner, an init and an sshd each"
is "$(interfaces) $(mounts)" "$interfaces_before 0" "this machine has no interface and no mount more"

fleet enter xargs -P 8 -I{} ssh -F "$bed/ssh_config" {} hostname <"$bed/names" 2>"$work/complaints" | sort >"$work/said"
is "$(cat "$work/complaints")" "" "ssh complains of no host"
cmp -s "$work/said" "$bed/names"
ok $? "each of $n hosts says its own name"
cat "$bed"/hosts.d/*/host_key.pub | sort -u >"$work/keys"
is "$(wc -l <"$work/keys")" $n "$n different host keys"
is "$(fleet exec h0007 ps -eo comm= | sort | xargs)" "host-init ps sshd" "at rest a host runs its init and sshd"
is "$(fleet enter ssh -F "$bed/ssh_config" h0003 getent hosts h0005 | xargs)" "10.77.1.5 h0005" "hosts know each other by name"
is "$(on h0003 'ssh-keyscan -t ed25519 h0005 2>/dev/null | cut -d" " -f3')" "$(cut -d' ' -f2 "$bed/hosts.d/h0005/host_key.pub")" "and reach each other"

# Apart from each other and from this machine.
probe=anneal-bed-probe.$$
on h0001 "echo one >/etc/$probe; echo one >/root/$probe; echo one >/usr/lib/$probe; rm /etc/passwd-" >/dev/null
is "$(on h0001 "cat /etc/$probe /root/$probe /usr/lib/$probe" | xargs)" "one one one" "a host writes anywhere"
is "$(on h0002 "ls /etc/$probe /root/$probe /usr/lib/$probe 2>/dev/null")" "" "another host does not see it"
is "$(ls /etc/$probe /root/$probe /usr/lib/$probe 2>/dev/null)" "" "nor does this machine"
is "$(on h0001 "find /tmp /home -mindepth 1 | wc -l; ls -d $top 2>/dev/null | wc -l; ls /etc/ssh/ssh_host_* | wc -l" | xargs)" "0 0 2" \
    "a host does not see this machine's files, nor its host keys"
is "$(on h0001 'echo 1 >/proc/sys/kernel/panic' | grep -c 'Read-only')" 1 "nor can it set what is this machine's kernel's"
is "$(on h0001 'sysctl -qw net.ipv4.tcp_fin_timeout=7; cat /proc/sys/net/ipv4/tcp_fin_timeout') $(on h0002 cat /proc/sys/net/ipv4/tcp_fin_timeout)" "7 60" \
    "its network it can"
is "$(on h0001 'echo x >/usr/local/libexec/anneal-host' | grep -c 'Read-only')" 1 "the program that it shares with this machine is safe"

# Boots.
boot=/proc/sys/kernel/random/boot_id
before="$(on h0001 "cat $boot")" machine=$(on h0001 cat /etc/machine-id)
is "$(on h0002 cat /etc/machine-id | grep -c "$machine")" 0 "machine ids differ"
is "$(on h0001 "cat $boot")" "$(cat "$bed/hosts.d/h0001/boot_id")" "outside one knows the boot id"
on h0001 'setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo x >/run/gone'
fleet reboot h0001
ok $? "fleet reboot"
after="$(on h0001 "cat $boot")"
ok "$([ -n "$after" ] && [ "$after" != "$before" ]; echo $?)" "the boot id is another one" "$before $after"
is "$(on h0001 cat /etc/machine-id)" "$machine" "the machine id is the same"
is "$(on h0001 "cat /etc/$probe; ls /run/gone 2>/dev/null; pgrep -c sleep" | xargs)" "one 0" "files stay, /run and processes do not"
on h0001 reboot >/dev/null
rebooted() { local now; now=$(cat "$bed/hosts.d/h0001/boot_id"); [ "$now" != "$after" ] && [ "$(cat "$bed/hosts.d/h0001/state")" = up ]; }
until_true 30 rebooted
ok $? "reboot, said inside, does the same"
is "$(on h0001 "cat /etc/$probe")" one "and keeps the files"

# The cable.
fleet link h0002 down
ok "$(fleet ssh -o ConnectTimeout=1 h0002 true 2>/dev/null; [ $? -eq 255 ]; echo $?)" "link down: not reached"
is "$(fleet exec h0002 hostname)" h0002 "though it lives"
fleet reboot h0002
ok "$(fleet ssh -o ConnectTimeout=1 h0002 true 2>/dev/null; [ $? -eq 255 ]; echo $?)" "a reboot does not plug it in"
fleet link h0002 up
# Who asked for it while it was away may be told "no route" for some seconds yet.
reached() { [ "$(on "$1" hostname)" = "$1" ]; }
until_true 60 reached h0002; ok $? "link up: reached again" "$(on h0002 hostname)"

# Hosts know where the controller is, whichever of them comes and goes.
seen_at() { fleet exec "$1" ip -json neigh show 10.77.0.1 | jq -r '.[].lladdr'; }
is "$(on h0005 hostname) $(seen_at h0005)" "h0005 02:77:0a:4d:00:01" "a host answers to the controller's address"
lowest=$(fleet enter ip -json link | jq -r '[.[] | select(.ifname | startswith("ah")) | [.address, .ifname]] | min[1]')
fleet reboot "$(awk -v i="$lowest" '{ split($1, a, "."); if (sprintf("ah%02x%02x%02x%02x", a[1], a[2], a[3], a[4]) == i) print $2 }' "$bed/hosts")"
ok $? "the host with the lowest address of the bridge is started anew" "$lowest"
is "$(fleet enter ip -json link show br77 | jq -r '.[].address')" 02:77:0a:4d:00:01 "the controller's is what it was"

# Another machine under the same address.
fleet off h0003
is "$(cat "$bed/hosts.d/h0003/state")" off "off"
fleet on h0003
has "$(on h0003 true)" "REMOTE HOST IDENTIFICATION HAS CHANGED" "on again, it is another machine"

out=$(fleet enter "$bin/anneal-host" run --dir "$work/twin" --name twin --address 10.77.1.4/16 --bridge br77 --authorized-keys "$bed/key.pub" 2>&1)
has "$out" "another host on this bridge has the address 10.77.1.4" "an address is given once"
is "$(on h0004 hostname)" h0004 "and who has it keeps it"

# The end.
fleet enter sleep 1000 &
until_true 20 grep -qs sleep /proc/$!/comm
disown # or the shell would report its end
bed_namespaces >"$work/namespaces" # those of hosts that were started anew may be another bed's by now
last=$(now_ticks)
fleet down
ok $? "fleet down"
until_true 10 no_process "$work/namespaces" "$last"; ok $? "no process is left in any of their namespaces"
is "$(interfaces) $(mounts)" "$interfaces_before 0" "no interface, no mount"
ok "$([ ! -e "$bed" ]; echo $?)" "no file"

fleet up 5 >/dev/null
bed_namespaces >"$work/namespaces"
last=$(now_ticks)
kill -9 "$(cut -d' ' -f1 "$bed/owner.pid")"
until_true 30 no_process "$work/namespaces" "$last"
ok $? "SIGKILL of the owner ends every process"
is "$(interfaces) $(mounts)" "$interfaces_before 0" "and leaves no interface and no mount"
fleet down
ok "$([ ! -e "$bed" ]; echo $?)" "what files are left, fleet down removes"

fleet up 2 >/dev/null
init=$(cat "$bed/hosts.d/h0001/init.pid")
kill -9 "$(cat "$bed/hosts.d/h0001/pid")"
gone() { ! readlink "/proc/$init/ns/net"; } # which a zombie does not have
until_true 20 gone
ok $? "SIGKILL of one host's anneal-host ends that host"
is "$(on h0002 hostname)" h0002 "and no other"
has "$(fleet link h0001 down 2>&1)" "no host runs in" "what it left in its directory fools nobody"
fleet on h0001
is "$(fleet exec h0001 hostname)" h0001 "it can be run again in the same directory"
done_testing
