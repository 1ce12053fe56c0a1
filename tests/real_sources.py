"""Real machines and real outputs of tools as hosts: captures beside the checkout, this machine, and a kept one."""

import csv
import importlib.util
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.probes import _raid_arcconf, _raid_megacli, _raid_ssacli, _raid_storcli
from tests import real_lines
from tests.trees import write_capture

HOSTS = Path(__file__).resolve().parents[2] / "shared/hosts"
KEPT = Path(__file__).resolve().parent / "vm/kept-server.tar.xz"
"""Collected from a real kernel on emulated hardware, see `tests.vm.kept`."""


def archives() -> Iterator[Path]:
    """Every captured machine that is a tar."""
    with open(HOSTS / "INDEX.tsv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        if "fsroot" in row["kind"] and (".tar" in row["path"] or row["path"].endswith(".tgz")):
            yield HOSTS / row["path"]


def fixtures(folder: Path) -> Path:
    """The fixtures of prometheus/procfs, unpacked below ``folder``: files of several hosts in one tree."""
    spec = importlib.util.spec_from_file_location("ttar_extract", HOSTS / "tools/ttar_extract.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.extract(str(HOSTS / "procfs/fixtures.ttar"), str(folder))
    return folder


def machines(tmp_path: Path) -> Iterator[Host]:
    """This machine, the kept one, and every captured one."""
    yield LiveHost.here()
    yield open_root(str(KEPT))
    for archive in archives():
        yield open_root(str(archive))
    tree = fixtures(tmp_path / "ttar")
    yield open_root(str(tree))
    mountstats = next(tree.rglob("proc/*/mountstats"))
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
    "/etc/os-release": "gpud/misc/etc-os-release",
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
    yield write_capture(tmp_path / "lines", real_lines.FILES)
    names = {option: real(f"insights-core/ethtool/{name}") for option, name in ETHTOOL.items()} | real_lines.ETHTOOL
    outputs = {("ethtool", option, "eth0"): re.sub(r"for \S+:", "for eth0:", text) for option, text in names.items()}
    yield write_capture(tmp_path / "ethtool", NIC, outputs=outputs)
    for table in sorted((HOSTS / "mounts").glob("*.txt")):
        place = "/proc/self/mounts" if "proc-mounts" in table.name else "/proc/self/mountinfo"
        text = table.read_bytes().decode("utf-8", "replace")
        yield write_capture(tmp_path / table.stem, {place: text})


def given_files() -> Iterator[tuple[str, str]]:
    """Kind and text of files about machines."""
    for path in sorted((HOSTS / "topo-m").glob("*.txt")):
        yield "topo-m", path.read_text()
    for path in sorted((HOSTS / "nccl-topo").rglob("*.xml")):
        yield "nccl-topo", path.read_text()
    for folder in ("telegraf", "netdata", "gpud/nvidia-smi", "nvidia_gpu_exporter"):
        for path in sorted(path for path in (HOSTS / folder).rglob("*") if path.is_file()):
            text = path.read_bytes().decode("utf-8", "replace")
            if "<nvidia_smi_log>" in text:
                yield "nvidia-smi-xml", text
            # A capture of all that nvidia-smi prints has its -q at rest and under load among the rest.
            for section in text.split("NVSMI LOG")[1:]:
                yield "nvidia-smi-xml", "NVSMI LOG" + section.partition("\n####")[0]


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
