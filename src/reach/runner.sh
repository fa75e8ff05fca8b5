#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# runner.sh - runs chains of tasks on a node and keeps the truth about them (docs/rfc/09, section 5)
#
#   sh runner ROOT run CHAIN [unpacked]      a chain, its archive on standard input
#   sh runner ROOT attach CHAIN              output and ends of a chain that another session started
#   sh runner ROOT stop TASK ATTEMPT GRACE   ends a run: TERM, KILL after GRACE seconds
#   sh runner ROOT ack CHAIN...              what is known about these chains is not needed any more
#   sh runner ROOT held                      which runs there are records of
#   sh runner ROOT facts                     about this machine
#
# Standard error carries events, lines that begin with "anneal: "; a result follows its line as
# bytes.  Standard output carries the log: after the line "anneal-log NONCE" the output of step 1,
# "NONCE 1", a newline, the output of step 2, "NONCE 2", and so on.
#
# Who is who, one chain:
#   session   what the connection started.  Unpacks, takes the records, then only waits.
#   director  runs the steps.  Holds no descriptor of the session, so that no connection can stop it.
#   logger    log FIFO -> standard output; when that breaks, into the spool, then into nothing.
#   teller    event FIFO -> standard error.
# The director holds both FIFOs open for reading and writing: their writers meet neither the end of
# a reader nor an end of file.  `attach` ends logger and teller of the old session and has its own.
#
# Files.  ROOT/records/TASK: "FENCE ATTEMPT ASK STEP CHAIN N BOOT", made once and only ever replaced
# whole, under ROOT/lock.  ROOT/born: since when there are records here, and in which boot.
# ROOT/chains/CHAIN/: chain (shell code made by reach_code.c: variables and a function a step), sN iN
# fN.M (script, input, files of step N), log ev (FIFOs), go (the archive was whole), director
# (processes; the last is it), started (N, process, when), events (what was told), rN kN (result as
# written, as kept), stop.N (N must not run on), forward (logger, teller), spool, deadline.
# What outlives a boot is elsewhere: see boot_note.
#
# ANNEAL_CGROUPS and ANNEAL_BOOT in the environment are for tests; the commands that start us in
# earnest (reach_command.c) make the environment from nothing.
#
# A task may cost one fork, setsid and the program.  So everything done for each task is done with
# builtins, and whatever needs a program is done once a chain or when something is wrong.
set -u
umask 077
LC_ALL=C # not exported: bytes, not characters, here; programs get the LANG that we were given
unset SHLVL OLDPWD
trap '' HUP PIPE

most_result=1048577 # one more than is taken, so that too much is seen as such
patience=10         # seconds that a killed process gets to be gone

say() { printf 'anneal: %s\n' "$*" >&2; }
die() {
    say "over error 0 $*"
    exit 1
}
nap() { sleep 0.1 2>/dev/null || sleep 1; }

# --- processes -------------------------------------------------------------------------------
# A process is told from a later one of the same number by its start: whoever had the number when
# we noted it began no later than that.  The clock is read instead of /proc/PID/stat because a
# shell reads byte by byte: 20 are cheaper than 300.

now() { # cs: hundredths of seconds since boot
    read -r cs idle </proc/uptime
    cs=$((${cs%.*} * 100 + 1${cs#*.} - 100))
}
me() { # mypid, mycs: who calls, also in a subshell
    set -- /proc/self/task/[1-9]*
    mypid=${1##*/}
    now
    mycs=$((cs + clock_off))
}
ticks_of() { # PID: ticks
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    # shellcheck disable=SC2086 # the fields behind the name, which may hold anything
    set -- ${stat##*) }
    case $1 in Z | X) return 1 ;; esac
    ticks=${20}
}
alive() { ticks_of "$1" && [ "$ticks" -le "$2" ]; } # PID CS
# In some containers the uptime is the container's and the start of a process the machine's.
clock_off=0
clock_check() {
    now
    if ticks_of self && [ "$ticks" -gt "$cs" ]; then
        clock_off=$((ticks - cs + 50))
    fi
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
sweep() { # MARK: ends every process whose ANNEAL_RUN matches; swept: how many there were
    swept=0 round=0
    while :; do
        found=$(grep -ls "ANNEAL_RUN=$1" /proc/[0-9]*/environ 2>/dev/null)
        [ -n "$found" ] || return 0
        for p in $found; do
            p=${p#/proc/}
            kill -KILL "${p%/environ}" 2>/dev/null
            [ $round = 0 ] && swept=$((swept + 1))
        done
        round=$((round + 1))
        [ $round -lt $((patience * 10)) ] || return 1
        nap
    done
}

# --- what is known of a chain ----------------------------------------------------------------

director_alive() { # CHAIN
    dir_pid='' dir_cs='' dir_boot=''
    [ -f "chains/$1/director" ] || return 1
    while read -r a b c; do
        dir_pid=$a dir_cs=$b dir_boot=$c
    done <"chains/$1/director"
    [ "$dir_boot" = "$boot" ] && alive "$dir_pid" "$dir_cs"
}
started_in() { # CHAIN N: run_pid, run_cs; false if it was not begun
    [ -f "chains/$1/started" ] || return 1
    while read -r a b c; do
        if [ "$a" = "$2" ]; then
            run_pid=$b run_cs=$c
            return 0
        fi
    done <"chains/$1/started"
    return 1
}
ended_in() { # CHAIN N
    [ -f "chains/$1/events" ] || return 1
    while read -r a b c d; do
        [ "$b $c" = "end $2" ] && return 0
    done <"chains/$1/events"
    return 1
}
over_in() { # CHAIN
    [ -f "chains/$1/events" ] || return 1
    while read -r a b c; do
        [ "$b" = over ] && return 0
    done <"chains/$1/events"
    return 1
}
orphans_end() { # CHAIN, whose director is dead: ends what is left of it; false if something stays
    cg_find "$1"
    if [ -n "$cg" ] && [ -d "$cg" ]; then
        { printf 1 >"$cg/cgroup.kill"; } 2>/dev/null
        cg_end 0 || return 1
    fi
    if [ "$dir_boot" = "$boot" ] && [ -f "chains/$1/started" ]; then
        while read -r a b c; do
            # Only what did not end: the number of one that did may be a stranger's by now.
            if alive "$b" "$c"; then
                kill -KILL "-$b" 2>/dev/null || kill -KILL "$b" 2>/dev/null
            fi
        done <"chains/$1/started"
    fi
    sweep "[0-9.]*@$1"
}
run_end() { # CHAIN N GRACE: nothing of step N runs, or will, when this is true
    [ -d "chains/$1" ] || return 0
    [ -e "chains/$1/stop.$2" ] || { : >"chains/$1/stop.$2"; } 2>/dev/null
    told='' kill_at=0
    while :; do
        ended_in "$1" "$2" && return 0
        over_in "$1" && return 0
        if ! director_alive "$1"; then
            orphans_end "$1"
            return
        fi
        # A step writes itself down and then looks for stop.N; we do it the other way round, so one
        # of us sees the other: what has not begun by now never will.
        if ! started_in "$1" "$2"; then
            [ -e "chains/$1/stop.$2" ]
            return
        fi
        now
        if [ -z "$told" ]; then
            told=1 kill_at=$((cs + $3 * 100))
            if alive "$run_pid" "$run_cs"; then
                kill -TERM "-$run_pid" 2>/dev/null || kill -TERM "$run_pid" 2>/dev/null
            fi
        fi
        if [ "$cs" -ge "$kill_at" ]; then
            if alive "$run_pid" "$run_cs"; then
                kill -KILL "-$run_pid" 2>/dev/null || kill -KILL "$run_pid" 2>/dev/null
            fi
            [ "$cs" -lt $((kill_at + patience * 100)) ] || return 1
        fi
        nap
    done
}

# --- records ---------------------------------------------------------------------------------

lock() {
    exec 9>>lock && flock 9 2>/dev/null && return 0
    exec 9>&-
    return 1
}
unlock() { exec 9>&-; }
order() { # FENCE ATTEMPT ASK STEP of one run and of another: cmp, below, equal to or above 0
    if [ "$1" -ne "$5" ]; then
        cmp=$(($1 - $5))
    elif [ "$2" -ne "$6" ]; then
        cmp=$(($2 - $6))
    elif [ "$3" -ne "$7" ]; then
        cmp=$(($3 - $7))
    else
        cmp=$(($4 - $8))
    fi
}
record_read() { # TASK: rf ra rk rs (the run) rc (its chain) rn (step there) rb (boot)
    round=0
    while :; do
        rf='' rb=''
        { read -r rf ra rk rs rc rn rb <"records/$1"; } 2>/dev/null
        [ -n "$rb" ] && return 0
        # Its writer is between making and filling it, or was killed there and began nothing.
        round=$((round + 1))
        [ $round -lt 20 ] && [ -e "records/$1" ] || return 1
        nap
    done
}
record_replace() { # TASK LINE
    { printf '%s\n' "$2" >"records/.$1"; } 2>/dev/null && mv -f "records/.$1" "records/$1" 2>/dev/null
}
broken() { # N WHAT NOTE: the chain ends before step N
    last=$(($1 - 1))
    why=$2
    brk="end $1 $2 - 0 0 $3"
    return 1
}
# Not by the uptime, which in a container may be that of the machine around it.
known_for() { # SECONDS: is what is here older than that?
    born_cs='' born_boot=''
    { read -r born_cs born_boot <born; } 2>/dev/null
    now
    [ "$born_boot" = "$boot" ] && [ "$cs" -ge $((born_cs + $1 * 100)) ]
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
contest() { # N, under the lock: the table of RFC 09, section 5
    if ! record_read "$task"; then
        record_replace "$task" "$line" || broken "$1" full "no space for a record in $root"
        return
    fi
    # shellcheck disable=SC2086 # four numbers
    order $run "$rf" "$ra" "$rk" "$rs"
    if [ "$cmp" -lt 0 ]; then
        broken "$1" refused "$rf.$ra.$rk.$rs"
        return
    fi
    if [ "$cmp" = 0 ]; then
        if [ "$rb" != "$boot" ]; then
            broken "$1" lost "the machine was started anew since"
            return
        elif ended_in "$rc" "$rn"; then
            broken "$1" held "$rc"
            return
        elif ! over_in "$rc"; then # else its chain ended before its turn came
            if director_alive "$rc"; then
                broken "$1" held "$rc"
                return
            elif started_in "$rc" "$rn" || ! [ -d "chains/$rc" ]; then
                orphans_end "$rc"
                broken "$1" lost "who ran it is gone"
                return
            fi
        fi
    elif [ "$rb" = "$boot" ]; then
        if ! run_end "$rc" "$rn" "$grace" || ! sweep "$task\\.$ra@$rc"; then
            broken "$1" unrun "attempt $ra does not end"
            return
        fi
    fi
    record_replace "$task" "$line" || broken "$1" full "no space for a record in $root"
}

# --- steps that are no programs ----------------------------------------------------------------

put() { # FILE PATH MODE OWNER GROUP DIR_MODE; an empty OWNER, GROUP: as it comes, DIR_MODE: none made
    puts=$((puts + 1))
    if [ -d "$2" ] && [ ! -L "$2" ]; then
        echo "$2 is a directory"
        exit 1
    fi
    put_dir=${2%/*}
    if [ -n "$6" ] && [ -n "$put_dir" ] && [ ! -d "$put_dir" ]; then
        (umask $((777 - $6)) && mkdir -p "$put_dir") || exit 1
    fi
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
    put_mask=$(printf '%03o' $((0777 & ~0$3)))
    if (umask "$put_mask" && dd if="$1" of="$put_new" bs=65536 conv=fsync 2>"$dir/put") &&
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
put_end() { # N
    if [ "$changed" = 0 ]; then
        echo unchanged >"$dir/n$1"
    else
        echo "changed $changed of $puts" >"$dir/n$1"
    fi
    exit
}
sum() { # PATH...: on descriptor 3 a letter a path, a line of stat for f and d, a digest for f
    for path; do
        if [ -L "$path" ]; then
            echo l
        elif [ -f "$path" ]; then
            [ -r "$path" ] || {
                echo "$path cannot be read" >&2
                exit 1
            }
            echo f
        elif [ -d "$path" ]; then
            echo d
        elif [ -e "$path" ]; then
            echo o
        else
            echo -
        fi
    done >&3
    for path; do # the same list, without what is neither; twice as long for a moment
        shift
        [ ! -L "$path" ] && { [ -f "$path" ] || [ -d "$path" ]; } && set -- "$@" "$path"
    done
    [ $# = 0 ] && exit
    stat -c '%a %U %u %G %g %s' -- "$@" >&3 || exit 1
    for path; do
        shift
        [ -f "$path" ] && set -- "$@" "$path"
    done
    [ $# = 0 ] && exit
    sha256sum -- "$@" >&3
    exit
}

# --- boots -------------------------------------------------------------------------------------
# What must outlive a boot: $keep/boot.KEY, "BOOT CS WORD": the boot in which another one was wanted,
# when that was, and `due` or, once the machine has been told to boot, `told`.

keep_find() {
    case $root in
    /run/*) keep=/var/lib/anneal ;;
    *) keep=$root ;;
    esac
}
boot_note() { # KEY WORD: on the disk when it returns
    keep_find
    now
    mkdir -p "$keep" && printf '%s %s %s\n' "$boot" "$cs" "$2" >"$keep/.boot.$1" &&
        { sync "$keep/.boot.$1" 2>/dev/null || sync; } && mv -f "$keep/.boot.$1" "$keep/boot.$1"
}
boot_read() { # KEY: boot_was boot_at boot_word; false if none is wanted
    keep_find
    { read -r boot_was boot_at boot_word <"$keep/boot.$1"; } 2>/dev/null
}
boot_due() { # before a program: one that asked for a boot does not run before that has been
    eval "key=\$b$number_now"
    boot_read "$key" || return 0
    if [ "$boot_was" != "$boot" ]; then
        rm -f "$keep/boot.$key"
        return 0
    fi
    [ "$boot_word" = told ] && exit 75
    exit 76
}
boot_ask() { # LIMIT COMMAND...: 75 in the boot that it is first asked in, for up to LIMIT seconds
    eval "key=\$b$number_now"
    limit=$1
    shift
    if boot_read "$key"; then
        if [ "$boot_was" != "$boot" ]; then
            rm -f "$keep/boot.$key"
            echo "booted anew: was $boot_was, is $boot"
            exit 0
        elif [ "$boot_word" = told ]; then
            now
            if [ "$limit" -gt 0 ] && [ "$cs" -ge $((boot_at + limit * 100)) ]; then
                rm -f "$keep/boot.$key"
                echo "told to boot $(((cs - boot_at) / 100)) s ago, and still up"
                exit 1
            fi
            exit 75
        fi
    fi
    boot_note "$key" told || {
        echo "a boot cannot be remembered in $keep"
        exit 1
    }
    if [ $# -gt 0 ]; then
        "$@" 3>&- && exit 75
    else
        for tool in 'systemctl reboot' 'shutdown -r now' reboot; do
            # shellcheck disable=SC2086 # words
            command -v ${tool%% *} >/dev/null && $tool 3>&- && exit 75
        done
    fi
    rm -f "$keep/boot.$key"
    echo 'this machine cannot be told to boot'
    exit 1
}

# --- director --------------------------------------------------------------------------------

tell() { # EVENT.  If it finds no space it is still told; a later attach will say `lost`, never `done`.
    printf 'anneal: %s\n' "$*" >>events
    printf 'anneal: %s\n' "$*" >&8
}
begin() { # N, in the process that becomes the program
    trap - HUP PIPE
    me
    printf '%s %s %s\n' "$1" "$mypid" "$mycs" >>started || exit 125
    [ -e "stop.$1" ] && exit 125
    number_now=$1
    # shellcheck disable=SC2086 # four numbers
    set -- "$1" $run
    export ANNEAL_RUN="$task.$3@$chain" ANNEAL_RESULT_FILE="$dir/r$1"
    [ "$in" = /dev/null ] || export ANNEAL_INPUT_FILE="$dir/$in"
    "step$1"
}
# Sets why if the chain goes no further.
step() { # N
    what=done st=- bytes=0 left=0 note=-
    eval "task=\$t$1 run=\$r$1 kind=\$k$1 in=\$i$1 limit=\$l$1"
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
    # Not in the background: there the shell would have it ignore INT and QUIT for good.
    (begin "$1") <"$in" 3>"r$1" >&7 2>&1 4<&- 7>&- 8>&-
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
}
# Without a control group, whoever has left its process group is found by its environment: once a
# chain, before its last end is told.
last_sweep() { # N
    [ -z "$cg" ] || return
    [ -n "$why" ] || [ "$1" -ge "$last" ] || return
    sweep "[0-9.]*@$chain" || note='something of it does not end'
    left=$((left + swept))
}
outcome() { # N: what, why, bytes, note
    case $st in
    0) ;;
    75) why=again ;;
    76)
        why=reboot
        eval "key=\$b$1"
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
# TERM ends the program that we wait for, and us.  It may come between the fork and a word about it: so
# by $!, which is that program's from the fork on, and before that whatever we inherited; and by KILL,
# for until the exec a child has our trap and would take TERM for itself.
end_with_child() {
    inherited=${!-}
    trap '[ "${!-}" = "$inherited" ] || kill -KILL "$!" 2>/dev/null; exit 0' TERM
}
watch() { # ends a step that has passed its limit, also when nobody is connected
    end_with_child
    cd "$root" || exit
    while :; do
        sleep "$watch_s" &
        wait "$!"
        [ -s "$dir/deadline" ] || continue
        read -r number at <"$dir/deadline" || continue
        now
        if [ "$cs" -ge "$at" ] && ! ended_in "$chain" "$number"; then
            echo limit >"$dir/stop.$number"
            eval "run_end \"\$chain\" \"\$number\" \"\$g$number\""
        fi
    done
}
direct() { # a pipe to the teller is its standard output: see run
    me
    director=$mypid
    printf '%s %s %s\n' "$mypid" "$mycs" "$boot" >>director || return
    exec 7<>log 8<>ev 5<log
    # Descriptors are closed by exec: for a function's own redirections a shell keeps copies.
    { exec 9>&1 >&6 6>&- 7>&- 8>&-; forward; } &
    echo # the teller may begin
    exec 5<&- 6>&- >/dev/null
    watcher=
    if [ "$watch_s" -gt 0 ]; then
        { exec 7>&- 8>&-; watch; } &
        watcher=$!
    fi
    cg_find "$chain"
    if [ -n "$cg" ]; then
        { { [ -d "$cg" ] || mkdir -p "$cg"; } && printf 0 >"$cg/cgroup.procs"; } 2>/dev/null || cg=
    fi
    exec 4<started
    number=0 ends_why=$why why=
    while [ -z "$why" ] && [ "$number" -lt "$last" ]; do
        at=$((number + 1))
        step $at
        number=$at
    done
    if [ -z "$why" ] && [ -n "$brk" ]; then
        why=$ends_why
        tell "$brk"
    fi
    [ -n "$watcher" ] && kill -TERM "$watcher" 2>/dev/null
    tell "over ${why:-done} 0 -"
}

# --- logger and teller -----------------------------------------------------------------------

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
pass() { # an event line, and the result that belongs to it
    case $line in
    'anneal: end '*)
        # shellcheck disable=SC2086 # words
        set -- $line
        [ "$3" -gt "$seen" ] || return
        seen=$3
        printf '%s\n' "$line" >&2
        [ "$6" -gt 0 ] && cat "k$3" >&2
        ;;
    'anneal: over '*)
        over=1
        printf '%s\n' "$line" >&2
        ;;
    esac
}
pass_file() { # what was told so far
    [ -f events ] || return
    while [ -z "$over" ] && read -r line; do
        pass
    done <events
}
events() { # all events of the chain to standard error, until it is over
    seen=0 over=
    me
    printf '%s %s\n' "$mypid" "$mycs" >>forward
    while :; do
        exec 8<>ev 6<ev 8>&-
        pass_file
        while [ -z "$over" ] && read -r line <&6; do
            pass
        done
        exec 6<&-
        pass_file
        [ -n "$over" ] && return
        # No director has the FIFO open: it is about to be there, or it died without a word.
        (cd "$root" && director_alive "$chain" && [ "$dir_pid" != $$ ]) || break
        nap
    done
    cd "$root" || return
    director_alive "$chain"
    orphans_end "$chain"
    say 'over lost 0 who ran it is gone'
}

# --- the verbs -------------------------------------------------------------------------------

enter() { # CHAIN: its variables and functions
    chain=$1 dir=$root/chains/$1
    [ -f "$dir/go" ] || return 1
    # shellcheck disable=SC1091 # made by reach_code.c
    . "$dir/chain"
}
verb_run() { # CHAIN [unpacked]
    if [ "${2-}" != unpacked ]; then
        if [ -e "chains/$1" ]; then
            verb=attach
            verb_attach "$1"
            return
        fi
        (cd chains && tar -xmf -) >&2 || {
            rm -rf "chains/${1:?}"
            die "the chain could not be unpacked in $root"
        }
    fi
    enter "$1" || {
        rm -rf "chains/${1:?}"
        die "the chain did not arrive whole"
    }
    setsid=$(command -v setsid) || die "there is no program setsid"
    me
    { printf '%s %s %s\n' "$mypid" "$mycs" "$boot" >"$dir/director" && : >"$dir/started"; } || {
        rm -rf "$dir"
        die "no space in $root"
    }
    if ! [ -e born ]; then
        now
        { printf '%s %s\n' "$cs" "$boot" >born; } 2>/dev/null
    fi
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
    # A pipeline, since a background job would ignore INT and QUIT, and so would the programs.  The
    # pipe carries one empty line when the FIFOs are open, and ends when the logger has ended.
    exec 6>&1
    { exec </dev/null 2>/dev/null; direct; } | {
        exec >/dev/null 6>&-
        read -r line
        events
        read -r line
    }
    return 0
}
verb_attach() { # CHAIN
    if ! [ -d "chains/$1" ] || ! enter "$1"; then
        say "over unknown 0 there is no chain $1 here"
        return
    fi
    lock || :
    cd "$dir" || exit
    # Those of the old session.
    round=0
    if [ -f forward ]; then
        while :; do
            found=0
            while read -r a b; do
                alive "$a" "$b" || continue
                found=1
                kill -TERM "$a" 2>/dev/null
                [ $round -gt 20 ] && kill -KILL "$a" 2>/dev/null
            done <forward
            [ $found = 0 ] && break
            round=$((round + 1))
            [ $round -lt 60 ] || die "another session holds on to chain $1"
            nap
        done
        : >forward
    fi
    printf 'anneal-log %s\n' "$nonce"
    say "chain $chain $steps"
    number=0
    while [ "$number" -lt "$steps" ]; do
        number=$((number + 1))
        eval "say \"step $number \$t$number \$r$number\""
    done
    exec 7<>log 5<log
    { exec 7>&- 9>&- 2>/dev/null; forward; } & logger=$!
    exec 5<&- 7>&-
    unlock
    events >/dev/null
    wait "$logger"
}
verb_stop() { # TASK ATTEMPT GRACE
    if ! [ -e "records/$1" ] || ! record_read "$1" || [ "$ra" != "$2" ] || [ "$rb" != "$boot" ]; then
        say 'stop none'
    elif ended_in "$rc" "$rn"; then
        say 'stop ended'
    elif run_end "$rc" "$rn" "$3"; then
        say 'stop stopped'
    else
        say 'stop stuck'
    fi
}
# What nobody has come for in a week, while others came: whoever sent it has forgotten it.
old_chains() { # adds to gone
    for old in $(find chains -mindepth 1 -maxdepth 1 -type d -mtime +7 2>/dev/null); do
        old=${old#chains/}
        director_alive "$old" && continue
        gone="$gone chains/$old"
        for record in records/[0-9]*; do
            [ -e "$record" ] && record_read "${record#records/}" && [ "$rc" = "$old" ] && gone="$gone $record"
        done
    done
}
verb_ack() { # CHAIN...
    lock || :
    gone='' groups=''
    for chain; do
        [ -d "chains/$chain" ] || continue
        if director_alive "$chain" && ! over_in "$chain"; then
            say "ack $chain running"
            continue
        fi
        if enter "$chain"; then
            number=0
            while [ "$number" -lt "$steps" ]; do
                number=$((number + 1))
                eval "task=\$t$number"
                [ -e "records/$task" ] && record_read "$task" && [ "$rc" = "$chain" ] &&
                    gone="$gone records/$task"
            done
        fi
        if [ -f "chains/$chain/forward" ]; then
            while read -r a b; do
                alive "$a" "$b" && kill -TERM "$a" 2>/dev/null
            done <"chains/$chain/forward"
        fi
        gone="$gone chains/$chain"
        cg_find "$chain"
        [ -n "$cg" ] && [ -d "$cg" ] && groups="$groups $cg"
    done
    old_chains
    # shellcheck disable=SC2086 # names without blanks
    [ -z "$groups" ] || rmdir $groups 2>/dev/null
    # shellcheck disable=SC2086
    [ -z "$gone" ] || rm -rf $gone
    say 'ack done'
}
verb_held() {
    for record in records/[0-9]*; do
        [ -e "$record" ] && record_read "${record#records/}" || continue
        state=held
        if ended_in "$rc" "$rn"; then
            state=ended
        elif over_in "$rc"; then
            state=skipped
        elif [ "$rb" != "$boot" ] || ! director_alive "$rc"; then
            state=lost
        elif started_in "$rc" "$rn"; then
            state=started
        fi
        say "held ${record#records/} $rf $ra $rk $rs $rc $rn $state"
    done
    say 'held done'
}
verb_facts() {
    read -r line </etc/machine-id || line=
    say "fact machine_id $line"
    say "fact boot_id $boot"
    say "fact kernel $(uname -r)"
    say "fact arch $(uname -m)"
    now
    say "fact uptime_s $((cs / 100))"
    missing=
    for tool in tar setsid head cat rm kill sleep grep wc mv mkdir flock find cmp dd chmod chown stat sync sha256sum; do
        command -v $tool >/dev/null || missing="$missing $tool"
    done
    say "fact missing$missing"
    # shellcheck disable=SC2046 # words: the second line of df
    set -- $(df -Pk . | tail -n 1)
    say "fact free_kib ${4-}"
    cg_find none
    say "fact cgroup ${cg:+yes}"
    say 'fact done'
}

root=$1 verb=$2
shift 2
cd "$root" || die "there is no $root"
read -r boot </proc/sys/kernel/random/boot_id || die "this machine does not tell its boot"
boot=${ANNEAL_BOOT-$boot}
case $verb in
run | attach | stop | ack | held | facts)
    clock_check
    "verb_$verb" "$@"
    ;;
*) die "there is no verb $verb" ;;
esac
