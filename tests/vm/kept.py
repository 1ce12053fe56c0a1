"""``python -m tests.vm.kept``: boots a machine for facts that few public dumps have and keeps what is collected of it.

The kernel, its drivers and the programs are real; only the hardware is emulated. What comes out lies in `KEPT`, so that
tests can read it without booting anything. Debian's packages come as for the other emulated machine.
"""

import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

from advisor.commands._collected import script
from tests.vm import machine, node
from tests.vm.initrd import libraries
from tests.vm.packages import unpacked

KEPT = Path(__file__).resolve().parent / "kept-server.tar.xz"
_HERE = Path(__file__).resolve().parent
_MIB = 1 << 20

_MODULES: Mapping[str, str] = {
    **{name: "" for name in ("virtio_pci", "virtio_blk", "virtio_net", "9pnet_virtio", "9p", "nvme", "e1000e")},
    **{name: "" for name in ("bonding", "8021q", "crc32c_generic", "crc32_generic", "rdma_rxe", "ib_uverbs")},
    **{name: "" for name in ("raid456", "dm_mod", "ext4", "sunrpc")},
}
_KERNEL_WORDS = (
    *("psi=1", "isolcpus=3", "nohz_full=3", "intel_iommu=on", "amd_iommu=on", "iommu.strict=0", "iommu.passthrough=1"),
    *("pci=realloc,disable_acs_redir=pci:1b36:000c", "net.ifnames=0"),
)
_PARTS = (
    *("-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "Skylake-Server-v1", "-m", "1G"),
    *("-smp", "4,sockets=2,cores=1,threads=2"),
    *("-object", "memory-backend-ram,id=m0,size=512M", "-object", "memory-backend-ram,id=m1,size=512M"),
    *("-numa", "node,nodeid=0,cpus=0-1,memdev=m0", "-numa", "node,nodeid=1,cpus=2-3,memdev=m1"),
    *("-device", "intel-iommu"),
    *("-device", "pcie-root-port,id=p1,bus=pcie.0,addr=8.0,chassis=1,slot=1"),
    *("-device", "pcie-root-port,id=p2,bus=pcie.0,addr=9.0,chassis=2,slot=2"),
    *("-device", "pcie-root-port,id=p3,bus=pcie.0,addr=a.0,chassis=3,slot=3"),
    *("-device", "nvme-subsys,id=subsys0"),
    *("-device", "nvme,id=nvme0,bus=p1,serial=drive,subsys=subsys0,max_ioqpairs=8,msix_qsize=9,sriov_max_vfs=2"
      ",sriov_vq_flexible=4,sriov_vi_flexible=2"),
)  # fmt: skip
_CARDS = ("e1000e,bus=p2", "e1000e,bus=p3", *(f"e1000e,bus=pcie.0,addr={slot}.0" for slot in ("b", "c", "d")))
_DISKS = (40, 40, 40, 40, 40)
"""Sizes in MiB of vda, vdb ...: three for the RAID, two for LVM."""
PACKAGES = (
    *("lvm2", "nvme-cli", "tuned", "libdevmapper1.02.1", "libdevmapper-event1.02.1", "libaio1", "libedit2", "libbsd0"),
    "libnvme1",
)
_LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
_OF_USR = (("usr", "lib"), ("usr", "sbin"))
_SERVICE = "#!/bin/sh\nsleep 600\n"


def hardware(folder: Path) -> list[str]:
    """The arguments of qemu, with disks made anew below ``folder``."""
    words = list(_PARTS)
    for number, card in enumerate(_CARDS):
        words += ["-netdev", f"user,id=n{number},restrict=on", "-device"]
        words += [f"{card},netdev=n{number},mac=52:54:00:aa:00:{number:02x},romfile="]
    folder.mkdir(parents=True, exist_ok=True)
    for number, size in enumerate(_DISKS):
        (folder / f"{number}.img").touch()
        with open(folder / f"{number}.img", "r+b") as disk:
            disk.truncate(size * _MIB)
        words += ["-drive", f"file={folder}/{number}.img,format=raw,if=none,id=d{number}"]
        words += ["-device", f"virtio-blk-pci,drive=d{number},bus=pcie.0,addr={number + 2:x}.0"]
    with open(folder / "ns.img", "wb") as disk:
        disk.truncate(16 * _MIB)
    words += ["-drive", f"file={folder}/ns.img,format=raw,if=none,id=ns", "-device", "nvme-ns,drive=ns,bus=nvme0"]
    (folder / "set").mkdir(exist_ok=True)
    words += ["-fsdev", f"local,id=set,path={folder}/set,security_model=none"]
    return [*words, "-device", "virtio-9p-pci,fsdev=set,mount_tag=set,bus=pcie.0,addr=e.0"]


def files(cache: Path) -> dict[str, bytes | str]:
    """What is laid into the machine: programs and settings as Debian's packages bring them."""
    laid: dict[str, bytes | str] = {f"/etc/{name}": node.ETC[name].encode() for name in ("passwd", "group")}
    roots = [unpacked(cache, package) for package in PACKAGES]
    for root in roots:
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            place = path.relative_to(root)
            if path.is_symlink() or place.parts[0] in ("lib", "sbin", "etc") or place.parts[:2] in _OF_USR:
                laid[f"/{place}"] = os.readlink(path) if path.is_symlink() else path.read_bytes()
    places = ":".join(str(root / folder) for root in roots for folder in _LIBRARIES)
    for program in (roots[0] / "sbin/lvm", roots[1] / "usr/sbin/nvme"):
        needed = libraries(["env", f"LD_LIBRARY_PATH={places}", "ldd", str(program)])
        laid |= {path: Path(path).read_bytes() for path in needed if not path.startswith(str(cache))}
    for unit in ("tmp.mount",):
        laid[f"/etc/systemd/system/{unit}"] = Path(f"/usr/share/systemd/{unit}").read_bytes()
    return laid | {
        "/payload/collector": script().encode(),
        "/usr/bin/containerd": _SERVICE.encode(),
        "/etc/tuned/active_profile": b"hpc-compute\n",
        "/etc/tuned/profile_mode": b"manual\n",
        "/etc/modprobe.d/server.conf": b"options nvme poll_queues=1\n",
    }


def keep(folder: Path) -> None:
    """Boots the machine with its disks below ``folder`` and writes `KEPT`."""
    image = machine.build(machine.cache(), _MODULES)
    payload = (_HERE / "kept.sh").read_text()
    words = hardware(folder / "disks")
    left = machine.run(image, words, folder, payload, files(machine.cache()), _KERNEL_WORDS, timeout=900)
    if (left.folder / "status").read_text() != "0\n":
        raise machine.MachineFailed((left.folder / "log").read_text()[-3000:])
    with tarfile.open(left.folder / "node.tar") as node_tar, tarfile.open(KEPT, "w:xz") as kept:
        for member in node_tar:
            member.mtime = 0
            kept.addfile(member, node_tar.extractfile(member) if member.isreg() else None)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        keep(Path(place))
