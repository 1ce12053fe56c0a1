# Whether another mount covers what the kernel shows at this path.
is_hidden() {
    [ -n "$HIDDEN" ] || return 1
    set -f; IFS=$NL
    for top in $HIDDEN; do
        case $1/ in "$top"/*) set +f; unset IFS; return 0 ;; esac
    done
    set +f; unset IFS
    return 1
}

# Says why nothing is at a path.
missing() {
    why=ENOENT at=$1
    while at=${at%/*}; [ -n "$at" ] && ! [ -d "$ROOT$at" ]; do :; done
    [ -x "$ROOT$at/" ] || why=EACCES
    ! is_hidden "$1" || why=EACCES
    failed "$1" "$why"
}

# Goes to a folder and keeps the links on the way; its path without links is in REAL.
go() {
    # Most have none on the way.
    if CDPATH='' cd -P "$ROOT/${1#/}" 2>/dev/null && [ "$PWD" = "$ROOT$1" ]; then REAL=$1; return; fi
    cd "$ROOT/" || return 1
    set -f; IFS=/; set -- $1; set +f; unset IFS
    REAL=
    for part do
        [ -n "$part" ] || continue
        # Below /proc they lead to the collector's own process.
        [ "$REAL" = /proc ] || ! [ -L "$part" ] || keep_link "$REAL/$part"
        CDPATH='' cd -P "./$part" 2>/dev/null || return 1
        case $PWD/ in "$ROOT"/*) REAL=${PWD#"$ROOT"} ;; *) return 1 ;; esac
    done
}

keep_link() {
    case $1 in *[[:cntrl:]]*) return ;; esac
    [ "$1" != "$LAST_LINK" ] || return
    LAST_LINK=$1
    printf './%s\n' "${1#/}" >&6
}

# Lists the folder one is in.
list() {
    [ -r . ] || { failed "$REAL" EACCES names; return; }
    set -- *
    [ "$1" != '*' ] || [ -e '*' ] || [ -L '*' ] || shift
    for name in .*; do
        case $name in .|..) continue ;; esac
        if [ -e "$name" ] || [ -L "$name" ]; then set -- "$@" "$name"; fi
    done
    [ $# -gt 0 ] || ! is_hidden "$REAL" || { failed "$REAL" EACCES names; return; }
    json "$REAL" || return
    case $* in
        *[[:cntrl:]]*|*\\*|*\"*)
            for name do
                shift
                folder_json=$REPLY
                if json "$name"; then set -- "$@" "$REPLY"; fi
                REPLY=$folder_json
            done ;;
    esac
    if [ $# -eq 0 ]; then printf '],\n"%s":[' "$REPLY"; return; fi >&7
    {
        printf '],\n"%s":["%s"' "$REPLY" "$1"
        shift
        [ $# -eq 0 ] || printf ',"%s"' "$@"
    } >&7
}
