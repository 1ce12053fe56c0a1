"""How many threads OpenMP takes in each process of a job: OMP_NUM_THREADS, as this session or its login has it.

PyTorch's own threads, and those of libraries in loader workers (OpenCV, NumPy's BLAS), follow it. Where nothing sets it
they take one for each core that they see, and torchrun sets 1 if it starts several ranks (torch/distributed/run.py).
"""

import re
from typing import Annotated

from advisor.model.facts import Facts, evidence_path
from advisor.probes.nccl_conf import NcclConf

NAME = "OMP_NUM_THREADS"
_NUMBER = re.compile(r"\s*(\d{1,6})\s*(?:,.*)?", re.ASCII)


class Threads(Facts):
    """Threads that a process started from here takes."""

    openmp_told: Annotated[bool | None, "OMP_NUM_THREADS is set in this session, or for logins"] = None
    openmp: Annotated[int | None, "its number, the outermost one of several"] = None


def derive(nccl_conf: NcclConf) -> Threads:
    """What the environment says; it counts before the files of logins."""
    environment, logins = nccl_conf.environment, nccl_conf.logins
    session = [(one.value, evidence_path(nccl_conf, "environment")) for one in environment or () if one.name == NAME]
    login = [(one.value, one.path) for one in logins or () if one.name == NAME]
    found = session or login[-1:]
    unknown = "environment" if environment is None else "logins"
    origin = found[0][1] if found else evidence_path(nccl_conf, unknown if None in (environment, logins) else "logins")
    told = True if found else None if None in (environment, logins) else False
    return Threads(origin=origin, openmp_told=told, openmp=parse_threads(found[0][0] or "") if found else None)


def parse_threads(text: str) -> int | None:
    """The outermost number. Samples: ``8``, ``4,2`` (one for each level of nesting)"""
    number = _NUMBER.fullmatch(text)
    return int(number[1]) if number and int(number[1]) > 0 else None
