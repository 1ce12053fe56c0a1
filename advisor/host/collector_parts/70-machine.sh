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
    printf %s "$HIDDEN" > "$W/hidden"
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
            case ${key#"$head"} in .*) exchange "$key"; key=$REPLY ;; esac
            one_file "/proc/sys/$key"
        done < "$file"
    done
}

# $1 with each dot a slash and each slash a dot, in REPLY.
exchange() {
    REPLY='' rest=$1
    while :; do
        part=${rest%%[./]*}
        REPLY=$REPLY$part rest=${rest#"$part"}
        case $rest in
            .*) REPLY=$REPLY/ rest=${rest#?} ;;
            /*) REPLY=$REPLY. rest=${rest#?} ;;
            *) return ;;
        esac
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
