"""A node on which nothing is wrong, and the same node with one thing wrong at a time."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor.model.job import Job
from tests.healthy_node import (
    CPU,
    EDAC,
    JOB,
    MOUNTS,
    ONE_KILLED,
    POOL,
    ROUTES,
    SERVICE_LIMITS,
    SHORT,
    calls,
    ethtool,
    failing,
    healthy,
    nvml,
    report,
    softnet,
    where,
)


def test_a_healthy_node_gets_no_finding_and_every_rule_can_decide(tmp_path: Path) -> None:
    made = report(tmp_path, healthy(), calls())
    assert failing(made) == set()
    assert {f.rule: f.message for f in made.of("unknown")} == {}


PORT = "/sys/class/infiniband/mlx5_1/ports/1"
NODE = "/sys/devices/system/node/node1"
FIRST_GPU = f"{where('0000:3a:00.0')}/0000:3b:00.0"
FIRST_NIC = f"{where('0000:5d:00.0')}/0000:5e:00.0"
SYSCTL = "/proc/sys"


@pytest.mark.parametrize(
    ("rule", "changed"),
    [
        ("cpu/governor-not-performance", {f"{CPU}/cpufreq/policy3/scaling_governor": "schedutil\n"}),
        ("cpu/turbo-disabled", {f"{CPU}/intel_pstate/no_turbo": "1\n"}),
        ("cpu/present-cpus-offline", {f"{CPU}/online": "0-2\n", "/sys/devices/system/node/node1/cpulist": "2\n"}),
        ("cpu/isolated-cpus-in-affinity", {f"{CPU}/isolated": "3\n"}),
        ("cpu/quota-below-affinity", {"/sys/fs/cgroup/user.slice/cpu.max": "200000 100000\n"}),
        (
            "memory/swappiness-with-disk-swap",
            {"/proc/swaps": "Filename Type Size Used Priority\n/dev/sda3 partition 8388604 0 -2\n"},
        ),
        ("memory/thp-never", {"/sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n"}),
        (
            "memory/hugepages-idle",
            {f"{POOL}/nr_hugepages": "65536\n", f"{POOL}/free_hugepages": "65536\n"},
        ),
        ("memory/memory-errors-uncorrected", {f"{EDAC}/ue_count": "1\n"}),
        ("memory/dirty-limit-during-stalls", {"/proc/pressure/io": SHORT.replace("5.00", "20.00")}),
        ("memory/shm-not-in-memory", {"/proc/self/mountinfo": MOUNTS.replace("/dev/shm", "/mnt")}),
        ("memory/tasks-wait-for-memory", {"/proc/pressure/memory": SHORT}),
        (
            "memory/services-memlock-too-small",
            {"/proc/900/limits": re.sub(r"(memory +)unlimited +unlimited", r"\g<1>8388608 8388608 ", SERVICE_LIMITS)},
        ),
        ("numa/zone-reclaim-on", {f"{SYSCTL}/vm/zone_reclaim_mode": "1\n"}),
        ("numa/balancing-with-bound-ranks", {f"{SYSCTL}/kernel/numa_balancing": "1\n"}),
        (
            "numa/memory-missing-on-a-node",
            {f"{NODE}/meminfo": "Node 1 MemTotal: 268435456 kB\n", "/proc/meminfo": "MemTotal: 805306368 kB\n"},
        ),
        ("pcie/gpu-link-at-half-width", {f"{FIRST_GPU}/current_link_width": "8\n"}),
        ("pcie/link-narrower-than-card", {f"{FIRST_NIC}/current_link_width": "8\n"}),
        (
            "cpu/tasks-wait-for-cpu",
            {
                "/proc/loadavg": "7.50 1.20 1.00 2/900 4242\n",
                "/proc/pressure/cpu": "some avg10=90.00 avg60=90.00 avg300=1.00 total=9000\n",
            },
        ),
        ("cpu/weaknesses-without-mitigation", {f"{CPU}/vulnerabilities/meltdown": "Vulnerable\n"}),
        ("pcie/iommu-translates-dma", {"/sys/kernel/iommu_groups/0/type": "DMA-FQ\n"}),
        ("rdma/port-not-active", {f"{PORT}/state": "1: DOWN\n", f"{PORT}/phys_state": "2: Polling\n"}),
        ("rdma/rail-slower-than-siblings", {f"{PORT}/rate": "200 Gb/sec (4X HDR)\n"}),
        (
            "rdma/prof-sel-changed",
            {
                "/sys/module/mlx5_core/parameters/prof_sel": "0\n",
                "/etc/modprobe.d/site.conf": "options mlx5_core prof_sel=0\n",
            },
        ),
        ("rdma/dead-mlx5-options", {"/etc/modprobe.d/old.conf": "options mlx5_core log_max_qp=18\n"}),
        ("network/slow-start-after-idle", {f"{SYSCTL}/net/ipv4/tcp_slow_start_after_idle": "1\n"}),
        (
            "network/neighbour-table-nearly-full",
            {"/proc/net/stat/arp_cache": "entries  allocs\n000001f0  00000200\n"},
        ),
        (
            "rdma/rails-in-one-subnet",
            {
                "/proc/net/route": ROUTES + ROUTES.splitlines()[1].replace("eth0", "eth1") + "\n",
                "/sys/class/net/eth1/device/vendor": "0x15b3\n",
                "/sys/class/net/eth1/operstate": "down\n",
                "/proc/sys/net/ipv4/conf/eth1/arp_ignore": "1\n",
                "/proc/sys/net/ipv4/conf/eth1/arp_announce": "2\n",
            },
        ),
        ("network/busy-polling-on", {f"{SYSCTL}/net/core/busy_poll": "50\n", f"{SYSCTL}/net/core/busy_read": "50\n"}),
        (
            "memory/free-memory-floor-set",
            {"/etc/sysctl.d/90-hpc.conf": "vm.min_free_kbytes = 9\n", f"{SYSCTL}/vm/min_free_kbytes": "9\n"},
        ),
        (
            "cpu/idle-states-limited",
            {f"{CPU}/cpu0/cpuidle/state3/{n}": f"{v}\n" for n, v in (("name", "C6"), ("disable", 1))},
        ),
        ("network/bbr-without-fq", {f"{SYSCTL}/net/ipv4/tcp_congestion_control": "bbr\n"}),
        ("network/half-duplex", {"/sys/class/net/eth0/duplex": "half\n"}),
        ("rdma/firmware-older-than-sibling", {"/sys/class/infiniband/mlx5_1/fw_ver": "28.39.1002\n"}),
        ("network/tcp-features-off", {f"{SYSCTL}/net/ipv4/tcp_sack": "0\n"}),
        (
            "network/legacy-performance-sysctls",
            {
                "/etc/sysctl.d/10-old.conf": "net.ipv4.tcp_low_latency=1\n",
                f"{SYSCTL}/net/ipv4/tcp_low_latency": "1\n",
            },
        ),
        ("network/tcp-ceiling-below-bdp", {f"{SYSCTL}/net/ipv4/tcp_wmem": "4096 16384 1048576\n"}),
        ("storage/array-degraded", {"/sys/block/md0/md/degraded": "1\n"}),
        ("storage/array-rebuilding", {"/sys/block/md0/md/sync_action": "resync\n"}),
        ("storage/array-stopped", {"/sys/block/md0/md/array_state": "inactive\n"}),
        ("storage/nvme-with-scheduler", {"/sys/block/nvme0n1/queue/scheduler": "none [mq-deadline]\n"}),
        ("storage/nfs-soft-mount-written", {"/proc/self/mountinfo": MOUNTS.replace(",hard,", ",soft,")}),
        ("storage/nfs-old-version", {"/proc/self/mountinfo": MOUNTS.replace("vers=4.2", "vers=4.0")}),
        ("storage/fstab-option-removed", {"/etc/fstab": "/dev/nvme0n1 /data xfs nobarrier 0 0\n"}),
        ("storage/fstab-disables-barriers", {"/etc/fstab": "/dev/sda2 / ext4 barrier=0 0 1\n"}),
        (
            "storage/barriers-disabled",
            {"/proc/self/mountinfo": MOUNTS.replace("/dev/sda2 rw", "/dev/sda2 rw,nobarrier")},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_thing_wrong_is_one_finding(tmp_path: Path, rule: str, changed: Mapping[str, str]) -> None:
    assert failing(report(tmp_path, {**healthy(), **changed}, calls())) == {rule}


@pytest.mark.parametrize(
    ("rule", "changed"),
    [
        ("gpu/nvlinks-fewer-than-siblings", nvml(nvlinks_active=17)),
        ("pcie/gpu-link-slow-under-load", nvml(pcie_generation=3)),
        ("gpu/fallen-off-the-bus", nvml(lost=True)),
        ("gpu/row-remap-failed", nvml(remapped_rows_pending=True, remapped_rows_failed=True)),
        ("gpu/memory-repair-pending", nvml(remapped_rows_pending=True)),
        ("gpu/slowed-by-hardware", nvml(throttle_reasons=0x68)),
        ("gpu/slowed-by-heat", nvml(throttle_reasons=0x20)),
        ("gpu/ecc-change-pending", nvml(ecc_pending_mode=False)),
        ("gpu/mig-change-pending", nvml(mig_pending_mode=True)),
        ("gpu/compute-prohibited", nvml(compute_mode=2)),
        ("gpu/one-process-at-a-time", nvml(compute_mode=3)),
        ("gpu/persistence-off", nvml(persistence_mode=False)),
        ("memory/memlock-too-small", {"limits": {"memlock": [8 << 20, 8 << 20], "nofile": [1048576, 1048576]}}),
        ("dataloader/nofile-below-planned-loaders", {"limits": {"memlock": [None, None], "nofile": [256, 4096]}}),
        ("memory/shm-too-small", {"statvfs": calls()["statvfs"] | {"/dev/shm": [4096, 16384, 16384, 10**6, 10**6]}}),
        ("storage/inodes-exhausted", {"statvfs": calls()["statvfs"] | {"/": [4096, 10**8, 5 * 10**7, 10**7, 10]}}),
        (
            "storage/inodes-nearly-exhausted",
            {"statvfs": calls()["statvfs"] | {"/": [4096, 10**8, 10**7, 10**7, 10**6]}},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_answer_wrong_is_one_finding(tmp_path: Path, rule: str, changed: Mapping[str, Any]) -> None:
    assert failing(report(tmp_path, healthy(), {**calls(), **changed})) == {rule}


def test_cards_that_cannot_reach_gpu_memory(tmp_path: Path) -> None:
    files = {path: text for path, text in healthy().items() if "nvidia_peermem" not in path}
    assert failing(report(tmp_path, files, calls())) == {"rdma/gpudirect-missing"}


def test_a_container_without_the_nodes_of_its_rdma_devices(tmp_path: Path) -> None:
    files = {path: text for path, text in healthy().items() if not path.startswith("/dev/infiniband")}
    assert failing(report(tmp_path, files | {"/.dockerenv": ""}, calls())) == {"rdma/uverbs-missing-in-container"}


def test_a_guest_hears_nothing_of_what_only_hardware_has(tmp_path: Path) -> None:
    files = healthy() | {
        "/proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\nflags : fpu lm hypervisor\n",
        f"{CPU}/cpufreq/policy3/scaling_governor": "schedutil\n",
        f"{CPU}/intel_pstate/no_turbo": "1\n",
        f"{CPU}/online": "0-2\n",
        f"{FIRST_GPU}/current_link_width": "1\n",
        "/sys/kernel/iommu_groups/0/type": "DMA\n",
        f"{NODE}/meminfo": "Node 1 MemTotal: 1000 kB\n",
    }
    # What a guest lacks, and its owner can give it: the tree that the hypervisor does not show.
    assert failing(report(tmp_path / "bare", files, calls())) == {"vm/pcie-tree-flat"}
    files |= {"/etc/nccl.conf": "NCCL_TOPO_FILE=/opt/topology.xml\n", "/opt/topology.xml": "<system/>"}
    assert failing(report(tmp_path / "told", files, calls())) == set()


@pytest.mark.parametrize(
    ("rule", "later"),
    [
        ("cpu/thermal-throttling", {f"{CPU}/cpu2/thermal_throttle/package_throttle_count": "4\n"}),
        (
            "memory/tasks-being-killed",
            {
                "/sys/fs/cgroup/user.slice/memory.events": "oom_kill 1\n",
                "/proc/vmstat": ONE_KILLED,
            },
        ),
        ("memory/memory-errors-corrected", {f"{EDAC}/ce_count": "4\n"}),
        ("memory/host-kills-tasks", {"/proc/vmstat": ONE_KILLED}),
        ("pcie/correctable-errors-grow", {f"{FIRST_NIC}/aer_dev_correctable": "RxErr 1\nTOTAL_ERR_COR 1"}),
        ("rdma/retransmissions", {f"{PORT}/hw_counters/packet_seq_err": "8\n"}),
        ("rdma/link-errors", {f"{PORT}/counters/symbol_error": "4\n"}),
        ("rdma/link-went-down", {f"{PORT}/counters/link_downed": "4\n"}),
        ("network/backlog-drops", {"/proc/net/softnet_stat": softnet(dropped=5)}),
        ("network/receive-budget-short", {"/proc/net/softnet_stat": softnet(processed=0x1100, squeezed=9)}),
        ("network/drops-with-small-rings", {"/sys/class/net/eth0/statistics/rx_missed_errors": "13\n"}),
        ("network/damaged-packets", {"/sys/class/net/eth0/statistics/rx_crc_errors": "4\n"}),
    ],
)
def test_what_grows_between_two_readings_is_one_finding(tmp_path: Path, rule: str, later: Mapping[str, str]) -> None:
    assert failing(report(tmp_path, healthy(), calls(), later=later)) == {rule}


@pytest.mark.parametrize(
    ("rule", "job"),
    [
        ("numa/ranks-not-bound-to-nodes", JOB.model_copy(update={"bound": None})),
        ("cpu/more-workers-than-cpus", JOB.model_copy(update={"workers": 5})),
        ("memory/shm-below-planned-loaders", JOB.model_copy(update={"batch_bytes": 400 << 30})),
        ("cpu/fewer-cpus-than-ranks-need", JOB.model_copy(update={"ranks": 3})),
    ],
)
def test_a_job_that_does_not_suit_the_node_is_one_finding(tmp_path: Path, rule: str, job: Job) -> None:
    assert failing(report(tmp_path, healthy(), calls(), job)) == {rule}


def test_a_card_that_pcie_holds_back_is_one_finding(tmp_path: Path) -> None:
    assert failing(report(tmp_path, healthy(), calls(), printed=ethtool(pci=3))) == {"rdma/pcie-backpressure"}
