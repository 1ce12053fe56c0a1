"""`advisor render`, whole: what it writes for a machine, what it withholds, refuses and leaves alone."""

import json
from pathlib import Path

import pytest

from advisor.cli import run
from tests.trees import write_tree

HOST = {
    "/proc/sys/vm/swappiness": "60\n",
    "/proc/sys/vm/max_map_count": "65530\n",
    "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "/etc/sysctl.d/10-site.conf": "# ours\nvm.max_map_count = 131072\n",
}
RULE = """\
title: {title}
severity: warn
basis: kernel-doc
fails: {fails}
says: "swappiness is {{sysctl.vm_swappiness}}"
why: because
fix: do it
sources: ["https://docs.kernel.org/admin-guide/sysctl/vm.html"]
set: {settings}
examples:
  - {{name: bad, facts: {{sysctl: {{vm_swappiness: 60}}}}, expect: fails}}
  - {{name: good, facts: {{sysctl: {{vm_swappiness: 1}}}}, expect: holds}}
  - {{name: dark, facts: {{}}, expect: unknown}}
"""
SYSCTL_FILE = "host/etc/sysctl.d/90-advisor.conf"


def rule(
    folder: Path, name: str, *settings: str, title: str = "Test rule", fails: str = "sysctl.vm_swappiness > 10"
) -> None:
    text = RULE.format(title=title, fails=fails, settings="[" + ", ".join(settings) + "]")
    (folder / "test").mkdir(parents=True, exist_ok=True)
    (folder / "test" / f"{name}.yaml").write_text(text)


def setting(key: str, value: object, target: str = "sysctl", more: str = "") -> str:
    return f"{{target: {target}, key: {key}, value: {value}{more}}}"


class Site:
    """A captured machine, a folder of rules and an OUT, and the command on them."""

    def __init__(self, folder: Path) -> None:
        self.host, self.rules, self.out = folder / "host", folder / "rules", folder / "out"
        self.rules.mkdir()
        write_tree(self.host, HOST)

    def render(self, *more: str) -> int:
        fixed = ["--root", str(self.host), "--rules", str(self.rules), "--out", str(self.out)]
        return run(["render", *fixed, *more])

    def files(self) -> dict[str, bytes]:
        found = (path for path in sorted(self.out.rglob("*")) if path.is_file())
        return {path.relative_to(self.out).as_posix(): path.read_bytes() for path in found}

    def lines(self, path: str) -> list[str]:
        return [line for line in (self.out / path).read_text().splitlines() if line and not line.startswith("#")]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_failing_rule_becomes_a_line_with_its_reason(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    rule(site.rules, "swappy", setting("vm.swappiness", 10))
    assert site.render() == 0
    text = (site.out / SYSCTL_FILE).read_text()
    assert "# rule test/swappy: Test rule\n# seen: 60 in /proc/sys/vm/swappiness\n" in text
    assert "# source: https://docs.kernel.org/admin-guide/sysctl/vm.html\nvm.swappiness = 10\n" in text
    assert "set       sysctl:vm.swappiness=10 (test/swappy)" in capsys.readouterr().out
    assert {"facts.json", "report.md", "advisor.lock", ".gitignore", "observations.json", "findings.json"} <= set(
        site.files()
    )


def test_the_lock_lists_what_is_for_git_and_only_that(site: Site) -> None:
    rule(site.rules, "swappy", setting("vm.swappiness", 10))
    assert site.render("--quiet") == 0
    listed = set(json.loads((site.out / "advisor.lock").read_text())["files"])
    ignored = {line.lstrip("/") for line in site.lines(".gitignore")}
    assert listed == set(site.files()) - {"advisor.lock"} - ignored


def test_a_second_run_writes_the_same_bytes(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    rule(site.rules, "swappy", setting("vm.swappiness", 10), setting("OMP_NUM_THREADS", 1, "env"))
    assert site.render() == 0
    before = site.files()
    capsys.readouterr()
    assert site.render() == 0
    assert site.files() == before
    assert "0 changed, 0 removed" in capsys.readouterr().out


def test_facts_of_an_earlier_run_give_the_same_configuration(site: Site, tmp_path: Path) -> None:
    rule(site.rules, "swappy", setting("vm.swappiness", 10))
    assert site.render("--quiet") == 0
    again = tmp_path / "again"
    arguments = ["--facts", str(site.out / "facts.json"), "--rules", str(site.rules), "--out", str(again)]
    assert run(["render", "--quiet", *arguments]) == 0
    assert (again / SYSCTL_FILE).read_bytes() == (site.out / SYSCTL_FILE).read_bytes()


def test_rendering_from_its_own_facts_leaves_them_as_they_were(site: Site) -> None:
    assert site.render("--quiet") == 0
    before = site.files()
    facts = str(site.out / "facts.json")
    assert run(["render", "--quiet", "--facts", facts, "--rules", str(site.rules), "--out", str(site.out)]) == 0
    assert site.files()["facts.json"] == before["facts.json"]
    assert "facts.json" in json.loads((site.out / "advisor.lock").read_text())["files"]


def test_the_operator_wins_and_is_told_of_in_the_file(site: Site) -> None:
    rule(site.rules, "swappy", setting("vm.swappiness", 10))
    assert site.render("--quiet", "--set", "sysctl:vm.swappiness=1", "--set", "env:NCCL_DEBUG=WARN") == 0
    assert site.lines(SYSCTL_FILE) == ["vm.swappiness = 1"]
    assert "# --set: asked for on the command line\n" in (site.out / SYSCTL_FILE).read_text()
    assert "NCCL_DEBUG='WARN'" in (site.out / "job/env.sh").read_text()


def test_a_wish_no_longer_made_takes_its_file_away(site: Site) -> None:
    assert site.render("--quiet", "--set", "sysctl:vm.swappiness=1") == 0
    assert site.render("--quiet") == 0
    assert SYSCTL_FILE not in site.files()
    assert not (site.out / "host/etc/sysctl.d").exists()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (setting("vm.max_map_count", 262144), "set to 131072 by /etc/sysctl.d/10-site.conf:2: change it there"),
        (setting("vm.overcommit_memory", 0), "it is not known whether this kernel has vm.overcommit_memory"),
        (setting("vm.drop_caches", 3), "advisor never sets it"),
        (setting("net.ipv4.tcp_rmem", "\"'1 2 3'\"", more=", only_raise: true"), "already so"),
        (setting("mlx5_core.prof_sel", 3, "modprobe"), "it is not known which parameters mlx5_core accepts"),
        (setting("vm.swappiness", "\"'a\\\\nb'\""), "which no value may hold"),
    ],
    ids=["operator's file", "unknown key", "denied", "larger already", "unknown parameter", "line break"],
)
def test_what_is_withheld_is_said_and_not_written(
    site: Site, settings: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rule(site.rules, "swappy", settings)
    assert site.render("--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    mine = [w for w in document["withheld"] if w["by"] == "test/swappy"]
    assert len(mine) == 1
    assert why in mine[0]["why"]
    assert not any(path.startswith("host/") for path in site.files())


def test_rules_that_disagree_stop_before_anything_is_written(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    rule(site.rules, "swappy", setting("vm.swappiness", 10), title="Ten is best")
    rule(site.rules, "other", setting("vm.swappiness", 5), title="Five is best")
    assert site.render() == 3
    error = capsys.readouterr().err
    assert "sysctl:vm.swappiness is to be both 10 (test/swappy: Ten is best) and 5" in error or (
        "sysctl:vm.swappiness is to be both 5 (test/other: Five is best) and 10 (test/swappy: Ten is best)" in error
    )
    assert not site.out.exists()
    assert site.render("--quiet", "--set", "sysctl:vm.swappiness=5") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "sysctl:vm.drop_caches=3"], "advisor never sets it"),
        (["--set", "sysctl:net.ipv4.tcp_sack=00"], "plain decimal"),
        (["--set", "modprobe:mlx5_core.log_max_qp=18"], "advisor never sets it"),
        (["--set", "env:A=x\ny"], "which no value may hold"),
        (["--set", "env:A B=x"], "is no name that a shell can assign to"),
        (["--set", "nonsense"], "must be TARGET:KEY=VALUE"),
        (["--set", "nonsense:a=b"], "target must be one of"),
        (["--set", "dataloader:num_workers=many"], "must be an integer of at least 0"),
        (["--ranks", "0"], "--ranks"),
        (["--facts", "x.json"], "exclude each other"),
    ],
    ids=lambda value: " ".join(map(ascii, value)) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_one_sentence_and_exit_2(
    site: Site, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.render(*arguments) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert not site.out.exists()


def test_an_edited_file_is_never_lost(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.render("--quiet", "--set", "sysctl:vm.swappiness=1") == 0
    (site.out / SYSCTL_FILE).write_text("vm.swappiness = 7\n")
    before = site.files()
    assert site.render("--set", "sysctl:vm.swappiness=2") == 2
    assert f"{SYSCTL_FILE} was edited by you since it was generated" in capsys.readouterr().err
    assert site.files() == before


def test_facts_that_probe_wrote_before_are_no_obstacle(site: Site) -> None:
    assert run(["probe", "--quiet", "--root", str(site.host), "--out", str(site.out)]) == 0
    assert site.render("--quiet") == 0


def test_settings_for_the_loader_say_that_they_were_not_measured(site: Site) -> None:
    assert site.render("--quiet", "--set", "dataloader:num_workers=4", "--set", "dataloader:pin_memory=true") == 0
    text = (site.out / "job/dataloader.py").read_text()
    assert text.startswith("# Basis: not measured: from rules and options alone\n")
    assert "DATALOADER = {'num_workers': 4, 'pin_memory': True}\n" in text


def test_quiet_prints_nothing(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.render("--quiet") == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_what_is_only_suggested_is_called_so(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.render("--set", "cmdline:nosmt=true", "--set", "sysctl:vm.swappiness=1") == 0
    assert "  suggested cmdline:nosmt= (--set)\n  set       sysctl:vm.swappiness=1 (--set)\n" in capsys.readouterr().out
    assert site.lines("suggested/kernel-cmdline.txt") == ["nosmt"]
    report = (site.out / "report.md").read_text()
    assert (
        report.index("## Settings")
        < report.index("vm.swappiness")
        < report.index("## Suggestions, which advisor never")
    )


def test_json_says_what_was_set_and_by_whom(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.render("--format", "json", "--set", "sysctl:vm.swappiness=1") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert document["settings"] == [
        {
            "target": "sysctl",
            "key": "vm.swappiness",
            "value": "1",
            "by": "--set",
            "rank": "operator",
            "seen": "60",
            "seen_path": "/proc/sys/vm/swappiness",
            "suggested": False,
        }
    ]


def test_a_tuning_record_that_cannot_be_read_is_said_in_one_sentence(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.out.mkdir()
    (site.out / "tuning.json").write_text("{")
    assert site.render() == 2
    assert "tuning.json" in capsys.readouterr().err


def test_a_name_that_no_folder_can_have_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tree(tmp_path, HOST)
    assert run(["render", "--root", str(tmp_path), "--out", "x" * 5000]) == 2
    assert "File name too long; choose another folder with --out" in capsys.readouterr().err
