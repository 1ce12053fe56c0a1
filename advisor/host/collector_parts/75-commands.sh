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
