"""The Python environment that advisor runs in, read without importing what is in it."""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts

ORIGIN = "python environment"


class Python(Facts):
    """The interpreter and the training libraries beside it; not known of a captured host."""

    version: Annotated[tuple[int, int, int] | None, "of the interpreter"] = None
    implementation: Annotated[str | None, "cpython, pypy ..."] = None
    free_threaded: Annotated[bool | None, "built without the global lock"] = None
    start_method: Annotated[str | None, "how multiprocessing starts a process by default: fork or forkserver"] = None
    torch_version: Annotated[str | None, "of PyTorch, without its build label"] = None
    torch_build: Annotated[str | None, "the label: cu130, cpu, rocm6.4 ..."] = None
    torch_cuda: Annotated[str | None, "CUDA that PyTorch was built for; none: built without"] = None
    nccl_version: Annotated[str | None, "of the NCCL package that PyTorch brings"] = None


def read(host: Host) -> Python:
    """The Python environment of ``host``."""
    return Python(origin=ORIGIN)
