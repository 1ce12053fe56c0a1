"""The script that places interrupts, run on made-up nodes: what it changes, and what it leaves alone and says so."""

from pathlib import Path

import pytest

from tests.irq_node import CPU, NFS, IrqNode
from tests.plans import needed, ran

FIRST, SECOND = "0000:3b:00.0", "0000:3c:00.0"
FAR = {39: "7", 40: "4", 41: "5", 42: "6", 43: "7"}
"""Where the four queues of the first card go, and (39) the interrupt for its commands."""


@pytest.fixture
def node(tmp_path: Path) -> IrqNode:
    """A card with four queues, all on the other socket."""
    made = IrqNode(tmp_path)
    made.card("ens1", FIRST, [4, 5, 6, 7])
    return made


def test_each_far_queue_gets_a_core_near_the_card(node: IrqNode) -> None:
    out, said = node.write().run()
    assert node.placed() == {39: "7", 40: "0", 41: "2", 42: "0", 43: "2"}
    assert (out[0], len(out), said) == ("irq 40: 4 -> 0", 4, [])


def test_a_second_run_changes_nothing(node: IrqNode) -> None:
    node.write().run()
    assert node.run() == ([], ["irq-affinity: ens1 is left alone: its queues interrupt CPUs near it"])


def test_a_queue_that_is_near_stays_whoever_put_it_there(node: IrqNode) -> None:
    node.irq(40, "2-3", "3")
    node.irq(41, "0-7", "2")
    node.write().run()
    assert node.placed() == {39: "7", 40: "2-3", 41: "0-7", 42: "0", 43: "0"}


def test_a_queue_that_was_moved_and_has_not_interrupted_since_is_near(node: IrqNode) -> None:
    node.irq(40, "2-3", "6")
    node.write().run()
    assert node.placed() == {39: "7", 40: "2-3", 41: "0", 42: "0", 43: "2"}


def test_cards_of_one_socket_share_its_cores(tmp_path: Path) -> None:
    node = IrqNode(tmp_path)
    node.card("ens1", FIRST, [0, 4, 5, 1, 0])
    node.card("ens2", SECOND, [4, 5, 6, 7], first=60)
    node.write().run()
    placed = node.placed()
    assert [placed[number] for number in range(40, 45)] == ["0", "2", "2", "1", "0"]
    assert [placed[number] for number in range(60, 64)] == ["2", "0", "2", "0"]


def test_cards_without_a_finding_keep_the_places_that_the_operator_chose(node: IrqNode) -> None:
    rail = node.card("ens2", SECOND, [6, 6, 6, 6], first=60)
    node.rdma("mlx5_0", rail, "ens2")
    node.files["/proc/self/mountinfo"] = NFS
    out, said = node.write().run()
    assert [line.split(":")[0] for line in out] == ["irq 40", "irq 41", "irq 42", "irq 43"]
    assert {node.placed()[number] for number in range(60, 64)} == {"6"}
    assert said == ["irq-affinity: ens2 is left alone: it does RDMA, which moves data without these interrupts"]


def test_a_card_is_known_by_the_first_of_its_interfaces(node: IrqNode) -> None:
    place = node.card("ens1", FIRST, [4, 5, 6, 7])
    node.files |= {f"{place}/net/ens1d1/operstate": "down\n", f"{place}/net/ens1d1/speed": "-1\n"}
    node.links |= {"/sys/class/net/ens1d1": f"{place}/net/ens1d1", f"{place}/net/ens1d1/device": place}
    out, said = node.write().run("--dry-run")
    assert (len(out), said) == (4, [])


def test_a_dry_run_says_what_it_would_do_and_does_nothing(node: IrqNode) -> None:
    out, _ = node.write().run("--dry-run")
    assert (len(out), node.placed()) == (4, FAR)
    assert not (node.root / "run").exists()


def test_what_it_changed_can_be_put_back(node: IrqNode) -> None:
    node.write().run()
    node.run()
    out, _ = node.run("--revert")
    assert (out[0], node.placed()) == ("irq 40: 0 -> 4", FAR)
    assert node.run("--revert")[1] == ["irq-affinity: nothing was changed since boot"]


def test_a_hostile_record_of_old_values_writes_nowhere_else(node: IrqNode) -> None:
    node.write().put("/run/advisor/irq-affinity.saved", "41 $(touch pwned)\n../../victim 1\n42 5\n")
    node.put("/victim/smp_affinity_list", "safe\n")
    node.run("--revert")
    assert (node.root / "victim/smp_affinity_list").read_text() == "safe\n"
    assert (node.placed()[41], node.placed()[42]) == ("5", "5")


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("/proc/77/comm", "irqbalance\n", "irqbalance runs"),
        ("/.dockerenv", "", "this is a container"),
        ("/run/.containerenv", "", "this is a container"),
    ],
    ids=["irqbalance", "docker", "podman"],
)
def test_where_it_must_not_it_does_nothing_and_says_why(node: IrqNode, path: str, text: str, why: str) -> None:
    node.write().put(path, text)
    out, (said,) = node.run()
    assert (out, why in said, node.placed()) == ([], True, FAR)


def test_a_node_without_a_network_card_is_told(tmp_path: Path) -> None:
    assert IrqNode(tmp_path).write().run() == (
        [],
        ["irq-affinity: there is no network card on the PCI bus; nothing was changed"],
    )


def test_interrupts_that_the_kernel_manages_are_left_alone(node: IrqNode) -> None:
    node.write()
    for number in (40, 41):
        (node.root / f"proc/irq/{number}/smp_affinity_list").chmod(0o444)
    _, said = node.run()
    assert node.placed() == {39: "7", 40: "4", 41: "5", 42: "0", 43: "2"}
    assert said == ["irq-affinity: ens1: the kernel manages 2 of its queues, which stay where they are"]


def test_isolated_and_missing_cpus_get_no_queue(node: IrqNode) -> None:
    node.files |= {f"{CPU}/isolated": "0\n", f"{CPU}/online": "0-2,4-7\n"}
    node.write().run()
    assert node.placed() == {39: "7", 40: "1", 41: "2", 42: "1", 43: "2"}


def test_an_unknown_option_is_said(node: IrqNode) -> None:
    needed("bash")
    node.write()
    done = ran(["bash", node.folder / "irq-affinity", "--force"])
    assert (done.returncode, "unknown option --force" in done.stderr) == (2, True)
