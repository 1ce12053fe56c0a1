"""How near the best point searches come, on simulated hosts of 8 to 256 CPUs, ten times each.

    python benchmarks/simulated_search.py [--drawn 20] [--runs 10] [--processes 2] [--each]

Each host has a grid of 75 to 2,500 points, of which each would be measured in five windows. A search may measure for a
tenth of the time that the whole grid takes, for a third where the grid has less than 200 points. Reported for each
policy over all hosts: the share of the best speed of the grid, of a host's median run and of its worst, as median and
as least over the hosts; the share of hosts whose median run comes within 3 % of the best; the share of the grid's time
that was measured; trials; and the share of hosts in which nine of ten runs agree, in that the speeds of what they chose
differ from their median by less than 3 %. Exits 1 when advisor's median falls below 97 %. It measures nothing of the
machine that it runs on, so the same seeds give the same figures anywhere.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.tuning.landscapes import Host, Landscape, Measured, grid_seconds
from tests.tuning.policies import POLICIES, Policy
from tests.tuning.simulated_hosts import drawn, landscapes

SMALL_GRID = 200
SMALL_SHARE, LARGE_SHARE = 1 / 3, 1 / 10
GOAL, SAME = 0.97, 0.03
WITH_ADVISORS_TIME, SAME_TIME = ("random", "TPE"), ", same time"
"""Policies that use up whatever time they get: run once more for as long as advisor took on the host."""


@dataclass(frozen=True)
class Runs:
    """The runs of a policy on one host."""

    host: str
    points: int
    policy: str
    shares: tuple[float, ...]
    """Of the best speed of the grid."""
    times: tuple[float, ...]
    """Of the time that measuring the grid takes."""
    trials: tuple[int, ...]

    def agree(self) -> bool:
        """Whether nine of ten runs chose points of one speed."""
        middle = median(self.shares)
        return sum(abs(s / middle - 1) < SAME for s in self.shares) >= 0.9 * len(self.shares)


def main() -> int:
    """Runs all and returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--drawn", type=int, default=20, help="hosts at random beside the chosen ones")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--each", action="store_true", help="a line for each host too")
    asked = parser.parse_args()
    hosts = [*landscapes(), *map(drawn, range(asked.drawn))]
    with ProcessPoolExecutor(asked.processes) as pool:
        found = [runs for of_host in pool.map(partial(_runs, count=asked.runs), hosts) for runs in of_host]
    if asked.each:
        _print_each([runs for runs in found if runs.policy == "advisor"])
    print(f"{len(hosts)} hosts, {asked.runs} runs each")
    columns = (("median run", 17), ("worst run", 16), ("hosts >= 97 %", 14), ("time", 7), ("trials", 7), ("agree", 6))
    print(f"{'policy':<18} " + " ".join(f"{name:>{width}}" for name, width in columns))
    policies = [*POLICIES, *(f"{name}{SAME_TIME}" for name in WITH_ADVISORS_TIME)]
    return 0 if all([_print_policy(policy, [r for r in found if r.policy == policy]) for policy in policies]) else 1


def _runs(landscape: Landscape, count: int) -> list[Runs]:
    host = Host(landscape)
    grid, whole = landscape.grid(), grid_seconds(host)
    best = max(map(host.rate, grid))
    budget = whole * (SMALL_SHARE if len(grid) < SMALL_GRID else LARGE_SHARE)
    found: list[Runs] = []

    def run(name: str, policy: Policy, seconds: float) -> None:
        shares, times, trials = [], [], []
        for seed in range(count):
            machine = Measured(host, seed)
            chosen = policy(landscape.job(), grid, machine, seconds, seed)
            shares.append(host.rate(chosen) / best)
            times.append(machine.now / whole)
            trials.append(machine.trials)
        found.append(Runs(landscape.name, len(grid), name, tuple(shares), tuple(times), tuple(trials)))

    for name, policy in POLICIES.items():
        run(name, policy, budget)
    for name in WITH_ADVISORS_TIME:
        run(f"{name}{SAME_TIME}", POLICIES[name], median(found[0].times) * whole)
    return found


def _print_each(found: list[Runs]) -> None:
    print(f"{'host':<28} {'points':>6} {'median':>7} {'worst':>6} {'time':>6} {'trials':>6} agree")
    for runs in found:
        print(
            f"{runs.host:<28} {runs.points:>6} {median(runs.shares):>7.3f} {min(runs.shares):>6.3f} "
            f"{median(runs.times):>6.3f} {median(runs.trials):>6.0f} {'yes' if runs.agree() else 'no'}"
        )


def _print_policy(policy: str, found: list[Runs]) -> bool:
    """Prints a line; whether the policy need not or does come near the best."""
    middle = [median(runs.shares) for runs in found]
    worst = [min(runs.shares) for runs in found]
    near = sum(share >= GOAL for share in middle) / len(found)
    print(
        f"{policy:<18} {median(middle):>8.3f}, {min(middle):>5.3f}+ {median(worst):>8.3f}, {min(worst):>5.3f}+ "
        f"{near:>12.0%} {median(t for r in found for t in r.times):>7.1%} "
        f"{median(t for r in found for t in r.trials):>7.0f} {sum(r.agree() for r in found) / len(found):>6.0%}"
    )
    return policy != "advisor" or median(middle) >= GOAL


if __name__ == "__main__":
    sys.exit(main())
