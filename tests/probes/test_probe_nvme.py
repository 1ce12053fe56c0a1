"""NVMe controllers: sysfs for everybody, cache and health for root with nvme-cli."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.host.base import Host, command_origin
from advisor.host.captured import open_root
from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes.nvme import NvmeController, parse_json, parse_namespace, parse_number, read
from tests.trees import ALL_ABSENT, write_capture, write_link

ADDRESS = "0000:3b:00.0"
FILES: dict[str, str | bytes] = {
    "model": b"SAMSUNG MZQL23T8HCLS-00A07" + b" " * 14 + b"\n" + b"\0" * 60,
    "serial": "S64HNE0R000001\n",
    "firmware_rev": "GDC5602Q\n",
    "transport": "pcie\n",
    "state": "live\n",
    "numa_node": "1\n",
    "queue_count": "65\n",
    "address": f"{ADDRESS}\n",
    "nvme0n1/": "",
    "ng0n1/": "",
    "hwmon3/": "",
}
ID = ("nvme", "id-ctrl", "-o", "json", "/dev/nvme0")
SMART = ("nvme", "smart-log", "-o", "json", "/dev/nvme0")
HEALTH = '{"critical_warning": 0, "percent_used": 3, "media_errors": 2}'


def machine(
    folder: Path,
    files: Mapping[str, str | bytes],
    outputs: Mapping[tuple[str, ...], str] | None = None,
    root: bool = True,
    absent: tuple[str, ...] = (),
) -> Host:
    """A machine with the drive nvme0, on which nvme-cli printed ``outputs``."""
    real = f"/sys/devices/pci0000:3a/{ADDRESS}/nvme/nvme0"
    written = {f"{real}/{name}": content for name, content in files.items()}
    write_capture(folder, written, absent=[*ALL_ABSENT, *absent], outputs=outputs)
    write_link(folder / "fs", "/sys/class/nvme/nvme0", f"../../devices/pci0000:3a/{ADDRESS}/nvme/nvme0")
    (folder / "advisor-capture.json").write_text(json.dumps({"version": 1, "root_user": root}))
    return open_root(str(folder))


def only(host: Host) -> NvmeController:
    controllers = read(host).controllers
    assert controllers is not None
    (controller,) = controllers
    return controller


def test_a_local_drive_is_read(tmp_path: Path) -> None:
    one = only(machine(tmp_path, FILES, {ID: '{"vid": 5197, "vwc": 6}', SMART: HEALTH}))
    assert (one.name, one.model, one.firmware) == ("nvme0", "SAMSUNG MZQL23T8HCLS-00A07", "GDC5602Q")
    assert (one.transport, one.state, one.numa_node, one.queue_count) == ("pcie", "live", 1, 65)
    assert (one.pci_address, one.namespaces) == (ADDRESS, ("nvme0n1",))
    assert (one.volatile_write_cache, one.critical_warning) == (False, 0)
    assert (one.percent_used, one.media_errors) == (3, 2)


@pytest.mark.parametrize(("vwc", "volatile"), [(7, True), (1, True), (6, False), (0, False), ("0x7", True)])
def test_the_lowest_bit_says_whether_there_is_a_volatile_cache(tmp_path: Path, vwc: object, volatile: bool) -> None:
    host = machine(tmp_path, FILES, {ID: json.dumps({"vwc": vwc}), SMART: HEALTH})
    assert only(host).volatile_write_cache is volatile


@pytest.mark.parametrize(
    ("value", "number"),
    [
        pytest.param(2, 2, id="number"),
        pytest.param(2.0, 2, id="float"),
        pytest.param("2", 2, id="text"),
        pytest.param("2%", 2, id="percent"),
        pytest.param({"value": 4, "ro": 0}, 4, id="with its bits"),
        pytest.param("18446744073709551616", 2**64, id="wider than 64 bits"),
        pytest.param(True, None, id="bool"),
        pytest.param(-1, None, id="negative"),
        pytest.param(float("nan"), None, id="not a number"),
        pytest.param("n/a", None, id="word"),
        pytest.param([], None, id="list"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_counts_of_all_versions(value: object, number: int | None) -> None:
    assert parse_number(value) == number


def test_the_health_log_of_other_versions(tmp_path: Path) -> None:
    text = 'warning: old firmware\n{"critical_warning": {"value": 1}, "percentage_used": "104", "media_errors": 0.0}'
    one = only(machine(tmp_path, FILES, {ID: "{}", SMART: text}))
    assert (one.critical_warning, one.percent_used, one.media_errors) == (1, 104, 0)
    assert one.volatile_write_cache is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1', "nothing here", '{"a":' + "[" * 100_000])
def test_what_is_no_object(text: str) -> None:
    assert parse_json(text) is None


def test_an_answer_that_is_none_leaves_a_gap(tmp_path: Path) -> None:
    host = machine(tmp_path, FILES, {ID: '{"vwc": 0}', SMART: "NVMe status: INVALID_FIELD(0x4002)"})
    one = only(host)
    assert (one.volatile_write_cache, one.critical_warning) == (False, None)
    assert host.gaps[command_origin(SMART)] == "unsupported"


def test_only_root_asks_the_drive(tmp_path: Path) -> None:
    host = machine(tmp_path, FILES, {ID: '{"vwc": 0}', SMART: HEALTH}, root=False)
    one = only(host)
    assert (one.state, one.volatile_write_cache, one.percent_used) == ("live", None, None)
    assert host.gaps[evidence_path(one, "volatile_write_cache")] == "denied"
    assert host.gaps[evidence_path(one, "percent_used")] == "denied"


def test_a_missing_program_is_one_gap_for_each_question(tmp_path: Path) -> None:
    host = machine(tmp_path, FILES, absent=(command_origin(ID),))
    one = only(host)
    gaps = {path: state for path, state in host.gaps.items() if path.startswith("command:")}
    assert gaps == {"command: nvme id-ctrl -o json": "absent", "command: nvme smart-log -o json": "absent"}
    assert evidence_path(one, "media_errors") in gaps


def test_a_controller_in_the_network_is_not_asked(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "transport": "tcp\n",
        "state": "connecting\n",
        "address": "traddr=192.0.2.1,trsvcid=4420\n",
        "nvme0c0n1/": "",
    }
    host = machine(tmp_path, files, {ID: '{"vwc": 1}'})
    one = only(host)
    assert (one.transport, one.state, one.volatile_write_cache) == ("tcp", "connecting", None)
    assert one.namespaces == ("nvme0n1",)
    assert not [path for path in host.gaps if path.startswith("command:")]


@pytest.mark.parametrize(
    ("name", "namespace"),
    [("nvme0n1", "nvme0n1"), ("nvme1c2n3", "nvme1n3"), ("ng0n1", None), ("nvme0", None), ("hwmon1", None)],
)
def test_names_of_namespaces(name: str, namespace: str | None) -> None:
    assert parse_namespace(name) == namespace


def test_a_machine_without_nvme_has_none(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path, {})).controllers == ()


def test_what_was_not_captured_is_unknown(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path, {}, absent=())).controllers is None


def test_what_goes_into_git_has_no_serial_and_no_counter(tmp_path: Path) -> None:
    host = machine(tmp_path, FILES, {ID: '{"vwc": 0}', SMART: '{"percent_used": 77, "critical_warning": 0}'})
    text = committed_json(Snapshot(Source(), {"nvme": read(host)}, host.gaps))
    assert "GDC5602Q" in text
    assert "S64HNE0R000001" not in text
    (kept,) = json.loads(text)["facts"]["nvme"]["controllers"]
    assert not {"serial", "percent_used", "critical_warning"} & set(kept)
