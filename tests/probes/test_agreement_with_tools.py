"""The inventory of this machine agrees with what the usual tools print of it."""

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from advisor.host.live import LiveHost
from advisor.probes import block, cpu, ethtool, memory, mounts, net, numa, pci, sysctl
from advisor.probes._cpulist import parse_cpulist
from advisor.probes._filesystems import KERNEL
from advisor.probes._pci_codes import kind_of

NOT_LISTED = ("loop", "ram", "zram", "sr", "fd", "mtdblock")
"""Block devices that hold no data sets."""


def told(*argv: str) -> str:
    """What a tool prints; one that is missing skips the test."""
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def host() -> LiveHost:
    return LiveHost.here()


def lscpu_fields(entries: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Field and value; newer versions put fields below others."""
    for entry in entries:
        yield entry["field"].rstrip(":"), entry.get("data") or ""
        yield from lscpu_fields(entry.get("children", []))


def test_cpus_are_those_of_lscpu(host: LiveHost) -> None:
    fields = dict(lscpu_fields(json.loads(told("lscpu", "-J"))["lscpu"]))
    facts = cpu.read(host)
    assert facts.online == parse_cpulist(fields["On-line CPU(s) list"])
    assert facts.architecture == fields["Architecture"]
    packages = int(fields.get("Socket(s)", fields.get("Cluster(s)", "0")))
    assert facts.packages == packages
    assert facts.cores == int(fields["Core(s) per socket"]) * packages
    assert facts.model == fields["Model name"]


def test_every_cpu_lies_where_lscpu_says(host: LiveHost) -> None:
    rows = json.loads(told("lscpu", "-J", "-e=CPU,CORE,SOCKET,ONLINE"))["cpus"]
    groups: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        if str(row["online"]) in ("yes", "True"):
            groups.setdefault((str(row["socket"]), str(row["core"])), set()).add(int(row["cpu"]))
    siblings = {frozenset(one.siblings or ()) for one in cpu.read(host).cpus or () if one.online}
    assert siblings == {frozenset(group) for group in groups.values()}


def test_caches_are_those_of_lscpu(host: LiveHost) -> None:
    rows = json.loads(told("lscpu", "-J", "-B", "-C=NAME,ONE-SIZE,LEVEL,TYPE")).get("caches", [])
    theirs = {(int(row["level"]), row["type"].lower(), int(row["one-size"])) for row in rows}
    ours = {(one.level, (one.kind or "").lower(), one.size_bytes) for one in cpu.read(host).caches or ()}
    assert ours == theirs


@pytest.fixture(scope="module")
def lstopo() -> xml.etree.ElementTree.Element:
    return xml.etree.ElementTree.fromstring(told("lstopo-no-graphics", "--of", "xml", "--whole-system"))


def objects(tree: xml.etree.ElementTree.Element, kind: str) -> list[Mapping[str, str]]:
    return [one.attrib for one in tree.iter("object") if one.get("type") == kind]


def test_packages_cores_and_threads_are_those_of_lstopo(host: LiveHost, lstopo: xml.etree.ElementTree.Element) -> None:
    facts = cpu.read(host)
    assert len(objects(lstopo, "Package")) == facts.packages
    assert len(objects(lstopo, "Core")) == facts.cores
    assert {int(one["os_index"]) for one in objects(lstopo, "PU")} == set(facts.online or ())


def test_numa_nodes_and_their_memory_are_those_of_lstopo(host: LiveHost, lstopo: xml.etree.ElementTree.Element) -> None:
    ours = {node.number: node.memory_bytes for node in numa.read(host).nodes or ()}
    theirs = {int(one["os_index"]): int(one["local_memory"]) for one in objects(lstopo, "NUMANode")}
    assert ours.keys() == theirs.keys() or (not ours and theirs.keys() == {0})
    if len(theirs) > 1:  # with one node lstopo may take all memory for it
        assert ours == theirs


def test_pci_devices_of_interest_are_those_of_lstopo(host: LiveHost, lstopo: xml.etree.ElementTree.Element) -> None:
    words = re.compile(r"(\w{4}) \[(\w{4}):(\w{4})\] \[(\w{4}):(\w{4})\]")
    found = {one["pci_busid"]: words.match(one["pci_type"]) for one in objects(lstopo, "PCIDev")}
    theirs = {address: match.groups() for address, match in found.items() if match}
    ours = {one.address: one for one in pci.read(host).devices or ()}
    kinds = {address: kind_of(f"{code}00", vendor) for address, (code, vendor, *_) in theirs.items()}
    wanted = {address for address, kind in kinds.items() if kind}
    assert wanted <= {address for address, one in ours.items() if one.kind != "bridge"}
    for address in wanted:
        one = ours[address]
        mine = ((one.class_code or "")[:4], one.vendor, one.device, one.subsystem_vendor, one.subsystem_device)
        assert mine == theirs[address]


def test_block_devices_are_those_of_lsblk(host: LiveHost) -> None:
    columns = "KNAME,MAJ:MIN,TYPE,SIZE,ROTA,RO,RM,SCHED,RA,LOG-SEC,PHY-SEC,DISC-MAX"
    rows = json.loads(told("lsblk", "-J", "-b", "-l", "-a", "-o", columns))["blockdevices"]
    disks = {row["kname"]: row for row in rows if row["type"] != "part" and not row["kname"].startswith(NOT_LISTED)}
    ours = {one.name: one for one in block.read(host).devices or ()}
    assert ours.keys() == disks.keys()
    for name, row in disks.items():
        one = ours[name]
        assert (one.number, one.size_bytes) == (row["maj:min"], int(row["size"]))
        assert (one.scheduler, one.read_ahead_bytes) == (row["sched"], int(row["ra"]) * 1024)
        assert [one.rotational, one.read_only, one.removable] == [as_bool(row[key]) for key in ("rota", "ro", "rm")]
        assert (one.logical_block_bytes, one.physical_block_bytes) == (int(row["log-sec"]), int(row["phy-sec"]))
        assert one.discard_max_bytes == int(row["disc-max"])
        parts = {row["kname"] for row in rows if row["type"] == "part" and row["kname"].startswith(name)}
        assert {part.name for part in one.partitions or ()} == parts


def as_bool(value: object) -> bool:
    """lsblk's yes and no: JSON's in newer versions, text in older ones."""
    return value in (True, "1")


def test_mounts_are_those_of_findmnt(host: LiveHost) -> None:
    rows = json.loads(told("findmnt", "-J", "-l", "-b", "-o", "TARGET,FSTYPE,SOURCE,OPTIONS,SIZE,MAJ:MIN"))[
        "filesystems"
    ]
    facts = mounts.read(host)
    theirs = {row["target"]: row for row in rows if row["fstype"] not in KERNEL}  # the last one covers those before
    ours = {one.point: one for one in facts.mounts or ()}
    others = {one.point for one in facts.others or ()}
    assert ours.keys() <= theirs.keys() <= ours.keys() | others
    for point, one in ours.items():
        row = theirs[point]
        assert (one.fstype, one.device) == (row["fstype"], row["maj:min"])
        words = {word.partition("=")[0] for word in row["options"].split(",")}
        assert one.read_only == ("ro" in words)
        assert set(one.options or {}) <= words
        if one.size_bytes is not None and row["size"] is not None:
            assert one.size_bytes == int(row["size"])


def test_interfaces_are_those_of_ip(host: LiveHost) -> None:
    theirs = {row["ifname"]: row for row in json.loads(told("ip", "-j", "-d", "link"))}
    ours = {one.name: one for one in net.read(host).interfaces or ()}
    assert ours
    assert ours.keys() <= theirs.keys()
    physical = {name for name in theirs if os.path.exists(f"/sys/class/net/{name}/device")}
    assert physical <= ours.keys()
    for name, one in ours.items():
        row = theirs[name]
        assert one.mtu == row["mtu"]
        assert one.operstate == (None if row["operstate"] == "UNKNOWN" else row["operstate"].lower())
        assert one.master == row.get("master")
        assert (one.rx_queues, one.tx_queues) == (row["num_rx_queues"], row["num_tx_queues"])


def test_features_rings_and_channels_are_those_of_ethtool(host: LiveHost) -> None:
    if shutil.which("ethtool") is None:
        pytest.skip("ethtool is not installed")
    for card in ethtool.read(host).interfaces or ():
        features = dict(re.findall(r"^\s*([\w-]+): (on|off)", told("ethtool", "-k", card.name), re.MULTILINE))
        assert card.features
        assert {one.name: one.active for one in card.features} == {
            one.name: features[one.name] == "on" for one in card.features
        }
        for option, label, now, most in (
            ("-g", "RX", card.rx_ring, card.rx_ring_max),
            ("-l", "Combined", card.combined_channels, card.combined_channels_max),
        ):
            numbers = re.findall(rf"^{label}:\s+(\d+)", ethtool_text(option, card.name), re.MULTILINE)
            assert [most, now] == ([int(number) for number in numbers] or [None, None])


def ethtool_text(option: str, name: str) -> str:
    """What ethtool says; a virtual card may not answer every question."""
    argv = ["ethtool", option, name]
    return subprocess.run(argv, capture_output=True, text=True, timeout=10, env={**os.environ, "LC_ALL": "C"}).stdout


def test_sysctls_are_those_of_sysctl(host: LiveHost) -> None:
    theirs = dict(line.split(" = ", 1) for line in told("sysctl", "-a", "--ignore").splitlines() if " = " in line)
    facts = sysctl.read(host)
    compared = 0
    for name, model in sysctl.Sysctl.model_fields.items():
        value = getattr(facts, name)
        files = [mark.name for mark in model.metadata if hasattr(mark, "scale")]
        key = files[0].replace("/", ".") if files else ""
        if value is None or key not in theirs or key in ("fs.aio-nr", "fs.file-nr"):
            continue
        shown = (
            " ".join(map(str, value))
            if isinstance(value, tuple)
            else str(int(value) if isinstance(value, bool) else value)
        )
        assert shown == " ".join(theirs[key].split()), key
        compared += 1
    assert compared > 20


def test_memory_is_that_of_free(host: LiveHost) -> None:
    rows = {line.split()[0]: line.split()[1:] for line in told("free", "-b").splitlines()[1:]}
    facts = memory.read(host)
    assert facts.total_bytes == int(rows["Mem:"][0])
    assert facts.swap_total_bytes == int(rows["Swap:"][0])
