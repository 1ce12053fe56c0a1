"""What every generated file of the whole machines must have, beyond being as it was when it was last read."""

from collections.abc import Iterator, Mapping
from functools import cache

from tests.golden_outs import GOLDEN, HOSTS, MADE_UP
from tests.refresh import generated

SCRIPTS = ("/job/launch.sh", "/irq-affinity", ".service", ".py", ".json", ".yml", ".yaml", ".diff", "/tuned.conf")
"""Whose lines are not one setting each."""


@cache
def outs() -> Mapping[str, str]:
    return {path: text for path, text in generated().items() if path.startswith(f"{GOLDEN}/")}


def test_a_node_on_which_little_is_wrong_needs_nothing() -> None:
    assert [path for path in outs() if path.startswith(f"{GOLDEN}/clean-node/")] == []


def test_every_machine_is_a_case() -> None:
    assert {path.split("/")[3] for path in outs()} <= {*MADE_UP, *(host.name for host in HOSTS.iterdir())}
    assert len({path.split("/")[3] for path in outs()}) >= 2


def test_each_line_stands_below_who_asks_what_was_seen_and_the_authority() -> None:
    bare = [
        (path, line)
        for path, text in outs().items()
        if not path.endswith(SCRIPTS)
        for line, block in below_comments(text)
        if not all(any(row.startswith(start) for row in block) for start in (ASKED, "# seen: ", "# source: "))
    ]
    assert bare == []


ASKED = ("# rule ", "# trial ", "# --set")


def below_comments(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each line that is a setting, with the comment lines right above it."""
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            block.append(line)
            continue
        if line not in ("", "[Service]"):
            yield line, block
        block = []
