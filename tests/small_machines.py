"""Parts of machines for tests of rules: each returns the files, by absolute path, that tell one thing about a host."""

from collections.abc import Mapping, Sequence

from tests.pci_spaces import acs, express, pci_space

Files = dict[str, str | bytes]
CPU = "/sys/devices/system/cpu"
GPU, NIC, RDMA, BRIDGE = "0x030200", "0x020000", "0x020700", "0x060400"
HOST = "/sys/devices/pci0000:16"
REDIRECTS = 0x1D
"""Source validation, redirection of requests and completions, forwarding: as firmware switches ACS on."""


def server(release: str = "6.8.0-45-generic", cpuinfo: str = "vendor_id : AuthenticAMD\nflags : fpu lm\n") -> Files:
    """A server with Linux, out of any container."""
    return {
        "/proc/cpuinfo": f"processor : 0\n{cpuinfo}",
        "/proc/sys/kernel/osrelease": f"{release}\n",
        "/proc/1/comm": "systemd\n",
        "/sys/class/dmi/id/sys_vendor": "Supermicro\n",
        "/sys/class/dmi/id/product_name": "AS-4124GS-TNR\n",
        "/sys/class/dmi/id/chassis_type": "23\n",
        "/proc/cmdline": "BOOT_IMAGE=/vmlinuz ro\n",
    }


def guest() -> Files:
    """A machine of KVM."""
    files = server(cpuinfo="vendor_id : GenuineIntel\nflags : fpu lm hypervisor\n")
    return files | {"/sys/class/dmi/id/sys_vendor": "QEMU\n", "/sys/class/dmi/id/product_name": "Standard PC\n"}


def container() -> Files:
    """What tells a container of Docker."""
    return {**server(), "/.dockerenv": "", "/proc/self/cgroup": "0::/\n"}


def nodes(*lists: str) -> Files:
    """NUMA nodes with these CPUs."""
    files: Files = {}
    for number, cpus in enumerate(lists):
        folder = f"/sys/devices/system/node/node{number}"
        files |= {f"{folder}/cpulist": f"{cpus}\n", f"{folder}/meminfo": f"Node {number} MemTotal: 263000000 kB\n"}
    return files


def processors(count: int, driver: str = "acpi-cpufreq", governor: str = "performance") -> Files:
    """``count`` CPUs that are online, with one frequency domain."""
    every = f"0-{count - 1}\n"
    policy = f"{CPU}/cpufreq/policy0"
    files: Files = {f"{CPU}/{name}": every for name in ("online", "present", "possible")}
    files |= {f"{policy}/scaling_driver": f"{driver}\n", f"{policy}/scaling_governor": f"{governor}\n"}
    return files | {"/proc/self/status": f"CapEff:\t0000000000000000\nCpus_allowed_list:\t{every}"}


def quota(quota_us: int, period_us: int = 100_000, throttled: int = 0, periods: int = 0) -> Files:
    """A control group with this share of CPU time."""
    folder = "/sys/fs/cgroup/job"
    return {
        "/proc/self/cgroup": "0::/job\n",
        "/proc/self/mountinfo": mount("/sys/fs/cgroup", "cgroup2", "cgroup2"),
        f"{folder}/cpu.max": f"{quota_us} {period_us}\n",
        f"{folder}/cpu.stat": f"usage_usec 1\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec 1\n",
        f"{folder}/memory.max": "max\n",
    }


def mount(point: str, fstype: str, source: str, options: str = "rw", device: str = "0:40") -> str:
    """One line of mountinfo."""
    return f"36 35 {device} / {point} rw - {fstype} {source} {options}\n"


def card(path: str, code: str, node: int = 0, group: int | None = None, **values: str) -> Files:
    """The files of a device at the end of ``path`` below the host bridge, and its IOMMU group's type."""
    vendors = {GPU: "0x10de", NIC: "0x15b3", RDMA: "0x15b3", BRIDGE: "0x1000"}
    told = {"class": code, "vendor": vendors[code], "device": "0x2330", "numa_node": str(node), **values}
    files: Files = {f"{HOST}/{path}/{name}": f"{value}\n" for name, value in told.items()}
    if group is not None:
        files[f"/sys/kernel/iommu_groups/{group}/type"] = f"{values.get('iommu', 'identity')}\n"
    return files


def links(paths: Sequence[str], groups: Mapping[str, int] | None = None) -> dict[str, str]:
    """The links of the bus to all devices on these paths, and of cards to their IOMMU groups."""
    made = {}
    for path in paths:
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            place = "/".join(parts[:end])
            made[f"/sys/bus/pci/devices/{parts[end - 1]}"] = f"../../../devices/pci0000:16/{place}"
    for path, group in (groups or {}).items():
        made[f"{HOST}/{path}/iommu_group"] = f"/sys/kernel/iommu_groups/{group}"
    return made


def port(path: str, kind: str, redirecting: bool) -> Files:
    """A bridge with its configuration space: a root port, an upstream or a downstream port of a switch."""
    extended = [] if kind == "upstream port" else [acs(on=REDIRECTS if redirecting else 0)]
    space = pci_space(express(kind), extended=extended, size=512, vendor=0x1000, bridge=True)
    return {**card(path, BRIDGE), f"{HOST}/{path}/config": space}


def rdma_port(
    name: str, state: str = "4: ACTIVE", phys: str = "5: LinkUp", layer: str = "InfiniBand", **more: str
) -> Files:
    """One RDMA device with one port; ``rate``, ``board`` and ``fw`` may be given."""
    folder = f"/sys/class/infiniband/{name}"
    place = f"{folder}/ports/1"
    return {
        f"{folder}/board_id": f"{more.get('board', 'MT_0000000223')}\n",
        f"{folder}/fw_ver": "20.31.1014\n",
        f"{place}/state": f"{state}\n",
        f"{place}/phys_state": f"{phys}\n",
        f"{place}/rate": f"{more.get('rate', '200 Gb/sec (4X HDR)')}\n",
        f"{place}/link_layer": f"{layer}\n",
    }


def limits(memlock: int | None, nofile: int = 1_048_576) -> dict[str, object]:
    """The answer to a question for the limits of a process; ``None`` is unlimited."""
    return {"limits": {"memlock": [memlock, memlock], "nofile": [nofile, nofile]}}
