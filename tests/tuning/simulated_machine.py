"""A machine that is simulated by a formula, and a search on it; for tests of the search's course."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from advisor.model.trial import AutocastType, Config, Measurement, Outcome, Part
from advisor.tuning.batching import Declared, baseline, batching
from advisor.tuning.choice import Choice, choose
from advisor.tuning.epochs import Epoch
from advisor.tuning.progress import Event
from advisor.tuning.search import Outcome as Result
from advisor.tuning.search import run_search
from advisor.tuning.session import Job, Limits
from advisor.tuning.space import Resources
from advisor.tuning.study import open_study

TRIAL_SECONDS = 8.0


@dataclass
class Machine:
    """A simulated machine: seconds of CPU time and waiting per sample, a training step, overheads, noise."""

    cpu: float
    blocked: float = 0.0
    step: float = 0.0
    cpus: float = 2.0
    transfer: float = 0.0
    """Extra main-process time per sample once it comes from a worker."""
    noise: float = 0.01
    autocast: float = 1.0
    """How many times faster the step is in autocast."""
    outcome: Callable[[Config], Outcome] = lambda config: "ok"
    now: float = 0.0
    seconds_per_trial: float = TRIAL_SECONDS
    runs: list[Config] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    dice: Random = field(default_factory=lambda: Random(7))
    interrupt_at: int | None = None
    message: str = ""
    """Of trials that fail."""

    def clock(self) -> float:
        return self.now

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        if self.interrupt_at is not None and len(self.runs) >= self.interrupt_at:
            raise KeyboardInterrupt
        self.runs.append(config)
        self.parts.append(part)
        self.now += self.seconds_per_trial
        outcome = self.outcome(config)
        if outcome != "ok":
            return Measurement(outcome, message=self.message or f"simulated {outcome}", notes={"trial_seconds": 60.0})
        seconds = self.seconds(config, part)
        rates = tuple(self._noisy(1 / seconds) for _ in range(windows))
        batch = config.batch_size or 1
        step = self.step_of(config) if part != "loader" else 0.0
        wait = max(0.0, seconds - step) / seconds if step else None
        return Measurement(
            "ok",
            samples_per_second=rates,
            wait_share=wait,
            step_seconds=(seconds * batch,) if step else (),
            batch_bytes=64 * batch,
            notes=self.notes(part),
        )

    def notes(self, part: Part) -> dict[str, float | int | str]:
        """What a trial tells of a sample; nothing when none was loaded."""
        if part == "cached":
            return {}
        return {"cpu_seconds_per_sample": self.cpu, "blocked_seconds_per_sample": self.blocked}

    def loops(self) -> list[Config]:
        """What was measured as a whole."""
        return [config for config, part in zip(self.runs, self.parts, strict=True) if part == "loop"]

    def seconds(self, config: Config, part: Part = "loop") -> float:
        """Seconds per sample."""
        step = self.step_of(config)
        if part == "cached":
            return step
        if part == "loader":
            return self.seconds(config) if self.step == 0.0 else replace(self, step=0.0).seconds(config)
        if config.num_workers == 0:
            return step + self.cpu + self.blocked
        by_workers = (self.cpu + self.blocked) / config.num_workers
        crowd = 1 + 0.02 * max(0.0, config.num_workers * self.cpu / (self.cpu + self.blocked) - self.cpus)
        return max(step + self.transfer, by_workers, self.cpu / self.cpus * crowd, self.transfer)

    def step_of(self, config: Config) -> float:
        """Seconds of the step for a sample."""
        return self.step / self.autocast if config.amp is not None else self.step

    def _noisy(self, value: float) -> float:
        return value * math.exp(self.dice.gauss(0, self.noise))


def search(
    machine: Machine,
    folder: Path,
    declared: Declared | None = None,
    resources: Resources | None = None,
    events: list[Event] | None = None,
    start_method: str | None = None,
    amp: AutocastType | None = None,
    all_parts: bool = False,
    repeats: bool = False,
    epoch: Epoch | None = None,
    **limits: object,
) -> tuple[Result, Choice, Config]:
    """``all_parts``: of a job with an accelerator, and with samples that no trial reads."""
    declared = declared or Declared(batch_size=32)
    cut = batching(declared, 1, None)
    base = baseline(declared, cut)
    room = resources or Resources(cpus=machine.cpus)
    job = Job(
        base, cut, room, accelerated=all_parts, has_unread=all_parts, trained=machine.step > 0,
        start_method=start_method, amp=amp, repeats=repeats, epoch=epoch,
    )  # fmt: skip
    with open_study(folder, "key", cut.choices) as study:
        listen = (events if events is not None else []).append
        result = run_search(job, Limits(**limits), study, machine, machine.clock, listen)  # type: ignore[arg-type]
    return result, choose(result.trials, base), base
