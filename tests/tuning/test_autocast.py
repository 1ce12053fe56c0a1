"""The step in autocast: looked at when asked for, kept apart from the step as it is, chosen only if it earns it."""

from pathlib import Path

import pytest

from advisor.model.trial import AutocastType, Config, Measurement, Outcome, Trial
from advisor.tuning.autocast import autocast
from advisor.tuning.batching import Declared
from advisor.tuning.choice import choose
from advisor.tuning.cost import learn
from advisor.tuning.progress import Event, Said
from advisor.tuning.settings import dataloader_settings, described, told
from advisor.tuning.space import hopeless
from tests.tuning.simulated_machine import Machine, search

STEPPED = Declared(batch_size=32, has_step=True)
PLAIN, CAST = Config(0, None, 32), Config(0, None, 32, amp="bfloat16")


def step(rate: float, config: Config = PLAIN, jitter: float = 0.001) -> Trial:
    rates = (rate * (1 - jitter), rate, rate * (1 + jitter))
    return Trial(0, config, Measurement("ok", samples_per_second=rates), part="cached")


def lost(config: Config = CAST, outcome: Outcome = "user-error") -> Trial:
    return Trial(0, config, Measurement(outcome, message="RuntimeError: no such kernel"), part="cached")


@pytest.mark.parametrize(
    ("parts", "amp", "said"),
    [
        pytest.param([step(100), step(180, CAST)], "bfloat16", "measured +80 % (95 % interval", id="faster"),
        pytest.param([step(100), step(104, CAST)], "bfloat16", "+4.0 %", id="by-little"),
        pytest.param(
            [step(100), step(102, CAST)], None, "brings nothing here: the step alone measured +2.0 %", id="less"
        ),
        pytest.param([step(100), step(60, CAST)], None, "-40 %", id="slower"),
        pytest.param([step(100, jitter=0.2), step(115, CAST, 0.2)], None, "brings nothing here", id="noise"),
        pytest.param([step(100), step(90, CAST), step(150, CAST)], "bfloat16", "+50 %", id="one-run-was-disturbed"),
        pytest.param(
            [step(100), lost()], None, "does not run in torch.autocast(bfloat16) (user-error: Run", id="fails"
        ),
        pytest.param([lost(PLAIN), step(100, CAST)], None, "is not known", id="nothing-to-compare-with"),
        pytest.param([], None, "is not known", id="not-measured"),
        pytest.param([step(100), step(900, Config(0, None, 64, amp="bfloat16"))], None, "not known", id="other-batch"),
    ],
)
def test_the_step_alone_tells_whether_autocast_is_worth_it(parts: list[Trial], amp: str | None, said: str) -> None:
    found = autocast(parts, "bfloat16", 32)
    assert found.amp == amp
    assert said in found.says
    assert (amp is not None) is ("yours to validate" in found.says)


def test_nobody_is_told_of_what_was_not_asked_for() -> None:
    assert autocast([step(100), step(180, CAST)], None, 32).says == ""


def test_a_faster_step_is_searched_with_and_compared_with_the_baseline_without(tmp_path: Path) -> None:
    machine = Machine(cpu=1e-3, step=2e-3, cpus=16.0, autocast=3.0)
    result, choice, base = search(machine, tmp_path, STEPPED, amp="bfloat16", budget_seconds=600)
    assert base.amp is None
    assert choice.config is not None
    assert choice.changes
    assert choice.config.amp == "bfloat16"
    assert choice.gain is not None
    assert choice.gain.value == pytest.approx(3e-3 / (2e-3 / 3), rel=0.15)
    found = {t.config.amp for t in result.trials if t.origin == "model"}
    assert found == {"bfloat16"}
    every = [*result.trials, *result.parts]
    assert learn(every).step_seconds(32) == pytest.approx(32 * 2e-3, rel=0.05)
    assert learn(every, "bfloat16").step_seconds(32) == pytest.approx(32 * 2e-3 / 3, rel=0.05)
    assert {t.config.amp for t in result.parts if t.part != "cached"} == {None}


def test_a_loop_that_never_waits_is_searched_once_its_step_is_faster(tmp_path: Path) -> None:
    machine = Machine(cpu=1e-6, step=2e-3, autocast=2.0, noise=0.002)
    _, choice, base = search(machine, tmp_path, STEPPED, amp="bfloat16")
    assert choice.config is not None
    assert choice.config == Config(0, None, 32, 1, amp="bfloat16")
    assert choice.changes
    assert machine.loops()[:2] == [base, choice.config]


@pytest.mark.parametrize("amp", [None, "bfloat16"], ids=["not-asked", "brings-nothing"])
def test_what_was_not_asked_for_or_brings_nothing_is_in_no_loop(tmp_path: Path, amp: AutocastType | None) -> None:
    machine = Machine(cpu=1e-3, step=1e-3, cpus=16.0, autocast=1.0 if amp else 3.0)
    events: list[Event] = []
    _, choice, _ = search(machine, tmp_path, STEPPED, amp=amp, events=events)
    assert choice.config is not None
    assert choice.config.num_workers > 0
    assert {c.amp for c in machine.loops()} == {None}
    assert any(isinstance(e, Said) and "brings nothing" in e.text for e in events) is (amp is not None)


def test_at_the_same_speed_the_step_stays_as_it_is(tmp_path: Path) -> None:
    """All CPUs of the loader give less than either step takes."""
    machine = Machine(cpu=5e-3, step=5e-4, cpus=4.0, autocast=2.0, noise=0.003)
    _, choice, _ = search(machine, tmp_path, STEPPED, amp="bfloat16", budget_seconds=600)
    assert choice.config is not None
    assert choice.config.num_workers == 4
    assert choice.config.amp is None
    assert any(c.amp for c in machine.loops())


def test_an_interrupted_search_goes_on_with_the_step_that_it_had_found(tmp_path: Path) -> None:
    stopped = Machine(cpu=1e-3, step=2e-3, cpus=16.0, autocast=3.0, interrupt_at=6)
    with pytest.raises(KeyboardInterrupt):
        search(stopped, tmp_path, STEPPED, amp="bfloat16")
    resumed = Machine(cpu=1e-3, step=2e-3, cpus=16.0, autocast=3.0)
    result, choice, _ = search(resumed, tmp_path, STEPPED, amp="bfloat16")
    assert result.reused == 6
    assert (Config(0, None, 32), "cached") not in zip(resumed.runs, resumed.parts, strict=True)
    assert choice.config is not None
    assert choice.config.amp == "bfloat16"


def test_a_diagnosis_tells_what_autocast_brings_and_tries_no_loop(tmp_path: Path) -> None:
    machine = Machine(cpu=1e-3, step=2e-3, autocast=3.0)
    result, _, base = search(machine, tmp_path, STEPPED, amp="bfloat16", diagnose_only=True)
    assert machine.loops() == [base]
    assert autocast(result.parts, "bfloat16", 32).amp == "bfloat16"
    assert result.diagnosis is not None
    assert result.diagnosis.most is not None
    assert result.diagnosis.most.value == pytest.approx(1.5, rel=0.03)  # of the step as it is, 2 of 3 ms


def test_settings_of_a_loader_hold_no_autocast_but_say_that_they_rest_on_it() -> None:
    fast = Config(2, 2, 32, amp="bfloat16")
    trials = [
        Trial(n, config, Measurement("ok", samples_per_second=(rate + n,)), f"final {1 + n // 2}")
        for n, (config, rate) in enumerate([(PLAIN, 100.0), (fast, 300.0)] * 3)
    ]
    choice = choose(trials, PLAIN)
    settings = {s.key: s for s in dataloader_settings(choice, PLAIN, "measured here")}
    assert "amp" not in settings
    assert "over the baseline, with the step in torch.autocast(bfloat16)" in settings["num_workers"].reason.text
    assert described(fast).endswith(", with the step in torch.autocast(bfloat16)")
    assert told(choice).endswith("that training converges as before is yours to validate")


def test_the_memory_of_the_step_as_it_is_says_nothing_of_the_one_in_autocast() -> None:
    def took(config: Config, gib: int) -> Trial:
        measured = Measurement("ok", samples_per_second=(1.0,), peak_vram_bytes=gib << 30)
        return Trial(0, config, measured, part="cached")

    trials = [took(PLAIN, 60), took(CAST, 30)]
    assert learn(trials).peaks.predicted(32) == 60 << 30
    assert learn(trials, "bfloat16").peaks.predicted(32) == 30 << 30
    full = [Trial(0, Config(0, None, 64), Measurement("out-of-memory", message="CUDA out of memory. Tried to"))]
    assert hopeless(Config(0, None, 64), full) is not None
    assert hopeless(Config(0, None, 64, amp="bfloat16"), full) is None
