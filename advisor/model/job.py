"""What the operator says of the training job: not a fact of the host, so never in facts.json."""

from typing import Annotated

from pydantic import Field

from advisor.model.facts import Facts


class Job(Facts):
    """The job to be configured. ``origin`` says where a value comes from (``--ranks``, ``visible GPUs`` ...)."""

    origins: dict[str, str] = Field(
        default_factory=lambda: {
            "ranks": "--ranks",
            "workers": "--workers",
            "prefetch_factor": "--prefetch-factor",
            "batch_bytes": "--batch-bytes",
            "bound": "--bound",
            "numa_binding": "--set",
            "data_path": "--data",
            "output_path": "--checkpoints",
            "data_file_bytes": "--data-file-bytes",
            "checkpoint_bytes": "--checkpoint-bytes",
        }
    )
    ranks: int | None = None
    """Training processes on this node."""
    workers: int | None = None
    """DataLoader workers of each rank, as the job is started now."""
    workers_measured: Annotated[bool, "a search measured these workers and fewer, and fewer were slower"] = False
    prefetch_factor: Annotated[int | None, "batches that each worker makes in advance; none without workers"] = None
    batch_bytes: Annotated[int | None, "one batch of one rank, as its loader hands it over"] = None
    bound: bool | None = None
    """The launcher binds each rank to the NUMA node of its GPU."""
    numa_binding: Annotated[str | None, "what job/launch.sh is told: by the operator, or as trials ran"] = None
    data_path: str | None = None
    """Absolute path of the data set on the host, links resolved."""
    output_path: str | None = None
    """Absolute path that checkpoints go to, links resolved."""
    data_file_bytes: Annotated[int | None, "a usual file of the data set that is read from front to back"] = None
    checkpoint_bytes: Annotated[int | None, "one checkpoint, all that this node writes of it"] = None
