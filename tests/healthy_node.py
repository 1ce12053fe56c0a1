"""A GPU node on which nothing is wrong, as a capture that is read twice; tests change one thing of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from advisor.commands._rules import evaluated
from advisor.commands._snapshot import probe_host
from advisor.host.captured import open_root
from advisor.model.finding import Report
from advisor.model.job import Job
from advisor.probes.kernel_log import JOURNAL
from advisor.probes.system import TIMEDATECTL
from tests.trees import write_capture, write_link

CPU = "/sys/devices/system/cpu"
JOB = Job(
    ranks=1,
    workers=1,
    prefetch_factor=2,
    batch_bytes=1 << 20,
    bound=True,
    data_path="/data/images",
    output_path="/ckpt/run1",
    data_file_bytes=1 << 30,
    checkpoint_bytes=98 << 30,
)
GPUS = {"0000:3b:00.0": "0000:3a:00.0", "0000:af:00.0": "0000:ae:00.0"}
NICS = {"0000:5e:00.0": "0000:5d:00.0", "0000:d8:00.0": "0000:d7:00.0"}
DRIVE = {"0000:1b:00.0": "0000:1a:00.0"}
CLASSES = {"gpu": ("0x030200", "0x10de"), "nic": ("0x020700", "0x15b3"), "nvme": ("0x010802", "0x144d")}
TREE_ROOTS = {"3a": "3a", "5d": "3a", "1a": "3a", "ae": "ae", "d7": "ae"}
MOUNTS = """\
36 1 8:2 / / rw,relatime - ext4 /dev/sda2 rw
40 36 0:25 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=500g
41 36 259:0 / /data rw,noatime - xfs /dev/nvme0n1 rw,inode64
42 36 0:50 / /ckpt rw,relatime - nfs4 filer:/ckpt rw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,nconnect=8
43 36 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
"""
QUIET = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
SHORT = "some avg10=9.00 avg60=9.00 avg300=9.00 total=9000\nfull avg10=5.00 avg60=5.00 avg300=5.00 total=5000\n"
EDAC = "/sys/devices/system/edac/mc/mc0"
CLOCK = "/sys/devices/system/clocksource/clocksource0"
POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB"
ONE_KILLED = "pswpin 0\npswpout 0\noom_kill 1\ncompact_stall 0\n"
SERVICE_LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max processes             4000000              4000000              processes
Max open files            1048576              1048576              files
Max locked memory         unlimited            unlimited            bytes
"""

LINK = {"active": True, "gaps": {}}
LINK |= dict.fromkeys(("replay_errors", "recovery_errors", "crc_flit_errors", "crc_data_errors"), 0)
ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t0000000A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
"""


def platform() -> dict[str, str]:
    """A server with Linux 6.8, out of any container."""
    return {
        "/proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\nflags : fpu lm\n",
        "/proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
        "/proc/1/comm": "systemd\n",
        "/proc/sys/kernel/arch": "x86_64\n",
        "/etc/os-release": "ID=ubuntu\nID_LIKE=debian\n",
        "/etc/systemd/logind.conf": "[Login]\nRemoveIPC=no\n",
        "/proc/sys/kernel/tainted": "12289\n",
        "/proc/sys/kernel/perf_event_paranoid": "2\n",
        f"{CLOCK}/current_clocksource": "tsc\n",
        "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro iommu=pt\n",
        "/proc/loadavg": "1.50 1.20 1.00 2/900 4242\n",
        "/proc/pressure/cpu": "some avg10=1.00 avg60=1.00 avg300=1.00 total=9000\n",
        f"{CPU}/vulnerabilities/meltdown": "Not affected\n",
        "/sys/class/dmi/id/sys_vendor": "Supermicro\n",
        "/sys/class/dmi/id/product_name": "SYS-421GE\n",
        "/sys/class/dmi/id/chassis_type": "23\n",
    }


def cpus() -> dict[str, str]:
    """Two sockets with two cores each, at full clock."""
    files = {f"{CPU}/{name}": "0-3\n" for name in ("online", "present", "possible")}
    files |= {f"{CPU}/isolated": "\n", f"{CPU}/smt/control": "on\n", f"{CPU}/smt/active": "0\n"}
    files[f"{CPU}/intel_pstate/no_turbo"] = "0\n"
    for number in range(4):
        folder = f"{CPU}/cpu{number}"
        files |= {f"{folder}/topology/physical_package_id": f"{number // 2}\n", f"{folder}/topology/core_id": "0\n"}
        files |= {f"{folder}/topology/thread_siblings_list": f"{number}\n", f"{folder}/online": "1\n"}
        files |= {f"{folder}/thermal_throttle/{what}_throttle_count": "3\n" for what in ("core", "package")}
        files[f"{folder}/topology/core_siblings_list"] = f"{number // 2 * 2}-{number // 2 * 2 + 1}\n"
        policy = f"{CPU}/cpufreq/policy{number}"
        files |= {f"{policy}/scaling_driver": "intel_pstate\n", f"{policy}/scaling_governor": "performance\n"}
    return files


def memory() -> dict[str, str]:
    """Two nodes of 512 GiB each, no swap."""
    files = {
        "/proc/meminfo": "MemTotal: 1073741824 kB\nHugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n",
        "/proc/swaps": "Filename Type Size Used Priority\n",
        "/proc/vmstat": "pswpin 0\npswpout 0\noom_kill 0\ncompact_stall 0\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "/proc/sys/vm/swappiness": "60\n",
        "/proc/sys/vm/dirty_bytes": "0\n",
        "/proc/sys/vm/dirty_ratio": "20\n",
        "/proc/sys/vm/overcommit_memory": "0\n",
        "/sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never\n",
        f"{EDAC}/ce_count": "3\n",
        f"{EDAC}/ue_count": "0\n",
        "/proc/sys/vm/zone_reclaim_mode": "0\n",
        "/proc/sys/kernel/numa_balancing": "0\n",
        "/proc/self/status": "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-3\n",
        "/proc/self/cgroup": "0::/user.slice\n",
        "/sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
        "/sys/fs/cgroup/user.slice/memory.max": "max\n",
        "/sys/fs/cgroup/user.slice/pids.max": "max\n",
        "/sys/fs/cgroup/user.slice/memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n",
        "/sys/fs/cgroup/user.slice/memory.pressure": QUIET,
        "/sys/fs/cgroup/system.slice/slurmd.service/cgroup.procs": "900\n",
        "/proc/900/comm": "slurmd\n",
        "/proc/900/limits": SERVICE_LIMITS,
        "/sys/fs/cgroup/user.slice/cpuset.cpus.effective": "0-3\n",
    }
    files |= {f"{POOL}/{name}_hugepages": "0\n" for name in ("nr", "free", "resv", "nr_overcommit")}
    files |= {f"/proc/pressure/{name}": QUIET for name in ("cpu", "memory", "io")}
    for node in (0, 1):
        folder = f"/sys/devices/system/node/node{node}"
        files[f"{folder}/cpulist"] = f"{node * 2}-{node * 2 + 1}\n"
        files[f"{folder}/meminfo"] = f"Node {node} MemTotal: 536870912 kB\nNode {node} MemFree: 500000000 kB\n"
    return files


def where(bridge: str) -> str:
    """The folder of a bridge in the device tree."""
    return f"/sys/devices/pci0000:{TREE_ROOTS[bridge[5:7]]}/{bridge}"


def devices() -> dict[str, str]:
    """Two GPUs, two InfiniBand cards and an NVMe drive, each below a bridge of its own."""
    files: dict[str, str] = {}
    for kind, cards in (("gpu", GPUS), ("nic", NICS), ("nvme", DRIVE)):
        for address, bridge in cards.items():
            files |= device(f"{where(bridge)}/{address}", *CLASSES[kind], TREE_ROOTS[bridge[5:7]])
            files |= device(where(bridge), "0x060400", "0x8086", TREE_ROOTS[bridge[5:7]])
    for group in range(5):
        files[f"/sys/kernel/iommu_groups/{group}/type"] = "identity\n"
    return files


def device(folder: str, class_code: str, vendor: str, root: str) -> dict[str, str]:
    values = {"class": class_code, "vendor": vendor, "device": "0x2330", "numa_node": "0" if root == "3a" else "1"}
    values |= dict.fromkeys(("current_link_width", "max_link_width"), "16")
    values["resource"] = "\n".join(
        [
            "0x0000380000000000 0x00003807ffffffff 0x000000000014220c",
            *["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 6,
        ]
    )
    values["aer_dev_correctable"] = "RxErr 0\nTOTAL_ERR_COR 0"
    return {f"{folder}/{name}": f"{text}\n" for name, text in values.items()}


def rdma() -> dict[str, str]:
    """Two active InfiniBand ports of one model, and the modules that they need."""
    files = {
        "/sys/module/mlx5_core/parameters/prof_sel": "2\n",
        "/sys/module/mlx5_core/parameters/debug_mask": "0\n",
        "/sys/module/mlx5_core/initstate": "live\n",
        "/sys/module/nvidia_peermem/initstate": "live\n",
        "/proc/driver/nvidia/params": "RmProfilingAdminOnly: 0\n",
        "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n",
        "/dev/infiniband/uverbs0": "",
        "/dev/infiniband/uverbs1": "",
    }
    for number in (0, 1):
        folder = f"/sys/class/infiniband/mlx5_{number}"
        port = f"{folder}/ports/1"
        files |= {
            f"{folder}/board_id": "MT_0000000838\n",
            f"{folder}/fw_ver": "28.43.1014\n",
            f"{port}/state": "4: ACTIVE\n",
        }
        files |= {f"{port}/phys_state": "5: LinkUp\n", f"{port}/rate": "400 Gb/sec (4X NDR)\n"}
        files |= {f"{port}/link_layer": "InfiniBand\n", f"{port}/gids/0": "fe80:0000:0000:0000:0000:0000:0000:0001\n"}
        files[f"{port}/gid_attrs/types/0"] = "IB/RoCE v1\n"
        names = ("symbol_error", "link_error_recovery", "port_rcv_errors", "link_downed")
        files |= {f"{port}/counters/{name}": "3\n" for name in names}
        files |= {f"{port}/hw_counters/{name}": "7\n" for name in ("packet_seq_err", "out_of_sequence")}
    return files


def network() -> dict[str, str]:
    """A card of 100 Gb/s and TCP as it should be."""
    values = {"tcp_rmem": "4096 131072 6291456", "tcp_wmem": "4096 16384 4194304", "tcp_slow_start_after_idle": "0"}
    values |= dict.fromkeys(("tcp_timestamps", "tcp_sack", "tcp_window_scaling", "tcp_moderate_rcvbuf"), "1")
    card = {"speed": "100000", "operstate": "up", "type": "1", "mtu": "9000", "device/vendor": "0x15b3"}
    card |= {
        "statistics/rx_missed_errors": "12",
        "statistics/rx_crc_errors": "3",
        "duplex": "full",
        "queues/rx-0/rps_cpus": "0",
    }
    return {
        "/proc/net/softnet_stat": softnet(),
        "/proc/net/stat/arp_cache": "entries  allocs\n0000001f  00000020\n",
        "/proc/sys/net/ipv4/neigh/default/gc_thresh2": "512\n",
        "/proc/net/route": ROUTES,
        "/proc/sys/net/ipv4/tcp_congestion_control": "cubic\n",
        "/proc/sys/net/core/default_qdisc": "fq_codel\n",
        **{f"/proc/sys/net/ipv4/conf/{name}/arp_ignore": "0\n" for name in ("all", "eth0")},
        **{f"/proc/sys/net/ipv4/conf/{name}/arp_announce": "0\n" for name in ("all", "eth0")},
        **{f"/proc/sys/net/ipv4/{name}": f"{text}\n" for name, text in values.items()},
        **{f"/sys/class/net/eth0/{name}": f"{text}\n" for name, text in card.items()},
    }


def softnet(processed: int = 0x1000, dropped: int = 0, squeezed: int = 0) -> str:
    """One CPU's line of softnet_stat."""
    return f"{processed:08x} {dropped:08x} {squeezed:08x}" + " 00000000" * 12 + "\n"


def ethtool(pci: int = 0, queues: int = 4) -> dict[tuple[str, ...], str]:
    """What ethtool prints of the card: its rings, queues and counters."""
    rings = "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t8192\nCurrent hardware settings:\nRX:\t\t1024\n"
    counters = "rx_out_of_buffer: 5", f"rx_discards_phy: {pci}", f"outbound_pci_stalled_wr_events: {pci}"
    statistics = "NIC statistics:\n" + "".join(f"     {line}\n" for line in counters)
    head = "Channel parameters for eth0:\nPre-set maximums:\nCombined:\t63\n"
    channels = f"{head}Current hardware settings:\nCombined:\t{queues}\n"
    return {
        ("ethtool", "-l", "eth0"): channels,
        ("ethtool", "-g", "eth0"): rings,
        ("ethtool", "-S", "eth0"): statistics,
    }


def storage() -> dict[str, str]:
    """An NVMe drive for data, a mirror for the system, checkpoints on NFS."""
    drive, mirror = "/sys/block/nvme0n1", "/sys/block/md0"
    values = {"dev": "259:0", "size": "7814037168", "queue/scheduler": "[none] mq-deadline", "queue/rotational": "0"}
    values["queue/read_ahead_kb"] = "4096"
    raid = {"level": "raid1", "raid_disks": "2", "degraded": "0", "array_state": "clean", "sync_action": "idle"}
    raid["metadata_version"] = "1.2"
    return {
        "/proc/self/mountinfo": MOUNTS,
        "/proc/self/mountstats": mountstats(waited_ms=10),
        "/etc/fstab": "/dev/sda2 / ext4 defaults 0 1\n/dev/nvme0n1 /data xfs noatime,inode64,nofail 0 0\n",
        "/etc/sysctl.d/50-site.conf": "vm.max_map_count = 1048576\n",
        "/proc/sys/vm/max_map_count": "1048576\n",
        "/etc/modprobe.d/site.conf": "options mlx5_core prof_sel=2\n",
        f"{mirror}/dev": "9:0\n",
        **{f"{mirror}/md/{name}": f"{text}\n" for name, text in raid.items()},
        **{f"{drive}/{name}": f"{text}\n" for name, text in values.items()},
    }


def mountstats(waited_ms: int) -> str:
    """What the NFS client counts: 20,000 reads of 1 ms each, which waited for so long altogether before."""
    reads = f"READ: 20000 20000 0 2560000 2560000000 {waited_ms} 20000 {20000 + waited_ms} 0"
    return f"device filer:/ckpt mounted on /ckpt with fstype nfs4 statvers=1.1\n\tage:\t9\n\t{reads}\n"


def calls() -> dict[str, Any]:
    """What system calls and NVML answer."""
    healthy = {
        "lost": False,
        "name": "H100",
        "persistence_mode": True,
        "nvlinks_active": 18,
        "memory_used_bytes": 8 << 30,
        "gaps": {},
    }
    healthy |= {"pcie_replays": 0, "utilization_percent": 99, "pcie_generation": 5, "pcie_max_generation": 5}
    healthy |= {"remapped_rows_pending": False, "remapped_rows_failed": False, "throttle_reasons": 4, "compute_mode": 0}
    healthy |= {"ecc_mode": True, "ecc_pending_mode": True, "mig_mode": False, "mig_pending_mode": False}
    healthy |= {"reset_required": False, "recovery_action": "none", "ecc_uncorrected_errors": 0}
    healthy |= {"brand": "nvidia", "architecture": "hopper", "bar1_total_bytes": 128 << 30}
    healthy |= {"power_enforced_limit_milliwatts": 700_000, "power_default_limit_milliwatts": 700_000}
    healthy |= {f"{what}_application_clock_mhz": 1980 for what in ("graphics", "graphics_default")}
    healthy |= {f"{what}_application_clock_mhz": 2619 for what in ("memory", "memory_default")}
    healthy |= {"nvlinks": [{"number": number, **LINK} for number in range(18)], "fabric_state": "not supported"}
    gpus = [{"index": number, "bus_id": address, **healthy} for number, address in enumerate(GPUS)]
    return {
        "limits": {"memlock": [None, None], "nofile": [1048576, 1048576], "stack": [8388608, None]},
        "affinity": [0, 1, 2, 3],
        "statvfs": {
            "/": [4096, 10**8, 5 * 10**7, 10**7, 9 * 10**6],
            "/dev/shm": [4096, 131072000, 131072000, 10**8, 10**8],
            "/data": [4096, 10**9, 5 * 10**8, 10**9, 10**9],
            "/ckpt": [1048576, 10**8, 5 * 10**7, 0, 0],
        },
        "environment": {"OMP_NUM_THREADS": "1"},
        "nvml": {"driver_version": "535.104.05", "cuda_version": "12.2", "gaps": {}, "gpus": gpus, "p2p": []},
    }


def nvml(**values: Any) -> dict[str, Any]:
    """The answers of NVML with other values for the first GPU."""
    first, *others = calls()["nvml"]["gpus"]
    return {"nvml": {**calls()["nvml"], "gpus": [{**first, **values}, *others]}}


def report(
    folder: Path,
    files: Mapping[str, str],
    answers: Mapping[str, Any],
    job: Job = JOB,
    later: Mapping[str, str] | None = None,
    printed: Mapping[tuple[str, ...], str] | None = None,
) -> Report:
    """What all rules say of a machine read twice; the second time with ``later`` files and what ethtool ``printed``."""
    write_machine(folder, files, answers, ethtool())
    write_machine(folder / "sample", {**files, **(later or {})}, answers, printed or ethtool())
    (folder / "sample/advisor-capture.json").write_text('{"version": 1, "root_user": false, "seconds": 30}')
    snapshot, defects = probe_host(open_root(str(folder)), job)
    made = evaluated(snapshot)
    assert not defects
    assert not made.defects
    return made


def write_machine(
    folder: Path, files: Mapping[str, str], answers: Mapping[str, Any], printed: Mapping[tuple[str, ...], str]
) -> None:
    """A capture of a machine; its links are those of the healthy node."""
    write_capture(folder, files, outputs={TIMEDATECTL: "yes\n", JOURNAL: "-- No entries --\n", **printed}, **answers)
    for group, (address, bridge) in enumerate({**GPUS, **NICS, **DRIVE}.items()):
        place = where(bridge)
        for name, target in ((address, f"{place}/{address}"), (bridge, place)):
            write_link(folder / "fs", f"/sys/bus/pci/devices/{name}", f"../../..{target.removeprefix('/sys')}")
        write_link(folder / "fs", f"{place}/{address}/iommu_group", f"/sys/kernel/iommu_groups/{group}")
    for address, bridge in GPUS.items():
        write_link(folder / "fs", f"{where(bridge)}/{address}/driver", "/sys/bus/pci/drivers/nvidia")
    for number, (address, bridge) in enumerate(NICS.items()):
        target = f"../../..{where(bridge).removeprefix('/sys')}/{address}"
        write_link(folder / "fs", f"/sys/class/infiniband/mlx5_{number}/device", target)
        write_link(folder / "fs", f"{where(bridge)}/{address}/driver", "/sys/bus/pci/drivers/mlx5_core")


def healthy() -> dict[str, str]:
    return {**platform(), **cpus(), **memory(), **devices(), **rdma(), **network(), **storage()}


def failing(made: Report) -> set[str]:
    return {finding.rule for finding in (*made.failing(), *made.disputed())}
