"""limits.conf and limits.d as pam_limits reads them."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes.pam_limits import PamLimits, kind_of, parse_limits, parse_service, read
from tests.trees import write_capture, write_link, write_tree

CONF = "/etc/security/limits.conf"
SHARED = Path("../shared/hosts/insights-core/limits_conf/LIMITS_CONF.txt")


def said(limits: PamLimits) -> list[tuple[str | None, str, tuple[str, ...], str]]:
    return [(line.domain, line.item, line.counts_for, f"{line.path}:{line.line}") for line in limits.lines or ()]


def test_limits_d_is_read_behind_limits_conf_in_the_order_of_bytes(tmp_path: Path) -> None:
    files = {
        CONF: "* soft memlock 64\n* hard memlock 64\n@hpc - memlock unlimited\n",
        "/etc/security/limits.d/Z.conf": "* soft memlock 128\n",
        "/etc/security/limits.d/a.conf": "* - memlock unlimited\n",
        "/etc/security/limits.d/b.conf.bak": "* - memlock 1\n",
    }
    assert said(read(write_tree(tmp_path, files))) == [
        ("*", "memlock", (), f"{CONF}:1"),
        ("*", "memlock", (), f"{CONF}:2"),
        ("@hpc", "memlock", ("soft", "hard"), f"{CONF}:3"),
        ("*", "memlock", (), "/etc/security/limits.d/Z.conf:1"),
        ("*", "memlock", ("soft", "hard"), "/etc/security/limits.d/a.conf:1"),
    ]


def test_a_later_soft_limit_leaves_the_hard_one_of_a_dash_in_force(tmp_path: Path) -> None:
    limits = read(write_tree(tmp_path, {CONF: "* - nofile 4096\n* soft nofile 1024\n"}))
    assert [line.counts_for for line in limits.lines or ()] == [("hard",), ("soft",)]


@pytest.mark.parametrize(
    ("line", "unlimited", "number"),
    [
        ("* - memlock unlimited", True, None),
        ("* - memlock INFINITY # all", True, None),
        ("* - memlock -1", True, None),
        ("*\tsoft\tmemlock\t64", False, 65536),
        ("* soft memlock 9007199254740992", True, None),
        ("* soft nofile 1048576", False, 1048576),
        ("* soft nofile 1048576 files", False, 1048576),
        ("* hard nice -5", False, -5),
        ("* SOFT NPROC 99999999999999999999", False, 99999999999999999999),
    ],
)
def test_values_are_read_in_their_units(line: str, unlimited: bool, number: int | None) -> None:
    ((limit,), _, _) = parse_limits(line, CONF)
    assert (limit.unlimited, limit.number) == (unlimited, number)


@pytest.mark.parametrize(
    "line",
    [
        "* soft memlock",
        "* soft memlock lots",
        "* both memlock 64",
        "* soft memlok 64",
        "x:y soft memlock 64",
        "% soft memlock 64",
        "* soft nice unlimited",
        "\x1b[31m",
        "lonely",
        "* soft memlock \u0665",
    ],
)
def test_a_line_that_pam_limits_skips_is_listed_and_sets_nothing(line: str) -> None:
    assert parse_limits(f"# one\n{line}\n", CONF) == ([], [], [f"{CONF}:2"])


def test_a_dash_alone_lifts_all_limits_of_somebody() -> None:
    assert parse_limits("guest -\n", CONF) == ([], [f"{CONF}:1"], [])


@pytest.mark.parametrize(
    ("domain", "kind"),
    [
        ("*", "everyone"),
        ("root", "user"),
        ("@hpc", "group"),
        ("%", "logins"),
        ("%hpc", "logins"),
        ("1000:", "uids"),
        (":123", "uids"),
        ("@500:600", "gids"),
        ("a:b", None),
        (":", None),
    ],
)
def test_whom_a_line_is_for(domain: str, kind: str | None) -> None:
    assert kind_of(domain) == kind


def test_names_of_people_stay_out_of_committed_files(tmp_path: Path) -> None:
    limits = read(write_tree(tmp_path, {CONF: "jdoe - nofile 4096\nroot - nofile 8192\n"}))
    text = committed_json(Snapshot(Source(kind="tree"), {"pam_limits": limits}, {}))
    assert "jdoe" not in text
    assert [line.root for line in limits.lines or ()] == [False, True]


@pytest.mark.parametrize(
    ("text", "line", "conf"),
    [
        ("session    required   pam_limits.so\n", 1, None),
        ("#%PAM-1.0\n-session [success=ok default=die] /lib/security/pam_limits.so conf=/etc/x\n", 2, "/etc/x"),
        ("# session required pam_limits.so\nauth x pam_limits.so\nsession required pam_limits.so.old", None, None),
    ],
    ids=["as Debian has it", "with another file", "none"],
)
def test_whether_a_service_takes_the_limits(text: str, line: int | None, conf: str | None) -> None:
    service = parse_service(text, "sshd")
    assert (service.line if service else None, service.conf if service else None) == (line, conf)


def test_what_is_not_there_is_empty_in_a_capture_and_unknown_in_a_tree(tmp_path: Path) -> None:
    captured = write_capture(tmp_path / "a", {})
    assert read(captured).lines == ()
    host = write_tree(tmp_path / "b", {"/etc/hostname": "x"})
    limits = read(host)
    assert (limits.lines, limits.services) == (None, None)
    assert host.gaps[evidence_path(limits, "lines")] == "not captured"


def test_a_masked_file_and_a_link_out_of_the_root_say_nothing(tmp_path: Path) -> None:
    host = write_tree(tmp_path / "root", {CONF: ""})
    (tmp_path / "outside.conf").write_text("* - nofile 1\n")
    write_link(tmp_path / "root", "/etc/security/limits.d/a.conf", "/dev/null")
    write_link(tmp_path / "root", "/etc/security/limits.d/b.conf", "../../../../outside.conf")
    assert read(host).lines == ()


def test_endless_lines_cost_nothing_and_say_nothing() -> None:
    lines, exempt, skipped = parse_limits("*" * (1 << 20) + "\n" + "a " * (1 << 19) + "\n* - nofile 5\n", CONF)
    assert [line.line for line in lines] == [3]
    assert (exempt, skipped) == ([], [f"{CONF}:1", f"{CONF}:2"])


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="needs the captured machines beside the checkout")
def test_a_real_file_of_two_users() -> None:
    lines, _, skipped = parse_limits(SHARED.read_text(), CONF)
    numbers = [(line.domain, line.item, line.type, line.number) for line in lines]
    assert numbers == [
        ("oracle", "nofile", "soft", 1024),
        ("oracle", "nofile", "hard", 65536),
        ("oracle", "stack", "soft", 10240 * 1024),
        ("oracle", "stack", "hard", 3276 * 1024),
        ("root", "nproc", "soft", None),
    ]
    assert skipped == []
