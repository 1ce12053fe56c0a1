# Puts files of the folder one is in, their paths without $ROOT, on the list of those to read.
want() {
    case $REAL in *[[:cntrl:]]*) return ;; esac
    printf '%s\n' "fs$REAL" >&4
    COUNT=$((COUNT + 1 + $#))
    for name do
        shift
        case $name in *[[:cntrl:]]*) ;; *) set -- "$@" "$ROOT$REAL/$name" mark ;; esac
    done
    [ $# -eq 0 ] || printf '%s\n' "$@" >&9
}

# Reads the files on the list, many with one cat, a mark after each.
flush() {
    [ "$COUNT" -gt 0 ] || return 0
    ALL=$((ALL + COUNT)) COUNT=0 here=$PWD
    cd "$W" || return
    read_list
    exec 4> "$W/folders" 9> "$W/list"
    cd "$here" || :
}

read_list() {
    set -f; IFS=$NL
    [ -n "$OVER" ] || mkdir -p $(cat folders)
    set -- $(cat list)
    set +f; unset IFS
    while [ $# -gt 0 ]; do
        if [ -n "$OVER" ]; then
            for path do [ "$path" = mark ] || failed "${path#"$ROOT"}" ETIMEDOUT; done
            return
        fi
        OUT=$W/raw ERR=
        job cat "$@"
        if [ -n "$AWK" ]; then split_by_awk "$@"; else split "$@"; fi
        # What is left stands behind a file that did not answer.
        set -f; IFS=$NL; set -- $LEFT; set +f; unset IFS
        [ $# -eq 0 ] || { failed "${1#"$ROOT"}" ETIMEDOUT; shift 2; }
    done
}

# Puts each file that was read in its place; in LEFT those from the first that is not whole.
split() {
    LEFT=
    while [ $# -gt 0 ]; do
        text='' ended=''
        while IFS= read -r line; do
            [ "$line" != "$MARK" ] || { ended=1; break; }
            text=$text$line$NL
        done
        if [ -z "$ended" ]; then
            for path do LEFT=$LEFT$path$NL; done
            return
        fi
        store "${1#"$ROOT"}" "${text%"$NL"}"
        shift 2
    done < raw
}

store() {
    last=${2%"$NL"} last=${last##*"$NL"}
    case $last in
        'cat: '*) errno_of "$last"; failed "$1" "$REPLY" data ;;
        '') if is_hidden "$1"; then failed "$1" EACCES data; else printf '%s' "$2" > "fs$1"; fi ;;
        *) printf '%s' "$2" > "fs$1" ;;
    esac
}

# The same where there is awk: shells ask the kernel for every byte that they read.
split_by_awk() {
    printf '%s\n' "$@" > list
    : > left
    OUT=$W/told ERR=/dev/null
    if ! pack "$AWK" -v mark="$MARK" -v skip="${#ROOT}" "$SPLIT" what=hidden hidden what=list list what=raw raw; then
        LEFT=
        for path do [ "$path" = mark ] || failed "${path#"$ROOT"}" error data; done
        return
    fi
    set -f; IFS=$NL
    set -- $(cat told)
    LEFT=$(cat left)
    set +f; unset IFS
    for line do errno_of "${line#*"$TAB"}"; failed "${line%%"$TAB"*}" "$REPLY" data; done
}

# Prints the path and message of each file that could not be read.
# shellcheck disable=SC2016 # awk expands them
SPLIT='
what == "hidden" { tops[++covers] = $0 "/"; next }
what == "list" { if (FNR % 2) files[++count] = $0; next }
($0 "") != (mark "") { line[++lines] = $0; next }
{
    path = substr(files[++done], skip + 1)
    last = (lines > 1 && line[lines] == "") ? line[lines - 1] : line[lines]
    if (last == "") for (i = 1; i <= covers; i++) if (index(path "/", tops[i]) == 1) last = "cat: Permission denied"
    if (index(last, "cat: ") == 1) print path "\t" last
    else {
        for (i = 1; i < lines; i++) printf "%s\n", line[i] > ("fs" path)
        printf "%s", line[lines] > ("fs" path)
        close("fs" path)
    }
    lines = 0
}
END { while (done < count) print files[++done] "\nmark" > "left" }'

large_file() {
    ! is_over "$1" || return 0
    go "${1%/*}" || { missing "$1"; return; }
    path=${1%/*}/${1##*/}
    [ -e "${1##*/}" ] || { missing "$path"; return; }
    mkdir -p "$W/fs${path%/*}"
    OUT=$W/fs$path ERR=$W/err
    if [ -n "$HEAD" ]; then job head -c "$MOST_BYTES" "$ROOT$path"; else job cat "$ROOT$path"; fi
    [ "$status" -ne 0 ] || return 0
    rm -f "$W/fs$path"
    if [ "$status" -eq 124 ]; then failed "$path" ETIMEDOUT; return; fi
    told_why "$path"
}

# Records what the last command said of a path.
told_why() {
    line=; read -r line < "$W/err" || :
    errno_of "$line"
    failed "$1" "$REPLY" data
}
