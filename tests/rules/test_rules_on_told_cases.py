"""Faults that people told of in public and found the cause of: the rule that would have told them, on such a host."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor.commands._rules import evaluated
from advisor.commands._snapshot import probe_host
from advisor.host.captured import open_root
from advisor.model.finding import Report
from advisor.model.job import Job
from tests import small_machines as made
from tests.trees import write_capture, write_link

SWITCH = "0000:16:01.0/0000:17:00.0/0000:18"
ONE, TWO = f"{SWITCH}:00.0/0000:19:00.0", f"{SWITCH}:01.0/0000:1a:00.0"
NVIDIA = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13\n"


def report(
    folder: Path,
    files: Mapping[str, str | bytes],
    links: Mapping[str, str] | None = None,
    job: Job | None = None,
    later: Mapping[str, str | bytes] | None = None,
    root_user: bool = False,
    **calls: Any,
) -> Report:
    """What all rules say of a capture with these files; the second time with ``later`` ones."""
    write_capture(folder, files, **calls)
    (folder / "advisor-capture.json").write_text(json.dumps({"version": 1, "root_user": root_user}))
    if later is not None:
        write_capture(folder / "sample", {**files, **later}, **calls)
        (folder / "sample/advisor-capture.json").write_text('{"version": 1, "root_user": false, "seconds": 30}')
    for place in (folder, *([folder / "sample"] if later is not None else [])):
        for path, target in (links or {}).items():
            write_link(place / "fs", path, target)
    snapshot, defects = probe_host(open_root(str(folder)), job)
    assert not defects
    return evaluated(snapshot)


def verdicts(found: Report, rule: str) -> set[str]:
    return {finding.verdict for finding in found.findings if finding.rule == rule}


def below_a_switch(redirecting: bool, second: str, **more: str) -> tuple[made.Files, dict[str, str]]:
    """A GPU and another card below one switch."""
    root, up = SWITCH.split("/")[0], "/".join(SWITCH.split("/")[:2])
    files = {**made.server(), **made.port(root, "root port", False), **made.port(up, "upstream port", False)}
    for down in (f"{SWITCH}:00.0", f"{SWITCH}:01.0"):
        files |= made.port(down, "downstream port", redirecting)
    files |= {**made.card(ONE, made.GPU), **made.card(TWO, second, **more)}
    links = made.links([ONE, TWO])
    if second != made.GPU:
        files |= made.rdma_port("mlx5_0")
        links["/sys/class/infiniband/mlx5_0/device"] = f"../../../devices/pci0000:16/{TWO}"
    return files, links


@pytest.mark.parametrize("second", [made.GPU, made.RDMA], ids=["GPU to GPU", "GPU to RDMA card"])
@pytest.mark.parametrize(("redirecting", "verdict"), [(True, "fails"), (False, "holds")])
def test_a_switch_whose_ports_redirect(tmp_path: Path, second: str, redirecting: bool, verdict: str) -> None:
    """GPUs of one switch slower than across sockets; jobs that crash or hang as soon as GPUDirect is on."""
    nvml = {"nvml": {"gaps": {}, "p2p": [], "gpus": [gpu(0, ONE), *([gpu(1, TWO)] if second == made.GPU else [])]}}
    found = report(tmp_path, *below_a_switch(redirecting, second), **nvml)
    assert verdicts(found, "pcie/acs-redirects-peers") == {verdict}


def gpu(index: int, path: str, **more: Any) -> dict[str, Any]:
    """What NVML answers of one GPU without NVLink."""
    address = path.rpartition("/")[2]
    return {"index": index, "bus_id": address, "name": "A100", "lost": False, "nvlinks_active": 0, "gaps": {}, **more}


@pytest.mark.parametrize(("kind", "verdict"), [("DMA-FQ", "fails"), ("DMA", "fails"), ("identity", "holds")])
def test_an_iommu_that_translates_what_gpus_exchange(tmp_path: Path, kind: str, verdict: str) -> None:
    """All-reduce that hangs, or goes through the host's memory, on two and on four GPUs with VT-d or AMD-Vi on."""
    paths = ["0000:16:01.0/0000:41:00.0", "0000:16:03.0/0000:61:00.0"]
    files = made.server()
    for group, path in enumerate(paths):
        files |= {**made.card(path.split("/")[0], made.BRIDGE), **made.card(path, made.GPU, group=group, iommu=kind)}
    found = report(tmp_path, files, made.links(paths, {path: n for n, path in enumerate(paths)}))
    assert verdicts(found, "pcie/iommu-translates-dma") == {verdict}


@pytest.mark.parametrize(
    ("more", "verdict"),
    [({}, "fails"), ({"/sys/module/nvidia_peermem/initstate": "live\n"}, "holds")],
    ids=["no module", "peer memory"],
)
def test_an_infiniband_cluster_that_copies_through_host_memory(
    tmp_path: Path, more: dict[str, str], verdict: str
) -> None:
    files, links = below_a_switch(False, made.RDMA)
    files |= {"/proc/driver/nvidia/version": NVIDIA, "/sys/module/mlx5_core/initstate": "live\n", **more}
    links[f"{made.HOST}/{TWO}/driver"] = "/sys/bus/pci/drivers/mlx5_core"
    found = report(tmp_path, files, links, nvml={"gaps": {}, "p2p": [], "gpus": [gpu(0, ONE)]})
    assert verdicts(found, "rdma/gpudirect-missing") == {verdict}


@pytest.mark.parametrize(
    ("memlock", "verdict"),
    [(8192 * 1024, "fails"), (64 * 1024, "fails"), (None, "holds")],
    ids=["8 MiB", "64 KiB", "no"],
)
def test_memory_that_a_launcher_may_not_lock(tmp_path: Path, memlock: int | None, verdict: str) -> None:
    """Registering memory and making completion queues fail though limits.conf was edited."""
    files = {**made.server(), **made.processors(4), **made.rdma_port("mlx5_0")}
    found = report(tmp_path, files, **made.limits(memlock))
    assert verdicts(found, "memory/memlock-too-small") == {verdict}


def test_the_shared_memory_of_a_container_by_default(tmp_path: Path) -> None:
    mounts = made.mount("/", "overlay", "overlay") + made.mount("/dev/shm", "tmpfs", "shm", "rw,size=65536k")
    found = report(tmp_path, {**made.container(), "/proc/self/mountinfo": mounts})
    assert verdicts(found, "memory/shm-too-small") == {"fails"}


@pytest.mark.parametrize(
    ("more", "verdict"), [({}, "fails"), ({"/dev/infiniband/uverbs0": ""}, "holds")], ids=["not passed in", "passed in"]
)
def test_a_container_with_efa_but_without_its_device(tmp_path: Path, more: dict[str, str], verdict: str) -> None:
    port = made.rdma_port("efa_0", layer="Unspecified", rate="100 Gb/sec (4X EDR)")
    found = report(
        tmp_path, {**made.container(), **port, "/sys/class/infiniband_verbs/uverbs0/ibdev": "efa_0\n", **more}
    )
    assert verdicts(found, "rdma/uverbs-missing-in-container") == {verdict}


def test_two_interfaces_in_one_subnet(tmp_path: Path) -> None:
    """NCCL connects to an address that is in no setting."""
    heading = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    row = "{}\t0000A8C0\t00000000\t0001\t0\t0\t100\t00F0FFFF\t0\t0\t0\n"
    names = ("eno1", "enp37s0f0")
    files = {**made.server(), "/proc/net/route": heading + "".join(row.format(name) for name in names)}
    for name in (*names, "all"):
        files |= {f"/proc/sys/net/ipv4/conf/{name}/{key}": "0\n" for key in ("arp_ignore", "arp_announce")}
    files |= {f"/sys/class/net/{name}/device/vendor": "0x8086\n" for name in names}
    assert verdicts(report(tmp_path, files), "rdma/rails-in-one-subnet") == {"fails"}


def test_a_job_that_its_control_group_killed(tmp_path: Path) -> None:
    """The page cache counts too, so the limit is reached though programs need less."""
    files = {**made.server(), **made.processors(8), **made.quota(800_000)}
    folder = "/sys/fs/cgroup/job"
    files |= {
        f"{folder}/memory.max": "68719476736\n",
        f"{folder}/memory.events": "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n",
    }
    assert verdicts(report(tmp_path, files), "memory/tasks-killed-for-memory") == {"fails"}


def test_workers_by_the_cpus_of_the_host(tmp_path: Path) -> None:
    """Half of 208 CPUs as workers, where the scheduler gave the job 23."""
    files = {**made.server(), **made.processors(208), "/proc/self/status": "Cpus_allowed_list:\t0-22\n"}
    found = report(tmp_path, files, job=Job(ranks=1, workers=104), affinity=list(range(23)))
    (finding,) = (one for one in found.findings if one.rule == "cpu/more-workers-than-cpus")
    assert (finding.verdict, finding.message) == ("fails", "104 workers (104 of each rank) on 23 CPUs")


def test_a_quota_that_the_affinity_does_not_show(tmp_path: Path) -> None:
    files = {**made.server(), **made.processors(12), **made.quota(400_000)}
    assert verdicts(report(tmp_path, files, affinity=list(range(12))), "cpu/quota-below-affinity") == {"fails"}


def test_a_quota_of_one_cpu_for_many_threads(tmp_path: Path) -> None:
    """Threads for all cores use a quota up in a moment and then all stand still."""
    files = {**made.server(), **made.processors(16), **made.quota(100_000, throttled=10, periods=1000)}
    later = made.quota(100_000, throttled=250, periods=1300)
    found = report(tmp_path, files, later=later, affinity=list(range(16)))
    assert verdicts(found, "cpu/quota-runs-out") == verdicts(found, "cpu/quota-below-affinity") == {"fails"}


@pytest.mark.parametrize(("nofile", "verdict"), [(1024, "fails"), (65536, "not-applicable")])
def test_open_files_for_samples_of_many_tensors(tmp_path: Path, nofile: int, verdict: str) -> None:
    """Workers end with "received 0 items of ancdata"; limits of 65536 and more are left alone."""
    files = {**made.server(), **made.processors(64)}
    calls = {**made.limits(None, nofile), "affinity": list(range(64))}
    told = report(tmp_path / "told", files, job=Job(ranks=1, workers=16, prefetch_factor=4), **calls)
    untold = report(tmp_path / "untold", files, job=Job(ranks=1), **calls)
    assert ("fails" in verdicts(told, "dataloader/nofile-below-planned-loaders")) == (verdict == "fails")
    assert ("fails" in verdicts(untold, "memory/nofile-too-small")) == (verdict == "fails")


def test_a_clock_that_rises_late(tmp_path: Path) -> None:
    files = {**made.server(), **made.processors(4, governor="ondemand")}
    assert verdicts(report(tmp_path, files), "cpu/governor-not-performance") == {"fails"}


@pytest.mark.parametrize("busy", [0, 97], ids=["idle", "busy"])
def test_a_link_that_is_slow_while_nothing_uses_it(tmp_path: Path, busy: int) -> None:
    """2.5 GT/s on an idle GPU is how it saves power; under load it is a fault, and the width is one at any time."""
    speeds = {"current_link_speed": "2.5 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe"}
    widths = {"current_link_width": "16", "max_link_width": "16"}
    path = "0000:16:01.0/0000:41:00.0"
    files = {**made.server(), **made.card("0000:16:01.0", made.BRIDGE, **speeds, **widths)}
    files |= made.card(path, made.GPU, **speeds, **widths)
    answer = gpu(0, path, utilization_percent=busy, pcie_generation=1, pcie_max_generation=4)
    found = report(tmp_path, files, made.links([path]), nvml={"gaps": {}, "p2p": [], "gpus": [answer]})
    slow = "fails" if busy else "not-applicable"
    assert verdicts(found, "pcie/gpu-link-slow-under-load") == {slow}
    for rule in ("pcie/link-narrower-than-card", "pcie/gpu-link-at-half-width"):
        assert verdicts(found, rule) == {"holds", "not-applicable"}


@pytest.mark.parametrize("job", [Job(ranks=2), Job(ranks=2, bound=True)], ids=["not bound", "bound"])
def test_two_gpus_of_different_nodes(tmp_path: Path, job: Job) -> None:
    """Memory on the far node, GPUs that reach each other across sockets only; balancing that moves pages about."""
    paths = ["0000:16:01.0/0000:41:00.0", "0000:16:03.0/0000:61:00.0"]
    files = {**made.server(), **made.processors(4), **made.nodes("0-1", "2-3")}
    for node, path in enumerate(paths):
        files |= {**made.card(path.split("/")[0], made.BRIDGE, node), **made.card(path, made.GPU, node)}
    files["/proc/sys/kernel/numa_balancing"] = "1\n"
    found = report(tmp_path, files, made.links(paths), job, affinity=[0, 1, 2, 3])
    expected = {
        "numa/ranks-not-bound-to-nodes": "holds" if job.bound else "fails",
        "numa/balancing-with-bound-ranks": "fails" if job.bound else "not-applicable",
        "numa/balancing-beside-ranks-not-bound": "not-applicable" if job.bound else "fails",
    }
    if job.bound is None:
        del expected["numa/balancing-with-bound-ranks"]
    assert {rule: verdicts(found, rule) for rule in expected} == {rule: {told} for rule, told in expected.items()}


MEGACLI = """\
Adapter 0 -- Virtual Drive Information:
Virtual Drive: 0 (Target Id: 0)
RAID Level          : Primary-5, Secondary-0, RAID Level Qualifier-3
State               : Optimal
Default Cache Policy: WriteBack, ReadAhead, Direct, No Write Cache if Bad BBU
Current Cache Policy: {now}, ReadAhead, Direct, No Write Cache if Bad BBU
Exit Code: 0x00
"""


@pytest.mark.parametrize(("now", "verdict"), [("WriteThrough", "fails"), ("WriteBack", "holds")])
def test_a_controller_that_fell_back_to_writing_through(tmp_path: Path, now: str, verdict: str) -> None:
    """The array is slow, and what tells of the battery says that all is well."""
    adapter = (
        "Adapter #0\nProduct Name    : PERC H700 Integrated\nMemory Size      : 512MB\nBBU              : Present\n"
    )
    outputs = {
        ("MegaCli64", "-AdpAllInfo", "-aAll", "-NoLog"): adapter,
        ("MegaCli64", "-LDInfo", "-Lall", "-aAll", "-NoLog"): MEGACLI.format(now=now),
        ("MegaCli64", "-AdpBbuCmd", "-aAll", "-NoLog"): "BBU status for Adapter: 0\nBattery State: Optimal\n",
    }
    path = "0000:16:05.0"
    files = {**made.server(), f"{made.HOST}/{path}/class": "0x010400\n", f"{made.HOST}/{path}/vendor": "0x1000\n"}
    links = {**made.links([path]), f"{made.HOST}/{path}/driver": "/sys/bus/pci/drivers/megaraid_sas"}
    found = report(tmp_path, files, links, root_user=True, outputs=outputs)
    assert verdicts(found, "storage/raid-cache-fallen-to-write-through") == {verdict}


@pytest.mark.parametrize(
    ("fstype", "options", "rule", "verdict"),
    [
        ("lustre", "rw,flock", "storage/lustre-notes-reads", "fails"),
        ("lustre", "rw,noatime,flock,lazystatfs", "storage/lustre-notes-reads", "holds"),
        ("fuse.ceph-fuse", "rw", "storage/ceph-by-fuse", "fails"),
        ("ceph", "rw", "storage/ceph-by-fuse", "holds"),
    ],
    ids=["Lustre", "Lustre without times of access", "ceph-fuse", "the kernel's client"],
)
def test_a_shared_file_system_mounted_the_slow_way(
    tmp_path: Path, fstype: str, options: str, rule: str, verdict: str
) -> None:
    """Small files are slow; the storage class asked for the kernel's client, and the pod got another."""
    files = {**made.server(), "/proc/self/mountinfo": made.mount("/share", fstype, "share", options)}
    assert verdicts(report(tmp_path, files, job=Job(data_path="/share/set")), rule) == {verdict}


def test_a_port_that_somebody_switched_off(tmp_path: Path) -> None:
    """Half the bandwidth: whether a disabled port is meant to be, one host does not tell. One without a subnet
    manager is a fault."""
    off = made.rdma_port("mlx5_1", "1: DOWN", "3: Disabled", rate="10 Gb/sec (4X SDR)")
    waiting = made.rdma_port("mlx5_1", "2: INIT", "5: LinkUp")
    for number, (port, verdict) in enumerate(((off, {"holds"}), (waiting, {"holds", "fails"}))):
        files = {**made.server(), **made.rdma_port("mlx5_0"), **port}
        assert verdicts(report(tmp_path / str(number), files), "rdma/port-not-active") == verdict


def roce(name: str, netdev: str, **types: str) -> made.Files:
    """An active RoCE port whose GIDs lie on this interface; ``g0`` ... ``g3`` are their types."""
    place = f"/sys/class/infiniband/{name}/ports/1"
    files = {**made.rdma_port(name, layer="Ethernet", rate="100 Gb/sec (4X EDR)")}
    for index, kind in enumerate(types.values()):
        files[f"{place}/gids/{index}"] = "0000:0000:0000:0000:0000:ffff:0a01:0203\n"
        files |= {f"{place}/gid_attrs/types/{index}": f"{kind}\n", f"{place}/gid_attrs/ndevs/{index}": f"{netdev}\n"}
    return files


@pytest.mark.parametrize(("index", "verdict"), [("2", "fails"), ("3", "holds")])
def test_an_index_into_the_wrong_kind_of_gids(tmp_path: Path, index: str, verdict: str) -> None:
    """Error 12 at the first collective: the entry that was asked for reaches no other node."""
    v1, v2 = "IB/RoCE v1", "RoCE v2"
    files = {**made.server(), **roce("mlx5_0", "eth0", g0=v1, g1=v2, g2=v1, g3=v2)}
    files["/etc/nccl.conf"] = f"NCCL_IB_GID_INDEX={index}\n"
    found = report(tmp_path, files, environment={})
    assert verdicts(found, "nccl/gid-of-old-roce") == {verdict}


@pytest.mark.parametrize(
    ("variables", "verdict"), [("", "fails"), ("NCCL_IB_QPS_PER_CONNECTION=4\n", "holds")], ids=["one", "four"]
)
def test_a_bond_that_gives_the_bandwidth_of_one_port(tmp_path: Path, variables: str, verdict: str) -> None:
    bond = "/sys/class/net/bond0"
    files = {**made.server(), **roce("mlx5_bond_0", "bond0", g0="RoCE v2"), "/etc/nccl.conf": variables}
    files |= {f"{bond}/uevent": "DEVTYPE=bond\nINTERFACE=bond0\n", f"{bond}/mtu": "9000\n"}
    files |= {f"{bond}/bonding/mode": "802.3ad 4\n", f"{bond}/bonding/slaves": "ens1f0np0 ens1f1np1\n"}
    files |= {"/etc/environment": "\n", "/etc/profile.d/lang.sh": "\n"}
    assert verdicts(report(tmp_path, files, environment={}), "nccl/one-queue-pair-over-a-bond") == {verdict}


def test_a_guest_whose_cards_stand_side_by_side(tmp_path: Path) -> None:
    """NCCL crashed, or chose rings at random: no link widths, no NUMA nodes, one flat bus."""
    paths = [f"0000:00:0{slot}.0" for slot in (5, 6, 7)]
    codes = (made.GPU, made.GPU, made.RDMA)
    files = {**made.guest(), **made.rdma_port("mlx5_0"), "/etc/nccl.conf": "", "/etc/environment": "\n"}
    for path, code in zip(paths, codes, strict=True):
        files |= made.card(path, code, node=-1, current_link_speed="Unknown", current_link_width="0")
    links = made.links(paths)
    links["/sys/class/infiniband/mlx5_0/device"] = f"../../../devices/pci0000:16/{paths[2]}"
    found = report(tmp_path, files, links, environment={})
    assert verdicts(found, "vm/pcie-tree-flat") == {"fails"}


@pytest.mark.parametrize(
    ("variables", "open_verdict", "exceeds"),
    [
        ({}, "fails", "not-applicable"),
        ({"OMP_NUM_THREADS": "16"}, "holds", "fails"),
        ({"OMP_NUM_THREADS": "4"}, "holds", "holds"),
    ],
    ids=["not told", "all cores in each rank", "a share of them"],
)
def test_threads_for_all_cores_in_every_rank(
    tmp_path: Path, variables: dict[str, str], open_verdict: str, exceeds: str
) -> None:
    """Training with several processes is slower than with one: each starts a thread for every core."""
    files = {**made.server(), **made.processors(16)}
    found = report(tmp_path, files, job=Job(ranks=4), affinity=list(range(16)), environment=variables)
    assert verdicts(found, "dataloader/threads-left-open") == {open_verdict}
    assert verdicts(found, "dataloader/threads-exceed-cpus") == {exceeds}
