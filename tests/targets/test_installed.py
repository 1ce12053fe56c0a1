"""Every file that is generated for a host is read back by its target, and only what it writes is."""

from collections.abc import Mapping

import pytest

from advisor.data import template_texts
from advisor.model.setting import Value
from advisor.model.snapshot import Snapshot, Source
from advisor.planning.generated import GeneratedFile
from advisor.planning.render import SUFFIX
from advisor.planning.verify import HostFile, standings
from advisor.probes._unit_files import UnitLine
from advisor.probes.block import Block, BlockDevice
from advisor.probes.limits import Limits, ServiceLimits
from advisor.probes.nvidia import Nvidia, Parameters
from advisor.probes.sysctl import Sysctl
from advisor.probes.systemd import Service, Systemd
from advisor.targets import modprobe, udev, unit
from advisor.targets._base import Seen
from advisor.targets._installed import LiveFile, is_at, load_installed, target_of
from tests.plans import generated, wish
from tests.targets.test_udev import FILE, host

TARGETS = load_installed()
UNIT = "/etc/systemd/system/slurmd.service.d/90-advisor.conf"
HOST = Snapshot(
    Source(kind="live"),
    {
        **host().facts,
        "sysctl": Sysctl(vm_swappiness=60, net_ipv4_tcp_rmem=(1, 2, 3)),
        "systemd": Systemd(services=(Service(name="slurmd.service", path="/usr/lib/systemd/system/slurmd.service"),)),
    },
    {},
)


@pytest.mark.parametrize(
    ("target", "key", "value", "read_back"),
    [
        ("sysctl", "vm.swappiness", 10, ("vm.swappiness", "10")),
        ("sysctl", "net.ipv4.tcp_rmem", (4096, 131072, 9), ("net.ipv4.tcp_rmem", "4096 131072 9")),
        ("limits", "*/soft/nofile", 65536, ("*/soft/nofile", "65536")),
        ("limits", "@train/-/memlock", "unlimited", ("@train/-/memlock", "unlimited")),
        ("unit", "slurmd.service/LimitMEMLOCK", "infinity", ("slurmd.service/LimitMEMLOCK", "infinity")),
        ("udev", "nvme/scheduler", "none", ("nvme/scheduler", "none")),
        ("udev", "dm-3/read_ahead_kb", 4096, ("dm:vg0-data_set/read_ahead_kb", "4096")),
        ("udev", "nvme0n1/read_ahead_kb", 4096, ("0000:3b:00.0/read_ahead_kb", "4096")),
        ("udev", "md127/read_ahead_kb", 4096, ("md127/read_ahead_kb", "4096")),
        ("udev", "nfs/read_ahead_kb", 15360, ("nfs/read_ahead_kb", "15360")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_generated_line_is_read_back(target: str, key: str, value: Value, read_back: tuple[str, str]) -> None:
    files = {path: text for path, text in generated(wish(target, key, value), host=HOST).items() if "host/" in path}
    ((path, text),) = files.items()
    installed = path.removeprefix("host")
    assert target_of(installed, TARGETS) == target
    (line,) = TARGETS[target].lines(text, installed)
    assert (line.key, line.text) == read_back
    assert text.splitlines()[line.number - 1].endswith(("10", '"', line.text))
    assert line.comments[0] == "rule area/name: helps"
    assert line.risk == "low"


def test_every_template_for_the_host_has_a_target_that_installs_it() -> None:
    names = [name.removeprefix("host").removesuffix(SUFFIX) for name in template_texts() if name.startswith("host/")]
    paths = [name.replace("[unit]", "slurmd.service") for name in names]
    assert [path for path in paths if target_of(path, TARGETS) is None] == []


def test_a_star_in_a_place_covers_no_folder() -> None:
    assert is_at("/a/x.d/c", "/a/*.d/c")
    assert not is_at("/a/x.d/y.d/c", "/a/*.d/c")
    assert not is_at("/a/x.d/c/", "/a/*.d/c")


@pytest.mark.parametrize(
    "rule",
    [
        'ACTION=="add", RUN+="/bin/sh"',
        'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", KERNEL=="nvme[0-9]*n[0-9]*", '
        'ATTR{queue/scheduler}="none", RUN+="/bin/sh"',
        'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", KERNEL=="*", ATTR{queue/scheduler}="none"',
        'ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="nvme[0-9]*n[0-9]*", ATTR{queue/scheduler}="none"',
        'ACTION=="add", SUBSYSTEM=="bdi", PROGRAM=="/bin/evil", ATTR{read_ahead_kb}=="?", ATTR{read_ahead_kb}="10"',
        'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", KERNEL=="md0", ATTR{queue/nr_requests}="1"',
    ],
    ids=["run", "run behind", "any device", "partitions", "another program", "another attribute"],
)
def test_a_rule_that_is_not_word_for_word_ours_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        udev.lines(f"{rule}\n", udev.PLACES[0])


@pytest.mark.parametrize(
    "text",
    [
        "[Service]\nExecStartPre=/bin/sh\n",
        "LimitNOFILE=65536\n",
        "[Unit]\nLimitNOFILE=65536\n",
        "[Service]\nLimitNOFILE=65536\n[Service]\n",
        "[Service]\nLimitNOFILE=\n",
        "[Service]\nLimitNOFILE = 65536\n",
    ],
    ids=["program", "no section", "another section", "twice", "empty", "blanks"],
)
def test_a_drop_in_that_holds_more_than_limits_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"line \d"):
        unit.lines(text, UNIT)


def judged(*rules: tuple[str, str]) -> list[str]:
    text = generated(wish("udev", "nvme/scheduler", "none"), host=HOST)[FILE]
    found = udev.winners(host((udev.PLACES[0], text), *rules), "nvme/scheduler", "none")
    return [one.place().partition(":")[0] for one in found or ()]


def test_rules_behind_ours_may_have_the_last_word() -> None:
    later = ("/etc/udev/rules.d/99.rules", 'KERNEL=="nvme*", ATTR{queue/scheduler}="kyber"')
    other = ("/etc/udev/rules.d/99.rules", 'KERNEL=="sd*", ATTR{queue/scheduler}="kyber"')
    assert judged(later) == [udev.PLACES[0], later[0]]
    assert judged(other) == [udev.PLACES[0]]


def live(facts: Snapshot, *wishes: tuple[str, str, Value]) -> tuple[LiveFile, ...]:
    texts: Mapping[str, str] = generated(*(wish(*one) for one in wishes), host=facts)
    (target,) = {one[0] for one in wishes}
    path, text = next((path.removeprefix("host"), text) for path, text in texts.items() if path.startswith("host/"))
    return TARGETS[target].live(facts, TARGETS[target].lines(text, path))


def test_a_parameter_of_the_kernel_counts_at_once_and_knows_its_twin() -> None:
    facts = Snapshot(Source(kind="live"), {"sysctl": Sysctl(vm_dirty_bytes=0, vm_swappiness=60)}, {})
    found = live(facts, ("sysctl", "vm.dirty_bytes", 8192), ("sysctl", "vm.swappiness", 10))
    assert found == (
        LiveFile("sysctl:vm.dirty_bytes", "/proc/sys/vm/dirty_bytes", "8192", "/proc/sys/vm/dirty_ratio"),
        LiveFile("sysctl:vm.swappiness", "/proc/sys/vm/swappiness", "10"),
    )


def test_disks_that_have_less_are_set_at_once() -> None:
    found = live(HOST, ("udev", "nvme/scheduler", "none"), ("udev", "nvme/read_ahead_kb", 4096))
    assert [(one.path, one.text) for one in found] == [
        ("/sys/block/nvme0n1/queue/read_ahead_kb", "4096"),
        ("/sys/block/nvme0n1/queue/scheduler", "none"),
    ]


def test_what_a_running_service_or_mount_has_stays() -> None:
    assert live(HOST, ("unit", "slurmd.service/LimitMEMLOCK", "infinity")) == ()
    assert live(HOST, ("udev", "nfs/read_ahead_kb", 15360)) == ()


def test_read_ahead_that_is_larger_is_no_drift() -> None:
    facts = Snapshot(
        Source(kind="live"),
        {
            "block": Block(devices=(BlockDevice(name="md0", kind="md", read_ahead_bytes=8192 * 1024),)),
        },
        {},
    )
    seen = udev.seen(facts, "md0/read_ahead_kb").text
    assert seen is not None
    assert udev.fulfilled("md0/read_ahead_kb", seen, "4096")
    assert not udev.fulfilled("md0/read_ahead_kb", seen, "16384")
    assert not udev.fulfilled("md0/read_ahead_kb", "128, 8192", "4096")


def running(**limits: object) -> Snapshot:
    mine = ServiceLimits.model_validate({"origin": "/proc/7/limits", "program": "slurmd", **limits})
    return Snapshot(Source(kind="live"), {**HOST.facts, "limits": Limits(services=(mine,))}, {})


@pytest.mark.parametrize(
    ("limits", "setting", "seen"),
    [
        ({"memlock_soft_bytes": 8388608, "memlock_hard_bytes": 8388608}, "LimitMEMLOCK", "8388608"),
        ({"nofile_soft": 1024, "nofile_hard": 524288}, "LimitNOFILE", "1024:524288"),
        ({"memlock_unlimited": True, "memlock_hard_unlimited": True}, "LimitMEMLOCK", "infinity"),
        ({"nofile_soft": 1024}, "LimitNOFILE", None),
        ({}, "TasksMax", None),
    ],
    ids=["bytes", "halves", "unlimited", "half known", "no limit of a process"],
)
def test_a_service_runs_with_what_it_had_when_it_started(
    limits: Mapping[str, object], setting: str, seen: str | None
) -> None:
    found = unit.in_force(running(**limits), f"slurmd.service/{setting}")
    assert found == (None if seen is None else Seen(seen, "/proc/7/limits"))
    assert unit.in_force(running(**limits), f"containerd.service/{setting}") is None


def test_a_service_that_was_not_restarted_differs() -> None:
    rules = f"[Service]\nLimitMEMLOCK={unit.INFINITY}\n"
    (line,) = unit.lines(rules, UNIT)
    own = UnitLine(section="Service", key="LimitMEMLOCK", value="infinity", path=UNIT, line=2)
    service = Service(name="slurmd.service", path="/usr/lib/systemd/system/slurmd.service", settings=(own,))
    found = []
    for limits in ({"memlock_soft_bytes": 64, "memlock_hard_bytes": 64}, {"memlock_unlimited": True}, {}):
        host = running(**limits)
        facts = Snapshot(host.source, {**host.facts, "systemd": Systemd(services=(service,))}, {})
        generated = [GeneratedFile(UNIT, rules, "unit", (line,))]
        found += standings(generated, {UNIT: HostFile(UNIT, rules)}, facts, TARGETS)
    assert [(one.state, one.path) for one in found] == [
        ("differs", "/proc/7/limits"),
        ("applied", f"{UNIT}:2"),
        ("applied", f"{UNIT}:2"),
    ]
    assert "when the service starts anew" in found[0].note


@pytest.mark.parametrize(
    ("key", "seen"),
    [
        ("nvidia.NVreg_EnableResizableBar", Seen("1", "/proc/driver/nvidia/params")),
        ("nvidia.NVreg_RestrictProfilingToAdminUsers", Seen("0", "/proc/driver/nvidia/params")),
        ("nvidia.NVreg_RegistryDwords", Seen("a=1", "/proc/driver/nvidia/params")),
        ("nvidia.NVreg_Unknown", None),
        ("nvidia.EnableResizableBar", None),
        ("nvidia_uvm.NVreg_EnableResizableBar", None),
    ],
)
def test_parameters_that_nvidia_hides_are_seen_where_it_tells_them(key: str, seen: Seen | None) -> None:
    parameters = Parameters(resizable_bar=True, profiling_needs_root=False, registry_dwords="a=1")
    found = modprobe.seen(Snapshot(Source(kind="live"), {"nvidia": Nvidia(parameters=parameters)}, {}), key)
    assert found == seen if seen is not None else found.text is None
