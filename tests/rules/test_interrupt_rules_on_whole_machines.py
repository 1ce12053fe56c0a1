"""Interrupts of a card for NFS, read from a whole machine: near and spread, far away, all on one CPU."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from advisor.commands._rules import evaluated
from advisor.commands._snapshot import probe_host
from advisor.host.captured import open_root
from tests.trees import write_capture, write_link

CARD = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"
CPU = "/sys/devices/system/cpu"
CPUS = 8
QUEUES = 4
RULES = {
    f"network/{name}" for name in ("interrupts-far-from-card", "interrupts-on-one-cpu", "irqbalance-keeps-queues-far")
}


def table(cpus: Sequence[int], counts: Sequence[int]) -> str:
    """/proc/interrupts with one queue on each of ``cpus``, and an interrupt that carries no packets."""
    rows = [" " * 10 + "".join(f"{f'CPU{n}':>11}" for n in range(CPUS))]
    names = [*(f"mlx5_comp{n}@pci:0000:3b:00.0" for n in range(QUEUES)), "mlx5_async0@pci:0000:3b:00.0"]
    for number, (name, cpu, count) in enumerate(zip(names, (*cpus, 7), (*counts, 5), strict=True)):
        told = "".join(f"{count if cpu == n else 0:>11}" for n in range(CPUS))
        rows.append(f"{40 + number:>6}:{told}  IR-PCI-MSIX-0000:3b:00.0 {number}-edge      {name}")
    return "\n".join(rows) + "\n"


def machine(cpus: Sequence[int], counts: Sequence[int], balanced: bool) -> dict[str, str]:
    """A host of two nodes whose only fast card, near CPUs 0 to 3, brings the data."""
    files = {
        f"{CARD}/class": "0x020000\n",
        f"{CARD}/vendor": "0x15b3\n",
        f"{CARD}/local_cpulist": "0-3\n",
        f"{CARD}/numa_node": "0\n",
        f"{CPU}/online": "0-7\n",
        f"{CPU}/isolated": "\n",
        "/proc/interrupts": table(cpus, counts),
        "/proc/self/mountinfo": "36 35 0:40 / /data rw - nfs4 filer:/data rw,vers=4.2\n",
        f"/sys/fs/cgroup/system.slice/{'irqbalance' if balanced else 'sshd'}.service/cgroup.procs": "77\n",
    }
    net = {"type": "1", "speed": "100000", "operstate": "up", "mtu": "9000", "flags": "0x1003"}
    files |= {f"{CARD}/net/ens1/{name}": f"{text}\n" for name, text in net.items()}
    for number, cpu in enumerate((*cpus, 7)):
        folder = f"/proc/irq/{40 + number}"
        hint = 1 << number if number < QUEUES else 0
        files |= {f"{folder}/effective_affinity_list": f"{cpu}\n", f"{folder}/affinity_hint": f"{hint:x}\n"}
        files |= {f"{folder}/smp_affinity_list": "0-7\n", f"{folder}/smp_affinity": "ff\n"}
        files[f"{CARD}/msi_irqs/{40 + number}"] = "msix\n"
    return files


def failing(folder: Path, cpus: Sequence[int], later: Sequence[int], balanced: bool = False) -> Mapping[str, str]:
    """Message by rule, of a host that is read twice within ten seconds."""
    for place, counts in ((folder, [1000] * QUEUES), (folder / "sample", later)):
        write_capture(place, machine(cpus, counts, balanced))
        write_link(place / "fs", "/sys/bus/pci/devices/0000:3b:00.0", f"../../..{CARD.removeprefix('/sys')}")
        write_link(place / "fs", "/sys/class/net/ens1", f"../..{CARD.removeprefix('/sys')}/net/ens1")
        write_link(place / "fs", f"{CARD}/net/ens1/device", "../..")
    (folder / "sample/advisor-capture.json").write_text('{"version": 1, "root_user": false, "seconds": 10}')
    snapshot, defects = probe_host(open_root(str(folder)))
    assert not defects
    found = [finding for finding in evaluated(snapshot).findings if finding.rule in RULES]
    assert not [finding.message for finding in found if finding.verdict == "unknown"]
    return {finding.rule: finding.message for finding in found if finding.verdict == "fails"}


BUSY = [1000 + 30_000] * QUEUES


def test_queues_that_are_near_and_spread_are_fine(tmp_path: Path) -> None:
    assert failing(tmp_path, [0, 1, 2, 3], BUSY) == {}


def test_queues_on_the_other_node(tmp_path: Path) -> None:
    assert failing(tmp_path, [0, 1, 6, 7], BUSY) == {
        "network/interrupts-far-from-card": "2 of the 4 queues of ens1 interrupt CPUs that are not near the card"
    }


def test_queues_that_irqbalance_keeps_on_the_other_node(tmp_path: Path) -> None:
    assert set(failing(tmp_path, [0, 1, 6, 7], BUSY, balanced=True)) == {"network/irqbalance-keeps-queues-far"}


@pytest.mark.parametrize("counts", [BUSY, [1000 + 90_000, 1000, 1000, 1000]], ids=["all there", "one connection"])
def test_all_packets_on_one_cpu(tmp_path: Path, counts: Sequence[int]) -> None:
    cpus = [2, 2, 2, 2] if counts is BUSY else [0, 1, 2, 3]
    assert set(failing(tmp_path, cpus, counts)) == {"network/interrupts-on-one-cpu"}


def test_a_quiet_card_is_left_alone(tmp_path: Path) -> None:
    assert failing(tmp_path, [2, 2, 2, 2], [1100] * QUEUES) == {}
