"""What `advisor render` writes for whole machines: below tests/golden/out, rewritten by tests.refresh.

Cases: every folder of tests/hosts, with the options in its file ``options`` if there is one (one a line), and two
nodes that are made up here: one on which little is wrong, and the same with what is often forgotten.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from advisor.cli import run
from tests.gpu_node import Machine, gpu_node

ROOT = Path(__file__).resolve().parent.parent
HOSTS = ROOT / "tests" / "hosts"
GOLDEN = "tests/golden/out"
FOLDERS = ("host/", "job/", "suggested/")
"""Where generated files lie; records and reports have tests of their own."""
LOCKED = "Max locked memory         8388608              8388608              bytes"


def clean_node() -> Machine:
    """A node with two GPUs on two sockets, on which little is wrong."""
    return gpu_node(cpus=16, gpus=2, nics=2, drives=2, vectors=24)


def untuned_node() -> Machine:
    """The same as installed: small limits, schedulers, a translating IOMMU, fstab and NFS as somebody copied them."""
    made = clean_node()
    made.put("/proc/self", limits=LOCKED)
    made.put("/sys/module/zswap/parameters", enabled="N")
    _with_slurm(made)
    _with_iommu(made)
    made.put("/etc/systemd/system/multi-user.target.wants", **{"slurmd.service": ""})
    made.put("/usr/lib/systemd/system", **{"slurmd.service": "[Service]\nLimitMEMLOCK=8M"})
    made.put("/usr/lib/systemd/system", **{"containerd.service": "[Service]\nLimitNOFILE=infinity"})
    made.files["/etc/fstab"] = (
        "UUID=0b7e-1 / ext4 defaults 0 1\n/dev/nvme1n1 /scratch ext4 noatime,nobarrier 0 2\n"
        "filer:/data /data nfs4 rw,soft,vers=4.2 0 0\n"
    )
    made.files["/proc/self/mountinfo"] = made.files["/proc/self/mountinfo"].replace("hard,nconnect=8", "soft")
    for path in [path for path in made.files if path.endswith("/queue/scheduler")]:
        made.files[path] = "none [mq-deadline]\n"
    made.files["/proc/driver/nvidia/version"] = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  Release\n"
    made.files["/sys/kernel/mm/memory_peers/"] = ""
    made.put("/proc/sys/net/ipv4", tcp_slow_start_after_idle=1)
    made.put("/proc/sys/kernel", numa_balancing=1)
    del made.files["/etc/sysctl.d/10-site.conf"]
    made.files["/proc/swaps"] += "/dev/nvme0n1p3                          partition\t8388604\t\t0\t\t-2\n"
    made.files["/proc/meminfo"] = made.files["/proc/meminfo"].replace("SwapTotal:      0", "SwapTotal:      8388604")
    return made


def _with_slurm(made: Machine) -> None:
    made.put("/sys/fs/cgroup/system.slice/slurmd.service", **{"cgroup.procs": 900})
    made.put(
        "/proc/900", comm="slurmd", limits="Max locked memory         8388608              8388608              bytes"
    )


def _with_iommu(made: Machine) -> None:
    made.put("/proc", cmdline="BOOT_IMAGE=/vmlinuz root=/dev/nvme0n1p2 ro")
    made.put("/sys/kernel/iommu_groups/1", type="DMA-FQ")
    ends = [path.removesuffix("/class") for path, text in made.files.items() if path.endswith("/class")]
    for place in ends:
        made.links[f"{place}/iommu_group"] = "/sys/kernel/iommu_groups/1"


MADE_UP: Mapping[str, tuple[Callable[[], Machine], Sequence[str]]] = {
    "clean-node": (clean_node, ("--bound",)),
    "untuned-node": (untuned_node, ("--workers", "8", "--data", "/data", "--checkpoints", "/data/out")),
}


def outs() -> Mapping[str, str]:
    """Path below the repository to text, of all files for all cases."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for case, (node, options) in MADE_UP.items():
            found |= _rendered(case, node().write(Path(folder) / case), options)
    for host in sorted(HOSTS.iterdir()):
        told = host / "options"
        found |= _rendered(host.name, host, told.read_text().split() if told.exists() else ())
    return found


def _rendered(case: str, root: Path, options: Sequence[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["render", "--quiet", "--root", str(root), "--out", folder, *options]
        assert run(arguments) == 0
        files = {p.relative_to(folder).as_posix(): p for p in Path(folder).rglob("*") if p.is_file()}
        return {f"{GOLDEN}/{case}/{name}": p.read_text() for name, p in files.items() if name.startswith(FOLDERS)}
