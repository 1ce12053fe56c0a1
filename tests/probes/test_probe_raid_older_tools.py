"""What MegaCli, ssacli and arcconf print of their controllers."""

from pathlib import Path

import pytest

from advisor.host.base import command_origin
from advisor.model.facts import evidence_path
from advisor.probes._raid import (
    ALWAYS_WRITE_BACK,
    WRITE_BACK,
    WRITE_THROUGH,
)
from advisor.probes._raid_arcconf import parse_controller
from advisor.probes._raid_megacli import parse_battery, parse_levels, parse_policy, parse_unprotected
from advisor.probes._raid_ssacli import parse_controllers as parse_ssacli
from advisor.probes.raid import read
from tests.raid_machines import ARCCONF, BATTERY, CARD, MEGACLI, MEGARAID, SSACLI, STORCLI, drive_of, machine, only

LDINFO = """\


Adapter 0 -- Virtual Drive Information:
Virtual Drive: 0 (Target Id: 0)
Name                :data
RAID Level          : Primary-5, Secondary-0, RAID Level Qualifier-3
State               : Degraded
Span Depth          : 1
Default Cache Policy: WriteBack, ReadAhead, Direct, No Write Cache if Bad BBU
Current Cache Policy: WriteThrough, ReadAhead, Direct, No Write Cache if Bad BBU
Disk Cache Policy   : Disabled


CacheCade Virtual Drive: 1 (Target Id: 1)
Default Cache Policy: WriteBack, ReadAheadNone, Direct, No Write Cache if Bad BBU


Adapter 1: No Virtual Drive Configured.

Exit Code: 0x00
"""
BBU = """\
BBU status for Adapter: 0

BatteryType: iBBU
BBU Firmware Status:
  Learn Cycle Active           : No
  Battery Pack Missing         : No
  Battery Replacement required : Yes
  Remaining Capacity Low       : No

Battery state:

BBU status for Adapter: 1
FW error description:
 The required hardware component is not present.
"""
SMART_ARRAY = """\
FIRMWARE UPGRADE REQUIRED: A firmware update is recommended
                           in a scenario of work in Slot 9.

Smart Array P440ar in Slot 0 (Embedded)
   Controller Status: OK
   Firmware Version: 6.60
   Cache Board Present: True
   Cache Status: {cache}
   Cache Ratio: 10% Read / 90% Write
   Drive Write Cache: Disabled
   No-Battery Write Cache: {forced}
   Battery/Capacitor Count: 1
   Battery/Capacitor Status: {battery}
   PCI Address (Domain:Bus:Device.Function): 0000:3B:00.0
   Controller Mode: RAID
   Sensor ID: 0
      Location: Inlet

   Port Name: 1I
         Port ID: 0

   Array: A
      Interface Type: Solid State SATA
      Status: OK
      Array Type: Data


      Logical Drive: 1
         Fault Tolerance: 1+0
         Status: OK
         Caching:  {caching}
         Disk Name: /dev/sda
         Mirror Group 1:
            physicaldrive 1I:1:1 (port 1I:box 1:bay 1, SATA SSD, 1.9 TB, OK)
         Drive Type: Data


      physicaldrive 1I:1:1
         Status: Failed
         Interface Type: SAS
"""
ADAPTEC = """\
Controllers found: 1
----------------------------------------------------------------------
Controller information
----------------------------------------------------------------------
   Controller Status                        : Optimal
   Controller Model                         : Adaptec 6405
   Installed memory                         : 512 MB
   --------------------------------------------------------
   Controller Version Information
   --------------------------------------------------------
   BIOS                                     : 5.1-0
   Firmware                                 : 5.2-0 (19109)
   --------------------------------------------------------
   {unit}
   --------------------------------------------------------
   {battery}

----------------------------------------------------------------------
Logical device information
----------------------------------------------------------------------
Logical device number 0
   RAID level                               : 6 Reed-Solomon
   Status of logical device                 : {state}
   {setting}
   {status}
   --------------------------------------------------------
   Logical device segment information
   --------------------------------------------------------
   Segment 0                                : Present (457862MB, SATA, SSD, Connector:0, Device:0) X1

----------------------------------------------------------------------
Physical Device information
----------------------------------------------------------------------
      Device #0
         Write Cache                        : Enabled (write-back)
         State                              : Online
"""


def test_megacli_tells_of_both_policies_and_the_battery(tmp_path: Path) -> None:
    outputs = {MEGACLI: LDINFO, BATTERY: BBU}
    raid = read(machine(tmp_path, MEGARAID, outputs, absent=[STORCLI]))
    assert raid.controllers is not None
    first, second = raid.controllers
    assert (first.name, first.tool, first.mode) == ("adapter 0", "MegaCli64", "raid")
    assert (first.protection_present, first.protection_ok) == (True, False)
    assert first.protection_state == "battery replacement required"
    assert first.drives is not None
    (drive,) = first.drives
    assert (drive.name, drive.level, drive.degraded, drive.drive_cache) == ("v0", "raid5", True, "disabled")
    assert (drive.configured_write_policy, drive.write_policy) == (WRITE_BACK, WRITE_THROUGH)
    assert drive.caches_unprotected is False
    assert (second.drives, second.protection_present) == ((), False)
    assert evidence_path(first, "protection_ok") == command_origin(BATTERY)


def test_the_one_card_of_a_tool_that_tells_no_address_is_that_on_the_bus(tmp_path: Path) -> None:
    text = LDINFO.partition("Adapter 1")[0]
    assert only(read(machine(tmp_path, MEGARAID, {MEGACLI: text}, absent=[STORCLI]))).address == CARD


@pytest.mark.parametrize(
    ("text", "policy", "goes_on"),
    [
        ("WriteBack, ReadAhead, Direct, No Write Cache if Bad BBU", WRITE_BACK, False),
        ("WriteBack, ReadAdaptive, Cached, Write Cache OK if Bad BBU", ALWAYS_WRITE_BACK, True),
        ("WriteThrough, ReadAheadNone, Direct, Write Cache OK if Bad BBU", WRITE_THROUGH, True),
        ("WriteBack, ReadAhead, Direct", WRITE_BACK, None),
        ("", None, None),
        ("Write", None, None),
    ],
)
def test_policies_of_megacli(text: str, policy: str | None, goes_on: bool | None) -> None:
    assert (parse_policy(text), parse_unprotected(text)) == (policy, goes_on)


@pytest.mark.parametrize(
    ("text", "depth", "level"),
    [
        ("Primary-1, Secondary-0, RAID Level Qualifier-0", "1", "raid1"),
        ("Primary-1, Secondary-3, RAID Level Qualifier-0", "3", "raid10"),
        ("Primary-1, Secondary-0, RAID Level Qualifier-0", "2", "raid10"),
        ("Primary-6, Secondary-3, RAID Level Qualifier-3", "2", "raid60"),
        ("Primary-0, Secondary-0, RAID Level Qualifier-0", "", "raid0"),
        ("N/A", "1", None),
    ],
)
def test_levels_of_megacli(text: str, depth: str, level: str | None) -> None:
    assert parse_levels(text, depth) == level


@pytest.mark.parametrize(
    ("lines", "told_of"),
    [
        (["Battery State: Optimal", "isSOHGood: Yes"], (True, "optimal", True)),
        (["Battery State     : Operational"], (True, "operational", True)),
        (["Battery State: Degraded(Need Attention)"], (True, "degraded(need attention)", False)),
        (["Battery State: Optimal", "Learn Cycle Active : Yes"], (True, "optimal", False)),
        (["Battery State: Optimal", "isSOHGood: No"], (True, "optimal", False)),
        (["Battery Pack Missing : Yes"], (False, None, False)),
        (["Adapter 0: Get BBU Status Failed."], (None, None, None)),
        (None, (None, None, None)),
    ],
    ids=["optimal", "operational", "degraded", "learning", "worn", "missing", "failed to ask", "not asked"],
)
def test_batteries_of_megacli(lines: list[str] | None, told_of: tuple[bool | None, str | None, bool | None]) -> None:
    assert parse_battery(lines) == told_of


@pytest.mark.parametrize(
    ("cache", "forced", "battery", "caching", "configured", "current", "fine"),
    [
        ("OK", "Disabled", "OK", "Enabled", WRITE_BACK, WRITE_BACK, True),
        ("OK", "Enabled", "Recharging", "Enabled", ALWAYS_WRITE_BACK, ALWAYS_WRITE_BACK, False),
        ("Temporarily Disabled", "Disabled", "Recharging", "Enabled", WRITE_BACK, WRITE_THROUGH, False),
        ("Permanently Disabled", "Disabled", "Failed (Replace Batteries)", "Enabled", WRITE_BACK, WRITE_THROUGH, False),
        ("OK", "Disabled", "OK", "Disabled", WRITE_THROUGH, WRITE_THROUGH, True),
        ("Not Configured", "Disabled", "OK", "Enabled", WRITE_BACK, None, True),
    ],
)
def test_smart_arrays(
    tmp_path: Path,
    cache: str,
    forced: str,
    battery: str,
    caching: str,
    configured: str,
    current: str | None,
    fine: bool,
) -> None:
    text = SMART_ARRAY.format(cache=cache, forced=forced, battery=battery, caching=caching)
    card = only(read(machine(tmp_path, {CARD: ("0x010400", "hpsa")}, {SSACLI: text})))
    assert (card.name, card.address, card.model, card.firmware) == ("slot 0", CARD, "Smart Array P440ar", "6.60")
    assert (card.mode, card.has_cache, card.protection_present, card.protection_ok) == ("raid", True, True, fine)
    assert card.drives is not None
    (drive,) = card.drives
    assert (drive.name, drive.level, drive.degraded) == ("logicaldrive 1", "raid10", False)
    assert (drive.os_device, drive.drive_cache, drive.media) == ("/dev/sda", "disabled", "ssd")
    assert (drive.configured_write_policy, drive.write_policy) == (configured, current)
    assert drive.caches_unprotected is (forced == "Enabled")


@pytest.mark.parametrize(
    ("forced", "current"), [("Disabled", None), ("Enabled", ALWAYS_WRITE_BACK)], ids=["protected only", "forced"]
)
def test_a_smart_array_without_battery_is_not_said_to_cache_what_it_may_not(forced: str, current: str | None) -> None:
    text = SMART_ARRAY.format(cache="OK", forced=forced, battery="OK", caching="Enabled")
    text = text.replace("Capacitor Count: 1\n   Battery/Capacitor Status: OK", "Capacitor Count: 0")
    (card,) = parse_ssacli(text, "o", "ssacli")
    assert (card.protection_present, card.protection_ok, drive_of(card).write_policy) == (False, False, current)


def test_a_cache_that_is_all_for_reading_writes_through() -> None:
    text = SMART_ARRAY.format(cache="OK", forced="Disabled", battery="OK", caching="Enabled")
    (card,) = parse_ssacli(text.replace("10% Read / 90% Write", "100% Read / 0% Write"), "o", "ssacli")
    assert drive_of(card).write_policy == WRITE_THROUGH


@pytest.mark.parametrize(
    ("line", "level", "degraded"),
    [
        ("logicaldrive 1 (136.7 GB, RAID 5, Interim Recovery Mode)", "raid5", True),
        ("logicaldrive 2 (2.0 TB, RAID 6 (ADG), OK)", "raid6", False),
        ("logicaldrive 3 (2.0 TB, RAID 1+0, Recovering, 12% complete)", "raid10", True),
        ("logicaldrive 4 (2.0 TB, RAID 0, Hibernating)", "raid0", None),
    ],
)
def test_short_lines_of_smart_arrays(line: str, level: str, degraded: bool | None) -> None:
    (card,) = parse_ssacli(f"Smart Array P410 in Slot 1\n\n   array A\n\n      {line}\n", "o", "hpacucli")
    drive = drive_of(card)
    assert (drive.level, drive.degraded, drive.write_policy) == (level, degraded, None)


def test_an_array_with_failed_disks_is_degraded_though_its_drive_is_ok() -> None:
    text = "Smart Array P410 in Slot 1\n   array B (Failed)\n      logicaldrive 2 (2.2 TB, RAID 5, OK)\n"
    assert drive_of(parse_ssacli(text, "o", "hpacucli")[0]).degraded is True


def test_smart_hbas_have_no_cache() -> None:
    text = "Smart Array P840 in Slot 1 (HBA Mode)\n   Controller Status: OK\n\n"
    text += "Smart HBA H244br in Slot 0 (Embedded) (RAID Mode)\n   Controller Status: OK\n"
    hba, raid = parse_ssacli(text, "o", "hpssacli")
    assert (hba.mode, hba.has_cache, raid.mode, raid.has_cache) == ("hba", False, "raid", False)


ON = "Write-cache status                       : On"
OFF = "Write-cache status                       : Off"
WHEN = "Write-cache setting                      : On when protected by battery/ZMM"
ENABLED = "Write-cache setting                      : Enabled"
ZMM = ("Controller ZMM Information", "Status                                   : ZMM Optimal")
NO_ZMM = ("Controller ZMM Information", "Status                                   : ZMM not installed")
FAILED = ("Controller Battery Information", "Status                                   : Failed")
UNIT = ("Controller Cache Backup Unit Information", "Overall Backup Unit Status               : Ready")


@pytest.mark.parametrize(
    ("unit", "setting", "status", "protection", "configured", "current"),
    [
        (ZMM, WHEN, ON, (True, True), WRITE_BACK, WRITE_BACK),
        (FAILED, WHEN, OFF, (True, False), WRITE_BACK, WRITE_THROUGH),
        (NO_ZMM, ENABLED, ON, (False, False), WRITE_BACK, WRITE_BACK),
        (UNIT, "Write-cache setting : Disabled", OFF, (True, True), WRITE_THROUGH, WRITE_THROUGH),
        (FAILED, WHEN, "Write-cache mode : Disabled (write-through)", (True, False), WRITE_BACK, WRITE_THROUGH),
        (ZMM, "", "Write-cache mode : Enabled (write-back)", (True, True), None, WRITE_BACK),
        (ZMM, WHEN, "", (True, True), WRITE_BACK, None),
    ],
    ids=[
        "protected",
        "battery failed",
        "caches without protection",
        "by choice",
        "older words",
        "no setting",
        "no status",
    ],
)
def test_adaptec_cards(
    tmp_path: Path,
    unit: tuple[str, str],
    setting: str,
    status: str,
    protection: tuple[bool, bool],
    configured: str | None,
    current: str | None,
) -> None:
    text = ADAPTEC.format(unit=unit[0], battery=unit[1], state="Optimal", setting=setting, status=status)
    card = only(read(machine(tmp_path, {CARD: ("0x010400", "aacraid")}, {ARCCONF: text})))
    assert (card.name, card.address, card.model) == ("controller 1", CARD, "Adaptec 6405")
    assert (card.firmware, card.has_cache) == ("5.2-0 (19109)", True)
    assert (card.protection_present, card.protection_ok) == protection
    drive = drive_of(card)
    assert (drive.name, drive.level, drive.media) == ("logical device 0", "raid6", "ssd")
    assert (drive.configured_write_policy, drive.write_policy) == (configured, current)
    assert drive.caches_unprotected is (False if setting == WHEN else None)


@pytest.mark.parametrize(
    ("caching", "goes_on"), [("Enabled", True), ("Disabled", False)], ids=["SmartRAID, forced", "SmartRAID"]
)
def test_newer_adaptec_cards_say_of_the_card_whether_write_back_goes_on(caching: str, goes_on: bool) -> None:
    text = ADAPTEC.format(unit="", battery="", state="Optimal", setting="Caching : Enabled", status="")
    line = "   Controller Model                         : Adaptec 6405\n"
    card = parse_controller(text.replace(line, f"{line}   No-Battery Write Cache : {caching}\n"), "o", 1)
    assert card is not None
    assert drive_of(card).caches_unprotected is goes_on


@pytest.mark.parametrize(
    ("state", "degraded"),
    [("Optimal", False), ("Degraded", True), ("Impacted ( Build : 90 % )", False), ("Offline", True), ("Odd", None)],
)
def test_states_of_adaptec_drives(state: str, degraded: bool | None) -> None:
    card = parse_controller(ADAPTEC.format(unit="", battery="", state=state, setting=WHEN, status=ON), "o", 1)
    assert card is not None
    assert (drive_of(card).degraded, card.protection_present) == (degraded, None)


def test_a_card_that_cannot_cache_writes_has_no_cache() -> None:
    text = ADAPTEC.format(unit="", battery="", state="Okay", setting="", status="Write-cache mode : Not supported")
    card = parse_controller(text, "o", 1)
    assert card is not None
    assert (card.has_cache, drive_of(card).write_policy) == (False, None)


@pytest.mark.parametrize("text", ["", "Controllers found: 0\n", "ARCCONF: Invalid controller number.\n", ": : :\n\0"])
def test_what_is_no_answer_of_arcconf(text: str) -> None:
    assert parse_controller(text, "o", 1) is None


def test_adaptecs_tool_is_asked_where_hpes_is_missing(tmp_path: Path) -> None:
    text = ADAPTEC.format(unit=ZMM[0], battery=ZMM[1], state="Optimal", setting=WHEN, status=ON)
    host = machine(tmp_path, {CARD: ("0x010400", "smartpqi")}, {ARCCONF: text}, absent=[SSACLI])
    assert only(read(host)).tool == "arcconf"
    assert not [path for path in host.gaps if path.startswith("command:")]
