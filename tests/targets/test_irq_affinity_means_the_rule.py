"""irq-affinity moves queues of a card if, and only if, the rule that asks for it finds fault with that card."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.probes._filesystems import NETWORK
from advisor.targets.interrupts import SCRIPT
from tests.irq_node import CPU, NFS, IrqNode, installed

ADDRESS, OTHER = "0000:3b:00.0", "0000:3c:00.0"
FAR = [4, 5, 6, 7, 4, 5, 6, 7, 4, 5]
FUSE = "36 35 0:40 / /data rw - fuse.s3fs s3fs rw\n"
Change = Callable[[IrqNode, str], object]


def put(path: str, text: str | None) -> Change:
    """Another content, or none, for a file; of the card where the path is not absolute."""
    return lambda node, card: node.files.update({path if path.startswith("/") else f"{card}/{path}": text})


def queues(*cpus: int, called: str | None = None, count: int = 10) -> Change:
    """Other places for the first queues, another name for all, or fewer of them."""

    def changed(node: IrqNode, card: str) -> None:
        for path in [path for path in node.files if re.search(r"/(irq|msi_irqs)/\d", path)]:
            del node.files[path]
        node.names.clear()
        places = [*cpus, *FAR[len(cpus) : count]]
        node.card("ens1", ADDRESS, places, **({"called": called} if called else {}))

    return changed


def rail(node: IrqNode, card: str) -> None:
    node.rdma("mlx5_7", node.card("ens2", OTHER, [0], first=70), "ens2")


def all_of(*changes: Change) -> Change:
    return lambda node, card: [change(node, card) for change in changes]


def bonded(carrier: str) -> Change:
    def changed(node: IrqNode, card: str) -> None:
        other = node.card("ens2", OTHER, [0], first=70)
        node.rdma("mlx5_bond_0", other, carrier)
        node.bond("bond0", {"ens1": card, "ens2": other})

    return changed


def untold(node: IrqNode, card: str) -> None:
    for path in [path for path in node.files if path.endswith("effective_affinity_list")]:
        del node.files[path]


NFS_MOUNT = put("/proc/self/mountinfo", NFS)
MEANT: dict[str, Change] = {
    "all far": lambda node, card: None,
    "just more than three in ten": queues(0, 1, 2, 3, 0, 1),
    "just 25 Gb/s": put("net/ens1/speed", "25000\n"),
    "just four queues": queues(count=4),
    "RDMA on other cards, and NFS": all_of(rail, NFS_MOUNT),
    "RDMA of its own that does not work": lambda node, card: node.rdma("mlx5_0", card, state="1: DOWN"),
    "a bond that RDMA goes past, and NFS": all_of(bonded("ens2"), NFS_MOUNT),
    "RDMA that does not say its state, and NFS": all_of(rail, NFS_MOUNT, lambda node, card: unsaid(node)),
    "names of Intel": queues(called="ens1-TxRx-{n}"),
    "names of Amazon": queues(called="ens1-Tx-Rx-{n}"),
    "names of Broadcom": queues(called="bnxt_en-ens1-TxRx-{n}"),
    "names of virtio": queues(called="virtio0-input.{n}"),
    "names of receive queues": queues(called="ens1-rx-{n}"),
    "some CPUs near are isolated": put(f"{CPU}/isolated", "0-1\n"),
}
NOT_MEANT: dict[str, tuple[Change, str]] = {
    "all near": (queues(*[0, 1, 2, 3] * 2, 0, 1), "its queues interrupt CPUs near it"),
    "on CPUs near that are isolated": (
        all_of(queues(*[0, 1] * 5), put(f"{CPU}/isolated", "0-1\n")),
        "its queues interrupt CPUs near it",
    ),
    "three in ten": (queues(0, 1, 2, 3, 0, 1, 2), "only 3 of its 10 queues"),
    "slow": (put("net/ens1/speed", "24999\n"), "its link has 24999 Mb/s, less than 25000"),
    "three queues": (queues(count=3), "its queues have 3 interrupts, fewer than 4"),
    "no queues by name": (queues(called="ens1-event-{n}"), "its queues have 0 interrupts"),
    "no link": (
        all_of(put("net/ens1/operstate", "down\n"), put("net/ens1/speed", "-1\n")),
        "it has no link (operstate is down); start this again when it has",
    ),
    "no link yet": (
        all_of(put("net/ens1/operstate", "unknown\n"), put("net/ens1/speed", None)),
        "it has no link (operstate is unknown)",
    ),
    "a link without a speed": (put("net/ens1/speed", "-1\n"), "it does not say how fast its link is"),
    "RDMA on other cards": (rail, "RDMA carries the training, and no network file system is mounted"),
    "RDMA on other cards, and FUSE": (
        all_of(rail, put("/proc/self/mountinfo", FUSE)),
        "RDMA carries the training, and no network file system is mounted",
    ),
    "RDMA of its own, and NFS": (
        all_of(lambda node, card: node.rdma("mlx5_0", card), NFS_MOUNT),
        "it does RDMA, which moves data without these interrupts",
    ),
    "a bond that RDMA goes over, and NFS": (
        all_of(bonded("bond0"), NFS_MOUNT),
        "it does RDMA, which moves data without these interrupts",
    ),
    "RDMA that does not say its state": (
        all_of(rail, lambda node, card: unsaid(node)),
        "a port for RDMA does not say whether it is active",
    ),
    "all CPUs near are isolated": (put(f"{CPU}/isolated", "0-3\n"), "no CPU near it is known, or all are isolated"),
    "CPUs near are not known": (put("local_cpulist", None), "no CPU near it is known, or all are isolated"),
    "a kernel that does not say": (untold, "the kernel does not say where its queues interrupt"),
}


def unsaid(node: IrqNode) -> None:
    for path in [path for path in node.files if path.endswith("/ports/1/state")]:
        node.files[path] = "\n"


def made(folder: Path, change: Change) -> IrqNode:
    node = IrqNode(folder)
    change(node, node.card("ens1", ADDRESS, FAR))
    return node.write()


@pytest.mark.parametrize("case", MEANT)
def test_a_card_that_the_rule_finds_fault_with(tmp_path: Path, case: str) -> None:
    node = made(tmp_path, MEANT[case])
    out, said = node.run("--dry-run")
    moved = {int(line.split()[1].rstrip(":")) for line in out}
    assert (node.verdicts()["ens1"], bool(moved)) == ("fails", True)
    assert moved <= {number for number, cpus in node.placed().items() if cpus in "4567" and 40 <= number < 50}
    assert not [line for line in said if "ens1" in line]


@pytest.mark.parametrize("case", NOT_MEANT)
def test_a_card_that_the_rule_finds_no_fault_with(tmp_path: Path, case: str) -> None:
    change, why = NOT_MEANT[case]
    node = made(tmp_path, change)
    out, said = node.run("--dry-run")
    assert node.verdicts()["ens1"] != "fails"
    assert out == []
    assert said[0].startswith(f"irq-affinity: ens1 is left alone: {why}")


def test_the_first_interface_of_a_card_is_the_first_by_number(tmp_path: Path) -> None:
    node = IrqNode(tmp_path)
    card = node.card("ens10", ADDRESS, FAR)
    node.files |= {f"{card}/net/ens9/operstate": "down\n", f"{card}/net/ens9/mtu": "1500\n"}
    node.links |= {"/sys/class/net/ens9": f"{card}/net/ens9", f"{card}/net/ens9/device": card}
    out, (said,) = node.write().run("--dry-run")
    assert (node.verdicts(), out) == ({"ens9": "not-applicable"}, [])
    assert "ens9 is left alone: it has no link" in said


def test_the_script_knows_the_network_file_systems_that_the_facts_know() -> None:
    told = "".join(re.findall(r"^network\+?='([^']*)'", installed()[SCRIPT], re.MULTILINE))
    assert set(told.split("|")) == NETWORK
