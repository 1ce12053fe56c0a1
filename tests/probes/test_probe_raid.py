"""RAID controllers: which tool is asked and when, what its words mean, and what is said where it cannot be asked."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from advisor.host.base import Host, command_origin
from advisor.host.captured import open_root
from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes._raid import (
    ALWAYS_WRITE_BACK,
    WRITE_BACK,
    WRITE_THROUGH,
    Controller,
    VirtualDrive,
    cached_policies,
    parse_level,
    parse_media,
    parse_os_device,
    told,
)
from advisor.probes._raid_arcconf import parse_controller
from advisor.probes._raid_megacli import parse_battery, parse_levels, parse_policy
from advisor.probes._raid_ssacli import parse_controllers as parse_ssacli
from advisor.probes._raid_storcli import parse_cache_code, parse_controllers, with_virtual_drives
from advisor.probes.raid import Raid, read
from tests.trees import ALL_ABSENT, write_capture, write_link

Command = tuple[str, ...]
CARD = "0000:3b:00.0"
STORCLI: Command = ("storcli64", "/call", "show", "all", "J", "nolog")
VALL: Command = ("storcli64", "/call/vall", "show", "all", "J", "nolog")
PERCCLI: Command = ("perccli64", *STORCLI[1:])
MEGACLI: Command = ("MegaCli64", "-LDInfo", "-Lall", "-aAll", "-NoLog")
BATTERY: Command = ("MegaCli64", "-AdpBbuCmd", "-aAll", "-NoLog")
SSACLI: Command = ("ssacli", "ctrl", "all", "show", "config", "detail")
ARCCONF: Command = ("arcconf", "GETCONFIG", "1", "AL", "nologs")


def storcli(
    cache: str = "RWBD", vault: str | None = "Optimal", changed: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What storcli tells of one card with one virtual drive."""
    data: dict[str, Any] = {
        "Basics": {"Controller": 0, "Model": "PERC H740P Mini", "PCI Address": "00:3b:00:00"},
        "Version": {"Firmware Version": "5.093.00-3013", "Driver Name": "megaraid_sas"},
        "Status": {"Controller Status": "Optimal", "BBU Status": "NA"},
        "HwCfg": {"BBU": "Present" if vault else "Absent", "On Board Memory Size": "8192MB"},
        "VD LIST": [{"DG/VD": "0/239", "TYPE": "RAID5", "State": "Optl", "Cache": cache, "Size": "7.2 TB", "Name": ""}],
        "PD LIST": [{"EID:Slt": "64:0", "State": "Onln", "DG": 0, "Med": "HDD"}, {"DG": "-", "Med": "SSD"}],
    }
    if vault:
        data["Cachevault_Info"] = [{"Model": "CVPM05", "State": vault, "Temp": "28C"}]
    return {"Command Status": {"Controller": 0, "Status": "Success"}, "Response Data": data | dict(changed or {})}


def details(configured: str = "WriteBack") -> dict[str, Any]:
    """What storcli tells of that virtual drive in full."""
    properties = {
        "Write Cache(initial setting)": configured,
        "Disk Cache Policy": "Disk's Default",
        "OS Drive Name": "/dev/sda",
    }
    data = {"/c0/v239": [{"DG/VD": "0/239", "Cache": "RWBD"}], "VD239 Properties": properties}
    return {"Command Status": {"Controller": 0, "Status": "Success"}, "Response Data": data}


def answer(*controllers: dict[str, Any]) -> str:
    return json.dumps({"Controllers": controllers})


TEXT = """\
Generating detailed summary of the adapter, it may take a while to complete.

CLI Version = 007.1211.0000.0000 Nov 07, 2019
Operating system = Linux 6.8.0
Controller = 0
Status = Success
Description = None

Product Name = MegaRAID 9460-16i
PCI Address = 00:3b:00:00
FW Version = 5.100.00-3310
Driver Name = megaraid_sas
Current Personality = RAID-Mode
Virtual Drives = 2

VD LIST :
=======

---------------------------------------------------------------
DG/VD TYPE  State Access Consist Cache Cac sCC       Size Name
---------------------------------------------------------------
0/0   RAID1 Pdgd  RW     No      NRWTD -   OFF 557.861 GB
1/1   RAID6 Optl  RW     Yes     RAWBD -   ON    4.500 TB my data
---------------------------------------------------------------

Optl=Optimal|Pdgd=Partially Degraded

PD LIST :
=======

------------------------------------------------------------------------------
EID:Slt DID State DG       Size Intf Med SED PI SeSz Model            Sp Type
------------------------------------------------------------------------------
134:1    16 Onln   0 371.597 GB SAS  SSD N   N  4 KB SOME DISK        U  -
134:2    17 Onln   1 557.861 GB SAS  HDD N   N  512B OTHERDISK        U  -
------------------------------------------------------------------------------

Cachevault_Info :
===============

------------------------------------
Model  State   Temp Mode MfgDate
------------------------------------
CVPM05 Optimal 32C  -    2017/11/28
------------------------------------
"""
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


def machine(
    folder: Path,
    cards: Mapping[str, tuple[str, str]],
    outputs: Mapping[tuple[str, ...], str] | None = None,
    root: bool = True,
    absent: Sequence[tuple[str, ...]] = (),
) -> Host:
    """A machine with cards (PCI address to class and driver) on which commands printed ``outputs``."""
    files = {f"/sys/bus/pci/devices/{address}/class": code for address, (code, _) in cards.items()}
    nowhere = [*ALL_ABSENT, *(command_origin(argv) for argv in absent)]
    write_capture(folder, files or {"/sys/bus/pci/devices/": ""}, absent=nowhere, outputs=outputs)
    for address, (_, driver) in cards.items():
        if driver:
            write_link(folder / "fs", f"/sys/bus/pci/devices/{address}/driver", f"../../../../bus/pci/drivers/{driver}")
    (folder / "advisor-capture.json").write_text(json.dumps({"version": 1, "root_user": root}))
    return open_root(str(folder))


MEGARAID = {CARD: ("0x010400", "megaraid_sas")}


def only(raid: Raid) -> Controller:
    assert raid.controllers is not None
    (controller,) = raid.controllers
    return controller


def drive_of(controller: Controller) -> VirtualDrive:
    assert controller.drives is not None
    return controller.drives[0]


def test_a_card_with_its_drive_is_told(tmp_path: Path) -> None:
    card = only(read(machine(tmp_path, MEGARAID, {STORCLI: answer(storcli()), VALL: answer(details())})))
    assert (card.name, card.address, card.driver, card.tool) == ("c0", CARD, "megaraid_sas", "storcli64")
    assert (card.model, card.firmware, card.status) == ("PERC H740P Mini", "5.093.00-3013", "optimal")
    assert (card.mode, card.has_cache) == ("raid", True)
    assert (card.protection_present, card.protection_state, card.protection_ok) == (True, "optimal", True)
    drive = drive_of(card)
    assert (drive.name, drive.level, drive.state, drive.degraded) == ("v239", "raid5", "optimal", False)
    assert (drive.configured_write_policy, drive.write_policy) == (WRITE_BACK, WRITE_BACK)
    assert (drive.os_device, drive.drive_cache, drive.media) == ("/dev/sda", "default", "hdd")
    assert evidence_path(drive, "os_device") == command_origin(VALL)
    assert evidence_path(drive, "write_policy") == command_origin(STORCLI)


def test_the_current_policy_counts_not_the_configured_one(tmp_path: Path) -> None:
    outputs = {STORCLI: answer(storcli("NRWTD", "Dgd (Needs Attention)")), VALL: answer(details())}
    card = only(read(machine(tmp_path, MEGARAID, outputs)))
    assert (card.protection_ok, card.has_cache) == (False, True)
    assert drive_of(card).configured_write_policy == WRITE_BACK
    assert drive_of(card).write_policy == WRITE_THROUGH


@pytest.mark.parametrize(
    ("code", "policy"),
    [
        ("RWBD", WRITE_BACK),
        ("NRWTD", WRITE_THROUGH),
        ("RAWBD", ALWAYS_WRITE_BACK),
        ("NRAWBC", ALWAYS_WRITE_BACK),
        ("RFWBD", ALWAYS_WRITE_BACK),
        ("RaWBC", WRITE_BACK),
        ("WT", WRITE_THROUGH),
        ("-", None),
        ("N/A", None),
        ("RWXD", None),
        (None, None),
        (["RWBD"], None),
    ],
)
def test_cache_codes(code: object, policy: str | None) -> None:
    assert parse_cache_code(code) == policy


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Warning: {old} firmware\n" + answer(storcli()), id="a banner with braces"),
        pytest.param(answer(storcli()) + "\n{", id="rest behind it"),
    ],
)
def test_json_is_found_among_other_text(text: str) -> None:
    (card,) = parse_controllers(text, "o", "storcli64")
    assert card.model == "PERC H740P Mini"


def test_valid_json_counts_whatever_the_exit_status(tmp_path: Path) -> None:
    machine(tmp_path, MEGARAID, {STORCLI: answer(storcli()), VALL: answer(details())})
    (tmp_path / "cmd/0.rc").write_text("46")
    assert only(read(open_root(str(tmp_path)))).model == "PERC H740P Mini"


def test_text_says_the_same_as_json() -> None:
    (card,) = parse_controllers(TEXT, "o", "storcli64")
    assert (card.name, card.address, card.model) == ("c0", CARD, "MegaRAID 9460-16i")
    assert (card.firmware, card.mode, card.protection_ok) == ("5.100.00-3310", "raid", True)
    assert card.drives is not None
    assert [(d.name, d.level, d.degraded, d.write_policy, d.media) for d in card.drives] == [
        ("v0", "raid1", True, WRITE_THROUGH, "ssd"),
        ("v1", "raid6", False, ALWAYS_WRITE_BACK, "hdd"),
    ]


def test_text_of_drives_tells_what_was_asked_for() -> None:
    properties = (
        "VD1 Properties :\n==============\nWrite Cache(initial setting) = WriteBack\nOS Drive Name = /dev/sdb\n"
    )
    text = f"CLI Version = 7\nController = 0\nStatus = Success\nDescription = None\n\n{properties}"
    (card,) = with_virtual_drives(parse_controllers(TEXT, "o", "storcli64"), text, "d")
    assert card.drives is not None
    assert [(d.configured_write_policy, d.os_device) for d in card.drives] == [(None, None), (WRITE_BACK, "/dev/sdb")]


@pytest.mark.parametrize("characters", range(0, len(TEXT), 97))
def test_cut_text_invents_nothing(characters: int) -> None:
    whole = parse_controllers(TEXT, "o", "storcli64")[0]
    for card in parse_controllers(TEXT[:characters], "o", "storcli64"):
        assert card.model in (None, whole.model) or str(whole.model).startswith(str(card.model))
        assert len(card.drives or ()) <= 2
        assert all(d.write_policy in (None, WRITE_THROUGH, ALWAYS_WRITE_BACK) for d in card.drives or ())
        assert card.protection_ok in (None, True)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="brace"),
        pytest.param("[1]", id="list"),
        pytest.param('{"Controllers": 5}', id="number"),
        pytest.param('{"Controllers": [5, null]}', id="no objects"),
        pytest.param(answer(storcli())[:-40], id="cut"),
        pytest.param('{"Controllers":' + "[" * 100_000, id="deep"),
        pytest.param('{"Controllers": [{"Command Status": [], "Response Data": "none"}]}', id="other types"),
    ],
)
def test_what_is_no_answer_tells_of_no_controller(text: str) -> None:
    assert parse_controllers(text, "o", "storcli64") == ()


def test_values_of_other_types_are_not_told() -> None:
    odd = storcli(
        changed={"Basics": [], "Status": {"Controller Status": {}}, "VD LIST": [7, {"State": [], "Cache": 3}]}
    )
    (card,) = parse_controllers(answer(odd), "o", "storcli64")
    assert (card.model, card.address, card.status) == (None, None, None)
    assert (drive_of(card).state, drive_of(card).degraded, drive_of(card).write_policy) == (None, None, None)


def test_no_cachevault_is_no_protection() -> None:
    (card,) = parse_controllers(answer(storcli("RAWBD", None)), "o", "storcli64")
    assert (card.protection_present, card.protection_state, card.protection_ok) == (False, None, False)
    assert drive_of(card).write_policy == ALWAYS_WRITE_BACK


def test_an_answer_without_hardware_does_not_say_that_there_is_no_protection() -> None:
    (card,) = parse_controllers(answer(storcli(vault=None, changed={"HwCfg": {}})), "o", "storcli64")
    assert card.protection_present is None


def test_a_list_of_drives_that_is_missing_is_not_empty() -> None:
    told_of = storcli(changed={"Virtual Drives": 2})
    del told_of["Response Data"]["VD LIST"]
    (card,) = parse_controllers(answer(told_of), "o", "storcli64")
    assert card.drives is None


@pytest.mark.parametrize(
    "changed",
    [
        {"Version": {"Driver Name": "mpt3sas"}},
        {"Status": {"Current Personality": "HBA-Mode"}},
        {"Current Personality": "JBOD-Mode"},
    ],
    ids=["driver", "HBA", "JBOD"],
)
def test_a_card_that_hands_disks_through_is_an_hba(changed: dict[str, Any]) -> None:
    (card,) = parse_controllers(answer(storcli(changed=changed)), "o", "storcli64")
    assert card.mode == "hba"


def test_perccli_is_asked_where_there_is_no_storcli(tmp_path: Path) -> None:
    card = only(read(host := machine(tmp_path, MEGARAID, {PERCCLI: answer(storcli())}, absent=[STORCLI])))
    assert card.tool == "perccli64"
    assert command_origin(STORCLI) not in host.gaps


def test_nobody_but_root_asks_a_tool(tmp_path: Path) -> None:
    host = machine(tmp_path, MEGARAID, {STORCLI: answer(storcli())}, root=False)
    card = only(read(host))
    assert (card.name, card.driver, card.mode, card.drives) == (CARD, "megaraid_sas", None, None)
    assert host.gaps[evidence_path(card, "mode")] == "denied"


def test_missing_tools_are_one_gap(tmp_path: Path) -> None:
    programs = ["storcli64", "storcli", "/opt/MegaRAID/storcli/storcli64"]
    programs += ["perccli64", "perccli", "/opt/MegaRAID/perccli/perccli64"]
    absent: list[Command] = [(program, *STORCLI[1:]) for program in programs]
    megacli = ("MegaCli64", "MegaCli", "megacli", "/opt/MegaRAID/MegaCli/MegaCli64")
    absent += [(program, *MEGACLI[1:]) for program in megacli]
    host = machine(tmp_path, MEGARAID, absent=absent)
    card = only(read(host))
    assert card.drives is None
    assert {p: s for p, s in host.gaps.items() if p.startswith("command:")} == {command_origin(STORCLI): "absent"}
    assert evidence_path(card, "drives") == command_origin(STORCLI)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ('{"Controllers":[{"Command Status":{"Controller":0,"Status":"Failure"}}]}', "unsupported"),
        ("Must be root to run this program", "denied"),
    ],
    ids=["nothing found", "refused"],
)
def test_a_tool_that_tells_nothing_leaves_the_reason(tmp_path: Path, text: str, state: str) -> None:
    host = machine(tmp_path, MEGARAID, {STORCLI: text})
    card = only(read(host))
    assert card.drives is None
    assert host.gaps[card.origin] == state


@pytest.mark.parametrize(
    ("code", "driver"),
    [("0x010700", "mpt3sas"), ("0x010400", "mpt2sas"), ("0x010700", "mpi3mr"), ("0x010700", "")],
)
def test_an_hba_is_silent(tmp_path: Path, code: str, driver: str) -> None:
    host = machine(tmp_path, {CARD: (code, driver)}, {STORCLI: answer(storcli())})
    card = only(read(host))
    assert (card.mode, card.has_cache, card.drives, card.tool) == ("hba", False, (), None)


@pytest.mark.parametrize(
    ("code", "driver"),
    [
        ("0x010400", "ahci"),
        ("0x010400", "vmd"),
        ("0x010700", "vmw_pvscsi"),
        ("0x010802", "nvme"),
        ("0x030200", "nvidia"),
    ],
)
def test_what_is_no_raid_controller_is_left_out(tmp_path: Path, code: str, driver: str) -> None:
    assert read(machine(tmp_path, {CARD: (code, driver)}, {STORCLI: answer(storcli())})).controllers == ()


@pytest.mark.parametrize("driver", ["arcmsr", "mpi3mr", ""])
def test_a_raid_controller_without_a_known_tool_is_unknown(tmp_path: Path, driver: str) -> None:
    host = machine(tmp_path, {CARD: ("0x010400", driver)})
    card = only(read(host))
    assert (card.address, card.mode, card.drives) == (CARD, None, None)
    assert host.gaps[evidence_path(card, "mode")] == "unsupported"


def test_a_machine_without_pci_has_none(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path, {})).controllers == ()


def test_what_was_not_captured_is_unknown(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path, {}, absent=())).controllers is None


def test_a_card_that_its_tool_leaves_out_is_there_all_the_same(tmp_path: Path) -> None:
    cards = {**MEGARAID, "0000:af:00.0": ("0x010400", "megaraid_sas")}
    raid = read(machine(tmp_path, cards, {STORCLI: answer(storcli()), VALL: answer(details())}))
    assert raid.controllers is not None
    assert [(one.address, one.drives is None) for one in raid.controllers] == [(CARD, False), ("0000:af:00.0", True)]


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
    assert (second.drives, second.protection_present) == ((), False)
    assert evidence_path(first, "protection_ok") == command_origin(BATTERY)


def test_the_one_card_of_a_tool_that_tells_no_address_is_that_on_the_bus(tmp_path: Path) -> None:
    text = LDINFO.partition("Adapter 1")[0]
    assert only(read(machine(tmp_path, MEGARAID, {MEGACLI: text}, absent=[STORCLI]))).address == CARD


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("WriteBack, ReadAhead, Direct, No Write Cache if Bad BBU", WRITE_BACK),
        ("WriteBack, ReadAdaptive, Cached, Write Cache OK if Bad BBU", ALWAYS_WRITE_BACK),
        ("WriteThrough, ReadAheadNone, Direct, Write Cache OK if Bad BBU", WRITE_THROUGH),
        ("", None),
        ("Write", None),
    ],
)
def test_policies_of_megacli(text: str, policy: str | None) -> None:
    assert parse_policy(text) == policy


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


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("RAID6", "raid6"),
        ("RAID 6 (ADG)", "raid6"),
        ("1+0", "raid10"),
        ("6 Reed-Solomon", "raid6"),
        ("10", "raid10"),
        (5, "raid5"),
        ("Spanned_volume", "spanned_volume"),
        ("N/A", None),
        (None, None),
    ],
)
def test_levels(text: object, level: str | None) -> None:
    assert parse_level(text) == level


@pytest.mark.parametrize(
    ("texts", "media"),
    [(["SSD", "HDD"], "mixed"), (["SAS"], "hdd"), (["Solid State NVMe"], "ssd"), (["?"], None), ([], None)],
)
def test_media(texts: list[str], media: str | None) -> None:
    assert parse_media(texts) == media


@pytest.mark.parametrize(
    ("text", "device"), [("/dev/sda (Disk 0)", "/dev/sda"), ("N/A", None), ("sda", None), ("/dev/$(id)", None)]
)
def test_names_of_disks(text: str, device: str | None) -> None:
    assert parse_os_device(text) == device


@pytest.mark.parametrize("text", ["", " - ", "N/A", "NA", None, True, [], {}])
def test_words_for_nothing(text: object) -> None:
    assert told(text) is None


def test_policies_without_a_word_about_caching_are_not_told() -> None:
    assert cached_policies(None, "OK", "Disabled") == (None, None)
    assert cached_policies("Enabled", "OK", None) == (None, None)


def test_no_serial_number_is_kept(tmp_path: Path) -> None:
    told_of = storcli()
    told_of["Response Data"]["Basics"]["Serial Number"] = "SECRET1"
    host = machine(tmp_path, MEGARAID, {STORCLI: answer(told_of), VALL: answer(details())})
    snapshot = Snapshot(Source(), {"raid": read(host)}, host.gaps)
    assert "PERC H740P" in committed_json(snapshot)
    assert "SECRET1" not in committed_json(snapshot)
