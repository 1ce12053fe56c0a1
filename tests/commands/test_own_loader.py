"""``--set dataloader:...`` beside what was measured: both files hold the same, valid arguments and the same batch."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands._own import of_a_rank, together
from advisor.errors import InputError
from advisor.model.setting import Reason, Setting
from advisor.planning.requests import requested
from advisor.targets._base import load_targets
from advisor.tuning.batching import Declared, batching
from advisor.tuning.record import record_text
from tests.commands.simulated_tune import tuned
from tests.trees import write_tree


class Site:
    """An OUT that `tune` left, and `render` over it."""

    def __init__(self, folder: Path, declared: Declared) -> None:
        self.folder, self.out = folder, folder / "out"
        write_tree(folder / "host", {"/proc/sys/vm/swappiness": "60\n"})
        self.out.mkdir()
        (self.out / "tuning.json").write_text(record_text(tuned(folder / "studies", declared)))

    def render(self, *wishes: str) -> int:
        more = [word for wish in wishes for word in ("--set", wish)]
        return run(["render", "--quiet", "--root", str(self.folder / "host"), "--out", str(self.out), *more])

    def script(self) -> str:
        return (self.out / "job/dataloader.py").read_text()

    def arguments(self) -> tuple[dict[str, object], int]:
        """What both files hold, which must be the same."""
        names: dict[str, object] = {}
        exec(self.script(), names)
        document = json.loads((self.out / "job/dataloader.json").read_text())
        kwargs, accumulation = names["DATALOADER"], names["ACCUMULATION"]
        assert isinstance(kwargs, dict)
        assert isinstance(accumulation, int)
        assert {k: v for k, v in document.items() if k not in ("basis", "assumed")} == {
            **kwargs,
            "accumulation": accumulation,
        }
        return kwargs, accumulation


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, Declared(batch_size=8, accumulation=2))


def test_without_workers_nothing_is_written_that_needs_them(site: Site) -> None:
    assert site.render() == 0
    assert site.arguments()[0]["persistent_workers"] is True
    assert site.render("dataloader:num_workers=0") == 0
    assert site.arguments() == ({"batch_size": 8, "num_workers": 0}, 2)
    assert "prefetch_factor" not in site.script()


def test_what_the_operator_asks_for_in_vain_is_said(site: Site) -> None:
    assert site.render("dataloader:num_workers=0", "dataloader:prefetch_factor=4") == 0
    assert site.arguments() == ({"batch_size": 8, "num_workers": 0}, 2)
    assert "# prefetch_factor:\n# not written: DataLoader takes it only with workers\n# --set: " in site.script()


@pytest.mark.parametrize(("size", "accumulation"), [(4, 4), (16, 1), (8, 2), (1, 16)])
def test_accumulation_follows_the_micro_batch_so_that_the_global_batch_stays(
    site: Site, size: int, accumulation: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.render(f"dataloader:batch_size={size}") == 0
    kwargs, found = site.arguments()
    assert (kwargs["batch_size"], found) == (size, accumulation)
    kept = f"# --set: follows from batch_size={size}: each rank takes 16 samples for an optimizer step, as measured\n"
    assert f"# accumulation:\n{kept}" in site.script()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("size", "nearest"), [(3, "give 2 or 4,"), (5, "give 4 or 8,"), (32, "give 16,")])
def test_a_micro_batch_that_does_not_divide_is_refused(
    site: Site, size: int, nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.render(f"dataloader:batch_size={size}") == 2
    told = capsys.readouterr().err
    assert f"--set dataloader:batch_size={size} does not divide the 16 samples that each rank takes" in told
    assert nearest in told
    assert not (site.out / "job").exists()


@pytest.mark.parametrize(
    ("wishes", "samples"),
    [(["batch_size=4", "accumulation=1"], 4), (["accumulation=4"], 32), (["batch_size=3", "accumulation=5"], 15)],
)
def test_another_global_batch_that_was_asked_for_is_said_in_terminal_and_file(
    site: Site, wishes: Sequence[str], samples: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.render(*(f"dataloader:{wish}" for wish in wishes)) == 0
    said = (
        f"each rank takes {samples} samples for an optimizer step, where 16 were measured: this is another global batch"
    )
    assert f"advisor: --set: {said}" in capsys.readouterr().err
    assert f"# accumulation:\n# --set: asked for on the command line; {said}" in site.script()


def test_the_same_global_batch_cut_otherwise_is_no_matter(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.render("dataloader:batch_size=4", "dataloader:accumulation=4") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", ["batch_size=0", "batch_size=many", "accumulation=0"])
def test_what_is_no_number_of_samples_is_refused_as_ever(
    site: Site, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.render(f"dataloader:{words}") == 2
    assert "must be an integer of at least 1" in capsys.readouterr().err


def wish(words: str) -> Setting:
    return requested(f"dataloader:{words}", load_targets())


@pytest.mark.parametrize(
    "declared", [Declared(), Declared(batched=True, accumulation=2)], ids=["assumed", "whole-batches"]
)
def test_where_there_is_no_global_batch_none_is_held(tmp_path: Path, declared: Declared) -> None:
    assert of_a_rank(batching(declared, 1, None)) is None
    site = Site(tmp_path, declared)
    assert site.render("dataloader:batch_size=5") == 0
    assert site.arguments()[0]["batch_size"] == 5
    assert site.render("dataloader:batch_size=none") == 0
    assert site.arguments()[0]["batch_size"] is None


def test_settings_of_other_targets_and_without_a_measurement_stay() -> None:
    other = Setting("env", "A", "x", Reason("rule", "a/b", "helps"))
    both = together([other], [wish("batch_size=5")])
    assert (both.measured, both.own, both.notes) == ((other,), (wish("batch_size=5"),), ())


def test_a_search_is_not_begun_for_a_micro_batch_that_does_not_divide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "job.py").write_text(
        "from advisor import Workload\ndef factory(): return Workload([0.0] * 100, batch_size=16)\n"
    )
    command = ["tune", "--workload", f"{tmp_path / 'job.py'}:factory", "--out", str(tmp_path / "OUT"), "--allow-busy"]
    assert run([*command, "--ranks", "1", "--set", "dataloader:batch_size=5"]) == 2
    assert "give 4 or 8" in capsys.readouterr().err
    assert not (tmp_path / "OUT").exists()


def test_the_batch_of_a_rank_is_the_global_batch_cut_by_ranks() -> None:
    assert of_a_rank(batching(Declared(batch_size=8), 4, 64)) == 16
    with pytest.raises(InputError, match="does not divide the 16 samples"):
        together(measured(8, 2), [wish("batch_size=5")])


def measured(batch: int, accumulation: int) -> list[Setting]:
    reason = Reason("measured", "trial", "fast")
    return [Setting("dataloader", k, v, reason) for k, v in (("batch_size", batch), ("accumulation", accumulation))]
