"""RAID tools' and nvme-cli's real outputs, as other projects keep them: none raises, and what they say is met."""

from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.host.captured import open_root
from advisor.probes import _raid_arcconf, _raid_cciss, _raid_megacli, _raid_ssacli, _raid_storcli
from advisor.probes._md import parse_mdstat
from advisor.probes._mountstats import parse_mountstats
from advisor.probes._raid import ALWAYS_WRITE_BACK, WRITE_BACK, WRITE_THROUGH, Controller
from advisor.probes.nvme import parse_json, parse_number, read

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts"
CHECKS = HOSTS / "check_raid/data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout"),
]
ORIGINS = {"drives": "command: MegaCli64 -LDInfo", "battery": "command: b", "about": "command: a"}
FOLDERS = ("check_raid/data", "netdata", "redhat-hardware/samples", "nccl-logs")


def text(path: str) -> str:
    return (HOSTS / path).read_bytes().decode("utf-8", "replace")


def arcconf(path: str) -> tuple[Controller, ...]:
    one = _raid_arcconf.parse_controller(text(path), "o", 1)
    return () if one is None else (one,)


def megacli(path: str, battery: str = "") -> tuple[Controller, ...]:
    return _raid_megacli.parse_controllers(text(path), text(battery) if battery else "", "", ORIGINS)


def ssacli(path: str) -> tuple[Controller, ...]:
    return _raid_ssacli.parse_controllers(text(path), "o", "ssacli")


def storcli(path: str) -> tuple[Controller, ...]:
    return _raid_storcli.parse_controllers(text(path), "o", "storcli64")


def policies(controllers: tuple[Controller, ...]) -> list[str | None]:
    return [drive.write_policy for one in controllers for drive in one.drives or ()]


def test_no_output_of_any_tool_makes_a_parser_raise() -> None:
    files = [path for folder in FOLDERS for path in sorted((HOSTS / folder).rglob("*")) if path.is_file()]
    assert len(files) > 150
    for path in files:
        name = str(path.relative_to(HOSTS))
        parsers: tuple[Callable[[str], object], ...] = (arcconf, megacli, ssacli, storcli)
        for parse in parsers:
            parse(name)


ADAPTEC = [
    ("1", [None], False, False),
    ("2", [WRITE_BACK], True, True),
    ("3", [WRITE_BACK], True, True),
    ("86", [WRITE_BACK], False, False),
    ("arcconf31000", [WRITE_BACK, WRITE_BACK], True, True),
    ("issue105", [WRITE_THROUGH], True, False),
    ("issue128", [WRITE_THROUGH], False, False),
    ("issue155", [WRITE_BACK, WRITE_BACK], None, None),
    ("issue31", [WRITE_THROUGH, WRITE_THROUGH, WRITE_BACK], True, True),
    ("issue47", [WRITE_BACK], False, False),
    ("issue67", [WRITE_THROUGH], False, False),
    ("issue75", [WRITE_BACK, WRITE_BACK, WRITE_BACK], True, True),
]


@pytest.mark.parametrize(("case", "expected", "present", "fine"), ADAPTEC, ids=[row[0] for row in ADAPTEC])
def test_adaptec_policies(case: str, expected: list[str | None], present: bool | None, fine: bool | None) -> None:
    (path,) = [path for path in (CHECKS / "arcconf" / case).glob("*getconfig*")][:1]
    (one,) = arcconf(str(path.relative_to(HOSTS)))
    assert policies((one,)) == expected
    assert (one.protection_present, one.protection_ok) == (present, fine)


@pytest.mark.parametrize(
    ("case", "degraded"),
    [
        ("86/arcconf-getconfig.out", [True]),
        ("issue155/getconfig", [False, True]),
        ("issue47/getconfig", [False]),
        ("issue47/getconfig2", [True]),
        ("issue90/c", [True]),
    ],
)
def test_degraded_adaptec_drives(case: str, degraded: list[bool]) -> None:
    (one,) = arcconf(f"check_raid/data/arcconf/{case}")
    assert [drive.degraded for drive in one.drives or ()] == degraded


@pytest.mark.parametrize(
    ("case", "configured", "current", "level"),
    [
        ("3/ldinfo", WRITE_BACK, WRITE_BACK, "raid5"),
        ("issue65/ldinfo", WRITE_BACK, WRITE_THROUGH, "raid5"),
        ("issue65/ldinfo2", WRITE_BACK, WRITE_BACK, "raid10"),
        ("issue85/ldinfo", WRITE_BACK, WRITE_THROUGH, "raid1"),
        ("issue91/9924032.txt", WRITE_BACK, WRITE_BACK, "raid6"),
        ("pr74/ldinfo", WRITE_BACK, WRITE_BACK, "raid10"),
    ],
)
def test_megacli_tells_the_default_policy_from_the_current(
    case: str, configured: str, current: str, level: str
) -> None:
    (one,) = megacli(f"check_raid/data/megacli/{case}")
    (drive,) = one.drives or ()
    assert (drive.configured_write_policy, drive.write_policy, drive.level) == (configured, current, level)
    assert drive.degraded is False


def test_a_controller_without_virtual_drives_has_none() -> None:
    (one,) = megacli("check_raid/data/megacli/megacli.ldinfo.jbod")
    assert (one.drives, one.has_cache) == ((), None)


@pytest.mark.parametrize(
    ("battery", "present", "fine"),
    [
        ("check_raid/data/megacli/3/bucmd", True, True),
        ("check_raid/data/megacli/issue45/MegaCli64-adpbbucmd.out", True, True),
        ("check_raid/data/megacli/issue49/battery", True, False),
        ("check_raid/data/megacli/issue91/9924031.txt", True, True),
        ("check_raid/data/megacli/issue32/bbustatus.MegaCli-8.07.10-1", False, False),
        ("check_raid/data/megacli/issue32/bbustatus.MegaCli-8.01.06-1", None, None),
        ("netdata/megacli/mega-bbu-info-old.txt", True, True),
        ("netdata/megacli/mega-bbu-info-recent.txt", True, True),
    ],
)
def test_batteries(battery: str, present: bool | None, fine: bool | None) -> None:
    (one,) = megacli("check_raid/data/megacli/3/ldinfo", battery)
    assert (one.protection_present, one.protection_ok) == (present, fine)


def test_storcli_of_a_healthy_server() -> None:
    (one,) = storcli("netdata/storcli/megaraid-controllers-info.json")
    assert (one.model, one.address) == ("ServeRAID M5015 SAS/SATA Controller", "0000:0a:00.0")
    assert (one.mode, one.protection_ok, policies((one,))) == ("raid", True, [WRITE_BACK])


@pytest.mark.parametrize(
    ("path", "mode", "media"),
    [
        ("netdata/hpssa/ssacli-P400ar.txt", "raid", ["ssd", "hdd"]),
        ("netdata/hpssa/ssacli-P408i-a.txt", "mixed", ["ssd"]),
    ],
)
def test_smart_arrays_that_may_cache_without_battery(path: str, mode: str, media: list[str]) -> None:
    (one,) = ssacli(path)
    assert (one.mode, one.protection_ok) == (mode, True)
    assert set(policies((one,))) == {ALWAYS_WRITE_BACK}
    assert [drive.media for drive in one.drives or ()] == media


def test_smart_arrays_in_hba_mode_and_without_cache_are_told_apart() -> None:
    hba, raid = ssacli("check_raid/data/hpacucli/145/controller")
    assert (hba.mode, raid.mode, hba.has_cache, raid.has_cache) == ("hba", "raid", False, False)


def test_interim_recovery_is_degraded() -> None:
    (one,) = ssacli("check_raid/data/hpacucli/hpacucli.interim_recovery_mode.show")
    assert [drive.degraded for drive in one.drives or ()] == [True]


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("v2.11_nvme-smart-log.json", 30),
        ("v2.3_nvme-smart-log.json", 2),
        ("v2.3_nvme-smart-log-float.json", 2),
        ("v2.3_nvme-smart-log-string.json", 2),
    ],
)
def test_health_logs_of_several_versions(name: str, used: int) -> None:
    told = parse_json(text(f"netdata/nvme/{name}"))
    assert told is not None
    assert (parse_number(told["percent_used"]), parse_number(told["critical_warning"])) == (used, 0)
    assert parse_number(told["media_errors"]) == 0


def test_controllers_of_a_machine_with_two_paths_to_one_drive() -> None:
    controllers = read(open_root(str(HOSTS / "libnvme/tree-pcie.tar.xz"))).controllers
    assert controllers is not None
    assert [(one.name, one.pci_address, one.namespaces) for one in controllers] == [
        ("nvme0", "0214:90:00.0", ("nvme0n1",)),
        ("nvme1", "052e:78:00.0", ("nvme1n1",)),
        ("nvme2", "058e:78:00.0", ("nvme1n1",)),
    ]
    assert {(one.transport, one.state, one.volatile_write_cache) for one in controllers} == {("pcie", "live", None)}


@pytest.mark.parametrize(
    ("name", "cache", "current"),
    [
        ("cciss_vol_status.argos2", True, WRITE_THROUGH),
        ("cciss_vol_status.lupus", True, WRITE_THROUGH),
        ("issue205/cciss_vol_status-V_dev_sg0", True, None),
        ("cciss_vol_status.argos", None, None),
    ],
)
def test_smart_arrays_by_their_oldest_tool(name: str, cache: bool | None, current: str | None) -> None:
    one = _raid_cciss.parse_controller(text(f"check_raid/data/cciss/{name}"), "o", "c")
    assert one is not None
    assert (one.has_cache, set(policies((one,)))) == (cache, {current})
    assert not any(drive.degraded for drive in one.drives or ())


@pytest.mark.parametrize(
    ("name", "degraded"),
    [
        ("mdstat-failed", [1]),
        ("mdstat-resync", [0, 0, 0]),
        ("pr28_1", [1, 1]),
        ("mdstat-none", []),
        ("issue164", [0, 0]),
    ],
)
def test_missing_members_of_md_arrays(name: str, degraded: list[int]) -> None:
    assert [one.degraded for one in parse_mdstat(text(f"check_raid/data/mdstat/{name}"))] == degraded


def test_counters_of_nfs_agree_with_their_source() -> None:
    use = parse_mountstats(text("mounts/nfs_mountstats_telegraf.txt"))["/A"]
    assert use.reads is not None
    assert (use.age_seconds, use.reads.operations, use.reads.retransmissions) == (1136770, 600, 1)
    assert (use.reads.round_trip_ms, use.reads.execution_ms) == (606, 607)
