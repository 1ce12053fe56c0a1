"""Whatever stands in OUT or in a journal, it is refused in one sentence or is what advisor itself would write."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor.errors import ApplyError, InputError
from advisor.planning.generated import read_generated
from advisor.planning.journal import parse_journal
from advisor.planning.lock import LOCK_NAME, content_hash
from advisor.targets._denied import denied
from advisor.targets._installed import load_installed, target_of
from tests.outs import FILES, write_generated
from tests.planning.sites import UNIT
from tests.planning.test_generated import relocked

TARGETS = load_installed()
VALID = {
    **FILES,
    UNIT: "# x\n[Service]\nLimitMEMLOCK=infinity\n",
    "/etc/modules-load.d/90-advisor.conf": "ib_umad\n",
    "/etc/udev/rules.d/61-advisor.rules": 'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", '
    'KERNEL=="nvme[0-9]*n[0-9]*", ATTR{queue/scheduler}="none"\n',
}
Result = TypeVar("Result")
MANY = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def mangled(text: str) -> st.SearchStrategy[str]:
    """A valid text with something in it replaced by something else."""
    places = st.tuples(st.integers(0, len(text)), st.integers(0, 12))
    junk = st.one_of(
        st.text(max_size=6), st.sampled_from(["\n", "\\\n", "#", "=", '"', "..", "/", "install x y\n", " "])
    )
    return st.builds(lambda at, new: text[: at[0]] + new + text[at[0] + at[1] :], places, junk)


def refusal(act: Callable[[], Result], kind: type[Exception]) -> tuple[str, Result | None]:
    """The words in which ``act`` was refused, or what came of it."""
    try:
        return "", act()
    except kind as error:
        return str(error), None


@pytest.mark.parametrize("path", VALID)
def test_a_mangled_file_gives_nothing_that_is_never_set(tmp_path: Path, path: str) -> None:
    out = write_generated(tmp_path, {path: VALID[path]})
    assert read_generated(out, TARGETS)[0].path == path

    @MANY
    @given(mangled(VALID[path]))
    def check(text: str) -> None:
        relocked(out, f"host{path}", text.encode("utf-8", "replace").decode())
        refused, found = refusal(lambda: read_generated(out, TARGETS), InputError)
        if found is None:
            assert len(refused.splitlines()) == 1
            return
        name = str(target_of(path, TARGETS))
        for line in found[0].lines:
            assert TARGETS[name].wrong(line.key, line.text) is None
            assert denied(name, line.key, line.text, "operator") is None

    check()


@MANY
@given(st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=3))
def test_any_lock_is_refused_or_lists_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    out = tmp_path_factory.mktemp("out")
    (out / LOCK_NAME).write_text(json.dumps({"schema_version": 1, "files": {f"host/{k}": v for k, v in files.items()}}))
    refused, _ = refusal(lambda: read_generated(out, TARGETS), InputError)
    assert len(refused.splitlines()) <= 1


NAMES = ("path", "before", "after", "data")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["path", "before", "after", "data"]), inner)
    ),
    max_leaves=8,
)


@MANY
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("schema_version", "entries", "live", "folders", "id"), JSON)))
def test_any_journal_is_one_or_is_refused(document: dict[str, object]) -> None:
    refused, _ = refusal(lambda: parse_journal(json.dumps(document), "/var/lib/advisor/journal.json"), ApplyError)
    assert len(refused.splitlines()) <= 1


def test_a_hash_that_is_right_is_not_enough(tmp_path: Path) -> None:
    text = "kernel.core_pattern = |/tmp/x\nvm.drop_caches = 3\n"
    out = relocked(write_generated(tmp_path), "host/etc/sysctl.d/90-advisor.conf", text)
    assert json.loads((out / LOCK_NAME).read_text())["files"]["host/etc/sysctl.d/90-advisor.conf"] == content_hash(
        text.encode()
    )
    with pytest.raises(InputError, match=r"vm\.drop_caches is refused"):
        read_generated(out, TARGETS)
