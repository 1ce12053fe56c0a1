"""How many facts were read from a real machine or from a tool's real output at least once, and which were not."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from advisor.discover import probe_models, units
from advisor.host.base import Host
from advisor.model.facts import Facts, marks
from advisor.probes._run import run_probes
from advisor.reports._facts_page import _inner
from tests.real_sources import HOSTS, given_files, machines, raid_controllers, tool_outputs
from tests.trees import write_capture

RARE = "needs a machine set up just so, of which there is no public dump"
LEAST = 0.87
"""Share of all facts."""
WHY_NOT: Mapping[str, str] = {
    r"NvLink\.|GpuDevice\.nvlinks|Peer\.|Gpu\.(nvml|peers|conf)|GpuDevice\.(near_|numa|comp|.*throttle_sec)": "NVML "
    "alone tells it: needs a GPU in the machine that runs the tests",
    r"GpuDevice\.fabric_": "health of the NVSwitch fabric as drivers since 550 print it on a system that has one",
    r"GpuDevice\.": "no public output of nvidia-smi has a value",
    r"Gpu\.dis|Disagreement\.": "needs a machine and a file of nvidia-smi about the same machine that differ",
    r"Card\.|Nvidia\.|Parameters\.": "files of the NVIDIA driver and of Fabric Manager that nobody published",
    r"Edac\.|Memory(Controller|Module)\.": "memory controllers of servers with ECC; public dumps leave /sys/devices/"
    "system/edac out, and no emulator has one",
    r"DataSet\.|Zfs\.": "needs ZFS and its program; Debian ships no module that a test could load",
    r"Lustre": "needs a Lustre client; public dumps have its mounts only",
    r"Osd\.|Mount\.nfs_interface|FstabEntry\.nfs_": "needs a storage daemon of Ceph, or a mounted NFS server whose "
    "address was not taken out of the dump",
    r"Roce(Interface)?\.|Roce$": "needs a RoCE card, most of it with its maker's own driver",
    r"ResizableBar\.|Config\.resiz": "needs the extended configuration space of a GPU, which root alone reads",
    r"NcclConf\.|ShellLine\.|Variable\.": "settings of a vendor's image or of a session on such a node",
    r"PamLimits\.|PamService\.|Systemd\.|Tuned\.": "lines that an administrator writes; packages ship none",
}
"""By the facts that are missing: why nothing here could show them. The first that fits counts."""
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout"),
]


def every_fact() -> set[str]:
    """Model and field of every fact."""
    found: set[str] = set()
    todo = list(probe_models().values())
    while todo:
        model = todo.pop()
        fields = {f"{model.__name__}.{name}" for name in marks(model)}
        if not fields <= found:
            found |= fields
            todo += [inner for name in marks(model) if (inner := _inner(model.model_fields[name].annotation))]
    return found


def told(value: object) -> Iterator[str]:
    """Model and field of every fact with a value; an empty list tells that there is nothing."""
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, Facts):
            for name in marks(type(item)):
                inside = getattr(item, name)
                if inside is not None and inside != ():
                    yield f"{type(item).__name__}.{name}"
                    yield from told(inside)


def of_host(host: Host) -> Iterator[str]:
    snapshot, defects = run_probes(host, units("probes"))
    assert defects == ()
    for facts in snapshot.facts.values():
        yield from told(facts)


def reason(fact: str) -> str:
    return next(
        (why for pattern, why in WHY_NOT.items() if re.match(pattern, fact)),
        "needs a machine set up just so, of which there is no public dump",
    )


def test_most_facts_were_read_from_something_real(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found: set[str] = set()
    for host in (*machines(tmp_path), *tool_outputs(tmp_path)):
        found.update(of_host(host))
    for number, (kind, text) in enumerate(given_files()):
        host = write_capture(tmp_path / f"given{number}", {})
        host.given = {kind: text}
        found.update(of_host(host))
    for controllers in raid_controllers():
        found.update(told(controllers))
    facts = every_fact()
    missing = defaultdict(list)
    for fact in sorted(facts - found):
        missing[reason(fact)].append(fact)
    count = sum(map(len, missing.values()))
    with capsys.disabled():
        print(f"\n{len(facts) - count} of {len(facts)} facts were read from something real; not yet:")
        for why, names in missing.items():
            print(f"  {why}:", *names, sep="\n    ")
    assert count <= (1 - LEAST) * len(facts)
