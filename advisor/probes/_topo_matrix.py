"""The matrix that ``nvidia-smi topo -m`` prints: how each GPU reaches the others and the network cards.

https://docs.nvidia.com/deploy/nvidia-smi/ ; what NODE, PHB and the others mean stands below the matrix itself.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.probes._xml import NotReadable

TOPO_COMMAND = "nvidia-smi topo -m"
MOST_DEVICES = 512
"""More than any machine has."""
_ANSI = re.compile(r"\x1b\[[0-9;]{0,16}[A-Za-z]")
_GPU = re.compile(r"GPU([0-9]{1,3})", re.ASCII)
_DEVICE = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}", re.ASCII)
_RELATION = re.compile(r"NV[0-9]{1,2}|PIX|PXB|PHB|NODE|SYS|SOC", re.ASCII)
_LEGEND = re.compile(r"\s*(NIC[0-9]{1,3}):\s*([A-Za-z][A-Za-z0-9_.-]{0,63})\s*", re.ASCII)
_CPULIST = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?){0,1023}", re.ASCII)
_AFFINITIES = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_OLD_NAMES = {"SOC": "SYS"}


@dataclass(frozen=True)
class Row:
    """What stands behind the relations of one device; ``None`` where the matrix does not say it."""

    cpus: str | None = None
    """A CPU list as sysfs writes it."""
    numa_node: int | None = None
    memory_node: int | None = None
    """The NUMA node that the GPU's own memory is."""


@dataclass(frozen=True)
class Matrix:
    """The matrix as far as it could be read."""

    devices: tuple[str, ...]
    """As the matrix calls them, in its order: GPU0, NIC0, mlx5_0."""
    relations: Mapping[tuple[str, str], str]
    """Each pair once, in the order of `devices`."""
    rows: Mapping[str, Row]
    names: Mapping[str, str]
    """The RDMA device that NIC0 stands for."""
    incomplete: tuple[str, ...]
    """Devices whose row is missing, cut or contradicts another."""

    def index(self, device: str) -> int | None:
        """The number of a GPU; ``None`` for another device."""
        return _index(device)


def parse_topo(text: str) -> Matrix:
    """The matrix in the output of ``nvidia-smi topo -m``. Raises NotReadable where there is none.

    Sample::

                GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
        GPU0     X      NV18    PIX     0-47            0               N/A
        GPU1    NV18     X      SYS     48-95           1               N/A
        NIC0    PIX     SYS      X

        NIC Legend:
          NIC0: mlx5_0
    """
    lines = [_ANSI.sub("", line) for line in text.lstrip("\ufeff").split("\n")]
    headers = [number for number, line in enumerate(lines) if _is_header(line)]
    if not headers:
        raise NotReadable(f"is not the output of {TOPO_COMMAND}: no line of it names the columns GPU0, GPU1 ...")
    if len(headers) > 1:
        raise NotReadable(
            f"holds {len(headers)} matrices (lines {headers[0] + 1} and {headers[1] + 1}): give one host's"
        )
    devices, affinities = _columns(lines[headers[0]])
    table = _Table(devices, affinities)
    names: dict[str, str] = {}
    for line in lines[headers[0] + 1 :]:
        if found := _LEGEND.fullmatch(line):
            names[found[1]] = found[2]
        else:
            table.take(line)
    return table.matrix({nic: name for nic, name in names.items() if nic in devices})


def _is_header(line: str) -> bool:
    words = line.split()
    columns = line[: line.find("CPU Affinity")].split() if "CPU Affinity" in line else words
    names_gpu = any(_GPU.fullmatch(word) for word in columns)
    return names_gpu and all(_DEVICE.fullmatch(word) and not _is_relation(word) for word in columns)


def _is_relation(word: str) -> bool:
    return word == "X" or _RELATION.fullmatch(word) is not None


def _columns(header: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The devices and the affinities that a header names."""
    starts = [header.find(name) for name in _AFFINITIES if name in header]
    devices = tuple(header[: min(starts, default=len(header))].split())
    if len(devices) > MOST_DEVICES:
        raise NotReadable(f"names {len(devices)} devices, more than any machine has")
    if len(set(devices)) < len(devices):
        raise NotReadable("names a device twice in its columns: give the matrix as it was printed")
    return devices, tuple(name for name in _AFFINITIES if name in header)


class _Table:
    """The cells of the rows read so far."""

    def __init__(self, devices: tuple[str, ...], affinities: tuple[str, ...]) -> None:
        self.devices, self.affinities = devices, affinities
        self.place = {device: number for number, device in enumerate(devices)}
        self.cells: dict[tuple[str, str], set[str]] = {}
        self.rows: dict[str, Row] = {}
        self.bad: set[str] = set()

    def take(self, line: str) -> None:
        """Reads one line; one that is no row of a device is passed over."""
        words = line.split()
        if not words or words[0] not in self.place:
            return
        device, rest = words[0], words[1:]
        if device in self.rows:
            self.bad.add(device)  # which of the two is the host's, nobody can tell
            self.rows[device] = Row()
            return
        cells = [word for word, _ in zip(_leading_relations(rest), self.devices, strict=False)]
        own = self.place[device]
        if (len(cells) > own and cells[own] != "X") or "X" in cells[:own] + cells[own + 1 :]:
            self.bad.add(device)  # shifted: no cell is where it says
            self.rows[device] = Row()
            return
        for other, cell in zip(self.devices, cells, strict=False):
            if cell != "X":
                pair = (device, other) if own < self.place[other] else (other, device)
                self.cells.setdefault(pair, set()).add(_OLD_NAMES.get(cell, cell))
        whole = len(cells) == len(self.devices)
        if not whole:
            self.bad.add(device)
        self.rows[device] = self._row(device, rest[len(cells) :]) if whole else Row()

    def _row(self, device: str, words: Sequence[str]) -> Row:
        """The words behind the relations: all of them, or none counts, for an empty cell leaves no trace."""
        if len(words) != len(self.affinities):
            if words or (_index(device) is not None and self.affinities):
                self.bad.add(device)
            return Row()
        told = dict(zip(self.affinities, words, strict=True))
        return Row(
            cpus=told.get("CPU Affinity") if _CPULIST.fullmatch(told.get("CPU Affinity", "")) else None,
            numa_node=_node(told.get("NUMA Affinity", "")),
            memory_node=_node(told.get("GPU NUMA ID", "")),
        )

    def matrix(self, names: Mapping[str, str]) -> Matrix:
        """Everything read; two cells of one pair that contradict each other leave it unknown."""
        relations = {}
        for pair in sorted(self.cells, key=lambda pair: (self.place[pair[0]], self.place[pair[1]])):
            if len(self.cells[pair]) == 1:
                relations[pair] = next(iter(self.cells[pair]))
            else:
                self.bad.update(pair)
        missing = [device for device in self.devices if device not in self.rows and _index(device) is not None]
        bad = tuple(device for device in self.devices if device in self.bad or device in missing)
        rows = {device: row for device, row in self.rows.items() if row != Row()}
        return Matrix(self.devices, relations, rows, names, bad)


def _leading_relations(words: Sequence[str]) -> Sequence[str]:
    end = next((number for number, word in enumerate(words) if not _is_relation(word)), len(words))
    return words[:end]


def _index(device: str) -> int | None:
    found = _GPU.fullmatch(device)
    return int(found[1]) if found else None


def _node(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,4}", text, re.ASCII) else None
