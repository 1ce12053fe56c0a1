"""A made-up training node of any size, as a tree: two sockets, PCIe switches, GPUs with a NIC beside each, NVMe, RoCE.

Its values are those of a node on which little is wrong; sizes are what a benchmark or a test asks for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.trees import write_link, write_tree

CPU = "/sys/devices/system/cpu"
SOCKETS = 2
GPU_CLASS, NIC_CLASS, NVME_CLASS, BRIDGE_CLASS = "0x030200", "0x020000", "0x010802", "0x060400"
GIDS = 16
MEMORY_KB = 2_113_929_216


@dataclass
class Machine:
    """Files by absolute path (a path ending in ``/`` is an empty folder), and links."""

    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def put(self, folder: str, **contents: object) -> None:
        """Files of ``folder``, each with one line."""
        self.files |= {f"{folder}/{name}": f"{content}\n" for name, content in contents.items()}

    def write(self, folder: Path) -> Path:
        """The machine as a tree below ``folder``, which comes back."""
        write_tree(folder, self.files)
        for path, target in self.links.items():
            write_link(folder, path, target)
        return folder


def gpu_node(cpus: int = 256, gpus: int = 8, nics: int = 10, drives: int = 8, vectors: int = 4000) -> Machine:
    """A node with so many hardware threads (two a core), GPUs, NICs, NVMe drives and interrupts of them."""
    made = Machine()
    _kernel(made, cpus)
    _processors(made, cpus)
    _memory(made, cpus)
    numbers = iter(range(1, 1 << 16))
    owners = []
    for index in range(max(gpus, nics)):
        socket = index % SOCKETS
        switch = _switch(made, socket, numbers)
        if index < gpus:
            owners.append((_endpoint(made, switch, numbers, socket, "gpu"), "nvidia"))
            _gpu(made, owners[-1][0])
        if index < nics:
            place = _endpoint(made, switch, numbers, socket, "nic")
            owners.append((place, f"mlx5_comp{{}}@pci:{place.rpartition('/')[2]}"))
            _nic(made, place, index)
    for index in range(drives):
        switch = _switch(made, index % SOCKETS, numbers)
        place = _endpoint(made, switch, numbers, index % SOCKETS, "nvme")
        owners.append((place, f"nvme{index}q{{}}"))
        _drive(made, place, index)
    _interrupts(made, cpus, vectors, owners)
    return made


def _kernel(made: Machine, cpus: int) -> None:
    made.put("/proc", cmdline="BOOT_IMAGE=/vmlinuz root=/dev/nvme0n1p2 ro iommu=pt", version="Linux version 6.8.0-45")
    made.put("/proc/sys/kernel", osrelease="6.8.0-45-generic", numa_balancing=0, pid_max=4194304, arch="x86_64")
    made.put("/proc/sys/vm", swappiness=60, zone_reclaim_mode=0, dirty_ratio=20, dirty_background_ratio=10)
    made.put("/proc/sys/vm", max_map_count=65530, overcommit_memory=0, min_free_kbytes=90112)
    made.put("/proc/sys/net/core", rmem_max=212992, wmem_max=212992, somaxconn=4096, netdev_max_backlog=1000)
    made.put("/proc/sys/net/ipv4", tcp_rmem="4096\t131072\t6291456", tcp_wmem="4096\t16384\t4194304", tcp_sack=1)
    made.put("/proc/1", comm="systemd")
    made.put("/sys/class/dmi/id", sys_vendor="Supermicro", product_name="SYS-821GE-TNHR", chassis_type=23)
    made.put(
        "/proc/self", status=f"CapEff:\t0000000000000000\nCpus_allowed_list:\t0-{cpus - 1}", cgroup="0::/user.slice"
    )
    made.put("/proc/self", limits="Max locked memory         unlimited            unlimited            bytes")
    made.put("/sys/fs/cgroup/user.slice", **{"cpu.max": "max 100000", "memory.max": "max", "pids.max": "max"})
    made.put("/sys/fs/cgroup/user.slice", **{"cpuset.cpus.effective": f"0-{cpus - 1}"})
    made.files["/proc/self/mountinfo"] = (
        "30 1 259:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw\n"
        "31 30 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
        "32 30 0:27 / /dev/shm rw - tmpfs tmpfs rw,size=1056964608k\n"
        "33 30 0:50 / /data rw,noatime - nfs4 filer:/data rw,vers=4.2,rsize=1048576,wsize=1048576,hard,nconnect=8\n"
    )
    made.files["/etc/fstab"] = "/dev/nvme0n1p2 / ext4 noatime 0 1\nfiler:/data /data nfs4 vers=4.2,nconnect=8 0 0\n"
    made.files["/etc/sysctl.d/10-site.conf"] = "vm.swappiness = 60\n"
    made.files["/etc/modprobe.d/nvidia.conf"] = "options nvidia NVreg_EnablePCIERelaxedOrderingMode=1\n"
    made.files["/proc/net/softnet_stat"] = "".join(
        f"{n:08x} 00000000 00000003 {'00000000 ' * 9}{n:08x} 00000000 00000000\n" for n in range(cpus)
    )


def _processors(made: Machine, cpus: int) -> None:
    every = f"0-{cpus - 1}"
    made.put(CPU, online=every, present=every, possible=every, offline="", isolated="")
    made.put(f"{CPU}/smt", active=1, control="on")
    made.put(f"{CPU}/intel_pstate", status="active", no_turbo=0)
    cores = cpus // 2
    for number in range(cpus):
        core = number % cores
        socket = core * SOCKETS // cores
        first = socket * cores // SOCKETS
        last = first + cores // SOCKETS - 1
        folder = f"{CPU}/cpu{number}"
        made.put(folder, online=1)
        made.put(
            f"{folder}/topology",
            **{"physical_package_id": socket, "die_id": 0, "core_id": core - first, "cluster_id": -1},
            thread_siblings_list=f"{core},{core + cores}",
            core_cpus_list=f"{core},{core + cores}",
            core_siblings_list=f"{first}-{last},{first + cores}-{last + cores}",
        )
        _sleep_and_caches(made, folder, core, cores)
        policy = f"{CPU}/cpufreq/policy{number}"
        made.put(policy, scaling_driver="intel_pstate", scaling_governor="performance", scaling_cur_freq=3_500_000)
        made.put(policy, scaling_available_governors="performance powersave", cpuinfo_max_freq=3_800_000)
        made.put(policy, energy_performance_preference="performance", scaling_max_freq=3_800_000)
        made.put(policy, energy_performance_available_preferences="default performance balance_performance power")
        made.links[f"{folder}/cpufreq"] = f"../cpufreq/policy{number}"
    made.files["/proc/cpuinfo"] = "".join(
        f"processor\t: {n}\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8592+\n"
        f"physical id\t: {n % cores * SOCKETS // cores}\nflags\t\t: fpu lm avx512f amx_tile\n\n"
        for n in range(cpus)
    )


def _sleep_and_caches(made: Machine, folder: str, core: int, cores: int) -> None:
    """Caches of one CPU, the last level for eight cores together; its idle states and how often it grew too hot."""
    first = core // 8 * 8
    last = min(first + 7, cores - 1)
    own, shared = f"{core},{core + cores}", f"{first}-{last},{first + cores}-{last + cores}"
    for index, (level, kind, size) in enumerate(((1, "Data", 48), (1, "Instruction", 32), (2, "Unified", 2048))):
        cache = f"{folder}/cache/index{index}"
        made.put(cache, level=level, type=kind, size=f"{size}K", shared_cpu_list=own)
    made.put(f"{folder}/cache/index3", level=3, type="Unified", size="32768K", shared_cpu_list=shared)
    for state, (name, latency) in enumerate((("POLL", 0), ("C1", 1), ("C1E", 2), ("C6", 290))):
        made.put(f"{folder}/cpuidle/state{state}", name=name, latency=latency, residency=latency * 3, disable=0)
    made.put(f"{folder}/thermal_throttle", core_throttle_count=0, package_throttle_count=0)


def _memory(made: Machine, cpus: int) -> None:
    made.files["/proc/meminfo"] = (
        f"MemTotal:       {MEMORY_KB} kB\nMemFree:        {MEMORY_KB // 2} kB\nMemAvailable:   {MEMORY_KB // 2} kB\n"
        "SwapTotal:      0 kB\nSwapFree:       0 kB\nHugePages_Total:       0\nHugePages_Free:        0\n"
        "Hugepagesize:       2048 kB\n"
    )
    made.files["/proc/vmstat"] = "pswpin 0\npswpout 0\ncompact_stall 0\noom_kill 0\nnuma_pte_updates 0\n"
    made.files["/proc/swaps"] = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
    made.put("/sys/kernel/mm/transparent_hugepage", enabled="always [madvise] never", defrag="always [madvise] never")
    cores = cpus // 2
    nodes = "/sys/devices/system/node"
    made.put(nodes, online=f"0-{SOCKETS - 1}", has_cpu=f"0-{SOCKETS - 1}", has_memory=f"0-{SOCKETS - 1}")
    for node in range(SOCKETS):
        first, last = node * cores // SOCKETS, (node + 1) * cores // SOCKETS - 1
        folder = f"{nodes}/node{node}"
        made.put(folder, cpulist=f"{first}-{last},{first + cores}-{last + cores}")
        made.put(folder, distance=" ".join("10" if other == node else "21" for other in range(SOCKETS)))
        made.put(folder, meminfo=f"Node {node} MemTotal:       {MEMORY_KB // SOCKETS} kB")


def _switch(made: Machine, socket: int, numbers: Iterator[int]) -> str:
    """The folder of a downstream port: root port, then a switch."""
    path = f"/sys/devices/pci{socket:04x}:00"
    for _ in range(3):
        address = f"{socket:04x}:{next(numbers) % 256:02x}:00.0"
        path += f"/{address}"
        _pci(made, path, BRIDGE_CLASS, "0x1000", "0xc030", socket)
    return path


def _endpoint(made: Machine, above: str, numbers: Iterator[int], socket: int, kind: str) -> str:
    address = f"{socket:04x}:{next(numbers) % 256:02x}:00.0"
    codes = {
        "gpu": (GPU_CLASS, "0x10de", "0x2330"),
        "nic": (NIC_CLASS, "0x15b3", "0x1021"),
        "nvme": (NVME_CLASS, "0x144d", "0xa824"),
    }
    _pci(made, f"{above}/{address}", *codes[kind], socket)
    driver = {"gpu": "nvidia", "nic": "mlx5_core", "nvme": "nvme"}[kind]
    made.links[f"{above}/{address}/driver"] = f"/sys/bus/pci/drivers/{driver}"
    return f"{above}/{address}"


def _pci(made: Machine, path: str, code: str, vendor: str, device: str, socket: int) -> None:
    made.put(path, vendor=vendor, device=device, numa_node=socket, local_cpulist="0-63", enable=1)
    made.files[f"{path}/class"] = f"{code}00\n" if len(code) == 6 else f"{code}\n"
    made.put(path, current_link_speed="32.0 GT/s PCIe", max_link_speed="32.0 GT/s PCIe")
    made.put(path, current_link_width=16, max_link_width=16)
    made.links[f"/sys/bus/pci/devices/{path.rpartition('/')[2]}"] = path


def _gpu(made: Machine, path: str) -> None:
    address = path.rpartition("/")[2]
    made.files[f"/proc/driver/nvidia/gpus/{address}/information"] = "Model: \t\t NVIDIA H100 80GB HBM3\n"
    made.files["/proc/driver/nvidia/version"] = (
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n"
    )


def _nic(made: Machine, path: str, index: int) -> None:
    net, rdma = f"{path}/net/eth{index}", f"{path}/infiniband/mlx5_{index}"
    made.put(net, mtu=9000, type=1, speed=400_000, operstate="up", carrier=1, duplex="full", tx_queue_len=1000)
    made.put(f"{net}/statistics", rx_dropped=0, rx_errors=0, tx_dropped=0, rx_missed_errors=0, rx_crc_errors=0)
    made.links |= {f"{net}/device": path, f"/sys/class/net/eth{index}": net, f"{rdma}/device": path}
    made.links[f"/sys/class/infiniband/mlx5_{index}"] = rdma
    made.put(rdma, fw_ver="28.39.2048", hca_type="MT4129", node_type="1: CA", board_id="MT_0000000838")
    port = f"{rdma}/ports/1"
    made.put(port, state="4: ACTIVE", phys_state="5: LinkUp", rate="400 Gb/sec (4X NDR)", link_layer="Ethernet")
    made.put(f"{port}/counters", symbol_error=0, link_downed=0, port_xmit_wait=0, port_rcv_errors=0)
    made.put(f"{port}/hw_counters", out_of_buffer=0, out_of_sequence=0, np_cnp_sent=0)
    for gid in range(GIDS):
        value = f"0000:0000:0000:0000:0000:ffff:0a00:{index:04x}" if gid in (2, 3) else ":".join(["0000"] * 8)
        made.files[f"{port}/gids/{gid}"] = f"{value}\n"
        if gid in (2, 3):
            made.files[f"{port}/gid_attrs/types/{gid}"] = "RoCE v2\n" if gid == 3 else "IB/RoCE v1\n"
            made.files[f"{port}/gid_attrs/ndevs/{gid}"] = f"eth{index}\n"


def _drive(made: Machine, path: str, index: int) -> None:
    controller = f"{path}/nvme/nvme{index}"
    disk = f"{controller}/nvme{index}n1"
    made.put(controller, transport="pcie", model="SAMSUNG MZWLO3T8HCLS", state="live", firmware_rev="OPPA4B5Q")
    made.put(controller, address=path.rpartition("/")[2], queue_count=129, numa_node=-1)
    made.put(disk, size=7_501_476_528, dev=f"259:{index}", removable=0, ro=0)
    made.put(f"{disk}/queue", scheduler="[none] mq-deadline", rotational=0, nr_requests=1023, read_ahead_kb=128)
    made.put(f"{disk}/queue", write_cache="write through", max_sectors_kb=128)
    made.links |= {f"{disk}/device": controller, f"{controller}/device": path}
    made.links |= {f"/sys/class/nvme/nvme{index}": controller, f"/sys/block/nvme{index}n1": disk}
    made.links[f"/sys/class/block/nvme{index}n1"] = disk


def _interrupts(made: Machine, cpus: int, vectors: int, owners: list[tuple[str, str]]) -> None:
    """``vectors`` interrupts, dealt out to the devices in turn."""
    lines = [" " * 10 + "".join(f"{f'CPU{n}':>11}" for n in range(cpus))]
    taken = [0] * len(owners)
    for number in range(vectors):
        which = number % len(owners)
        place, name = owners[which]
        irq, cpu = 100 + number, number % cpus
        made.files[f"{place}/msi_irqs/{irq}"] = "msix\n"
        folder = f"/proc/irq/{irq}"
        made.put(folder, smp_affinity_list=cpu, effective_affinity_list=cpu, node=0, smp_affinity=f"{1 << cpu:x}")
        counts = ["0"] * cpus
        counts[cpu] = str(number * 7)
        label = name.format(taken[which])
        taken[which] += 1
        lines.append(
            f"{irq:>6}:" + "".join(f"{count:>11}" for count in counts) + f"  IR-PCI-MSIX {number}-edge {label}"
        )
    made.files["/proc/interrupts"] = "\n".join(lines) + "\n"
