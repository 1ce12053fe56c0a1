"""Evaluating all rules on many hosts, in one run.

    python benchmarks/rules.py [--hosts 1000] [--processes 2]

The hosts are made-up nodes of three sizes (8 GPUs and 10 NICs; 2 and 2; none and 2), each with facts of its own, as the
facts.json of so many machines. Reported apart: reading and validating, deriving, evaluating, each in seconds over all
hosts and processes; the time for one rule and one item; the peak memory after a tenth of the hosts and after all.
Exits 1 when one rule and item take more than 25 microseconds, all hosts more than 20 seconds (on two processes), or
memory grows by more than a tenth. Run it on a machine that does nothing else.
"""

import argparse
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from advisor.commands._rules import loaded
from advisor.commands._snapshot import derive, probe_host
from advisor.discover import probe_models
from advisor.host.captured import open_root
from advisor.inputs import read_text
from advisor.model.snapshot import committed_json, parse_snapshot
from advisor.rulebook.evaluate import evaluate
from tests.gpu_node import gpu_node

MOST_MICROSECONDS = 25.0
MOST_SECONDS = 20.0
MOST_GROWTH = 1.1
SIZES = ((256, 8, 10, 8, 400), (64, 2, 2, 2, 60), (16, 0, 2, 1, 12))


@dataclass(frozen=True)
class Spent:
    """Seconds of one process, findings made, and its peak memory in MB early and late."""

    load: float
    derive: float
    evaluate: float
    findings: int
    early_mb: float
    late_mb: float


def main() -> int:
    """Measures and returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = _facts(Path(folder))
        shares = [
            [files[n % len(files)] for n in range(p, asked.hosts, asked.processes)] for p in range(asked.processes)
        ]
        start = time.perf_counter()
        with ProcessPoolExecutor(asked.processes, mp_context=get_context("spawn")) as pool:
            spent = list(pool.map(_work, shares))
        wall = time.perf_counter() - start
    return _report(asked.hosts, wall, spent)


def _facts(folder: Path) -> list[str]:
    files = []
    for number, size in enumerate(SIZES):
        root = folder / f"node{number}"
        root.mkdir()
        gpu_node(*size).write(root)
        snapshot, _ = probe_host(open_root(str(root)))
        file = folder / f"facts{number}.json"
        file.write_text(committed_json(snapshot))
        files.append(str(file))
    return files


def _work(files: list[str]) -> Spent:
    rules, models = loaded(), probe_models()
    load = deriving = evaluating = early = 0.0
    findings = 0
    for number, file in enumerate(files):
        start = time.perf_counter()
        snapshot = parse_snapshot(read_text(file), models, file)
        read = time.perf_counter()
        snapshot = derive(snapshot)
        derived = time.perf_counter()
        findings += len(evaluate(rules, snapshot).findings)
        load, deriving, evaluating = (
            load + read - start,
            deriving + derived - read,
            evaluating + time.perf_counter() - derived,
        )
        if number == len(files) // 10:
            early = _peak_mb()
    return Spent(load, deriving, evaluating, findings, early, _peak_mb())


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _report(hosts: int, wall: float, spent: list[Spent]) -> int:
    findings = sum(one.findings for one in spent)
    evaluating = sum(one.evaluate for one in spent)
    cost = evaluating / findings * 1e6
    growth = max(one.late_mb / one.early_mb for one in spent)
    print(f"{hosts} hosts, {findings} findings, {len(spent)} processes: {wall:.1f} s (at most {MOST_SECONDS:.0f})")
    print(f"  reading and validating {sum(one.load for one in spent):.1f} s, ", end="")
    print(f"deriving {sum(one.derive for one in spent):.1f} s, evaluating {evaluating:.1f} s (all processes)")
    print(f"  one rule and item: {cost:.1f} microseconds (at most {MOST_MICROSECONDS:.0f})")
    print(f"  peak memory {max(one.late_mb for one in spent):.0f} MB, {growth:.2f} of that after a tenth of the hosts")
    return int(cost > MOST_MICROSECONDS or wall > MOST_SECONDS or growth > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
