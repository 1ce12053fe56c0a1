"""What a collector reads: the files, listings and commands that the probes ask for, as patterns of paths.

Files that `File` marks name come from the fact models themselves; only folders, and what probes read beyond the marks,
is written here. A collector may read more than the probes ask for, never less; a test compares the facts.
"""

from advisor.host.collector import collector_script
from advisor.host.view import NETWORK
from advisor.model.facts import Facts, marks
from advisor.probes import (
    _container,
    _cpuinfo,
    _filesystems,
    _irqbalance,
    _rdma_counters,
    block,
    cpu,
    ethtool,
    irq,
    modules,
    net,
    numa,
    nvme,
    pci,
    platform,
    rdma,
    roce,
    sysctl,
)
from advisor.probes._sysfs import PCI_DEVICES

_CPU, _NODE, _PCI, _NET = cpu.ORIGIN, numa.ORIGIN, PCI_DEVICES, net.ORIGIN
_BLOCK, _RDMA, _MODULE, _IRQ = block.ORIGIN, rdma.ORIGIN, modules.ORIGIN, irq.ORIGIN
_PORT = f"{_RDMA}/*/ports/*"

MODELS: tuple[tuple[str, type[Facts]], ...] = (
    (_CPU, cpu.Cpu),
    (f"{_CPU}/cpu[0-9]*", cpu.LogicalCpu),
    (f"{_CPU}/cpufreq/policy*", cpu.Policy),
    (f"{_CPU}/cpu[0-9]*/cpufreq", cpu.Policy),
    (f"{_NODE}/node[0-9]*", numa.Node),
    (f"{_PCI}/*", pci.Device),
    (f"{_NET}/*", net.Interface),
    (f"{_NET}/*", roce.RoceInterface),
    (f"{_BLOCK}/*", block.BlockDevice),
    (f"{_BLOCK}/*/md", block.Array),
    (f"{_BLOCK}/*/*[0-9]", block.Partition),
    (f"{_RDMA}/*", rdma.RdmaDevice),
    (_PORT, rdma.Port),
    (f"{_PORT}/{_rdma_counters.COUNTERS}", _rdma_counters.PortCounters),
    (f"{_IRQ}/[0-9]*", irq.Vector),
    (f"{nvme.ORIGIN}/*", nvme.NvmeController),
    (sysctl.ORIGIN, sysctl.Sysctl),
)
"""Folders and the model whose marks name the files in them."""
FOLDERS: tuple[tuple[str, str], ...] = (
    ("/sys/class", ""),
    (f"{_CPU}/cpu[0-9]*", "online"),
    (f"{_CPU}/cpu[0-9]*/topology", " ".join(["core_id", *cpu.SIBLINGS, *cpu.PACKAGE_CPUS])),
    (f"{_CPU}/cpufreq", ""),
    (_NODE, ""),
    (f"{_NODE}/node[0-9]*", "cpumap"),
    (_PCI, "*"),
    (f"{_PCI}/*/msi_irqs", ""),
    (pci.IOMMU_GROUPS, ""),
    (f"{pci.IOMMU_GROUPS}/*", "type"),
    (_NET, "*"),
    (f"{_NET}/*", "device"),
    (f"{_NET}/*/queues", ""),
    (f"{_NET}/*/queues/rx-*", "rps_cpus rps_flow_cnt"),
    (f"{_NET}/*/queues/tx-*", "xps_cpus"),
    (f"{_NET}/*/device", "numa_node"),
    (f"{_NET}/*/device/infiniband", ""),
    (f"{_NET}/*/qos", ""),
    (f"{_NET}/*/ecn", ""),
    (f"{_NET}/*/ecn/roce_[nr]p/enable", "[0-7]"),
    (nvme.ORIGIN, "*"),
    (f"{nvme.ORIGIN}/*", ""),
    (_BLOCK, "*"),
    (block.CLASS, "*"),
    (f"{_BLOCK}/*/slaves", "*"),
    (f"{_BLOCK}/*/holders", "*"),
    (f"{_BLOCK}/*/device", "device driver numa_node transport model"),
    (f"{_BLOCK}/*/device/device", "driver"),
    (f"{_BLOCK}/*/device/scsi_disk", ""),
    (f"{_BLOCK}/*/device/scsi_disk/*", "cache_type"),
    ("/sys/class/nvme/*", "transport"),
    (_RDMA, "*"),
    (f"{_RDMA}/*", "device"),
    (f"{_RDMA}/*/device", "numa_node driver"),
    (f"{_RDMA}/*/ports", ""),
    (f"{_PORT}/gids", "*"),
    (f"{_PORT}/{_rdma_counters.HW_COUNTERS}", "*"),
    (f"{_RDMA}/*/tc/1", "traffic_class"),
    (rdma.NODES, ""),
    (_MODULE, ""),
    *((f"{_MODULE}/{name}", "version initstate") for name in modules.OF_INTEREST),
    *((f"{_MODULE}/{name}/parameters", "*") for name in modules.OF_INTEREST),
    (_IRQ, ""),
    *((folder, "*.conf") for folder in (*sysctl.FOLDERS, *modules.FOLDERS)),
    ("/sys/class/dmi/id", "sys_vendor product_name bios_vendor chassis_asset_tag chassis_type"),
    ("/sys/class/power_supply", "*"),
    ("/sys/class/power_supply/*", "type scope"),
    (f"{_MODULE}/zswap/parameters", "enabled"),
    ("/sys/kernel/mm/transparent_hugepage", "enabled defrag shmem_enabled"),
    ("/sys/devices/system", ""),
    ("/proc/driver/nvidia/gpus", ""),
    ("/proc/driver/nvidia/gpus/*", "information"),
    ("/sys/fs/cgroup", ""),
    *((folder, "") for folder in _irqbalance.SLICES),
    *((f"{folder}/{_irqbalance.UNIT}", "cgroup.procs") for folder in _irqbalance.SLICES),
)
"""Folders that are listed, and the names of files and links in them that are kept; ``*`` in a name may fit none."""
FILES = (
    *("/proc/cmdline", "/proc/swaps", "/proc/version", "/proc/1/comm", "/proc/pressure/cpu", "/proc/self/cpuset"),
    *(
        "/proc/sys/kernel/arch",
        "/proc/sys/kernel/osrelease",
        "/proc/xen/capabilities",
        "/proc/driver/nvidia/version",
        "/sys/hypervisor/type",
    ),
    *("/etc/fstab", "/etc/tuned/active_profile", "/run/systemd/container", sysctl.SYSCTL_CONF, *_irqbalance.FILES),
    *("/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/etc/hostname", "/etc/resolv.conf", "/etc/passwd"),
)
"""The last line is for redaction only: names that are to be taken out."""
LARGE_FILES = (
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/vmstat", "/proc/interrupts", "/proc/self/status", "/proc/self/limits"),
    *("/proc/net/softnet_stat", "/proc/device-tree/hypervisor/compatible"),
)
THERE = (*(path for path, _ in _container.MARKS), "/dev/kfd", *sysctl.SYSTEMD)
COMMANDS = (_cpuinfo.UNAME, platform.DETECT_VIRT)
"""Those that are the same on every node; collector.sh itself asks for modules and interfaces by their names."""
CGROUP_KINDS = ("cgroup", "cgroup2", "cpuset")
CGROUP_FILES = (
    "cpu.max cpu.stat cpu.cfs_quota_us cpu.cfs_period_us cpuset.cpus.effective cpuset.mems.effective "
    "cpuset.effective_cpus cpuset.effective_mems effective_cpus effective_mems cpuset.cpus cpuset.mems cpus mems "
    "memory.max memory.high memory.current memory.events memory.stat memory.limit_in_bytes memory.usage_in_bytes "
    "memory.oom_control pids.max pids.current"
)


def rules() -> tuple[str, ...]:
    """The patterns as the collector's script takes them: kind, path, names, with tabs between."""
    names: dict[str, dict[str, None]] = {}
    for folder, model in MODELS:
        for mark in marks(model).values():
            if mark.file is not None:
                below, _, name = mark.file.name.rpartition("/")
                names.setdefault(f"{folder}/{below}".rstrip("/"), {})[name] = None
    for folder, text in FOLDERS:
        names.setdefault(folder, {}).update(dict.fromkeys(text.split()))
    return (
        *(f"F\t{path}" for path in (*FILES, _irqbalance.WANTS)),
        *(f"B\t{path}" for path in LARGE_FILES),
        *(f"E\t{path}" for path in THERE),
        *(f"D\t{folder}\t{' '.join(found)}" for folder, found in names.items()),
        *(f"C\t{' '.join(argv)}" for argv in COMMANDS),
        f"M\t{_IRQ}/[0-9]*/smp_affinity",
    )


def script() -> str:
    """The collector's script."""
    network = sorted({*_filesystems.NETWORK, *NETWORK, "fuse"})
    kernel = sorted(kind for kind in _filesystems.KERNEL if kind not in CGROUP_KINDS and not kind.startswith("fuse."))
    values = {
        "NETWORK": "|".join([*network, "fuse.*"]),
        "KERNEL": "|".join(kernel),
        "CGROUP_FILES": CGROUP_FILES,
        "MODULES": " ".join(modules.OF_INTEREST),
        "ETHTOOL": " ".join(ethtool.OPTIONS),
    }
    return collector_script(rules(), values)
