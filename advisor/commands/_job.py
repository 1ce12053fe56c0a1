"""The Job that a command works for, from its options and from what the host has."""

from advisor.model.job import Job
from advisor.model.snapshot import Snapshot
from advisor.probes.gpu import Gpu


def job_of(snapshot: Snapshot, ranks: int | None, data_path: str | None = None, output_path: str | None = None) -> Job:
    """The job with its number of ranks: ``--ranks``, else one for each GPU, else one. Paths as resolved on the host."""
    count, origin = (ranks, "--ranks") if ranks is not None else _one_for_each_gpu(snapshot)
    origins = {"ranks": origin, "data_path": "--data"}
    return Job(origin="the command line", origins=origins, ranks=count, data_path=data_path, output_path=output_path)


def _one_for_each_gpu(snapshot: Snapshot) -> tuple[int, str]:
    gpus = (snapshot.get(Gpu) or Gpu()).gpus
    usable = sum(gpu.lost is not True for gpu in gpus or ())
    return (usable, "one for each GPU") if usable else (1, "one, for no GPU is visible")
