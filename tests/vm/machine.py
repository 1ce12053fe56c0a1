"""A machine that is emulated, with a real kernel: ``build(cache, modules)``, then ``run(image, ...)``, often if wanted.

Neither root nor hardware virtualisation is needed. A payload is a shell script that finds busybox and TOOLS on its PATH
and writes what is to come back below ``$OUT``.
"""

import hashlib
import os
import subprocess
import tarfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.vm.initrd import archive, programs
from tests.vm.packages import Emulator, busybox, emulator, kernel

TOOLS = {
    "ethtool": "ethtool",
    "mdadm": "mdadm",
    "mke2fs": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "rdma": "iproute2",
    "unshare": "util-linux",
}
"""Programs of this machine that the emulated one gets, and the packages that bring them."""


class MachineFailed(Exception):
    """The machine did not do what it was started for; the message has the end of its console."""


_OUTPUT_BYTES = 64 << 20
_HERE = Path(__file__).resolve().parent
_CACHE = _HERE.parent.parent / ".vm-cache"


@dataclass(frozen=True)
class Image:
    """What can be booted."""

    emulator: Emulator
    kernel: Path
    initrd: Path


@dataclass(frozen=True)
class Outputs:
    """What a run left."""

    folder: Path
    """The files below the payload's ``$OUT``; ``log`` and ``status`` (its exit status) are always there."""
    console: str
    seconds: float


def cache() -> Path:
    """Where packages and disks lie between runs; ``ADVISOR_VM_CACHE`` puts it elsewhere, for several checkouts."""
    folder = Path(os.environ.get("ADVISOR_VM_CACHE") or _CACHE)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def build(cache: Path, modules: Mapping[str, str]) -> Image:
    """A kernel and a file system that loads ``modules``, each with parameters; CannotBuild says what is missing."""
    parts = kernel(cache, tuple(modules))
    files: dict[str, bytes | str] = {"/bin/busybox": busybox(cache).read_bytes(), **programs(TOOLS)}
    files["/init"] = (_HERE / "init.sh").read_bytes()
    for path in parts.modules:
        files[f"/modules/{path.name}"] = path.read_bytes()
    order = "".join(f"{path.stem} {modules.get(path.stem, '')}\n" for path in parts.modules)
    files["/modules/order"] = order.encode()
    content = archive(files)
    initrd = cache / f"initrd-{hashlib.sha256(content).hexdigest()[:16]}"
    if not initrd.exists():
        initrd.write_bytes(content)
    return Image(emulator(cache), parts.image, initrd)


def run(
    image: Image,
    hardware: Sequence[str],
    folder: Path,
    payload: str,
    files: Mapping[str, bytes | str] | None = None,
    kernel_words: Sequence[str] = (),
    timeout: float = 300,
) -> Outputs:
    """Boots ``hardware`` (arguments of qemu), runs ``payload`` in it and brings back what it wrote below ``$OUT``.

    ``files`` (by absolute path) are laid into the machine first. A machine that does not end in time is stopped.
    Raises MachineFailed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    extra = {"/payload/run": payload.encode(), **(files or {})}
    (folder / "initrd").write_bytes(image.initrd.read_bytes() + archive(extra))
    (folder / "console").write_text("")
    disk = folder / "outputs.img"
    with open(disk, "wb") as out:
        out.truncate(_OUTPUT_BYTES)
    # On a busy host the kernel finds too few ticks in the time it waits for them and panics: it need not look.
    words = " ".join(("console=ttyS0", "panic=-1", "quiet", "no_timer_check", *kernel_words))
    started = time.monotonic()
    try:
        done = subprocess.run(
            [*_emulator(image, folder, disk), "-append", words, *hardware],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, "LD_LIBRARY_PATH": image.emulator.libraries},
        )
    except subprocess.TimeoutExpired:
        raise MachineFailed(f"the machine did not end in {timeout} s:\n{_end(folder)}") from None
    if done.returncode:
        raise MachineFailed(f"the emulator ended with {done.returncode}: {done.stderr[-2000:]}")
    console = (folder / "console").read_text(errors="replace")
    with tarfile.open(disk) as outputs:
        outputs.extractall(folder / "outputs", filter="data")
    if not (folder / "outputs/status").exists():
        raise MachineFailed(f"the machine handed nothing over:\n{_end(folder)}")
    return Outputs(folder / "outputs", console, time.monotonic() - started)


def _emulator(image: Image, folder: Path, disk: Path) -> list[str]:
    firmware = [word for place in image.emulator.firmware for word in ("-L", place)]
    return [
        *(image.emulator.program, *firmware),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", f"file:{folder / 'console'}"),
        *("-kernel", str(image.kernel), "-initrd", str(folder / "initrd")),
        *("-drive", f"file={disk},format=raw,if=none,id=outputs"),
        *("-device", "virtio-blk-pci,drive=outputs,serial=outputs,bus=pcie.0,addr=1d.0"),
    ]


def _end(folder: Path) -> str:
    return (folder / "console").read_text(errors="replace")[-3000:]
