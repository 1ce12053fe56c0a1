"""NVMe controllers: what the kernel tells of them and, to root with nvme-cli, cache and health of local drives.

Formats: https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-nvme and NVM Express Base Specification,
Identify Controller (VWC) and SMART / Health Information.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from advisor.host.base import Host, Output, command_origin
from advisor.host.fields import read_fields
from advisor.model.facts import Counter, Facts, File, GapState, Private, Root, Seen, Volatile
from advisor.probes._collected import Collected
from advisor.probes._sysfs import is_pci_address, pci_chain
from advisor.probes._together import run_together

ORIGIN = "/sys/class/nvme"
PROGRAM = "nvme"
QUESTIONS = ("id-ctrl", "smart-log")
_NAME = re.compile(r"nvme\d{1,6}")
_NAMESPACE = re.compile(r"(nvme\d+)(?:c\d+)?(n\d+)")


class NvmeController(Facts):
    """One NVMe controller, from its folder in sysfs and from nvme-cli."""

    name: str
    model: Annotated[str | None, File("model", unknown=("",))] = None
    serial: Annotated[str | None, File("serial", unknown=("",)), Private()] = None
    firmware: Annotated[str | None, File("firmware_rev", unknown=("",)), "revision"] = None
    transport: Annotated[str | None, File("transport", unknown=("",)), "pcie, tcp, rdma, fc or loop"] = None
    state: Annotated[str | None, File("state", unknown=("",)), "live, resetting, connecting, dead ..."] = None
    numa_node: Annotated[int | None, File("numa_node", unknown=("-1",))] = None
    queue_count: Annotated[int | None, File("queue_count"), "I/O queues and the one for administration"] = None
    queue_entries: Annotated[int | None, File("sqsize"), "requests that fit in a queue, less one"] = None
    controller_type: Annotated[str | None, File("cntrltype", unknown=("", "reserved")), "io, discovery or admin"] = None
    pci_address: Annotated[str | None, File("address"), "of a local drive"] = None
    namespaces: Annotated[tuple[str, ...] | None, "block devices on it, a multipath one by its head's name"] = None
    volatile_write_cache: Annotated[
        bool | None, Root(), "caches writes and loses them without power unless flushed"
    ] = None
    critical_warning: Annotated[
        int | None,
        Volatile(),
        Root(),
        "bits: 1 spare low, 2 too hot, 4 unreliable, 8 read-only, 16 cache backup failed",
    ] = None
    percent_used: Annotated[int | None, Volatile(), Root(), "of the writes it is made for; may pass 100"] = None
    media_errors: Annotated[int | None, Counter(), "data it could not recover, over its life"] = None


class Nvme(Facts):
    """The NVMe controllers."""

    seen: ClassVar[Seen | None] = "host"
    controllers: Annotated[tuple[NvmeController, ...] | None, "by name"] = None


COLLECTED = Collected(models=((f"{ORIGIN}/*", NvmeController),), folders=((ORIGIN, "*"), (f"{ORIGIN}/*", "")))


def read(host: Host) -> Nvme:
    """The NVMe controllers of ``host``."""
    names = host.names(ORIGIN)
    if names is None:
        return Nvme(origin=ORIGIN, controllers=() if host.gaps.get(ORIGIN) == "absent" else None)
    found = [_from_sysfs(host, name) for name in names if _NAME.fullmatch(name)]
    local = [one.name for one in found if one.transport == "pcie"]
    answers = _ask(host, local)
    return Nvme(origin=ORIGIN, controllers=tuple(_with_answers(one, answers) for one in found))


def _from_sysfs(host: Host, name: str) -> NvmeController:
    folder = f"{ORIGIN}/{name}"
    listed = host.names(folder)
    return read_fields(
        host,
        NvmeController,
        folder,
        name=name,
        pci_address=_address(host, folder),
        namespaces=None if listed is None else tuple(sorted(set(filter(None, map(parse_namespace, listed))))),
        origins={"namespaces": folder},
    )


def _address(host: Host, folder: str) -> str | None:
    """The drive's PCI address, as its file or else its path says; the file of a network controller has others."""
    text = host.text(f"{folder}/address")
    if text is not None and is_pci_address(text.strip()):
        return text.strip()
    chain = pci_chain(host.real(folder) or "")
    return chain[-1] if chain else None


def parse_namespace(name: str) -> str | None:
    """The block device that a folder below a controller stands for. Samples: ``nvme0n1``; ``nvme1c2n1`` is one path
    to ``nvme1n1``; others, as ``ng0n1`` and ``hwmon2``, are none."""
    found = _NAMESPACE.fullmatch(name)
    return f"{found[1]}{found[2]}" if found else None


def _command(question: str, name: str) -> tuple[str, ...]:
    return (PROGRAM, question, "-o", "json", f"/dev/{name}")


def _ask(host: Host, names: Sequence[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """The fields that nvme-cli tells, by question and controller, with ``origins``; one gap where it tells nothing."""
    if not names:
        return {}
    together = {question: command_origin((PROGRAM, question, "-o", "json")) for question in QUESTIONS}
    state: GapState | None = "denied" if host.root_user is False else None
    if state is None:
        # Without the program, or where nothing was captured, no other drive will say more.
        host.run(_command(QUESTIONS[0], names[0]))
        gap = host.gaps.pop(command_origin(_command(QUESTIONS[0], names[0])), None)
        state = gap if gap in ("absent", "not captured") else None
    if state is not None:
        for origin in together.values():
            host.missed(origin, state)
        return {
            (question, name): _fields(question, None, together[question]) for question in QUESTIONS for name in names
        }
    asked = [(question, name) for question in QUESTIONS for name in names]
    outputs = run_together(host, [_command(*one) for one in asked])
    return {one: _answer(host, one[0], _command(*one), output) for one, output in zip(asked, outputs, strict=True)}


def _answer(host: Host, question: str, command: tuple[str, ...], output: Output | None) -> dict[str, Any]:
    origin = command_origin(command)
    told = None if output is None else parse_json(output.stdout)
    if output is not None and told is None:
        said = (output.stderr + output.stdout[:4096]).lower()
        host.missed(origin, "denied" if "permission denied" in said or "not permitted" in said else "unsupported")
    return _fields(question, told, origin)


def parse_json(text: str) -> Mapping[str, Any] | None:
    """The object in a text that may begin with warnings; ``None`` without one. Sample: ``{"vwc": 7}``"""
    try:
        document, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _fields(question: str, told: Mapping[str, Any] | None, origin: str) -> dict[str, Any]:
    """What an answer says, as fields of a controller."""
    told = told or {}
    if question == "id-ctrl":
        cache = parse_number(told.get("vwc"))
        values: dict[str, Any] = {"volatile_write_cache": None if cache is None else bool(cache & 1)}
    else:
        names = ("critical_warning", "media_errors")
        values = {name: parse_number(told.get(name)) for name in names}
        used = parse_number(told.get("percent_used"))
        # The name in the specification, which some versions use.
        values["percent_used"] = parse_number(told.get("percentage_used")) if used is None else used
    return {**values, "origins": dict.fromkeys(values, origin)}


def parse_number(value: object) -> int | None:
    """A count as any version of nvme-cli prints it. Samples: ``2``, ``2.0``, ``"2"``, ``{"value": 2, "ro": 0}``"""
    if isinstance(value, dict):
        return parse_number(value.get("value"))
    if isinstance(value, str):
        text = value.strip().removesuffix("%")
        return int(text, 0) if re.fullmatch(r"0|[1-9]\d{0,39}|0[xX][0-9a-fA-F]{1,16}", text, re.ASCII) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return int(value)


def _with_answers(controller: NvmeController, answers: Mapping[tuple[str, str], Mapping[str, Any]]) -> NvmeController:
    update: dict[str, Any] = {}
    origins = dict(controller.origins)
    for question in QUESTIONS:
        answer = dict(answers.get((question, controller.name), {}))
        origins |= answer.pop("origins", {})
        update |= answer
    return controller.model_copy(update={**update, "origins": origins})
