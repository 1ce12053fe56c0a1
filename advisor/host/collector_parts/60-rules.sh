# Rules. D: folders to list, and files and links of them. F: one file. B: a large one. E: whether it is there.
# P: folders of PCI devices. M: permission bits. C: a command. T: drivers, programs and commands of a tool.
apply() {
    while IFS=$TAB read -r kind glob names; do
        case $kind in
            D) each_folder "$glob" "$names" ;;
            F) one_file "$glob" ;;
            B) large_file "$glob" ;;
            E) there "$glob" ;;
            P) config_spaces "$glob" ;;
            M) MODES="$MODES $glob" ;;
            T) TOOLS=$TOOLS$glob$TAB$names$NL ;;
            C) flush; set -f; set -- $glob; set +f; ask "$@" ;;
        esac
    done
}

each_folder() {
    ! is_over "$1" || return 0
    IFS=
    set -- "$1" "$2" $ROOT$1
    unset IFS
    glob=$1 names=$2
    shift 2
    for folder do
        ! is_over "${folder#"$ROOT"}" || continue
        if ! go "${folder#"$ROOT"}"; then
            case $glob in *[*?[]*) [ -d "$folder" ] || continue ;; esac
            missing "${folder#"$ROOT"}"
            continue
        fi
        list
        set --
        for name in $names; do
            if [ -L "$name" ]; then
                keep_link "$REAL/$name"
                later "$name"
            elif [ -f "$name" ]; then
                set -- "$@" "$name"
            fi
        done
        want "$@"
        [ "$COUNT" -lt "$BATCH" ] || flush
    done
}

one_file() {
    ! is_over "$1" || return 0
    go "${1%/*}" || { missing "$1"; return; }
    name=${1##*/}
    if [ -L "$name" ]; then
        keep_link "$REAL/$name"
        later "$name"
        return
    fi
    if ! [ -e "$name" ]; then missing "$REAL/$name"; return; fi
    [ -f "$name" ] || return
    want "$name"
    [ "$COUNT" -lt "$BATCH" ] || flush
}

# A link of the folder one is in, to be followed once all links are known; links between folders need not be.
later() {
    case $REAL in /sys/*) [ -f "$1" ] || return ;; esac
    LATER=$LATER$REAL/$1$NL
}

# Whether a server would have to be asked about a path.
is_far() {
    set -f; IFS=$NL
    for top in $FAR; do
        case $1/ in "$top"/*) set +f; unset IFS; return 0 ;; esac
    done
    set +f; unset IFS
    return 1
}

# Files that links lead to.
follow() {
    while [ -n "$LATER" ] && [ -z "$OVER" ]; do
        set -f; IFS=$NL; set -- $LATER; set +f; unset IFS
        LATER=
        for path do
            depth=$((depth + 1))
            [ "$depth" -lt 1000 ] && [ -z "$OVER" ] || return
            target=$(readlink "$ROOT$path" 2>/dev/null) || continue
            case $target in /*) ;; *) target=${path%/*}/$target ;; esac
            is_far "$target" || one_file "$target"
        done
    done
}

# Configuration spaces of the PCI devices that matter. They are binary, and to read that of a sleeping device wakes it.
config_spaces() {
    ! is_over "$1" || return 0
    flush       # that makes their folders
    set -- $ROOT$1
    for folder do
        ! is_over "${folder#"$ROOT"}/config" || continue
        go "${folder#"$ROOT"}" || continue
        code='' power=''
        { read -r code < class; read -r power < power/runtime_status; } 2>/dev/null || :
        case $code in 0x010[478]*|0x020[07]*|0x0280*|0x03*|0x0604*|0x0680*|0x12*) ;; *) continue ;; esac
        case $power in suspend*) continue ;; esac
        if ! [ -e config ]; then missing "$REAL/config"; continue; fi
        [ -f config ] || continue
        [ -d "$W/fs$REAL" ] || mkdir -p "$W/fs$REAL"
        OUT=$W/fs$REAL/config ERR=$W/err
        job cat config && continue
        rm -f "$OUT"
        if [ "$status" -eq 124 ]; then failed "$REAL/config" ETIMEDOUT; continue; fi
        told_why "$REAL/config"
    done
}

there() {
    ! is_over "$1" || return 0
    if go "${1%/*}" && [ -e "${1##*/}" ]; then
        json "$REAL/${1##*/}" && EXISTS="$EXISTS${EXISTS:+,}\"$REPLY\":true"
    else
        missing "$1"
    fi
}

# Keeps what a command prints; 127 when there is no such program, 124 when it took too long.
ask() {
    if [ -n "$OVER" ]; then failed "command: $*" ETIMEDOUT run; return 124; fi
    if ! command -v "$1" > /dev/null 2>&1; then failed "command: $*" ENOENT run; return 127; fi
    asked=$((asked + 1))
    base=$W/cmd/$asked
    OUT=$base.stdout ERR=$base.stderr
    job "$@" || :
    if [ "$status" -eq 124 ]; then rm -f "$base".*; failed "command: $*" ETIMEDOUT run; return 124; fi
    printf '%s\n' "$@" > "$base.argv"
    printf '%s\n' "$status" > "$base.rc"
    return 0
}
