"""Which RDMA devices carry an interface that is no port of a card, as a bond.

A card that bonds its own ports (mlx5) has one RDMA device for all of them, in the folder of the first port alone; the
GIDs of that device belong to the bond.
Formats: https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband (gid_attrs/ndevs)
"""

from collections.abc import Iterator

from advisor.host.base import Host
from advisor.probes._sysfs import quiet_names, quiet_text

INFINIBAND = "/sys/class/infiniband"


def rdma_devices_of(host: Host, interface: str) -> tuple[str, ...] | None:
    """The RDMA devices with a GID in use that belongs to ``interface``; ``None`` when RDMA devices cannot be listed."""
    devices = host.names(INFINIBAND)
    if devices is None:
        return () if host.gaps.get(INFINIBAND) == "absent" else None
    return tuple(device for device in devices if interface in _netdevs(host, f"{INFINIBAND}/{device}/ports"))


def _netdevs(host: Host, ports: str) -> Iterator[str]:
    """The interfaces of the GIDs in use, as far as somebody asks; those of empty entries cannot be read."""
    for port in quiet_names(host, ports) or ():
        for index in quiet_names(host, f"{ports}/{port}/gids") or ():
            gid = quiet_text(host, f"{ports}/{port}/gids/{index}") or ""
            if gid.strip("0:"):
                yield quiet_text(host, f"{ports}/{port}/gid_attrs/ndevs/{index}") or ""
