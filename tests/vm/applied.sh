# The payload: renders, applies, verifies and rolls back on the machine itself, with this checkout and its interpreter.
set -e
say() { read -r up _ < /proc/uptime; echo "vm: $up $*" > /dev/console; }
for name in usr base site code; do
    read -r place < "/payload/place-$name"
    [ "$place" = /usr ] && [ "$name" = base ] && continue
    mkdir -p "$place"
    mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144,cache=loose "$name" "$place"
done
read -r python < /payload/python
read -r site < /payload/place-site
read -r code < /payload/place-code
export LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu PYTHONPATH=$code:$site PYTHONDONTWRITEBYTECODE=1 LC_ALL=C HOME=/tmp

# What an operator has there already.
mkdir -p /etc/sysctl.d /var/lib
echo 'kernel.panic = 7' > /etc/sysctl.d/10-operator.conf
chmod 640 /etc/sysctl.d/10-operator.conf
echo 40 > /proc/sys/vm/swappiness
echo 128 > /sys/block/nvme0n1/queue/read_ahead_kb
state() {
    find /etc /var /usr/local -xdev 2> /dev/null | sort | while read -r path; do
        [ -f "$path" ] && sum=$(md5sum < "$path") || sum=
        stat -c '%A %u %g %n' "$path" | tr '\n' ' '
        echo "$sum"
    done
    cat /proc/sys/vm/swappiness /proc/sys/vm/dirty_bytes /sys/block/nvme0n1/queue/read_ahead_kb
}
told() { # NAME COMMAND ...: its exit status and all that it printed
    name=$1
    shift
    "$python" -m advisor "$@" > "$OUT/$name" 2>&1 && status=0 || status=$?
    echo "$status" > "$OUT/$name.status"
    say "$name: $status"
}
state > "$OUT/before"
told render render --out /tmp/out --set sysctl:vm.swappiness=10 --set sysctl:vm.dirty_bytes=1073741824 \
    --set udev:nvme/read_ahead_kb=4096 --set 'limits:*/soft/nofile=1048576'
told early verify /tmp/out
told apply apply /tmp/out --yes
state > "$OUT/applied"
told verify verify /tmp/out
echo 55 > /proc/sys/vm/swappiness
told changed verify /tmp/out
echo 10 > /proc/sys/vm/swappiness
told rollback rollback --yes
state > "$OUT/after"
