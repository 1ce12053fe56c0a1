"""A node on which the generated files were installed, and have done their work, gets the same files again."""

import shutil
from pathlib import Path

from advisor.cli import run
from tests.golden_outs import LOCKED, MADE_UP, untuned_node

OPTIONS = MADE_UP["untuned-node"][1]
UNLIMITED = "Max locked memory         unlimited            unlimited            bytes"


def rendered(root: Path, out: Path) -> dict[str, str]:
    assert run(["render", "--quiet", "--root", str(root), "--out", str(out), *OPTIONS]) == 0
    files = (path for path in (out / "host").rglob("*") if path.is_file())
    return {path.relative_to(out).as_posix(): path.read_text() for path in files}


def settings(files: dict[str, str]) -> dict[str, list[str]]:
    """The lines that count; the comments above them tell of the values of the day."""
    return {name: [row for row in text.splitlines() if row and row[0] != "#"] for name, text in files.items()}


def test_what_was_installed_and_took_effect_stays_generated(tmp_path: Path) -> None:
    root = untuned_node().write(tmp_path / "host")
    before = rendered(root, tmp_path / "out")
    shutil.copytree(tmp_path / "out" / "host", root, dirs_exist_ok=True)
    # What the kernel and systemd make of them at the next boot.
    for path, text in {"vm/swappiness": "10", "net/ipv4/tcp_slow_start_after_idle": "0"}.items():
        (root / "proc/sys" / path).write_text(f"{text}\n")
    for queue in root.rglob("queue/scheduler"):
        queue.write_text("[none] mq-deadline\n")
    for path in (root / "proc").glob("*/limits"):
        assert path.read_text() == f"{LOCKED}\n"
        path.write_text(f"{UNLIMITED}\n")
    after = rendered(root, tmp_path / "out")
    assert settings(after) == settings(before)
    assert len(before) == 4


def test_what_was_installed_and_did_not_take_effect_yet_stays_too(tmp_path: Path) -> None:
    root = untuned_node().write(tmp_path / "host")
    before = rendered(root, tmp_path / "out")
    shutil.copytree(tmp_path / "out" / "host", root, dirs_exist_ok=True)
    assert settings(rendered(root, tmp_path / "out")) == settings(before)
