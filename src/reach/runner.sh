#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# runner.sh - runs chains of tasks on a node and keeps the truth about them (docs/rfc/09, section 5)
#
#   sh runner ROOT run CHAIN [unpacked]      a chain, its archive on standard input
#   sh runner ROOT attach CHAIN              output and ends of a chain that another session started
#   sh runner ROOT stop TASK ATTEMPT GRACE   ends a run: TERM, KILL after GRACE seconds
#   sh runner ROOT watch CHAIN               has its limits kept also while nobody is connected
#   sh runner ROOT ack CHAIN...              what is known about these chains is not needed any more
#   sh runner ROOT held                      which runs there are records of
#   sh runner ROOT facts                     about this machine
#
# Standard error carries events, lines that begin with "anneal: "; a result follows its line as
# bytes.  Standard output carries the log: after the line "anneal-log NONCE" the output of step 1,
# "NONCE 1", a newline, the output of step 2, "NONCE 2", and so on.
#
# Who is who, one chain:
#   director  what the connection started.  Unpacks, takes the records, runs the steps.  Of the session it
#             keeps standard error, into which it writes no more than a pipe takes: no connection stops it.
#   logger    log FIFO -> standard output; when that breaks, into the spool, then into nothing.
#   teller    of a session that attached: event FIFO -> standard error.
#   watcher   keeps the limits.  There from the start only if one of them is short: most chains are
#             over before another one could matter, and then a worker asks for it, or attaches.
# The director holds both FIFOs open for reading and writing: their writers meet neither the end of
# a reader nor an end of file.  `attach` ends logger and teller of the old session and has its own.
# A result is too long to be written by the director: a process of its own does that, at the very end.
#
# Files.  ROOT/records/TASK: "FENCE ATTEMPT ASK STEP CHAIN N BOOT", made once and only ever replaced
# whole, under ROOT/lock.  ROOT/born: since when there are records here, and in which boot.
# ROOT/chains/CHAIN/: chain (shell code made by reach_code.c: variables and a function a step), sN iN
# fN.M (script, input, files of step N), log ev (FIFOs), go (the archive was whole), director
# (process, when, boot), session (a program: session.c), started (N, process, when), events (what was
# told), rN kN (result as written, as kept), stop.N (N must not run on), forward (logger, teller), spool,
# deadline, watcher.
# What outlives a boot is elsewhere: see boot_note.
#
# ANNEAL_CGROUPS, ANNEAL_SESSION and ANNEAL_BOOT in the environment are for tests; the commands that start us in
# earnest (reach_command.c) make the environment from nothing.
#
# A task may cost one process, a session and the program.  So everything done for each task is done with
# builtins, and whatever needs a program is done once a chain or when something is wrong.
#
# Reading functions costs memory and time, too.  What a chain needs if nothing is wrong is in this file; the
# rest, runner_rest.sh, stands behind it on the node and is read by the other verbs and when it is needed.
if [ -z "${runner-}" ]; then
    set -u
    umask 077
    LC_ALL=C # not exported: bytes, not characters, here; programs get the LANG that we were given
    unset SHLVL OLDPWD
    trap '' HUP PIPE

    most_result=1048577 # one more than is taken, so that too much is seen as such
    patience=10         # seconds that a killed process gets to be gone
    watch_soon=5        # seconds: what is looked at this often is watched from the start
    clock_off=
    runner=${r:-$0} # the file that is read here
fi

say() { printf 'anneal: %s\n' "$*" >&2; }
die() {
    say "over error 0 $*"
    exit 1
}
nap() { sleep 0.1 2>/dev/null || sleep 1; }

# --- processes --------------------------------------------------------------------------------
# A process is told from a later one of the same number by its start: whoever had the number when
# we noted it began no later than that.  The clock is read instead of /proc/PID/stat because a
# shell reads byte by byte: 20 are cheaper than 300.
now() { # cs: hundredths of seconds since boot
    read -r cs idle </proc/uptime
    cs=$((${cs%.*} * 100 + 1${cs#*.} - 100))
}
me() { # mypid, mycs: who calls and when, also in a subshell
    set -- /proc/self/task/[1-9]*
    mypid=${1##*/}
    now
    mycs=$cs
}
cg_find() { # CHAIN: cg, its control group, empty if this machine has none for us
    for cg in ${ANNEAL_CGROUPS-/sys/fs/cgroup /sys/fs/cgroup/unified}; do
        if [ -f "$cg/cgroup.controllers" ] && [ -w "$cg/cgroup.procs" ]; then
            cg=$cg/anneal/$1
            return
        fi
    done
    cg=
}
cg_end() { # PID: ends everybody in $cg but PID; left: how many there were
    left=0 round=0
    while :; do
        found=0
        while read -r p; do
            [ "$p" = "$1" ] && continue
            found=$((found + 1))
            kill -KILL "$p" 2>/dev/null
        done <"$cg/cgroup.procs"
        [ $round = 0 ] && left=$found
        [ $found = 0 ] && return 0
        round=$((round + 1))
        [ $round -lt $((patience * 10)) ] || return 1
        nap
    done
}
# Whether a program can have left something is told by the numbers of processes, which are given in
# turn: what has begun since is above the last one of then, unless they have begun anew from below.
newest() { read -r a b c d last_pid </proc/loadavg; }
strangers() { # strangers: the environ files of all that have begun since newest_before and are not ours
    known=' ' strangers='' todo=$$
    while [ -n "$todo" ]; do
        next=
        for p in $todo; do
            known="$known$p " kids=
            { read -r kids <"/proc/$p/task/$p/children" || [ -n "$kids" ]; } 2>/dev/null && next="$next $kids"
        done
        todo=$next
    done
    for p in /proc/[0-9]*; do
        p=${p#/proc/}
        [ "$p" -gt "$newest_before" ] || continue
        case $known in *" $p "*) ;; *) strangers="$strangers /proc/$p/environ" ;; esac
    done
}

# --- records ----------------------------------------------------------------------------------
broken() { # N WHAT NOTE: the chain ends before step N
    last=$(($1 - 1))
    why=$2
    brk="end $1 $2 - 0 0 $3"
    return 1
}
# The record of a step's task: ours if this is true, else `broken` was called.  Without a record
# of the task this costs one file made with O_EXCL, and no lock: see `contest` for the others.
claim() { # N
    eval "task=\$t$1 run=\$r$1 grace=\$g$1 ago=\${a$1-}"
    line="$run $chain $1 $boot"
    # What may have begun before and has left no record never arrived, or its record is gone.
    if [ -n "$ago" ] && ! [ -e "records/$task" ] && ! known_for "$ago"; then
        broken "$1" lost "the machine was started anew since, or was not known before"
        return
    fi
    set -C
    { printf '%s\n' "$line" >"records/$task"; } 2>/dev/null
    claimed=$?
    set +C
    [ $claimed = 0 ] && return 0
    if ! [ -s "records/$task" ]; then
        # No space, or a writer that has made it and not filled it yet.
        { printf '%s\n' "$line" >"records/.$chain"; } 2>/dev/null || {
            rm -f "records/.$chain"
            broken "$1" full "no space for a record in $root"
            return
        }
        rm -f "records/.$chain"
    fi
    lock || {
        broken "$1" unrun "flock is needed to follow an earlier run and there is none"
        return
    }
    contest "$1"
    claimed=$?
    unlock
    return $claimed
}

# --- steps that are no programs ---------------------------------------------------------------
put() { # FILE PATH MODE OWNER GROUP DIR_MODE; an empty OWNER, GROUP: as it comes, DIR_MODE: none made
    puts=$((puts + 1))
    if [ -d "$2" ] && [ ! -L "$2" ]; then
        echo "$2 is a directory"
        exit 1
    fi
    put_dir=${2%/*}
    put_parents "$6"
    if [ -f "$2" ] && [ ! -L "$2" ] && cmp -s "$1" "$2"; then
        # shellcheck disable=SC2046 # words
        set -- "$@" $(stat -c '%a %U %u %G %g' "$2")
        if [ "$3" = "$7" ] && { [ -z "$4" ] || [ "$4" = "$8" ] || [ "$4" = "$9" ]; } &&
            { [ -z "$5" ] || [ "$5" = "${10}" ] || [ "$5" = "${11}" ]; }; then
            return
        fi
    fi
    put_new=$put_dir/.anneal.$chain
    # Written beside, whole on the disk, then renamed: readers see the old file or the new one.
    # A mode that a new file cannot have by itself is given to it afterwards.
    put_mask=$((0777 & ~0$3))
    umask $((put_mask / 64))$((put_mask / 8 % 8))$((put_mask % 8))
    if dd if="$1" of="$put_new" bs=65536 conv=fsync 2>"$dir/put" &&
        { [ -z "$4$5" ] || chown "$4${5:+:$5}" "$put_new"; } &&
        case $3 in *[1357]* | ????*) chmod "$3" "$put_new" ;; esac; then
        # A link to a directory would be gone into.
        [ -L "$2" ] && [ -d "$2" ] && rm -f "$2"
        mv -f "$put_new" "$2" && changed=$((changed + 1)) && return
    fi
    cat "$dir/put"
    rm -f "$put_new"
    echo "$2 could not be written"
    exit 1
}
put_parents() { # DIR_MODE: put_dir is there, if it may be made
    if [ -n "$1" ] && [ -n "$put_dir" ] && [ ! -d "$put_dir" ]; then
        umask $((777 - $1))
        mkdir -p "$put_dir" || exit 1
    fi
}
put_end() { # N
    if [ "$changed" = 0 ]; then
        echo unchanged >"$dir/n$1"
    else
        echo "changed $changed of $puts" >"$dir/n$1"
    fi
    exit
}

# --- director ---------------------------------------------------------------------------------
tell() { # EVENT.  If it finds no space it is still told; a later attach will say `lost`, never `done`.
    printf 'anneal: %s\n' "$*" >>events
    printf 'anneal: %s\n' "$*" >&8
    due="${due}anneal: $*
"
}
tell_due() { # what is due to the session; a result stands behind the line that announces it
    if [ -n "$result" ]; then
        { exec 4<&- 7>&- 8>&- >&6; printf '%s' "$announced"; cat "k$result"; printf '%s' "$due"; } &
    else
        printf '%s' "$due" >&6
    fi
    due=
}
keep_find() {
    case $root in
    /run/*) keep=/var/lib/anneal ;;
    *) keep=$root ;;
    esac
}
# A step begins in a process of its own, in one of two ways that do the same: as the program `session`
# (session.c), which a shell starts by vfork, or as `begin` in a fork of this shell: on a node that does
# not run that, if the step is no program, and if it may have to wait for a boot.
begin() { # N
    trap - HUP PIPE
    me
    printf '%s %s %s\n' "$1" "$mypid" "$mycs" >>started || exit 125
    [ -e "stop.$1" ] && exit 125
    number_now=$1
    if [ "$kind" = p ]; then
        [ -z "$boot_due" ] || boot_wait
        [ -n "$setsid" ] || setsid_find
        set -a # also what stands before a function's name is exported then
        "step$1" program "$setsid"
    else
        "step$1"
    fi
}
program() { # SETSID UMASK DIRECTORY PROGRAM [ARGUMENT]...; variables may be the task's by now
    set +a
    umask "$2"
    cd "$3" || exit 126
    unset PWD OLDPWD
    ANNEAL_SETSID=$1 # no task's name, and not exported
    shift 3
    exec "$ANNEAL_SETSID" "$@"
}
# Sets why if the chain goes no further.
step() { # N
    what=done st=- bytes=0 left=0 note=-
    eval "kind=\$k$1 in=\$i$1 limit=\$l$1 key=\$b$1"
    if [ -e "stop.$1" ]; then
        why=stopped
        last_sweep "$1"
        tell "end $1 stopped - 0 $left $note"
        return
    fi
    if [ -n "$limit" ]; then
        now
        printf '%s %s\n' "$1" $((cs + limit * 100)) >deadline
    fi
    boot_due=
    [ -z "$key" ] || [ ! -e "$keep/boot.$key" ] || boot_due=$key
    # Not in the background: there the shell would have it ignore INT and QUIT for good.  Our own
    # standard error stays ours: what a shell says of a program that was killed is not its output.
    if [ "$kind" = p ] && [ -n "$session" ] && [ -z "$boot_due" ]; then
        "step$1" "$session" "$1" <"$in" 3>"r$1" 9>>started >&7 4<&- 6>&- 7>&- 8>&-
    else
        (begin "$1") <"$in" 3>"r$1" >&7 2>&1 4<&- 6>&- 7>&- 8>&-
    fi
    st=$?
    [ "$in" = /dev/null ] || : >"$in" # what it was given is nobody's business any more
    if read -r number pid begun <&4; then
        if [ -n "$cg" ]; then
            cg_end "$director" || note='something of it does not end'
        elif kill -KILL "-$pid" 2>/dev/null; then
            left=1
        fi
        outcome "$1"
    else
        what=full why=full st=- note="no space to begin a run in $root"
    fi
    last_sweep "$1"
    printf '%s %s\n' "$nonce" "$1" >&7
    tell "end $1 $what $st $bytes $left $note"
    if [ "$bytes" -gt 0 ]; then # the chain ends behind it
        result=$1 announced=$due due=
    elif [ -z "$why" ] && [ "$1" -lt "$last" ]; then
        tell_due
    fi
}
# Without a control group, whoever has left its process group is found by its environment: once a
# chain, before its last end is told.
last_sweep() { # N
    [ -z "$cg" ] || return
    [ -n "$why" ] || [ "$1" -ge "$last" ] || return
    strangers=
    newest
    now
    # In two seconds no machine gives out all numbers.
    if [ "$last_pid" -ge "$newest_before" ] && [ "$cs" -lt $((newest_cs + 200)) ]; then
        strangers
        [ -n "$strangers" ] || return
    fi
    # shellcheck disable=SC2086 # names of files
    sweep "[0-9.]*@$chain" $strangers || note='something of it does not end'
    left=$((left + swept))
}
outcome() { # N: what, why, bytes, note
    case $st in
    0) ;;
    75) why=again ;;
    76)
        why=reboot
        # Known here before it is told: whoever asks next finds that a boot is due.
        if [ -n "$key" ] && ! boot_read "$key" && ! boot_note "$key" due; then
            what=full why=full note="a boot cannot be remembered in $keep"
        fi
        ;;
    *) why=failed ;;
    esac
    if [ -s "r$1" ]; then
        # A copy: whatever may still have the file open cannot change what was announced.
        if head -c $most_result "r$1" >"k$1" && bytes=$(wc -c <"k$1"); then
            bytes=$((bytes))
            why=${why:-result}
        else
            what=full why=full bytes=0 note="no space for the result in $root"
        fi
    elif [ "$st" = 0 ] && ! printf '%4096s' '' >probe; then
        # A result that it could not write, and did not notice, must not pass for none.
        what=full why=full note="no space for a result in $root"
    fi
    if [ "$kind" != p ] && [ -s "n$1" ]; then
        read -r note <"n$1"
    fi
    if [ -e "stop.$1" ]; then
        what=stopped
        read -r number <"stop.$1" && what=$number # "limit", if that is who stopped it
        why=$what
    fi
}
watcher_end() {
    if [ -s watcher ] && read -r a b <watcher && alive "$a" "$b"; then
        kill -TERM "$a" 2>/dev/null
    fi
}
direct() { # runs the steps; standard output and error are the session's
    exec 7<>log 8<>ev 5<log 6>&2 </dev/null 2>/dev/null
    # Descriptors are closed by exec: for a function's own redirections a shell keeps copies.
    { exec 6>&- 7>&- 8>&-; forward; } &
    exec 5<&- >/dev/null
    if [ "$watch_s" -gt 0 ] && [ "$watch_s" -le "$watch_soon" ]; then
        { exec 6>&- 7>&- 8>&-; watch; } &
    fi
    cg_find "$chain"
    if [ -n "$cg" ]; then
        { { [ -d "$cg" ] || mkdir -p "$cg"; } && printf 0 >"$cg/cgroup.procs"; } 2>/dev/null || cg=
    fi
    exec 4<started
    number=0 ends_why=$why why='' due='' result=''
    while [ -z "$why" ] && [ "$number" -lt "$last" ]; do
        at=$((number + 1))
        step $at
        number=$at
    done
    if [ -z "$why" ] && [ -n "$brk" ]; then
        why=$ends_why
        tell "$brk"
    fi
    watcher_end
    tell "over ${why:-done} 0 -"
    tell_due
}

# --- logger -----------------------------------------------------------------------------------
# TERM ends the program that we wait for, and us.  It may come between the fork and a word about it: so
# by $!, which is that program's from the fork on, and before that whatever we inherited; and by KILL,
# for until the exec a child has our trap and would take TERM for itself.
end_with_child() {
    inherited=${!-}
    trap '[ "${!-}" = "$inherited" ] || kill -KILL "$!" 2>/dev/null; exit 0' TERM
}
forward() { # the FIFO, descriptor 5, to standard output
    end_with_child
    me
    printf '%s %s\n' "$mypid" "$mycs" >>forward
    if [ "$verb" = attach ]; then
        [ -s spool ] && cat spool 2>/dev/null && rm -f spool
        seen_last
        printf '%s %s\n' "$nonce" "$seen"
    fi
    cat <&5 2>/dev/null &
    wait "$!" && exit 0
    # The connection is gone.  The file may grow to 2048 blocks of 512 bytes; then `cat` fails.
    seen_last
    { printf '%s %s\n' "$nonce" "$seen" >>spool; } 2>/dev/null
    (
        trap - TERM
        ulimit -c 0
        ulimit -f 2048
        exec cat <&5 >>spool
    ) >/dev/null 2>&1 &
    wait "$!" && exit 0
    cat <&5 >/dev/null 2>&1 &
    wait "$!"
}
seen_last() { # seen: the last step that has ended
    seen=0
    [ -f events ] || return
    while read -r a b c d; do
        [ "$b" = end ] && seen=$c
    done <events
}

# --- a chain ----------------------------------------------------------------------------------
enter() { # CHAIN: its variables and functions
    chain=$1 dir=$root/chains/$1
    [ -f "$dir/go" ] || return 1
    # shellcheck disable=SC1091 # made by reach_code.c
    . "$dir/chain"
}
# A mount, a policy or another kind of machine may forbid it.
session_find() { # session: the program, if it can be run here
    session=${ANNEAL_SESSION-$dir/session} setsid=
    if [ -e "${loader-/none}" ] && [ -x "$session" ]; then
        "$session" 2>/dev/null
        [ $? = 42 ] && return
    fi
    session=
    setsid_find
}
verb_run() { # CHAIN [unpacked]
    if [ "${2-}" != unpacked ]; then
        if [ -e "chains/$1" ]; then
            verb=attach
            verb_attach "$1"
            return
        fi
        (cd .. && tar -xmf -) >&2 || {
            rm -rf "chains/${1:?}"
            die "the chain could not be unpacked in $root"
        }
    fi
    enter "$1" || {
        rm -rf "chains/${1:?}"
        die "the chain did not arrive whole"
    }
    session_find
    me
    { printf '%s %s %s\n' "$mypid" "$mycs" "$boot" >"$dir/director" && : >"$dir/started"; } || {
        rm -rf "$dir"
        die "no space in $root"
    }
    now
    if ! [ -e born ]; then
        { printf '%s %s\n' "$cs" "$boot" >born; } 2>/dev/null
    fi
    newest
    newest_before=$last_pid newest_cs=$cs
    number=0 last=$steps why='' brk=''
    while [ "$number" -lt "$last" ]; do
        number=$((number + 1))
        claim "$number" || break
    done
    printf 'anneal-log %s\n' "$nonce"
    say "chain $chain $steps"
    if [ "$last" = 0 ]; then
        say "$brk"
        say "over $why 0 -"
        rm -rf "$dir"
        return
    fi
    cd "$dir" || exit
    unset PWD OLDPWD # a shell exports them to programs when it has changed its directory
    keep_find
    director=$mypid
    direct
}

# --- the rest ----------------------------------------------------------------------------------
# Each of these is another function once the rest has been read.

rest() {
    [ -f "$runner" ] || runner=$root/${runner##*/} # it was put into its place meanwhile
    rest=read
    # shellcheck disable=SC1090 # this file
    . "$runner"
}
for f in alive boot_ask boot_note boot_read boot_wait contest known_for lock put_group setsid_find sum sweep unlock verb_attach watch; do
    eval "$f() { rest; $f \"\$@\"; }"
done

if [ -z "${rest-}" ]; then
    root=$1 verb=$2
    shift 2
    cd "$root" || die "there is no $root"
    read -r boot </proc/sys/kernel/random/boot_id || die "this machine does not tell its boot"
    boot=${ANNEAL_BOOT-$boot}
    if [ "$verb" = run ]; then
        verb_run "$@"
        exit
    fi
fi
