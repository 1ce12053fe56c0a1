"""What the shipped rules say of whole machines: advice that circulates and is wrong, and hosts that are fine."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from advisor.commands._rules import evaluated
from advisor.commands._snapshot import probe_host
from advisor.host.base import Host
from advisor.model.finding import Finding
from advisor.model.job import Job
from tests.trees import write_capture, write_tree

SERVER = {
    "/proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\nflags : fpu lm\n",
    "/proc/sys/kernel/osrelease": "5.15.0-91-generic\n",
    "/sys/class/dmi/id/sys_vendor": "Supermicro\n",
    "/sys/class/dmi/id/product_name": "SYS-421GE\n",
    "/sys/class/dmi/id/chassis_type": "23\n",
}


def findings(host: Host, rule: str, job: Job | None = None) -> tuple[Finding, ...]:
    """What one rule says of a machine; all probes and all rules run."""
    snapshot, defects = probe_host(host, job)
    report = evaluated(snapshot)
    assert not defects
    assert not report.defects
    return tuple(finding for finding in report.findings if finding.rule == rule)


def verdicts(host: Host, rule: str, job: Job | None = None) -> set[str]:
    return {finding.verdict for finding in findings(host, rule, job)}


def keys(found: Sequence[Finding]) -> set[str]:
    return {setting.key for finding in found for setting in finding.settings}


def two_nodes(cpus: int = 2) -> dict[str, str]:
    """Two NUMA nodes with one CPU each."""
    files = {f"/sys/devices/system/node/node{n}/cpulist": f"{n}\n" for n in range(cpus)}
    return files | {
        f"/sys/devices/system/node/node{n}/meminfo": f"Node {n} MemTotal: 1000000 kB\n" for n in range(cpus)
    }


def card(address: str, class_code: str, **files: str) -> dict[str, str]:
    """The files of a PCI device, without the device tree around it."""
    folder = f"/sys/bus/pci/devices/{address}"
    codes = {f"{folder}/class": f"{class_code}\n", f"{folder}/vendor": "0x10de\n", f"{folder}/device": "0x2330\n"}
    return codes | {f"{folder}/{name}": f"{text}\n" for name, text in files.items()}


def mount(point: str, fstype: str, source: str, options: str = "rw") -> str:
    return f"36 35 0:40 / {point} rw - {fstype} {source} {options}\n"


def test_a_modprobe_line_from_an_article_is_dead_and_is_not_generated(tmp_path: Path) -> None:
    host = write_tree(
        tmp_path,
        SERVER
        | {
            "/etc/modprobe.d/mlx5_core.conf": "options mlx5_core log_max_qp=18 log_max_mkey=16 log_max_cq=18\n",
            "/sys/module/mlx5_core/parameters/debug_mask": "0\n",
            "/sys/module/mlx5_core/parameters/prof_sel": "2\n",
        },
    )
    found = findings(host, "rdma/dead-mlx5-options")
    assert [finding.verdict for finding in found] == ["fails"] * 3
    assert all(finding.severity == "warn" for finding in found)
    snapshot, _ = probe_host(host)
    assert not any("log_max" in key for key in keys(evaluated(snapshot).findings))


def test_dead_options_of_a_module_that_is_not_loaded_are_unknown(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/etc/modprobe.d/mlx5.conf": "options mlx5_core log_max_qp=18\n"})
    assert verdicts(host, "rdma/dead-mlx5-options") == {"unknown"}


@pytest.mark.parametrize(
    ("rmem", "wmem"),
    [("4096 262144 134217728", "4096 262144 134217728"), ("4096 131072 6291456", "4096 16384 4194304")],
    ids=["128 MiB from an article", "the kernel's defaults"],
)
def test_tcp_buffers_in_a_data_hall_with_100_gigabits_are_left_alone(tmp_path: Path, rmem: str, wmem: str) -> None:
    host = write_tree(tmp_path, SERVER | tcp_over("100000", rmem, wmem))
    assert verdicts(host, "network/tcp-ceiling-below-bdp") == {"holds"}
    snapshot, _ = probe_host(host)
    assert keys(evaluated(snapshot).findings).isdisjoint(
        {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.core.rmem_max", "net.core.wmem_max"}
    )


def test_a_virtual_card_that_tells_no_speed_asks_for_no_tcp_setting(tmp_path: Path) -> None:
    host = write_tree(tmp_path, SERVER | tcp_over("-1", "4096 131072 6291456", "4096 16384 4194304"))
    found = findings(host, "network/tcp-ceiling-below-bdp")
    assert [finding.verdict for finding in found] == ["unknown"]
    assert not keys(found)
    assert verdicts(host, "network/slow-start-after-idle") == {"unknown"}


def tcp_over(speed: str, rmem: str, wmem: str) -> dict[str, str]:
    """One Ethernet card without RDMA, and the kernel's TCP buffers."""
    return {
        "/sys/class/net/eth0/device/vendor": "0x15b3\n",
        "/sys/class/net/eth0/speed": f"{speed}\n",
        "/sys/class/net/eth0/operstate": "up\n",
        "/sys/class/net/eth0/type": "1\n",
        "/sys/class/infiniband/": "",
        "/proc/self/mountinfo": mount("/", "ext4", "/dev/sda1"),
        "/proc/sys/net/ipv4/tcp_rmem": f"{rmem}\n",
        "/proc/sys/net/ipv4/tcp_wmem": f"{wmem}\n",
        "/proc/sys/net/ipv4/tcp_slow_start_after_idle": "1\n",
    }


@pytest.mark.parametrize(
    ("fstype", "removed", "unsafe"),
    [("xfs", "fails", "not-applicable"), ("ext4", "not-applicable", "fails")],
)
def test_nobarrier_in_fstab(tmp_path: Path, fstype: str, removed: str, unsafe: str) -> None:
    host = write_tree(tmp_path, SERVER | {"/etc/fstab": f"/dev/md0 /ceph {fstype} noatime,nobarrier 0 0\n"})
    assert verdicts(host, "storage/fstab-option-removed") == {removed}
    assert verdicts(host, "storage/fstab-disables-barriers") == {unsafe}
    failing = [*findings(host, "storage/fstab-option-removed"), *findings(host, "storage/fstab-disables-barriers")]
    assert {finding.severity for finding in failing if finding.verdict == "fails"} == {"critical"}


def test_nobarrier_on_a_kernel_that_still_knew_it_is_not_called_removed(tmp_path: Path) -> None:
    files = {"/proc/sys/kernel/osrelease": "4.18.0-305.el8.x86_64\n", "/etc/fstab": "/dev/md0 /d xfs nobarrier 0 0\n"}
    assert verdicts(write_tree(tmp_path, files), "storage/fstab-option-removed") == {"holds"}


@pytest.mark.parametrize(
    ("path", "verdict"),
    [("/dev/shm/run1", "fails"), ("/scratch/run1", "holds"), ("/home/run1", "fails"), (None, "unknown")],
    ids=["tmpfs", "xfs", "layer of a container", "not told"],
)
def test_where_checkpoints_go(tmp_path: Path, path: str | None, verdict: str) -> None:
    mounts = mount("/", "overlay", "overlay") + mount("/dev/shm", "tmpfs", "shm", "rw,size=64g")
    files = {"/proc/self/mountinfo": mounts + mount("/scratch", "xfs", "/dev/nvme0n1"), "/.dockerenv": ""}
    host = write_tree(tmp_path, files)
    assert verdicts(host, "storage/checkpoint-on-volatile-fs", Job(output_path=path)) == {verdict}


def test_the_shared_memory_that_container_runtimes_give_is_too_small(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/self/mountinfo": mount("/dev/shm", "tmpfs", "shm", "rw,size=65536k")})
    (finding,) = findings(host, "memory/shm-too-small")
    assert (finding.verdict, finding.severity) == ("fails", "critical")
    assert finding.message == "/dev/shm holds 64 MiB"


@pytest.mark.parametrize(
    ("nodes", "said", "verdict"),
    [(1, "-1", "not-applicable"), (2, "-1", "fails"), (2, "0", "holds"), (2, None, "unknown")],
    ids=["one node", "minus one of two", "a node of two", "no such file captured"],
)
def test_a_card_without_a_numa_node(tmp_path: Path, nodes: int, said: str | None, verdict: str) -> None:
    gpu = card("0000:3b:00.0", "0x030200", **({} if said is None else {"numa_node": said}))
    host = write_tree(tmp_path, SERVER | two_nodes(nodes) | gpu)
    assert verdicts(host, "numa/slot-without-node") == {verdict}


@pytest.mark.parametrize(
    ("driver", "governor", "preference", "verdict"),
    [
        ("intel_pstate", "powersave", "performance", "holds"),
        ("intel_pstate", "powersave", "balance_performance", "holds"),
        ("intel_pstate", "powersave", "power", "fails"),
        ("intel_cpufreq", "powersave", None, "fails"),
        ("acpi-cpufreq", "performance", None, "holds"),
    ],
)
def test_powersave_is_slow_only_where_it_means_that(
    tmp_path: Path, driver: str, governor: str, preference: str | None, verdict: str
) -> None:
    folder = "/sys/devices/system/cpu/cpufreq/policy0"
    files = {f"{folder}/scaling_driver": driver, f"{folder}/scaling_governor": governor}
    files |= {} if preference is None else {f"{folder}/energy_performance_preference": preference}
    host = write_tree(tmp_path, SERVER | files | {"/sys/devices/system/cpu/online": "0\n"})
    assert verdicts(host, "cpu/governor-not-performance") == {verdict}


def test_no_limit_of_a_version_1_control_group_is_no_limit(tmp_path: Path) -> None:
    files = {
        "/proc/self/cgroup": "5:memory:/job\n4:cpu,cpuacct:/job\n",
        "/proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
        "/proc/self/status": "Cpus_allowed_list:\t0-3\n",
    }
    for folder in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/job"):
        files[f"{folder}/memory.limit_in_bytes"] = "9223372036854771712\n"
    for folder in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu/job"):
        files |= {f"{folder}/cpu.cfs_quota_us": "-1\n", f"{folder}/cpu.cfs_period_us": "100000\n"}
    host = write_tree(tmp_path, files)
    assert verdicts(host, "cpu/quota-below-affinity") == {"holds"}


@pytest.mark.parametrize(
    ("fstype", "files_free", "verdict"),
    [
        ("ceph", 2**64 - 1, "not-applicable"),
        ("ceph", 0, "not-applicable"),
        ("ext4", 10, "fails"),
        ("ext4", 500, "holds"),
    ],
)
def test_inodes_are_judged_only_where_their_number_is_fixed(
    tmp_path: Path, fstype: str, files_free: int, verdict: str
) -> None:
    host = write_capture(
        tmp_path,
        {"/proc/self/mountinfo": mount("/data", fstype, "/dev/sda1")},
        statvfs={"/data": [4096, 1000, 500, 1000, files_free]},
    )
    assert verdicts(host, "storage/inodes-exhausted") == {verdict}


@pytest.mark.parametrize(
    ("mtu", "rule", "packets"),
    [(2048, "rdma/roce-mtu-at-most-1024", 1024), (3000, "rdma/roce-mtu-below-4096", 2048)],
)
def test_what_a_roce_port_makes_of_the_mtu(tmp_path: Path, mtu: int, rule: str, packets: int) -> None:
    (finding,) = findings(write_tree(tmp_path, roce(mtu)), rule)
    assert finding.verdict == "fails"
    assert f"{packets} bytes" in finding.message


def test_jumbo_frames_are_enough_for_roce(tmp_path: Path) -> None:
    host = write_tree(tmp_path, roce(4200))
    assert verdicts(host, "rdma/roce-mtu-below-4096") == verdicts(host, "rdma/roce-mtu-at-most-1024") == {"holds"}


def roce(mtu: int) -> dict[str, str]:
    """One RoCE port at 100 Gb/s over an interface with this MTU."""
    port = "/sys/class/infiniband/mlx5_0/ports/1"
    gid = "0000:0000:0000:0000:0000:ffff:c633:6407"
    return {
        f"{port}/state": "4: ACTIVE\n",
        f"{port}/phys_state": "5: LinkUp\n",
        f"{port}/rate": "100 Gb/sec (4X EDR)\n",
        f"{port}/link_layer": "Ethernet\n",
        f"{port}/gids/0": f"{gid}\n",
        f"{port}/gid_attrs/types/0": "RoCE v2\n",
        f"{port}/gid_attrs/ndevs/0": "eth1\n",
        "/sys/class/net/eth1/mtu": f"{mtu}\n",
        "/sys/class/net/eth1/device/vendor": "0x15b3\n",
    }


def swapping(swaps: str) -> Mapping[str, str]:
    """A server whose swappiness is high, with these swaps."""
    heading = "Filename Type Size Used Priority\n"
    return {
        "/proc/swaps": heading + swaps,
        "/proc/sys/vm/swappiness": "100\n",
        "/sys/module/zswap/parameters/enabled": "N\n",
    }


def test_a_high_swappiness_is_right_for_compressed_memory(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**SERVER, **swapping("/dev/zram0 partition 8388604 0 100\n")})
    assert verdicts(host, "memory/swappiness-with-disk-swap") == {"not-applicable"}


def test_a_high_swappiness_with_swap_on_disk_is_lowered(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**SERVER, **swapping("/dev/sda2 partition 8388604 0 -2\n")})
    (finding,) = findings(host, "memory/swappiness-with-disk-swap")
    assert finding.verdict == "fails"
    assert [(setting.key, setting.value) for setting in finding.settings] == [("vm.swappiness", 10)]


@pytest.mark.parametrize(("value", "verdict"), [("0", "holds"), ("1", "fails"), ("2", "holds")])
def test_numa_balancing_as_memory_tiering_is_left_alone(tmp_path: Path, value: str, verdict: str) -> None:
    gpus = card("0000:3b:00.0", "0x030200", numa_node="0") | card("0000:af:00.0", "0x030200", numa_node="1")
    host = write_tree(tmp_path, SERVER | two_nodes() | gpus | {"/proc/sys/kernel/numa_balancing": f"{value}\n"})
    assert verdicts(host, "numa/balancing-with-bound-ranks", Job(bound=True)) == {verdict}


def test_a_tree_that_says_nothing_gets_no_verdict_but_unknown(tmp_path: Path) -> None:
    snapshot, _ = probe_host(write_tree(tmp_path, {"/sys/": "", "/proc/": ""}))
    told = {finding.rule: finding.verdict for finding in evaluated(snapshot).findings}
    assert {rule for rule, verdict in told.items() if verdict in ("fails", "holds")} == set()
