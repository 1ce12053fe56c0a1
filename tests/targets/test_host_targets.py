"""sysctl, modprobe and limits: what they accept, see, and refuse on one host, and the files they give."""

from collections.abc import Mapping

import pytest

from advisor.data import template_texts
from advisor.model.facts import GapState
from advisor.model.setting import Reason, Setting, Value
from advisor.model.snapshot import Snapshot, Source
from advisor.planning.context import template_context
from advisor.planning.merge import plan
from advisor.planning.render import render
from advisor.probes.limits import Limits
from advisor.probes.modules import Module, ModuleOption, Modules, Parameter
from advisor.probes.pam_limits import PamLimits, parse_limits
from advisor.probes.sysctl import Sysctl, SysctlLine
from advisor.targets import dataloader, env, limits, modprobe, sysctl
from advisor.targets._base import Seen, SetBy, load_targets

GAPS: Mapping[str, GapState] = {
    "/proc/sys/vm/compaction_proactiveness": "absent",
    "/proc/sys/kernel/numa_balancing": "denied",
}
HOST = Snapshot(
    Source(kind="live"),
    {
        "sysctl": Sysctl(
            origin="/proc/sys",
            vm_swappiness=60,
            vm_max_map_count=65530,
            fs_nr_open=1048576,
            net_ipv4_tcp_rmem=(4096, 131072, 6291456),
            net_ipv4_conf_all_rp_filter=1,
            net_core_default_qdisc="fq_codel",
            configured=(
                SysctlLine(
                    key="net.core.default_qdisc", value="pfifo", path="/usr/lib/sysctl.d/50-default.conf", line=9
                ),
                SysctlLine(
                    key="net.ipv4.conf.*.rp_filter", value="1", path="/etc/sysctl.d/10-net.conf", line=2, pattern=True
                ),
                SysctlLine(key="vm.max_map_count", value="65530", path="/etc/sysctl.d/90-advisor.conf", line=1),
                SysctlLine(key="vm.max_map_count", value="131072", path="/etc/sysctl.conf", line=7),
            ),
        ),
        "modules": Modules(
            modules=(
                Module(
                    name="nvme_core",
                    loaded=True,
                    parameters=(Parameter(name="multipath", value="Y"), Parameter(name="io_timeout", value="30")),
                    accepts=("default_ps_max_latency_us", "io_timeout", "multipath"),
                ),
                Module(name="nvidia", loaded=True, parameters=None, accepts=None),
            ),
            options=(
                ModuleOption(
                    module="nvme_core", parameter="io_timeout", value="60", path="/etc/modprobe.d/site.conf", line=3
                ),
                ModuleOption(
                    module="nvme_core", parameter="multipath", value="N", path="/lib/modprobe.d/50-dist.conf", line=1
                ),
            ),
        ),
        "limits": Limits(
            nofile_soft=1024,
            nofile_hard=524288,
            memlock_unlimited=False,
            memlock_soft_bytes=8 * 1024 * 1024,
            memlock_hard_unlimited=True,
        ),
    },
    GAPS,
)
NOTHING = Snapshot(Source(kind="tree"), {}, {})


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("vm.swappiness", Seen("60", "/proc/sys/vm/swappiness")),
        ("net.ipv4.tcp_rmem", Seen("4096 131072 6291456", "/proc/sys/net/ipv4/tcp_rmem")),
        ("vm.compaction_proactiveness", Seen(None, "/proc/sys/vm/compaction_proactiveness", "absent")),
        ("kernel.numa_balancing", Seen(None, "/proc/sys/kernel/numa_balancing", "denied")),
        ("kernel.no_fact", Seen(None, "/proc/sys/kernel/no_fact", "not read")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_sysctl_is_seen_with_its_file(key: str, expected: Seen) -> None:
    assert sysctl.seen(HOST, key) == expected


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("vm.swappiness", None),
        ("vm.compaction_proactiveness", "this kernel has no vm.compaction_proactiveness: there is no /proc/sys/vm/"),
        ("kernel.numa_balancing", "not known whether this kernel has kernel.numa_balancing (/proc/sys/"),
        ("kernel.no_fact", "not known whether this kernel has kernel.no_fact"),
    ],
)
def test_a_sysctl_that_is_not_proven_to_be_there_is_not_taken(key: str, why: str | None) -> None:
    told = sysctl.cannot_take(HOST, key, 1)
    assert told is None if why is None else told is not None and why in told
    assert sysctl.cannot_take(NOTHING, key, 1) is not None


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("vm.swappiness", ()),
        ("net.core.default_qdisc", ()),
        ("net.ipv4.conf.all.rp_filter", (SetBy("1", "/etc/sysctl.d/10-net.conf", 2),)),
        (
            "vm.max_map_count",
            (SetBy("65530", "/etc/sysctl.d/90-advisor.conf", 1), SetBy("131072", "/etc/sysctl.conf", 7)),
        ),
    ],
    ids=["nobody", "the distribution", "by pattern", "ours and the operator's"],
)
def test_lines_of_the_operators_sysctl_files_are_found(key: str, expected: tuple[SetBy, ...]) -> None:
    assert sysctl.set_by(HOST, key) == expected
    assert [file.ours for file in sysctl.set_by(HOST, key)] == ["90-advisor" in file.path for file in expected]


@pytest.mark.parametrize(
    ("key", "value", "fine"),
    [
        ("vm.swappiness", 10, True),
        ("net.ipv4.tcp_rmem", (4096, 131072, 16777216), True),
        ("net.ipv4.tcp_rmem", "4096\t131072\t16777216", True),
        ("kernel.core_pattern", "|/usr/bin/x %p $(rm)", True),
        ("kernel.sched_autogroup_enabled", False, True),
        ("net.ipv4.conf.*.rp_filter", 1, False),
        ("vm/swappiness", 1, True),
        ("-vm.swappiness", 1, False),
        ("vm.swappiness = 1\nvm.x", 1, False),
        ("swappiness", 1, False),
        ("vm..swappiness", 1, False),
        ("vm.swappiness", "1\nvm.panic_on_oom = 2", False),
        ("vm.swappiness", "\x1b[2J", False),
        ("vm.swappiness", "", False),
        ("vm.swappiness", " ", False),
        ("vm.swappiness", "010", False),
    ],
    ids=repr,
)
def test_a_sysctl_line_can_hold_only_what_is_meant(key: str, value: Value, fine: bool) -> None:
    assert (sysctl.wrong(key, value) is None) == fine


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("nvme_core.multipath", Seen("Y", "/sys/module/nvme_core/parameters/multipath")),
        ("nvidia.NVreg_X", Seen(None, "/sys/module/nvidia/parameters/NVreg_X", "not read")),
        ("ib_core.x", Seen(None, "/sys/module/ib_core/parameters/x", "not read")),
    ],
    ids=["read", "unreadable", "no module"],
)
def test_a_module_parameter_is_seen_with_its_file(key: str, expected: Seen) -> None:
    assert modprobe.seen(HOST, key) == expected


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("nvme_core.default_ps_max_latency_us", None),
        ("nvme_core.log_max_qp", "nvme_core has no parameter log_max_qp here; it accepts default_ps_max_latency_us, "),
        ("nvidia.NVreg_X", "not known which parameters nvidia accepts"),
        ("ib_core.x", "not known which parameters ib_core accepts"),
    ],
)
def test_a_parameter_that_the_module_is_not_proven_to_have_is_not_taken(key: str, why: str | None) -> None:
    told = modprobe.cannot_take(HOST, key, 1)
    assert told is None if why is None else told is not None and why in told


def test_modprobe_lines_of_the_operator_are_found_and_the_distributions_are_not() -> None:
    assert modprobe.set_by(HOST, "nvme_core.io_timeout") == (SetBy("60", "/etc/modprobe.d/site.conf", 3),)
    assert modprobe.set_by(HOST, "nvme_core.multipath") == ()


@pytest.mark.parametrize(
    ("key", "value", "fine"),
    [
        ("nvme_core.multipath", "N", True),
        ("nvme_core.io_timeout", 60, True),
        ("raid456.devices", (1, 2), True),
        ("nvidia.NVreg_RegistryDwords", "RMUseSwI2c=0x01;RMI2cSpeed=100", True),
        ("nvme-core.multipath", "N", False),
        ("nvme_core", "N", False),
        ("nvme_core.a.b", "N", False),
        ("nvme_core.x", "a b", False),
        ("nvme_core.x", '"a"', False),
        ("nvme_core.x", "a\\", False),
        ("nvme_core.x", "a#b", False),
        ("nvme_core.x", "1\ninstall x /bin/sh", False),
        ("nvme_core.x", "", False),
        ("nvme_core.x", "é", False),
    ],
    ids=repr,
)
def test_a_modprobe_line_can_hold_only_what_is_meant(key: str, value: Value, fine: bool) -> None:
    assert (modprobe.wrong(key, value) is None) == fine


@pytest.mark.parametrize(("seen", "value"), [("Y", True), ("Y", 1), ("N", "n"), ("0", False), ("30", 30)], ids=repr)
def test_a_switch_is_the_same_however_it_is_written(seen: str, value: Value) -> None:
    assert modprobe.same("a.b", seen, value)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("*/soft/nofile", "1024"),
        ("root/hard/nofile", "524288"),
        ("*/-/nofile", "1024"),
        ("*/soft/memlock", "8192"),
        ("*/hard/memlock", "unlimited"),
        ("*/soft/stack", None),
        ("*/soft/rtprio", None),
    ],
)
def test_a_limit_is_seen_in_the_unit_of_its_file(key: str, expected: str | None) -> None:
    assert (limits.seen(HOST, key).text, limits.seen(NOTHING, key).text) == (expected, None)


@pytest.mark.parametrize(
    ("key", "value", "fine"),
    [
        ("*/soft/nofile", 65536, True),
        ("@train/-/memlock", "unlimited", True),
        ("root/hard/nproc", "4096", True),
        ("*/soft/nofile", "unlimited", False),
        ("*/soft/nofile", -1, False),
        ("*/soft/nofile", True, False),
        ("*/soft/nofile", "1 # x", False),
        ("*/soft/nofile", 1.5, False),
        ("*/soft/nofile\nroot", 1, False),
        ("* /soft/nofile", 1, False),
        ("*/firm/nofile", 1, False),
        ("*/soft/priority", 1, False),
        ("*/soft", 1, False),
    ],
    ids=repr,
)
def test_a_limits_line_can_hold_only_what_is_meant(key: str, value: Value, fine: bool) -> None:
    assert (limits.wrong(key, value) is None) == fine


@pytest.mark.parametrize(
    ("seen", "value", "expected"),
    [
        ("1024", 65536, 65536),
        ("65536", 1024, 65536),
        ("unlimited", 1024, "unlimited"),
        ("1024", "unlimited", "unlimited"),
    ],
    ids=["raised", "larger", "unlimited", "to unlimited"],
)
def test_a_limit_is_never_lowered(seen: str, value: Value, expected: Value) -> None:
    assert limits.raised("*/soft/memlock", seen, value) == expected


@pytest.mark.parametrize(
    ("key", "value", "taken"),
    [
        ("vm.swappiness", 10, True),
        ("vm.swappiness", "-1", True),
        ("vm.swappiness", "abc", False),
        ("vm.swappiness", "1 2", False),
        ("net.ipv4.tcp_rmem", (4096, 131072, 33554432), True),
        ("net.ipv4.tcp_rmem", "4096", False),
        ("net.core.default_qdisc", "fq", True),
    ],
)
def test_a_sysctl_takes_as_many_numbers_as_it_holds(key: str, value: Value, taken: bool) -> None:
    told = sysctl.cannot_take(HOST, key, value)
    assert (told is None) is taken
    assert taken or "whole number" in str(told)


def test_so_few_open_files_that_nobody_could_log_in_are_refused() -> None:
    assert limits.wrong("*/soft/nofile", 256) is None
    assert "may not start" in str(limits.wrong("*/soft/nofile", "255"))


def test_more_open_files_than_the_kernel_allows_would_lock_everybody_out() -> None:
    assert limits.cannot_take(HOST, "*/hard/nofile", 1048576) is None
    assert "logins would fail" in (limits.cannot_take(HOST, "*/hard/nofile", 1048577) or "")
    assert "logins would fail" in (limits.cannot_take(NOTHING, "*/hard/nofile", 1048577) or "")


@pytest.mark.parametrize(
    ("key", "value", "fine"),
    [
        ("num_workers", 0, True),
        ("prefetch_factor", 1, True),
        ("pin_memory", True, True),
        ("multiprocessing_context", "forkserver", True),
        ("num_workers", True, False),
        ("num_workers", "4", False),
        ("prefetch_factor", 0, False),
        ("batch_size", 0, False),
        ("pin_memory", 1, False),
        ("multiprocessing_context", "thread", False),
        ("collate_fn", "os.system", False),
    ],
    ids=repr,
)
def test_the_loader_takes_only_its_own_arguments(key: str, value: Value, fine: bool) -> None:
    assert (dataloader.wrong(key, value) is None) == fine


@pytest.mark.parametrize(
    ("key", "words", "expected"),
    [
        ("num_workers", "8", 8),
        ("pin_memory", "True", True),
        ("pin_memory", "no", "no"),
        ("num_workers", "-1", "-1"),
        ("num_workers", "²", "²"),
        ("multiprocessing_context", "spawn", "spawn"),
    ],
)
def test_an_operators_words_become_an_argument(key: str, words: str, expected: Value) -> None:
    parsed = dataloader.parsed(key, words)
    assert (parsed, type(parsed)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(16777216.0, "16777216"), (0.5, "0.5"), (True, "1"), ((1, 2), "1 2"), (3, "3"), ("x  y", "x y")],
    ids=repr,
)
def test_a_computed_value_is_written_as_the_kernel_reads_it(value: Value, expected: str) -> None:
    assert sysctl.text("vm.x", value) == expected


@pytest.mark.parametrize(
    ("key", "value", "fine"),
    [("NCCL_IB_HCA", "=mlx5_1", True), ("A", "", True), ("A-B", "1", False), ("Ä", "1", False), ("A", "a\tb", False)],
    ids=repr,
)
def test_a_variable_can_hold_only_what_is_meant(key: str, value: Value, fine: bool) -> None:
    assert (env.wrong(key, value) is None) == fine


def wish(target: str, key: str, value: Value, floor: bool = False, text: str = "helps") -> Setting:
    return Setting(target, key, value, Reason("rule", "area/name", text, ("https://example.org",)), only_raise=floor)


def generated(*settings: Setting, host: Snapshot = HOST) -> Mapping[str, str]:
    targets = load_targets()
    files = render(template_texts(), template_context(plan(settings, host, targets), targets))
    return {path: text for path, text in files.items() if path.startswith("host/")}


def body(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_the_sysctl_file_as_it_is_read() -> None:
    files = generated(
        wish("sysctl", "vm.swappiness", 10), wish("sysctl", "net.ipv4.tcp_rmem", (1, 2, 16777216), floor=True)
    )
    assert list(files) == ["host/etc/sysctl.d/90-advisor.conf"]
    assert (
        files["host/etc/sysctl.d/90-advisor.conf"].partition("\n\n")[2]
        == """\
# rule area/name: helps
# seen: 4096 131072 6291456 in /proc/sys/net/ipv4/tcp_rmem
# risk: low; takes effect: now
# source: https://example.org
net.ipv4.tcp_rmem = 4096 131072 16777216

# rule area/name: helps
# seen: 60 in /proc/sys/vm/swappiness
# risk: low; takes effect: now
# source: https://example.org
vm.swappiness = 10
"""
    )


def test_the_modprobe_file_as_it_is_read() -> None:
    text = generated(wish("modprobe", "nvme_core.multipath", "N"))["host/etc/modprobe.d/90-advisor.conf"]
    assert "# seen: Y in /sys/module/nvme_core/parameters/multipath\n" in text
    assert body(text) == ["options nvme_core multipath=N"]


def test_the_limits_file_as_it_is_read() -> None:
    text = generated(wish("limits", "*/soft/nofile", 65536, floor=True))["host/etc/security/limits.d/90-advisor.conf"]
    assert "# seen: 1024 in /proc/self/limits\n" in text
    assert body(text) == ["* soft nofile 65536"]


def test_a_hostile_reason_or_value_seen_adds_no_line() -> None:
    facts = {**HOST.facts, "sysctl": Sysctl(net_core_default_qdisc="fq\nvm.panic_on_oom = 1\x1b[2J\\")}
    host = Snapshot(HOST.source, facts, {})
    reason = "device \x1b[31m\nnet.ipv4.ip_forward = 1\r\n\\"
    wishes = [
        wish("sysctl", "net.core.default_qdisc", "fq", text=reason),
        wish("modprobe", "nvme_core.multipath", "N", text=reason),
        wish("limits", "*/soft/nofile", 65536, text=reason),
    ]
    texts = generated(*wishes, host=host)
    assert [body(text) for text in texts.values()] == [
        ["options nvme_core multipath=N"],
        ["* soft nofile 65536"],
        ["net.core.default_qdisc = fq"],
    ]
    assert not any(line.endswith("\\") for text in texts.values() for line in text.splitlines())


@pytest.mark.parametrize(
    ("key", "places"),
    [
        ("*/soft/memlock", ["/etc/security/limits.conf:1", "/etc/security/limits.d/90-advisor.conf:2"]),
        ("*/hard/memlock", ["/etc/security/limits.conf:1"]),
        ("*/-/memlock", ["/etc/security/limits.conf:1", "/etc/security/limits.d/90-advisor.conf:2"]),
        ("root/soft/nofile", ["/etc/security/limits.conf:3"]),
        ("@hpc/soft/memlock", []),
    ],
)
def test_lines_of_limits_d_are_found_for_the_same_people(key: str, places: list[str]) -> None:
    first, _, _ = parse_limits("* - memlock 64\n\nroot - nofile 9\n", "/etc/security/limits.conf")
    second, _, _ = parse_limits("#\n* soft memlock -1\n", "/etc/security/limits.d/90-advisor.conf")
    pam = PamLimits(lines=tuple(line.model_copy(update={"domain": None}) for line in [*first, *second]))
    found = limits.set_by(Snapshot(Source(kind="facts"), {"pam_limits": pam}, {}), key)
    assert [file.place() for file in found] == places
    assert [file.text for file in found if file.ours] == ["unlimited"] * len([p for p in places if "90-" in p])
