"""Values that count at once: set, verified, put back; in a network of the test's own, whose values nobody shares."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from advisor.errors import ApplyError
from advisor.host.live import LiveHost
from advisor.model.snapshot import Snapshot, Source
from advisor.planning.apply import Kernel
from advisor.planning.transaction import recover
from advisor.planning.verify import standings
from advisor.probes import sysctl
from tests.namespaces import NEW_NETWORK, CannotMount, apart
from tests.outs import SYSCTL
from tests.planning.sites import TARGETS, generated, install, killed_at, looks, machine, nobody, site, undo

RMEM, PROBING = "net.ipv4.tcp_rmem", "net.ipv4.tcp_mtu_probing"
TEXT = f"{PROBING} = 1\n{RMEM} = 4096 131072 16777216\n"


class OwnNetwork(Kernel):
    """The kernel, but for values that other networks share."""

    def write(self, path: str, text: str) -> None:
        assert path.startswith("/proc/sys/net/ipv4/tcp_")
        super().write(path, text)


class Made(Kernel):
    """A kernel that is made up: values by path; what is in ``refused`` cannot be set."""

    def __init__(self, values: Mapping[str, str], refused: str = "") -> None:
        super().__init__()
        self.values, self.refused = dict(values), refused

    def read(self, path: str) -> str | None:
        return self.values.get(path)

    def write(self, path: str, text: str) -> None:
        if path == self.refused:
            raise OSError(22, "Invalid argument", path)
        self.values[path] = text


def shown() -> dict[str, str]:
    values = {key: LiveHost.here().text("/proc/sys/" + key.replace(".", "/")) for key in (RMEM, PROBING)}
    return {key: " ".join((value or "").split()) for key, value in values.items()}


def in_own_network(act: Callable[[], None]) -> None:
    def checked() -> None:
        if not os.access("/proc/sys/net/ipv4/tcp_rmem", os.W_OK):
            raise CannotMount
        act()

    apart(NEW_NETWORK, checked)


def states(text: str) -> list[str]:
    host = LiveHost.here()
    snapshot = Snapshot(Source(kind="live"), {"sysctl": sysctl.read(host)}, host.gaps)
    return [one.state for one in standings(generated({SYSCTL: text}), {}, snapshot, TARGETS)]


def test_values_are_set_verified_and_put_back(tmp_path: Path) -> None:
    def act() -> None:
        root, before = machine(tmp_path), shown()
        original = looks(root)
        assert states(TEXT) == ["differs", "differs"]
        install(site(root, nobody, OwnNetwork()), {SYSCTL: TEXT}, live=True)
        assert shown() == {RMEM: "4096 131072 16777216", PROBING: "1"}
        assert states(TEXT) == ["applied", "applied"]
        undo(site(root, nobody, OwnNetwork()))
        assert shown() == before
        assert looks(root) == original

    in_own_network(act)


def test_killed_anywhere_the_values_come_back_with_the_files(tmp_path: Path) -> None:
    def act() -> None:
        original, before, number = machine(tmp_path / "original"), shown(), 0
        files = looks(original)
        while True:
            root = tmp_path / "root"
            shutil.rmtree(root, ignore_errors=True)
            shutil.copytree(original, root)

            def installing(step: Callable[[str], None], root: Path = root) -> None:
                install(site(root, step, OwnNetwork(step)), {SYSCTL: TEXT}, live=True)

            if not killed_at(number, installing):
                break
            recover(site(root, nobody, OwnNetwork()))
            undo(site(root, nobody, OwnNetwork()))
            assert (shown(), looks(root)) == (before, files), f"killed at step {number}"
            number += 1
        assert shown() != before

    in_own_network(act)


def test_a_value_that_the_kernel_refuses_turns_all_back(tmp_path: Path) -> None:
    def act() -> None:
        root, before = machine(tmp_path), shown()
        files = looks(root)
        text = f"{RMEM} = 4096 131072 16777216\n{PROBING} = 999\n"
        with pytest.raises(ApplyError, match="tcp_mtu_probing: Invalid argument; what was done was turned back"):
            install(site(root, nobody, OwnNetwork()), {SYSCTL: text}, live=True)
        assert (shown(), looks(root)) == (before, files)

    in_own_network(act)


def test_a_value_that_was_changed_by_hand_is_left_and_told(tmp_path: Path) -> None:
    path = "/proc/sys/vm/swappiness"
    root, kernel = machine(tmp_path), Made({path: "60"})
    install(site(root, nobody, kernel), live=True)
    assert kernel.values[path] == "10"
    kernel.values[path] = "33"
    assert undo(site(root, nobody, kernel)).by_hand == (
        "sysctl:vm.swappiness is 33 and not the 10 that advisor set: it is left as it is",
    )
    assert kernel.values[path] == "33"
    assert undo(site(root, nobody, kernel)).is_empty


def test_a_value_that_was_set_after_the_kill_is_told(tmp_path: Path) -> None:
    class Dies(Made):
        def write(self, path: str, text: str) -> None:
            os._exit(0)

    path, root = "/proc/sys/vm/swappiness", machine(tmp_path)
    child = os.fork()
    if child == 0:
        try:
            install(site(root, nobody, Dies({path: "60"})), live=True)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    kernel = Made({path: "33"})
    assert "sysctl:vm.swappiness was 33, and is 60 again as before" in recover(site(root, nobody, kernel))
    assert kernel.values[path] == "60"


def test_a_value_comes_back_through_its_twin(tmp_path: Path) -> None:
    """vm.dirty_bytes takes no 0: it is vm.dirty_ratio that brings the former state back."""
    of_bytes, ratio = "/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"

    class Twins(Made):
        def write(self, path: str, text: str) -> None:
            assert (path, text) != (of_bytes, "0"), "the kernel refuses it"
            self.values = {of_bytes: "0", ratio: "0", path: text}

    root, kernel = machine(tmp_path), Twins({of_bytes: "0", ratio: "20"})
    install(site(root, nobody, kernel), {SYSCTL: "vm.dirty_bytes = 1073741824\n"}, live=True)
    assert kernel.values == {of_bytes: "1073741824", ratio: "0"}
    undo(site(root, nobody, kernel))
    assert kernel.values == {of_bytes: "0", ratio: "20"}


def test_what_the_kernel_makes_of_a_value_is_remembered(tmp_path: Path) -> None:
    path = "/proc/sys/vm/nr_hugepages"

    class Rounds(Made):
        def write(self, path: str, text: str) -> None:
            self.values[path] = text if text == "0" else "7"

    root, kernel = machine(tmp_path), Rounds({path: "0"})
    install(site(root, nobody, kernel), {SYSCTL: "vm.nr_hugepages = 8\n"}, live=True)
    assert undo(site(root, nobody, kernel)).by_hand == ()
    assert kernel.values[path] == "0"


def test_a_value_that_is_generated_no_more_goes_back(tmp_path: Path) -> None:
    path = "/proc/sys/vm/swappiness"
    root, kernel = machine(tmp_path), Made({path: "60"})
    install(site(root, nobody, kernel), live=True)
    install(site(root, nobody, kernel), {}, live=True)
    assert kernel.values[path] == "60"
    assert not (root / "var").exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/sys/../../etc/passwd", "/sys/module/x", "/proc/sysrq-trigger"])
def test_only_files_that_hold_values_are_written(path: str) -> None:
    with pytest.raises(ApplyError, match="no file that sets a value"):
        Kernel().write(path, "x")
