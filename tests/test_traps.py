"""Every trap of real data has its tests: TRAPS.md beside this file says which, and the last few stand here.

A line of it names a test as ``file::test``, or an example of a rule as ``rule: example``; both must exist.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from advisor.commands._rules import evaluated, loaded
from advisor.commands._snapshot import probe_host
from advisor.derived.budget import derive
from advisor.host.base import Host
from advisor.model.job import Job
from advisor.probes import cgroup, cpu, memory, mounts, numa, pci
from advisor.probes._interrupts import INTERRUPTS, read_interrupts
from advisor.probes._nccl_xml import parse_nccl_topo
from advisor.rulebook.rule import Rule
from tests.rules.test_examples_of_shipped_rules import settings_of
from tests.trees import write_capture, write_tree

HERE = Path(__file__).resolve().parent
MAP = (HERE / "TRAPS.md").read_text(encoding="utf-8")
TESTS = sorted(set(re.findall(r"`([\w/.]+\.py::\w+)`", MAP)))
EXAMPLES = sorted(set(re.findall(r"`([a-z0-9-]+/[a-z0-9-]+): ([^`]+)`", MAP)))
CPU, NODE, PCI = "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/bus/pci/devices"
GROUP_FILES = ("memory.max", "memory.high", "memory.swap.max", "cpu.max")
SERVER = {
    "/proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\nflags : fpu lm\n",
    "/sys/class/dmi/id/sys_vendor": "Supermicro\n",
    "/sys/class/dmi/id/product_name": "SYS-421GE\n",
    "/sys/class/dmi/id/chassis_type": "23\n",
}


@cache
def _tests_in(file: str) -> set[str]:
    tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("place", TESTS)
def test_a_named_test_exists(place: str) -> None:
    file, _, name = place.partition("::")
    assert name in _tests_in(file)


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_a_named_example_exists(rule: str, example: str) -> None:
    document = yaml.safe_load((HERE.parent / f"rules/{rule}.yaml").read_text(encoding="utf-8"))
    assert example in [one["name"] for one in document["examples"]]


@pytest.mark.parametrize(("part", "count"), [("What captured machines taught", 17), ("Pitfalls of parsing", 20)])
def test_each_trap_has_a_test(part: str, count: int) -> None:
    lines = MAP.partition(f"## {part}\n")[2].partition("\n## ")[0].split("\n")
    traps = [line for line in lines if re.match(r"\d+\. ", line)]
    assert [int(line.partition(".")[0]) for line in traps] == list(range(1, count + 1))
    for number, line in enumerate(traps):
        rest = lines[lines.index(line) + 1 :]
        end = lines.index(traps[number + 1]) - lines.index(line) - 1 if number + 1 < len(traps) else len(rest)
        assert any("`" in proof for proof in rest[:end]), line


def verdicts(host: Host, rule: str) -> list[str]:
    snapshot, defects = probe_host(host)
    assert defects == ()
    return [finding.verdict for finding in evaluated(snapshot).findings if finding.rule == rule]


def test_cpuinfo_may_list_cpus_that_are_switched_off(tmp_path: Path) -> None:
    files = {f"{CPU}/cpu{n}/": "" for n in range(4)} | {f"{CPU}/online": "0-1\n", f"{CPU}/offline": "2-3\n"}
    found = cpu.read(write_tree(tmp_path, {"/proc/cpuinfo": "".join(f"processor : {n}\n\n" for n in range(4))} | files))
    assert (found.online, found.offline) == ((0, 1), (2, 3))


def test_cpus_of_nodes_with_gaps_may_take_turns(tmp_path: Path) -> None:
    files = {f"{NODE}/node0/cpulist": "0-6:2\n", f"{NODE}/node8/cpulist": "1,3,5,7\n", f"{NODE}/node255/cpulist": "\n"}
    found = numa.read(write_tree(tmp_path, files))
    assert [(node.number, node.cpus) for node in found.nodes or ()] == [(0, (0, 2, 4, 6)), (8, (1, 3, 5, 7)), (255, ())]
    assert found.with_cpus == 2


def test_two_ports_of_one_card_may_name_two_nodes(tmp_path: Path) -> None:
    ports = {f"{PCI}/0000:3b:00.{n}/{name}": text for n in (0, 1) for name, text in _port(n).items()}
    found = pci.read(write_tree(tmp_path, ports)).devices or ()
    assert [(one.address, one.numa_node) for one in found] == [("0000:3b:00.0", 0), ("0000:3b:00.1", 1)]


def _port(node: int) -> dict[str, str]:
    return {"class": "0x020000\n", "vendor": "0x15b3\n", "device": "0x1017\n", "numa_node": f"{node}\n"}


def test_nodes_that_all_claim_all_cpus_make_no_finding(tmp_path: Path) -> None:
    files = {f"{NODE}/node{n}/cpulist": "0-7\n" for n in (0, 1)} | {f"{CPU}/online": "0-7\n"}
    snapshot, _ = probe_host(write_tree(tmp_path, SERVER | files))
    failed = [finding.rule for finding in evaluated(snapshot).findings if finding.verdict == "fails"]
    assert [rule for rule in failed if rule.startswith("numa/")] == []


@pytest.mark.parametrize(
    ("name", "said"),
    [("0x030000", (None, None)), ("0x038000", (None, None)), ("0x030200", (16.0, 16))],
    ids=["an AMD card's own bridge", "an AMD accelerator's", "a card of NVIDIA"],
)
def test_the_link_behind_a_cards_own_bridge_is_not_told(name: str, said: tuple[object, object]) -> None:
    gpu = f'<pci busid="0000:3b:00.0" class="{name}00" link_speed="16.0 GT/s PCIe" link_width="16">'
    text = f'<system version="1"><cpu numaid="0" affinity="ff">{gpu}<gpu dev="0"/></pci></cpu></system>'
    (device,) = parse_nccl_topo(text)
    assert (device.link_gtps, device.link_width) == said


def test_a_short_mask_and_cards_without_a_bus_are_read_as_far_as_they_go() -> None:
    net = '<nic><net name="mlx5_0" dev="0" speed="200000" port="1"/><net name="mlx5_1" dev="1"/></nic>'
    gpu = '<pci busid="0000:3b:00.0" class="0x030200"><gpu dev="0"/></pci>'
    text = f'<system version="1"><cpu numaid="0" affinity="fff0000">{net}{gpu}</cpu></system>'
    (device,) = parse_nccl_topo(text)
    assert (device.kind, device.cpus) == ("gpu", frozenset(range(16, 28)))


@pytest.mark.parametrize("rule", [rule for rule in loaded() if rule.settings], ids=lambda rule: rule.id)
def test_nobody_is_told_a_gid_index(rule: Rule) -> None:
    assert [s.key for s in settings_of(rule) if s.key == "NCCL_IB_GID_INDEX"] == []


def test_without_a_size_shared_memory_is_not_taken_for_64_mib(tmp_path: Path) -> None:
    table = "36 35 0:40 / /dev/shm rw - tmpfs tmpfs rw\n"
    assert verdicts(write_tree(tmp_path, SERVER | {"/proc/self/mountinfo": table}), "memory/shm-too-small") == [
        "unknown"
    ]


def test_what_lxcfs_shows_of_cpus_does_not_hide_those_of_the_host_and_the_group_limits(tmp_path: Path) -> None:
    files = {
        "/proc/cpuinfo": "processor : 0\n\nprocessor : 1\n",  # lxcfs shows the container's share
        "/proc/meminfo": "MemTotal: 2097152 kB\nMemAvailable: 2097152 kB\n",
        f"{CPU}/online": "0-63\n",
        "/proc/self/status": "Cpus_allowed_list:\t8-9\n",
        "/proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "/proc/self/cgroup": "0::/lxc/web\n",
        **{f"/sys/fs/cgroup/lxc{group}/{name}": "max\n" for group in ("", "/web") for name in GROUP_FILES},
        "/sys/fs/cgroup/lxc/web/memory.max": "1073741824\n",
        "/sys/fs/cgroup/lxc/web/cpuset.cpus.effective": "8-9\n",
    }
    host = write_tree(tmp_path, files)
    processors, group = cpu.read(host), cgroup.read(host)
    assert len(processors.online or ()) == 64
    found = derive(processors, group, memory.read(host), None, None, Job())
    assert (found.usable, found.memory_bytes) == ((8, 9), 1 << 30)


def test_a_very_long_line_of_layers_is_one_mount(tmp_path: Path) -> None:
    layers = ":".join(f"/var/lib/containers/storage/overlay/l/{n:032x}" for n in range(300))
    line = f"90 1 0:60 / / rw,relatime - overlay overlay rw,lowerdir={layers},upperdir=/u,workdir=/w\n"
    host = write_capture(tmp_path, {"/proc/self/mountinfo": line + "91 90 8:1 / /data rw - ext4 /dev/sda1 rw\n"})
    assert {mount.point for mount in mounts.read(host).mounts or ()} == {"/", "/data"}


def test_megabytes_of_interrupts_are_read_to_the_last_row(tmp_path: Path) -> None:
    heading = "".join(f"{f'CPU{n}':>11}" for n in range(0, 512, 2))
    counts = " ".join(f"{n:10}" for n in range(256))
    rows = "".join(f"{n:4}: {counts}  IR-PCI-MSI {n}-edge      mlx5_comp{n}@pci:0000:3b:00.0\n" for n in range(2000))
    found = read_interrupts(write_tree(tmp_path, {INTERRUPTS: f"{heading}\n{rows}ERR:          0\n"}), (1999,)) or {}
    assert (found[1999].counts[510], found[1999].name) == (255, "mlx5_comp1999@pci:0000:3b:00.0")
