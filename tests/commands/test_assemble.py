"""What `tune` and `render` write together: a measurement outlives a run that measures nothing."""

import json
from pathlib import Path

from advisor.cli import run
from advisor.commands._assemble import asked_by, assemble
from advisor.model.finding import Finding, Report, Verdict
from advisor.model.setting import Plan, Reason, Setting
from advisor.model.snapshot import Snapshot, Source
from advisor.model.trial import Config, Measurement, Parameter, Trial
from advisor.planning.merge import plan
from advisor.probes.sysctl import Sysctl, SysctlLine
from advisor.targets._base import load_targets
from advisor.tuning.choice import choose
from advisor.tuning.record import SCHEMA_VERSION, Record, record_text
from advisor.tuning.settings import recorded_settings
from advisor.tuning.validity import validity_key
from tests.trees import write_tree

HOST = Snapshot(Source(kind="live"), {}, {})


def record() -> Record:
    base, fast = Config(0, None, 32), Config(4, 2, 32, 1, persistent_workers=True)
    trials = tuple(
        Trial(n, config, Measurement("ok", samples_per_second=(rate, rate + n)), f"final {n // 2 + 1}")
        for n, (config, rate) in enumerate([(base, 100.0), (fast, 300.0)] * 3)
    )
    return Record(
        schema_version=SCHEMA_VERSION,
        validity_key=validity_key({"torch": "2.13.0"}),
        validity={"torch": "2.13.0"},
        basis="measured on a made-up workload, one rank",
        global_batch=32,
        global_batch_origin="--global-batch",
        ranks=1,
        baseline=base,
        headroom="none told",
        space=(Parameter("num_workers", (0, 4), "CPUs"),),
        stopped="the end",
        choice=choose(trials, base),
        trials=trials,
    )


def files(out: Path) -> dict[str, bytes]:
    names = ("tuning.json", "advisor.lock", "job/dataloader.json", "job/dataloader.py")
    return {name: (out / name).read_bytes() for name in names}


def test_render_uses_what_tune_measured_and_leaves_its_record(tmp_path: Path) -> None:
    done, out = record(), tmp_path / "out"
    write_tree(tmp_path / "host", {"/proc/sys/vm/swappiness": "60\n"})
    assert run(["render", "--quiet", "--root", str(tmp_path / "host"), "--out", str(out)]) == 0
    made = plan(recorded_settings(done), HOST, load_targets())
    extra = {"tuning.json": record_text(done)}
    assemble(HOST, Report(()), made, out, validity=done.validity, basis=done.basis, extra_files=extra)
    before = files(out)
    assert before["job/dataloader.py"].startswith(b"# Basis: measured on a made-up workload, one rank\n")
    assert run(["render", "--quiet", "--root", str(tmp_path / "host"), "--out", str(out)]) == 0
    after = files(out)
    locks = [json.loads(lock.pop("advisor.lock")) for lock in (before, after)]
    assert after == before
    assert locks[1]["validity"] == locks[0]["validity"] == {"torch": "2.13.0"}
    assert "tuning.json" in locks[1]["files"]


def finding(verdict: Verdict, key: str) -> Finding:
    setting = Setting("sysctl", key, 10, Reason("rule", "a/b", "helps"))
    told = {"settings": (setting,)} if verdict == "fails" else {"keeps": (setting,)}
    return Finding("a/b", "", verdict, "warn", "kernel-doc", "t", "m", (), **told)


def test_a_rule_that_holds_thanks_to_our_installed_file_keeps_its_setting() -> None:
    line = SysctlLine(key="vm.swappiness", value="10", path="/etc/sysctl.d/90-advisor.conf", line=3)
    host = Snapshot(Source(kind="live"), {"sysctl": Sysctl(vm_swappiness=10, configured=(line,))}, {})
    report = Report((finding("holds", "vm.swappiness"), finding("holds", "vm.max_map_count"), finding("fails", "vm.x")))
    assert [s.key for s in asked_by(report, host)] == ["vm.x", "vm.swappiness"]


def test_an_empty_plan_gives_no_configuration(tmp_path: Path) -> None:
    written = assemble(HOST, Report(()), Plan({}), tmp_path)
    assert written.changed == (".gitignore", "facts.json", "report.md")
