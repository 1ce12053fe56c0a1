"""The machine that the tests boot, and what is done in it: this is the truth that facts are compared with."""

import struct
from collections.abc import Mapping
from pathlib import Path

from advisor.commands._collected import script

_HERE = Path(__file__).resolve().parent

MODULES: Mapping[str, str] = {
    "virtio_pci": "",
    "virtio_blk": "",
    "virtio_net": "",
    "virtio_scsi": "",
    "sd_mod": "",
    "nvme": "poll_queues=1",
    "e1000e": "",
    "crc32c_generic": "",
    "crc32_generic": "",
    "rdma_rxe": "",
    "raid0": "",
    "ext4": "",
    "xfs": "",
}
"""With parameters. The checksums are wanted by name only, at run time: by soft RoCE, ext4 and xfs."""

KERNEL_WORDS = (
    "mitigations=off",
    "psi=1",
    "isolcpus=3",
    "nohz_full=3",
    "intel_iommu=on",
    "iommu=pt",
    "transparent_hugepage=madvise",
    "numa_balancing=disable",
    "net.ifnames=0",
)

PARTS = (
    *("-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "Skylake-Server-v1", "-m", "2G"),
    *("-smp", "4,sockets=2,cores=1,threads=2"),
    # Node 2 has memory only, as one behind CXL.
    *("-object", "memory-backend-ram,id=m0,size=1024M", "-object", "memory-backend-ram,id=m1,size=768M"),
    *("-object", "memory-backend-ram,id=m2,size=256M"),
    *("-numa", "node,nodeid=0,cpus=0-1,memdev=m0", "-numa", "node,nodeid=1,cpus=2-3,memdev=m1"),
    *("-numa", "node,nodeid=2,memdev=m2"),
    *("-numa", "dist,src=0,dst=1,val=21", "-numa", "dist,src=0,dst=2,val=31", "-numa", "dist,src=1,dst=2,val=41"),
    *("-smbios", "type=1,manufacturer=Example Works,product=Trainer 2,serial=PLANTED-SMBIOS"),
    *("-device", "intel-iommu"),
    # Root complex 20 at node 0: a port for a network card and one for a SCSI controller.
    *("-device", "pxb-pcie,id=near,bus_nr=32,numa_node=0,bus=pcie.0,addr=1b.0"),
    *("-device", "pcie-root-port,id=near0,bus=near,addr=0.0,chassis=1,slot=1"),
    *("-device", "pcie-root-port,id=near1,bus=near,addr=1.0,chassis=2,slot=2"),
    # Root complex 40 at node 1: a port, a switch below it, an NVMe drive and a network card below the switch.
    *("-device", "pxb-pcie,id=far,bus_nr=64,numa_node=1,bus=pcie.0,addr=1c.0"),
    *("-device", "pcie-root-port,id=far0,bus=far,addr=0.0,chassis=3,slot=3,x-speed=8,x-width=16"),
    *("-device", "x3130-upstream,id=up,bus=far0"),
    *("-device", "xio3130-downstream,id=down0,bus=up,addr=0.0,chassis=4,slot=4"),
    *("-device", "xio3130-downstream,id=down1,bus=up,addr=1.0,chassis=5,slot=5"),
    *("-netdev", "user,id=n0,restrict=on"),
    *("-device", "virtio-net-pci,netdev=n0,bus=near0,mac=52:54:00:aa:00:01,romfile="),
    *("-device", "virtio-scsi-pci,id=scsi,bus=near1"),
    *("-netdev", "user,id=n1,restrict=on", "-device", "e1000e,netdev=n1,bus=down1,mac=52:54:00:aa:00:02,romfile="),
)

MIB = 1 << 20

DISKS = {
    "nvme": (
        256 * MIB,
        "nvme,drive=nvme,serial=PLANTED-NVME,bus=down0,logical_block_size=4096,physical_block_size=4096",
    ),
    "raid0": (320 * MIB, "virtio-blk-pci,drive=raid0,serial=PLANTED-R0,bus=pcie.0,addr=5.0"),
    "raid1": (320 * MIB, "virtio-blk-pci,drive=raid1,serial=PLANTED-R1,bus=pcie.0,addr=6.0"),
    "spin": (
        64 * MIB,
        "scsi-hd,drive=spin,bus=scsi.0,vendor=EXAMPLE,product=SPINDLE,ver=0042,rotation_rate=7200,serial=PLANTED-HD",
    ),
}
"""Sizes and devices."""

PARTITIONS = ((2048, 24 * MIB // 512), (2048 + 24 * MIB // 512, 32 * MIB // 512))
"""First sector and number of sectors of those of the SCSI disk."""

ETC = {
    "passwd": "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hostname": "planted-host\n",
    "tuned/active_profile": "",
    "set-now": """\
kernel.hostname = planted-host
vm.swappiness = 7
vm.dirty_ratio = 33
vm.dirty_background_bytes = 67108864
vm.zone_reclaim_mode = 1
vm.max_map_count = 262144
kernel.pid_max = 65536
fs.aio-max-nr = 1048576
fs.inotify.max_user_watches = 524288
net.core.rmem_max = 33554432
net.core.netdev_max_backlog = 5000
net.core.rps_sock_flow_entries = 4096
net.core.default_qdisc = fq_codel
net.ipv4.tcp_rmem = 4096 262144 33554432
net.ipv4.tcp_slow_start_after_idle = 0
net.ipv4.conf.all.arp_ignore = 0
net.ipv4.conf.eth1.arp_ignore = 1
net.ipv4.conf.eth1.arp_announce = 2
net.ipv4.neigh.default.gc_thresh3 = 8192
""",
    "sysctl.d/10-node.conf": "vm.swappiness = 10\nnet.core.somaxconn = 4096\n",
    "sysctl.d/20-node.conf": "vm.swappiness = 1\n",
    "modprobe.d/node.conf": "options nvme poll_queues=1 no_such_thing=1\n",
    "security/limits.d/node.conf": "* soft memlock unlimited\n",
    "tuned/throughput-performance/tuned.conf": "[sysctl]\nvm.swappiness=10\n[vm]\ntransparent_hugepages=always\n",
    "systemd/system/slurmd.service": "[Service]\nExecStart=/usr/sbin/slurmd --token PLANTED\nLimitMEMLOCK=64M\n",
    "systemd/system/slurmd.service.d/limits.conf": "[Service]\nLimitMEMLOCK=infinity\nEnvironment=KEY=PLANTED\n",
    "systemd/logind.conf": "[Login]\nRemoveIPC=no\n",
    "udev/rules.d/60-node.rules": 'KERNEL=="nvme*", ATTRS{serial}=="PLANTED-NVME", ATTR{queue/scheduler}="none"\n',
    "nccl.conf": "NCCL_IB_HCA=rxe0\nNCCL_COMM_ID=planted-host:9999\n",
    "profile.d/node.sh": "export NCCL_DEBUG=WARN\nexport SITE_API_KEY=PLANTED\n",
    "fstab": "/dev/md0 /data xfs noatime,nodiratime,logbsize=256k 0 0\n"
    "filer:/export /home nfs4 nconnect=8,_netdev 0 0\n",
}


def hardware(folder: Path) -> list[str]:
    """The arguments of qemu, with disks made anew below ``folder``."""
    words = list(PARTS)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (size, device) in DISKS.items():
        with open(folder / f"{name}.img", "wb") as disk:
            disk.truncate(size)
            if name == "spin":
                disk.write(_partition_table())
        words += ["-drive", f"file={folder / name}.img,format=raw,if=none,id={name}", "-device", device]
    return words


def _partition_table() -> bytes:
    """A master boot record: 446 bytes of program, four entries of 16 bytes, a mark."""
    entries = b"".join(struct.pack("<B3sB3sII", 0, b"", 0x83, b"", first, count) for first, count in PARTITIONS)
    return bytes(446) + entries.ljust(64, b"\0") + b"\x55\xaa"


def files() -> dict[str, bytes]:
    """What is laid into the machine."""
    return {
        "/payload/collector": script().encode(),
        "/payload/nobody": b'exec su nobody -c "$*"\n',
        "/payload/container": (_HERE / "container.sh").read_bytes(),
        **{f"/etc/{path}": text.encode() for path, text in ETC.items()},
    }


def payload() -> str:
    """What is done in it."""
    return (_HERE / "node.sh").read_text()
