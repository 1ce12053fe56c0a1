"""CPU, package, core and node counts agree with what ships beside captured machines of other projects.

Three authorities, the higher ones first: what lstopo and lscpu printed for the very tree, what cadvisor said of the
same host, and VERIFY.tsv, which a script read out of the trees.
"""

import csv
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.discover import units
from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.host.tree import Tree
from advisor.probes import cgroup, cpu, numa
from advisor.probes._cpulist import parse_cpulist
from advisor.probes._run import run_probes

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout"),
]

Counts = dict[str, object]
_NO_IDS = "package ids are all -1; the sets of CPUs tell the packages apart, for lscpu too"
DISAGREEMENTS: dict[tuple[str, str], tuple[object, object, str]] = {
    ("hwloc/history/32ppc-4n4c2c.tar.bz2", "lstopo cores"): (
        0,
        32,
        "this kernel has no topology folders; lstopo reads /proc/device-tree",
    ),
    ("hwloc/linux/16ia64-8n2s.tar.bz2", "VERIFY packages"): (
        16,
        8,
        "package ids repeat on every node; sets of CPUs differ, and lstopo counts 16 too",
    ),
    ("hwloc/linux/40intel64-4n10c+pci-conflicts.tar.bz2", "lstopo packages"): (
        4,
        3,
        "edited so that things conflict: lstopo drops a package, the kernel's files name four",
    ),
    ("hwloc/linux/fakememinitiators-1np2c+1npp+gi.tar.bz2", "lstopo cores"): (
        2,
        8,
        "made up: no siblings, and four CPUs share each package and core id; lstopo then takes every CPU for a core",
    ),
    ("hwloc/linux/fakememinitiators-1np2c+1npp+gi.tar.bz2", "lstopo nodes"): (
        11,
        6,
        "the cpuset allows memory of nodes 5-10 only, and lstopo shows no others",
    ),
    ("hwloc/linux/nvidiagpunumanodes.tar.bz2", "lstopo nodes"): (8, 2, "lstopo hides the six nodes of GPU memory"),
    ("hwloc/linux/nvidiagpunumanodes.tar.bz2", "lstopo allowed"): (
        set(range(16)),
        {*range(16), *range(88, 104)},
        "v1: lstopo reads cpuset.cpus (0-175), the kernel's cpuset.effective_cpus says 0-87",
    ),
    ("util-linux/lscpu/ppc64-POWER7.tar.gz", "VERIFY packages"): (4, 1, _NO_IDS),
    ("util-linux/lscpu/s390-kvm.tar.gz", "VERIFY packages"): (3, 1, _NO_IDS),
    ("util-linux/lscpu/s390-zvm.tar.gz", "VERIFY packages"): (4, 1, _NO_IDS),
    ("util-linux/lscpu/sparc64.tar.gz", "VERIFY packages"): (6, 1, _NO_IDS),
    ("procfs/fixtures.ttar", "VERIFY online count"): (3, 8, "folders of one host, cpuinfo of another"),
}
"""Count to ours, theirs, and why they differ."""


def rows(table: str) -> list[dict[str, str]]:
    """The rows of a table beside the machines; none where there are no machines."""
    if not HOSTS.is_dir():
        return []
    with open(HOSTS / table, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


ROOTS = [row["path"] for row in rows("INDEX.tsv") if row["kind"].startswith("fsroot")]


def opened(path: str, tmp_path: Path) -> Host:
    """The machine of one row."""
    if path.endswith(".ttar"):
        spec = importlib.util.spec_from_file_location("ttar_extract", HOSTS / "tools/ttar_extract.py")
        assert spec is not None
        assert spec.loader is not None
        tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tool)
        tool.extract(str(HOSTS / path), str(tmp_path))
        return open_root(str(tmp_path))
    if path == "gpud/sysfs":
        return Tree.in_folder(HOSTS / path)
    return open_root(str(HOSTS / path))


def counted(host: Host) -> Counts:
    """What the probes say."""
    processors, nodes = cpu.read(host), numa.read(host).nodes
    allowed = cgroup.read(host).cpuset_cpus
    online = set(processors.online or ())
    return {
        "online": online,
        "allowed": online if allowed is None else online & set(allowed),
        "packages": processors.packages or 0,
        "cores": processors.cores or 0,
        "nodes": len(nodes or ()),
    }


def by_verify(path: str) -> Counts:
    """What VERIFY.tsv says."""
    row = next(row for row in rows("VERIFY.tsv") if row["path"] == path)
    online = set(parse_cpulist(row["online"]))
    expected: Counts = {"packages": int(row["pkgs"]), "nodes": int(row["nodes"])}
    if online:
        return {**expected, "online": online}
    return {**expected, "online count": int(row["cpuinfo"]) or int(row["cpudirs"])}


def by_lstopo(path: str) -> Counts:
    """What lstopo printed, where it did so for people and not as XML."""
    archive = HOSTS / path
    stem = archive.name.removesuffix(".tar.bz2")
    text = next(
        (f.read_text() for f in (archive.with_name(stem + end) for end in (".console", ".output")) if f.exists()), ""
    )
    units = set(map(int, re.findall(r"^ *PU L#\d+ \(P#(\d+)", text, re.MULTILINE)))
    if not units:
        return {}
    kinds = {"packages": "(?:Package|Socket)", "cores": "Core", "nodes": "NUMANode"}
    found = {
        name: len(re.findall(rf"^ *{kind}(?:\(\w+\))? L#\d+(?: \(|$)", text, re.MULTILINE))
        for name, kind in kinds.items()
    }
    return {"allowed": units, **found}


def by_lscpu(path: str) -> Counts:
    """What lscpu printed."""
    printed = HOSTS / "util-linux/lscpu" / ("lscpu-" + Path(path).name.removesuffix(".tar.gz"))
    if not path.startswith("util-linux/lscpu/") or not printed.exists():
        return {}
    fields = dict(re.findall(r"^([^:]+): +(.+)$", printed.read_text(), re.MULTILINE))
    expected: Counts = {"online": set(parse_cpulist(fields["On-line CPU(s) list"]))}
    if "Socket(s)" in fields:
        expected["packages"] = int(fields["Socket(s)"])
        expected["cores"] = int(fields["Socket(s)"]) * int(fields["Core(s) per socket"])
    if "NUMA node(s)" in fields:
        expected["nodes"] = int(fields["NUMA node(s)"])
    return expected


def by_cadvisor(host: Host) -> Counts:
    """What cadvisor said of the same host."""
    text = host.text("/machineinfo.json", 1 << 20)
    if text is None:
        return {}
    told = json.loads(text)
    return {"online count": told["num_cores"], "packages": told["num_sockets"], "nodes": len(told["topology"])}


def disagreements(path: str, source: str, ours: Counts, theirs: Counts) -> Iterator[tuple[str, object, object]]:
    """What differs: count, ours and theirs."""
    known = {**ours, "online count": len(ours["online"])}  # type: ignore[arg-type]
    for name, expected in theirs.items():
        if source == "lstopo" and name != "allowed" and theirs["allowed"] != ours["online"]:
            # It shows no more than the cpuset holds.
            continue
        if source == "lstopo" and name == "nodes":
            # It makes up a node where the kernel has none.
            known[name] = known[name] or 1
        if known[name] != expected:
            yield f"{source} {name}", known[name], expected


@pytest.mark.parametrize("path", ROOTS)
def test_counts_agree(path: str, tmp_path: Path) -> None:
    host = opened(path, tmp_path)
    ours = counted(host)
    found = {}
    for source, theirs in (
        ("VERIFY", by_verify(path)),
        ("lstopo", by_lstopo(path)),
        ("lscpu", by_lscpu(path)),
        ("cadvisor", by_cadvisor(host)),
    ):
        for name, mine, expected in disagreements(path, source, ours, theirs):
            found[path, name] = (mine, expected)
    known = {key: value[:2] for key, value in DISAGREEMENTS.items() if key[0] == path}
    assert found == known


@pytest.mark.parametrize("path", ROOTS)
def test_no_probe_fails(path: str, tmp_path: Path) -> None:
    names = ("cpu", "cgroup", "numa", "memory", "sysctl", "modules", "limits", "shm", "platform")
    host = opened(path, tmp_path)
    snapshot, defects = run_probes(host, {name: units("probes")[name] for name in names})
    assert defects == ()
    assert set(snapshot.gaps.values()) <= {"not captured", "unsupported", "error"}
