"""Drop-ins for services that are there, and what systemd itself makes of them."""

import shutil
from pathlib import Path

import pytest

from advisor.model.setting import Value
from advisor.model.snapshot import Snapshot, Source
from advisor.probes._unit_files import UnitLine
from advisor.probes.systemd import Service, Systemd
from advisor.targets import unit
from tests.plans import HOSTILE, UNSEEN, body, generated, needed, planned, ran, wish, withheld

FILE = "host/etc/systemd/system/{}.d/90-advisor.conf"


def row(key: str, value: str, path: str, counts: bool = True) -> UnitLine:
    return UnitLine(section="Service", key=key, value=value, path=path, line=7, counts=counts)


def service(name: str, *settings: UnitLine, masked: bool = False) -> Service:
    return Service(name=name, path=f"/usr/lib/systemd/system/{name}", masked=masked, settings=settings)


SERVICES = (
    service("slurmd.service", row("LimitMEMLOCK", "8M", "/usr/lib/systemd/system/slurmd.service")),
    service("containerd.service", row("LimitMEMLOCK", "1M:2G", "/etc/systemd/system/containerd.service.d/9.conf")),
    service("kubelet.service", row("LimitNOFILE", "infinity", "/usr/lib/systemd/system/kubelet.service")),
    service("docker.service", masked=True),
    service("user@.service"),
)
HOST = Snapshot(
    Source(kind="live"),
    {"systemd": Systemd(services=SERVICES, manager=(row("DefaultLimitNOFILE", "4096", "/etc/systemd/system.conf"),))},
    {},
)


def test_each_service_gets_a_file_of_its_own_with_the_reasons() -> None:
    files = generated(
        wish("unit", "slurmd.service/LimitMEMLOCK", "infinity"),
        wish("unit", "slurmd.service/LimitNOFILE", 65536),
        wish("unit", "user@.service/LimitMEMLOCK", "64G"),
        host=HOST,
    )
    assert {path: body(text) for path, text in files.items()} == {
        FILE.format("slurmd.service"): ["[Service]", "LimitMEMLOCK=infinity", "LimitNOFILE=65536"],
        FILE.format("user@.service"): ["[Service]", "LimitMEMLOCK=64G"],
    }
    text = files[FILE.format("slurmd.service")]
    assert "# rule area/name: helps\n# seen: 8M in /usr/lib/systemd/system/slurmd.service\n" in text
    assert "# seen: 4096 in /etc/systemd/system.conf\n" in text


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        (
            "containerd.service/LimitMEMLOCK",
            "infinity",
            "set to 1M:2G by /etc/systemd/system/",
        ),
        ("docker.service/LimitMEMLOCK", "infinity", "docker.service is masked"),
        ("crio.service/LimitMEMLOCK", "infinity", "this host has no crio.service"),
        ("kubelet.service/LimitNOFILE", 65536, "already so"),
        ("kubelet.service/LimitMEMLOCK", "infinity", "must not be lowered"),
    ],
)
def test_what_stands_or_is_not_there_is_left_alone(key: str, value: Value, why: str) -> None:
    assert why in withheld(wish("unit", key, value, floor=True), host=HOST)[0]


def test_without_facts_of_services_nothing_is_written() -> None:
    assert (
        "it is not known whether this host has" in withheld(wish("unit", "slurmd.service/LimitMEMLOCK", "infinity"))[0]
    )


@pytest.mark.parametrize(
    ("seen", "value", "expected"),
    [
        ("8M", "infinity", "infinity"),
        ("infinity", 65536, "infinity"),
        ("1024:524288", "infinity", "infinity"),
        ("1G", "512M", "1G"),
        ("1024K", "1M", "1024K"),
        ("1024:524288", 65536, None),
        ("%i", 65536, None),
    ],
)
def test_a_floor_lowers_neither_half(seen: str, value: Value, expected: Value | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match=r"compared|below"):
            unit.raised("a.service/LimitMEMLOCK", seen, value)
    else:
        assert unit.raised("a.service/LimitMEMLOCK", seen, value) == expected


@pytest.mark.parametrize(
    ("key", "value", "fine"),
    [
        ("slurmd.service/LimitMEMLOCK", "infinity", True),
        ("slurmd.service/LimitMEMLOCK", "64G", True),
        ("slurmd.service/LimitNOFILE", "64K", False),
        ("slurmd.service/LimitNOFILE", 16, False),
        ("slurmd.service/LimitNOFILE", True, False),
        ("slurmd.service/ExecStart", "1", False),
        ("slurmd/LimitNOFILE", 65536, False),
        ("../x.service/LimitNOFILE", 65536, False),
        (".service/LimitNOFILE", 65536, False),
        ("a b.service/LimitNOFILE", 65536, False),
        ("slurmd.service/LimitMEMLOCK", "%i", False),
        ("slurmd.service/LimitMEMLOCK", "1:2", False),
    ],
)
def test_a_drop_in_can_hold_only_what_is_meant(key: str, value: Value, fine: bool) -> None:
    assert (unit.wrong(key, value) is None) == fine


@pytest.mark.parametrize("text", [*HOSTILE, *UNSEEN], ids=ascii)
def test_no_text_gets_into_a_drop_in(text: str) -> None:
    assert unit.wrong(f"{text}.service/LimitNOFILE", 65536) is not None
    assert unit.wrong("a.service/LimitMEMLOCK", text) is not None


def test_systemd_takes_every_setting(tmp_path: Path) -> None:
    needed("systemd-analyze")
    name = "slurmd.service"
    wishes = [wish("unit", f"{name}/{key}", 65536) for key in (*unit._SIZES, *unit._COUNTS) if key != "LimitRTPRIO"]
    wishes += [wish("unit", f"{name}/LimitRTPRIO", 50)]
    shutil.copyfile("/bin/true", tmp_path / "true")
    (tmp_path / name).write_text("[Service]\nExecStart=/bin/true\n")
    drop_in = tmp_path / f"{name}.d" / "90-advisor.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(generated(*wishes, host=HOST)[FILE.format(name)])
    assert len(planned(*wishes, host=HOST).of("unit")) == 7
    done = ran(["systemd-analyze", "verify", "--man=no", tmp_path / name])
    assert [line for line in done.stderr.splitlines() if "90-advisor" in line] == []
    drop_in.write_text("[Service]\nLimitMEMLOCK=much\n")  # so that it is known to look
    done = ran(["systemd-analyze", "verify", "--man=no", tmp_path / name])
    assert "90-advisor.conf:2" in done.stderr
