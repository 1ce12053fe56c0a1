"""How near the best point the search comes on simulated hosts, in a fraction of the time that their grids take."""

import pytest

from tests.tuning.landscapes import Host, Landscape, Measured, grid_seconds
from tests.tuning.policies import advisor, doubling
from tests.tuning.simulated_hosts import drawn, landscapes

HOSTS = {land.name: land for land in (*landscapes(), drawn(3))}
NEAR = 0.96


@pytest.mark.parametrize(
    "name",
    [
        "jpeg, slow GPU",
        "object store",
        "volumes, small /dev/shm",
        "step-bound already",
        "workers thrash",
        "drawn 3",
    ],
)
def test_a_tenth_of_the_grids_time_finds_what_comes_near_its_best(name: str) -> None:
    host = Host(HOSTS[name])
    share, seconds = searched(host)
    assert share >= NEAR
    assert seconds <= 0.1 * grid_seconds(host)


def test_different_noise_leads_to_the_same_speed() -> None:
    host = Host(HOSTS["disk that saturates"])
    shares = [searched(host, seed)[0] for seed in range(3)]
    assert max(shares) / min(shares) < 1.05


def test_a_search_that_doubles_stops_where_a_plateau_begins_too_early() -> None:
    """The simulated hosts tell policies apart: one that is known to fall short does so."""
    host = Host(HOSTS["workers thrash"])
    machine = Measured(host, 0)
    land = host.landscape
    chosen = doubling(land.job(), land.grid(), machine, 1e9, 0)
    assert host.rate(chosen) < NEAR * best(host)


def searched(host: Host, seed: int = 0) -> tuple[float, float]:
    """The share of the best that the search reaches in a tenth of the grid's time, and the seconds it measured."""
    machine, land = Measured(host, seed), host.landscape
    chosen = advisor(land.job(), [], machine, 0.1 * grid_seconds(host), seed)
    return host.rate(chosen) / best(host), machine.now


def best(host: Host) -> float:
    """The best speed of the grid."""
    return max(map(host.rate, host.landscape.grid()))


def test_a_played_loader_is_as_fast_as_its_slowest_part() -> None:
    """The simulation itself: without noise and crowding, what is known by hand."""
    waits = Landscape("waits", 64, 1, 1e-6, 1e-2, spread=0.0, launch=1e-3, step=0.0, depth=1e9, crowding=0.0)
    host, grid = Host(waits), waits.grid()
    by_workers = {c.num_workers: host.rate(c) for c in grid if c.prefetch_factor == 2 and c.batch_size == 32}
    assert by_workers[4] == pytest.approx(4 * 100, rel=0.03)
    assert by_workers[8] == pytest.approx(8 * 100, rel=0.03)
    alone = next(c for c in grid if c.num_workers == 0 and c.batch_size == 32)
    assert host.rate(alone) == pytest.approx(32 / (1e-3 + 0.32), rel=0.01)
    assert host.rate(alone, "cached") == pytest.approx(32_000)
