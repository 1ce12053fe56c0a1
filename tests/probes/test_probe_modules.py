"""Modules, their parameters, and options that are asked for whether the module knows them or not."""

from pathlib import Path

import pytest

from advisor.host.base import Host
from advisor.model.facts import evidence_path
from advisor.probes.modules import (
    Module,
    module_named,
    parse_cmdline_options,
    parse_modinfo,
    parse_modprobe,
    read,
)
from tests.trees import write_capture, write_tree

MLX5 = {
    "/sys/module/mlx5_core/parameters/prof_sel": "2\n",
    "/sys/module/mlx5_core/parameters/debug_mask": "0\n",
    "/sys/module/mlx5_core/initstate": "live\n",
    "/sys/module/mlx5_core/version": "24.10-0.7.0\n",
}
DEAD = {"/etc/modprobe.d/mlx5_core.conf": "options mlx5_core log_max_qp=18 prof_sel=1\n"}
MODINFO = ("modinfo", "-F", "parm", "mlx5_core")


def module_of(host: Host, name: str) -> Module:
    """One module of a machine."""
    found = module_named(read(host), name)
    assert found is not None
    return found


def accepted(host: Host) -> dict[str, bool | None]:
    """Whether each option that is asked for is taken."""
    return {option.parameter: option.accepted for option in read(host).options or ()}


def test_a_loaded_module_shows_version_and_parameters(tmp_path: Path) -> None:
    module = module_of(write_tree(tmp_path, MLX5), "mlx5-core")
    assert (module.loaded, module.built_in, module.version) == (True, False, "24.10-0.7.0")
    assert {p.name: p.value for p in module.parameters or ()} == {"debug_mask": "0", "prof_sel": "2"}
    assert (module.accepts, module.accepts_no_others) == (("debug_mask", "prof_sel"), True)


def test_a_built_in_module_has_parameters_and_no_state(tmp_path: Path) -> None:
    files = {"/sys/module/nvme_core/parameters/io_timeout": "30\n"}
    assert module_of(write_capture(tmp_path / "capture", files), "nvme_core").built_in is True
    assert module_of(write_tree(tmp_path / "tree", files), "nvme_core").built_in is None


def test_a_module_that_is_not_shown_is_not_loaded_only_where_absence_is_known(tmp_path: Path) -> None:
    assert module_of(write_capture(tmp_path / "capture", MLX5), "nvidia_peermem").loaded is False
    host = write_tree(tmp_path / "tree", MLX5)
    assert module_of(host, "nvidia_peermem").loaded is None
    assert host.gaps["/sys/module/nvidia_peermem"] == "not captured"


def test_an_option_that_the_module_lacks_is_not_taken(tmp_path: Path) -> None:
    assert accepted(write_tree(tmp_path, {**MLX5, **DEAD})) == {"log_max_qp": False, "prof_sel": True}


def test_modinfo_tells_for_a_module_that_is_not_loaded(tmp_path: Path) -> None:
    told = {MODINFO: "debug_mask:debug mask (uint)\nprof_sel:profile selector (uint)\n"}
    assert accepted(write_capture(tmp_path, DEAD, outputs=told)) == {"log_max_qp": False, "prof_sel": True}


def test_without_module_and_modinfo_nobody_can_tell(tmp_path: Path) -> None:
    host = write_capture(tmp_path, DEAD)
    assert accepted(host) == {"log_max_qp": None, "prof_sel": None}
    assert host.gaps["command: modinfo -F parm mlx5_core"] == "not captured"


def test_hidden_parameters_are_not_denied(tmp_path: Path) -> None:
    """nvidia shows none of its NVreg_ parameters, so that what /sys lacks may be taken all the same."""
    files = {
        "/sys/module/nvidia_drm/parameters/modeset": "Y\n",
        "/etc/modprobe.d/n.conf": "options nvidia-drm modeset=1 hidden=1\noptions nvidia NVreg_X=0\n",
    }
    assert accepted(write_tree(tmp_path, files)) == {"modeset": True, "hidden": None, "NVreg_X": None}


@pytest.mark.parametrize("parameter", ["async_probe", "dyndbg"])
def test_what_the_kernel_takes_for_every_module_is_taken(tmp_path: Path, parameter: str) -> None:
    host = write_tree(tmp_path, {**MLX5, "/etc/modprobe.d/a.conf": f"options mlx5_core {parameter}=1\n"})
    assert accepted(host) == {parameter: True}


def test_modinfo_is_not_run_for_what_is_visible(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**MLX5, "/etc/modprobe.d/a.conf": "options mlx5_core prof_sel=2\n"})
    read(host)
    assert "command: modinfo -F parm mlx5_core" not in host.gaps


def test_modprobe_files_are_read() -> None:
    text = (
        "# options a b=1\nalias x y\noptions nvidia-drm modeset=1 \\\n  fbdev=0\ninstall z /bin/true\n"
        'options snd name="a b" flag\nsoftdep c pre: d\noptions empty\n'
    )
    found = parse_modprobe(text, "/etc/modprobe.d/a.conf")
    assert [(o.module, o.parameter, o.value, o.line) for o in found] == [
        ("nvidia_drm", "modeset", "1", 3),
        ("nvidia_drm", "fbdev", "0", 3),
        ("snd", "name", "a b", 6),
        ("snd", "flag", None, 6),
    ]


def test_parameters_of_known_modules_are_picked_from_the_command_line() -> None:
    words = ("root=/dev/sda1", "nvme-core.io_timeout=255", "rd.lvm.lv=vg/x", "nouveau.modeset=0", "quiet", "nvme.")
    found = parse_cmdline_options(words, {"nvme_core", "nouveau", "nvme"})
    assert [(o.module, o.parameter, o.value, o.path, o.line) for o in found] == [
        ("nvme_core", "io_timeout", "255", "/proc/cmdline", None),
        ("nouveau", "modeset", "0", "/proc/cmdline", None),
    ]


def test_the_last_of_equal_options_wins(tmp_path: Path) -> None:
    files = {
        "/etc/modprobe.d/b.conf": "options mlx5-core prof_sel=1\n",
        "/usr/lib/modprobe.d/a.conf": "options mlx5_core prof_sel=0\n",
        "/usr/lib/modprobe.d/b.conf": "options mlx5_core prof_sel=9\n",
        "/proc/cmdline": "quiet mlx5_core.prof_sel=2\n",
    }
    options = read(write_tree(tmp_path, files)).options
    assert [(o.value, o.path, o.wins) for o in options or ()] == [
        ("0", "/usr/lib/modprobe.d/a.conf", False),
        ("1", "/etc/modprobe.d/b.conf", False),
        ("2", "/proc/cmdline", True),
    ]


def test_modinfo_lists_names_before_colons() -> None:
    text = "NVreg_B:int\nNVreg_A:help text: with colon (charp)\n\n"
    assert parse_modinfo(text) == ("NVreg_A", "NVreg_B")


def test_what_was_not_captured_is_not_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {})
    modules = read(host)
    assert modules.options is None
    assert {module.loaded for module in modules.modules or ()} == {None}
    assert host.gaps[evidence_path(modules, "options")] == "not captured"


def test_modules_that_are_loaded_at_boot_are_read_from_all_folders(tmp_path: Path) -> None:
    files = {
        "/etc/modules-load.d/b.conf": "# RDMA\nib-umad\n\n; no\n  rdma_ucm  \n",
        "/usr/lib/modules-load.d/a.conf": "nvidia-peermem",
        "/usr/lib/modules-load.d/b.conf": "hidden\n",
        "/etc/modules-load.d/README": "no\n",
    }
    found = read(write_tree(tmp_path, files)).at_boot
    assert [(one.module, one.path, one.line) for one in found or ()] == [
        ("nvidia_peermem", "/usr/lib/modules-load.d/a.conf", 1),
        ("ib_umad", "/etc/modules-load.d/b.conf", 2),
        ("rdma_ucm", "/etc/modules-load.d/b.conf", 5),
    ]


def test_a_tree_without_such_folders_tells_nothing_of_it(tmp_path: Path) -> None:
    assert read(write_tree(tmp_path, {"/proc/cmdline": "quiet\n"})).at_boot is None
