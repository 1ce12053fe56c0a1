main() {
    exec 8>&2 2> /dev/null      # shells tell there of each command that was killed
    own_path=$PATH own_locale=${LC_ALL-}
    # What else is on PATH may lie on a dead server.
    PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:/run/current-system/sw/bin
    LC_ALL=C LANGUAGE='' EXTRACT_UNSAFE_SYMLINKS=1     # or tar of busybox leaves links out
    export PATH LC_ALL LANGUAGE EXTRACT_UNSAFE_SYMLINKS
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
    OVER='' noted=$(date +%s)
    case $noted in ''|*[!0-9]*) noted=0 ;; esac
    trap wake USR1
    exec < /dev/null 4> "$W/folders" 5> "$W/errors.tsv" 6> "$W/links" 7> "$W/names" 9> "$W/list"
    MARK=${W##*.}        # the shell reads it byte by byte, thousands of times
    printf '\n%s\n' "$MARK" > "$W/mark"
    : > "$W/job"
    : > "$W/hidden"
    watch > /dev/null 2>&1 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    dog=$!
    started=$dog
    mkdir "$W/fs" "$W/cmd"
    AWK='awk'
    [ "$(printf 'a\nb\n' | awk -v n=2 'NR == n { print $0 n }' 2>/dev/null)" = b2 ] || AWK=
    HEAD=$(printf abc | head -c 2 2>/dev/null) || HEAD=
    [ "$HEAD" = ab ] || HEAD=
    LATER='' LAST_LINK='' EXISTS='' MODES='' MODULES='' SEEN='' HIDDEN='' LOCAL='' CGROUPS='' FAR='' TOOLS=''
    LIMIT=$JOB_SECONDS
    COUNT=0 ALL=0 jobs_done=0 asked=0 depth=0
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
    links
    cd "$W/out" || exit 3
    OUT=/dev/null ERR=$W/err
    exec 3>&1
    pack archive || { line=; read -r line < "$ERR"; say "the archive could not be written${line:+: $line}"; exit 3; }
    [ -z "$OVER" ] || say "stopped reading after $MOST_SECONDS seconds; what is missing is recorded as timed out"
    exit 0
}

# Copies links, many with one tar: it keeps them as they are. (Sizes of files are what tar cannot be trusted with.)
links() {
    set -f; IFS=$NL; set -- $(cat "$W/links.once"); set +f; unset IFS
    OUT=/dev/null ERR=/dev/null
    in_batches copy_links "$@"
}

copy_links() {
    cd "$ROOT/" && pack tar -cf "$W/links.tar" "$@"
    cd "$W/out/fs" && pack tar -xf "$W/links.tar"
}

# Only this one has the script's output: whoever reads it would wait for every other that has it and hangs.
archive() { exec tar -cf - advisor-capture.json calls.json errors.tsv cmd fs >&3; }

has_nvml() {
    set -- @NVML_FOLDERS@
    for folder do
        ! [ -e "$ROOT$folder/libnvidia-ml.so.1" ] || return 0
    done
    return 1
}

main "$@"
