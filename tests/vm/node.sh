# The payload: sets the machine up as the table of truth says, then collects as root, as nobody and in a container.
set -e
say() { read -r up _ < /proc/uptime; echo "vm: $up $*" > /dev/console; }
put() { echo "$1" > "$2"; }

# Memory and processes
mkdir /dev/shm /dev/pts
mount -t tmpfs -o size=96m,huge=advise,nosuid,nodev shm /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
put 4 /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages
put 8 /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages
put 16 /sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages
put defer+madvise /sys/kernel/mm/transparent_hugepage/defrag

# Storage
mdadm --create /dev/md0 --run --level=0 --raid-devices=2 --chunk=256 --homehost=planted-host --name=scratch /dev/vda /dev/vdb
mkfs.xfs -q -f /dev/md0
/usr/sbin/mke2fs -q -t ext4 -F -N 4096 /dev/nvme0n1
mkdir /data /scratch /mnt/set
mount -t xfs -o noatime,nodiratime,logbsize=256k /dev/md0 /data
mount -t ext4 -o noatime,nobarrier,data=writeback,commit=30 /dev/nvme0n1 /scratch
mkdir /data/set
mount --bind /data/set /mnt/set
mount -o remount,bind,ro /mnt/set
mkswap /dev/sda2 > /dev/null
swapon /dev/sda2
dd if=/dev/zero of=/scratch/swap bs=1M count=16 2> /dev/null
mkswap /scratch/swap > /dev/null
swapon /scratch/swap
put 1024 /sys/block/nvme0n1/queue/read_ahead_kb
put 2 /sys/block/nvme0n1/queue/nomerges
put 2 /sys/block/nvme0n1/queue/rq_affinity
put none /sys/block/nvme0n1/queue/scheduler
put mq-deadline /sys/block/sda/queue/scheduler
put 64 /sys/block/sda/queue/nr_requests
put 128 /sys/block/sda/queue/max_sectors_kb
put 0 /sys/block/vda/queue/iostats

# Network
ip link set lo up
ip link set eth1 mtu 9000 qlen 5000
ethtool -G eth1 rx 512 tx 1024
ip link set eth0 up
ip link set eth1 up
ip addr add 10.7.0.1/24 dev eth0
ip addr add 10.7.0.2/24 dev eth1
ip route add default via 10.7.0.254 dev eth0
ethtool -K eth1 gro off
ethtool -C eth1 rx-usecs 100
rdma link add rxe0 type rxe netdev eth1
put 3 /sys/class/net/eth0/queues/rx-0/rps_cpus
put 1024 /sys/class/net/eth0/queues/rx-0/rps_flow_cnt
while read -r irq rest; do
    case $rest in *eth1-rx-0) put 2 "/proc/irq/${irq%:}/smp_affinity_list" ;; esac
done < /proc/interrupts

# Kernel settings, and what the files of settings ask for
sysctl -q -p /etc/set-now
put throughput-performance /etc/tuned/active_profile

# The group the collectors run in: the outer one binds, the inner one allows more.
cd /sys/fs/cgroup
put '+cpu +memory +pids +cpuset' cgroup.subtree_control
mkdir job
put '+cpu +memory +pids +cpuset' job/cgroup.subtree_control
put '250000 100000' job/cpu.max
put 671088640 job/memory.max
put 629145600 job/memory.high
put 500 job/pids.max
put 0-2 job/cpuset.cpus
put 0-1 job/cpuset.mems
mkdir job/step
put '400000 100000' job/step/cpu.max
put 734003200 job/step/memory.max
put $$ job/step/cgroup.procs
cd /
# Cards negotiate their links for a while; what cables are like is told only then.
for card in eth0 eth1; do
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        read -r state < "/sys/class/net/$card/operstate"
        [ "$state" = up ] && break
        sleep 1
    done
done
say set up

# collect NAME [COMMAND ...]: runs the collector below COMMAND; its archive, messages, status and times come back.
collect() {
    to=$OUT/$1
    shift
    mkdir "$to"
    touch "$to/node.tar" "$to/said"
    read -r start _ < /proc/uptime
    "$@" sh -s < /payload/collector > "$to/node.tar" 2> "$to/said" && status=0 || status=$?
    read -r end _ < /proc/uptime
    echo "$status $start $end" > "$to/run"
    say "collected ${to##*/}"
}
ulimit -Hn 65536
ulimit -Sn 4096
ulimit -l 131072
collect root
export ADVISOR_COLLECTOR_SECONDS=1
collect hurried
# Two at a time, so that the machine is done sooner; the limit is not what they are about.
export ADVISOR_COLLECTOR_SECONDS=600
(collect nobody sh /payload/nobody) &
(collect container /usr/sbin/unshare --mount --cgroup --net --pid --fork --mount-proc sh /payload/container) &
wait
sleep 2
ls -A /tmp > "$OUT/tmp"
ps -o comm > "$OUT/processes"
