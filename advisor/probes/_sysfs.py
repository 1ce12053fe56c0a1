"""What several probes ask of the device tree below /sys: PCI addresses, the nearest NUMA node, drivers."""

import re
from collections.abc import Iterable

from advisor.host.base import Host
from advisor.host.fields import read_value
from advisor.model.facts import Facts, File, marks

PCI_DEVICES = "/sys/bus/pci/devices"
NUMA_NODE = File("numa_node", unknown=("-1",))
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""Domains have more than four digits behind Intel VMD and in some virtual machines."""


def is_pci_address(text: str) -> bool:
    """Whether ``text`` is a PCI address as sysfs writes it: ``0000:3b:00.0``."""
    return _ADDRESS.fullmatch(text) is not None


def pci_addresses(names: Iterable[str]) -> list[str]:
    """The PCI addresses among the names of a folder, ascending."""
    return sorted((name for name in names if is_pci_address(name)), key=lambda name: (len(name), name))


def pci_chain(real: str) -> tuple[str, ...]:
    """The PCI addresses on a device's resolved path that lie below its last root complex.

    Sample: ``/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/net/eth0``
    gives ``("0000:3a:00.0", "0000:3b:00.0")``.
    """
    chain: list[str] = []
    for part in real.split("/"):
        if is_pci_address(part):
            chain.append(part)
        elif part.startswith("pci"):
            chain = []
    return tuple(chain)


def near_numa_node(host: Host, own: str, real: str) -> tuple[int | None, str]:
    """The NUMA node that the file ``own`` says or, where the kernel does not know (-1), that of the nearest parent.

    With it the file that says so, ``own`` when none does. ``real`` is the device's resolved folder; parents that say
    nothing leave no gap, as ``own`` has one.
    """
    node = read_value(host, own, NUMA_NODE, int)
    if isinstance(node, int):
        return node, own
    folder = real
    while folder := folder.rpartition("/")[0]:
        if is_pci_address(folder.rpartition("/")[2]):
            path = f"{folder}/numa_node"
            text = quiet_text(host, path)
            if text is not None and text.isascii() and text.isdigit():
                return int(text), path
    return None, own


def not_offered(model: type[Facts], names: Iterable[str]) -> dict[str, object]:
    """``None`` for every field whose file is not among the ``names`` of the listed folder: it needs no asking for."""
    there = set(names)
    return {n: None for n, mark in marks(model).items() if mark.file is not None and mark.file.name not in there}


def quiet_text(host: Host, path: str) -> str | None:
    """The text of a file that is only one of several places to look at: its absence leaves no gap."""
    known = path in host.gaps
    text = host.text(path)
    if text is None and not known:
        host.gaps.pop(path, None)
    return text


def quiet_names(host: Host, path: str) -> tuple[str, ...] | None:
    """The names in a folder that only some devices have: its absence leaves no gap."""
    known = path in host.gaps
    names = host.names(path)
    if names is None and not known:
        host.gaps.pop(path, None)
    return names


def quiet_real(host: Host, path: str) -> str | None:
    """A path with its links resolved; that there is nothing leaves no gap."""
    known = path in host.gaps
    real = host.real(path)
    if real is None and not known:
        host.gaps.pop(path, None)
    return real


def link_name(host: Host, path: str) -> str | None:
    """The last part of what a link points to: the name of a driver, a group, a master."""
    target = host.link(path)
    return None if target is None else target.rstrip("/").rpartition("/")[2]
