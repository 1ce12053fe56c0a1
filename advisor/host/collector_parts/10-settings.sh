#!/bin/sh
# Copies what advisor reads of a node: files of /proc, /sys and /etc, sizes of local file systems, a few commands.
#   ssh NODE sh -s < collector.sh > NODE.tar          then: advisor capture NODE-safe.tar --root NODE.tar
# Writes nothing but a folder of its own under ${TMPDIR:-/tmp}, which it removes, and the archive to standard output.
# Needs a POSIX shell, cat, mkdir, rm, sleep and tar, and is faster with awk; root is not needed. Never looks at
# network file systems.
# The archive is as read: it holds names and addresses (host name, resolv.conf and passwd only so that
# advisor knows which names to take out).
# shellcheck disable=SC2254,SC2086,SC2046,SC2317 # words and patterns are split and matched on purpose; traps call functions

MOST_SECONDS=${ADVISOR_COLLECTOR_SECONDS:-120}         # in all; what is not read by then is recorded as timed out
GRACE_SECONDS=${ADVISOR_COLLECTOR_GRACE_SECONDS:-30}   # to write the archive after that
JOB_SECONDS=${ADVISOR_COLLECTOR_JOB_SECONDS:-10}       # for each command
TOOL_SECONDS=${ADVISOR_COLLECTOR_TOOL_SECONDS:-60}     # for each command of a RAID controller's tool: they wait for locks
BATCH=400                                              # files that one cat reads
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
