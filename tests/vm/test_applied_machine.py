"""apply, verify and rollback as root on a whole machine of its own: a real kernel under emulation, no container."""

import sys
import sysconfig
from pathlib import Path

import pytest

from tests.vm import machine
from tests.vm.packages import CannotBuild

pytestmark = pytest.mark.vm

_HERE = Path(__file__).resolve().parent
MODULES = {name: "" for name in ("virtio_pci", "virtio_blk", "9pnet_virtio", "9p", "nvme")}
PARTS = (
    *("-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "Skylake-Server-v1", "-m", "1500M", "-smp", "2"),
    *("-device", "nvme,drive=data,serial=data,bus=pcie.0,addr=6.0"),
)
PLACES = {
    "usr": "/usr",
    "base": sys.base_prefix,
    "site": sysconfig.get_paths()["purelib"],
    "code": str(_HERE.parents[1]),
}
"""What the machine sees of this one, read-only and at the same places."""


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the machine left."""
    folder = tmp_path_factory.mktemp("applied")
    try:
        image = machine.build(machine.cache(), MODULES)
    except CannotBuild as missing:
        pytest.skip(f"no emulated machine: {missing}")
    with open(folder / "data.img", "wb") as disk:
        disk.truncate(16 << 20)
    words = ["-drive", f"file={folder}/data.img,format=raw,if=none,id=data", *PARTS]
    for number, (name, place) in enumerate(PLACES.items()):
        words += ["-fsdev", f"local,id={name},path={place},security_model=none,readonly=on,multidevs=remap"]
        words += ["-device", f"virtio-9p-pci,fsdev={name},mount_tag={name},bus=pcie.0,addr={number + 8:x}.0"]
    files = {f"/payload/place-{name}": f"{place}\n".encode() for name, place in PLACES.items()}
    files["/payload/python"] = f"{Path(sys.executable).resolve()}\n".encode()
    out = machine.run(image, words, folder, (_HERE / "applied.sh").read_text(), files, timeout=900)
    assert (out.folder / "status").read_text() == "0\n", (out.folder / "log").read_text()[-3000:]
    return out.folder


def told(left: Path, name: str) -> tuple[int, str]:
    return int((left / f"{name}.status").read_text()), (left / name).read_text()


def test_it_is_rendered_and_not_there_yet(left: Path) -> None:
    assert told(left, "render")[0] == 0, told(left, "render")[1]
    status, text = told(left, "early")
    assert status == 1, text
    assert "sysctl:vm.swappiness" in text


def test_apply_installs_it_and_the_kernel_has_it_at_once(left: Path) -> None:
    status, text = told(left, "apply")
    assert status == 0, text
    applied = (left / "applied").read_text().splitlines()
    assert applied[-3:] == ["10", "1073741824", "4096"]
    assert [row for row in applied if "/etc/sysctl.d/90-advisor.conf" in row]
    assert [row for row in applied if "/etc/udev/rules.d/61-advisor.rules" in row]


def test_verify_sees_it_and_what_somebody_changed_since(left: Path) -> None:
    status, text = told(left, "verify")
    assert "differs" not in text, text
    assert status in (0, 3), text
    status, text = told(left, "changed")
    assert status == 1, text
    assert "differs" in text


def test_rollback_gives_every_byte_mode_owner_and_value_back(left: Path) -> None:
    status, text = told(left, "rollback")
    assert status == 0, text
    before, after = ((left / name).read_text().splitlines() for name in ("before", "after"))
    assert before[-3:] == ["40", "0", "128"]
    assert [row for row in after if "/var/lib/advisor" not in row] == [row for row in before if row]
