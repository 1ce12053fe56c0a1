"""Files about the machine that the user gives beside it, where the machine itself cannot answer.

The machine's own answer stays where it has one; what such a file says otherwise is kept as a `Disagreement`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

from advisor.model.facts import Facts, Seen, evidence_path, marks
from advisor.probes._nccl_xml import parse_nccl_topo
from advisor.probes._smi_xml import parse_smi_xml
from advisor.probes._topo_matrix import parse_topo

F = TypeVar("F", bound=Facts)
SMI_XML, TOPO_M, NCCL_TOPO = "nvidia-smi-xml", "topo-m", "nccl-topo"


_XML_BYTES = 16 * 1024 * 1024
"""nvidia-smi writes some 100 KiB for a GPU."""
_TEXT_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Kind:
    """One kind of such a file."""

    made_by: str
    """What writes it, for people."""
    limit_bytes: int

    origin: str
    """Evidence of what is read from it: never the user's name for it, which may name the host."""
    parse: Callable[[str], object]
    """Raises NotReadable."""


KINDS: Mapping[str, Kind] = {
    SMI_XML: Kind("nvidia-smi -q -x > FILE", _XML_BYTES, "file: nvidia-smi.xml", parse_smi_xml),
    TOPO_M: Kind("nvidia-smi topo -m > FILE", _TEXT_BYTES, "file: topo-m.txt", parse_topo),
    NCCL_TOPO: Kind("a job with NCCL_TOPO_DUMP_FILE=FILE", _XML_BYTES, "file: nccl-topo.xml", parse_nccl_topo),
}
"""By the name of their option and in `Host.given`."""


class Disagreement(Facts):
    """Something that the machine and a given file say differently; the machine's is kept."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "file: nvidia-smi.xml"
    subject: Annotated[str, "the device, or the two, or what is counted"]
    what: Annotated[str, "which of its values"]
    here: Annotated[str | None, "what the machine says; none for what is private"] = None
    given: Annotated[str | None, "what the file says; none for what is private"] = None


def filled(own: F, given: F, subject: str, coarse: Mapping[str, float]) -> tuple[F, tuple[Disagreement, ...]]:
    """``own`` with what only ``given`` knows, and where the two disagree; ``own`` stays where it has a value.

    Its ``origin`` becomes that of the side that tells more. ``coarse``: field to the largest difference that is no
    disagreement. What changes by itself may differ.
    """
    values: dict[str, Any] = {}
    differing = []
    known = marks(type(own))
    for name, mark in known.items():
        mine, other = getattr(own, name), getattr(given, name)
        if mine is None and other is not None:
            values[name] = other
        elif other is not None and not mark.volatile and not _same(mine, other, coarse.get(name, 0)):
            differing.append(disagreement(given.origin, subject, name, mine, other, private=mark.private))
    if not values:
        return own, tuple(differing)
    told = {name: getattr(own, name) for name in known if getattr(own, name) is not None}
    if len(values) > len(told):
        origins = {**given.origins, **{name: evidence_path(own, name) for name in told}}
        return given.model_copy(update={**told, "origins": origins}), tuple(differing)
    origins = {**own.origins, **{name: evidence_path(given, name) for name in values}}
    return own.model_copy(update={**values, "origins": origins}), tuple(differing)


def disagreement(origin: str, subject: str, what: str, here: Any, given: Any, private: bool = False) -> Disagreement:
    """The Disagreement of two values, in words."""
    told = (None, None) if private else (_words(here), _words(given))
    return Disagreement(origin=origin, subject=subject, what=what, here=told[0], given=told[1])


def _same(mine: Any, other: Any, coarse: float) -> bool:
    if isinstance(mine, int | float) and isinstance(other, int | float) and not isinstance(mine, bool):
        return abs(mine - other) <= coarse
    return bool(mine == other)


def _words(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
