# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# runner_rest.sh - what stands behind runner.sh: earlier runs, boots, limits, and all verbs but `run`
#
# It is read as a part of that file, from its first line on: see the end there.

# --- processes --------------------------------------------------------------------------------
ticks_of() { # PID: ticks
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    # shellcheck disable=SC2086 # the fields behind the name, which may hold anything
    set -- ${stat##*) }
    case $1 in Z | X) return 1 ;; esac
    ticks=${20}
}
alive() { # PID CS
    [ -n "$clock_off" ] || clock_check
    ticks_of "$1" && [ "$ticks" -le $(($2 + clock_off)) ]
}
# In some containers the uptime is the container's and the start of a process the machine's.
clock_check() {
    clock_off=0
    now
    if ticks_of self && [ "$ticks" -gt "$cs" ]; then
        clock_off=$((ticks - cs + 50))
    fi
}
sweep() { # MARK [PID...]: ends every process, or those of these, whose ANNEAL_RUN matches; swept: how many
    swept=0 round=0 mark=$1
    shift
    while :; do
        if [ $# -gt 0 ]; then
            found=$(grep -ls "ANNEAL_RUN=$mark" "$@" 2>/dev/null)
        else
            found=$(grep -ls "ANNEAL_RUN=$mark" /proc/[0-9]*/environ 2>/dev/null)
        fi
        [ -n "$found" ] || return 0
        set -- # what it has started meanwhile is anywhere
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

setsid_find() { # setsid: the program, where there is no `session`
    setsid='' IFS=:
    for p in $PATH; do
        [ -x "$p/setsid" ] && setsid=$p/setsid && break
    done
    unset IFS
    [ -n "$setsid" ] || die "there is no program setsid"
}

# --- what is known of a chain -----------------------------------------------------------------
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

# --- records ----------------------------------------------------------------------------------
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
# Not by the uptime, which in a container may be that of the machine around it.
known_for() { # SECONDS: is what is here older than that?
    born_cs='' born_boot=''
    { read -r born_cs born_boot <born; } 2>/dev/null
    now
    [ "$born_boot" = "$boot" ] && [ "$cs" -ge $((born_cs + $1 * 100)) ]
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

# --- steps that are no programs ---------------------------------------------------------------
put_group() { # FROM DIR MODE OWNER GROUP DIR_MODE NAME...: several that differ from what is there
    put_from=$dir/$1 put_dir=$2 put_mode=$3 put_who=$4${5:+:$5}
    put_parents "$6"
    shift 6
    for name; do
        if [ -d "$put_dir/$name" ] && [ ! -L "$put_dir/$name" ]; then
            echo "$put_dir/$name is a directory"
            exit 1
        fi
    done
    put_new=${put_dir%/}/.anneal.$chain
    umask 077
    if cp -R "$put_from" "$put_new" && cd "$put_new" && { [ -z "$put_who" ] || chown -- "$put_who" "$@"; } &&
        chmod -- "$put_mode" "$@" && { sync -- "$@" 2>/dev/null || sync; } && mv -f -- "$@" ..; then
        cd "$dir" && rmdir "$put_new"
        puts=$((puts + $#)) changed=$((changed + $#))
        return
    fi
    cd "$dir" && rm -rf "$put_new"
    echo "files in $put_dir could not be written"
    exit 1
}
sum() { # PATH...: on descriptor 3 a letter a path, a line of stat for f and d, a digest for f
    dirs=0 others=0
    for path; do
        if [ -L "$path" ]; then
            echo l
            others=$((others + 1))
        elif [ -f "$path" ]; then
            [ -r "$path" ] || {
                echo "$path cannot be read" >&2
                exit 1
            }
            echo f
        elif [ -d "$path" ]; then
            echo d
            dirs=$((dirs + 1))
        elif [ -e "$path" ]; then
            echo o
            others=$((others + 1))
        else
            echo -
            others=$((others + 1))
        fi
    done >&3
    # The same list without what is neither; in turn, each time a copy of it, so only if need be.
    [ $others = 0 ] || for path; do
        shift
        [ ! -L "$path" ] && { [ -f "$path" ] || [ -d "$path" ]; } && set -- "$@" "$path"
    done
    [ $# = 0 ] && exit
    stat -c '%a %U %u %G %g %s' -- "$@" >&3 || exit 1
    [ $dirs = 0 ] || for path; do
        shift
        [ -f "$path" ] && set -- "$@" "$path"
    done
    [ $# = 0 ] && exit
    sha256sum -- "$@" >&3
    exit
}

# --- boots ------------------------------------------------------------------------------------
# What must outlive a boot: $keep/boot.KEY, "BOOT CS WORD": the boot in which another one was wanted,
# when that was, and `due` or, once the machine has been told to boot, `told`.
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
boot_wait() { # before a program: one that asked for a boot does not run before that has been
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

# --- watcher ----------------------------------------------------------------------------------
watch() { # ends a step that has passed its limit, also when nobody is connected
    end_with_child
    cd "$root" || exit
    me
    printf '%s %s\n' "$mypid" "$mycs" >"$dir/watcher"
    while :; do
        over_in "$chain" && exit # who tells that ends us, but we may have begun just then
        if [ -s "$dir/deadline" ] && read -r number at <"$dir/deadline"; then
            now
            if [ "$cs" -ge "$at" ] && ! ended_in "$chain" "$number"; then
                echo limit >"$dir/stop.$number"
                eval "run_end \"\$chain\" \"\$number\" \"\$g$number\""
            fi
        fi
        sleep "$watch_s" &
        wait "$!"
        director_alive "$chain" || exit
    done
}
watcher_begin() { # in the directory of its chain, if it has limits to keep and nobody does
    [ "$watch_s" -gt 0 ] || return
    if ! [ -s watcher ] || ! read -r a b <watcher || ! alive "$a" "$b"; then
        { exec </dev/null >/dev/null 2>&1 7>&- 9>&-; watch; } &
    fi
}

# --- teller -----------------------------------------------------------------------------------
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
        (cd "$root" && director_alive "$chain") || break
        nap
    done
    cd "$root" || return
    director_alive "$chain"
    orphans_end "$chain"
    say 'over lost 0 who ran it is gone'
}

# --- the other verbs --------------------------------------------------------------------------
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
    watcher_begin
    unlock
    events >/dev/null
    wait "$logger"
}
verb_watch() { # CHAIN
    if enter "$1" && lock && cd "$dir"; then
        watcher_begin
        unlock
    fi
    say 'watch done'
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
    for tool in tar setsid head cat rm kill sleep grep wc mv mkdir flock find cmp cp dd rmdir chmod chown stat sync sha256sum; do
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

if [ -z "${rest-}" ]; then
    rest=read
    case $verb in
    attach | watch | stop | ack | held | facts) "verb_$verb" "$@" ;;
    *) die "there is no verb $verb" ;;
    esac
fi
