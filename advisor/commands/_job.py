"""The Job that a command works for, from its options and from what the host has."""

import functools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from advisor.derived.loader import PREFETCH_FACTOR
from advisor.errors import InputError
from advisor.inputs import printable
from advisor.model.job import Job
from advisor.model.setting import Setting
from advisor.model.snapshot import Snapshot
from advisor.probes.gpu import Gpu
from advisor.targets.launch import KEY, MODES

LAUNCH = "launch"
_Command = TypeVar("_Command", bound=Callable[..., object])


@dataclass(frozen=True)
class Sizes:
    """What the operator says of the batches that loader workers make, and of the files the job reads and writes."""

    prefetch_factor: int = PREFETCH_FACTOR
    batch_bytes: int | None = None
    data_file_bytes: int | None = None
    checkpoint_bytes: int | None = None


NOT_TOLD = Sizes()
_BYTES = click.IntRange(1, 1 << 50)


def job_options(command: _Command) -> _Command:
    """Adds the options that say what the job is: ``--ranks``, ``--workers``, ``--bound``, ``--data``, ....

    The command gets ``sizes`` for ``--prefetch-factor`` and the options that end in ``-bytes``.
    """

    @functools.wraps(command)
    def with_sizes(
        *arguments: Any,
        prefetch_factor: int,
        batch_bytes: int | None,
        data_file_bytes: int | None,
        checkpoint_bytes: int | None,
        **options: Any,
    ) -> object:
        sizes = Sizes(prefetch_factor, batch_bytes, data_file_bytes, checkpoint_bytes)
        return command(*arguments, sizes=sizes, **options)

    file_options(with_sizes)
    click.option("--batch-bytes", type=_BYTES, metavar="N", help="Bytes of a batch of one rank.")(with_sizes)
    click.option(
        "--prefetch-factor",
        type=click.IntRange(1, 65536),
        default=PREFETCH_FACTOR,
        show_default=True,
        metavar="N",
        help="Batches that each worker makes in advance.",
    )(with_sizes)
    return _options(with_sizes)  # type: ignore[return-value]


def file_options(command: _Command) -> _Command:
    """Adds ``--data-file-bytes`` and ``--checkpoint-bytes``."""
    told = "Bytes of one checkpoint, all that this node writes of it."
    click.option("--checkpoint-bytes", type=_BYTES, metavar="N", help=told)(command)
    told = "Bytes of a usual file of the data set that is read from front to back."
    return click.option("--data-file-bytes", type=_BYTES, metavar="N", help=told)(command)


def _options(command: Callable[..., object]) -> Callable[..., object]:
    paths = "Facts about its file system decide some rules."
    click.option("--checkpoints", metavar="PATH", help=f"Where the job writes its checkpoints. {paths}")(command)
    click.option("--data", metavar="PATH", help=f"Where the job reads its data. {paths}")(command)
    told = "Whether the launcher binds each rank to the NUMA node of its GPU."
    click.option("--bound/--unbound", default=None, help=told)(command)
    told = "DataLoader workers of each rank, as the job is started now."
    click.option("--workers", type=click.IntRange(0, 65536), metavar="N", help=told)(command)
    ranks = click.IntRange(1, 4096)
    click.option("--ranks", type=ranks, metavar="N", help="Training processes on this node (default: its GPUs).")(
        command
    )
    return command


def job_of(snapshot: Snapshot, ranks: int | None, data_path: str | None = None, output_path: str | None = None) -> Job:
    """The job with its number of ranks: ``--ranks``, else one for each GPU, else one. Paths as resolved on the host."""
    count, origin = (ranks, "--ranks") if ranks is not None else _one_for_each_gpu(snapshot)
    origins = {**Job().origins, "ranks": origin}
    return Job(origin="the command line", origins=origins, ranks=count, data_path=data_path, output_path=output_path)


def job_told(
    snapshot: Snapshot,
    ranks: int | None,
    data: str | None = None,
    checkpoints: str | None = None,
    workers: int | None = None,
    bound: bool | None = None,
    sizes: Sizes = NOT_TOLD,
) -> Job:
    """The job that the options of `job_options` tell. Raises InputError for a path that cannot be meant."""
    here = snapshot.source.kind == "live"
    job = job_of(snapshot, ranks, _path("--data", data, here), _path("--checkpoints", checkpoints, here))
    told = {"workers": workers, "bound": bound, "batch_bytes": sizes.batch_bytes}
    told |= {"data_file_bytes": sizes.data_file_bytes, "checkpoint_bytes": sizes.checkpoint_bytes}
    told["prefetch_factor"] = sizes.prefetch_factor if workers else None
    return job.model_copy(update=told)


def bound_as(job: Job, settings: Iterable[Setting]) -> Job:
    """``job`` with the binding that ``settings`` ask job/launch.sh for, if they do."""
    asked = [s.value for s in settings if (s.target, s.key) == (LAUNCH, KEY) and s.value in MODES]
    return job.model_copy(update={"numa_binding": asked[-1]}) if asked else job


def _one_for_each_gpu(snapshot: Snapshot) -> tuple[int, str]:
    gpus = (snapshot.get(Gpu) or Gpu()).gpus
    usable = sum(gpu.lost is not True for gpu in gpus or ())
    return (usable, "one for each GPU") if usable else (1, "one, for no GPU is visible")


def _path(option: str, path: str | None, here: bool) -> str | None:
    """A path of the job as the host sees it: links resolved on this host, taken as written for another one."""
    if path is None:
        return None
    if here:
        return os.path.realpath(path)
    if not path.startswith("/"):
        raise InputError(f"{option} {printable(path)} must be an absolute path when the host is not this one")
    return os.path.normpath(path)
