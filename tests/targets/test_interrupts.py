"""The script that places interrupts and its unit: on which hosts they are written, and that they are ours."""

from pathlib import Path

import pytest

from advisor.cli import run
from advisor.model.snapshot import Snapshot, Source
from advisor.probes import systemd
from advisor.probes._irqbalance import Irqbalance
from advisor.probes.irq import Irq
from advisor.targets import interrupts
from tests.irq_node import NEAR, installed, quiet_host
from tests.outs import write_generated
from tests.plans import body, needed, ran, withheld
from tests.trees import write_tree


def host(running: bool | None = False, enabled: bool | None = False, oneshot: bool | None = None) -> Snapshot:
    balance = Irqbalance(running=running, enabled=enabled, oneshot=oneshot)
    return Snapshot(Source(kind="live"), {"irq": Irq(irqbalance=balance)}, {})


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
    for path, text in installed().items():
        (tmp_path / path.rpartition("/")[2]).write_text(text)
    done = ran(["shellcheck", tmp_path / "irq-affinity"])
    assert (done.returncode, done.stdout) == (0, "")
    done = ran(["systemd-analyze", "verify", "--man=no", tmp_path / "advisor-irq-affinity.service"])
    assert [line for line in done.stderr.splitlines() if "advisor-irq" in line] == []


def test_the_unit_waits_for_links_and_network_file_systems() -> None:
    rows = body(installed()[interrupts.UNIT])
    assert {"Wants=network-online.target", "After=network-online.target remote-fs.target"} <= set(rows)


def test_only_word_for_word_ours_is_taken_for_ours() -> None:
    made = installed()
    script, unit = made[interrupts.SCRIPT], made[interrupts.UNIT]
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
    made = installed()
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
    tree = write_tree(tmp_path, {interrupts.UNIT: installed()[interrupts.UNIT], "/etc/systemd/system/x": ""})
    facts = {**quiet_host().facts, "systemd": systemd.read(tree)}
    machine = Snapshot(Source(kind="live"), facts, {})
    (found,) = interrupts.set_by(machine, "nic-queues")
    assert (found.ours, found.path) == (True, interrupts.UNIT)
    assert withheld(NEAR, host=machine) == []
    assert interrupts.set_by(host(), "nic-queues") == ()
