"""The Python environment that advisor runs in, read without importing what is in it."""

import re
import sys
import sysconfig
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Facts, Seen
from advisor.probes._sysfs import quiet_names, quiet_text

ORIGIN = "python environment"
FORKSERVER_SINCE = (3, 14)
_DIST_INFO = re.compile(r"(\w+)-(\d[^-]*)\.dist-info")
_NCCL = "nvidia_nccl_cu"


class Python(Facts):
    """The interpreter and the training libraries beside it; not known of a captured host."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "python environment"
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
    if host.kind != "live":
        host.missed(ORIGIN, "not captured")
        return Python(origin=ORIGIN)
    found = _packages(host)
    torch = found.get("torch")
    full, cuda = parse_torch_version(_torch_text(host, torch)) if torch else (None, None)
    version, _, label = (full or "").partition("+")
    nccl = next((found[name][1] for name in sorted(found, reverse=True) if name.startswith(_NCCL)), None)
    if torch is None:
        host.missed(f"{ORIGIN}/torch", "absent")
    elif cuda is None:
        host.missed(f"{ORIGIN}/torch/cuda", "absent")
    if nccl is None:
        # Other builds of PyTorch carry NCCL inside.
        host.missed(f"{ORIGIN}/torch/nccl", "unsupported" if cuda else "absent")
    return Python(
        origin=ORIGIN,
        version=sys.version_info[:3],
        implementation=sys.implementation.name,
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        start_method=default_start_method(sys.version_info[:2]),
        torch_version=version or None,
        torch_build=label or None,
        torch_cuda=cuda,
        nccl_version=nccl,
        origins={
            "torch_version": f"{ORIGIN}/torch",
            "torch_build": f"{ORIGIN}/torch",
            "torch_cuda": f"{ORIGIN}/torch/cuda",
            "nccl_version": f"{ORIGIN}/torch/nccl",
        },
    )


def default_start_method(version: tuple[int, int]) -> str:
    """How multiprocessing starts processes on Linux by default."""
    return "fork" if version < FORKSERVER_SINCE else "forkserver"


def _packages(host: Host) -> dict[str, tuple[str, str]]:
    """Folder and version of the packages that matter, as the interpreter would find them."""
    found: dict[str, tuple[str, str]] = {}
    for folder in sys.path:
        if not folder.startswith("/") or folder.endswith(".zip"):
            continue
        for entry in quiet_names(host, folder) or ():
            named = _DIST_INFO.fullmatch(entry)
            if named and (named[1] == "torch" or named[1].startswith(_NCCL)):
                found.setdefault(named[1], (folder, named[2]))
    return found


def _torch_text(host: Host, torch: tuple[str, str]) -> str:
    folder, version = torch
    return quiet_text(host, f"{folder}/torch/version.py") or f"__version__ = {version!r}"


def parse_torch_version(text: str) -> tuple[str | None, str | None]:
    """Version and CUDA version of PyTorch from its ``version.py``.

    Sample: ``__version__ = '2.9.0+cu130'``, ``cuda: Optional[str] = '13.0'``, one a line; ``None`` without CUDA
    """
    version = re.search(r"^__version__ = '([^'\n]{1,60})'", text, re.MULTILINE)
    cuda = re.search(r"^cuda\b[^=\n]*= '([^'\n]{1,20})'", text, re.MULTILINE)
    return version[1] if version else None, cuda[1] if cuda else None
