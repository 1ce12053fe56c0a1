#!/bin/sh
# Copies what advisor reads of a node: files of /proc, /sys and /etc, sizes of local file systems, a few commands.
#   ssh NODE sh -s < collector.sh > NODE.tar          then: advisor capture NODE-safe.tar --root NODE.tar
# Writes nothing but a folder of its own under ${TMPDIR:-/tmp}, which it removes, and the archive to standard output.
# Needs a POSIX shell, cat, mkdir, rm, sleep and tar; root is not needed. Never looks at network file systems.
# The archive is as read: it holds names and addresses (host name, resolv.conf and passwd only so that
# advisor knows which names to take out).
# shellcheck disable=SC2254,SC2086,SC2317 # words and patterns are split and matched on purpose; traps call functions

MOST_SECONDS=${ADVISOR_COLLECTOR_SECONDS:-120}         # in all; what is not read by then is recorded as timed out
JOB_SECONDS=${ADVISOR_COLLECTOR_JOB_SECONDS:-10}       # for each command
TOOL_SECONDS=${ADVISOR_COLLECTOR_TOOL_SECONDS:-60}     # for each command of a RAID controller's tool: they wait for locks
BATCH=250                                              # files that one cat reads
MOST_BYTES=16777216                                    # of each large file
OF_INTEREST='@MODULES@'
ROOT=${ADVISOR_COLLECTOR_ROOT-}                        # another place that looks like /

NL='
'
TAB='	'

rules() {
cat <<'RULES'
@RULES@
RULES
}

say() { printf 'collector: %s\n' "$*" >&8; }

clean() {
    trap '' HUP INT TERM PIPE USR1
    [ -z "${dog-}" ] || kill "$dog" 2>/dev/null
    # A signal may come between a command's start and the line that notes it.
    [ "${pid-}" != new ] || { pid=${!-}; [ "$pid" != "$before" ] || pid=; }
    [ -z "${pid-}" ] || kill -9 "$pid" 2>/dev/null
    # One that was started just before the signal has no name yet.
    [ "${started-}" = "$!" ] || kill -9 "$!" 2>/dev/null
    cd / || :
    [ -z "${W-}" ] || rm -rf "$W"
}

stopped() { clean; trap - EXIT; exit "$1"; }

# The watch has something to say: a command took too long, or all of it did.
wake() { [ ! -e "$W/over" ] || OVER=yes; }

# Whether the time is over; then what is at a path was not looked for.
is_over() {
    [ -n "$OVER" ] || return 1
    case $1 in *[*?[]*) ;; *) failed "$1" ETIMEDOUT ;; esac
}

# Every second: ends a command that takes too long and, when the script itself was killed, removes its folder.
watch() {
    trap 'kill "$nap" 2>/dev/null; exit 0' TERM
    trap - HUP INT PIPE USR1 EXIT
    last='' same=0 total=0
    while :; do
        sleep 1 & nap=$!
        wait "$nap"
        total=$((total + 1)) doing=''
        { read -r doing < "$W/job"; } 2>/dev/null || :
        # Its number, process and time.
        number=${doing%% *} limit=${doing##* } target=${doing#* } target=${target% *}
        if ! kill -0 $$ 2>/dev/null; then
            [ -z "$doing" ] || kill -9 "$target" 2>/dev/null
            rm -rf "$W"
            exit 0
        fi
        if [ -n "$doing" ] && [ "$doing" = "$last" ]; then same=$((same + 1)); else same=0 last=$doing; fi
        [ "$total" -ne "$MOST_SECONDS" ] || { : > "$W/over"; kill -USR1 $$ 2>/dev/null; }
        if [ "$same" -ge "${limit:-1}" ] || { [ -n "$doing" ] && [ "$total" -ge "$MOST_SECONDS" ]; }; then
            printf '%s\n' "$number" > "$W/late"
            kill -9 "$target" 2>/dev/null
            kill -USR1 $$ 2>/dev/null       # a process that waits for hardware does not go: stop waiting for it
            same=0
        fi
        [ "$total" -lt $((MOST_SECONDS + 30)) ] || kill -TERM $$ 2>/dev/null
    done
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
        kill -0 "$pid" 2>/dev/null || break
    done
    : > "$W/job"
    pid=
    return "$status"
}

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
    for name in .[!.]* ..?*; do
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
    printf ',\n"%s":[' "$REPLY" >&7
    [ $# -eq 0 ] || { printf '"%s"' "$1"; shift; } >&7
    [ $# -eq 0 ] || printf ',"%s"' "$@" >&7
    printf ']' >&7
}

# Puts a file of the folder one is in on the list of those to read.
want() {
    case $1 in *[[:cntrl:]]*) return ;; esac
    FILES=$FILES$REAL/$1$NL
    FILE_COUNT=$((FILE_COUNT + 1))
}

# Reads the files on the list, many with one cat, a mark after each.
flush() {
    [ "$FILE_COUNT" -gt 0 ] || return 0
    here=$PWD
    set -f; IFS=$NL
    mkdir -p $FOLDERS
    set -- $FILES
    set +f; unset IFS
    FILES='' FOLDERS='' FILE_COUNT=0
    while [ $# -gt 0 ]; do
        if [ -n "$OVER" ]; then
            for path do failed "$path" ETIMEDOUT; done
            break
        fi
        for path do shift; set -- "$@" "$ROOT$path" "$W/mark"; done
        OUT=$W/raw ERR=
        job cat "$@"
        split "$@"
        # What is left stands behind a file that did not answer.
        set -f; IFS=$NL; set -- $LEFT; set +f; unset IFS
    done
    cd "$here" || :
}

split() {
    LEFT=
    while [ $# -gt 0 ]; do
        text='' ended=''
        while IFS= read -r line; do
            [ "$line" != "$MARK" ] || { ended=1; break; }
            text=$text$line$NL
        done
        if [ -z "$ended" ]; then
            failed "${1#"$ROOT"}" ETIMEDOUT
            shift 2
            for path do
                [ "$path" = "$W/mark" ] || LEFT=$LEFT${path#"$ROOT"}$NL
            done
            return
        fi
        store "${1#"$ROOT"}" "${text%"$NL"}"
        shift 2
    done < "$W/raw"
}

store() {
    last=${2%"$NL"} last=${last##*"$NL"}
    case $last in
        'cat: '*) failed "$1" "$(errno_of "$last")" data ;;
        '') if is_hidden "$1"; then failed "$1" EACCES data; else printf '%s' "$2" > "$W/fs$1"; fi ;;
        *) printf '%s' "$2" > "$W/fs$1" ;;
    esac
}

errno_of() {
    case $1 in
        *'ermission denied'*) echo EACCES ;;
        *'peration not permitted'*) echo EPERM ;;
        *'o such file'*) echo ENOENT ;;
        *'ot a directory'*) echo ENOTDIR ;;
        *'nvalid argument'*) echo EINVAL ;;
        *'nput/output error'*|*'I/O error'*) echo EIO ;;
        *'o data available'*) echo ENODATA ;;
        *'o such device or address'*) echo ENXIO ;;
        *'o such device'*) echo ENODEV ;;
        *'ot supported'*) echo EOPNOTSUPP ;;
        *'not implemented'*) echo ENOSYS ;;
        *'timed out'*) echo ETIMEDOUT ;;
        *) echo error ;;
    esac
}

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
        FOLDERS=$FOLDERS$W/fs$REAL$NL
        for name in $names; do
            if [ -L "$name" ]; then
                keep_link "$REAL/$name"
                later "$name"
            elif [ -f "$name" ]; then
                want "$name"
            fi
        done
        [ "$FILE_COUNT" -lt "$BATCH" ] || flush
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
    FOLDERS=$FOLDERS$W/fs$REAL$NL
    want "$name"
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
    line=; read -r line < "$W/err" || :
    failed "$path" "$(errno_of "$line")" data
}

# Configuration spaces of the PCI devices that matter. They are binary, and to read that of a sleeping device wakes it.
config_spaces() {
    ! is_over "$1" || return 0
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
        mkdir -p "$W/fs$REAL"
        OUT=$W/fs$REAL/config ERR=$W/err
        job cat config && continue
        rm -f "$OUT"
        if [ "$status" -eq 124 ]; then failed "$REAL/config" ETIMEDOUT; continue; fi
        line=; read -r line < "$W/err" || :
        failed "$REAL/config" "$(errno_of "$line")" data
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
    job "$@"
    if [ "$status" -eq 124 ]; then rm -f "$base".*; failed "command: $*" ETIMEDOUT run; return 124; fi
    printf '%s\n' "$@" > "$base.argv"
    printf '%s\n' "$status" > "$base.rc"
    return 0
}

# What the mount table says: what covers /proc and /sys, where control groups lie, which file systems are local.
mounts() {
    HIDDEN='' CGROUPS='' LOCAL='' FAR='' proc='' sysfs=''
    while IFS=' ' read -r _ _ _ root point rest; do
        rest=${rest#* - } type=${rest%% *}
        case $point in
            /proc) proc=$type ;;
            /sys) sysfs=$type ;;
            /proc/*|/sys/*) case $point/$type in
                /sys/fs/cgroup*) ;;
                */tmpfs|*/devtmpfs) HIDDEN=$HIDDEN$point$NL ;;
            esac ;;
        esac
        case $type in
            cgroup|cgroup2|cpuset) CGROUPS=$CGROUPS$point$TAB$root$NL ;;
            @NETWORK@) FAR=$FAR$point$NL ;;
            @KERNEL@) ;;
            *) LOCAL=$LOCAL$point$NL ;;
        esac
    done < "$W/fs/proc/self/mountinfo"
    [ "$proc" = proc ] || [ -n "$ROOT" ] || HIDDEN=/proc$NL$HIDDEN
    [ "$sysfs" = sysfs ] || [ -n "$ROOT" ] || HIDDEN=/sys$NL$HIDDEN
} 2> /dev/null

# The groups of this process and all above them, in every hierarchy that is mounted.
groups() {
    while IFS=: read -r _ _ group; do
        set -f; IFS=$NL; set -- $CGROUPS; set +f; unset IFS
        for line do
            point=${line%%"$TAB"*} root=${line#*"$TAB"}
            below=${group#"${root%/}"}
            [ -d "$ROOT$point$below" ] || continue
            while :; do
                case $NL$SEEN in *"$NL$point$below$NL"*) break ;; esac
                SEEN=$SEEN$point$below$NL
                each_folder "$point${below%/}" '@CGROUP_FILES@'
                [ -n "${below%/}" ] || break
                below=${below%/*}
            done
        done
    done < "$W/fs/proc/self/cgroup"
} 2> /dev/null

# Names and limits of the processes of services that start jobs.
services() {
    for top in '' /systemd /unified; do
        for unit in @SERVICES@; do
            count=0
            while read -r number && [ "$count" -lt 64 ]; do
                case $number in ''|*[!0-9]*) continue ;; esac
                count=$((count + 1))
                one_file "/proc/$number/comm"
                one_file "/proc/$number/limits"
            done < "$W/fs/sys/fs/cgroup$top/system.slice/$unit/cgroup.procs"
        done
    done
} 2> /dev/null

# Type and interface of the GIDs in use; those of empty entries cannot be read.
gids() {
    for folder in "$ROOT"/sys/class/infiniband/*/ports/*/gids; do
        [ -z "$OVER" ] || return 0
        go "${folder#"$ROOT"}" || continue
        port=${REAL%/gids}
        for file in "$W/fs$REAL"/*; do
            [ -f "$file" ] || continue
            gid=; read -r gid < "$file" || :
            case $gid in *[!0:]*) ;; *) continue ;; esac
            for kind in types ndevs; do one_file "$port/gid_attrs/$kind/${file##*/}"; done
        done
        [ "$FILE_COUNT" -lt "$BATCH" ] || flush
    done
}

# Values in force of the keys that sysctl.d sets.
configured() {
    for file in "$W"/fs/etc/sysctl.conf "$W"/fs/*/sysctl.d/*.conf "$W"/fs/*/*/sysctl.d/*.conf "$W"/fs/*/*/*/sysctl.d/*.conf; do
        [ -f "$file" ] || continue
        while IFS='=' read -r key value || [ -n "$key" ]; do
            key=${key#"${key%%[! "$TAB"]*}"} key=${key%"${key##*[! "$TAB"]}"} key=${key#-}
            case $key in ''|[\#\;]*|*[!A-Za-z0-9_./-]*|*..*|*hostname|*domainname|*stable_secret|*tcp_fastopen_key) continue ;; esac
            [ -n "$value" ] || continue
            head=${key%%[./]*}
            case ${key#"$head"} in .*) key=$(printf '%s' "$key" | tr ./ /.) ;; esac
            one_file "/proc/sys/$key"
        done < "$file"
    done
}

# Modules that modprobe.d and the command line set options of.
modules() {
    for file in "$W"/fs/*/modprobe.d/*.conf "$W"/fs/*/*/modprobe.d/*.conf "$W"/fs/*/*/*/modprobe.d/*.conf; do
        [ -f "$file" ] || continue
        while read -r word module rest || [ -n "$word" ]; do
            if [ "$word" = options ] && [ -n "$rest" ]; then
                case $file in "$W"/fs/etc/*|"$W"/fs/run/*) module_of "$module" yes ;; *) module_of "$module" '' ;; esac
            fi
        done < "$file"
    done
    line=; read -r line < "$W/fs/proc/cmdline" || :
    set -f
    for word in $line; do
        case $word in [A-Za-z]*.*) module_of "${word%%.*}" known ;; esac
    done
    set +f
    module_of nvidia loaded
} 2> /dev/null

module_of() {
    case $1 in ''|*[!A-Za-z0-9_-]*) return ;; esac
    module=$1
    case $module in *-*) module=$(printf '%s' "$module" | tr - _) ;; esac
    case $2 in
        known) case " $OF_INTEREST " in *" $module "*) ;; *) return ;; esac ;;
        loaded) [ -d "$ROOT/sys/module/$module" ] || return ;;
    esac
    case " $MODULES " in *" $module "*) return ;; esac
    MODULES="$MODULES $module"
    each_folder "/sys/module/$module" 'version initstate'
    ! [ -d "$ROOT/sys/module/$module/parameters" ] || each_folder "/sys/module/$module/parameters" '*'
    [ -z "$2" ] || ask modinfo -F parm "$module"
}

commands() {
    modules
    for folder in "$ROOT"/sys/class/net/*; do
        name=${folder##*/}
        [ -e "$folder/device" ] || continue
        case $name in -*|*[!A-Za-z0-9_.:@-]*) continue ;; esac
        for option in @ETHTOOL@; do ask ethtool "$option" "$name"; done
        ask ethtool --json -k "$name"
        ! [ -d "$folder/device/infiniband" ] || ask dcb pfc show dev "$name"
    done
    if [ -d "$ROOT/sys/module/zfs" ]; then ask @ZFS@; ask @ZFS_DIRECT@; fi      # elsewhere it would load the module
}

# What only root is told of drives, arrays and volumes. In its own folder: some tools leave logs where they stand.
storage() {
    [ "$(id -u)" = 0 ] && cd "$W" || return
    for folder in "$ROOT"/sys/class/nvme/nvme*; do
        name=${folder##*/} transport=
        case $name in nvme|*[!a-z0-9]*) continue ;; esac
        read -r transport < "$folder/transport" || :
        [ "$transport" = pcie ] || continue
        for question in @NVME@; do ask nvme "$question" -o json "/dev/$name"; done
    done
    for folder in "$ROOT"/sys/block/md*; do
        name=${folder##*/}
        case $name in md[0-9_]*) ;; *) continue ;; esac
        case $name in *[!A-Za-z0-9_.-]*) ;; *) ask @MDADM@ "/dev/$name" ;; esac
    done
    for file in "$ROOT"/sys/block/dm-*/dm/uuid; do
        uuid=; read -r uuid < "$file" || :
        case $uuid in LVM-*) ask @LVS@; break ;; esac
    done
    LIMIT=$TOOL_SECONDS ANSWERED=
    drivers
    set -f; IFS=$NL; set -- $TOOLS; unset IFS
    for line do tool "$line"; done
    set +f
    case $DRIVERS in *' hpsa '*|*' smartpqi '*|*' cciss '*) old_smart_arrays ;; esac
    LIMIT=$JOB_SECONDS
} 2> /dev/null

# The oldest tool for Smart Arrays asks one device each.
old_smart_arrays() {
    for file in "$ROOT"/sys/class/scsi_generic/sg*/device/type; do
        kind=; read -r kind < "$file" || :
        name=${file%/device/type} name=${name##*/}
        case $kind$name in @SCSI_CONTROLLER@sg*[!0-9]*) ;; @SCSI_CONTROLLER@sg*) ask @CCISS@ "/dev/$name" ;; esac
    done
    for folder in "$ROOT"/sys/block/cciss!c*d0; do
        [ -d "$folder" ] || continue
        name=${folder##*!}
        case $name in *[!cd0-9]*) ;; *) ask @CCISS@ "/dev/cciss/$name" ;; esac
    done
}

# The drivers of RAID and SAS controllers, in DRIVERS.
drivers() {
    DRIVERS=' '
    for folder in "$ROOT"/sys/bus/pci/devices/*; do
        class=; read -r class < "$folder/class" || :
        case $class in 0x0104*|0x0107*) ;; *) continue ;; esac
        driver=$(readlink "$folder/driver") || continue
        DRIVERS="$DRIVERS${driver##*/} "
    done
}

# Asks the first program of a tool that is there, unless another has answered for the same drivers.
tool() {
    IFS=$TAB; set -- $1; unset IFS
    case $NL$ANSWERED in *"$NL$1$NL"*) return ;; esac
    needed=
    for driver in $1; do
        case $DRIVERS in *" $driver "*) needed=$1 ;; esac
    done
    [ -n "$needed" ] || return
    programs=$2
    shift 2
    for program in $programs; do
        ask "$program" $1
        case $? in
            127) continue ;;
            124) ANSWERED=$ANSWERED$needed$NL; return ;;
        esac
        ANSWERED=$ANSWERED$needed$NL
        shift
        for words do ask "$program" $words; done
        return
    done
}

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
        failed "${point#"$ROOT"}" "$(errno_of "$line")" statvfs
    done < "$W/err"
}

modes() {
    BITS=
    [ -z "$OVER" ] && command -v stat > /dev/null 2>&1 || return
    set -f; set -- $MODES; set +f
    for glob do
        shift
        set -- "$@" $ROOT$glob
    done
    [ -e "${1-}" ] || return
    OUT=$W/raw ERR=/dev/null
    job stat -c '%a %n' "$@"
    while read -r bits path; do
        case $bits in ''|*[!0-7]*) continue ;; esac
        json "${path#"$ROOT"}" && BITS="$BITS${BITS:+,}\"$REPLY\":$((0$bits))"
    done < "$W/raw"
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
    printf '{"exists":{%s},"modes":{%s},"statvfs":{%s},' "$EXISTS" "$BITS" "$SIZES"
    cpus "$allowed"
    [ -z "$REPLY" ] || printf '"affinity":[%s],' "$REPLY"
    environment
    printf '"environment":{%s},"names":{"/nowhere":[]' "$VARIABLES"
    cat "$W/names"
    printf '}}\n'
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

main() {
    exec 8>&2 2> /dev/null      # shells tell there of each command that was killed
    own_path=$PATH own_locale=${LC_ALL-}
    # What else is on PATH may lie on a dead server.
    PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:/run/current-system/sw/bin
    LC_ALL=C LANGUAGE=
    export PATH LC_ALL LANGUAGE
    for tool in tar cat mkdir rm sleep; do
        command -v "$tool" > /dev/null 2>&1 || { say "this node has no $tool, so nothing was collected"; exit 3; }
    done
    [ ! -t 1 ] || { say 'the archive goes to standard output: add > node.tar'; exit 2; }
    umask 077
    [ -z "$ROOT" ] || ROOT=$(CDPATH='' cd -P "$ROOT" && pwd -P) || exit 2
    W=$(mktemp -d "${TMPDIR:-/tmp}/advisor-collector.XXXXXX" 2>/dev/null) ||
        { W=${TMPDIR:-/tmp}/advisor-collector.$$; mkdir "$W"; } || { W=; say 'cannot make a folder for its work'; exit 3; }
    trap clean EXIT
    trap 'stopped 129' HUP; trap 'stopped 130' INT; trap 'stopped 143' TERM; trap 'stopped 141' PIPE
    OVER=
    trap wake USR1
    exec < /dev/null 5> "$W/errors.tsv" 6> "$W/links" 7> "$W/names"
    MARK=${W##*.}        # the shell reads it byte by byte, thousands of times
    printf '\n%s\n' "$MARK" > "$W/mark"
    : > "$W/job"
    watch > /dev/null 2>&1 5>&- 6>&- 7>&- 8>&- &
    dog=$!
    started=$dog
    mkdir "$W/fs" "$W/cmd"
    HEAD=$(printf abc | head -c 2 2>/dev/null) || HEAD=
    [ "$HEAD" = ab ] || HEAD=
    FILES='' FOLDERS='' LATER='' LAST_LINK='' EXISTS='' MODES='' MODULES='' SEEN='' HIDDEN='' LOCAL='' CGROUPS='' FAR='' TOOLS=''
    LIMIT=$JOB_SECONDS
    FILE_COUNT=0 jobs_done=0 asked=0 depth=0
    large_file /proc/self/mountinfo
    large_file /proc/self/cgroup
    mounts
    rules > "$W/rules"
    apply < "$W/rules"
    groups
    follow
    flush
    services
    gids
    configured
    commands
    follow
    flush
    sizes
    modes
    storage
    [ -e "$ROOT/dev/nvidiactl" ] || [ -e "$ROOT/proc/driver/nvidia" ] || has_nvml || failed nvml ENOENT nvml
    mkdir "$W/out"
    about > "$W/out/advisor-capture.json"
    exec 6>&- 7>&-
    calls > "$W/out/calls.json"
    exec 5>&-
    mv "$W/errors.tsv" "$W/fs" "$W/cmd" "$W/out/"
    # Some tars stop at a link that is there already.
    sort -u "$W/links" > "$W/links.once" 2>/dev/null || mv "$W/links" "$W/links.once"
    links < "$W/links.once"
    cd "$W/out" || exit 3
    tar -cf - advisor-capture.json calls.json errors.tsv cmd fs 2>&8 || { say 'the archive could not be written'; exit 3; }
    [ -z "$OVER" ] || say "stopped reading after $MOST_SECONDS seconds; what is missing is recorded as timed out"
    exit 0
}

# Copies links, many with one tar: it keeps them as they are. (Sizes of files are what tar cannot be trusted with.)
links() {
    more=1
    while [ -n "$more" ]; do
        set --
        while [ $# -lt "$BATCH" ]; do
            read -r path || { more=; break; }
            set -- "$@" "$path"
        done
        [ $# -gt 0 ] || break
        cd "$ROOT/" && tar -cf "$W/links.tar" "$@" 2>/dev/null
        cd "$W/out/fs" && EXTRACT_UNSAFE_SYMLINKS=1 tar -xf "$W/links.tar" 2>/dev/null
    done
}

has_nvml() {
    set -- @NVML_FOLDERS@
    for folder do
        ! [ -e "$ROOT$folder/libnvidia-ml.so.1" ] || return 0
    done
    return 1
}

main "$@"
