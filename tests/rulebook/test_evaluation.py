"""From rules and a Snapshot to findings: verdicts, messages, what settles an unknown, settings, defects."""

import json
from typing import Annotated, Any

import pytest

from advisor.model.facts import Facts, File, GapState, Private
from advisor.model.finding import Finding, Report
from advisor.model.job import Job
from advisor.model.snapshot import Snapshot, Source
from advisor.rulebook.evaluate import evaluate
from advisor.rulebook.examples import check_example, example_snapshot
from advisor.rulebook.load import parse_rule
from advisor.rulebook.rule import Rule, Sections
from advisor.rulebook.strict_yaml import parse_yaml


class Port(Facts):
    name: str
    kind: str | None = None
    width: Annotated[int | None, File("width")] = None
    limit_bytes: int | None = None
    lanes: tuple[int, ...] | None = None
    serial: Annotated[str | None, Private()] = None


class Ports(Facts):
    ports: tuple[Port, ...] | None = None
    broken: Annotated[bool | None, File("broken")] = None


class Total(Facts):
    width: int | None = None


SECTIONS = Sections({"hw": Ports}, {"total": Total, "job": Job})
FACTS: dict[str, Any] = {"hw": {"ports": [{"name": "p0", "width": 4}]}}
UNKNOWN: dict[str, Any] = {"hw": {"origin": "/hw"}}


def rule(**changes: Any) -> Rule:
    keys: dict[str, Any] = {
        "title": "A port is narrow",
        "severity": "warn",
        "basis": "kernel-doc",
        "each": "p in hw.ports",
        "fails": "p.width < 8",
        "says": "{p.name} has {p.width}",
        "why": "Because.",
        "fix": "Widen it.",
        "sources": ["a page"],
        "examples": [{"name": v, "facts": {}, "expect": v} for v in ("fails", "holds", "unknown")],
        **changes,
    }
    text = json.dumps({key: value for key, value in keys.items() if value is not None})
    made, wrong = parse_rule(parse_yaml(text), "hw/narrow", "hw/narrow.yaml", SECTIONS, ("sysctl",))
    assert made is not None, wrong
    return made


def host(*ports: Port, gaps: dict[str, GapState] | None = None, root: bool | None = False, **known: Any) -> Snapshot:
    source = Source(kind="live", root_user=root)
    facts = Ports(origin="/hw", ports=ports, **known)
    return Snapshot(source, {"hw": facts}, gaps or {}, {"job": Job(origin="not told")})


def only(report: Report) -> Finding:
    (finding,) = report.findings
    return finding


NARROW, WIDE = Port(origin="/hw/p0", name="p0", width=4), Port(origin="/hw/p1", name="p1", width=8)
DARK = Port(origin="/hw/p2", name="p2")


def test_each_item_has_its_own_finding() -> None:
    report = evaluate([rule()], host(NARROW, WIDE, DARK, gaps={"/hw/p2/width": "denied"}))
    assert [(f.subject, f.verdict, f.message) for f in report.findings] == [
        ("p0", "fails", "p0 has 4"),
        ("p1", "holds", ""),
        ("p2", "unknown", "cannot be told without hw.ports[p2].width"),
    ]
    assert report.findings[2].settle == ("run as root: /hw/p2/width was denied",)
    assert [f.rule for f in report.failing()] == ["hw/narrow"]


def test_a_finding_brings_its_evidence_and_its_rule() -> None:
    finding = only(evaluate([rule()], host(NARROW)))
    assert [(e.expression, e.value, e.path) for e in finding.evidence] == [
        ("hw.ports[p0].width", 4, "/hw/p0/width"),
        ("hw.ports[p0].name", "p0", "/hw/p0"),
    ]
    assert (finding.why, finding.fix, finding.sources, finding.condition) == (
        "Because.",
        "Widen it.",
        ("a page",),
        "p.width < 8",
    )


def test_what_decides_comes_first_in_the_evidence() -> None:
    asked = rule(
        each=None,
        only="not hw.broken and any(p.width > 0 for p in hw.ports)",
        fails="any(p.limit_bytes < 8 for p in hw.ports if p.kind == 'x')",
        says="{count(p.width > 4 for p in hw.ports if p.kind == 'x')} of them",
    )
    other, meant = Port(name="a", kind="y", width=1), Port(name="b", kind="x", width=5, limit_bytes=4)
    finding = only(evaluate([asked], host(other, meant, broken=False)))
    assert finding.message == "1 of them"
    assert [e.expression.removeprefix("hw.") for e in finding.evidence] == [
        "ports",
        *("ports[b].kind", "ports[b].limit_bytes"),
        "ports[b].width",
        *("broken", "ports[a].width"),
        "ports[a].kind",
    ]


@pytest.mark.parametrize(
    ("snapshot", "verdict", "message"),
    [
        (host(), "not-applicable", "there is nothing in hw.ports"),
        (Snapshot(Source(), {"hw": Ports(origin="/hw")}, {}), "unknown", "cannot be told without hw.ports"),
        (Snapshot(Source(), {}, {}), "unknown", "cannot be told without hw.ports"),
    ],
    ids=["empty", "unknown list", "no section"],
)
def test_a_loop_over_nothing_or_the_unknown_gives_one_finding(snapshot: Snapshot, verdict: str, message: str) -> None:
    finding = only(evaluate([rule()], snapshot))
    assert (finding.subject, finding.verdict, finding.message) == ("", verdict, message)


@pytest.mark.parametrize(
    ("kind", "width", "verdict"),
    [
        ("gpu", 4, "fails"),
        ("nic", 4, "not-applicable"),
        (None, 4, "unknown"),
        (None, 8, "unknown"),
        ("nic", None, "not-applicable"),
    ],
)
def test_the_gate_is_asked_first(kind: str | None, width: int | None, verdict: str) -> None:
    port = Port(name="p", kind=kind, width=width)
    assert only(evaluate([rule(only="p.kind == 'gpu'")], host(port))).verdict == verdict


@pytest.mark.parametrize(
    ("gap", "root", "settle"),
    [
        ("denied", False, "run as root: /hw/broken was denied"),
        ("denied", True, "read it outside the container: /hw/broken is denied even to root"),
        ("absent", False, "nothing here: this host has no /hw/broken"),
        ("not captured", False, "capture /hw/broken, or run on the host itself"),
        ("timed out", False, "try again: /hw/broken did not answer in time"),
        ("unsupported", False, "look at it yourself: /hw/broken holds no value that can be read"),
        ("error", False, "look at it yourself: /hw/broken could not be read"),
        (
            "distrusted",
            False,
            "nothing here: /hw/broken was not believed: the nodes' memory does not add up to /proc/meminfo's",
        ),
        (None, False, "find out hw.broken: /hw/broken does not tell"),
    ],
)
def test_each_reason_has_its_remedy(gap: GapState | None, root: bool, settle: str) -> None:
    asked = rule(each=None, fails="hw.broken", says="broken")
    finding = only(evaluate([asked], host(gaps={"/hw/broken": gap} if gap else {}, root=root)))
    assert finding.settle == (settle,)


@pytest.mark.parametrize(
    ("gap", "settle"),
    [
        ("absent", "install ethtool"),
        ("denied", "run as root: ethtool -k p9 was denied"),
        ("not captured", "capture the output of: ethtool -k p9"),
        ("timed out", "try again: ethtool -k p9 did not answer in time"),
        ("error", "see why it gives nothing: ethtool -k p9"),
    ],
)
def test_a_missing_command_is_to_be_installed(gap: GapState, settle: str) -> None:
    origin = "command: ethtool -k p9"
    port = Port(origin=origin, name="p9", origins={"width": origin})
    assert only(evaluate([rule()], host(port, gaps={origin: gap}))).settle == (settle,)


@pytest.mark.parametrize(
    ("command", "settle"),
    [
        ("nvme smart-log -o json", "install nvme-cli"),
        ("storcli64 /call show all J nolog", "install storcli or perccli"),
    ],
)
def test_a_program_is_named_by_what_brings_it(command: str, settle: str) -> None:
    port = Port(origin=f"command: {command}", name="p9", origins={"width": f"command: {command}"})
    finding = only(evaluate([rule()], host(port, gaps={port.origin: "absent"})))
    assert finding.settle == (settle,)


def test_what_the_job_does_not_tell_is_an_option() -> None:
    asked = rule(each=None, fails="job.ranks > 8", says="many")
    assert only(evaluate([asked], host())).settle == ("give --ranks",)


def test_the_rules_own_remedy_comes_first() -> None:
    finding = only(evaluate([rule(settle=["look under the desk"])], host(DARK)))
    assert finding.settle[0] == "look under the desk"
    assert len(finding.settle) == 2


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("{p.limit_bytes:bytes} {{x}}", "64 MiB {x}"),
        ("{p.lanes:cpus} of {len(p.lanes)}", "0-2,5 of 4"),
        ("{p.lanes}", "0, 1, 2, 5"),
        ("{p.lanes:list}", "0, 1, 2, 5"),
        ("{p.width / 3} {p.width // 3} {p.width > 3}", "1.333 1 true"),
        ("{p.kind} {version(p.kind) > version('1')}", "unknown unknown"),
        ("serial {p.serial}", "serial (private)"),
        ("{'a}b'} {\"{\"}", "a}b {"),
        ("p[[ is a {p.kind}]][[, {p.width} wide]]", "p, 4 wide"),
        ("p[[ of {p.kind}, {p.width} wide]]", "p"),
        ("p[[ ]] [one] {p.width}", "p  [one] 4"),
        ("p[[, serial {p.serial}]]", "p, serial (private)"),
        ("{count(q.width > 0 for q in hw.ports if q.serial == 'x')}", "(private)"),
    ],
)
def test_a_message_shows_values_as_people_read_them(says: str, message: str) -> None:
    port = Port(name="p", width=4, limit_bytes=64 * 2**20, lanes=(0, 1, 2, 5), serial="S3CRET")
    assert only(evaluate([rule(says=says)], host(port))).message == message


def test_nothing_of_the_host_can_break_a_line() -> None:
    port = Port(name="p\x1b[31m\nx" + "y" * 500, width=4)
    finding = only(evaluate([rule()], host(port)))
    assert finding.message.isprintable()
    assert finding.subject.isprintable()
    assert len(finding.message) < 250


@pytest.mark.parametrize(
    ("says", "verdict", "message"),
    [
        ("{p.limit_bytes:bytes}", "fails", "1000000"),
        ("{p.limit_bytes * p.limit_bytes}", "unknown", "a number becomes too large"),
        ("{p.limit_bytes / 3}", "unknown", "too large"),
    ],
)
def test_a_number_of_a_thousand_digits_is_no_crash(says: str, verdict: str, message: str) -> None:
    finding = only(evaluate([rule(says=says)], host(Port(name="p", width=4, limit_bytes=10**1000))))
    assert finding.verdict == verdict
    assert message in finding.message


def setting(**changes: Any) -> dict[str, Any]:
    return {"target": "sysctl", "key": "net.{p.name}", "value": "p.width * 2", "risk": "high", **changes}


def test_a_failure_asks_for_settings_that_carry_their_reason() -> None:
    (made,) = only(evaluate([rule(set=[setting(only_raise=True)])], host(NARROW))).settings
    assert (made.target, made.key, made.value, made.risk, made.only_raise) == ("sysctl", "net.p0", 8, "high", True)
    assert (made.reason.rank, made.reason.by, made.reason.text) == ("rule", "hw/narrow", "A port is narrow")
    assert made.reason.sources == ("a page",)
    assert made.seen is None


@pytest.mark.parametrize(
    ("value", "made"), [(5, 5), (True, True), (1.5, 1.5), ("'spawn'", "spawn"), ("(1, 2)", (1, 2))]
)
def test_a_value_is_written_out_or_an_expression(value: Any, made: object) -> None:
    (found,) = only(evaluate([rule(set=[setting(value=value)])], host(NARROW))).settings
    assert found.value == made


LOOP = {"each": "size in (1, 2, 9)", "key": "net.{p.name}.{size}", "value": "size"}


@pytest.mark.parametrize(
    ("only_where", "made"),
    [
        (None, [("net.p0.1", 1), ("net.p0.2", 2), ("net.p0.9", 9)]),
        ("size < p.width", [("net.p0.1", 1), ("net.p0.2", 2)]),
        ("size > p.width * 3", []),
    ],
    ids=["all", "some", "none"],
)
def test_one_entry_asks_for_as_many_settings_as_it_says(only_where: str | None, made: list[tuple[str, int]]) -> None:
    finding = only(evaluate([rule(set=[setting(**LOOP, only=only_where)])], host(NARROW)))
    assert [(one.key, one.value) for one in finding.settings] == made
    assert finding.settle == ()


def test_a_setting_without_a_loop_is_asked_for_only_where_it_says() -> None:
    entries = [setting(only="p.width == 4"), setting(key="net.other", only="p.width == 5")]
    finding = only(evaluate([rule(set=entries)], host(NARROW)))
    assert [one.key for one in finding.settings] == ["net.p0"]


def test_a_holding_finding_keeps_only_what_would_be_asked_for() -> None:
    finding = only(evaluate([rule(set=[setting(**LOOP, only="size < p.width")])], host(WIDE)))
    assert [kept.key for kept in finding.keeps] == ["net.p1.1", "net.p1.2"]


@pytest.mark.parametrize(
    "changes",
    [{**LOOP, "only": "size < p.limit_bytes"}, {"only": "p.kind == 'gpu'"}, {**LOOP, "each": "size in p.lanes"}],
    ids=["only of each", "only", "each"],
)
def test_a_setting_of_which_nobody_knows_whether_it_is_wanted_is_left_out_and_told_once(
    changes: dict[str, Any],
) -> None:
    finding = only(evaluate([rule(set=[setting(**changes)])], host(NARROW)))
    assert (finding.verdict, finding.settings, len(finding.settle)) == ("fails", (), 1)
    assert "is not set: find out hw.ports[p0]." in finding.settle[0]


def test_a_holding_finding_says_what_may_keep_it_so() -> None:
    finding = only(evaluate([rule(set=[setting()])], host(WIDE)))
    assert [(kept.key, kept.value) for kept in finding.keeps] == [("net.p1", 16)]
    assert all("width" in seen.expression for seen in finding.evidence)


@pytest.mark.parametrize("port", [WIDE, DARK], ids=["holds", "unknown"])
def test_only_a_failure_asks_for_settings(port: Port) -> None:
    assert only(evaluate([rule(set=[setting()])], host(port))).settings == ()


@pytest.mark.parametrize("changes", [{"value": "p.limit_bytes"}, {"key": "net.{p.kind}"}], ids=["value", "key"])
def test_a_setting_that_needs_a_missing_fact_is_left_out_and_told(changes: dict[str, Any]) -> None:
    finding = only(evaluate([rule(set=[setting(**changes)])], host(NARROW)))
    assert finding.verdict == "fails"
    assert finding.settings == ()
    assert "is not set: find out hw.ports[p0]." in finding.settle[0]


def test_a_rule_that_cannot_be_computed_spoils_no_other() -> None:
    broken = rule(fails="1 / (p.width - 4) > 1")
    report = evaluate([broken, rule()], host(NARROW, WIDE))
    assert [f.verdict for f in report.findings] == ["unknown", "holds", "fails", "holds"]
    assert report.defects == ("rule hw/narrow cannot be computed: division by zero",)
    assert report.findings[0].settle == ("mend the rule in hw/narrow.yaml",)


def differences(asked: Rule, **example: Any) -> list[str]:
    given = {"name": "x", "facts": FACTS, "expect": "fails", **example}
    others = [{"name": verdict, "expect": verdict} for verdict in ("fails", "holds", "unknown")]
    one = rule(examples=[given, *others]).file.examples[0]
    return check_example(asked, one, evaluate([asked], example_snapshot(asked, one, SECTIONS, None)).findings)


@pytest.mark.parametrize(
    ("example", "differs"),
    [
        ({}, ""),
        ({"expect": "holds"}, "must be holds for p0 but is fails"),
        ({"expect": {"p0": "fails"}}, ""),
        ({"expect": {"p0": "unknown"}}, "must be unknown for p0 but is fails"),
        ({"expect": {"p7": "fails"}}, "there is no subject 'p7'; there are 'p0'"),
        ({"message": "p0 has 4"}, ""),
        ({"message": "p0 has 5"}, "message must be 'p0 has 5' but is 'p0 has 4'"),
        ({"settings": {"sysctl:net.p0": 8}}, ""),
        ({"settings": {"sysctl:net.p0": 9}}, "settings must be"),
        ({"settings": {}}, "settings must be {} but are"),
        ({"facts": UNKNOWN, "gaps": {"/hw": "denied"}, "expect": "unknown"}, ""),
        ({"facts": UNKNOWN, "expect": "fails"}, "must be fails but is unknown (find out hw.ports"),
        ({"facts": {"hw": {"ports": [{"name": "a", "width": 8}, {"name": "b", "width": 4}]}}}, ""),
    ],
)
def test_an_example_says_what_differs(example: dict[str, Any], differs: str) -> None:
    found = differences(rule(set=[setting()]), **example)
    assert found == [] if not differs else found[0].startswith(differs)


def test_an_example_may_give_derived_facts_or_have_them_derived() -> None:
    asked = rule(each=None, fails="total.width < job.ranks", says="{total.width}")
    example = asked.file.examples[0].model_copy(update={"facts": FACTS, "job": {"ranks": 8}})

    def derive(snapshot: Snapshot, job: Job) -> Snapshot:
        ports = snapshot.facts["hw"]
        assert isinstance(ports, Ports)
        return snapshot.with_derived({"total": Total(width=sum(p.width or 0 for p in ports.ports or ())), "job": job})

    derived = example_snapshot(asked, example, SECTIONS, derive)
    assert only(evaluate([asked], derived)).message == "4"
    given = example.model_copy(update={"facts": {"total": {"width": 9}}})
    assert only(evaluate([asked], example_snapshot(asked, given, SECTIONS, derive=None))).verdict == "holds"
