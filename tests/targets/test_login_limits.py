"""What everyone may have is not what one shell has, which may have lowered its own limits."""

import pytest

from advisor.model.snapshot import Snapshot, Source
from advisor.probes.limits import Limits, ServiceLimits
from advisor.probes.pam_limits import PamLimits, counting, parse_limits
from advisor.targets import limits
from tests.plans import body, generated, wish, withheld

FILE = "host/etc/security/limits.d/90-advisor.conf"
HARD, SOFT = "*/hard/nofile", "*/soft/nofile"


def host(soft: int, hard: int, logins: tuple[int, int] | None = None, program: str = "sshd") -> Snapshot:
    services = ()
    if logins is not None:
        folder = "/sys/fs/cgroup/system.slice/ssh.service"
        services = (ServiceLimits(origin=folder, program=program, nofile_soft=logins[0], nofile_hard=logins[1]),)
    facts = {"limits": Limits(nofile_soft=soft, nofile_hard=hard, memlock_hard_bytes=8388608, services=services)}
    return Snapshot(Source(kind="live"), facts, {})


def written(machine: Snapshot) -> list[str]:
    wishes = (wish("limits", HARD, 65536, floor=True), wish("limits", SOFT, 65536, floor=True))
    return body(generated(*wishes, host=machine)[FILE])


def test_the_hard_limit_of_others_is_not_lowered_to_what_a_shell_has_left() -> None:
    assert written(host(4096, 4096, (1024, 524288))) == ["* soft nofile 65536"]
    assert written(host(4096, 4096)) == ["* soft nofile 65536"]
    assert written(host(4096, 4096, (1, 2), "slurmd")) == ["* soft nofile 65536"]


def test_a_hard_limit_that_logins_have_is_raised() -> None:
    assert written(host(1024, 4096, (1024, 4096))) == ["* hard nofile 65536", "* soft nofile 65536"]


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (host(1024, 4096), "this process may have 4096, and what logins start with is not known"),
        (host(1024, 4096, (1024, 524288)), "ssh.service has 524288"),
    ],
    ids=["unknown", "larger"],
)
def test_it_is_told_why_a_hard_limit_stays(machine: Snapshot, why: str) -> None:
    assert why in withheld(wish("limits", HARD, 65536, floor=True), host=machine)[0]


def test_what_is_for_some_and_what_can_only_be_raised_goes_by_the_process() -> None:
    assert limits.seen(host(1024, 4096), "@train/hard/nofile").text == "4096"
    assert limits.seen(host(1024, 4096), "*/hard/memlock").text == "8192"
    assert limits.seen(host(2048, 4096, (1024, 4096)), SOFT).text == "2048"


def with_lines(text: str, path: str = "/etc/security/limits.conf") -> Snapshot:
    """A host whose process may lock 8 MiB, with these lines of limits.conf."""
    facts = {
        "limits": Limits(memlock_soft_bytes=8 << 20, memlock_hard_bytes=8 << 20, memlock_unlimited=False),
        "pam_limits": PamLimits(lines=counting(parse_limits(text, path)[0])),
    }
    return Snapshot(Source(kind="live"), facts, {})


LOCKED = wish("limits", "*/soft/memlock", "unlimited", floor=True)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (
            "* hard memlock 64000000\n",
            "no soft limit counts above the hard one, which /etc/security/limits.conf:1 sets to 64000000: "
            "change it there, or --set limits:*/soft/memlock=64000000",
        ),
        (
            "* hard memlock 64\n",
            "no soft limit counts above the hard one, which /etc/security/limits.conf:1 sets to 64: change it there",
        ),
    ],
    ids=["larger than now", "smaller than now"],
)
def test_a_soft_limit_that_the_operators_hard_limit_cuts_is_not_written(lines: str, why: str) -> None:
    assert withheld(LOCKED, host=with_lines(lines)) == [why]
    assert withheld(wish("limits", "*/soft/memlock", "64", rank="operator"), host=with_lines(lines)) == []


@pytest.mark.parametrize(
    ("lines", "path"),
    [
        ("* hard memlock unlimited\n", "/etc/security/limits.conf"),
        ("* hard memlock 64\n* hard memlock -1\n", "/etc/security/limits.conf"),
        ("@hpc hard memlock 64\n* hard nofile 64\n", "/etc/security/limits.conf"),
        ("* hard memlock 64\n", "/etc/security/limits.d/90-advisor.conf"),
    ],
    ids=["unlimited", "the last counts", "of others", "ours"],
)
def test_a_hard_limit_that_cuts_nothing_is_no_reason(lines: str, path: str) -> None:
    assert withheld(LOCKED, host=with_lines(lines, path)) == []


def test_the_file_says_that_it_counts_in_another_unit_than_what_was_seen() -> None:
    text = generated(LOCKED, host=with_lines(""))[FILE]
    assert "# seen: 8192 in /proc/self/limits (in KiB, as limits.d has it; the file has bytes)\n" in text
    assert limits.seen(host(1024, 4096), SOFT).note == ""
