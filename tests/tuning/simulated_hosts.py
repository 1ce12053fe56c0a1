"""The hosts and jobs that the search is tried on, without a process: chosen ones, and any number at random."""

from random import Random

from advisor.tuning.batching import Declared
from tests.tuning.landscapes import Landscape


def landscapes() -> tuple[Landscape, ...]:
    """Hosts of 48 to 256 CPUs with 1 to 8 ranks, under jobs whose best points lie far apart."""
    return (
        Landscape("jpeg, slow GPU", 64, 4, 6e-3, 2e-4, launch=8e-3, step=3e-3, wave=8),
        Landscape(
            "jpeg, fast GPU", 192, 8, 8e-3, 3e-4, launch=4e-3, step=4e-4, wave=8,
            declared=Declared(batch_size=64, num_workers=4, prefetch_factor=2, has_step=True),
        ),
        Landscape("jpeg, one rank, many cores", 96, 1, 5e-3, 1e-4, launch=5e-3, step=1.2e-4, crowding=0.8),
        Landscape(
            "object store", 128, 8, 6e-4, 3e-2, spread=0.8, launch=5e-3, step=5e-4, depth=400,
            declared=Declared(batch_size=32, num_workers=8, prefetch_factor=2, has_step=True),
        ),
        Landscape("disk that saturates", 64, 4, 4e-4, 4e-3, spread=0.5, launch=2e-3, step=5e-5, depth=24),
        Landscape(
            "in memory", 128, 8, 8e-6, 0.0, sample_bytes=3_000, launch=3e-3, step=2e-5, per_batch=6e-4,
            declared=Declared(batch_size=64, num_workers=8, prefetch_factor=2, has_step=True),
        ),
        Landscape(
            "tokens", 256, 8, 6e-5, 1e-5, sample_bytes=32_000, launch=2e-2, step=8e-3, update=3e-2, wave=2,
            declared=Declared(batch_size=4, global_batch=512, has_step=True),
        ),
        Landscape(
            "accumulation wasted", 192, 8, 9e-4, 1e-4, launch=1.5e-2, step=3e-4, update=2e-2, wave=4,
            declared=Declared(batch_size=8, global_batch=1024, num_workers=2, has_step=True),
        ),
        Landscape("heavy tail", 96, 4, 2e-3, 1e-3, spread=0.6, slow_share=0.01, slow_factor=60, launch=4e-3, step=6e-4),
        Landscape(
            "volumes, small /dev/shm", 64, 4, 3e-2, 5e-3, sample_bytes=16 << 20, launch=5e-2, step=6e-3,
            shm_bytes=24 << 30, declared=Declared(batch_size=4, global_batch=64, has_step=True),
        ),
        Landscape("audio, network", 128, 4, 4e-3, 1.2e-2, spread=0.7, sample_bytes=600_000, launch=6e-3, step=2e-3),
        Landscape(
            "step-bound already", 64, 8, 5e-4, 1e-4, launch=1e-2, step=4e-3,
            declared=Declared(batch_size=16, num_workers=8, prefetch_factor=4, has_step=True),
        ),
        Landscape(
            "loop copies slowly", 128, 4, 1.5e-3, 2e-4, sample_bytes=4 << 20, bytes_per_second=2.5e9, launch=3e-3,
            step=4e-4, declared=Declared(batch_size=32, num_workers=16, prefetch_factor=2, has_step=True),
        ),
        Landscape("too few cores", 48, 8, 1.5e-2, 1e-3, launch=5e-3, step=1e-3, crowding=1.0, noise=0.03),
        Landscape(
            "small host, waits", 8, 1, 3e-4, 1e-2, spread=0.4, launch=1e-2, step=5e-4, noise=0.03, outliers=0.08
        ),
        Landscape(
            "small host, computes", 8, 1, 4e-3, 2e-4, launch=1e-2, step=5e-4, crowding=1.0,
            declared=Declared(batch_size=32, global_batch=64, num_workers=2, has_step=True),
        ),
        Landscape(
            "workers thrash", 96, 2, 3e-3, 1e-4, thrash=0.12, launch=5e-3, step=2e-4,
            declared=Declared(batch_size=32, num_workers=24, prefetch_factor=2, has_step=True),
        ),
        Landscape(
            "far socket", 128, 2, 6e-3, 2e-4, far=2.5, thrash=0.01, launch=4e-3, step=2e-4,
            declared=Declared(batch_size=64, global_batch=1920, num_workers=8, has_step=True),
        ),
        Landscape(
            "very noisy", 64, 4, 3e-3, 6e-3, spread=0.7, launch=6e-3, step=8e-4, noise=0.05, window_noise=0.04,
            outliers=0.1, declared=Declared(batch_size=32, global_batch=512, num_workers=4, has_step=True),
        ),
        Landscape("loader alone", 64, 1, 2e-3, 1.5e-2, launch=0.0, declared=Declared(batch_size=64)),
    )  # fmt: skip


def drawn(seed: int) -> Landscape:
    """A landscape at random: any host under any job."""
    dice = Random(seed)

    def between(low: float, high: float) -> float:
        return low * (high / low) ** dice.random()

    ranks = dice.choice((1, 2, 4, 8))
    batch = dice.choice((4, 8, 16, 32, 64))
    workers = dice.choice((0, 0, 2, 4, 8))
    return Landscape(
        f"drawn {seed}", dice.choice((64, 96, 128, 192, 256)), ranks, between(1e-4, 2e-2), between(1e-5, 3e-2),
        spread=dice.uniform(0.1, 0.9), slow_share=dice.choice((0.0, 0.0, 0.01)), sample_bytes=int(between(4e3, 4e6)),
        depth=between(20, 2000), launch=between(1e-3, 3e-2), step=between(2e-5, 4e-3), update=between(1e-4, 3e-2),
        wave=dice.choice((1, 2, 4, 8)), per_batch=between(1e-4, 1e-3), bytes_per_second=between(2e9, 1e10),
        crowding=dice.uniform(0.0, 1.0), thrash=dice.choice((0.0, 0.0, between(1e-3, 1e-1))),
        far=dice.choice((1.0, 1.0, dice.uniform(1.2, 3.0))), noise=dice.uniform(0.005, 0.04),
        window_noise=dice.uniform(0.005, 0.04), outliers=dice.uniform(0.0, 0.08),
        declared=Declared(
            batch_size=batch, global_batch=batch * ranks * dice.choice((1, 4, 12)), num_workers=workers,
            prefetch_factor=2 if workers else None, has_step=True,
        ),
    )  # fmt: skip
