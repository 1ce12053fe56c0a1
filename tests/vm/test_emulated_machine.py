"""A real kernel on a machine whose truth is chosen: what the collector brings out of it is compared fact by fact."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands._job import job_told
from advisor.commands._snapshot import derive, probe_host
from advisor.host.captured import open_root
from advisor.model.facts import Facts
from advisor.model.snapshot import Snapshot
from tests.vm import machine, node
from tests.vm.conftest import TABLE
from tests.vm.packages import CannotBuild
from tests.vm.truth import CONTAINER, NOBODY, NODE, Row

pytestmark = pytest.mark.vm

PLANTED = ("planted-host", "PLANTED", "52:54:00:aa", "10.7.0.", "0a07:0002", "feaa:0002", "filer")
"""Names, serials and addresses of the machine."""

LIMIT_SECONDS = 120
"""The collector's own."""


@dataclass(frozen=True)
class Collected:
    """What one run of the collector left."""

    archive: str
    said: str
    status: int
    seconds: float
    snapshot: Snapshot


@dataclass(frozen=True)
class Emulated:
    """What the machine left."""

    runs: Mapping[str, Collected]
    temporary: str
    processes: str


@pytest.fixture(scope="session")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    """The machine, booted once for all tests."""
    folder = tmp_path_factory.mktemp("machine")
    try:
        image = machine.build(machine.cache(), node.MODULES)
    except CannotBuild as missing:
        pytest.skip(f"no emulated machine: {missing}")
    left = machine.run(
        image, node.hardware(folder / "disks"), folder, node.payload(), node.files(), node.KERNEL_WORDS, timeout=900
    )
    assert (left.folder / "status").read_text() == "0\n", (left.folder / "log").read_text()[-3000:]
    runs = {path.parent.name: _collected(path.parent) for path in left.folder.glob("*/node.tar")}
    return Emulated(runs, (left.folder / "tmp").read_text(), (left.folder / "processes").read_text())


def _collected(folder: Path) -> Collected:
    archive = str(folder / "node.tar")
    status, start, end = (folder / "run").read_text().split()
    snapshot, defects = probe_host(open_root(archive))
    assert defects == ()
    snapshot = derive(snapshot, job_told(snapshot, None, "/data/set", "/scratch"))
    return Collected(archive, (folder / "said").read_text(), int(status), float(end) - float(start), snapshot)


def look(snapshot: Snapshot, path: str) -> object:
    """The fact at ``numa.nodes[1].distances``: what stands in brackets is a key, or a name, address or number."""
    value: object = None
    for number, (name, key) in enumerate(re.findall(r"(?:^|\.)([a-z_0-9]+)(?:\[([^]]*)\])?", path)):
        value = getattr(value, name) if number else snapshot.section(name)
        if key:
            value = _item(value, key)
        if value is None:
            return None
    return _plain(value)


_NAMES = (
    *("name", "address", "pci_address", "number", "index", "point", "key", "page_bytes", "parameter", "program"),
    *("prefix", "item"),
)


def _item(value: object, key: str) -> object:
    if isinstance(value, Mapping):
        return value.get(key)
    assert isinstance(value, tuple), key
    found = [item for item in value if key in {str(getattr(item, name, None)) for name in _NAMES}]
    assert len(found) == 1, f"{key} is there {len(found)} times"
    return found[0]


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [getattr(item, "name", item) if isinstance(item, Facts) else item for item in value]
    return value


Compare = Callable[[str, Row], None]


@pytest.fixture
def compare(request: pytest.FixtureRequest, emulated: Emulated) -> Compare:
    table = request.config.stash.setdefault(TABLE, [])

    def compared(where: str, row: Row) -> None:
        found = look(emulated.runs[where].snapshot, row.path)
        right = row.true == found
        verdict = "right" if right else "WRONG"
        table.append((verdict, where, row.path, str(row.true), str(found), row.why))
        assert right, f"{row.path} is {found!r}, but {row.why} makes it {row.true!r}"

    return compared


def _ids(rows: list[Row]) -> list[str]:
    return [row.path for row in rows]


@pytest.mark.parametrize("row", NODE, ids=_ids(NODE))
def test_root_collects_the_truth(row: Row, compare: Compare) -> None:
    compare("root", row)


@pytest.mark.parametrize("row", CONTAINER, ids=_ids(CONTAINER))
def test_a_container_collects_its_own_truth(row: Row, compare: Compare) -> None:
    compare("container", row)


@pytest.mark.parametrize("row", NOBODY, ids=_ids(NOBODY))
def test_nobody_is_told_less(row: Row, compare: Compare) -> None:
    compare("nobody", row)


SEEN_OTHERWISE = {row.path for row in NOBODY}


@pytest.mark.parametrize("name", ["nobody", "hurried"])
def test_what_was_not_read_is_unknown_and_the_rest_is_true(name: str, emulated: Emulated) -> None:
    snapshot = emulated.runs[name].snapshot
    wrong = {
        row.path: found
        for row in NODE
        if row.path not in SEEN_OTHERWISE and (found := _found(snapshot, row.path)) is not None and row.true != found
    }
    assert wrong == {}


def _found(snapshot: Snapshot, path: str) -> object:
    try:
        return look(snapshot, path)
    except AssertionError:
        return None  # the list that should have it was not read


@pytest.mark.parametrize("name", ["root", "nobody", "container"])
def test_the_collector_ends_well_within_its_limit(name: str, emulated: Emulated) -> None:
    collected = emulated.runs[name]
    assert (collected.status, collected.said) == (0, "")
    assert "timed out" not in collected.snapshot.gaps.values()
    if name == "root":  # the other two run at the same time as each other
        assert collected.seconds < LIMIT_SECONDS


def test_a_limit_of_one_second_gives_a_capture_that_says_so(emulated: Emulated) -> None:
    collected = emulated.runs["hurried"]
    assert collected.status == 0
    assert "stopped reading after 1 seconds" in collected.said
    assert "timed out" in collected.snapshot.gaps.values()


def test_nothing_is_left_in_the_machine(emulated: Emulated) -> None:
    assert emulated.temporary == ""
    assert "sleep" not in emulated.processes.split()


@pytest.mark.parametrize("name", ["root", "nobody", "container"])
def test_a_redacted_capture_gives_the_same_findings_and_holds_no_name(
    name: str, emulated: Emulated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    safe = str(tmp_path / "safe")
    assert run(["capture", safe, "--root", emulated.runs[name].archive]) == 0
    capsys.readouterr()
    findings = []
    for root in (emulated.runs[name].archive, safe):
        run(["check", "--root", root, "--format", "json", "--fail-on", "never"])
        findings.append(capsys.readouterr().out.replace(root, "ROOT"))
    assert findings[0] == findings[1]
    text = b"\0".join(path.read_bytes() for path in Path(safe).rglob("*") if path.is_file())
    assert [secret for secret in PLANTED if secret.encode() in text] == []


def test_facts_for_git_hold_no_serial_and_no_address(emulated: Emulated, tmp_path: Path) -> None:
    assert run(["probe", "--root", emulated.runs["root"].archive, "--out", str(tmp_path / "out"), "--quiet"]) == 0
    text = (tmp_path / "out/facts.json").read_text()
    assert '"numa_node"' in text
    assert [secret for secret in PLANTED if secret in text] == []
