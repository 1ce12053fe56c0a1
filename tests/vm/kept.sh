# The payload: sets a server up for facts that few public dumps have, then collects once, as root.
set -e
say() { read -r up _ < /proc/uptime; echo "vm: $up $*" > /dev/console; }
put() { echo "$1" > "$2"; }

# Storage: a RAID 5 that is being built, a striped volume, a drive that is shared out to guests
mdadm --create /dev/md0 --run --level=5 --raid-devices=3 --bitmap=internal --homehost=server --name=scratch \
    /dev/vda /dev/vdb /dev/vdc
put 40 /sys/block/md0/md/sync_speed_max
put 512 /sys/block/md0/md/stripe_cache_size
mkdir -p /etc/lvm /run/lvm /run/lock/lvm
lvm='--config=activation{udev_sync=0 udev_rules=0} devices{obtain_device_list_from_udev=0}'
lvm vgcreate "$lvm" -y vg-data /dev/vdd /dev/vde
lvm lvcreate "$lvm" -y -W n -Z n -n set -i 2 -I 64 -L 40M vg-data
lvm lvcreate "$lvm" -y -W n -Z n -n logs -L 8M vg-data
for drive in /sys/bus/pci/drivers/nvme/0*; do
    ! [ -e "$drive/sriov_numvfs" ] || put 1 "$drive/sriov_numvfs"
done
mkdir /data
/usr/sbin/mke2fs -q -t ext4 -F /dev/mapper/vg--data-set
mount -t ext4 -o noatime /dev/mapper/vg--data-set /data
mkdir /set
mount -t 9p -o trans=virtio,version=9p2000.L set /set || say no 9p

# Memory
mkdir -p /dev/shm /dev/pts
mount -t tmpfs -o size=96m,huge=advise,mpol=interleave:0-1 shm /dev/shm
dd if=/dev/zero of=/dev/shm/nccl-AbCdEf bs=1M count=4 2> /dev/null
dd if=/dev/zero of=/dev/shm/torch_4711_1_0 bs=1M count=2 2> /dev/null
dd if=/dev/zero of=/dev/shm/psm_0a1b2c3d bs=1M count=1 2> /dev/null
put 64 /proc/sys/kernel/tainted

# Network: two bonds, a VLAN, soft RoCE, steering
ip link set lo up
put +bond1 /sys/class/net/bonding_masters
put 802.3ad /sys/class/net/bond0/bonding/mode
put layer3+4 /sys/class/net/bond0/bonding/xmit_hash_policy
put 1 /sys/class/net/bond0/bonding/lacp_rate
put active-backup /sys/class/net/bond1/bonding/mode
put 100 /sys/class/net/bond1/bonding/miimon
put +eth0 /sys/class/net/bond0/bonding/slaves
put +eth1 /sys/class/net/bond0/bonding/slaves
put +eth2 /sys/class/net/bond1/bonding/slaves
ip link set bond0 up
ip link set bond1 up
ip link set eth3 mtu 4200
ip link set eth3 up
ip link set eth4 up
vconfig add eth3 42
ip addr add 10.7.0.1/24 dev eth3
ip addr add 10.7.0.2/24 dev eth4
rdma link add rxe0 type rxe netdev eth3
put 3 /sys/class/net/eth3/queues/rx-0/rps_cpus
put 1 /sys/class/net/eth4/queues/tx-0/xps_cpus || true

# The groups of systemd's services, and that of the job
mount -t cgroup2 cgroup2 /sys/fs/cgroup
cd /sys/fs/cgroup
put '+cpu +memory +pids +cpuset' cgroup.subtree_control
mkdir -p system.slice/containerd.service job
/usr/bin/containerd &
put $! system.slice/containerd.service/cgroup.procs
put '250000 100000' job/cpu.max
put 671088640 job/memory.max
put 629145600 job/memory.high
put 33554432 job/memory.swap.max
put 500 job/pids.max
put $$ job/cgroup.procs
cd /
ulimit -Hn 65536
ulimit -Sn 4096
ulimit -l 131072
ulimit -Hs 65536
say set up
sleep 3
cat /proc/mdstat
sh -s < /payload/collector > "$OUT/node.tar"
say collected
