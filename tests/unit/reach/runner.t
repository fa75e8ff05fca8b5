#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# runner.t - what the runner on a node promises, under one shell: runner.t CHAIN_TOOL dash|bash|busybox|setsid
#
# Whatever must be waited for is waited for through FIFOs, or asked for with a bound (until_true).
set -u
for fd in /proc/$$/fd/*; do # whatever we were started with: programs must not have it from us
    fd=${fd##*/}
    [ "$fd" -gt 2 ] && [ "$fd" != 255 ] && eval "exec $fd>&-"
done
tool=$1
work=$(mktemp -d /tmp/anneal-runner.XXXXXX) # where another user can get to, too
root=$work/root/anneal
points=0 failures=0
path=$PATH
session=
case $2 in
dash) sh=(dash) ;;
setsid) sh=(dash) session=/none ;; # as on a machine that does not run what came with a chain
bash) sh=(bash --posix) ;;
busybox) # its own programs as well, but for flock, which some of them lack
    sh=("$(command -v busybox)" sh)
    mkdir "$work/bin"
    busybox --install -s "$work/bin"
    [ -e "$work/bin/flock" ] || ln -s "$(command -v flock)" "$work/bin/flock"
    path=$work/bin
    ;;
esac
if ! command -v "${sh[0]}" >/dev/null; then
    echo "1..0 # SKIP there is no ${sh[0]}"
    exit 0
fi
children=
finish() {
    for p in $children; do kill -KILL "$p" 2>/dev/null; done
    for d in "$root"/chains/*/; do
        rmdir "/sys/fs/cgroup/anneal/$(basename "$d")" "/sys/fs/cgroup/unified/anneal/$(basename "$d")" 2>/dev/null
    done
    rm -rf "$work"
}
trap finish EXIT
ok() { # STATUS LABEL [DETAIL]
    points=$((points + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $points - $2"
    else
        failures=$((failures + 1))
        echo "not ok $points - $2"
        [ -n "${3:-}" ] && printf '%s\n' "$3" | head -n 20 | sed 's/^/#   /'
    fi
}
is() { [ "$1" = "$2" ]; ok $? "$3" "got \"$1\", wanted \"$2\""; }
has() { case $1 in *"$2"*) ok 0 "$3" ;; *) ok 1 "$3" "no \"$2\" in: $1" ;; esac; }
until_true() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        read -rt 0.02 <> <(:) || :
    done
}
cgroups= # what is put before the runner: ANNEAL_CGROUPS= turns control groups off
node() { # VERB...: the runner, as a session would start it
    timeout -s KILL 60 env -i PATH="$path" HOME="$work" LANG=C.UTF-8 ${cgroups:+"$cgroups"} ${boot:+"ANNEAL_BOOT=$boot"} ${session:+"ANNEAL_SESSION=$session"} \
        "${sh[@]}" "$root/runner" "$root" "$@"
}
fresh() {
    rm -rf "$root"
    mkdir -p "$root/records" "$root/chains"
    "$tool" runner >"$root/runner"
}
pack() { "$tool" pack "$@" >"$work/tar.$1"; }
run() { node run "$1" <"$work/tar.$1" 2>&1 >"$work/out.$1" | cat >"$work/err.$1"; } # CHAIN, packed before; to the end of its events
# Who copies its output may not be at the end of it when the chain is.
logged() { local pid rest; ! read -r pid rest <"$root/chains/$1/forward" || [ ! -e "/proc/$pid" ]; }
chain() { pack "$@" && run "$1"; until_true 20 logged "$1"; } # CHAIN OPTION...
start() { run "$1" & children="$children $!"; eval "pid_$1=$!"; }
events() { cat "$work/err.$1"; }
end_of() { grep -a "^anneal: end $2 " "$work/err.$1" | cut -d' ' -f4-; } # CHAIN N: WHAT STATUS BYTES LEFT NOTE
nonce=00112233445566778899aabbccddeeff
meet() { # NAME: two FIFOs, for a program that says it is there and waits to be let go
    mkfifo "$work/here.$1" "$work/go.$1"
}
wait_here() { read -rt 20 <>"$work/here.$1"; } # NAME: false if it does not come
let_go() { echo >"$work/go.$1"; }
here() { echo "echo >$work/here.$1; read x <$work/go.$1"; } # NAME: its side, as script
id=0
# Ids of this test alone: processes and control groups of a chain are found by its id.
next() { id=$((id + 1)); printf -v c '%08x%08x' $$ $id; }

fresh
# --- a chain -------------------------------------------------------------------------------------
steps=()
for i in $(seq 20); do steps+=(-t "$i" -x "echo step $i"); done
next; chain "$c" "${steps[@]}"
is "$(grep -c '^anneal: end .* done 0 0 0 -$' "$work/err.$c")" 20 'a chain of 20 runs'
is "$(events "$c" | tail -n 1)" 'anneal: over done 0 -' 'and says that it is over'
is "$(sed 1d "$work/out.$c")" "$(for i in $(seq 20); do echo "step $i"; echo "$nonce $i"; done)" 'the log has every step and its marker, in order'

next; chain "$c" -t 30 -x 'exit 3' -t 31 -x "echo >$work/ran31"
is "$(end_of "$c" 1)" 'done 3 0 0 -' 'a status is told'
is "$(events "$c" | tail -n 1)" 'anneal: over failed 0 -' 'the chain stops behind a failure'
[ ! -e "$work/ran31" ]; ok $? 'and what is behind it does not run'
for st in 75:again 76:reboot 143:failed; do
    next; chain "$c" -t $((100 + ${st%:*})) -x "exit ${st%:*}" -t 99 -x :
    is "$(events "$c" | tail -n 1)" "anneal: over ${st#*:} 0 -" "status ${st%:*} ends the chain: ${st#*:}"
done
next; chain "$c" -t 40 -x 'kill -KILL $$'
is "$(end_of "$c" 1)" 'done 137 0 0 -' 'a signal is 128 and its number'
next; chain "$c" -t 41 -p no-such-program
is "$(end_of "$c" 1)" 'done 127 0 0 -' 'a program that is not there is 127'
has "$(cat "$work/out.$c")" no-such-program 'and is named in the log'
next; chain "$c" -t 42 -c /no/such/place -x :
is "$(end_of "$c" 1)" 'done 126 0 0 -' 'a directory that is not there is 126'

# --- what a program gets -------------------------------------------------------------------------
next; chain "$c" -t 50 -i "$(printf 'in\nput')" -e "ODD=it's \"\$HOME\" \`x\` \\ $(printf 'a\nb')" -e UID=7 -e IFS=x -e PATH=/odd:/usr/bin:/bin -p /usr/bin/env
out=$(sed 1d "$work/out.$c")
has "$out" "ODD=it's \"\$HOME\" \`x\` \\ a
b" 'a variable arrives as it is'
has "$out" $'\nUID=7\n' 'one that the shell itself owns too'
has "$out" 'PATH=/odd:/usr/bin:/bin' 'and PATH'
has "$out" "ANNEAL_RUN=50.1@$c" 'the mark is set'
has "$out" "ANNEAL_RESULT_FILE=$root/chains/$c/r1" 'and the name of the result file'
has "$out" "ANNEAL_INPUT_FILE=$root/chains/$c/i1" 'and that of the input'
is "$(wc -c <"$root/chains/$c/i1")" 0 'which holds nothing afterwards'
is "$(grep -cvE '^(ODD|UID|IFS|PATH|HOME|LANG|ANNEAL_RUN|ANNEAL_SESSION|ANNEAL_RESULT_FILE|ANNEAL_INPUT_FILE|_|b|SHLVL)(=|$)|^[0-9a-f]{32} 1$' <<<"$out")" 0 'nothing else is in the environment' # but what this test said itself
next; chain "$c" -t 51 -i "$(printf 'in\nput')" -p cat
is "$(sed 1d "$work/out.$c")" "in
put$nonce 1" 'input is on standard input'
next; chain "$c" -t 52 -p "printf,%s|,a b,,*,\$x,-n,it's"
is "$(sed 1d "$work/out.$c")" "a b||*|\$x|-n|it's|$nonce 1" 'arguments arrive as they are'
next; chain "$c" -t 53 -x 'grep -E "^Sig(Ign|Blk)" /proc/self/status; ls /proc/$$/fd; umask; pwd'
is "$(sed 1d "$work/out.$c" | tr -d '\t' | grep -vx 10)" "SigBlk:0000000000000000
SigIgn:0000000000000000
0
1
2
3
0022
/
$nonce 1" 'signals are default, descriptors 0 to 3, umask and directory as told'
next; chain "$c" -t 54 -x 'i=0; while [ $i -lt 256 ]; do printf "\\$(printf %o $i)"; i=$((i+1)); done'
{ sed -n 1p "$work/out.$c"; for i in $(seq 0 255); do printf "\\$(printf %o "$i")"; done; echo "$nonce 1"; } >"$work/want"
cmp "$work/want" "$work/out.$c" >/dev/null; ok $? 'all 256 byte values pass through the log'
next; chain "$c" -t 55 -x 'echo out; echo err >&2; echo out'
is "$(sed 1d "$work/out.$c" | head -n 3)" "out
err
out" 'both outputs are one stream, in order'
# Names that the runner has variables of are the task's own all the same; its mark is not.
next; chain "$c" -t 59 -e dir=/d -e chain=x -e setsid=s -e session=y -e ANNEAL_RUN=none -x 'echo "$dir $chain $setsid $session $ANNEAL_RUN"; echo "{}" >"$ANNEAL_RESULT_FILE"'
has "$(cat "$work/out.$c")" "/d x s y 59.1@$c" "a task's variables and the runner's are not taken for each other"
has "$(end_of "$c" 1)" 'done 0 3 0' 'and its result is where it is looked for'

# --- results -------------------------------------------------------------------------------------
next; chain "$c" -t 60 -x 'echo "{\"a\":1}" >&3' -t 61 -x "echo >$work/ran61"
is "$(end_of "$c" 1)" 'done 0 8 0 -' 'a result is announced'
is "$(sed -n 3p "$work/err.$c")" '{"a":1}' 'and follows'
is "$(events "$c" | tail -n 1)" 'anneal: over result 0 -' 'it ends the chain'
[ ! -e "$work/ran61" ]; ok $? 'and what is behind it does not run'
next; chain "$c" -t 62 -x 'echo "{}" >$ANNEAL_RESULT_FILE'
is "$(end_of "$c" 1)" 'done 0 3 0 -' 'a result may be written by name'
next; chain "$c" -t 63 -x 'head -c 3000000 /dev/zero >&3'
is "$(end_of "$c" 1)" 'done 0 1048577 0 -' 'one that is too long is cut one byte behind the limit'

# --- the same run again, and others ---------------------------------------------------------------
next; first=$c; chain "$c" -t 70 -a 2 -x "echo x >>$work/count70; echo '{}' >&3"
next; chain "$c" -t 70 -a 2 -x "echo x >>$work/count70"
is "$(end_of "$c" 1)" "held - 0 0 $first" 'the same run again is held by the first chain'
is "$(wc -l <"$work/count70")" 1 'and ran once'
[ ! -e "$root/chains/$c" ]; ok $? 'and the second chain leaves nothing'
node attach "$first" >"$work/out.a" 2>"$work/err.a"
is "$(end_of a 1)" 'done 0 3 0 -' 'what is kept is told to whoever asks'
next; chain "$c" -t 70 -a 1 -x "echo x >>$work/count70"
is "$(end_of "$c" 1)" 'refused - 0 0 0.2.0.0' 'a lower attempt is refused'
next; chain "$c" -t 70 -a 1 -f 1 -x "echo x >>$work/count70"
is "$(end_of "$c" 1)" 'done 0 0 0 -' 'a higher fence comes before everything'
next; chain "$c" -t 70 -a 9 -x "echo x >>$work/count70"
is "$(end_of "$c" 1)" 'refused - 0 0 1.1.0.0' 'a lower fence is refused'
is "$(wc -l <"$work/count70")" 2 'each ran as often as it should'
next; chain "$c" -t 71 -x 'exit 1' -t 72 -x "echo x >>$work/count72"
next; chain "$c" -t 72 -x "echo x >>$work/count72"
is "$(end_of "$c" 1)" 'done 0 0 0 -' 'a run whose chain ended before it can run'
next; boot=00000000-other; chain "$c" -t 73 -x "echo x >>$work/count73; exit 1"
boot=; next; chain "$c" -t 73 -x "echo x >>$work/count73"
has "$(end_of "$c" 1)" 'lost - 0 0' 'of another boot: lost'
next; chain "$c" -t 73 -a 2 -x "echo x >>$work/count73"
is "$(end_of "$c" 1)" 'done 0 0 0 -' 'but a later attempt runs'
read -r born rest <"$root/born"
next; chain "$c" -t 7400 -o 100000 -x "echo x >>$work/count7400"
has "$(end_of "$c" 1)" 'lost - 0 0' 'one that may have begun before there were records here, and has none: lost'
[ ! -e "$work/count7400" ] && [ ! -e "$root/records/7400" ]; ok $? 'and not begun'
echo "$((born - 10000)) $rest" >"$root/born"
next; last=$c; chain "$c" -t 7400 -o 100 -x "echo x >>$work/count7400"
is "$(end_of "$c" 1)" 'done 0 0 0 -' 'one that cannot have begun without a record runs'
next; chain "$c" -t 7400 -o 100000 -x "echo x >>$work/count7400"
is "$(end_of "$c" 1)" "held - 0 0 $last" 'and has one then'
is "$(wc -l <"$work/count7400")" 1 'it ran once'

# --- a connection that breaks ---------------------------------------------------------------------------
meet cut
mkfifo "$work/conn"
next; pack "$c" -t 80 -x "echo before; $(here cut); echo lost; $(here cut); echo after; echo '{\"r\":1}' >&3" -t 81 -x :
exec 8<>"$work/conn"
head -n 2 <"$work/conn" >"$work/got" & reader=$!
node run "$c" <"$work/tar.$c" >"$work/conn" 2> >(head -n 1 >/dev/null) 8>&- & pid=$!
exec 8>&-
wait_here cut; ok $? 'a program runs'
wait $reader
let_go cut
wait_here cut
until_true 20 test -s "$root/chains/$c/spool"; ok $? 'its log is kept from the first write that fails'
let_go cut
until_true 20 grep -q over "$root/chains/$c/events"; ok $? 'the chain goes on when its connection is gone'
wait $pid; ok $? 'to its end'
node attach "$c" >"$work/out.a" 2>"$work/err.a"
is "$(end_of a 1)" 'done 0 8 0 -' 'attach tells the end'
is "$(sed -n '/end 1/{n;p;}' "$work/err.a")" '{"r":1}' 'and the result'
has "$(cat "$work/out.a")" after 'and what was written meanwhile'
meet live
next; pack "$c" -t 82 -x "$(here live); echo live" -t 83 -x 'echo second'
node run "$c" <"$work/tar.$c" >/dev/null 2>&1 & pid=$!
wait_here live
node attach "$c" >"$work/out.a" 2>"$work/err.a" & att=$!
until_true 20 grep -q '^anneal: step 2 83 0 1 0 0' "$work/err.a"; ok $? 'attach names the steps'
let_go live
wait $att $pid
# Where the step stands is told once more if the session before it had not read that.
is "$(sed 1d "$work/out.a" | grep -v "$nonce 0" | sed "1{/^$nonce 1\$/d;}")" "live
$nonce 1
second
$nonce 2" 'an attached session gets the log of what runs'
is "$(events a | tail -n 1)" 'anneal: over done 0 -' 'and the end'
next; pack "$c" -t 84 -x 'head -c 3000000 /dev/zero; echo x >'"$work/ran84"
node run "$c" <"$work/tar.$c" 2>/dev/null | head -n 1 >/dev/null
until_true 20 grep -q over "$root/chains/$c/events"; ok $? 'a program whose output nobody reads does not block'
[ -e "$work/ran84" ]; ok $? 'nor die'
size=$(stat -c %s "$root/chains/$c/spool")
[ "$size" -gt 900000 ] && [ "$size" -le 1048576 ]; ok $? 'about a MiB of it is kept' "$size"
is "$(node attach 00000000000000ff 2>&1 >/dev/null)" 'anneal: over unknown 0 there is no chain 00000000000000ff here' 'a chain that is not there is unknown'

next; pack "$c" -t 85 -p head,-c,1073741824,/dev/zero
n=$(run_out=; node run "$c" <"$work/tar.$c" 2>"$work/err.$c" | wc -c)
is "$n" $((1073741824 + 44 + 35)) '1 GiB of output arrives'
du=$(du -sk "$root" | cut -f1); [ "$du" -lt 8192 ]; ok $? 'and takes no space' "$du KiB"

# --- stop --------------------------------------------------------------------------------------------
meet stop
next; pack "$c" -t 90 -x "trap '' TERM; sleep 1000 & $(here stop); exec sleep 1000" -t 91 -x "echo >$work/ran91"
start "$c"
wait_here stop
is "$(node stop 91 1 1 2>&1)" 'anneal: stop stopped' 'a queued step is stopped at once'
is "$(node stop 90 7 1 2>&1)" 'anneal: stop none' 'another attempt is not there'
let_go stop
is "$(node stop 90 1 1 2>&1)" 'anneal: stop stopped' 'a program that ignores TERM is stopped'
wait $!
has "$(end_of "$c" 1)" 'stopped 137 0' 'by KILL, after the grace'
is "$(node stop 90 1 1 2>&1)" 'anneal: stop ended' 'a second stop finds it ended'
meet queue
next; pack "$c" -t 92 -x "$(here queue)" -t 93 -x "echo >$work/ran93" -t 94 -x :
start "$c"
wait_here queue
node stop 93 1 1 >/dev/null 2>&1
let_go queue
wait $!
is "$(end_of "$c" 1),$(end_of "$c" 2)" 'done 0 0 0 -,stopped - 0 0 -' 'a stop of a queued step leaves the running one alone'
is "$(events "$c" | tail -n 1)" 'anneal: over stopped 0 -' 'and ends the chain there'
[ ! -e "$work/ran91" ] && [ ! -e "$work/ran93" ]; ok $? 'neither queued step ran'
next; chain "$c" -t 95 -l 1 -g 1 -x 'sleep 1000'
has "$(end_of "$c" 1)" 'limit 143 0' 'the node itself ends a step that passes its limit'
watcher() { read -r watcher _ <"$root/chains/$1/watcher" && kill -0 "$watcher"; } # CHAIN: sets watcher
unwatched() { ! kill -0 "$watcher" 2>/dev/null; }
meet long
next; pack "$c" -t 96 -l 100 -x "$(here long)"
start "$c"
wait_here long
! watcher "$c" 2>/dev/null; ok $? 'a limit that is far away is not watched at first'
is "$(node watch "$c" 2>&1)" 'anneal: watch done' 'until that is asked for'
until_true 10 watcher "$c"; ok $? 'then it is'
first=$watcher
node watch "$c" 2>/dev/null; watcher "$c"
is "$watcher" "$first" 'once'
let_go long
wait $!
until_true 10 unwatched; ok $? 'and no longer than the chain lasts'
next; pack "$c" -t 97 -l 100 -g 1 -x "sleep 1000"
start "$c"; before=$!
until_true 20 [ -s "$root/chains/$c/deadline" ]
echo 1 0 >"$root/chains/$c/deadline"
node watch "$c" 2>/dev/null
wait $before
has "$(end_of "$c" 1)" 'limit 143 0' 'a limit that has passed meanwhile is kept'
is "$(node watch 00000000000000fd 2>&1)" 'anneal: watch done' 'a chain that is not there is not watched'

# --- nothing survives ----------------------------------------------------------------------------------
hidden="(trap '' HUP TERM; setsid sh -c 'echo \$\$ >$work/pid; exec sleep 1000' </dev/null >/dev/null 2>&1 3>&- &) ; until [ -s $work/pid ]; do sleep 0.01; done"
gone() { ! kill -0 "$(cat "$work/pid")" 2>/dev/null; }
for cgroups in '' ANNEAL_CGROUPS=; do
    with=${cgroups:+ (without control groups)}
    rm -f "$work/pid"
    next; chain "$c" -t $((20000 + id)) -x "$hidden"
    has "$(end_of "$c" 1)" 'done 0 0 1 -' "what a program leaves behind is counted$with"
    until_true 10 gone; ok $? "and ended$with"
    if [ -n "$cgroups" ]; then
        rm -f "$work/pid"
        next; chain "$c" -t $((20000 + id)) -x "$hidden; sleep 2.1"
        has "$(end_of "$c" 1)" 'done 0 0 1 -' "also after a longer time$with"
        until_true 10 gone; ok $? "ended, too$with"
    fi
    rm -f "$work/pid"; meet "old$id"; old=$id
    next; pack "$c" -t $((300 + old)) -g 1 -x "$hidden; trap '' TERM; $(here "old$old"); read x <$work/go.old$old"
    start "$c"; before=$!
    wait_here "old$old"
    next; chain "$c" -t $((300 + old)) -a 2 -g 1 -x "grep -qs '^State:.[^ZX]' /proc/\$(cat $work/pid)/status && exit 9; echo new"
    is "$(end_of "$c" 1)" 'done 0 0 0 -' "a later attempt runs when nothing of the older one is left$with"
    wait $before
    rm -f "$work/pid"; meet "dead$id"; old=$id
    next; pack "$c" -t $((400 + old)) -x "$hidden; $(here "dead$old")"
    start "$c"; before=$!
    wait_here "dead$old"
    kill -KILL "$(cut -d' ' -f1 "$root/chains/$c/director")"
    wait $before
    is "$(node attach "$c" 2>&1 >/dev/null | tail -n 1)" 'anneal: over lost 0 who ran it is gone' "a director that is killed: lost$with"
    until_true 10 gone; ok $? "and its programs are ended$with"
    next; chain "$c" -t $((400 + old)) -x :
    has "$(end_of "$c" 1)" 'lost - 0 0' "asked for again it is lost$with"
done
cgroups=
# Twenty at once: each notes its begin and its end, and the notes must pair.
racers=
for a in $(seq 20); do
    next; pack "$c" -t 500 -a "$a" -g 0 -x "echo begin $a >>$work/race; sleep 0.05; echo end $a >>$work/race"
    run "$c" & racers="$racers $!"
done
wait $racers
is "$(awk '$1 == "begin" { open = $2 } $1 == "end" { if ($2 != open) bad++ } END { print bad + 0 }' "$work/race")" 0 'of twenty attempts at once, none goes on when a later one has begun'
is "$(tail -n 1 "$work/race")" 'end 20' 'the last attempt runs to its end'
racers=
for a in $(seq 20); do
    next; pack "$c" -t 501 -x "echo x >>$work/once"
    run "$c" & racers="$racers $!"
done
wait $racers
is "$(wc -l <"$work/once")" 1 'of the same run twenty times at once, one runs'

# --- files ----------------------------------------------------------------------------------------------
next; chain "$c" -t 600 -u "$work/new/dir/file=text"
is "$(end_of "$c" 1)" 'done 0 0 0 changed 1 of 1' 'a file is put'
is "$(cat "$work/new/dir/file") $(stat -c %a "$work/new/dir/file" "$work/new/dir" | xargs)" 'text 644 755' 'with its mode, in new directories'
inode=$(stat -c %i "$work/new/dir/file")
next; chain "$c" -t 601 -u "$work/new/dir/file=text"
is "$(end_of "$c" 1) $(stat -c %i "$work/new/dir/file")" "done 0 0 0 unchanged $inode" 'an unchanged one is not touched'
chmod 600 "$work/new/dir/file"
next; chain "$c" -t 602 -u "$work/new/dir/file=text"
is "$(end_of "$c" 1) $(stat -c %a "$work/new/dir/file")" 'done 0 0 0 changed 1 of 1 644' 'a wrong mode is put right'
ln -s "$work/new" "$work/link"
next; chain "$c" -t 603 -u "$work/link=text"
is "$(end_of "$c" 1) $(cat "$work/link")" 'done 0 0 0 changed 1 of 1 text' 'a link is replaced, not followed'
next; chain "$c" -t 604 -u "$work/new=text"
is "$(end_of "$c" 1)" 'done 1 0 0 -' 'a directory is not'
is "$(ls -A "$work/new/dir")" file 'and nothing is left beside a file'
next; chain "$c" -t 605 -m "$work/new/dir/file,$work/new,$work/none,$work/new/dir/file"
is "$(sed -n '/end 1/,/over/{/^anneal:/!p;}' "$work/err.$c")" "f
d
-
f
$(stat -c '%a %U %u %G %g %s' "$work/new/dir/file" "$work/new" "$work/new/dir/file")
$(sha256sum "$work/new/dir/file" "$work/new/dir/file")" 'sum tells type, mode, owner, size and digest'

# --- keeping, and not keeping any more --------------------------------------------------------------------
has "$(node held 2>&1)" 'anneal: held 70 1 1 0 0 ' 'held tells of records'
has "$(node facts 2>&1)" 'anneal: fact boot_id ' 'facts tell of the machine'
node ack $(ls "$root/chains") 2>"$work/ack"
is "$(cat "$work/ack")" 'anneal: ack done' 'ack answers'
is "$(ls "$root/chains" "$root/records" | grep -v :)" '' 'and leaves nothing'
meet ack
next; pack "$c" -t 700 -x "$(here ack)"
start "$c"
wait_here ack
has "$(node ack "$c" 2>&1)" "anneal: ack $c running" 'a chain that runs is not removed'
let_go ack
wait $!
node run "00000000000000fe" </dev/null >"$work/out.e" 2>"$work/err.e"
has "$(cat "$work/err.e")" 'anneal: over error 0 the chain' 'an archive that did not arrive is refused'
next; pack "$c" -t 701 -x "echo >$work/ran701"
head -c -1536 "$work/tar.$c" >"$work/cut"; mv "$work/cut" "$work/tar.$c"
run "$c"
has "$(cat "$work/err.$c")" 'over error 0 the chain did not arrive whole' 'nor one that was cut between two members'
[ ! -e "$work/ran701" ]; ok $? 'and nothing of it runs'

# --- several files at once -------------------------------------------------------------------------------
many=$work/many
mkdir -p "$many/target"; ln -s target "$many/link"; echo old >"$many/-f"
next; chain "$c" -t 720 -U "$many/new/a b=1" -U "$many/new/it's=2" -U "$many/new/.dot=3" -U "$many/-f=4" -U "$many/link=5" -u "$many/\$x*=6"
is "$(end_of "$c" 1)" 'done 0 0 0 changed 6 of 6' 'files of two directories, three and three'
is "$(cd "$many" && cat 'new/a b' "new/it's" new/.dot ./-f link "\$x*")" 123456 'have the texts that they should have'
is "$(cd "$many" && stat -c '%a %F' new 'new/a b' ./-f link | xargs)" '755 directory 644 regular file 644 regular file 644 regular file' 'and modes; a link is replaced, not followed'
is "$(find "$many" -name '.anneal*'; ls -A "$many/target")" '' 'nothing else is there'
mkdir "$many/a"
next; chain "$c" -t 721 -U "$many/x=1" -U "$many/a=1" -u "$many/y=1"
is "$(end_of "$c" 1)" 'done 1 0 0 -' 'no file takes the place of a directory'
has "$(cat "$work/out.$c")" "$many/a is a directory" 'and the log says so'
[ ! -e "$many/x" ]; ok $? 'none of them was put'

# --- no space, another user ---------------------------------------------------------------------------------
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    next; pack "$c" -t 800 -x "head -c 10485760 /dev/zero >$root/fill; echo '{\"a\":1}' >&3; true" -t 801 -x "echo >$work/ran801"
    d=$c; next; pack "$c" -t 802 -x "echo >$work/ran802"
    export -f node fresh; export root tool path work session
    unshare -m bash -c 'mount -t tmpfs -o size=256k none "$root" && mkdir "$root/records" "$root/chains" && "$1" runner >"$root/runner" || exit 9
        sh=("${@:4}") cgroups= boot=
        node run $2 <"$work/tar.$2" >/dev/null 2>"$work/err.$2"
        rm -rf "$root/fill" "$root"/chains/*
        # What its processes hold open is not free before they have ended.
        for i in $(seq 500); do ls -l /proc/[0-9]*/fd 2>/dev/null | grep -qF "$root" || break; done
        mount -o remount,nr_inodes=$(($(stat -f -c "%c - %d" "$root") + 9)) "$root"
        node run $3 <"$work/tar.$3" >/dev/null 2>"$work/err.$3"' x "$tool" "$d" "$c" "${sh[@]}"
    has "$(end_of "$d" 1)" 'full 0 0 0 no space' 'a result that finds no space makes the step fail'
    is "$(events "$d" | tail -n 1)" 'anneal: over full 0 -' 'and ends the chain'
    has "$(end_of "$c" 1)" 'full - 0 0 no space for a record' 'a run that cannot have a record is refused'
    [ ! -e "$work/ran801" ] && [ ! -e "$work/ran802" ]; ok $? 'nothing ran that should not'
    fresh
    chmod 711 "$work"; chown -R 65534:65534 "$root"
    next; pack "$c" -t 810 -x 'id -u'
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    timeout -s KILL 60 "${as[@]}" env -i PATH="$path" HOME="$work" "${sh[@]}" "$root/runner" "$root" run "$c" <"$work/tar.$c" >"$work/out.$c" 2>"$work/err.$c"
    is "$(end_of "$c" 1)" 'done 0 0 0 -' 'another user than root can run chains'
    is "$(sed -n 2p "$work/out.$c")" 65534 'as itself'
    mkdir -m 700 "$work/home"; chown 65534:65534 "$work/home"
    next; "$tool" full "$c" -t 811 -x 'echo $HOME' >"$work/tar.$c"
    timeout -s KILL 60 "${as[@]}" env -i HOME="$work/home" SECRET=x /bin/sh -c "$("$tool" command "$c")" <"$work/tar.$c" >"$work/out.$c" 2>"$work/err.$c"
    is "$(end_of "$c" 1) $(sed -n 2p "$work/out.$c")" "done 0 0 0 - $work/home" 'a node without a runner gets it with the chain, below HOME'
    is "$(stat -c '%a %u' "$work/home/.anneal"/*/anneal/chains)" '700 65534' 'where nobody else can look'
    next; "$tool" full "$c" -t 812 -x 'env | grep -v ^ANNEAL_ | cut -d= -f1 | sort | tr "\n" " "' >"$work/tar.$c"
    command=$("$tool" command "$c")
    timeout -s KILL 60 "${as[@]}" env -i HOME="$work/home" PATH="$PATH" TZ='a b' SECRET='it'\''s R=1 w IFS PATH= $(id) * r HOME' R=1 r=1 P=1 d=1 w=2 \
        'BASH_FUNC_cat%%=() { echo no; }' LC_ALL=C 'TWO=1
LINES=2' IFS=x A.B=c /bin/sh -c "${command/\/bin\/sh -c/${sh[*]} -c}" <"$work/tar.$c" >"$work/out.$c" 2>"$work/err.$c"
    is "$(end_of "$c" 1) $(sed -n 2p "$work/out.$c")" "done 0 0 0 - HOME LANG PATH PWD TZ $nonce 1" \
        'whatever a login has in its environment, programs have nothing of it'
else
    echo "# no tests of a full disk and of another user: they need root"
fi
echo "1..$points"
[ $failures -eq 0 ]
