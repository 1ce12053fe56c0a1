"""What is written for git, and what a capture holds, tells neither the host nor one of its devices."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.cli import run
from tests.gpu_node import gpu_node
from tests.trees import ALL_ABSENT, write_capture, write_link

CARDS = ("enx001122aabbcc", "ibx00112203aabbccdd")
UUID = "0b7e1111-2222-3333-4444-555566667777"
PLANTED = (
    *("001122aabbcc", "00112203aabbccdd", "node17", "S4EVNX0M123456", "scratchlabel", UUID),
    *("10.11.12.13", "10.11.12.14", "alice", "filer.example"),
)
FSTAB = f"""/dev/mapper/rhel_node17-root / ext4 nobarrier 0 0
/dev/disk/by-id/nvme-Samsung_SSD_980_S4EVNX0M123456 /a ext4 nobarrier 0 0
UUID={UUID} /b ext4 barrier=0 0 0
LABEL=scratchlabel /c ext4 nobarrier 0 0
filer.example:/x /d nfs4 soft 0 0
"""
NCCL = """NCCL_SOCKET_IFNAME=enx001122aabbcc
NCCL_IB_ADDR_RANGE=10.11.12.13
NCCL_RAS_ADDR=node17:28028
NCCL_TOPO_FILE=/home/alice/topo.xml
"""
ROUTES = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n" + "".join(
    f"{card}\t000C0B0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" for card in CARDS
)


@pytest.fixture
def node(tmp_path: Path) -> str:
    made = gpu_node(8, 2, 2, 2, 12)
    for number, card in enumerate(CARDS):
        for kept in (made.files, made.links):
            old = {path: text for path, text in kept.items() if f"eth{number}" in path + text}
            for path in old:
                del kept[path]
            kept |= {p.replace(f"eth{number}", card): t.replace(f"eth{number}", card) for p, t in old.items()}
        made.put(f"/proc/sys/net/ipv4/conf/{card}", arp_ignore=0, arp_announce=0, rp_filter=1)
    made.put("/proc/sys/net/ipv4/conf/all", arp_ignore=0, arp_announce=0, rp_filter=0)
    made.put("/proc/sys/kernel", hostname="node17.lab.example")
    made.put("/sys/block/dm-0", size=1000, dev="253:0")
    made.put("/sys/block/dm-0/dm", name="rhel_node17-root", uuid="LVM-x")
    made.files |= {"/etc/fstab": FSTAB, "/etc/nccl.conf": NCCL, "/proc/net/route": ROUTES}
    made.files["/proc/net/dev"] = "Inter-|\n face |\n" + "".join(f"{card}: {'0 ' * 16}\n" for card in CARDS)
    write_capture(tmp_path / "node", made.files, (*ALL_ABSENT, "/home"))
    for path, target in made.links.items():
        write_link(tmp_path / "node/fs", path, target)
    return str(tmp_path / "node")


def committed(out: Path) -> Iterator[tuple[str, str]]:
    ignored = ("observations.json", "findings.json")
    for path in sorted(out.rglob("*")):
        if path.is_file() and path.name not in ignored:
            yield path.relative_to(out).as_posix(), path.read_text()


def rendered(node: str, out: Path, *more: str) -> dict[str, str]:
    how = ("--facts",) if node.endswith(".json") else ("--root",)
    assert run(["render", *how, node, "--out", str(out), "--bound", "--quiet", *more]) == 0
    return dict(committed(out))


def test_no_committed_file_tells_the_host_or_a_device(node: str, tmp_path: Path) -> None:
    files = rendered(node, tmp_path / "out")
    assert {"facts.json", "report.md", "suggested/fstab.diff"} <= set(files)
    left = [(path, word) for path, text in files.items() for word in PLANTED if word in text]
    assert left == []
    assert "enxMAC01" in files["facts.json"]
    assert "ibxGUID01" in files["facts.json"]
    assert rendered(node, tmp_path / "again") == files


def test_the_suggestion_for_fstab_can_still_be_read(node: str, tmp_path: Path) -> None:
    text = rendered(node, tmp_path / "out")["suggested/fstab.diff"]
    hunks = text[text.index("--- a/etc/fstab") :].split("\n")
    assert "-/dev/mapper/rhel_HOSTNAME-root / ext4 nobarrier 0 0" in hunks
    assert "+/dev/disk/by-id/... /a ext4 defaults 0 0" in hunks
    assert hunks[hunks.index("@@ -3 +3 @@") + 1] == "-UUID=... /b ext4 barrier=0 0 0"
    assert "-LABEL=... /c ext4 nobarrier 0 0" in hunks
    assert "HOSTNAME for" in text


def test_rules_judge_what_is_hidden_from_the_file_too(node: str, tmp_path: Path) -> None:
    report = rendered(node, tmp_path / "out")["report.md"]
    assert "sets NCCL_IB_ADDR_RANGE=192.0.2.1, which NCCL does not take" in report
    assert "/home/USER/topo.xml" in report
    again = rendered(str(tmp_path / "out/facts.json"), tmp_path / "again")
    # Options of mounts come sorted out of a file.
    assert Counter(re.findall(r"[^\s,`]+", again["report.md"])) == Counter(re.findall(r"[^\s,`]+", report))
    assert again["suggested/fstab.diff"] == (tmp_path / "out/suggested/fstab.diff").read_text()


def test_a_line_that_needs_a_hardware_address_is_withheld_unless_the_operator_asks(node: str, tmp_path: Path) -> None:
    files = rendered(node, tmp_path / "out", "--set", "sysctl:net/ipv4/conf/ibx00112203aabbccdd/rp_filter=2")
    sysctl = files["host/etc/sysctl.d/90-advisor.conf"]
    assert "net.ipv4.conf.all.arp_ignore = 1" in sysctl
    assert "enx" not in sysctl
    assert "ibx00112203aabbccdd.rp_filter = 2" in sysctl
    assert "sysctl:net.ipv4.conf.enxMAC01.rp_filter" in files["report.md"]


def test_a_capture_keeps_the_names_of_interfaces_together(node: str, tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    assert run(["capture", str(capture), "--root", node, "--quiet"]) == 0
    for path in sorted(capture.rglob("*")):
        text = str(path.relative_to(capture)) + (path.read_text() if path.is_file() else "")
        text += str(path.readlink()) if path.is_symlink() else ""
        assert [word for word in PLANTED if word in text] == [], path
    (card,) = [path.name for path in (capture / "fs/sys/class/net").iterdir() if path.name.startswith("enx")]
    assert (capture / f"fs/proc/sys/net/ipv4/conf/{card}/rp_filter").read_text() == "1\n"
    assert list((capture / "fs/sys/devices").rglob(card))
    assert f"NCCL_SOCKET_IFNAME={card}\n" in (capture / "fs/etc/nccl.conf").read_text()
    assert f"{card}\t" in (capture / "fs/proc/net/route").read_text()
    here, there = rendered(node, tmp_path / "here"), rendered(str(capture), tmp_path / "there")
    assert there["suggested/fstab.diff"] == here["suggested/fstab.diff"]
    assert there["report.md"] == here["report.md"]
    assert there["facts.json"] == here["facts.json"]


def test_facts_that_lost_a_name_are_those_of_the_same_host(
    node: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rendered(node, tmp_path / "out")
    assert run(["diff", str(tmp_path / "out"), node, "--fail-on-drift"]) == 0
    assert "no difference" in capsys.readouterr().out
