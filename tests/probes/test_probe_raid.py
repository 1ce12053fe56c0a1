"""RAID controllers: which tool is asked and when, what its words mean, and what is said where it cannot be asked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor.host.base import command_origin
from advisor.host.captured import open_root
from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes._raid import ALWAYS_WRITE_BACK, WRITE_BACK, WRITE_THROUGH
from advisor.probes._raid_storcli import parse_cache_code, parse_controllers, with_virtual_drives
from advisor.probes.raid import read
from tests.raid_machines import CARD, MEGACLI, MEGARAID, PERCCLI, STORCLI, VALL, Command, drive_of, machine, only
from tests.trees import write_capture


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


@pytest.mark.parametrize("state", ["Missing", "Absent", "Not Present"])
def test_a_battery_that_is_missing_is_no_protection(state: str) -> None:
    (card,) = parse_controllers(answer(storcli("RWBD", state)), "o", "storcli64")
    assert (card.protection_present, card.protection_ok) == (False, False)


@pytest.mark.parametrize(
    ("cache", "default", "configured", "goes_on", "told_by"),
    [
        ("RWBD", {"Cache When BBU Bad": "On"}, "WriteBack", True, STORCLI),
        ("RWBD", {"Cache When BBU Bad": "Off"}, "WriteBack", False, STORCLI),
        ("RWBD", {}, "WriteBack", None, STORCLI),
        ("RAWBD", {"Cache When BBU Bad": "Off"}, "WriteBack", True, STORCLI),
        ("RWBD", {"Cache When BBU Bad": "Off"}, "AlwaysWriteBack", True, VALL),
    ],
    ids=["the default says so", "the default says no", "no default", "its policy says so", "so it was asked for"],
)
def test_whether_write_back_goes_on_without_protection(
    tmp_path: Path, cache: str, default: dict[str, str], configured: str, goes_on: bool | None, told_by: Command
) -> None:
    outputs = {STORCLI: answer(storcli(cache, changed={"Defaults": default})), VALL: answer(details(configured))}
    drive = drive_of(only(read(machine(tmp_path, MEGARAID, outputs))))
    assert drive.caches_unprotected is goes_on
    assert evidence_path(drive, "caches_unprotected") == command_origin(told_by)


def test_the_default_is_read_from_text_too() -> None:
    text = TEXT.replace("PD LIST :\n", "Defaults :\n========\nCache When BBU Bad = Off\n\nPD LIST :\n", 1)
    (card,) = parse_controllers(text, "o", "storcli64")
    assert [drive.caches_unprotected for drive in card.drives or ()] == [False, True]


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


def test_no_serial_number_is_kept(tmp_path: Path) -> None:
    told_of = storcli()
    told_of["Response Data"]["Basics"]["Serial Number"] = "SECRET1"
    host = machine(tmp_path, MEGARAID, {STORCLI: answer(told_of), VALL: answer(details())})
    snapshot = Snapshot(Source(), {"raid": read(host)}, host.gaps)
    assert "PERC H740P" in committed_json(snapshot)
    assert "SECRET1" not in committed_json(snapshot)
