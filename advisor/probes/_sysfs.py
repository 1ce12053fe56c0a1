"""What several probes ask of the device tree below /sys: PCI addresses, the nearest NUMA node, drivers."""

import re

from advisor.host.base import Host

PCI_DEVICES = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""Domains have more than four digits behind Intel VMD and in some virtual machines."""


def is_pci_address(text: str) -> bool:
    """Whether ``text`` is a PCI address as sysfs writes it: ``0000:3b:00.0``."""
    return _ADDRESS.fullmatch(text) is not None


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


def near_numa_node(host: Host, real: str) -> tuple[int | None, str | None]:
    """The NUMA node of the device at ``real`` or, where the kernel does not say (-1), of its nearest parent.

    With it the file that says so. Parents that say nothing leave no gap: the device's own file has it.
    """
    folder = real
    while folder not in ("", "/sys/devices"):
        if folder == real or is_pci_address(folder.rpartition("/")[2]):
            path = f"{folder}/numa_node"
            known = path in host.gaps
            text = host.text(path)
            if text is not None and text.isascii() and text.isdigit():
                return int(text), path
            if folder != real and not known:
                host.gaps.pop(path, None)
        folder = folder.rpartition("/")[0]
    return None, None


def link_name(host: Host, path: str) -> str | None:
    """The last part of what a link points to: the name of a driver, a group, a master."""
    target = host.link(path)
    return None if target is None else target.rstrip("/").rpartition("/")[2]
