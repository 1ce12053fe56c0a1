"""What the emulated machine is made of: the emulator, a kernel and busybox, out of Debian's packages.

They come through ``apt-get`` into a folder of their own and are unpacked there: nothing is installed, nobody is root.
"""

import lzma
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

EMULATOR = "qemu-system-x86_64"
_LISTS_ARE_OLD = "(has `apt-get update` been run?)"
_FETCH_SECONDS = 300


class CannotBuild(Exception):
    """Something that the emulated machine needs is not to be had here; the message says what."""


@dataclass(frozen=True)
class Emulator:
    """A qemu that can be started."""

    program: str
    libraries: str
    """For LD_LIBRARY_PATH; empty for one that is installed."""
    firmware: tuple[str, ...]
    """Folders for ``-L``; none for one that is installed."""


@dataclass(frozen=True)
class Kernel:
    """A kernel image and the modules asked for, in the order in which they can be loaded."""

    image: Path
    modules: tuple[Path, ...]


def emulator(cache: Path) -> Emulator:
    """The installed qemu, else one that is unpacked below ``cache`` with the libraries that are not installed."""
    if installed := shutil.which(EMULATOR):
        return Emulator(installed, "", ())
    root = cache / "emulator"
    if not (root / "complete").exists():
        for package in _fetch_with_needs("qemu-system-x86", cache / "emulator.debs"):
            _apt("dpkg-deb", "-x", str(package), str(root))
        (root / "complete").touch()
    libraries = [str(folder) for lib in ("lib", "usr/lib") for folder in root.glob(f"{lib}/*-linux-gnu")]
    places = [root / place for place in ("usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu")]
    return Emulator(str(root / "usr/bin" / EMULATOR), ":".join(libraries), tuple(str(p) for p in places if p.is_dir()))


def busybox(cache: Path) -> Path:
    """A busybox that needs no libraries."""
    return unpacked(cache, "busybox-static") / "bin/busybox"


def unpacked(cache: Path, package: str) -> Path:
    """The folder with the files of a package."""
    root = cache / package
    if not (root / "usr").exists():
        _apt("dpkg-deb", "-x", str(_fetch(package, cache / "debs")), str(root))
    return root


def kernel(cache: Path, names: Sequence[str]) -> Kernel:
    """Debian's kernel for machines of 64 bits and the modules ``names`` with all that they depend on."""
    package = _fetch(_newest_kernel(), cache / "debs")
    folder = cache / package.stem
    listed = folder / ("modules-" + "-".join(names))
    if not listed.exists():
        folder.mkdir(exist_ok=True)
        order = _load_order(names, *_index(package))
        _unpack(package, folder, order)
        listed.write_text("\n".join(order))
    modules = tuple(folder / f"{name}.ko" for name in listed.read_text().split())
    return Kernel(folder / "vmlinuz", modules)


def _index(package: Path) -> tuple[dict[str, list[str]], set[str]]:
    """Modules by name with what each depends on, and those that are part of the kernel."""
    depends, built_in = {}, set()
    for name, read in _members(package):
        if name.endswith("/modules.builtin"):
            built_in = {_name(line) for line in read().decode().split()}
        elif ".ko" in Path(name).suffixes:
            found = re.search(rb"(?<=\0)depends=([^\0]*)\0", _plain(name, read()))
            depends[_name(name)] = found.group(1).decode().split(",") if found and found.group(1) else []
    return depends, built_in


def _load_order(names: Sequence[str], depends: dict[str, list[str]], built_in: set[str]) -> list[str]:
    order: list[str] = []

    def add(name: str) -> None:
        name = name.replace("-", "_")
        if name in order or name in built_in:
            return
        if name not in depends:
            raise CannotBuild(f"the kernel package has no module {name}")
        for other in depends[name]:
            add(other)
        order.append(name)

    for name in names:
        add(name)
    return order


def _unpack(package: Path, folder: Path, modules: Sequence[str]) -> None:
    for name, read in _members(package):
        if Path(name).name.startswith("vmlinuz"):
            (folder / "vmlinuz").write_bytes(read())
        elif ".ko" in Path(name).suffixes and _name(name) in modules:
            (folder / f"{_name(name)}.ko").write_bytes(_plain(name, read()))


def _members(package: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Files of a package with a way to read each, which works until the next is asked for."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as unpacker:
        with tarfile.open(fileobj=unpacker.stdout, mode="r|") as archive:
            for member in archive:
                if member.isfile():
                    file = archive.extractfile(member)
                    assert file is not None
                    yield member.name, file.read
        if unpacker.stdout:
            unpacker.stdout.read()
    if unpacker.returncode:
        raise CannotBuild(f"{package} cannot be unpacked: remove it and try again")


def _plain(name: str, data: bytes) -> bytes:
    return lzma.decompress(data) if name.endswith(".xz") else data


def _name(path: str) -> str:
    return Path(path).name.split(".ko")[0].replace("-", "_")


def _newest_kernel() -> str:
    for line in _apt("apt-cache", "depends", "linux-image-amd64").splitlines():
        if "Depends: linux-image-" in line:
            return line.split()[-1]
    raise CannotBuild(f"apt-cache knows no package linux-image-amd64 {_LISTS_ARE_OLD}")


def _fetch(package: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob(f"{package}_*.deb")):
        _apt("apt-get", "-o", "APT::Sandbox::User=root", "download", package, cwd=folder)
    return max(folder.glob(f"{package}_*.deb"))


def _fetch_with_needs(package: str, folder: Path) -> list[Path]:
    """The package and those of its dependencies that this machine lacks."""
    (folder / "partial").mkdir(parents=True, exist_ok=True)
    options = {"Dir::Cache::archives": folder, "Debug::NoLocking": 1, "APT::Sandbox::User": "root"}
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    _apt("apt-get", *words, "--download-only", "--yes", "--no-install-recommends", "install", package)
    return sorted(folder.glob("*.deb"))


def _apt(*argv: str, cwd: Path | None = None) -> str:
    if shutil.which(argv[0]) is None:
        raise CannotBuild(f"there is no {argv[0]} here to fetch Debian's packages with")
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=_FETCH_SECONDS)
    if done.returncode:
        last = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise CannotBuild(f"`{' '.join(argv)}` failed {_LISTS_ARE_OLD}: {last}")
    return done.stdout
