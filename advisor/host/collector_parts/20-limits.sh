clean() {
    trap '' HUP INT TERM PIPE USR1
    [ -z "${dog-}" ] || kill "$dog" 2>/dev/null
    # A signal may come between a command's start and the line that notes it.
    [ "${pid-}" != new ] || { pid=${!-}; [ "$pid" != "$before" ] || pid=; }
    [ -z "${pid-}" ] || kill -9 "$pid" 2>/dev/null
    # One that was started just before the signal has no name yet.
    [ "${started-}" = "$!" ] || kill -9 "$!" 2>/dev/null
    cd / || :
    [ -z "${W-}" ] || remove
}

# Removes the folder. Where there are many files in it, a busy disk may take minutes for that: then it is not waited for
# longer than the grace, and not at all once the time is over; it goes on alone.
remove() {
    if [ "${ALL-0}" -lt 20000 ]; then rm -rf "$W"; return; fi
    exec > /dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    rm -rf "$W" &
    waited=0
    [ -z "$OVER" ] || return 0
    while [ -d "$W" ] && [ "$waited" -lt "$GRACE_SECONDS" ]; do
        sleep 1
        waited=$((waited + 1))
    done
}

stopped() { clean; trap - EXIT; exit "$1"; }

# The watch has something to say: a command took too long, or all of it did.
wake() {
    if [ -e "$W/stop" ]; then
        say "not done $((MOST_SECONDS + GRACE_SECONDS)) seconds after it began, so there is no whole archive; try again"
        stopped 3
    fi
    [ ! -e "$W/over" ] || OVER=yes
}

# Whether the time is over; then what is at a path was not looked for.
is_over() {
    [ -n "$OVER" ] || return 1
    case $1 in *[*?[]*) ;; *) failed "$1" ETIMEDOUT ;; esac
}

# Adds to $total the seconds that have passed, by the clock: on a busy node a sleep of one second takes longer.
tick() {
    clock=$(date +%s) step=1
    case $clock in
        ''|*[!0-9]*) ;;
        *) step=$((clock - noted)) noted=$clock ;;
    esac
    # A clock that was set tells nothing.
    if [ "$step" -lt 1 ] || [ "$step" -gt 600 ]; then step=1; fi
    total=$((total + step))
}

# Every second: ends a command that takes too long, and the script itself when its time and grace are over. When that
# was killed, removes its folder.
watch() {
    trap 'kill "$nap" 2>/dev/null; exit 0' TERM
    trap - HUP INT PIPE USR1 EXIT
    last='' since=0 total=0 end=$((MOST_SECONDS + GRACE_SECONDS))
    while :; do
        sleep 1 & nap=$!
        wait "$nap"
        tick
        doing=''
        { read -r doing < "$W/job"; } 2>/dev/null || :
        # Its number, process and time.
        number=${doing%% *} limit=${doing##* } target=${doing#* } target=${target% *}
        kill -0 $$ 2>/dev/null || clean_up
        [ "$doing" = "$last" ] || last=$doing since=$total
        case $limit in
            ''|none) ;;
            *) if [ $((total - since)) -ge "$limit" ] || [ "$total" -ge "$MOST_SECONDS" ]; then give_up; fi ;;
        esac
        [ "$total" -ge "$MOST_SECONDS" ] || continue
        : > "$W/over"
        [ "$total" -lt "$end" ] || : > "$W/stop"
        kill -USR1 $$ 2>/dev/null
        # It may wait for hardware itself, or for a program that does.
        [ "$total" -lt $((end + 10)) ] || { kill -9 $$ 2>/dev/null; clean_up; }
    done
}

# The end of a watch whose script is no more.
clean_up() {
    [ -z "$doing" ] || kill -9 "$target" 2>/dev/null
    rm -rf "$W"
    exit 0
}

# Ends the command at work. One that waits for hardware does not go: the script stops waiting for it.
give_up() {
    printf '%s\n' "$number" > "$W/late"
    kill -9 "$target" 2>/dev/null
    kill -USR1 $$ 2>/dev/null
    since=$total
}

# Runs a command, output to $OUT and $ERR (empty: to $OUT too); 124 when it took too long.
job() {
    jobs_done=$((jobs_done + 1)) before=${!-} pid=new
    if [ -n "$ERR" ]; then "$@" > "$OUT" 2> "$ERR" < /dev/null 8>&- &
    else "$@" > "$OUT" 2>&1 < /dev/null 8>&- & fi
    pid=$!
    started=$pid
    printf '%s\n' "$jobs_done $pid $LIMIT" > "$W/job"
    while :; do
        wait "$pid"
        status=$? late=''
        [ "$status" -gt 128 ] || break
        { read -r late < "$W/late"; } 2>/dev/null || :
        [ "$late" != "$jobs_done" ] || { status=124; break; }
        # A signal hides how it ended.
        kill -0 "$pid" 2>/dev/null || { wait "$pid"; again=$?; [ "$again" -eq 127 ] || status=$again; break; }
    done
    : > "$W/job"
    pid=
    return "$status"
}

# Runs a command on what was read already: it has until the very end.
pack() {
    limit=$LIMIT LIMIT=none
    job "$@"
    LIMIT=$limit
    return "$status"
}
