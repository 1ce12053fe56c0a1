"""Recorded grids: kept as lines of JSON, replayed to policies, and told as tables. Used by `tune_workloads.py`."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from statistics import median

from pydantic import TypeAdapter

from advisor.model.trial import Config, Measurement, Part, Trial
from advisor.tuning.batching import Batching
from advisor.tuning.cost import learn, rate
from advisor.tuning.prediction import predicted
from advisor.tuning.record import Record
from advisor.tuning.session import Job
from advisor.tuning.space import Resources
from advisor.tuning.statistics import spread
from tests.tuning.policies import POLICIES

LARGE_SHARE, SMALL_SHARE, SMALL_GRID = 1 / 10, 1 / 3, 200
"""Of a grid's measuring time that a search may take: of one of 200 points and more, and of a smaller one."""
SAME = 0.03
"""Speeds that differ by less count as the same, or by less than the windows of a point do."""
SHOWN_WORKERS = (0, 1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Recorded:
    """What one trial gave, and what it took."""

    config: Config
    part: Part
    seconds: float
    measurement: Measurement


@dataclass(frozen=True)
class Runs:
    """What a policy did on one grid, run by run."""

    shares: tuple[float, ...]
    """Of the best speed of the grid."""
    times: tuple[float, ...]
    """Of the time that the grid took."""
    trials: tuple[int, ...]
    agree: float
    """The share of runs that chose what the grid cannot tell from the median choice."""


@dataclass(frozen=True)
class Replayed:
    """All policies on one grid."""

    name: str
    job: Job
    loops: tuple[Recorded, ...]
    parts: tuple[Recorded, ...]
    runs: dict[str, Runs]

    def speeds(self) -> dict[Config, float]:
        """Samples per second of each point, 0 where it failed."""
        return {r.config: rate(r.measurement) or 0.0 for r in self.loops}

    def seconds(self) -> float:
        """What measuring the grid took."""
        return sum(r.seconds for r in self.loops)


_RECORDED: TypeAdapter[Recorded] = TypeAdapter(Recorded)


def begin(path: Path, job: Job) -> None:
    """The first line tells the job; half a line at the end, of a run that was killed, is cut off."""
    if not path.exists():
        told = {"baseline": asdict(job.baseline), "batching": asdict(job.batching), "cpus": job.resources.cpus,
                "shm_bytes": job.resources.shm_bytes, "trained": job.trained}  # fmt: skip
        path.write_text(json.dumps(told) + "\n", "utf-8")
        return
    text = path.read_bytes()
    if not text.endswith(b"\n"):
        path.write_bytes(text[: text.rfind(b"\n") + 1])


def keep(path: Path, one: Recorded) -> None:
    """Appends a line."""
    with path.open("ab") as file:
        file.write(_RECORDED.dump_json(one) + b"\n")


def known(path: Path) -> set[tuple[Config, Part]]:
    """What the file holds."""
    return {(r.config, r.part) for r in _lines(path)}


def read(path: Path) -> tuple[Job | None, tuple[Recorded, ...], tuple[Recorded, ...]]:
    """The job, if the file tells it, its loops, and parts of it."""
    lines = _lines(path)
    first = path.read_text("utf-8").partition("\n")[0]
    told = json.loads(first) if first else {}
    job = None
    if "batching" in told:
        cut = TypeAdapter(Batching).validate_python(told["batching"])
        base = TypeAdapter(Config).validate_python(told["baseline"])
        room = Resources(cpus=told["cpus"], shm_bytes=told["shm_bytes"])
        job = Job(base, cut, room, trained=told["trained"])
    return job, tuple(r for r in lines if r.part == "loop"), tuple(r for r in lines if r.part != "loop")


def _lines(path: Path) -> list[Recorded]:
    return [_RECORDED.validate_json(line) for line in path.read_bytes().splitlines() if b'"measurement"' in line]


class Replay:
    """A machine that gives recorded windows again. What was not recorded is answered by the nearest point that was."""

    def __init__(self, recorded: Sequence[Recorded], seed: int) -> None:
        self.by_part: dict[Part, list[Recorded]] = {}
        for one in recorded:
            self.by_part.setdefault(one.part, []).append(one)
        self.dice, self.now, self.trials = Random(seed), 0.0, 0

    def clock(self) -> float:
        """Seconds of trials so far."""
        return self.now

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        """One trial."""
        self.trials += 1
        found = nearest(self.by_part.get(part, []), config)
        if found is None:
            return Measurement("killed", message="not recorded")
        rates = found.measurement.samples_per_second
        if not rates:
            self.now += found.seconds
            return found.measurement
        samples, share = float(found.measurement.notes["samples"]), windows / len(rates)
        measured = samples / (rate(found.measurement) or math.inf)
        self.now += max(found.seconds - measured * (1 - share), 0.1 * found.seconds)
        drawn = tuple(self.dice.choice(rates) for _ in range(windows))
        notes = {**found.measurement.notes, "samples": round(samples * share)}
        return replace(found.measurement, samples_per_second=drawn, notes=notes)


def nearest(recorded: Sequence[Recorded], wanted: Config) -> Recorded | None:
    """The recorded point that is most like ``wanted``: batch first, then workers, then what is prefetched."""

    def apart(one: Recorded) -> tuple[float, float, float]:
        config = one.config
        return (
            abs(math.log2((config.batch_size or 1) / (wanted.batch_size or 1))),
            abs(math.log2((config.num_workers + 0.25) / (wanted.num_workers + 0.25))),
            abs(math.log2((config.prefetch_factor or 1) / (wanted.prefetch_factor or 1))),
        )

    return min(recorded, key=apart, default=None)


def replayed(
    name: str, job: Job | None, loops: tuple[Recorded, ...], parts: tuple[Recorded, ...], count: int
) -> Replayed:
    """Every policy, ``count`` times."""
    assert job is not None
    found = Replayed(name, job, loops, parts, {})
    speed = found.speeds()
    best, whole = max(speed.values()), found.seconds()
    noise = median(spread(r.measurement.samples_per_second) for r in loops if r.measurement.samples_per_second)
    budget = whole * (SMALL_SHARE if len(loops) < SMALL_GRID else LARGE_SHARE)
    for policy, choose in POLICIES.items():
        shares, times, trials = [], [], []
        for seed in range(count):
            machine = Replay([*loops, *parts], seed)
            chosen = nearest(loops, choose(job, list(speed), machine, budget, seed))
            assert chosen is not None
            shares.append(speed[chosen.config] / best)
            times.append(machine.now / whole)
            trials.append(machine.trials)
        middle = median(shares)
        same = sum(abs(s - middle) < max(SAME, 2 * noise) * middle for s in shares) / count
        found.runs[policy] = Runs(tuple(shares), tuple(times), tuple(trials), same)
    return found


def table(
    found: Replayed, live: Sequence[Record], extra: Sequence[Recorded], confirmed: Sequence[Recorded] = ()
) -> str:
    """Markdown of one workload; ``confirmed``: what was measured again, in turn."""
    speed = found.speeds()
    top = max(speed, key=lambda config: speed[config])
    head = (
        f"\n### {found.name}: {len(found.loops)} points, {found.seconds():.0f} s; best {top.key()}, "
        f"{speed[top]:,.0f} samples/s; today {found.job.baseline.key()}, {speed[found.job.baseline] / speed[top]:.1%}\n"
    )
    rows = [f"| {policy} | {_row(runs)} |" for policy, runs in found.runs.items()]
    lines = [head, "| | median | worst | time | trials | agree |", "|---|---|---|---|---|---|", *rows]
    return "\n".join([*lines, *_live_lines(found, live, extra, confirmed), "", *_predictions(found)])


def _row(runs: Runs) -> str:
    return (
        f"{median(runs.shares):.3f} | {min(runs.shares):.3f} | {median(runs.times):.0%} | "
        f"{median(runs.trials):.0f} | {runs.agree:.0%}"
    )


def _live_lines(
    found: Replayed, live: Sequence[Record], extra: Sequence[Recorded], confirmed: Sequence[Recorded]
) -> Iterator[str]:
    best = max(found.speeds().values())
    speed = {**found.speeds(), **{r.config: rate(r.measurement) or 0.0 for r in extra}}
    again = _medians(confirmed)
    for record in live:
        chosen, trials = record.choice.config, [*record.trials, *record.parts]
        seconds = sum(float(t.measurement.notes.get("trial_seconds", 0.0)) for t in trials)
        share = speed.get(chosen, 0.0) / best if chosen is not None else 0.0
        in_turn = f"{again[chosen] / max(again.values()):.3f} in turn" if chosen in again else ""
        yield (
            f"| live: {chosen.key() if chosen else 'nothing'} | {share:.3f} | {in_turn} | "
            f"{seconds / found.seconds():.0%} | {len(trials)} | {record.verdict} |"
        )


def _medians(confirmed: Sequence[Recorded]) -> dict[Config, float]:
    """The median over rounds of what each point gave."""
    rounds: dict[Config, list[float]] = {}
    for one in confirmed:
        rounds.setdefault(one.config, []).append(rate(one.measurement) or 0.0)
    return {config: median(rates) for config, rates in rounds.items()}


def _predictions(found: Replayed) -> Iterator[str]:
    """The pipeline model alone, told what the baseline and the parts of the job tell, against the grid."""
    parts = [Trial(0, r.config, r.measurement, part=r.part) for r in found.parts]
    cost = learn([*parts, *(Trial(0, r.config, r.measurement) for r in found.loops if r.config == found.job.baseline)])
    off, rows = [], []
    for one in found.loops:
        config, speed = one.config, rate(one.measurement)
        expected = predicted(config, cost, found.job.resources.cpus or 1.0)
        if not speed or not expected:
            continue
        off.append(abs(speed / expected - 1))
        if (config.batch_size, config.prefetch_factor or 2) == (found.job.batching.today, 2):
            rows.append((config.num_workers, config.batch_size or 1, expected, speed))
    if not off:
        yield "no prediction: what a sample costs is not known"
        return
    shown = sorted({row[0]: row for row in rows if row[0] in SHOWN_WORKERS}.values())
    yield "| workers | " + " | ".join(str(row[0]) for row in shown) + " |"
    yield "|---" * (len(shown) + 1) + "|"
    yield "| predicted ms a step | " + " | ".join(f"{1000 * b / e:.2f}" for _, b, e, _ in shown) + " |"
    yield "| measured ms a step | " + " | ".join(f"{1000 * b / s:.2f}" for _, b, _, s in shown) + " |"
    yield f"\npredicted step times are off by {median(off):.0%} in the median over all points, {max(off):.0%} at most"


def overview(found: Sequence[Replayed]) -> str:
    """Markdown of all workloads."""
    lines = ["\n| policy | median share | worst run | workloads at 97 % | time | trials | workloads that agree |"]
    lines.append("|---|---|---|---|---|---|---|")
    for policy in POLICIES:
        runs = [one.runs[policy] for one in found]
        shares = [median(r.shares) for r in runs]
        lines.append(
            f"| {policy} | {median(shares):.3f} | {min(min(r.shares) for r in runs):.3f} | "
            f"{sum(s >= 1 - SAME for s in shares)} of {len(runs)} | {median(t for r in runs for t in r.times):.0%} | "
            f"{median(t for r in runs for t in r.trials):.0f} | {sum(r.agree >= 0.9 for r in runs)} of {len(runs)} |"
        )
    return "\n".join(lines)
