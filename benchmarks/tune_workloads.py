"""advisor's search against others on real workloads: a grid is recorded once, then policies replay it.

    python benchmarks/tune_workloads.py record DIR [--windows 5] [--seconds 1] [--only NAME] [--points 48]
    python benchmarks/tune_workloads.py live DIR [--runs 3] [--budget SECONDS]
    python benchmarks/tune_workloads.py confirm DIR [--rounds 5]
    python benchmarks/tune_workloads.py compare DIR [--runs 10]

``record`` measures at most 48 points of each workload of `loader_workloads.py`, the parts that a search looks at
included, each as a trial of its own; what DIR holds already is not measured again, so it may be stopped at any time.
``live`` runs ``advisor tune`` on the real workloads, for a third of the time that the grid took; what it chooses is
measured like a point of the grid, if it is none. A grid is measured once, point after point, so that its best is partly
luck: ``confirm`` measures it and what the live runs chose in turn, round by round, each as a trial of its own.
``compare`` replays: a trial of a policy draws windows of the recorded point, with replacement, and takes the time that
the recorded trial took for so many windows. Reported are the share of the best point's median, measuring time, trials,
agreement, and predicted against measured step times. Recorded windows are only as good as the machine was quiet: run it
on one that does nothing else. ``recorded/two-cores`` holds grids of a virtual machine with two CPUs, to be replayed
anywhere. ``large_batches`` is meant for a small /dev/shm, which root can give it alone:

    unshare -m sh -c 'mount -t tmpfs -o size=256m tmpfs /dev/shm && exec python benchmarks/tune_workloads.py ...'
"""

import argparse
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from advisor.commands._workload import described
from advisor.model.trial import Config, Part
from advisor.tuning.batching import baseline, batching
from advisor.tuning.cost import rate
from advisor.tuning.record import Record, parse_record
from advisor.tuning.session import Job
from advisor.tuning.space import Resources
from advisor.tuning.trial import TrialRequest, describe_workload, run_trial
from benchmarks.recorded_grids import (
    SMALL_SHARE,
    Recorded,
    Replayed,
    begin,
    keep,
    known,
    overview,
    read,
    replayed,
    table,
)

HERE = Path(__file__).resolve().parent
FILE = HERE / "loader_workloads.py"
WORKERS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24)
FEW_PREFETCH = (1, 2, 8)
LIMIT_SECONDS = 120.0
LEAST_BUDGET_SECONDS = 30.0
NOTHING_FOUND = 1


def main() -> int:
    """Does what is asked and returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("record", "live", "confirm", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a window")
    parser.add_argument("--points", type=int, default=48, help="most of a workload")
    parser.add_argument("--only", action="append", help="a workload; may be given again")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--rounds", type=int, default=5, help="of what is confirmed")
    parser.add_argument("--budget", type=float, default=math.inf, help="seconds of a live run at most")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    names = asked.only or _names()
    if asked.what == "compare":
        return _compare(names, asked)
    do = {"record": _record, "live": _live, "confirm": _confirm}[asked.what]
    for name in names:
        if asked.what != "record" and not (asked.folder / f"{name}.jsonl").exists():
            print(f"{asked.folder} holds no grid of {name}: record it first, or use --only", file=sys.stderr)
            return 2
        do(name, asked)
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
    begin(path, job)
    step = Config(0, None, job.batching.today, job.batching.accumulation(job.batching.today))
    steps = [replace(step, batch_size=b, accumulation=job.batching.accumulation(b)) for b in job.batching.choices]
    one_worker = replace(step, num_workers=1, prefetch_factor=2, persistent_workers=True)
    wanted: list[tuple[Config, Part]] = [(config, "loop") for config in _grid(job, asked.points)]
    wanted += [(config, "cached") for config in steps]
    wanted += [(config, "loader") for config in dict.fromkeys((job.baseline, one_worker))]
    _measure(name, path, wanted, asked)


def _measure(name: str, path: Path, wanted: Iterable[tuple[Config, Part]], asked: argparse.Namespace) -> None:
    held = known(path)
    for config, part in wanted:
        if (config, part) in held:
            continue
        measured = run_trial(_request(name, config, asked, part))
        keep(path, Recorded(config, part, float(measured.notes.get("trial_seconds", 0.0)), measured))
        print(f"{name} {part} {config.key()}: {rate(measured) or measured.outcome}", flush=True)


def _live(name: str, asked: argparse.Namespace) -> None:
    """The command itself, in processes of its own and with studies of its own."""
    loops, _ = read(asked.folder / f"{name}.jsonl")[1:]
    budget = max(min(SMALL_SHARE * sum(r.seconds for r in loops) / 1.1, asked.budget), LEAST_BUDGET_SECONDS)
    for run in range(asked.runs or 3):
        out = asked.folder / f"{name}.live-{run}"
        if not (out / "tuning.json").exists():
            argv = ["tune", "--workload", f"{FILE}:{name}", "--budget", f"{budget:.0f}s", "--out", str(out), "--fresh"]
            studies = {**os.environ, "XDG_CACHE_HOME": str(asked.folder / "cache")}
            subprocess.run([sys.executable, "-m", "advisor", *argv], cwd=HERE.parent, env=studies, check=True)
        chosen = _told(out).choice.config
        if chosen is not None and (chosen, "loop") not in known(asked.folder / f"{name}.jsonl"):
            extra = asked.folder / f"{name}.extra.jsonl"
            extra.touch()
            _measure(name, extra, [(chosen, "loop")], asked)


def _confirm(name: str, asked: argparse.Namespace) -> None:
    """The best of the grid and what live runs chose, in turn; rounds that are there already are not run again."""
    path = asked.folder / f"{name}.confirmed.jsonl"
    loops = read(asked.folder / f"{name}.jsonl")[1]
    best = max(loops, key=lambda r: rate(r.measurement) or 0.0).config
    chosen = [record.choice.config for record in _live_records(name, asked.folder)]
    wanted = list(dict.fromkeys([best, *(config for config in chosen if config is not None)]))
    path.touch()
    for number in range(1, asked.rounds + 1):
        for config in wanted if len(wanted) > 1 else ():
            if sum(r.config == config for r in read(path)[1]) < number:
                measured = run_trial(_request(name, config, asked))
                keep(path, Recorded(config, "loop", float(measured.notes.get("trial_seconds", 0.0)), measured))
                print(f"{name} round {number} {config.key()}: {rate(measured) or measured.outcome}", flush=True)


def _live_records(name: str, folder: Path) -> list[Record]:
    return [_told(out) for out in sorted(folder.glob(f"{name}.live-?")) if (out / "tuning.json").exists()]


def _told(out: Path) -> Record:
    return parse_record((out / "tuning.json").read_text("utf-8"), str(out))


def _compare(names: Iterable[str], asked: argparse.Namespace) -> int:
    found: list[Replayed] = []
    for name in names:
        job, loops, parts = read(asked.folder / f"{name}.jsonl")
        again = [asked.folder / f"{name}.{kind}.jsonl" for kind in ("extra", "confirmed")]
        extra, confirmed = (read(path)[1] if path.exists() else () for path in again)
        one = replayed(name, job, loops, parts, asked.runs or 10)
        print(table(one, _live_records(name, asked.folder), extra, confirmed))
        found.append(one)
    print(overview(found))
    return 0 if found else NOTHING_FOUND


if __name__ == "__main__":
    sys.exit(main())
