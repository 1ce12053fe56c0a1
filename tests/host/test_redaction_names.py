"""Names of the host inside of other names, and of devices named after their address: one token wherever they stand."""

from pathlib import Path

import pytest

from advisor.discover import units
from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.host.recording import Recorder
from advisor.host.redaction import known_names, redacted
from advisor.host.redaction_printed import printed
from advisor.host.redaction_words import Words
from advisor.host.saving import save_capture
from advisor.host.tokens import Tokens
from advisor.model.snapshot import Snapshot, committed_json
from advisor.probes._run import run_probes
from tests.trees import write_capture

KEY = b"0" * 32


def recorded(host: Host) -> tuple[Recorder, Snapshot]:
    recorder = Recorder.of(host)
    snapshot, defects = run_probes(recorder, units("probes"))
    assert defects == ()
    return recorder, snapshot


@pytest.mark.parametrize(
    ("name", "group"),
    [("node1", "rhel_node1"), ("gpu-quokka17", "rhel_gpu--quokka17"), ("quokka17", "rhel_quokka17")],
    ids=["a word of the kernel", "a name with a dash", "a name of its own"],
)
def test_the_hosts_name_within_a_name_of_device_mapper(name: str, group: str, tmp_path: Path) -> None:
    files = {
        "/proc/sys/kernel/hostname": f"{name}\n",
        "/sys/devices/system/node/node1/cpulist": "0-3\n",
        "/sys/block/dm-0/dm/name": f"{group}-root\n",
        "/etc/fstab": f"/dev/mapper/{group}-root / xfs defaults 0 0\n",
        "/proc/self/mountinfo": f"22 1 0:21 / / rw - xfs /dev/mapper/{group}-root rw\n",
    }
    host = write_capture(tmp_path / "node", files)
    recorder, raw = recorded(host)
    save_capture(redacted(recorder, known_names(host), KEY), tmp_path / "safe")
    _, safe = recorded(open_root(str(tmp_path / "safe")))
    kept = "".join(path.read_text() for path in sorted((tmp_path / "safe").rglob("*")) if path.is_file())
    assert group not in kept
    assert group not in committed_json(raw)
    assert committed_json(safe) == committed_json(raw)
    assert (tmp_path / "safe/fs/sys/devices/system/node/node1").is_dir()


def test_a_serial_number_goes_wherever_it_is_printed() -> None:
    words = Words.of(Tokens(KEY), {}, ())
    text = "Segment 0  : Present (0,0) 3LQ1WEH4\n   Serial number   : 3LQ1WEH4\n   Serial: Yes\n   Yes\n"
    assert "3LQ1WEH4" not in printed(words, text)
    assert printed(words, text).endswith("   Yes\n")


@pytest.mark.parametrize("digits", ["001122aabbcc", "00112203aabbccdd"], ids=["MAC", "GUID"])
def test_a_name_made_of_an_address_is_one_token_everywhere(digits: str) -> None:
    words = Words.of(Tokens(KEY), {}, ())
    token = words.forms(f"enx{digits}").removeprefix("enx")
    assert len(token) == len(digits)
    assert token != digits
    kept = (
        "/sys/class/net/enx{}/mtu",
        "/proc/sys/net/ipv4/conf/enx{}/rp_filter",
        "../../devices/pci/net/enx{}",
        "enx{}",
    )
    assert [words.path(text.format(digits)) for text in kept] == [text.format(token) for text in kept]
    lines = (
        " enx{}: 1 2 3\n",
        "98: 0 PCI-MSI enx{}-TxRx-0\n",
        "2: enx{}: <UP>\n",
        "br-enx{}.7\n",
        "ethtool -g enx{}\n",
    )
    assert [printed(words, text.format(digits)) for text in lines] == [text.format(token) for text in lines]


def test_an_interface_named_after_its_address_has_the_token_of_that_address() -> None:
    words = Words.of(Tokens(KEY), {}, ())
    name, address = words.forms("enx001122aabbcc"), words.forms("00:11:22:aa:bb:cc")
    assert name == "enx" + address.replace(":", "")


def test_words_that_only_look_like_such_a_name_stay() -> None:
    words = Words.of(Tokens(KEY), {}, ())
    for text in ("0x001122aabbcc", "indexabcdef", "enx001122aabbc", "enx001122aabbccd", "anenx-001122aabbcc"):
        assert words.forms(text) == text
