# $1 with a backslash before each character $2, in REPLY.
escape() {
    REPLY='' rest=$1
    while :; do
        case $rest in
            *"$2"*) REPLY=$REPLY${rest%%"$2"*}\\$2 rest=${rest#*"$2"} ;;
            *) REPLY=$REPLY$rest; return ;;
        esac
    done
}

# $1 inside a JSON string, in REPLY; fails for control characters.
json() {
    REPLY=$1
    case $1 in *[[:cntrl:]]*) return 1 ;; esac
    case $1 in *\\*) escape "$1" \\ ;; esac
    case $REPLY in *\"*) escape "$REPLY" \" ;; esac
}

# A line of errors.tsv: path, errno, question.
failed() {
    REPLY=$1
    case $1 in *[[:cntrl:]]*) return ;; *\\*) escape "$1" \\ ;; esac
    printf '%s\t%s%s\n' "$REPLY" "$2" "${3:+$TAB$3}" >&5
}

# The errno of a message, in REPLY.
errno_of() {
    case $1 in
        *'ermission denied'*) REPLY=EACCES ;;
        *'peration not permitted'*) REPLY=EPERM ;;
        *'o such file'*) REPLY=ENOENT ;;
        *'ot a directory'*) REPLY=ENOTDIR ;;
        *'nvalid argument'*) REPLY=EINVAL ;;
        *'nput/output error'*|*'I/O error'*) REPLY=EIO ;;
        *'o data available'*) REPLY=ENODATA ;;
        *'o such device or address'*) REPLY=ENXIO ;;
        *'o such device'*) REPLY=ENODEV ;;
        *'ot supported'*) REPLY=EOPNOTSUPP ;;
        *'not implemented'*) REPLY=ENOSYS ;;
        *'timed out'*) REPLY=ETIMEDOUT ;;
        *) REPLY=error ;;
    esac
}
