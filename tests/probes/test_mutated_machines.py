"""Whatever the files of a machine hold, no exception leaves a probe and no fact is invented.

Machines are taken as they are and some of their files are emptied, cut, doubled, filled with noise, exchanged, made
unreadable or taken away, `EXAMPLES` times with `AT_ONCE` changes each: more than 10,000 in a run.
"""

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from advisor.commands._rules import evaluated
from advisor.commands._snapshot import derive
from advisor.discover import probe_models, units
from advisor.host.archive import MemoryStore, read_archive
from advisor.host.base import Host
from advisor.host.capture import Capture
from advisor.host.live import LiveHost
from advisor.host.recording import Recorder
from advisor.host.saving import save_capture
from advisor.host.tree import Node
from advisor.model.facts import Facts, evidence_path, marks
from advisor.model.snapshot import Snapshot, committed_json, full_json, parse_snapshot
from advisor.probes._run import run_probes
from tests.gpu_node import gpu_node
from tests.trees import ALL_ABSENT

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts"
EXAMPLES = 130
AT_ONCE = 40
"""Changes in one example; with both machines 10,400 in a run."""
UNREADABLE = "unreadable"
GONE = "gone"
MADE_UP_OUTPUTS = {
    ("ethtool", "-g", "eth0"): "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t8192\nRX Mini:\tn/a\nTX:\t\t8192\n"
    "Current hardware settings:\nRX:\t\t1024\nRX Mini:\tn/a\nTX:\t\t1024\n",
    ("ethtool", "-l", "eth0"): "Channel parameters for eth0:\nPre-set maximums:\nCombined:\t63\n"
    "Current hardware settings:\nCombined:\t63\n",
    ("ethtool", "-a", "eth0"): "Pause parameters for eth0:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\ton\n",
    (
        "ethtool",
        "-i",
        "eth0",
    ): "driver: mlx5_core\nversion: 24.10-1.1.4\nfirmware-version: 28.39.2048 (MT_0000000838)\n",
    ("uname", "-m"): "x86_64\n",
}


@dataclass
class Changed(MemoryStore):
    """A store of which some files are other than they were."""

    inner: MemoryStore = field(default_factory=MemoryStore)
    other: Mapping[str, bytes | str] = field(default_factory=dict)

    def node(self, path: str) -> Node | None:
        return None if self.other.get(self.top + path) == GONE else self.inner.node(path)

    def content(self, path: str, limit: int) -> bytes:
        changed = self.other.get(self.top + path)
        if isinstance(changed, str):
            raise OSError(errno.EACCES, "Permission denied")
        return self.inner.content(path, limit) if changed is None else changed[:limit]

    def children(self, path: str) -> tuple[str, ...]:
        names = self.inner.children(path)
        return tuple(name for name in names if self.other.get(f"{self.top}{path}/{name}") != GONE)


@cache
def made_up() -> MemoryStore:
    """A capture of a small GPU node."""
    machine = gpu_node(cpus=8, gpus=2, nics=2, drives=2, vectors=12)
    store = MemoryStore()
    for path, text in machine.files.items():
        if path.endswith("/"):
            store.add(f"/fs{path.rstrip('/')}", Node("folder"))
        else:
            store.add(f"/fs{path}", Node("file", 0o644), text.encode())
    for path, target in machine.links.items():
        store.add(f"/fs{path}", Node("link", target=target))
    for number, (argv, text) in enumerate(MADE_UP_OUTPUTS.items()):
        store.add(f"/cmd/{number}.argv", Node("file"), "\n".join(argv).encode())
        store.add(f"/cmd/{number}.stdout", Node("file"), text.encode())
        store.add(f"/cmd/{number}.rc", Node("file"), b"0")
    store.add("/errors.tsv", Node("file"), "".join(f"{path}\tENOENT\n" for path in ALL_ABSENT).encode())
    store.add("/advisor-capture.json", Node("file"), b'{"version": 1, "root_user": false}')
    return store


@pytest.fixture(scope="module")
def this_machine(tmp_path_factory: pytest.TempPathFactory) -> MemoryStore:
    """A capture of the machine that the tests run on."""
    recorder = Recorder.of(LiveHost.here())
    run_probes(recorder, units("probes"))
    archive = tmp_path_factory.mktemp("capture") / "here.tar"
    save_capture(recorder, archive)
    return read_archive(str(archive), None)


def changes(names: tuple[str, ...], store: MemoryStore) -> st.SearchStrategy[dict[str, bytes | str]]:
    """Some of the files, each with what is to lie there instead."""
    noise = st.binary(min_size=1, max_size=300)

    def other(path: str) -> st.SearchStrategy[bytes | str]:
        text = store.files[path]
        return st.one_of(
            st.sampled_from(
                [b"", b"\0" * 4096, b"-1\n", b"9" * 400, b"\xff\xfe\x1b[2J\n", text + text, UNREADABLE, GONE]
            ),
            st.integers(0, max(0, len(text) - 1)).map(lambda end: text[:end]),
            noise,
            st.tuples(st.integers(0, len(text)), noise).map(lambda at: text[: at[0]] + at[1] + text[at[0] :]),
            st.sampled_from(names).map(lambda path: store.files[path]),
        )

    paths = st.lists(st.sampled_from(names), min_size=AT_ONCE, max_size=AT_ONCE, unique=True)
    return paths.flatmap(lambda some: st.fixed_dictionaries({path: other(path) for path in some}))


def files_read(store: MemoryStore) -> tuple[str, ...]:
    """The files that the probes read of the machine in ``store``, and those that stand for commands and calls."""
    recorder = Recorder.of(Capture.of(store, "the machine"))
    run_probes(recorder, units("probes"))
    asked = (answer for (question, _), answer in recorder.answers.items() if question == "data")
    read = {f"/fs{answer.place}" for answer in asked if answer.value is not None}
    return tuple(sorted(path for path in store.files if path in read or path.endswith(".stdout")))


def leaves(value: Any) -> Iterator[tuple[Facts, str, Any]]:
    """Every field that was read, with the model that holds it; what names an item comes from a listing."""
    if isinstance(value, Facts):
        for name in marks(type(value)):
            if type(value).model_fields[name].is_required():
                continue
            inside = getattr(value, name)
            below = inside if isinstance(inside, tuple) else (inside,)
            if any(isinstance(item, Facts) for item in below):
                for item in below:
                    yield from leaves(item)
            else:
                yield value, name, inside


def probed(host: Host) -> Snapshot:
    """What the probes read; none may fail."""
    snapshot, defects = run_probes(host, units("probes"))
    assert defects == ()
    return snapshot


def check(store: MemoryStore, other: Mapping[str, bytes | str]) -> None:
    """Probes, derived facts, rules and files stand it; what cannot be read gives no value."""
    snapshot = probed(Capture.of(Changed(store.nodes, store.files, store.folders, inner=store, other=other), "it"))
    report = evaluated(derive(snapshot, None))
    assert report.defects == ()
    for text in (committed_json(snapshot), full_json(snapshot)):
        parse_snapshot(text, probe_models(), "what was written")
    lost = {path.removeprefix("/fs") for path, what in other.items() if what == UNREADABLE}
    whole = Capture.of(store, "it")
    invented = [
        (f"{type(facts).__name__}.{name}", path, value)
        for facts, name, value in (leaf for section in snapshot.facts.values() for leaf in leaves(section))
        if value is not None and (path := evidence_path(facts, name)).startswith("/") and whole.real(path) in lost
    ]
    assert invented == []


def change_often(store: MemoryStore, examples: int) -> None:
    """`check` with ``examples`` draws of changes: the same ones in every run, so that no change of the code is blamed
    for what it did not do; other ones with ``ADVISOR_ANY_CHANGES=1``. Not shrunk: that takes minutes."""
    phases = (Phase.generate,)
    often = settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=phases,
        derandomize=not os.environ.get("ADVISOR_ANY_CHANGES"),
    )
    often(given(changes(files_read(store), store))(lambda other: check(store, other)))()


def test_a_made_up_gpu_node_with_any_change() -> None:
    change_often(made_up(), EXAMPLES)


def test_this_machine_with_any_change(this_machine: MemoryStore) -> None:
    change_often(this_machine, EXAMPLES)


def as_capture(tree: MemoryStore) -> MemoryStore:
    """A plain tree, with or without folders around it, laid out as a capture."""
    top = min((path for path in tree.folders if f"{path}/sys" in tree.folders), key=len)
    store = MemoryStore()
    for path, node in tree.nodes.items():
        if path.startswith(f"{top}/"):
            store.add(f"/fs{path.removeprefix(top)}", node, tree.files.get(path, b""))
    store.add("/advisor-capture.json", Node("file"), b'{"version": 1, "source": "tree"}')
    return store


@pytest.mark.shared
@pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout")
@pytest.mark.parametrize(
    "archive",
    [
        pytest.param("openshift-nto/worker2.internal.sysinfo.tgz", id="server"),
        pytest.param("ghw/linux-amd64-accel-nvidia.tar.gz", id="gpu workstation"),
        pytest.param("hwloc/linux/32em64t-2n8c+dax+nvme+mic+dimms.tar.bz2", id="nvme and persistent memory"),
    ],
)
def test_a_captured_machine_with_any_change(archive: str) -> None:
    change_often(as_capture(read_archive(str(HOSTS / archive))), EXAMPLES // 5)
