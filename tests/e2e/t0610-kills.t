#!/usr/bin/env bash
# A server killed in the middle of any change of what is wanted comes to the same end as one that was not.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/shop.sh"

# Each flow runs once undisturbed and then with a kill at several moments of each of its steps.  A step whose server
# died is run again: it was applied whole or not at all, so that is either refused as done or does what is left.  The
# next server listens where the last one did, as under a supervisor, and a command that waits finds it again.
shop_first="sleep 0.05" shop_rm="rm -f" # long enough to be killed in, and then done again
d() { anneal deployment "$@"; }
nr() { anneal noderole list --role "$1" --node "$2" -o json | jq -r '.items[0].id // "none"'; }
settled() { # also what runs without a request
    ! anneal operation list -o json | jq -e '[.items[] | select(.state == "running" and .kind != "standing")] | length > 0' &&
        anneal status -o json | jq -e '(.tasks.RUNNING // 0) + (.tasks.READY // 0) + (.tasks.WAITING // 0) == 0'
}
picture() {
    until_true 30 settled
    (cd "$work/live" && grep -H . ./* 2>/dev/null)
    anneal noderole list --limit 1000 -o json | jq -c '.items | map([.role, .node, .deployment, .state, .target]) | sort'
    anneal deployment history shop -o json | jq -c '.items | map([.number, .state, .entries, .message])'
    anneal deployment diff shop -o json | jq -c '.changes | map([.role, .node, .change, .after])'
}

# The flows: one line a step.
prepare='shop hello; nodes n1.t n2.t n3.t; d add shop; d bind shop db=n1.t web=n1.t,n2.t --wait'
commit='d propose shop --message "third"
d edit shop --bind web=n3.t --set web@n1.t:port=8080 --unbind web=n2.t
d commit shop --wait'
rollback='shop goodbye
d propose shop
d commit shop --wait
d rollback shop 1
d commit shop --wait'
cancel='d propose shop
d edit shop --bind db=n2.t,n3.t
d commit shop
anneal operation cancel "$(anneal deployment history shop -o json | jq ".items[-1].operation")"
anneal operation resume "$(anneal deployment history shop -o json | jq ".items[-1].operation")" --wait'
retry='touch "$work/broken"
d bind shop web=n3.t --wait
rm -f "$work/broken"
anneal noderole retry "$(nr web n3.t)" --wait'
remove='touch "$work/stuck"
d unbind shop db=n1.t --cascade --wait
rm -f "$work/stuck"
anneal noderole retry "$(nr web n1.t)"
anneal noderole abandon "$(nr web n2.t)"'
proposers='d propose shop
d edit shop --set web@n1.t:port=1
anneal noderole set "$(nr web n2.t)" port=2 --wait
d commit shop --wait'

move='anneal node set n3.t --deployment shop --unavailable
d bind shop web=n3.t
d add annex
anneal node set n3.t --deployment annex
anneal node set n3.t --available
until_true 10 settled'

again() { until_true 10 start --listen "127.0.0.1:$port"; }
fresh() {
    rm -rf "$work/data" "$work"/live/* "$work/broken" "$work/stuck"
    start || exit 1
    eval "$prepare" >/dev/null 2>&1
}
step_killed() { # DELAY STEP
    local step
    eval "$2" >/dev/null 2>&1 &
    step=$!
    read -rt "$1" <> <(:) || :
    crash 2>/dev/null
    again || exit 1
    wait $step
    eval "$2" >/dev/null 2>&1
}
flow() { # NAME STEPS
    local steps step i k wanted got bad=0 kills=0
    mapfile -t steps <<<"$2"
    fresh
    for step in "${steps[@]}"; do eval "$step" >/dev/null 2>&1; done
    wanted=$(picture)
    crash
    for ((k = 0; k < ${#steps[@]}; k++)); do
        case ${steps[k]} in touch* | rm* | until_true*) continue ;; esac
        for delay in 0.004 0.07; do
            fresh
            for ((i = 0; i < ${#steps[@]}; i++)); do
                if [ $i -eq $k ]; then step_killed $delay "${steps[i]}"; else eval "${steps[i]}" >/dev/null 2>&1; fi
            done
            kills=$((kills + 1))
            got=$(picture)
            [ "$got" = "$wanted" ] || { bad=$((bad + 1)); echo "# $1, kill after ${delay}s of: ${steps[k]}"; diff <(echo "$wanted") <(echo "$got") | sed 's/^/#   /'; }
            crash
        done
    done
    is $bad 0 "$1: $kills kills, each with the same end"
}
flow commit "$commit"
flow rollback "$rollback"
flow cancel "$cancel"
flow retry "$retry"
flow remove "$remove"
flow proposers "$proposers"
flow move "$move"
done_testing
