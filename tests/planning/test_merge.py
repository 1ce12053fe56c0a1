"""Rank, conflicts, floors, and what is withheld, with a target whose host is a dictionary."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from advisor.errors import ConflictError, InputError
from advisor.model.setting import Plan, Rank, Reason, Scope, Setting, Value
from advisor.model.snapshot import Snapshot, Source
from advisor.planning.merge import plan, raise_conflicts
from advisor.planning.requests import requested
from advisor.probes.platform import Platform
from advisor.targets._base import Seen, SetBy, Target, load_targets
from advisor.targets._values import plain, raised_numbers

HOST = Snapshot(Source(kind="live"), {}, {})


@dataclass
class Board(Target):
    """A target with known present values and configuration files."""

    SCOPE: Scope = "host"
    values: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, tuple[SetBy, ...]] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()

    def wrong(self, key: str, value: Value) -> str | None:
        return "it is bad" if value == "bad" else None

    def text(self, key: str, value: Value) -> str:
        return plain(value)

    def parsed(self, key: str, words: str) -> Value:
        return words

    def seen(self, snapshot: Snapshot, key: str) -> Seen:
        return Seen(self.values.get(key), f"/board/{key}", "" if key in self.values else "denied")

    def cannot_take(self, snapshot: Snapshot, key: str, value: Value) -> str | None:
        return f"the host has no {key}" if key in self.lacks else None

    def set_by(self, snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
        return self.files.get(key, ())

    def same(self, key: str, seen: str, value: Value) -> bool:
        return seen == plain(value)

    def raised(self, key: str, seen: str, value: Value) -> Value:
        return raised_numbers(seen, plain(value))


def wish(value: Value, by: str = "a/b", rank: Rank = "rule", key: str = "k", floor: bool = False) -> Setting:
    return Setting("board", key, value, Reason(rank, by, f"text of {by}", (f"source of {by}",)), only_raise=floor)


def outcome(*settings: Setting, board: Board | None = None) -> tuple[list[tuple[str, Value]], list[str]]:
    """What is written and why the rest is not."""
    made = plan(settings, HOST, {"board": board or Board(values={"k": "1"})})
    assert made.conflicts == ()
    return [(s.key, s.value) for s in made.of("board")], [w.why for w in made.withheld]


def test_a_setting_is_written_with_the_value_seen_and_its_file() -> None:
    made = plan([wish(5)], HOST, {"board": Board(values={"k": "1"})})
    assert made.of("board") == (replace(wish(5), seen="1", seen_path="/board/k", seen_note=""),)


@pytest.mark.parametrize(
    ("wishes", "winner", "why"),
    [
        ([wish(5), wish(6, "trial", "measured")], 6, "trial asks for 6, and a measurement wins"),
        ([wish(6, "--set", "operator"), wish(5)], 6, "--set asks for 6, and the operator wins"),
        ([wish(5, "trial", "measured"), wish(6, "--set", "operator")], 6, "--set asks for 6, and the operator wins"),
        ([wish(9, floor=True), wish(6, "--set", "operator")], 6, "--set asks for 6, and the operator wins"),
    ],
    ids=["trial over rule", "operator over rule", "operator over trial", "operator over floor"],
)
def test_the_higher_rank_wins_and_the_other_is_told_so(wishes: list[Setting], winner: int, why: str) -> None:
    assert outcome(*wishes) == ([("k", winner)], [why])
    assert outcome(*reversed(wishes)) == ([("k", winner)], [why])


def test_wishes_that_agree_are_written_once_with_both_reasons() -> None:
    made = plan([wish(5, "c/d"), replace(wish("5"), risk="high")], HOST, {"board": Board(values={"k": "1"})})
    (setting,) = made.of("board")
    assert setting.reason == Reason("rule", "a/b, c/d", "text of a/b; text of c/d", ("source of a/b", "source of c/d"))
    assert setting.risk == "high"


def conflicting(*settings: Setting) -> Plan:
    return plan(settings, HOST, {"board": Board(values={"k": "1"})})


@pytest.mark.parametrize(
    "wishes",
    [
        [wish(5), wish(6, "c/d")],
        [wish(5, "--set", "operator"), wish(6, "--set", "operator"), wish(7)],
        [wish(5), wish(6, "c/d", floor=True)],
        [wish("x"), wish(6, "c/d", floor=True)],
    ],
    ids=["rules", "operator", "floor above", "floor that cannot be compared"],
)
def test_wishes_of_one_rank_that_disagree_are_a_conflict_with_both_reasons(wishes: list[Setting]) -> None:
    made = conflicting(*wishes)
    assert made.of("board") == ()
    with pytest.raises(
        ConflictError, match=r"board:k is to be both .*text of .* and 6 \(.*: text of .*\); .*--set"
    ) as caught:
        raise_conflicts(made)
    assert caught.value.exit_status == 3


def test_a_plan_without_conflict_raises_nothing() -> None:
    raise_conflicts(conflicting(wish(5)))


def test_a_wish_of_higher_rank_settles_a_conflict() -> None:
    assert outcome(wish(5), wish(6, "c/d"), wish(7, "--set", "operator"))[0] == [("k", 7)]


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ([wish(5, floor=True), wish(7, "c/d", floor=True)], 7),
        ([wish("4 9", floor=True), wish("5 8", "c/d", floor=True)], (5, 9)),
        ([wish(5, floor=True), wish(7, "c/d")], 7),
    ],
    ids=["two floors", "elementwise", "floor below a value"],
)
def test_floors_lift_each_other(wishes: list[Setting], expected: Value) -> None:
    board = Board(values={"k": "1 1" if isinstance(expected, tuple) else "1"})
    assert outcome(*wishes, board=board)[0] == [("k", expected)]


@pytest.mark.parametrize(
    ("seen", "value", "written"),
    [
        ("4096 131072 6291456", "4096 65536 16777216", (4096, 131072, 16777216)),
        ("4096 131072 33554432", "4096 65536 16777216", None),
        ("8", 9, 9),
        ("9", 9, None),
        ("10", 9, None),
    ],
    ids=["one element raised", "all larger", "raised", "equal", "larger"],
)
def test_a_floor_never_lowers_any_number_that_is_there(seen: str, value: Value, written: Value | None) -> None:
    settings, _ = outcome(wish(value, floor=True), board=Board(values={"k": seen}))
    assert settings == ([] if written is None else [("k", written)])


@pytest.mark.parametrize(
    ("board", "why"),
    [
        (Board(), "present value is not known (denied), and it must not be lowered"),
        (Board(values={"k": "x"}), "must not be lowered, but"),
        (Board(values={"k": "1 2"}), "not the same count of whole numbers"),
    ],
    ids=["unknown", "no number", "another count"],
)
def test_a_floor_is_withheld_when_it_cannot_be_told_whether_it_would_lower(board: Board, why: str) -> None:
    settings, withheld = outcome(wish(5, floor=True), board=board)
    assert settings == []
    assert why in withheld[0]


def test_what_is_so_already_is_not_written() -> None:
    assert outcome(wish(1)) == ([], ["already so: /board/k has 1"])


def test_what_is_so_thanks_to_our_installed_file_stays_in_it() -> None:
    board = Board(values={"k": "5"}, files={"k": (SetBy("5", "/etc/sysctl.d/90-advisor.conf", 4),)})
    assert outcome(wish(5), board=board) == ([("k", 5)], [])


def test_what_the_operator_asks_for_is_written_even_when_it_is_so_for_now() -> None:
    assert outcome(wish(1, "--set", "operator")) == ([("k", 1)], [])


@pytest.mark.parametrize("rank", ["rule", "operator"])
def test_a_file_of_the_operators_is_never_overridden(rank: Rank) -> None:
    ours, theirs = SetBy("5", "/etc/x.d/90-advisor.conf", 1), SetBy("7", "/etc/x.d/99-site.conf", 3)
    board = Board(values={"k": "7"}, files={"k": (ours, theirs)})
    assert outcome(wish(5, rank=rank), board=board) == (
        [],
        ["set to 7 by /etc/x.d/99-site.conf:3: change it there if you agree"],
    )


def test_a_file_of_the_operators_that_agrees_is_enough() -> None:
    board = Board(values={"k": "1"}, files={"k": (SetBy("5", "/etc/x.conf"),)})
    assert outcome(wish(5), board=board) == ([], ["already set to 5 by /etc/x.conf"])


def test_what_the_host_lacks_is_not_written() -> None:
    assert outcome(wish(5), board=Board(lacks=("k",))) == ([], ["the host has no k"])


def test_what_one_of_two_rules_cannot_have_is_no_conflict() -> None:
    assert outcome(wish("bad"), wish(6, "c/d")) == ([("k", 6)], ["it is bad"])


def test_in_a_container_settings_of_the_host_are_left_to_the_host() -> None:
    inside = replace(HOST, facts={"platform": Platform(container=True)})
    made = plan([wish(5)], inside, {"board": Board(values={"k": "1"})})
    assert (made.of("board"), [w.why for w in made.withheld]) == ((), ["this is a container: apply it on the host"])
    assert plan([wish(5)], inside, {"board": Board(SCOPE="job")}).of("board") != ()


DENIED = [
    ("sysctl", "vm.drop_caches", "3"),
    ("sysctl", "vm.zone_reclaim_mode", "1"),
    ("sysctl", "vm.min_free_kbytes", "135168"),
    ("sysctl", "net.ipv4.tcp_timestamps", "0"),
    ("sysctl", "net.ipv4.tcp_sack", "0"),
    ("sysctl", "net.ipv4.tcp_mem", "1 2 3"),
    ("sysctl", "net.core.rmem_default", "1048576"),
    ("sysctl", "net.core.wmem_default", "1048576"),
    ("modprobe", "mlx5_core.log_max_qp", "18"),
    ("env", "BASH_ENV", "/tmp/x"),
]


@pytest.mark.parametrize(("target", "key", "value"), DENIED, ids=[f"{key}={value}" for _, key, value in DENIED])
def test_what_is_denied_is_withheld_from_rules_and_refused_to_the_operator(target: str, key: str, value: str) -> None:
    targets = load_targets()
    made = plan([Setting(target, key, value, Reason("rule", "a/b", "x"))], HOST, targets)
    assert made.settings == {}
    assert made.withheld[0].why.startswith("advisor never sets it, because ")
    assert "https://" in made.withheld[0].why
    with pytest.raises(InputError, match=r"^--set \S+ is refused: advisor never sets it, because ") as caught:
        plan([requested(f"{target}:{key}={value}", targets)], HOST, targets)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("value", ["00", "0x0", "+0", "-0", " 0 "])
def test_a_denied_value_cannot_be_spelled_otherwise(value: str) -> None:
    with pytest.raises(InputError, match="is refused"):
        plan([requested(f"sysctl:net.ipv4.tcp_sack={value}", load_targets())], HOST, load_targets())


def test_what_starts_a_program_is_for_the_operator_alone() -> None:
    setting = Setting("env", "LD_PRELOAD", "libtcmalloc.so", Reason("rule", "a/b", "x"))
    assert plan([setting], HOST, load_targets()).settings == {}
    asked = plan([requested("env:LD_PRELOAD=libtcmalloc.so", load_targets())], HOST, load_targets())
    assert [s.value for s in asked.of("env")] == ["libtcmalloc.so"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vm.swappiness=10", "must be TARGET:KEY=VALUE"),
        ("sysctl:vm.swappiness", "must be TARGET:KEY=VALUE"),
        ("sysctl:=10", "must be TARGET:KEY=VALUE"),
        ("", "must be TARGET:KEY=VALUE"),
        (
            "sysctrl:vm.swappiness=10",
            "target must be one of .*dataloader, env, .*, sysctl, .* but is 'sysctrl'",
        ),
    ],
    ids=["no target", "no value", "no key", "empty", "unknown target"],
)
def test_a_request_that_cannot_be_read_is_said_in_one_sentence(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        requested(text, load_targets())


@pytest.mark.parametrize(
    "text",
    ["env:A=x\ny", "env:A B=x", "env:1A=x", "env:A=\x1b[2J", "sysctl:vm.x=1\nvm.y=2", "dataloader:num_workers=-1"],
    ids=ascii,
)
def test_a_request_that_cannot_be_written_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is refused"):
        plan([requested(text, load_targets())], HOST, load_targets())


def test_a_rule_that_names_no_target_is_wrong() -> None:
    with pytest.raises(InputError, match="a/b sets target 'board', which is none of"):
        plan([wish(1)], HOST, load_targets())


def test_the_order_of_wishes_does_not_show() -> None:
    wishes = [wish(n, f"r/{n}", key=k) for k in "cab" for n in (5, 5)] + [wish(2, key="z")]
    board = {"board": Board(values={"a": "2"}, lacks=("z",))}
    assert plan(wishes, HOST, board) == plan(list(reversed(wishes)), HOST, board)
    assert [s.key for s in plan(wishes, HOST, board).of("board")] == ["a", "b", "c"]
