"""The collector's script: the same facts as the probes read themselves, in every shell, leaving nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands._collected import declared, rules, script
from advisor.discover import units
from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.model.facts import Facts, marks
from advisor.probes._run import run_probes
from tests.pci_spaces import acs, ats, express, pci_space, serial
from tests.trees import write_capture, write_link, write_tree

ROOT = Path(__file__).resolve().parent.parent.parent
SHELLS = {"dash": ["dash"], "busybox": ["busybox", "ash"], "bash": ["bash", "--posix"]}
ONLY_LIVE = {"python"}
NOBODY = 65534


def shell(name: str) -> list[str]:
    if shutil.which(SHELLS[name][0]) is None:
        pytest.skip(f"{SHELLS[name][0]} is not installed")
    return SHELLS[name]


def collect(tmp_path: Path, name: str = "dash", text: str = "", **environment: str) -> str:
    """The archive that the script makes; its own folder must be gone."""
    work = tmp_path / f"work-{name}"
    work.mkdir(exist_ok=True)
    work.chmod(0o777)
    archive = tmp_path / f"{name}.tar"
    with open(archive, "wb") as out:
        done = subprocess.run(
            [*shell(name), "-s"],
            input=(text or script()).encode(),
            stdout=out,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(work), **environment},
            timeout=120,
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert list(work.iterdir()) == []
    return str(archive)


def steady(value: object) -> object:
    """Facts without volatile ones."""
    if isinstance(value, Facts):
        known = marks(type(value))
        names = [n for n in type(value).model_fields if n not in known or not known[n].volatile]
        return {name: steady(getattr(value, name)) for name in names}
    return [steady(item) for item in value] if isinstance(value, tuple) else value


def facts_and_gaps(host: Host) -> dict[str, object]:
    """Every section and all gaps, as JSON types."""
    snapshot, defects = run_probes(host, units("probes"))
    assert defects == ()
    sections: dict[str, object] = {n: steady(facts) for n, facts in snapshot.facts.items() if n not in ONLY_LIVE}
    sections["gaps"] = {path: gap for path, gap in snapshot.gaps.items() if not path.startswith("python environment")}
    return sections


def assert_same(told: dict[str, object], wanted: dict[str, object]) -> None:
    assert told.keys() == wanted.keys()
    for name in wanted:
        assert told[name] == wanted[name], name


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "collector.sh").write_text(script())
    done = subprocess.run(["shellcheck", str(tmp_path / "collector.sh")], capture_output=True, text=True, timeout=120)
    assert done.stdout == ""


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["collector"]) == 0
    assert capsys.readouterr().out == script()
    assert run(["collector", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["script"] == script()


@pytest.mark.parametrize("name", SHELLS)
def test_facts_of_this_machine_are_those_that_the_probes_read(name: str, tmp_path: Path) -> None:
    assert_same(facts_and_gaps(open_root(collect(tmp_path, name))), facts_and_gaps(LiveHost.here()))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_nobody_collects_what_nobody_may_read(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from tests.host.test_collector import *; facts_and_gaps("
        "LiveHost.here()); open_root(sys.argv[3]); os.setgroups([]); os.setgid(NOBODY); os.setuid(NOBODY)\n"
        "done = subprocess.run(['dash', '-s'], input=script().encode(), stdout=open(sys.argv[2], 'wb'), cwd='/')\n"
        "assert done.returncode == 0\n"
        "assert_same(facts_and_gaps(open_root(sys.argv[2])), facts_and_gaps(LiveHost.here()))\n"
    )
    shell("dash")
    mine = collect(tmp_path)
    # A folder of its own: those of pytest are closed to nobody, and other runs of it tidy them up.
    with tempfile.TemporaryDirectory(prefix="nobody-") as folder:
        Path(folder).chmod(0o755)
        theirs = Path(folder, "nobody.tar")
        theirs.touch()
        theirs.chmod(0o666)
        done = subprocess.run(
            [sys.executable, "-c", code, str(ROOT), str(theirs), mine],
            capture_output=True,
            text=True,
            env={**os.environ, "TMPDIR": tempfile.gettempdir()},
            timeout=120,
        )
    assert done.returncode == 0, done.stderr


GPU = "/sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0"
NIC = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"
NVME = "/sys/devices/pci0000:64/0000:64:02.0/0000:65:00.0"
DISK = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0"
MOUNTS = (
    "20 1 0:19 / /proc rw - proc proc rw\n21 1 0:20 / /sys rw - sysfs sysfs rw\n"
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n30 21 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    "41 22 0:41 / /tank rw - zfs tank/data rw\n42 22 0:42 / /scratch rw - lustre 10.0.0.8@tcp:/scratch rw\n"
    "40 22 0:40 / /data rw,noatime - nfs4 filer:/export rw,vers=4.2,hard,addr=10.0.0.9\n"
)
CONTENTS: dict[str, str | bytes] = {
    "/proc/self/mountinfo": MOUNTS,
    "/proc/self/cgroup": "0::/job.slice/step\\x2d1.scope\n",
    "/proc/self/status": "CapEff:\t0000000000004000\nCpus_allowed_list:\t0-1,3\n",
    "/proc/self/limits": "Max locked memory         65536                unlimited            bytes\n",
    "/sys/fs/cgroup/job.slice/cpu.max": "150000 100000\n",
    "/sys/fs/cgroup/job.slice/memory.max": "max\n",
    "/sys/fs/cgroup/job.slice/step\\x2d1.scope/cpu.max": "max 100000\n",
    "/sys/fs/cgroup/job.slice/step\\x2d1.scope/memory.max": "8589934592\n",
    "/proc/cmdline": "quiet nvme.poll_queues=4 iommu=pt\n",
    "/proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu lm\n",
    "/proc/meminfo": "MemTotal:       16777216 kB\n",
    "/proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
    "/proc/sys/vm/swappiness": "60\n",
    "/proc/sys/vm/laptop_mode": "0",
    "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "/proc/1/comm": "systemd\n",
    "/etc/fstab": "/dev/sda1 / ext4 noatime 0 1\n",
    "/etc/systemd/system/data.mount": "[Mount]\nWhat=filer:/export\nWhere=/data\nType=nfs\n",
    "/proc/self/mountstats": "device filer:/export mounted on /data with fstype nfs4 statvers=1.1\n\tage:\t13968\n",
    "/proc/mdstat": "Personalities : [raid0]\n",
    "/proc/spl/kstat/zfs/arcstats": "13 1 0x01 98 26656 486 123\nname type data\nc_max 4 8367976448\n",
    "/tank/": "",
    "/sys/module/zfs/version": "2.2.4-1\n",
    "/sys/module/zfs/parameters/zfs_arc_max": "0\n",
    "/sys/fs/lustre/llite/scratch-ffff9d2c4f6b8000/max_read_ahead_mb": "64\n",
    "/sys/devices/virtual/bdi/0:40/read_ahead_kb": "128\n",
    "/etc/sysctl.conf": "vm.swappiness = 5\n",
    "/etc/sysctl.d/10-a.conf": "# a\nvm.laptop_mode=0\n -net/ipv4/tcp_rmem = 1 2 3\n",
    "/etc/modprobe.d/it's \"odd\" \\ one.conf": "options my-module depth=4\noptions nvme io_queue_depth=512",
    "/sys/module/nvme/parameters/io_queue_depth": "1024\n",
    "/sys/module/nvme/initstate": "live\n",
    "/sys/module/my_module/parameters/depth": "4\n",
    "/sys/class/dmi/id/sys_vendor": "Supermicro\n",
    "/sys/class/power_supply/": "",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/sys/kernel/iommu_groups/7/type": "DMA-FQ\n",
    "/proc/interrupts": "           CPU0       CPU1\n"
    "  90:         5          0  PCI-MSI 1-edge  mlx5_comp0@pci:0000:3b:00.0\n",
    "/proc/irq/90/smp_affinity": "3\n",
    "/proc/irq/90/smp_affinity_list": "0-1\n",
    "/proc/irq/90/effective_affinity_list": "0\n",
    "/proc/irq/90/node": "1\n",
    "/proc/net/softnet_stat": "00000001 00000000 00000000 00000000 00000000\n",
    **{f"/sys/devices/system/cpu/{name}": "0-1\n" for name in ("online", "present", "possible")},
    **{
        f"/sys/devices/system/cpu/cpu{n}/topology/{name}": f"{n}\n"
        for n in range(2)
        for name in ("core_id", "physical_package_id", "thread_siblings_list", "core_siblings_list")
    },
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver": "intel_pstate\n",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "powersave\n",
    "/sys/devices/system/cpu/smt/active": "0\n",
    **{
        f"/sys/devices/system/cpu/cpu{n}/cache/index{k}/{name}": text
        for n in range(2)
        for k in (0, 3)
        for name, text in (("level", f"{k}\n"), ("size", "1024K\n"), ("shared_cpu_list", f"{n}\n"))
    },
    **{f"/sys/devices/system/cpu/cpu0/cpuidle/state1/{name}": "1\n" for name in ("name", "latency", "disable")},
    **{f"/sys/devices/system/cpu/cpu{n}/thermal_throttle/core_throttle_count": "1\n" for n in range(2)},
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq": "2400000\n",
    "/sys/devices/system/cpu/vulnerabilities/l1tf": "Not affected\n",
    "/sys/devices/system/edac/mc/mc0/ce_count": "0\n",
    "/sys/devices/system/edac/mc/mc0/mc_name": "Skylake Socket#0 IMC#0\n",
    "/sys/devices/system/edac/mc/mc0/dimm0/dimm_label": "A1\n",
    "/sys/devices/virtual/memory_tiering/memory_tier4/nodelist": "0\n",
    "/sys/devices/system/node/has_memory": "0\n",
    "/sys/devices/system/node/node0/numastat": "numa_hit 1\n",
    "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages": "512\n",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "512\n",
    "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled": "always [inherit] never\n",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag": "1\n",
    "/proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
    "/proc/stat": "cpu  1 2 3 4\n",
    "/proc/loadavg": "0.00 0.00 0.00 1/2 3\n",
    "/sys/fs/cgroup/job.slice/memory.swap.max": "0\n",
    "/sys/fs/cgroup/job.slice/step\\x2d1.scope/cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
    "/sys/fs/cgroup/system.slice/slurmd.service/cgroup.procs": "77\n78\n",
    "/proc/77/comm": "slurmstepd\n",
    "/proc/78/comm": "slurmd\n",
    "/proc/78/limits": "Max locked memory         65536                unlimited            bytes\n",
    "/sys/devices/system/node/node0/cpulist": "0-1\n",
    "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       16777216 kB\n",
    "/sys/devices/system/node/node0/distance": "10\n",
    f"{GPU}/class": "0x030200\n",
    f"{GPU}/vendor": "0x10de\n",
    f"{GPU}/numa_node": "0\n",
    f"{GPU}/current_link_width": "16\n",
    f"{GPU}/config": pci_space(express(relaxed=True), extended=(serial(), ats(enabled=True), (0x0B, b"\n\n\0\r\n"))),
    f"{GPU}/power/runtime_status": "active\n",
    f"{GPU}/resource": "0x0000000000000000 0x0000000000ffffff 0x0000000000040200\n" * 13,
    f"{GPU}/../config": pci_space(express("root port"), extended=(acs(on=0x1D),), bridge=True),
    f"{NVME}/config": pci_space(express())[:64],
    f"{NIC}/config": pci_space(express(), vendor=0x15B3),
    f"{NIC}/power/runtime_status": "suspended\n",
    f"{GPU}/../class": "0x060400\n",
    f"{GPU}/../max_link_width": "16\n",
    f"{NIC}/class": "0x020000\n",
    f"{NIC}/vendor": "0x15b3\n",
    f"{NIC}/numa_node": "1\n",
    f"{NIC}/msi_irqs/90": "msix\n",
    f"{NIC}/net/eth0/mtu": "9000\n",
    f"{NIC}/net/eth0/type": "1\n",
    f"{NIC}/net/eth0/queues/rx-0/rps_cpus": "00000000\n",
    f"{NIC}/net/eth0/queues/rx-0/rps_flow_cnt": "0\n",
    f"{NIC}/net/eth0/queues/tx-0/xps_cpus": "00000001\n",
    f"{NIC}/net/eth0/qos/trust": "dscp\n",
    **{f"{NIC}/net/eth0/ecn/roce_np/enable/{n}": "1\n" for n in range(8)},
    f"{NIC}/infiniband/mlx5_0/node_guid": "0c42:a103:005e:7731\n",
    f"{NIC}/infiniband/mlx5_0/node_type": "1: CA\n",
    f"{NIC}/infiniband/mlx5_0/tc/1/traffic_class": "Global tclass=106\n",
    f"{NIC}/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
    f"{NIC}/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
    f"{NIC}/infiniband/mlx5_0/ports/1/link_layer": "Ethernet\n",
    f"{NIC}/infiniband/mlx5_0/ports/1/counters/port_xmit_wait": "12\n",
    f"{NIC}/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence": "3\n",
    **{f"{NIC}/infiniband/mlx5_0/ports/1/gids/{n}": "0000:" * 7 + "0000\n" for n in range(4, 12)},
    **{f"{NIC}/infiniband/mlx5_0/ports/1/gids/{n}": "0000:" * 5 + "ffff:0a00:0001\n" for n in range(4)},
    **{f"{NIC}/infiniband/mlx5_0/ports/1/gid_attrs/types/{n}": "RoCE v2\n" for n in range(4)},
    **{f"{NIC}/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/{n}": "eth0\n" for n in range(4)},
    "/sys/devices/virtual/net/bond0/bonding/mode": "802.3ad 4\n",
    "/sys/devices/virtual/net/bond0/uevent": "DEVTYPE=bond\nINTERFACE=bond0\n",
    f"{NVME}/class": "0x010802\n",
    f"{NVME}/numa_node": "1\n",
    f"{NVME}/nvme/nvme0/transport": "pcie\n",
    f"{NVME}/nvme/nvme0/nvme0n1/queue/scheduler": "[none] mq-deadline\n",
    f"{NVME}/nvme/nvme0/nvme0n1/size": "1000\n",
    f"{NVME}/nvme/nvme0/nvme0n1/nvme0n1p1/size": "900\n",
    f"{NVME}/nvme/nvme0/nvme0n1/nvme0n1p1/dev": "259:1\n",
    f"{NVME}/nvme/nvme0/nvme0n1/nvme0n1p1/holders/md0/": "",
    f"{NVME}/nvme/nvme0/model": "SAMSUNG MZQL21T9\n",
    f"{DISK}/model": "ST2000NM\n",
    f"{DISK}/block/sda/queue/rotational": "1\n",
    f"{DISK}/block/sda/sda1/size": "800\n",
    f"{DISK}/scsi_disk/0:0:0:0/cache_type": "write through\n",
    "/sys/devices/virtual/block/md0/md/level": "raid0\n",
    "/sys/devices/virtual/block/md0/md/chunk_size": "524288\n",
    "/sys/devices/virtual/block/md0/md/bitmap/location": "none\n",
    "/sys/devices/virtual/block/md0/md/dev-nvme0n1p1/state": "in_sync\n",
    "/sys/devices/virtual/block/md0/slaves/nvme0n1p1/": "",
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n",
    "/proc/driver/nvidia/gpus/0000:18:00.0/information": "Model: \t\t NVIDIA H100 80GB HBM3\n",
    "/dev/infiniband/uverbs0": "",
    "/usr/lib/sysctl.d/50-x.conf": "vm.swappiness=7\n",
}  # fmt: skip
LINKS = {
    "/lib": "usr/lib",
    "/etc/sysctl.d/99-sysctl.conf": "../sysctl.conf",
    "/sys/bus/pci/devices/0000:17:01.0": "../../../devices/pci0000:17/0000:17:01.0",
    "/sys/bus/pci/devices/0000:18:00.0": f"../../..{GPU.removeprefix('/sys')}",
    "/sys/bus/pci/devices/0000:3b:00.0": f"../../..{NIC.removeprefix('/sys')}",
    "/sys/bus/pci/devices/0000:65:00.0": f"../../..{NVME.removeprefix('/sys')}",
    f"{GPU}/driver": "../../../../bus/pci/drivers/nvidia",
    f"{NIC}/driver": "../../../../bus/pci/drivers/mlx5_core",
    f"{NIC}/iommu_group": "../../../../kernel/iommu_groups/7",
    f"{NIC}/net/eth0/device": "../../../0000:3b:00.0",
    f"{NIC}/net/eth0/master": "../../../../../virtual/net/bond0",
    f"{NIC}/infiniband/mlx5_0/device": "../../../0000:3b:00.0",
    "/sys/class/net/eth0": f"../..{NIC.removeprefix('/sys')}/net/eth0",
    "/sys/class/net/bond0": "../../devices/virtual/net/bond0",
    "/sys/class/infiniband/mlx5_0": f"../..{NIC.removeprefix('/sys')}/infiniband/mlx5_0",
    "/sys/class/bdi/0:40": "../../devices/virtual/bdi/0:40",
    "/sys/block/nvme0n1": f"..{NVME.removeprefix('/sys')}/nvme/nvme0/nvme0n1",
    "/sys/block/sda": f"..{DISK.removeprefix('/sys')}/block/sda",
    "/sys/block/md0": "../devices/virtual/block/md0",
    f"{NVME}/nvme/nvme0/nvme0n1/device": "../../nvme0",
    f"{NVME}/nvme/nvme0/device": "../../../0000:65:00.0",
    f"{NVME}/driver": "../../../../bus/pci/drivers/nvme",
    f"{DISK}/block/sda/device": "../../../0:0:0:0",
}  # fmt: skip


def big_node(folder: Path) -> Path:
    write_tree(folder, CONTENTS)
    for path, target in LINKS.items():
        write_link(folder, path, target)
    return folder


@pytest.mark.parametrize("name", SHELLS)
def test_a_node_with_gpus_rdma_and_raid_gives_what_the_probes_read_of_it(name: str, tmp_path: Path) -> None:
    root = big_node(tmp_path / "node")
    told = open_root(archive := collect(tmp_path, name, ADVISOR_COLLECTOR_ROOT=str(root)))
    wanted = as_it_is(tmp_path, archive)
    assert_same(facts_and_gaps(told), facts_and_gaps(wanted))
    assert told.mode("/proc/irq/90/smp_affinity") == 0o644
    spaces = {f"{folder}/config": told.data(f"{folder}/config") for folder in (GPU, NVME, NIC)}
    # A device that sleeps is not woken.
    assert spaces == {path: None if path.startswith(NIC) else CONTENTS[path] for path in spaces}


def as_it_is(tmp_path: Path, archive: str) -> Host:
    """A capture of the same node that holds all its files; commands and calls, which are this machine's, as told."""
    write_capture(tmp_path / "wanted", CONTENTS)
    for path, target in LINKS.items():
        write_link(tmp_path / "wanted/fs", path, target)
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "told", filter="data")
    shutil.rmtree(tmp_path / "wanted/cmd")
    shutil.move(tmp_path / "told/cmd", tmp_path / "wanted/cmd")
    shutil.copy(tmp_path / "told/advisor-capture.json", tmp_path / "wanted")
    calls = json.loads((tmp_path / "told/calls.json").read_text())
    assert calls["affinity"] == [0, 1, 3]
    del calls["names"], calls["exists"]
    (tmp_path / "wanted/calls.json").write_text(json.dumps(calls))
    failed = [line for line in (tmp_path / "told/errors.tsv").read_text().splitlines() if not line.startswith("/")]
    with open(tmp_path / "wanted/errors.tsv", "a") as errors:
        errors.write("\n".join(failed) + "\n")
    return open_root(str(tmp_path / "wanted"))


def test_every_file_comes_as_it_is(tmp_path: Path) -> None:
    contents: dict[str, bytes] = {
        "/proc/swaps": b"",
        "/etc/fstab": b"no newline at the end",
        "/proc/version": b"\n\ntwo empty lines first and last\n\n\n",
        "/etc/tuned/active_profile": b"bytes \xff\xfe \\n %s `x` $(y) \"'\n",
        "/etc/hostname": b"  blanks around\t \n",
        "/proc/cmdline": b"a=b\n" * 5000,
    }
    write_tree(tmp_path / "node", contents)
    without_awk = script().replace("| awk -v n=2", "| no-such-awk -v n=2")
    for name, text in ((name, text) for name in SHELLS for text in (script(), without_awk)):
        told = open_root(collect(tmp_path, name, text, ADVISOR_COLLECTOR_ROOT=str(tmp_path / "node")))
        assert {path: told.data(path, 1 << 20) for path in contents} == contents


def test_what_is_no_plain_file_is_never_opened(tmp_path: Path) -> None:
    root = tmp_path / "node"
    write_tree(root, {"/proc/cmdline": "x\n", "/etc/sysctl.d/": ""})
    os.mkfifo(root / "etc/fstab")
    os.mkfifo(root / "etc/sysctl.d/a.conf")
    (root / "etc/sysctl.d/b\nc.conf").write_text("vm.swappiness=1\n")
    (root / "etc/sysctl.d/loop.conf").symlink_to("loop.conf")
    (root / "etc/sysctl.d/masked.conf").symlink_to("/dev/null")
    told = open_root(collect(tmp_path, ADVISOR_COLLECTOR_ROOT=str(root)))
    assert told.names("/etc/sysctl.d") == ("a.conf", "loop.conf", "masked.conf")
    assert told.data("/etc/fstab") is None
    assert told.data("/etc/sysctl.d/a.conf") is None


def slow_script() -> str:
    """The script with a command that hangs."""
    slow = script().replace("C\tuname -m", "C\tsleep 997")
    assert slow != script()
    return slow


@pytest.mark.parametrize("name", SHELLS)
def test_a_command_that_hangs_is_given_up(name: str, tmp_path: Path) -> None:
    write_tree(tmp_path / "node", {"/proc/cmdline": "quiet\n"})
    told = open_root(
        collect(
            tmp_path,
            name,
            text=slow_script(),
            ADVISOR_COLLECTOR_JOB_SECONDS="1",
            ADVISOR_COLLECTOR_ROOT=str(tmp_path / "node"),
        )
    )
    assert told.run(["sleep", "997"]) is None
    assert told.gaps["command: sleep 997"] == "timed out"
    assert told.run(["systemd-detect-virt", "--vm"]) is not None or told.gaps.popitem()[1] == "absent"
    assert told.text("/proc/cmdline") == "quiet"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name)
@pytest.mark.parametrize("name", SHELLS)
def test_nothing_is_left_of_one_that_was_killed(name: str, number: signal.Signals, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    process = subprocess.Popen(
        [*shell(name), "-c", slow_script().replace("997", "998")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(work)},
    )
    assert _in_time(lambda: any(command == "sleep\x00998\x00" for command in _commands(work)))
    process.send_signal(number)
    process.wait(30)
    assert _in_time(lambda: list(work.iterdir()) == [])
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
    assert _in_time(lambda: not any(command == "sleep\x00998\x00" for command in _commands(work)))


def _commands(work: Path) -> list[str]:
    """The command lines of processes that have this folder in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if f"TMPDIR={work}\0".encode() in Path(f"/proc/{entry}/environ").read_bytes():
                found.append(Path(f"/proc/{entry}/cmdline").read_text(errors="replace"))
        except OSError:
            continue
    return found


def _in_time(done: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if done():
            return True
        time.sleep(0.05)
    return False


def test_after_its_time_it_brings_what_it_has(tmp_path: Path) -> None:
    write_tree(tmp_path / "node", {"/proc/cmdline": "quiet\n", "/etc/fstab": "/dev/sda1 / ext4 ro 0 1\n"})
    done = subprocess.run(
        [*shell("dash"), "-c", slow_script()],
        capture_output=True,
        env={
            **os.environ,
            "TMPDIR": str(tmp_path),
            "ADVISOR_COLLECTOR_SECONDS": "1",
            "ADVISOR_COLLECTOR_ROOT": str(tmp_path / "node"),
        },
        timeout=60,
    )
    assert done.returncode == 0
    assert b"stopped reading after 1 seconds" in done.stderr
    (tmp_path / "part.tar").write_bytes(done.stdout)
    told = open_root(str(tmp_path / "part.tar"))
    assert told.text("/proc/cmdline") == "quiet"
    assert told.run(["systemd-detect-virt", "--vm"]) is None
    assert told.gaps["command: systemd-detect-virt --vm"] == "timed out"


@pytest.mark.parametrize("name", SHELLS)
def test_once_its_time_is_over_it_looks_at_nothing_more(name: str, tmp_path: Path) -> None:
    over = script().replace('    rules > "$W/rules"', '    : > "$W/over"; kill -USR1 $$; rules > "$W/rules"')
    archive = tmp_path / "part.tar"
    with open(archive, "wb") as out:
        done = subprocess.run(
            [*shell(name), "-c", over],
            stdout=out,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "TMPDIR": str(tmp_path),
                "ADVISOR_COLLECTOR_ROOT": str(big_node(tmp_path / "node")),
            },
            timeout=60,
        )
    assert (done.returncode, b"stopped reading" in done.stderr) == (0, True)
    with tarfile.open(archive) as tar:
        files = {member.name for member in tar if member.isfile()}
    assert files == {
        *("advisor-capture.json", "calls.json", "errors.tsv", "fs/proc/self/mountinfo", "fs/proc/self/cgroup")
    }
    told = open_root(str(archive))
    assert told.text("/proc/cmdline") is told.names("/sys/class/net") is told.statvfs("/") is None
    assert told.run(["uname", "-m"]) is told.exists("/dev/kfd") is told.mode("/proc/irq/90/smp_affinity") is None
    assert told.gaps.pop("/proc/irq/90/smp_affinity") == "not captured"
    assert set(told.gaps.values()) == {"timed out"}


@pytest.mark.parametrize("awk", ["awk", "no-such-awk"])
@pytest.mark.parametrize("name", SHELLS)
def test_a_file_that_never_answers_costs_only_itself(name: str, awk: str, tmp_path: Path) -> None:
    slow = script().replace('main "$@"', "").replace("| awk -v n=2", f"| {awk} -v n=2")
    slow = slow.replace('job cat "$@"', 'job slow_cat "$@"')
    slow += 'slow_cat() { for file do case $file in */etc/fstab) sleep 20 ;; esac; cat "$file"; done; }\nmain "$@"\n'
    contents = {f"/sys/module/nvme/parameters/p{n}": f"{n}\n" for n in range(30)}
    write_tree(tmp_path / "node", {**contents, "/etc/fstab": "/dev/sda1 / ext4 ro 0 1\n", "/proc/cmdline": "quiet\n"})
    environment = {"ADVISOR_COLLECTOR_JOB_SECONDS": "1", "ADVISOR_COLLECTOR_ROOT": str(tmp_path / "node")}
    told = open_root(collect(tmp_path, name, text=slow, **environment))
    assert told.text("/etc/fstab") is None
    assert told.gaps["/etc/fstab"] == "timed out"
    assert {path: told.text(path, 100) for path in contents} == {path: text.strip() for path, text in contents.items()}


def test_links_to_servers_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "node"
    mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 0:40 / /far rw - nfs4 filer:/x rw,hard\n"
    write_tree(root, {"/proc/self/mountinfo": mounts, "/far/a.conf": "vm.swappiness=1\n", "/near/b.conf": "vm.x=2\n"})
    write_link(root, "/etc/sysctl.d/a.conf", "/far/a.conf")
    write_link(root, "/etc/sysctl.d/b.conf", "../../near/b.conf")
    told = open_root(collect(tmp_path, ADVISOR_COLLECTOR_ROOT=str(root)))
    assert told.link("/etc/sysctl.d/a.conf") == "/far/a.conf"
    assert told.text("/etc/sysctl.d/a.conf") is None
    assert told.gaps["/etc/sysctl.d/a.conf"] == "not captured"
    assert told.text("/etc/sysctl.d/b.conf") == "vm.x=2"
    assert told.statvfs("/far") is None


def test_a_script_that_came_in_part_does_nothing(tmp_path: Path) -> None:
    whole = script()
    done = subprocess.run(
        [*shell("dash"), "-s"],
        input=whole[: len(whole) * 2 // 3].encode(),
        capture_output=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        timeout=60,
    )
    assert done.stdout == b""
    assert list(tmp_path.iterdir()) == []


def test_a_node_without_tar_is_told_so(tmp_path: Path) -> None:
    without = script().replace("for tool in tar ", "for tool in no-such-tar ")
    done = subprocess.run([*shell("dash"), "-c", without], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (3, "")
    assert "this node has no no-such-tar" in done.stderr


def test_its_archive_is_redacted_by_capture(tmp_path: Path) -> None:
    root = big_node(tmp_path / "node")
    write_tree(root, {"/proc/sys/kernel/hostname": "quokka17\n", "/proc/cmdline": "quiet host=quokka17\n"})
    raw = collect(tmp_path, ADVISOR_COLLECTOR_ROOT=str(root))
    assert run(["capture", str(tmp_path / "safe.tar"), "--root", raw, "--quiet"]) == 0
    safe = (tmp_path / "safe.tar").read_bytes()
    for secret in (b"quokka17", b"0c42:a103:005e:7731", b"0a00:0001", b"10.0.0.9", b"filer"):
        assert secret in Path(raw).read_bytes()
        assert secret not in safe


def test_of_the_environment_only_what_runs_jobs_comes_and_no_credential(tmp_path: Path) -> None:
    root = str(big_node(tmp_path / "node"))
    kept = {"NCCL_IB_PKEY": "1", "UCX_IB_PKEY": "0xffff", "NCCL_DEBUG": "INFO"}
    others = {"NVIDIA_API_KEY": "x", "WANDB_API_KEY": "x", "SLURM_JWT": "x", "nccl_token": "x"}
    told = open_root(collect(tmp_path, ADVISOR_COLLECTOR_ROOT=root, **kept, **others)).environment() or {}
    assert {name: told.get(name) for name in kept} == kept
    assert told.keys().isdisjoint(others)


def test_no_folder_is_declared_twice() -> None:
    folders = [line.split("\t")[1] for line in rules() if line.startswith("D\t")]
    assert len(folders) == len(set(folders))
    assert {folder for one in declared() for folder, _ in one.folders} <= set(folders)


def test_every_probe_of_the_machine_declares_what_it_reads() -> None:
    silent = [name for name, module in units("probes").items() if not hasattr(module, "COLLECTED")]
    assert silent == ["ethtool", "python"], "the collector asks for these by itself"
