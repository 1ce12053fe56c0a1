"""advisor's search against others on real workloads: a grid is recorded once, then policies replay it.

    python benchmarks/tune_workloads.py record DIR [--windows 5] [--seconds 2] [--only NAME] [--points 48]
    python benchmarks/tune_workloads.py live DIR [--runs 3] [--budget 300]
    python benchmarks/tune_workloads.py compare DIR [--runs 10]

``record`` measures at most 48 points of each workload of `loader_workloads.py`, the parts that a search looks at
included, each as a trial of its own; what DIR holds already is not measured again, so it may be stopped at any time.
``live`` runs advisor's search on the real workloads. ``compare`` replays: a trial of a policy draws windows of the
recorded point, with replacement, and takes the time that the recorded trial took for so many windows. Reported are the
share of the best point's median, measuring time, trials, agreement, and for each workload predicted against measured
step time. Recorded windows are only as good as the machine was quiet: run it on one that does nothing else.
"""

import argparse
import json
import math
import os
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pydantic import TypeAdapter

from advisor.commands._workload import described
from advisor.model.trial import Config, Measurement, Part, Trial
from advisor.tuning.batching import Batching, baseline, batching
from advisor.tuning.cost import learn, rate
from advisor.tuning.prediction import predicted
from advisor.tuning.session import Job
from advisor.tuning.space import Resources
from advisor.tuning.trial import TrialRequest, describe_workload, run_trial
from tests.tuning.policies import POLICIES, advisor

FILE = Path(__file__).resolve().parent / "loader_workloads.py"
WORKERS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
FEW_PREFETCH = (1, 2, 8)
LARGE_SHARE, SMALL_SHARE, SMALL_GRID = 1 / 10, 1 / 3, 200
LIMIT_SECONDS = 120.0
NEAR = 0.97


@dataclass(frozen=True)
class Recorded:
    """What one trial gave, and what it took."""

    config: Config
    part: Part
    seconds: float
    measurement: Measurement


_RECORDED: TypeAdapter[Recorded] = TypeAdapter(Recorded)


def main() -> int:
    """Does what is asked and returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("record", "live", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a window")
    parser.add_argument("--points", type=int, default=48, help="most of a workload")
    parser.add_argument("--only", action="append", help="a workload; may be given again")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--budget", type=float, default=300.0)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for name in asked.only or _names():
        {"record": _record, "live": _live, "compare": _compare}[asked.what](name, asked)
    return 0


def _names() -> tuple[str, ...]:
    """The names at the end of the file: importing it would import torch here."""
    text = FILE.read_text("utf-8")
    block = text[text.index("NAMES = (") :].partition(")")[0]
    return tuple(part.strip().strip('",') for part in block.splitlines()[1:] if part.strip())


def _request(name: str, config: Config, asked: argparse.Namespace, part: Part = "loop") -> TrialRequest:
    return TrialRequest(
        config, f"{FILE}:{name}", seconds=LIMIT_SECONDS, windows=asked.windows, window_seconds=asked.seconds, part=part
    )  # fmt: skip


def _job(name: str, asked: argparse.Namespace) -> Job:
    declared = described(describe_workload(_request(name, Config(batch_size=1), asked))).declared
    cut = batching(declared, 1, None)
    shm = os.statvfs("/dev/shm")
    room = Resources(cpus=float(len(os.sched_getaffinity(0))), shm_bytes=shm.f_bavail * shm.f_frsize)
    return Job(baseline(declared, cut), cut, room, trained=declared.has_step)


def _grid(job: Job, points: int) -> list[Config]:
    """Workers by prefetch factor at today's micro-batch, and others at two workers, as far as ``points`` go."""
    today = job.batching.today

    def point(workers: int, prefetch: int | None, batch: int) -> Config:
        return Config(workers, prefetch, batch, job.batching.accumulation(batch), persistent_workers=workers > 0)

    found = [job.baseline, point(0, None, today)]
    found += [point(w, p, today) for w in WORKERS if w for p in FEW_PREFETCH]
    found += [point(w, 2, b) for b in job.batching.choices if b != today for w in (1, 2, 4)]
    found += [point(0, None, b) for b in job.batching.choices]
    return list(dict.fromkeys(found))[:points]


def _record(name: str, asked: argparse.Namespace) -> None:
    job = _job(name, asked)
    path = asked.folder / f"{name}.jsonl"
    _begin(path, job)
    known = {(r.config, r.part) for r in _read(path)}
    wanted: list[tuple[Config, Part]] = [(config, "loop") for config in _grid(job, asked.points)]
    step = Config(0, None, job.batching.today, job.batching.accumulation(job.batching.today))
    wanted += [(replace(step, batch_size=b, accumulation=job.batching.accumulation(b)), "cached")
               for b in job.batching.choices]  # fmt: skip
    wanted += [(config, "loader") for config in dict.fromkeys((job.baseline, replace(
        step, num_workers=1, prefetch_factor=2, persistent_workers=True)))]  # fmt: skip
    for number, (config, part) in enumerate(wanted, start=1):
        if (config, part) in known:
            continue
        measured = run_trial(_request(name, config, asked, part))
        seconds = float(measured.notes.get("trial_seconds", 0.0))
        with path.open("ab") as file:
            file.write(_RECORDED.dump_json(Recorded(config, part, seconds, measured)) + b"\n")
        print(f"{name} {number}/{len(wanted)} {part} {config.key()}: {rate(measured) or measured.outcome}", flush=True)


def _begin(path: Path, job: Job) -> None:
    """The first line tells the job; half a line at the end, of a run that was killed, is cut off."""
    if not path.exists():
        told = {"baseline": asdict(job.baseline), "batching": asdict(job.batching), "cpus": job.resources.cpus,
                "trained": job.trained}  # fmt: skip
        path.write_text(json.dumps(told) + "\n", "utf-8")
        return
    text = path.read_bytes()
    if not text.endswith(b"\n"):
        path.write_bytes(text[: text.rfind(b"\n") + 1])


def _read(path: Path) -> list[Recorded]:
    lines = path.read_bytes().splitlines()[1:]
    return [_RECORDED.validate_json(line) for line in lines]


def _read_job(path: Path) -> Job:
    told = json.loads(path.read_text("utf-8").partition("\n")[0])
    cut = TypeAdapter(Batching).validate_python(told["batching"])
    base = TypeAdapter(Config).validate_python(told["baseline"])
    return Job(base, cut, Resources(cpus=told["cpus"]), trained=told["trained"])


class Replay:
    """A machine that gives recorded windows again. What was not recorded is answered by the nearest point that was."""

    def __init__(self, recorded: list[Recorded], seed: int) -> None:
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
        share = (windows / len(rates)) if rates else 1.0
        measured = sum((found.config.batch_size or 1) / r for r in rates)
        self.now += max(found.seconds - measured * (1 - share), 0.2 * found.seconds)
        drawn = tuple(self.dice.choice(rates) for _ in range(windows)) if rates else ()
        return replace(found.measurement, samples_per_second=drawn)


def nearest(recorded: list[Recorded], wanted: Config) -> Recorded | None:
    """The recorded point that is most like ``wanted``: batch first, then workers, then what is prefetched."""

    def apart(one: Recorded) -> tuple[float, float, float]:
        config = one.config
        return (
            abs(math.log2((config.batch_size or 1) / (wanted.batch_size or 1))),
            abs(math.log2((config.num_workers + 0.25) / (wanted.num_workers + 0.25))),
            abs((config.prefetch_factor or 0) - (wanted.prefetch_factor or 0)),
        )

    return min(recorded, key=apart, default=None)


def _live(name: str, asked: argparse.Namespace) -> None:
    job = _job(name, asked)
    for run in range(asked.runs or 3):
        path = asked.folder / f"{name}.live-{run}.json"
        if path.exists():
            continue
        machine = _Real(name, asked)
        chosen = advisor(job, [], machine, asked.budget, run)
        path.write_text(json.dumps({"chosen": asdict(chosen), "trials": machine.trials}) + "\n", "utf-8")
        print(f"{name} live {run}: {chosen.key()} after {machine.trials} trials", flush=True)


class _Real:
    """The workload itself."""

    def __init__(self, name: str, asked: argparse.Namespace) -> None:
        self.name, self.asked, self.trials = name, asked, 0

    def clock(self) -> float:
        """Seconds of a monotonic clock."""
        return time.monotonic()

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        """One trial."""
        self.trials += 1
        return run_trial(replace(_request(self.name, config, self.asked, part), windows=windows))


def _compare(name: str, asked: argparse.Namespace) -> None:
    path = asked.folder / f"{name}.jsonl"
    recorded, job = _read(path), _read_job(path)
    loops = [r for r in recorded if r.part == "loop"]
    speed = {r.config: rate(r.measurement) or 0.0 for r in loops}
    best, whole = max(speed.values()), sum(r.seconds for r in loops)
    top = max(speed, key=lambda config: speed[config])
    print(
        f"{name}: {len(loops)} points, {whole:.0f} s, best {top.key()} {best:,.0f} samples/s; {_misses(job, recorded)}"
    )
    budget = whole * (SMALL_SHARE if len(loops) < SMALL_GRID else LARGE_SHARE)
    for policy, choose in POLICIES.items():
        shares, times, trials = [], [], []
        for seed in range(asked.runs or 10):
            machine = Replay(recorded, seed)
            chosen = nearest(loops, choose(job, list(speed), machine, budget, seed))
            assert chosen is not None
            shares.append(speed[chosen.config] / best)
            times.append(machine.now / whole)
            trials.append(machine.trials)
        middle = median(shares)
        agree = sum(abs(s / middle - 1) < 1 - NEAR for s in shares) / len(shares) if middle else 0.0
        print(
            f"  {policy:<18} median {middle:.3f} worst {min(shares):.3f} time {median(times):.1%} "
            f"trials {median(trials):.0f} agree {agree:.0%}"
        )
    for live in sorted(asked.folder.glob(f"{name}.live-*.json")):
        told = nearest(loops, TypeAdapter(Config).validate_python(json.loads(live.read_text("utf-8"))["chosen"]))
        print(f"  live: {told.config.key()} {speed[told.config] / best:.3f}" if told else "  live: nothing")


def _misses(job: Job, recorded: list[Recorded]) -> str:
    """How far the pipeline model alone is off, told what the parts of the job tell."""
    parts = [Trial(0, r.config, r.measurement, part=r.part) for r in recorded if r.part != "loop"]
    cost = learn(parts)
    off = []
    for one in recorded:
        speed, expected = rate(one.measurement), predicted(one.config, cost, job.resources.cpus or 1.0)
        if one.part == "loop" and speed and expected:
            off.append(abs(expected / speed - 1))
    return (
        f"predicted step times are off by {median(off):.0%} in the median, {max(off):.0%} at most"
        if off
        else "no prediction"
    )


if __name__ == "__main__":
    sys.exit(main())
