"""cciss_vol_status: the last tool that is tried for Smart Arrays."""

from pathlib import Path

import pytest

from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.model.facts import evidence_path
from advisor.probes._raid import WRITE_BACK, WRITE_THROUGH
from advisor.probes._raid_cciss import parse_controller
from advisor.probes.raid import read
from tests.trees import write_capture, write_link

CARD = "/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0"
SG = f"{CARD}/host0/target0:0:0/0:0:0:0/scsi_generic/sg0"
HEALTHY = """Controller: Smart Array P9i
  Board ID: 0x3354103c
  Logical drives: 1
  Running firmware: 8.32
/dev/sda: (Smart Array P9i) RAID 1(1+0) Volume 0 status: OK.   At least one spare drive designated.
  Physical drives: 1
         connector 1I box 1 bay 1                  HP      EG0900FCVBL                          XXXX     HPD9 OK
/dev/sg0(Smart Array P9i:0): Non-Volatile Cache status:
                   Cache configured: Yes
                 Write cache memory: 735 MiB
                Write cache enabled: Yes
   Flash backed cache present
"""
FELL = HEALTHY.replace("enabled: Yes", "enabled: No").replace(
    "   Flash backed cache present\n",
    "   Write cache temporarily disabled\n           Temporary disable condition. Posted write operations have\n"
    "been disabled due to the fact that less than 75% of the\nbattery packs are at the sufficient voltage level.\n",
)


def node(folder: Path, outputs: dict[tuple[str, ...], str], root: bool = True) -> Host:
    write_capture(
        folder,
        {f"{CARD}/class": "0x010400\n", f"{SG.removesuffix('/scsi_generic/sg0')}/type": "12\n", f"{SG}/": ""},
        outputs=outputs,
    )
    for path, target in {
        "/sys/bus/pci/devices/0000:02:00.0": f"../../..{CARD.removeprefix('/sys')}",
        f"{CARD}/driver": "../../../../bus/pci/drivers/hpsa",
        "/sys/class/scsi_generic/sg0": f"../..{SG.removeprefix('/sys')}",
        f"{SG}/device": "../../../0:0:0:0",
    }.items():
        write_link(folder / "fs", path, target)
    with open(folder / "errors.tsv", "a") as errors:
        for tool in ("ssacli", "hpssacli", "hpacucli"):
            errors.write(f"command: {tool} ctrl all show config detail\tENOENT\trun\n")
        for tool in ("arcconf", "/usr/Arcconf/arcconf"):
            errors.write(f"command: {tool} GETCONFIG 1 AL nologs\tENOENT\trun\n")
    host = open_root(str(folder))
    host.root_user = root
    return host


def test_it_is_asked_where_no_newer_tool_is(tmp_path: Path) -> None:
    host = node(tmp_path, {("cciss_vol_status", "-V", "/dev/sg0"): HEALTHY})
    (one,) = read(host).controllers or ()
    assert (one.address, one.driver, one.model, one.firmware) == ("0000:02:00.0", "hpsa", "Smart Array P9i", "8.32")
    assert (one.tool, one.has_cache, one.protection_present) == ("cciss_vol_status", True, True)
    (drive,) = one.drives or ()
    assert (drive.level, drive.state, drive.degraded, drive.os_device) == ("raid10", "ok", False, "/dev/sda")
    assert (drive.configured_write_policy, drive.write_policy) == (None, None)
    assert evidence_path(one, "model") == "command: cciss_vol_status -V /dev/sg0"
    assert not [path for path in host.gaps if path.startswith("command: ")]


def test_without_it_the_gap_stays_that_of_the_newest_tool(tmp_path: Path) -> None:
    host = node(tmp_path, {})
    (one,) = read(host).controllers or ()
    assert (one.address, one.tool) == ("0000:02:00.0", None)
    assert [path for path in host.gaps if path.startswith("command: ")] == [
        "command: ssacli ctrl all show config detail"
    ]


def test_nobody_but_root_asks_it(tmp_path: Path) -> None:
    host = node(tmp_path, {("cciss_vol_status", "-V", "/dev/sg0"): HEALTHY}, root=False)
    (one,) = read(host).controllers or ()
    assert (one.tool, host.gaps["command: ssacli ctrl all show config detail"]) == (None, "denied")


def test_a_cache_that_fell_back_is_told() -> None:
    one = parse_controller(FELL, "o", "c")
    assert one is not None
    assert (one.has_cache, one.protection_present, one.protection_ok) == (True, True, False)
    (drive,) = one.drives or ()
    assert (drive.configured_write_policy, drive.write_policy) == (WRITE_BACK, WRITE_THROUGH)


@pytest.mark.parametrize(
    ("status", "degraded"), [("OK", False), ("Ready for recovery operation", True), ("Interim recovery mode", True)]
)
def test_the_state_of_a_volume_is_told(status: str, degraded: bool) -> None:
    one = parse_controller(f"/dev/cciss/c0d0: (Smart Array P4) RAID 5 Volume 1 status: {status}. \n", "o", "c")
    assert one is not None
    (drive,) = one.drives or ()
    assert (drive.name, drive.level, drive.state, drive.degraded) == ("volume 1", "raid5", status.lower(), degraded)
    assert drive.os_device is None


@pytest.mark.parametrize("text", ["", "cciss_vol_status version 1.12a", "/dev/sda: (", "open /dev/sg2: No such file"])
def test_what_tells_of_no_controller_is_none(text: str) -> None:
    assert parse_controller(text, "o", "c") is None
