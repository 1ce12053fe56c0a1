"""Which network interfaces have hardware below them."""

from advisor.host.base import Host
from advisor.probes._sysfs import pci_chain, quiet_real

NET = "/sys/class/net"
_NO_INTERFACES = ("bonding_masters",)
"""Control files that lie beside the interfaces."""


def interface_names(host: Host) -> tuple[str, ...] | None:
    """The interfaces of this network namespace; ``None`` when they cannot be listed, ``()`` without networking."""
    names = host.names(NET)
    if names is None:
        return () if host.gaps.get(NET) == "absent" else None
    return tuple(name for name in names if name not in _NO_INTERFACES)


def device_of(host: Host, name: str, real: str) -> str | None:
    """The folder of the hardware below an interface; ``None`` for a virtual one. ``real`` is its resolved folder."""
    if "/virtual/" in real:
        return None
    device = quiet_real(host, f"{NET}/{name}/device")
    # Some dumps lack the link, but the interface's own path runs through the card.
    return device or (real.rpartition("/net/")[0] if pci_chain(real) else None)


def physical_interfaces(host: Host) -> tuple[str, ...] | None:
    """The interfaces with hardware, real or a hypervisor's; ``None`` when interfaces cannot be listed."""
    names = interface_names(host)
    if names is None:
        return None
    return tuple(name for name in names if device_of(host, name, host.real(f"{NET}/{name}") or ""))
