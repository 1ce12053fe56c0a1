"""The README's excerpt of a report: a few findings of ``advisor check`` on a machine that lies in the repository."""

import re
from collections.abc import Iterator
from pathlib import Path

from advisor.commands._rules import evaluated
from advisor.commands._snapshot import probe_host
from advisor.host.captured import open_root
from advisor.model.job import Job
from advisor.reports.text import text

ROOT = Path(__file__).resolve().parent.parent
CASE = "tests/hosts/advice-from-articles"
CHECKPOINTS = "/mnt/ckpt"
COMMAND = f"advisor check --root {CASE} --checkpoints {CHECKPOINTS}"
SHOWN = ("storage/fstab-option-removed", "rdma/dead-mlx5-options", "network/bbr-without-fq")
CUT = "[...]"
_EXCERPT = re.compile(rf"(?<={re.escape('    $ ' + COMMAND)}\n)(?:    .*\n|\n)+")
"""What stands in the README below the command: lines that are set in, and empty ones."""


def readme() -> str:
    """The README with the excerpt as the report is now."""
    written = (ROOT / "README.md").read_text("utf-8")
    made = "".join(f"    {line}".rstrip() + "\n" for line in _excerpt())
    fresh, count = _EXCERPT.subn(lambda _: made + "\n", written)
    assert count == 1, f"the README must show '$ {COMMAND}' once, with its output below"
    return re.sub(r"\n{3,}", "\n\n", fresh)


def _excerpt() -> Iterator[str]:
    """A block for each finding that is shown; what is left out is marked."""
    snapshot, _ = probe_host(open_root(str(ROOT / CASE)), Job(output_path=CHECKPOINTS))
    cut = False
    for block in text(evaluated(snapshot), snapshot).rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        if lines[0].split()[1:2] and lines[0].split()[1] in SHOWN:
            yield from (*_shortened(lines), "")
            cut = False
        elif not cut:
            yield from (CUT, "")
            cut = True


def _shortened(lines: list[str]) -> Iterator[str]:
    """A finding with the first of its messages, of its evidence and of the positions about it."""
    shown = {"  - ": 1, "  seen: ": 1, "  one says: ": 2}
    counted = dict.fromkeys(shown, 0)
    kind = ""
    for line in lines:
        kind = kind if line.startswith("    ") else next((lead for lead in counted if line.startswith(lead)), "")
        if kind and not line.startswith("    "):
            counted[kind] += 1
            if counted[kind] == shown[kind] + 1:
                yield f"  {CUT}"
        if not kind or counted[kind] <= shown[kind]:
            yield line
