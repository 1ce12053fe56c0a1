#!/bin/busybox sh
# Process 1 of the emulated machine: loads the modules, runs the payload, hands its files over, switches off.
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ OUT=/outputs
say() { read -r up _ < /proc/uptime; echo "vm: $up $*" > /dev/console; }
mkdir -p /proc /sys /dev /tmp /run /mnt $OUT
mount -t proc -o nosuid,nodev,noexec proc /proc
mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
mount -t devtmpfs dev /dev
chmod 1777 /tmp
mount -t tmpfs -o mode=755 run /run
while read -r module words; do
    insmod "/modules/$module.ko" $words || say "cannot load $module"
done < /modules/order
say modules loaded
cd /
# Programs that busybox has too are wanted by their paths: its shell prefers its own.
sh /payload/run > $OUT/log 2>&1 < /dev/null
echo $? > $OUT/status
say payload ended
cat $OUT/log > /dev/console
for disk in /sys/block/vd*; do
    [ "$(cat "$disk/serial")" = outputs ] || continue
    tar -cf - -C $OUT . | dd of="/dev/${disk##*/}" bs=64k conv=fsync 2> /dev/null
done
say outputs written
poweroff -f
