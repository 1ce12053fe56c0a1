"""Configuration spaces of PCI devices: what they say, and that hostile ones say nothing."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.host.captured import open_root
from advisor.host.pci_space import parse_space, without_serials
from advisor.host.recording import Recorder
from advisor.host.redaction import redacted
from advisor.host.saving import save_capture
from advisor.model.facts import evidence_path
from advisor.probes._pci_config import Config, ResizableBar, decode_config
from advisor.probes.pci import Device, read
from tests.pci_spaces import (
    MSIX,
    SERIAL_BYTES,
    VENDOR_SPECIFIC,
    VITAL_PRODUCT_DATA,
    acs,
    ats,
    express,
    pci_space,
    put,
    resizable_bars,
    serial,
)
from tests.trees import write_capture

FOLDER = "/sys/bus/pci/devices/0000:3b:00.0"
PATH = f"{FOLDER}/config"
GPU = pci_space(
    (0x01, bytes(6)),
    express(can_payload=1, payload=1, read_request=5, relaxed=True, extended_tags=True, can_aspm=3, aspm=2),
    (MSIX, bytes(10)),
    extended=(serial(), acs(can=0x5C, on=0), ats(enabled=True), resizable_bars((1, 0x1FFC0, 16))),
)
PORT = pci_space(
    express("downstream port", can_payload=2, payload=1, read_request=2, no_snoop=True, up=True),
    extended=((0x01, bytes(0x44)), acs(can=0x5F, on=0x1D)),
    bridge=True,
)


def decoded(data: bytes) -> tuple[Config, Mapping[str, str]]:
    return decode_config(parse_space(data), PATH)


def device(tmp_path: Path, config: bytes | None, **files: str) -> tuple[Device, Mapping[str, str]]:
    """A GPU with this configuration space, and the gaps."""
    given: dict[str, str | bytes] = {f"{FOLDER}/{name.replace('__', '/')}": text for name, text in files.items()}
    given |= {f"{FOLDER}/class": "0x030200\n", f"{FOLDER}/vendor": "0x10de\n"}
    host = write_capture(tmp_path, given if config is None else {**given, PATH: config})
    devices = read(host).devices
    assert devices is not None
    return devices[0], host.gaps


def test_a_gpu_tells_its_settings() -> None:
    config, gaps = decoded(GPU)
    assert (config.port_type, config.max_payload_supported_bytes, config.max_payload_bytes) == ("endpoint", 256, 256)
    assert (config.max_read_request_bytes, config.relaxed_ordering, config.no_snoop) == (4096, True, False)
    assert (config.extended_tags, config.aspm_supported, config.aspm) == (True, "L0s L1", "L1")
    assert (config.ats, config.ats_enabled, config.acs, config.acs_on) == (True, True, True, ())
    assert config.acs_supported == (
        *("request_redirect", "completion_redirect", "upstream_forwarding", "direct_translated"),
    )
    assert config.resizable_bars == (
        ResizableBar(origin=f"{PATH}/resizable_bars", number=1, size_bytes=1 << 36, largest_bytes=1 << 36),
    )
    assert (config.link_up, evidence_path(config, "link_up"), gaps) == (
        None,
        f"{PATH}/link",
        {f"{PATH}/link": "unsupported"},
    )


def test_a_port_tells_what_it_redirects() -> None:
    config, gaps = decoded(PORT)
    assert (config.port_type, config.link_up, config.no_snoop, config.aspm) == ("downstream port", True, True, "off")
    assert config.acs_on == ("source_validation", "request_redirect", "completion_redirect", "upstream_forwarding")
    assert config.acs_supported is not None
    assert "translation_blocking" in config.acs_supported
    assert "egress_control" not in config.acs_supported
    assert (config.ats, config.ats_enabled, config.resizable_bars, gaps) == (False, False, (), {})


def test_a_bit_for_what_the_port_cannot_does_nothing() -> None:
    config, _ = decoded(pci_space(express("root port"), extended=(acs(can=0x01, on=0x0D),), bridge=True))
    assert (config.acs_supported, config.acs_on) == (("source_validation",), ("source_validation",))


@pytest.mark.parametrize("port", ["endpoint", "root port", "upstream port", "downstream port", "integrated endpoint"])
def test_port_types(port: str) -> None:
    assert decoded(pci_space(express(port)))[0].port_type == port


@pytest.mark.parametrize(("code", "size"), [(0, 128), (1, 256), (2, 512), (5, 4096), (6, None), (7, None)])
def test_sizes_of_packets(code: int, size: int | None) -> None:
    config, gaps = decoded(pci_space(express(can_payload=code, payload=code, read_request=code)))
    read_back = (config.max_payload_supported_bytes, config.max_payload_bytes, config.max_read_request_bytes)
    assert read_back == (size, size, size)
    assert gaps.get(f"{PATH}/express") == (None if size else "unsupported")


def test_a_device_inside_the_root_complex_has_no_link() -> None:
    config, gaps = decoded(pci_space(express("integrated endpoint", can_aspm=3, aspm=3)))
    assert (config.aspm, config.aspm_supported, config.link_up) == (None, None, None)
    assert gaps[evidence_path(config, "aspm")] == "absent"


def test_a_virtual_function_does_not_tell_what_its_card_decides() -> None:
    config, gaps = decoded(pci_space(express(payload=0, relaxed=False), extended=(ats(enabled=False),), vendor=0xFFFF))
    assert (config.port_type, config.relaxed_ordering, config.max_payload_bytes) == ("endpoint", None, None)
    assert gaps[evidence_path(config, "relaxed_ordering")] == "unsupported"
    assert config.ats_enabled is False


def test_a_device_of_conventional_pci_has_none_of_it() -> None:
    config, gaps = decoded(pci_space((0x01, bytes(6)), size=256))
    assert (config.port_type, config.acs, config.ats, config.resizable_bars) == (None, False, False, ())
    assert gaps[f"{PATH}/express"] == "absent"


def test_express_without_the_extended_part_leaves_that_unknown() -> None:
    config, gaps = decoded(pci_space(express(relaxed=True), size=256))
    assert (config.relaxed_ordering, config.acs, config.ats, config.resizable_bars) == (True, None, None, None)
    assert [gaps[f"{PATH}/{part}"] for part in ("acs", "ats", "resizable_bars")] == ["unsupported"] * 3


@pytest.mark.parametrize("data", [GPU[:64], GPU[:128], GPU[:64].ljust(4096, b"\0")], ids=["64", "128", "filled up"])
def test_what_only_root_may_read_is_denied_and_not_absent(tmp_path: Path, data: bytes) -> None:
    gpu, gaps = device(tmp_path, data)
    assert (gpu.config, gpu.answers) == (None, True)
    assert gaps[evidence_path(gpu, "config")] == "denied"


def test_a_device_that_is_gone_answers_with_ones(tmp_path: Path) -> None:
    for number, data in enumerate((b"\xff" * 64, b"\xff" * 4096)):
        gpu, gaps = device(tmp_path / str(number), data)
        assert (gpu.config, gpu.answers, gaps[PATH]) == (None, False, "error")


@pytest.mark.parametrize("data", [b"", GPU[:63], bytes(64), bytes(4096)], ids=["empty", "63", "zeros", "all zeros"])
def test_what_is_no_header_says_nothing(tmp_path: Path, data: bytes) -> None:
    gpu, gaps = device(tmp_path, data)
    assert (gpu.config, gpu.answers, gaps[PATH]) == (None, None, "unsupported")


@pytest.mark.parametrize("status", ["suspended", "suspending"])
def test_a_device_that_sleeps_is_not_woken(tmp_path: Path, status: str) -> None:
    gpu, gaps = device(tmp_path, GPU, power__runtime_status=f"{status}\n")
    assert (gpu.runtime_status, gpu.config, gpu.answers, gaps[PATH]) == (status, None, None, "not captured")


@pytest.mark.parametrize("status", ["active\n", "unsupported\n", "error\n", ""])
def test_any_other_device_is_read(tmp_path: Path, status: str) -> None:
    gpu, _ = device(tmp_path, GPU, power__runtime_status=status)
    assert gpu.config is not None
    assert gpu.config.relaxed_ordering is True


def changed(data: bytes, place: int, bytes_there: bytes) -> bytes:
    space = bytearray(data)
    put(space, place, bytes_there)
    return bytes(space)


@pytest.mark.parametrize(
    "data",
    [
        changed(GPU, 0x41, b"\x40"),
        changed(GPU, 0x41, b"\x3c"),
        changed(changed(GPU, 0x41, b"\xfc"), 0xFC, b"\xff\xff"),
        changed(GPU, 0x34, b"\x10"),
        changed(GPU, 0x40, b"\xff\xff"),
        GPU[:70],
    ],
    ids=["to itself", "into the header", "to ones at the end", "first in the header", "all ones", "cut off"],
)
def test_what_a_broken_list_hides_is_unknown(tmp_path: Path, data: bytes) -> None:
    gpu, gaps = device(tmp_path, data)
    config = gpu.config or Config()
    assert (config.ats_enabled, config.acs) == (None, None)
    assert "absent" not in {state for path, state in gaps.items() if path.startswith(PATH)}
    assert "unsupported" in {state for path, state in gaps.items() if path.startswith(PATH)}


@pytest.mark.parametrize(
    ("header", "next_found"),
    [
        (0x100 << 20 | 1 << 16 | 0x0D, None),
        (0x0FC << 20 | 1 << 16 | 0x0D, None),
        (0xFFF << 20 | 1 << 16 | 0x0D, None),
        (0x000 << 20 | 1 << 16 | 0x0D, False),
    ],
    ids=["loop", "into the first 256 bytes", "behind the end", "the end"],
)
def test_only_the_end_of_the_extended_list_shows_that_something_is_missing(
    header: int, next_found: bool | None
) -> None:
    data = changed(pci_space(express(), extended=(acs(on=0x0C),)), 0x100, header.to_bytes(4, "little"))
    data = data[:4090]  # 0xffc lies in it only in part
    config, _ = decoded(data)
    assert (config.acs_on, config.ats) == (("request_redirect", "completion_redirect"), next_found)


def test_ones_in_the_extended_part_are_no_capability() -> None:
    config, gaps = decoded(changed(GPU, 0x100, b"\xff" * 3840))
    assert (config.relaxed_ordering, config.acs, gaps[f"{PATH}/acs"]) == (True, None, "unsupported")


def test_a_capability_cut_in_the_middle_is_unknown() -> None:
    config, gaps = decoded(pci_space(express(), extended=(acs(), ats(enabled=True)), size=0x108))
    assert (config.acs, config.ats, gaps[f"{PATH}/ats"]) == (True, None, "unsupported")


@pytest.mark.parametrize(
    ("bar", "expected"),
    [((1, 0, 8), (1, 1 << 28, None)), ((0, 0b111, 63), (0, None, 1 << 22))],
    ids=["offers none", "no such size"],
)
def test_bars_that_tell_little(bar: tuple[int, int, int], expected: tuple[int, int | None, int | None]) -> None:
    config, _ = decoded(pci_space(express(), extended=(resizable_bars(bar),)))
    assert config.resizable_bars is not None
    (found,) = config.resizable_bars
    assert (found.number, found.size_bytes, found.largest_bytes) == expected


def test_a_bar_that_cannot_be_makes_them_unknown() -> None:
    config, gaps = decoded(pci_space(express(), extended=(resizable_bars((7, 1, 1)),)))
    assert (config.resizable_bars, gaps[f"{PATH}/resizable_bars"]) == (None, "unsupported")


def test_serial_numbers_are_blanked_and_the_facts_stay() -> None:
    secret = pci_space(
        (VITAL_PRODUCT_DATA, b"\x04\x80SN12"),
        (VENDOR_SPECIFIC, b"\x10MYSECRETCARD"),
        express(relaxed=True, can_payload=2),
        extended=(serial(), acs(on=0x1D), (0x0B, b"0123456789abcdef"), ats(enabled=True)),
    )
    safe = without_serials(secret)
    assert len(safe) == len(secret)
    for hidden in (SERIAL_BYTES, b"SN12", b"MYSECRETCARD", b"0123456789abcdef"):
        assert hidden in secret
        assert hidden not in safe
    assert decoded(safe) == decoded(secret)
    assert without_serials(safe) == safe


SPACES = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda head, rest: GPU[:head] + rest, st.integers(0, 512), st.binary(max_size=600)),
    st.builds(changed, st.sampled_from([GPU, PORT]), st.integers(0, 0x160), st.binary(min_size=1, max_size=6)),
)


@settings(deadline=None, max_examples=300)
@given(SPACES)
def test_no_bytes_break_it_and_redaction_changes_no_fact(data: bytes) -> None:
    space = parse_space(data)
    safe = parse_space(without_serials(data))
    assert (safe.answers, safe.unlisted, safe.unextended) == (space.answers, space.unlisted, space.unextended)
    assert decode_config(safe, PATH) == decode_config(space, PATH)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 4096))
def test_a_shorter_answer_never_says_more_or_otherwise(length: int) -> None:
    whole, part = decoded(GPU)[0], decoded(GPU[:length])[0]
    for name in set(Config.model_fields) - {"origin", "origins"}:
        assert getattr(part, name) in (None, getattr(whole, name)), name


def test_a_capture_in_a_folder_or_tar_keeps_the_bytes(tmp_path: Path) -> None:
    source = write_capture(tmp_path / "node", {PATH: GPU, f"{FOLDER}/class": "0x030200", f"{FOLDER}/vendor": "0x10de"})
    recorder = Recorder.of(source)
    first = read(recorder)
    for name in ("plain", "plain.tar.gz"):
        save_capture(recorder, tmp_path / name)
        assert open_root(str(tmp_path / name)).data(PATH) == GPU
    safe = redacted(recorder, (), b"k" * 32)
    save_capture(safe, tmp_path / "safe.tar")
    told = open_root(str(tmp_path / "safe.tar"))
    assert SERIAL_BYTES not in (tmp_path / "safe.tar").read_bytes()
    assert read(told) == first
