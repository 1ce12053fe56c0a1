"""What loader workers take, from how many there are."""

import pytest

from advisor.derived.loader import LoaderUse, derive
from advisor.model.job import Job

MIB = 1 << 20


def job(**told: int) -> Job:
    return Job(**{"ranks": 2, "workers": 4, "prefetch_factor": 3, "batch_bytes": MIB, **told})


def test_each_rank_has_workers_and_batches_of_its_own() -> None:
    use = derive(job())
    assert use.workers == 8
    assert use.tasks == 2 * (1 + 2 * 4)
    assert use.shm_bytes == 2 * (4 * 3 + 2) * MIB
    assert use.memory_bytes == use.shm_bytes + 8 * 10 * MIB
    assert use.open_files == 512 + 10 * 2 * (4 * 3 + 2)


def test_without_workers_nothing_goes_through_shared_memory() -> None:
    use = derive(Job(ranks=2, workers=0))
    assert (use.workers, use.tasks, use.shm_bytes, use.memory_bytes, use.open_files) == (0, 2, 0, 0, 0)


def test_bytes_are_not_known_while_those_of_a_batch_are_not() -> None:
    use = derive(Job(ranks=2, workers=4, prefetch_factor=2))
    assert use.shm_bytes is None
    assert use.memory_bytes is None
    assert use.origins["shm_bytes"] == "--batch-bytes"
    assert use.open_files == 512 + 10 * 2 * (4 * 2 + 2)


@pytest.mark.parametrize(
    ("told", "origin"), [(Job(ranks=2), "--workers"), (Job(workers=4, prefetch_factor=2), "--ranks")]
)
def test_nothing_is_known_while_the_number_of_workers_or_ranks_is_not(told: Job, origin: str) -> None:
    assert derive(told) == LoaderUse(origin=origin)
