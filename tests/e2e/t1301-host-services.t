#!/usr/bin/env bash
# What runs on a host beside sshd: units in systemd's syntax, started, watched and stopped by the host's init; disks; what a
# machine must have.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bed.sh"
out=$(fleet up 1 --size 32m --grace 2s 2>&1) || { echo "Bail out! $out"; exit 1; }
h() { on h0001 "$@"; }
unit() { fleet exec h0001 sh -c "cat >/etc/systemd/system/$1.service"; }

h 'service-run keeper -- sh -c "echo \"\$0 \$1\" >/root/arguments; exec sleep 1000" "a b" "\$HOME %i"'
is "$(h 'ps -o ppid=,comm= -C sleep' | xargs)" "1 sleep" "service-run: a child of init that outlives the session"
is "$(h cat /root/arguments)" 'a b $HOME %i' "its arguments arrive as they are"
has "$(h systemctl status keeper)" "keeper.service: active, pid" "status"
h systemctl stop keeper
is "$(h 'systemctl is-active keeper; echo $?; pgrep -c sleep' | xargs)" "inactive 3 0" "stopped, with all of it"

unit web <<'U'
[Unit]
Description=a service
[Service]
Type=notify
User=nobody
Environment=PORT=8080 "GREETING=hello world"
EnvironmentFile=-/etc/default/web
RuntimeDirectory=web
ExecStartPre=/bin/sh -c 'echo pre >/run/web/order'
ExecStart=/usr/bin/python3 /usr/local/bin/web $PORT
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
[Install]
WantedBy=multi-user.target
U
fleet exec h0001 sh -c 'cat >/usr/local/bin/web' <<'P'
import os, pathlib, signal, socket, sys
def note(text): pathlib.Path('/run/web/order').open('a').write(text + '\n')
signal.signal(signal.SIGHUP, lambda *_: note('reload'))
note('user=%d port=%s %s' % (os.getuid(), sys.argv[1], os.environ['GREETING']))
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
note('ready')
s.sendto(b'STATUS=fine\nREADY=1', os.environ['NOTIFY_SOCKET'])
while True: signal.pause()
P
is "$(h 'echo PORT=9090 >/etc/default/web; systemctl start web; cat /run/web/order' | xargs)" "pre user=65534 port=9090 hello world ready" \
    "notify: start returns when it is ready; user, environment and its file, commands before"
h systemctl reload web
reloaded() { h cat /run/web/order | grep -q reload; }
until_true 20 reloaded
ok $? "reload"
unit twice <<'U'
[Service]
ExecStart=/bin/sleep 1000
ExecReload=/bin/sh -c 'sleep 0.3; echo one >>/root/twice'
ExecReload=/bin/sh -c 'test ! -e /root/bad && echo two >>/root/twice'
ExecReload=/bin/sh -c 'echo three >>/root/twice'
U
is "$(h 'systemctl start twice; systemctl reload twice; echo $?; cat /root/twice' | xargs)" "0 one two three" "a reload is all its commands, and has ended when systemctl has"
is "$(h 'touch /root/bad; : >/root/twice; systemctl reload twice 2>&1; echo $?; cat /root/twice; systemctl is-active twice' | xargs)" \
    "twice.service: ExecReload= ended by exit status 1 1 one active" "the first that fails is the last, is told, and harms nothing"
is "$(h 'rm /root/bad; systemctl reload twice; systemctl stop twice; systemctl is-active twice; systemctl reload twice 2>&1' | xargs)" "inactive twice.service is busy or not active" "what is stopped is not reloaded"
first=$(h 'systemctl status web')
h 'pkill -KILL -f /usr/local/bin/web'
again() { local now; now=$(h systemctl status web); [[ $now = *"active, pid"* && $now != "$first" ]]; }
until_true 20 again
ok $? "Restart=on-failure: it is back by itself"
h systemctl enable web
is "$(h systemctl is-enabled web)" enabled "enabled"
fleet reboot h0001
is_back() { [ "$(h systemctl is-active web)" = active ]; }
until_true 30 is_back
ok $? "an enabled service is back after a reboot"
is "$(h systemctl is-active keeper)" inactive "one that is not enabled is not"
h systemctl disable --now web
is "$(h 'systemctl is-active web; systemctl is-enabled web' | xargs)" "inactive disabled" "disable --now"

unit daemon@ <<'U'
[Service]
Type=forking
PIDFile=/run/%p-%i.pid
ExecStart=/bin/sh -c 'setsid sleep 1000 >/dev/null 2>&1 & echo $$! >/run/daemon-%i.pid'
ExecStop=-/bin/sh -c 'echo stop >/root/stopped; exit 3'
U
is "$(h 'systemctl start daemon@7; systemctl status daemon@7')" "daemon@7.service: active, pid $(h cat /run/daemon-7.pid)" "forking, from a template"
is "$(h 'systemctl stop daemon@7; cat /root/stopped; pgrep -c sleep' | xargs)" "stop 0" "ExecStop, then the signal"

unit once <<'U'
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo 1 >>/root/once'
ExecStart=/bin/sh -c 'echo 2 >>/root/once'
U
is "$(h 'systemctl start once; cat /root/once; systemctl is-active once' | xargs)" "1 2 active" "oneshot: all commands, in order"
is "$(h 'systemctl restart once; cat /root/once' | xargs)" "1 2 1 2" "restart does it again"

printf '[Service]\nExecStart=/no/such/program\n' | unit broken
out=$(h 'systemctl start broken 2>&1; echo $?') # one stream: ssh keeps no order between two
has "$out" "cannot execute /no/such/program" "a program that is not there is told"
is "${out##*$'\n'}" 1 "and is a failure"
printf '[Service]\nType=oneshot\nExecStart=/bin/false\n' | unit fails
has "$(h 'systemctl start fails; echo $?')" "ended by exit status 1" "a command that fails is told"
has "$(h 'systemctl start nothing; echo $?')" "no unit nothing.service" "a unit that is not there, too"
printf '[Service]\nExecStart=/bin/true\nType=strange\n' | unit odd
has "$(h 'systemctl start odd')" "odd.service:3: no type \"strange\"" "a mistake in a unit is told with its line"
printf '[Service]\nExecStart=/bin/sh -c "trap : TERM; while :; do sleep 0.1; done"\nTimeoutStopSec=200ms\n' | unit stubborn
is "$(h 'systemctl start stubborn; systemctl stop stubborn; systemctl is-active stubborn')" inactive "what does not listen is killed"
is "$(h 'systemctl restart ssh; systemctl is-active ssh')" active "sshd can be restarted from a session, which lives on"
is "$(h 'ps -eo stat= | grep -c ^Z')" 0 "init reaps"

# The disk is full, as disks are.
has "$(h 'dd if=/dev/zero of=/root/big bs=1M count=64 2>&1')" "No space left" "a disk has its size"
h rm /root/big
fleet down

fleet up 1 --disk files >/dev/null
h 'echo kept >/root/kept'
machine=$(h cat /etc/machine-id)
fleet off h0001
fleet on h0001
is "$(h 'cat /root/kept /etc/machine-id' | xargs)" "kept $machine" "--disk files: the disk is there when the host is run again"
h poweroff >/dev/null
is_off() { [ "$(cat "$bed/hosts.d/h0001/state")" = off ] && flock -n "$bed/hosts.d/h0001/lock" true; }
until_true 20 is_off
ok $? "poweroff, said inside, ends anneal-host"
fleet down

# What a machine must have is told plainly.
host=("$bin/anneal-host" run --dir "$work/h" --name h --address 10.77.9.9/16 --bridge br-none --authorized-keys /dev/null)
chmod 755 "$work"
out=$(setpriv --reuid 65534 --clear-groups "${host[@]}" 2>&1)
is $? 3 "without root: exit status 3"
has "$out" "only root can run a host" "and says so"
out=$(setpriv --bounding-set -sys_admin "${host[@]}" 2>&1)
has "$out" "CAP_SYS_ADMIN" "a root without the right capability is told which"
has "$("${host[@]}" 2>&1)" "ip link add br-none type bridge" "a bridge that is not there: how to make it"
ok "$([ ! -e "$work/h/disk" ]; echo $?)" "and nothing was made"
done_testing
