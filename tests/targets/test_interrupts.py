"""The script that places interrupts: what it changes on made-up nodes, what it leaves alone, and that it is ours."""

from pathlib import Path

import pytest

from advisor.cli import run
from advisor.model.snapshot import Snapshot, Source
from advisor.probes import systemd
from advisor.probes._irqbalance import Irqbalance
from advisor.probes.irq import Irq
from advisor.targets import interrupts
from tests.outs import write_generated
from tests.plans import body, generated, needed, ran, wish, withheld
from tests.trees import write_link, write_tree


def host(running: bool | None = False, enabled: bool | None = False, oneshot: bool | None = None) -> Snapshot:
    balance = Irqbalance(running=running, enabled=enabled, oneshot=oneshot)
    return Snapshot(Source(kind="live"), {"irq": Irq(irqbalance=balance)}, {})


NEAR = wish("interrupts", "nic-queues", "near")
CPUS = 8
NIC = "/sys/devices/pci0000:00/0000:3b:00.0"


def files() -> dict[str, str]:
    return {path: text for path, text in generated(NEAR, host=host()).items() if path.startswith("host/")}


class Node:
    """Eight CPUs, two to a core; a card near CPUs 0-3 and 6-7 with six queues and an interrupt for its commands."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "root"
        script = folder / "irq-affinity"
        script.write_text(files()["host/usr/local/libexec/advisor/irq-affinity"])
        tree = {
            "/sys/devices/system/cpu/online": f"0-{CPUS - 1}\n",
            "/sys/devices/system/cpu/isolated": "\n",
            f"{NIC}/local_cpulist": "0-3,6-7\n",
            f"{NIC}/net/ens1/speed": "100000\n",
            "/proc/1/comm": "systemd\n",
        }
        for cpu in range(CPUS):
            pair = f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}"
            tree[f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"] = f"{pair}\n"
        for number in range(40, 47):
            action = f"mlx5_comp{number - 41}@pci:0000:3b:00.0" if number > 40 else "mlx5_async0@pci:0000:3b:00.0"
            tree |= {f"{NIC}/msi_irqs/{number}": "msix\n", f"/proc/irq/{number}/{action}/": ""}
            tree[f"/proc/irq/{number}/smp_affinity_list"] = f"0-{CPUS - 1}\n"
        write_tree(self.root, tree)
        write_link(self.root, "/sys/class/net/ens1", f"{self.root}{NIC}/net/ens1")
        write_link(self.root, f"{NIC}/net/ens1/device", f"{self.root}{NIC}")

    def run(self, *options: str) -> tuple[list[str], str]:
        needed("bash")
        env = {"PATH": "/usr/bin:/bin", "ADVISOR_ROOT": str(self.root)}
        done = ran(["bash", self.folder / "irq-affinity", *options], env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr

    def put(self, path: str, text: str) -> None:
        write_tree(self.root, {path: text})

    def placed(self) -> dict[int, str]:
        found = sorted((self.root / "proc/irq").iterdir())
        return {int(one.name): (one / "smp_affinity_list").read_text().strip() for one in found}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


EVERYWHERE = "0-7"


def test_each_queue_gets_a_core_near_the_card_and_the_rest_is_left_alone(node: Node) -> None:
    out, said = node.run()
    assert node.placed() == {40: EVERYWHERE, 41: "0", 42: "2", 43: "6", 44: "0", 45: "2", 46: "6"}
    assert out[0] == "irq 41: 0-7 -> 0"
    assert (len(out), said) == (6, "")


def test_a_second_run_changes_nothing(node: Node) -> None:
    node.run()
    assert node.run() == ([], "")


def test_a_dry_run_says_what_it_would_do_and_does_nothing(node: Node) -> None:
    out, _ = node.run("--dry-run")
    assert len(out) == 6
    assert set(node.placed().values()) == {EVERYWHERE}
    assert not (node.root / "run").exists()


def test_what_it_changed_can_be_put_back(node: Node) -> None:
    node.run()
    node.run()
    out, _ = node.run("--revert")
    assert out[0] == "irq 41: 0 -> 0-7"
    assert set(node.placed().values()) == {EVERYWHERE}
    assert "nothing was changed since boot" in node.run("--revert")[1]


def test_a_hostile_record_of_old_values_writes_nowhere_else(node: Node) -> None:
    node.put("/run/advisor/irq-affinity.saved", "41 $(touch pwned)\n../../victim 1\n42 5\n")
    node.put("/victim/smp_affinity_list", "safe\n")
    node.run("--revert")
    assert (node.root / "victim/smp_affinity_list").read_text() == "safe\n"
    assert (node.placed()[41], node.placed()[42]) == (EVERYWHERE, "5")


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("/proc/77/comm", "irqbalance\n", "irqbalance runs"),
        ("/.dockerenv", "", "this is a container"),
        ("/run/.containerenv", "", "this is a container"),
    ],
    ids=["irqbalance", "docker", "podman"],
)
def test_where_it_must_not_it_does_nothing_and_says_why(node: Node, path: str, text: str, why: str) -> None:
    node.put(path, text)
    out, said = node.run()
    assert (out, why in said) == ([], True)
    assert set(node.placed().values()) == {EVERYWHERE}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (f"{NIC}/net/ens1/speed", "10000\n"),
        (f"{NIC}/net/ens1/speed", "-1\n"),
        (f"{NIC}/local_cpulist", "\n"),
        ("/sys/devices/system/cpu/isolated", "0-7\n"),
    ],
    ids=["slow", "no link", "no CPUs near", "all isolated"],
)
def test_a_card_that_is_not_meant_is_left_alone(node: Node, path: str, text: str) -> None:
    node.put(path, text)
    assert node.run() == ([], "")


def test_interrupts_that_the_kernel_manages_are_left_alone(node: Node) -> None:
    for number in (41, 42):
        (node.root / f"proc/irq/{number}/smp_affinity_list").chmod(0o444)
    node.run()
    assert node.placed() == {40: EVERYWHERE, 41: EVERYWHERE, 42: EVERYWHERE, 43: "0", 44: "2", 45: "6", 46: "0"}


def test_isolated_and_missing_cpus_get_no_queue(node: Node) -> None:
    node.put("/sys/devices/system/cpu/isolated", "2-3\n")
    node.put("/sys/devices/system/cpu/online", "0-6\n")
    node.run()
    assert {node.placed()[number] for number in range(41, 47)} == {"0", "6"}


def test_an_unknown_option_is_said(node: Node) -> None:
    done = ran(["bash", node.folder / "irq-affinity", "--force"])
    assert (done.returncode, "unknown option --force" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (host(running=True), "irqbalance runs"),
        (host(running=True, enabled=True), "irqbalance runs"),
        (host(enabled=True), "irqbalance starts with the system"),
        (host(running=None), "it is not known whether irqbalance runs"),
        (Snapshot(Source(kind="live"), {}, {}), "it is not known whether irqbalance runs"),
    ],
)
def test_irqbalance_is_not_fought(machine: Snapshot, why: str) -> None:
    assert why in withheld(NEAR, host=machine)[0]


def test_an_irqbalance_that_places_them_once_is_no_fight() -> None:
    assert withheld(NEAR, host=host(enabled=True, oneshot=True)) == []


def test_shellcheck_and_systemd_have_no_complaint(tmp_path: Path) -> None:
    needed("shellcheck", "systemd-analyze")
    for path, text in files().items():
        (tmp_path / path.rpartition("/")[2]).write_text(text)
    done = ran(["shellcheck", tmp_path / "irq-affinity"])
    assert (done.returncode, done.stdout) == (0, "")
    done = ran(["systemd-analyze", "verify", "--man=no", tmp_path / "advisor-irq-affinity.service"])
    assert [line for line in done.stderr.splitlines() if "advisor-irq" in line] == []


def test_only_word_for_word_ours_is_taken_for_ours() -> None:
    made = files()
    script, unit = made["host" + interrupts.SCRIPT], made["host" + interrupts.UNIT]
    assert interrupts.lines(script, interrupts.SCRIPT) == interrupts.lines(unit, interrupts.UNIT) == ()
    assert "# rule area/name: helps\n" in unit
    for text, path in (
        (script + "reboot\n", interrupts.SCRIPT),
        (script.replace("slowest_mbps=25000", "slowest_mbps=1"), interrupts.SCRIPT),
        (unit.replace("ExecStop", "ExecStartPre=/bin/evil\nExecStop"), interrupts.UNIT),
        (unit.replace("# rule", "# rule \\\n# rule"), interrupts.UNIT),
        (unit.replace("[Unit]", " # x\n[Unit]"), interrupts.UNIT),
    ):
        with pytest.raises(ValueError, match=r"not the one|backslash"):
            interrupts.lines(text, path)
    assert "ExecStart=/bin/bash /usr/local/libexec/advisor/irq-affinity" in body(unit)


def test_apply_installs_the_script_as_it_is_and_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = {path.removeprefix("host"): text for path, text in files().items()}
    target = tmp_path / "target"
    target.mkdir()
    out = write_generated(tmp_path / "out", made)
    assert run(["apply", str(out), "--target-root", str(target), "--yes"]) == 0
    assert {path: (target / path.lstrip("/")).read_text() for path in made} == made
    evil = write_generated(tmp_path / "evil", {**made, interrupts.SCRIPT: made[interrupts.SCRIPT] + "reboot\n"})
    capsys.readouterr()
    assert run(["apply", str(evil), "--target-root", str(target), "--yes"]) == 2
    assert "was not written by this advisor" in capsys.readouterr().err


def test_the_unit_that_was_installed_is_known_for_ours(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, {interrupts.UNIT: files()["host" + interrupts.UNIT], "/etc/systemd/system/x": ""})
    facts = {**host().facts, "systemd": systemd.read(tree)}
    installed = Snapshot(Source(kind="live"), facts, {})
    (found,) = interrupts.set_by(installed, "nic-queues")
    assert (found.ours, found.path) == (True, interrupts.UNIT)
    assert withheld(NEAR, host=installed) == []
    assert interrupts.set_by(host(), "nic-queues") == ()
