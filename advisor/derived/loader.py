"""What the loader workers that the operator told of take on this node: tasks, shared memory, memory and open files.

Each rank has workers of its own. All in all they keep ``workers * prefetch_factor`` batches, the loop holds up to
two more, and all of them lie in /dev/shm (measured with PyTorch 2.13, both sharing strategies).
"""

from typing import Annotated

from advisor.model.facts import Facts, evidence_path
from advisor.model.job import Job

PREFETCH_FACTOR = 2
"""What PyTorch takes when it is not told."""
HELD_BATCHES = 2
"""By the loop: the one in use, and the next where batches are copied to the GPU in advance."""
TASKS_PER_WORKER = 2
"""The process and the thread that feeds its queue."""
TENSORS = 2
"""In a batch, where nobody counted them: input and target."""
KEPT = 10
"""Times as many tensors as are on their way: some loops keep a few batches, which keeps their files open."""
OTHER_FILES = 512
WORKER_BYTES = 10 << 20
"""What a forked worker has for itself at least: it shares the rest with its trainer."""


class LoaderUse(Facts):
    """Needs of the workers that were told; none is known while the number of workers is not."""

    workers: Annotated[int | None, "loader workers of all ranks"] = None
    tasks: Annotated[int | None, "processes and threads of trainers and workers, at least"] = None
    shm_bytes: Annotated[int | None, "batches of all ranks in /dev/shm at once; 0 without workers"] = None
    memory_bytes: Annotated[int | None, "those batches and the workers themselves, at least"] = None
    open_files: Annotated[int | None, "of each rank, with room for batches that the loop keeps"] = None


def derive(job: Job) -> LoaderUse:
    """What the loaders of ``job`` take."""
    told, ranks, workers = evidence_path(job, "workers"), job.ranks, job.workers
    if workers is None or ranks is None:
        return LoaderUse(origin=evidence_path(job, "ranks") if workers is not None else told)
    batches = workers * (job.prefetch_factor or PREFETCH_FACTOR) + HELD_BATCHES if workers else 0
    shm = 0 if not workers else None if job.batch_bytes is None else ranks * batches * job.batch_bytes
    return LoaderUse(
        origin=told,
        workers=ranks * workers,
        tasks=ranks * (1 + TASKS_PER_WORKER * workers),
        shm_bytes=shm,
        memory_bytes=None if shm is None else shm + ranks * workers * WORKER_BYTES,
        open_files=OTHER_FILES + KEPT * TENSORS * batches if workers else 0,
        origins=dict.fromkeys(("shm_bytes", "memory_bytes"), evidence_path(job, "batch_bytes")),
    )
