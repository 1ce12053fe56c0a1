"""How many facts were read from a real machine or from a tool's real output at least once, and which were not."""

import csv
import importlib.util
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from advisor.discover import probe_models, units
from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.model.facts import Facts, marks
from advisor.probes import _raid_arcconf, _raid_megacli, _raid_ssacli, _raid_storcli
from advisor.probes._run import run_probes
from advisor.reports._facts_page import _inner
from tests.trees import write_capture

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts"
INSIGHTS = HOSTS / "insights-core"
LEAST = 0.65
"""Share of all facts. What is missing is mostly what no public dump holds: NVML's answers, whole configuration spaces,
settings of vendors' images, and the answers of tools that only root may ask."""
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


def machines(tmp_path: Path) -> Iterator[Host]:
    """This machine, and every captured one that is a tar."""
    yield LiveHost.here()
    with open(HOSTS / "INDEX.tsv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        if "fsroot" in row["kind"] and (".tar" in row["path"] or row["path"].endswith(".tgz")):
            yield open_root(str(HOSTS / row["path"]))
    spec = importlib.util.spec_from_file_location("ttar_extract", HOSTS / "tools/ttar_extract.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.extract(str(HOSTS / "procfs/fixtures.ttar"), str(tmp_path / "ttar"))
    yield open_root(str(tmp_path / "ttar"))
    mountstats = next((tmp_path / "ttar").rglob("proc/*/mountstats"))
    text = "".join(f"{n} 1 0:{n} / {point} rw - nfs4 server:/x rw,vers=4.2\n" for n, point in enumerate(POINTS, 40))
    nfs = {"/proc/self/mountinfo": text, "/proc/self/mountstats": mountstats.read_text()}
    yield write_capture(tmp_path / "nfs", nfs)


def real(path: str) -> str:
    """The text of a real file or output."""
    return (HOSTS / path).read_bytes().decode("utf-8", "replace")


POINTS = ("/mnt/nfs/test", "/mnt/nfs/test-dupe")
"""Where the real mountstats has network file systems."""
FILES: Mapping[str, str] = {
    "/etc/security/limits.conf": "insights-core/limits_conf/LIMITS_CONF.txt",
    "/etc/fstab": "insights-core/fstab/content_fstab_without_mntopts.txt",
    "/proc/mdstat": "insights-core/mdstat/MDSTAT_TEST_1.txt",
    "/proc/self/limits": "insights-core/proc_limits/PROC_LIMITS.txt",
    "/etc/sysconfig/irqbalance": "insights-core/sysconfig_irqbalance/IRQBALANCE_SYSCONF_TEST.txt",
    "/etc/sysctl.conf": "insights-core/sysctl/SYSCTL_CONF_TEST.txt",
    "/proc/net/softnet_stat": "insights-core/softnet_stat/SOFTNET_STAT.txt",
}
"""Files of machines as they were, in a tree that holds nothing else."""
NIC = {
    "/sys/class/net/eth0/type": "1\n",
    "/sys/class/net/eth0/device/vendor": "0x15b3\n",
}
ETHTOOL = {
    "-g": "TEST_ETHTOOL_G_3.txt",
    "-c": "TEST_ETHTOOL_C.txt",
    "-a": "SUCCESS_ETHTOOL_A_BLANK_LINE.txt",
    "-i": "TEST_ETHTOOL_I_GOOD.txt",
    "-k": "ETHTOOL_K_STANDARD.txt",
    "-S": "SUCCEED_ETHTOOL_S.txt",
}


def tool_outputs(tmp_path: Path) -> Iterator[Host]:
    """Hosts that are nothing but real files and outputs of tools."""
    yield write_capture(tmp_path / "files", {path: real(source) for path, source in FILES.items()})
    names = {option: real(f"insights-core/ethtool/{name}") for option, name in ETHTOOL.items()}
    outputs = {("ethtool", option, "eth0"): re.sub(r"for \S+:", "for eth0:", text) for option, text in names.items()}
    yield write_capture(tmp_path / "ethtool", NIC, outputs=outputs)
    tables = sorted(path for path in (HOSTS / "mounts").glob("*") if path.suffix in (".txt", ""))
    for number, table in enumerate(path for path in tables if path.is_file()):
        text = table.read_bytes().decode("utf-8", "replace")
        yield write_capture(tmp_path / f"mounts{number}", {"/proc/self/mountinfo": text})


def given_files() -> Iterator[tuple[str, str]]:
    """Kind and text of files about machines."""
    for path in sorted((HOSTS / "topo-m").glob("*.txt")):
        yield "topo-m", path.read_text()
    for path in sorted((HOSTS / "nccl-topo").rglob("*.xml")):
        yield "nccl-topo", path.read_text()
    for folder in ("telegraf", "netdata"):
        for path in sorted((HOSTS / folder).rglob("*")):
            if path.is_file() and "<nvidia_smi_log>" in (text := path.read_bytes().decode("utf-8", "replace")):
                yield "nvidia-smi-xml", text


def raid_controllers() -> Iterator[object]:
    """What every output of a RAID tool says."""
    for folder in ("check_raid/data", "netdata", "redhat-hardware/samples"):
        for path in sorted(path for path in (HOSTS / folder).rglob("*") if path.is_file()):
            text = path.read_bytes().decode("utf-8", "replace")
            origins = dict.fromkeys(("drives", "battery", "about"), "o")
            one = _raid_arcconf.parse_controller(text, "o", 1)
            yield () if one is None else (one,)
            yield _raid_megacli.parse_controllers(text, "", "", origins)
            yield _raid_ssacli.parse_controllers(text, "o", "ssacli")
            yield _raid_storcli.parse_controllers(text, "o", "storcli64")


def test_most_facts_were_read_from_something_real(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found: set[str] = set()
    for host in (*machines(tmp_path), *tool_outputs(tmp_path)):
        found.update(of_host(host))
    for kind, text in given_files():
        host = write_capture(tmp_path / f"given{len(list(tmp_path.iterdir()))}", {})
        host.given = {kind: text}
        found.update(of_host(host))
    for controllers in raid_controllers():
        found.update(told(controllers))
    facts = every_fact()
    missing = sorted(facts - found)
    with capsys.disabled():
        print(f"\n{len(facts) - len(missing)} of {len(facts)} facts were read from something real; not yet:")
        print("\n".join(f"  {name}" for name in missing))
    assert len(missing) <= (1 - LEAST) * len(facts)
