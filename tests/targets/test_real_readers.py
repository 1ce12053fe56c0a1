"""What kmod and PAM themselves make of the files for modprobe.d and limits.d."""

import os
from pathlib import Path

import pytest

from advisor.model.snapshot import Snapshot, Source
from advisor.probes.limits import Limits
from advisor.probes.modules import Module, Modules, parse_modinfo
from tests.plans import body, generated, needed, ran, wish, withheld

MODPROBE = "host/etc/modprobe.d/90-advisor.conf"
LIMITS = "host/etc/security/limits.d/90-advisor.conf"
MODINFO = (
    "license=Dual BSD/GPL",
    "description=Mellanox 5th generation network adapters (ConnectX series) core driver",
    "author=Eli Cohen <eli@mellanox.com>",
    "parm=debug_mask:debug mask: 1 = dump cmd data, 2 = dump cmd exec time, 3 = both. Default=0",
    "parmtype=debug_mask:uint",
    "parm=prof_sel:profile selector. Valid range 0 - 2",
    "parmtype=prof_sel:uint",
    "name=mlx5_core",
    "vermagic=6.1.0-18-amd64 SMP preempt mod_unload modversions",
)
"""The section .modinfo of mlx5_core, as drivers/net/ethernet/mellanox/mlx5/core/main.c of Linux 6.1 makes it."""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel module that holds nothing but this section."""
    needed("gcc", "modinfo")
    folder = tmp_path_factory.mktemp("module")
    lines = "".join(f'"{line}\\0"' for line in MODINFO)
    (folder / "m.c").write_text(f'static const char info[] __attribute__((section(".modinfo"), used)) = {lines};\n')
    done = ran(["gcc", "-c", "-o", folder / "mlx5_core.ko", folder / "m.c"])
    assert done.returncode == 0, done.stderr
    return folder / "mlx5_core.ko"


def host(module: Path) -> Snapshot:
    done = ran(["modinfo", "-F", "parm", module])
    assert done.returncode == 0, done.stderr
    accepts = parse_modinfo(done.stdout)
    modules = Modules(modules=(Module(name="mlx5_core", loaded=True, accepts=accepts, accepts_no_others=True),))
    return Snapshot(Source(kind="live"), {"modules": modules, "limits": Limits(nofile_soft=1024)}, {})


def test_only_what_a_modules_own_file_declares_is_written(module: Path) -> None:
    facts = host(module)
    assert body(generated(wish("modprobe", "mlx5_core.prof_sel", 2), host=facts)[MODPROBE]) == [
        "options mlx5_core prof_sel=2"
    ]
    assert "advisor never sets it" in withheld(wish("modprobe", "mlx5_core.log_max_qp", 17), host=facts)[0]
    assert withheld(wish("modprobe", "mlx5_core.num_vfs", 4), host=facts) == [
        "mlx5_core has no parameter num_vfs here; it accepts debug_mask, prof_sel"
    ]


def test_modprobe_reads_the_line_and_no_other(module: Path, tmp_path: Path) -> None:
    needed("modprobe")
    text = generated(wish("modprobe", "mlx5_core.prof_sel", 2, text="a\\\ninstall x /bin/sh"), host=host(module))[
        MODPROBE
    ]
    (tmp_path / "90-advisor.conf").write_text(text)
    done = ran(["modprobe", "--showconfig", "-C", tmp_path])
    shown = done.stdout.splitlines()
    assert (done.returncode, "options mlx5_core prof_sel=2" in shown) == (0, True)
    assert not [line for line in shown if "/bin/sh" in line]
    assert "initramfs" in text


IN_A_MOUNT_NAMESPACE = """
mount --bind "$1" /etc/security/limits.d && su -s /bin/sh nobody -c 'ulimit -Sn; ulimit -Hn'
"""


def test_a_login_gets_the_limits(module: Path, tmp_path: Path) -> None:
    needed("su", "unshare")
    pam = Path("/etc/pam.d/su")
    if os.geteuid() != 0 or not pam.exists() or "\nsession    required   pam_limits.so" not in pam.read_text():
        pytest.skip("only root, where su asks pam_limits, can allow this")
    wishes = [wish("limits", "*/soft/nofile", 600), wish("limits", "*/hard/nofile", 700)]
    (tmp_path / "90-advisor.conf").write_text(generated(*wishes, host=host(module))[LIMITS])
    done = ran(["unshare", "--mount", "sh", "-c", IN_A_MOUNT_NAMESPACE, "sh", tmp_path])
    if "Operation not permitted" in done.stderr:
        pytest.skip("this machine does not allow a mount namespace")
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["600", "700"], "")
