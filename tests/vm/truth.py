"""What is true of the emulated machine, fact by fact, and which line of its making says so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

MIB = 1 << 20


class Row(NamedTuple):
    """A fact and its true value."""

    path: str
    true: object
    why: str


@dataclass(frozen=True)
class Between:
    """A number that the kernel takes a little off: at most ``most``, at least ``least``."""

    least: float
    most: float

    def __eq__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.least <= value <= self.most

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Holds:
    """A list that has these among others."""

    items: Sequence[object]

    def __eq__(self, value: object) -> bool:
        return isinstance(value, tuple | list) and all(item in value for item in self.items)

    __hash__ = None  # type: ignore[assignment]


def _rows(why: str, **facts: object) -> list[Row]:
    return [Row(path.replace("__", "."), true, why) for path, true in facts.items()]


def _of(place: str, why: str, **fields: object) -> list[Row]:
    return [Row(f"{place}.{name}", true, why) for name, true in fields.items()]


_SMP = "-smp 4,sockets=2,cores=1,threads=2"
_NODES = "-numa node"
_FAR = "pxb-pcie numa_node=1"
_NEAR = "pxb-pcie numa_node=0"
_SWITCH = "x3130-upstream,bus=far0 and xio3130-downstream,bus=up"
_REDIRECTING = ["source_validation", "request_redirect", "completion_redirect", "upstream_forwarding"]
_PCIE = "as the emulator makes the device"

PROCESSORS = [
    *_of("cpu", _SMP, online=[0, 1, 2, 3], present=[0, 1, 2, 3], offline=[], packages=2, cores=2, smt_active=True),
    *_of("cpu", _SMP, smt_control="on"),
    *_of("cpu.cpus[1]", _SMP, package=0, siblings=[0, 1]),
    *_of("cpu.cpus[2]", _SMP, package=1, siblings=[2, 3]),
    *_of("cpu", "isolcpus=3 nohz_full=3", isolated=[3], nohz_full=[3]),
    *_of("cpu", "-cpu Skylake-Server-v1", model="Intel Xeon Processor (Skylake)", vendor="GenuineIntel"),
    *_of("cpu", "-accel tcg: an emulated CPU says that it is one", hypervisor_flag=True, architecture="x86_64"),
    *_of("cpu", "an emulated CPU has no clock to set", policies=[], intel_pstate_status=None, throttles=None),
    Row("cpu.vulnerabilities[meltdown].status", "Vulnerable", "mitigations=off"),
    Row("platform.virtual", True, "-accel tcg"),
    Row("platform.container", False, "collected outside every container"),
    *_of("platform", "-smbios type=1", system_vendor="Example Works", product_name="Trainer 2"),
    *_of("platform", "-machine q35", bios_vendor="SeaBIOS", portable=False, desktop=False, cloud="none"),
    *_of("platform", "process 1 is init.sh, as /init", init="init"),
    *_of("platform", "psi=1", pressure_available=True),
    *_of("tuned", "/etc/tuned/active_profile", profile="throughput-performance"),
]

BOOT = [
    Row("boot.parameters[isolcpus]", ["3"], "-append"),
    Row("boot.parameters[net.ifnames]", ["0"], "-append"),
    *_of("boot", "-append iommu=pt intel_iommu=on", iommu=["pt"], intel_iommu=["on"], iommu_passthrough=True, pci=[]),
    Row("modules.modules[nvme].loaded", True, "insmod nvme.ko"),
    Row("modules.modules[nvme].built_in", False, "insmod nvme.ko"),
    Row("modules.modules[nvme].parameters[poll_queues].value", "1", "insmod nvme.ko poll_queues=1"),
    Row("modules.modules[mlx5_core].loaded", False, "no such module was loaded"),
    Row("modules.options[poll_queues].accepted", True, "/etc/modprobe.d/node.conf and a loaded module that has it"),
    Row("modules.options[no_such_thing].accepted", None, "modinfo has no module folder to look in"),
]

MEMORY = [
    *_of("numa", _NODES, with_cpus=2, nodes_with_cpus=[0, 1], nodes_with_memory=[0, 1, 2]),
    *_of("numa.nodes[0]", "-numa dist", distances=[10, 21, 31], cpus=[0, 1]),
    *_of("numa.nodes[1]", "-numa dist", distances=[21, 10, 41], cpus=[2, 3]),
    *_of("numa.nodes[2]", "-numa dist; -numa node without cpus", distances=[31, 41, 10], cpus=[]),
    Row("numa.nodes[0].memory_bytes", Between(870 * MIB, 1024 * MIB), "-object memory-backend-ram size=1024M"),
    Row("numa.nodes[1].memory_bytes", Between(650 * MIB, 768 * MIB), "-object memory-backend-ram size=768M"),
    # The kernel (some 40 MiB) is put at a random place, in any of the nodes.
    Row("numa.nodes[2].memory_bytes", Between(190 * MIB, 256 * MIB), "-object memory-backend-ram size=256M"),
    Row("numa.nodes[0].hugepage_pools[2097152].pages", 4, "node0/hugepages/hugepages-2048kB/nr_hugepages"),
    Row("numa.nodes[1].hugepage_pools[2097152].pages", 8, "node1/hugepages/hugepages-2048kB/nr_hugepages"),
    Row("memory.total_bytes", Between(1740 * MIB, 2048 * MIB), "-m 2G"),
    *_of("memory", "4 on node 0 and 8 on node 1", hugepages_total=12, hugepage_size_bytes=2 * MIB),
    Row("memory.hugepage_pools[2097152].overcommit", 16, "nr_overcommit_hugepages"),
    Row("memory.thp_enabled", "madvise", "transparent_hugepage=madvise"),
    Row("memory.thp_defrag", "defer+madvise", "transparent_hugepage/defrag"),
    *_of("memory.swaps[/dev/sda2]", "mkswap, less a page", kind="partition", size_bytes=32 * MIB - 4096),
    *_of("memory.swaps[/scratch/swap]", "mkswap, less a page", kind="file", size_bytes=16 * MIB - 4096),
    Row("memory.swap_total_bytes", 48 * MIB - 8192, "both"),
    Row("memory.disk_swap_bytes", 48 * MIB - 8192, "none of it is zram"),
    *_of("shm", "mount -o size=96m,huge=advise", is_tmpfs=True, size_bytes=96 * MIB, size_option="98304k"),
    *_of("shm", "mount -o size=96m,huge=advise", huge="advise", memory_policy=None, swappable=True),
]

GROUP = [
    Row("cgroup.version", "v2", "mount -t cgroup2"),
    *_of("cgroup", "job/cpu.max 250000 100000", cpu_limited=True, cpu_quota_cpus=2.5),
    *_of("cgroup", "job/cpuset.cpus 0-2, mems 0-1", cpuset_cpus=[0, 1, 2], cpuset_mems=[0, 1]),
    *_of("cgroup", "job/memory.max, below that of job/step", memory_limited=True, memory_limit_bytes=640 * MIB),
    Row("cgroup.memory_high_bytes", 600 * MIB, "job/memory.high"),
    *_of("cgroup", "job/pids.max", pids_limited=True, pids_max=500),
    Row("cpu.affinity", [0, 1, 2], "job/cpuset.cpus"),
    *_of("budget", "2.5 CPUs of time on three", usable=[0, 1, 2], cpus=2, cores=2, bound_by=["cpuset", "quota"]),
    Row("budget.memory_bytes", 600 * MIB, "job/memory.high: above it the group is held back"),
    *_of("limits", "ulimit -l 131072 (KiB)", memlock_unlimited=False, memlock_soft_bytes=128 * MIB),
    *_of("limits", "ulimit -Sn 4096; ulimit -Hn 65536", nofile_soft=4096, nofile_hard=65536),
]

STORAGE = [
    *_of("nvme.controllers[nvme0]", _FAR, numa_node=1, pci_address="0000:43:00.0"),
    *_of("nvme.controllers[nvme0]", "-device nvme", transport="pcie", state="live", namespaces=["nvme0n1"]),
    *_of("nvme.controllers[nvme0]", "-device nvme,serial=", serial="PLANTED-NVME", model="QEMU NVMe Ctrl"),
    Row("nvme.controllers[nvme0].queue_count", 6, "one for each CPU, poll_queues=1, one for administration"),
    *_of("block.devices[nvme0n1]", "logical_block_size=4096", logical_block_bytes=4096, physical_block_bytes=4096),
    *_of("block.devices[nvme0n1]", "a file of 256 MiB", size_bytes=256 * MIB, rotational=False, physical=True),
    *_of("block.devices[nvme0n1]", "below queue/", read_ahead_bytes=MIB, no_merges=2, rq_affinity=2, scheduler="none"),
    *_of("block.devices[nvme0n1]", _FAR, numa_node=1, pci_address="0000:43:00.0", kind="nvme"),
    Row("block.devices[nvme0n1].io_poll", 1, "poll_queues=1"),
    *_of("block.devices[sda]", "-device scsi-hd", vendor="EXAMPLE", model="SPINDLE", firmware="0042", kind="scsi"),
    *_of("block.devices[sda]", "rotation_rate=7200", rotational=True, state="running", driver="sd"),
    *_of("block.devices[sda]", "virtio-scsi-pci,bus=near1", numa_node=0, pci_address="0000:22:00.0"),
    *_of("block.devices[sda]", "below queue/", scheduler="mq-deadline", nr_requests=64, max_request_bytes=131072),
    Row("block.devices[sda].partitions[sda1].size_bytes", 24 * MIB, "the partition table"),
    Row("block.devices[sda].partitions[sda2].size_bytes", 32 * MIB, "the partition table"),
    *_of("block.devices[vda]", "virtio-blk-pci,addr=5.0", pci_address="0000:00:05.0", kind="virtio", physical=False),
    *_of("block.devices[vda]", "pcie.0 is at no node", numa_node=None),
    *_of("block.devices[vda]", "virtio-blk has neither", vendor=None, model=None),
    Row("block.devices[vda].io_statistics", False, "vda/queue/iostats 0"),
    Row("block.devices[vdb].io_statistics", True, "left alone"),
    Row("block.devices[vda].holders", ["md0"], "mdadm --create"),
    *_of("block.devices[md0]", "mdadm --create", kind="md", slaves=["vda", "vdb"], physical=False),
    Row("block.devices[md0].size_bytes", Between(630 * MIB, 640 * MIB), "two of 320 MiB, less superblocks"),
    *_of("block.md[md0]", "--level=0 --raid-devices=2 --chunk=256", level="raid0", raid_disks=2, chunk_bytes=262144),
    *_of("block.md[md0]", "mdadm --create", members=["vda", "vdb"], metadata_version="1.2", array_state="clean"),
    Row("block.md[md0].label", "planted-host:scratch", "--homehost --name"),
    *_of("block.md[md0]", "a raid0 cannot be degraded, and takes all of each member", degraded=None),
    Row("block.md[md0].component_bytes", None, "raid0: what is used differs between members; the kernel says 0"),
    *_of("mounts.mounts[/data]", "mount -t xfs", fstype="xfs", kind="local", source="/dev/md0", read_only=False),
    Row("mounts.mounts[/data].options[logbsize]", "256k", "mount -o logbsize=256k"),
    Row("mounts.mounts[/data].options[noatime]", "", "mount -o noatime"),
    Row("mounts.mounts[/data].options[nodiratime]", "", "mount -o nodiratime"),
    *_of("mounts.mounts[/scratch]", "mount -t ext4; mke2fs -N 4096", fstype="ext4", source="/dev/nvme0n1", inodes=4096),
    Row("mounts.mounts[/scratch].options[nobarrier]", "", "mount -o nobarrier"),
    Row("mounts.mounts[/scratch].options[data]", "writeback", "mount -o data=writeback"),
    Row("mounts.mounts[/scratch].options[commit]", "30", "mount -o commit=30"),
    Row("mounts.mounts[/scratch].size_bytes", Between(220 * MIB, 256 * MIB), "the drive, less what ext4 keeps"),
    *_of("mounts.mounts[/mnt/set]", "mount --bind; remount ro", folder="/set", read_only=True, fstype="xfs"),
    Row("mounts.fstab[/home].options[nconnect]", "8", "/etc/fstab"),
    Row("mounts.fstab[/home].kind", "network", "/etc/fstab"),
    *_of("storage.data", "/data/set lies on md0 of vda and vdb", point="/data", fstype="xfs", drives=["vda", "vdb"]),
    Row("storage.data.numa_nodes", None, "pcie.0, where vda and vdb are, is at no node"),
    *_of("storage.output", "/scratch lies on the drive at node 1", drives=["nvme0n1"], numa_nodes=[1]),
]

PCI = [
    *_of("pci.devices[0000:43:00.0]", _FAR, kind="nvme", numa_node=1, local_cpulist="2-3", root="pci0000:40"),
    *_of("pci.devices[0000:43:00.0]", _SWITCH, upstream="0000:42:00.0"),
    Row("pci.devices[0000:43:00.0].path", ["0000:40:00.0", "0000:41:00.0", "0000:42:00.0", "0000:43:00.0"], _SWITCH),
    Row("pci.devices[0000:44:00.0].path", ["0000:40:00.0", "0000:41:00.0", "0000:42:01.0", "0000:44:00.0"], _SWITCH),
    *_of("pci.devices[0000:44:00.0]", "-device e1000e: Intel's 82574L", vendor="8086", device="10d3", driver="e1000e"),
    *_of("pci.devices[0000:44:00.0]", "-device e1000e", kind="nic", numa_node=1, class_code="020000"),
    *_of("pci.devices[0000:21:00.0]", _NEAR, numa_node=0, local_cpulist="0-1", root="pci0000:20"),
    *_of("pci.devices[0000:21:00.0]", "virtio-net-pci,bus=near0", kind="nic", vendor="1af4", upstream="0000:20:00.0"),
    *_of("pci.devices[0000:40:00.0]", "pcie-root-port,x-speed=8,x-width=16", max_link_speed_gts=8.0, max_link_width=16),
    *_of("pci.devices[0000:40:00.0]", "pcie-root-port", kind="bridge", driver="pcieport", vendor="1b36", numa_node=1),
    Row("pci.devices[0000:41:00.0].upstream", "0000:40:00.0", "x3130-upstream,bus=far0"),
    Row("pci.devices[0000:42:01.0].upstream", "0000:41:00.0", "xio3130-downstream,bus=up,addr=1.0"),
    Row("pci.devices[0000:43:00.0].iommu_type", "identity", "iommu=pt"),
    Row("pci.devices[0000:43:00.0].virtual_function", False, "an emulated drive is no part of another"),
    Row("pci.devices[0000:40:00.0].config.port_type", "root port", "pcie-root-port"),
    Row("pci.devices[0000:41:00.0].config.port_type", "upstream port", "x3130-upstream"),
    Row("pci.devices[0000:42:00.0].config.port_type", "downstream port", "xio3130-downstream"),
    Row("pci.devices[0000:43:00.0].config.port_type", "endpoint", "-device nvme"),
    Row("pci.devices[0000:40:00.0].config.acs", True, "pcie-root-port has Access Control Services"),
    Row("pci.devices[0000:40:00.0].config.acs_on", _REDIRECTING, "intel_iommu=on: the kernel turns these on"),
    Row("pci.devices[0000:42:00.0].config.acs", False, "xio3130-downstream has none"),
    Row("pci.devices[0000:43:00.0].config.acs", False, "-device nvme has none"),
    Row("pci.devices[0000:43:00.0].config.max_payload_supported_bytes", 128, _PCIE),
    Row("pci.devices[0000:43:00.0].config.max_payload_bytes", 128, _PCIE),
    Row("pci.devices[0000:43:00.0].config.ats", False, _PCIE),
    *_of("irq.devices[0000:43:00.0]", "5 queues less the polled one, and one for administration", vector_count=5),
    Row("irq.devices[0000:43:00.0].vectors[nvme0q1].managed", True, "the kernel places those of NVMe queues"),
    Row("irq.devices[0000:44:00.0].vectors[eth1-rx-0].affinity_list", "2", "smp_affinity_list"),
    Row("irq.devices[0000:44:00.0].vectors[eth1-rx-0].effective_cpus", [2], "smp_affinity_list"),
    Row("irq.devices[0000:44:00.0].vectors[eth1-rx-0].managed", False, "it could be placed"),
    Row("irq.devices[0000:44:00.0].vectors[eth1-rx-0].numa_node", 1, _FAR),
]

NETWORK = [
    *_of("net.interfaces[eth0]", _NEAR, numa_node=0, pci_address="0000:21:00.0", driver="virtio_net", physical=True),
    *_of("net.interfaces[eth0]", "virtio-net says neither", speed_mbps=None, duplex=None),
    *_of(
        "net.interfaces[eth0]", "ip link set eth0 up", operstate="up", carrier=True, administratively_up=True, mtu=1500
    ),
    *_of("net.interfaces[eth1]", _FAR, numa_node=1, pci_address="0000:44:00.0", driver="e1000e"),
    *_of("net.interfaces[eth1]", "82574L: gigabit", speed_mbps=1000, duplex="full", operstate="up"),
    *_of("net.interfaces[eth1]", "ip link set eth1 mtu 9000 qlen 5000", mtu=9000, tx_queue_len=5000),
    *_of("net.interfaces[lo]", "loopback", type=772, physical=False, numa_node=None),
    *_of("ip.interfaces[eth0]", "ip addr, ip route", same_subnet=["eth1"], default_route=True, arp_ignore=0),
    *_of("ip.interfaces[eth1]", "ip addr, sysctl", same_subnet=["eth0"], default_route=False, arp_ignore=1),
    Row("ip.interfaces[eth1].arp_announce", 2, "sysctl"),
    *_of("irq.steering[eth0]", "rps_cpus 3, rps_flow_cnt 1024", rps_queues=1, rps_cpus=[0, 1], rps_flow_entries=1024),
    *_of("irq.steering[eth1]", "left alone", rps_queues=0, rps_cpus=[], rps_flow_entries=0),
    *_of("ethtool.interfaces[eth1]", "ethtool -G eth1 rx 512 tx 1024", rx_ring=512, tx_ring=1024),
    *_of("ethtool.interfaces[eth1]", "the driver's most", rx_ring_max=4096, tx_ring_max=4096),
    Row("ethtool.interfaces[eth1].rx_usecs", 100, "ethtool -C eth1 rx-usecs 100"),
    Row("ethtool.interfaces[eth1].features[generic-receive-offload].active", False, "ethtool -K eth1 gro off"),
    Row("ethtool.interfaces[eth0].features[generic-receive-offload].active", True, "left alone"),
    Row("rdma.active_ports", 1, "rdma link add rxe0 type rxe netdev eth1"),
    Row("rdma.uverbs", 1, "rdma link add"),
    *_of("rdma.devices[rxe0]", "soft RoCE has no card", driver=None, pci_address=None, numa_node=None),
    Row("rdma.devices[rxe0].node_guid", "5054:00ff:feaa:0002", "made of eth1's mac="),
    *_of(
        "rdma.devices[rxe0].ports[1]", "eth1 is up", state=4, state_name="ACTIVE", phys_state=5, link_layer="Ethernet"
    ),
    *_of("rdma.devices[rxe0].ports[1].gids[1]", "10.7.0.2", gid="0000:0000:0000:0000:0000:ffff:0a07:0002"),
    *_of("rdma.devices[rxe0].ports[1].gids[1]", "10.7.0.2", ipv4_mapped=True, type="RoCE v2", netdev="eth1"),
    *_of("rdma.devices[rxe0].ports[1].gids[0]", "eth1's own address", link_local=True, ipv4_mapped=False),
    *_of("gids.ports[rxe0:1]", "10.7.0.2 over MTU 9000", active=True, roce=True, gid_index=1, netdev="eth1"),
    *_of("gids.ports[rxe0:1]", "the largest within MTU 9000", netdev_mtu=9000, path_mtu=4096),
]

SYSCTLS = [
    *_of("sysctl", "sysctl -p /etc/set-now", vm_swappiness=7, vm_dirty_ratio=33, vm_dirty_background_bytes=64 * MIB),
    *_of("sysctl", "bytes are set, so the ratio is off", vm_dirty_background_ratio=0),
    *_of("sysctl", "sysctl -p /etc/set-now", vm_zone_reclaim_mode=1, vm_max_map_count=262144, kernel_pid_max=65536),
    *_of("sysctl", "sysctl -p /etc/set-now", fs_aio_max_nr=1048576, fs_inotify_max_user_watches=524288),
    *_of("sysctl", "sysctl -p /etc/set-now", net_core_rmem_max=33554432, net_core_netdev_max_backlog=5000),
    *_of("sysctl", "sysctl -p /etc/set-now", net_core_rps_sock_flow_entries=4096, net_core_default_qdisc="fq_codel"),
    *_of("sysctl", "sysctl -p /etc/set-now", net_ipv4_tcp_rmem=[4096, 262144, 33554432]),
    *_of("sysctl", "sysctl -p /etc/set-now", net_ipv4_tcp_slow_start_after_idle=0, net_ipv4_conf_all_arp_ignore=0),
    *_of("sysctl", "sysctl -p /etc/set-now", net_ipv4_neigh_default_gc_thresh3=8192),
    *_of("sysctl", "numa_balancing=disable", kernel_numa_balancing=0),
    *_of("sysctl", "4 and 8 huge pages", vm_nr_hugepages=12),
    *_of("sysctl.configured[net.core.somaxconn]", "/etc/sysctl.d/10-node.conf", value="4096", wins=True, live="4096"),
]

CONFIGURED = [
    Row("systemd.services[slurmd.service].running", None, "systemd does not run here, and gives it no group"),
    Row("systemd.services[slurmd.service].path", "/etc/systemd/system/slurmd.service", "that file"),
    Row("systemd.logind[RemoveIPC].value", "no", "/etc/systemd/logind.conf"),
    Row("pam_limits.lines[memlock].unlimited", True, "/etc/security/limits.d/node.conf"),
    Row("udev.settings[ATTR{queue/scheduler}].value", "none", "/etc/udev/rules.d/60-node.rules"),
    Row("tuned.lines[vm.swappiness].value", "10", "/etc/tuned/throughput-performance/tuned.conf"),
    Row("nccl_conf.lines[NCCL_IB_HCA].value", "rxe0", "/etc/nccl.conf"),
    Row("nccl_conf.logins[NCCL_DEBUG].value", "WARN", "/etc/profile.d/node.sh"),
    Row("zfs.loaded", False, "no such module was loaded"),
]

NODE = [*PROCESSORS, *BOOT, *MEMORY, *GROUP, *STORAGE, *PCI, *NETWORK, *SYSCTLS, *CONFIGURED]
"""As root, in the group that has limits."""

NOBODY = [
    Row("platform.root_user", False, "su nobody"),
    *_of("limits", "su nobody", may_lock_memory=False, memlock_soft_bytes=128 * MIB),
    Row("block.md[md0].label", None, "only root is told"),
    Row("pci.devices[0000:40:00.0].config.acs", None, "only root sees more than 64 bytes of the configuration space"),
    Row("pci.devices[0000:40:00.0].config.port_type", None, "likewise"),
]
"""What nobody sees otherwise than root."""

CONTAINER = [
    *_of("platform", "/run/.containerenv", container=True, container_kind="podman"),
    *_of("cgroup", "its own group is the root of what it sees, and has the inner limits", version="v2"),
    *_of("cgroup", "job/step/cpu.max; that of job above it is hidden", cpu_quota_cpus=4.0),
    *_of("cgroup", "job/step/memory.max", memory_limit_bytes=700 * MIB),
    Row("cpu.affinity", [0, 1], "taskset 3"),
    *_of("budget", "taskset 3", usable=[0, 1], cpus=2),
    *_of("shm", "mount -o size=64m", size_bytes=64 * MIB, is_tmpfs=True, huge=None),
    Row("net.interfaces", ["lo"], "unshare --net"),
    Row("numa.nodes[1].distances", [21, 10, 41], "-numa dist"),
    Row("pci.devices[0000:44:00.0].numa_node", 1, _FAR),
    Row("block.md[md0].level", "raid0", "mdadm --create"),
    *_of("sysctl", "not of a namespace", vm_swappiness=7, fs_aio_max_nr=1048576),
    Row("sysctl.net_ipv4_conf_all_arp_ignore", 0, "a new network namespace"),
    Row("platform.virtual", True, "-accel tcg"),
    Row("mounts.mounts[/data].fstype", "xfs", "a copy of the mounts outside"),
]
"""In a container of its own namespaces."""
