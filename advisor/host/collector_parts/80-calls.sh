# Sizes of local file systems; servers are not asked, they may be dead.
sizes() {
    set -f; IFS=$NL; set -- $LOCAL; set +f; unset IFS
    for point do
        shift
        case $point in *\\*) point=$(printf '%b' "$(printf '%s' "$point" | sed 's/\\/\\0/g')") ;; esac
        case $point in *[[:cntrl:]]*) ;; *) set -- "$@" "$ROOT$point" ;; esac
    done
    [ -d "$ROOT/dev/shm" ] && set -- "$@" "$ROOT/dev/shm"
    SIZES=
    command -v stat > /dev/null 2>&1 && [ $# -gt 0 ] || return
    if [ -n "$OVER" ]; then
        for point do failed "${point#"$ROOT"}" ETIMEDOUT statvfs; done
        return
    fi
    OUT=$W/raw ERR=$W/err
    job stat -f -c '%S %b %a %c %d %n' "$@"
    [ "$status" -ne 124 ] || for point do failed "${point#"$ROOT"}" ETIMEDOUT statvfs; done
    while read -r block blocks free files files_free point; do
        case $block$blocks$free$files$files_free in ''|*[!0-9]*) continue ;; esac
        point=${point#"$ROOT"}
        json "${point:-/}" && SIZES="$SIZES${SIZES:+,}\"$REPLY\":[$block,$blocks,$free,$files,$files_free]"
    done < "$W/raw"
    while read -r line; do
        point=${line#*"'"} point=${point%"'"*}
        errno_of "$line"
        failed "${point#"$ROOT"}" "$REPLY" statvfs
    done < "$W/err"
}

# Permission bits.
modes() {
    command -v stat > /dev/null 2>&1 && cd "$ROOT/" || return
    comma=''
    set -f; set -- $MODES; set +f
    for glob do in_batches bits ${glob#/}; done
} > "$W/modes"

bits() {
    [ -z "$OVER" ] || return 0
    case $* in *\\*|*\"*) return ;; esac
    OUT=$W/raw ERR=/dev/null
    # The 0 before them tells printf that they are octal.
    job stat -c "/%n${NL}0%a" "$@"
    set -f; IFS=$NL; set -- $(cat "$W/raw"); set +f; unset IFS
    [ $# -gt 1 ] || return 0
    printf "$comma\"%s\":%d" "$1" "$2"
    shift 2
    comma=,
    [ $# -eq 0 ] || printf ',"%s":%d' "$@"
}

# Calls a function with many paths each time.
in_batches() {
    called=$1 some='' number=0
    shift
    for path do
        some=$some$path$NL number=$((number + 1))
        [ "$number" -ge "$BATCH" ] || continue
        with_some
        some='' number=0
    done
    [ "$number" -eq 0 ] || with_some
}

with_some() {
    set -f; IFS=$NL; set -- $some; set +f; unset IFS
    "$called" "$@"
}

# The CPUs of a list like 0-3,8, with commas between, in REPLY.
cpus() {
    REPLY=
    IFS=,; set -- $1; unset IFS
    for part do
        first=${part%-*} last=${part#*-}
        case $first$last in ''|*[!0-9]*) continue ;; esac
        while [ "$first" -le "$last" ]; do REPLY="$REPLY${REPLY:+,}$first" first=$((first + 1)); done
    done
}

# Variables that say how a job runs; all others stay behind, they hold credentials.
environment() {
    VARIABLES=
    for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
        case $name in @KEPT@) ;; *) continue ;; esac
        case $name in
            @NO_SECRETS@) ;;
            *) case $(printf '%s' "$name" | tr '[:lower:]' '[:upper:]') in @SECRET@) continue ;; esac ;;
        esac
        case $name in
            PATH) value=$own_path ;;
            LC_ALL) value=$own_locale; [ -n "$value" ] || continue ;;
            *) eval "value=\${$name-}" ;;
        esac
        json "$value" && VARIABLES="$VARIABLES${VARIABLES:+,}\"$name\":\"$REPLY\""
    done
}

calls() {
    allowed=
    while IFS=":$TAB" read -r name value; do
        [ "$name" != Cpus_allowed_list ] || allowed=${value#"${value%%[0-9]*}"}
    done < "$W/fs/proc/self/status"
    printf '{"exists":{%s},"modes":{' "$EXISTS"
    cat "$W/modes"
    printf '},"statvfs":{%s},' "$SIZES"
    cpus "$allowed"
    [ -z "$REPLY" ] || printf '"affinity":[%s],' "$REPLY"
    environment
    printf '"environment":{%s},"names":{"/nowhere":[' "$VARIABLES"
    cat "$W/names"
    printf ']}}\n'
} 2> /dev/null

about() {
    user=false
    if [ "$(id -u)" = 0 ]; then
        user=true
        [ -n "$ROOT" ] || { read -r one two three < /proc/self/uid_map && [ "$one $two $three" = '0 0 4294967295' ] || user=false; }
    fi 2> /dev/null
    json "$(uname -r)" || REPLY=
    printf '{"version":1,"source":"live","root_user":%s,"made_by":"collector @VERSION@","kernel":"%s"}\n' "$user" "$REPLY"
}
