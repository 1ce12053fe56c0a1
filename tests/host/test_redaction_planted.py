"""A capture of a node with a secret in every kind of file: none is left, and facts and findings stay the same."""

import json
import re
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands._rules import loaded
from advisor.commands._snapshot import derive
from advisor.discover import units
from advisor.host.captured import open_root
from advisor.host.recording import Answer, Recorder
from advisor.host.redaction import redacted
from advisor.model.snapshot import Snapshot, committed_json
from advisor.probes._run import run_probes
from advisor.probes.nccl_conf import KEPT
from advisor.probes.systemd import LOGIND_KEYS, MANAGER_KEYS, UNIT_KEYS
from advisor.probes.tuned import SECTIONS
from advisor.rulebook.evaluate import evaluate
from tests.host.planted import FILES, SECRETS
from tests.trees import write_capture

KEY = b"0" * 32


@pytest.fixture
def captures(tmp_path: Path) -> tuple[Path, Path]:
    """The node as it is, and a redacted capture of it."""
    write_capture(
        tmp_path / "raw",
        FILES,
        environment={
            "NCCL_COMM_ID": "PLANTED901Q:1",
            "NCCL_DEBUG": "INFO",
            "NCCL_IB_PKEY": "3",
            "SLURM_SUBMIT_HOST": "PLANTED902Q",
            "UCX_TLS": "rc,ud",
        },
    )
    (tmp_path / "raw/advisor-capture.json").write_text('{"version": 1, "root_user": true}')
    assert run(["capture", str(tmp_path / "safe"), "--root", str(tmp_path / "raw"), "--quiet"]) == 0
    return tmp_path / "raw", tmp_path / "safe"


def test_no_planted_secret_is_left_and_every_file_is_there(captures: tuple[Path, Path]) -> None:
    _, safe = captures
    assert [path for path in FILES if not (safe / f"fs{path}").is_file()] == []
    text = b"\0".join(path.read_bytes() for path in safe.rglob("*") if path.is_file()).lower()
    assert [(where, secret) for secret, where in SECRETS.items() if secret.lower().encode() in text] == []
    assert b"planted" not in text


def test_files_keep_their_lines(captures: tuple[Path, Path]) -> None:
    _, safe = captures
    for path, text in FILES.items():
        assert (safe / f"fs{path}").read_text().count("\n") == text.count("\n"), path


def _snapshot(root: Path) -> Snapshot:
    snapshot, defects = run_probes(open_root(str(root)), units("probes"))
    assert defects == ()
    return derive(snapshot)


def _facts(snapshot: Snapshot) -> dict[str, object]:
    """All facts, with one name for everything that was replaced."""
    facts = {name: section.model_dump(mode="json") for name, section in snapshot.facts.items()}
    planted = r"(?:nvme-SAMSUNG_|scsi-|eui\.|s3fs#|(?<=\")/)?PLANTED\d+Q(?:\.corp\.example)?"
    text = re.sub(rf"{planted}|\bx[0-9a-f]{{9}}(?:\.x[0-9a-f]{{9}})*\b", "NAMED", json.dumps(facts))
    text = re.sub(r"10\.\d+\.\d+\.\d+", "ADDRESS", text)
    document: dict[str, object] = json.loads(re.sub(r"UUID=\w{4}-\w{4}", "UUID=NUMBER", text))
    return document


def test_facts_and_findings_are_the_same(captures: tuple[Path, Path]) -> None:
    raw, safe = map(_snapshot, captures)
    was, now = _facts(raw), _facts(safe)
    assert now.keys() == was.keys()
    for section in was:
        assert now[section] == was[section], section
    findings = [
        sorted((f.rule, f.verdict, len(f.settings)) for f in evaluate(loaded(()), snapshot).findings)
        for snapshot in (raw, safe)
    ]
    assert findings[0] == findings[1]


def test_what_probes_read_of_the_planted_files_is_there(captures: tuple[Path, Path]) -> None:
    """The facts compared above say something: each kind of file has its share."""
    facts = _facts(_snapshot(captures[1]))
    text = {section: json.dumps(value) for section, value in facts.items()}
    for section, words in {
        "systemd": ("LimitMEMLOCK", "CPUAffinity", "--no-persistence-mode", "DefaultLimitMEMLOCK"),
        "udev": ("queue/scheduler", "read_ahead_kb", "blockdev --setra 4096", "ethtool -G", 'ATTRS{serial}==\\"...'),
        "tuned": ("vm.swappiness", "isolcpus=2-3", "readahead"),
        "nccl_conf": ("mlx5_0", "comment behind", "blank around =", "Ring", "UCX_TLS", "0xffff", "no ="),
        "pam_limits": ("@NAMED", "everyone", "/etc/security/limits.conf:6", "1000:"),
        "mounts": ("nconnect", "wekafs", "LABEL=NAMED"),
        "modules": ("poll_queues", "ip2nets"),
        "boot": ("2-3", "hugepages"),
        "irq": ("--deepestcache=2",),
    }.items():
        assert [word for word in words if word not in text[section]] == [], section


def test_facts_for_git_hold_no_credential_serial_or_hardware_address(captures: tuple[Path, Path]) -> None:
    text = committed_json(_snapshot(captures[0]))
    whole = "".join(FILES.values())
    credentials = re.findall(
        r"(?i:pass|secret|token|key|pw|cred|bearer|serial|wwid)[^\s,]{0,20}?[ =:\"./]+(PLANTED\d+Q)", whole
    )
    assert len(credentials) > 30
    assert [secret for secret in credentials if secret in text] == []
    for serial in ("nvme-SAMSUNG", "scsi-PLANTED", "0c:42:a1"):
        assert serial not in text


def test_what_probes_read_is_what_redaction_keeps() -> None:
    recorder = Recorder(kind="capture", root_user=None, inner=open_root("/"))
    keys = sorted(UNIT_KEYS | MANAGER_KEYS | LOGIND_KEYS)
    texts = {
        "/etc/systemd/system/slurmd.service": "[Service]\n" + "".join(f"{key}=1\n" for key in keys),
        "/etc/tuned/x/tuned.conf": "".join(f"[{name}]\nlevel=1\n" for name in SECTIONS),
        "/etc/environment": "".join(f"{name}X=1\n" for name in KEPT),
    }
    for place, text in texts.items():
        recorder.answers["data", (place, 65536)] = Answer(place, text.encode(), None)
    made = redacted(recorder, [], KEY)
    for place, text in texts.items():
        assert made.answers["data", (place, 65536)].value.decode() == text
