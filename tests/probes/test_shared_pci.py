"""PCI devices of real machines that were copied without root: 64 bytes of each configuration space."""

from pathlib import Path

import pytest

from advisor.host.captured import open_root
from advisor.probes import pci

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts/hwloc"
WITH_CONFIG = {
    "history/24em64t-2n6c2t+2mic.olddriver": 3,
    "linux/2pa-pcidomain32bits": 1,
    "linux/32em64t-2n8c+dax+nvme+mic+dimms": 6,
    "linux/32intel64-2p8co2t+8ve": 12,
    "linux/40intel64-4n10c+pci-conflicts": 2,
}
"""How many devices there are, displays left out."""


@pytest.mark.shared
@pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout")
@pytest.mark.parametrize("name", WITH_CONFIG)
def test_what_others_than_root_cannot_read_is_denied_on_real_machines(name: str) -> None:
    host = open_root(str(HOSTS / f"{name}.tar.bz2"))
    found = [device for device in pci.read(host).devices or () if device.kind != "display"]
    assert {(device.config, device.answers) for device in found} == {(None, True)}
    assert {host.gaps[f"{device.origin}/config"] for device in found} == {"denied"}
    assert len(found) == WITH_CONFIG[name]


@pytest.mark.shared
@pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout")
@pytest.mark.parametrize("name", WITH_CONFIG)
def test_windows_of_real_devices(name: str) -> None:
    host = open_root(str(HOSTS / f"{name}.tar.bz2"))
    for device in pci.read(host).devices or ():
        if device.kind == "bridge":
            continue
        lines = [line.split() for line in (host.text(f"{device.origin}/resource") or "").split("\n")[:6]]
        used = [number for number, (_, end, _) in enumerate(lines) if end.strip("0x")]
        assert device.bars is not None
        assert [bar.number for bar in device.bars if bar.assigned] == used
        assert all(bar.size_bytes & (bar.size_bytes - 1) == 0 for bar in device.bars)
