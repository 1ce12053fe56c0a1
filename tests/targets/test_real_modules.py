"""Lines for modprobe.d against the modules of a real kernel: Debian's, unpacked below ``.kernel`` (see .ci/run)."""

import shutil
from pathlib import Path

import pytest

from advisor.commands._rules import loaded, sections
from advisor.commands._snapshot import derive
from advisor.model.snapshot import Snapshot, Source
from advisor.probes.limits import Limits
from advisor.probes.modules import Module, Modules, parse_modinfo
from advisor.rulebook.evaluate import evaluate
from advisor.rulebook.examples import example_snapshot
from tests.plans import generated, needed, ran, wish, withheld

KERNEL = Path(__file__).resolve().parents[2] / ".kernel"
MODPROBE = "host/etc/modprobe.d/90-advisor.conf"
OF_ARTICLES = ("log_max_qp", "log_max_cq", "log_max_mkey", "log_max_mr", "num_vfs", "roce_enable")
"""Parameters of mlx5_core that are advised in public."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of modules with nothing but mlx5_core, indexed by depmod."""
    needed("modinfo", "depmod", "modprobe")
    found = next(
        iter(sorted(KERNEL.glob("lib/modules/*/kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko"))), None
    )
    if found is None:
        pytest.skip(f"no kernel package is unpacked below {KERNEL.name}")
    top = tmp_path_factory.mktemp("kernel")
    place = top / found.relative_to(KERNEL)
    place.parent.mkdir(parents=True)
    shutil.copyfile(found, place)
    done = ran(["depmod", "-b", top, release(top)])
    assert done.returncode == 0, done.stderr
    return top


def release(top: Path) -> str:
    return next((top / "lib/modules").iterdir()).name


def host(top: Path) -> Snapshot:
    """A host whose mlx5_core is this one."""
    done = ran(["modinfo", "-F", "parm", next(top.rglob("mlx5_core.ko"))])
    assert done.returncode == 0, done.stderr
    known = Module(name="mlx5_core", loaded=True, accepts=parse_modinfo(done.stdout), accepts_no_others=True)
    facts = {"modules": Modules(modules=(known,)), "limits": Limits(nofile_soft=1024)}
    return Snapshot(Source(kind="live"), facts, {})


def test_modprobe_would_load_the_module_with_what_rules_set(tree: Path, tmp_path: Path) -> None:
    here = sections()
    wanted = {
        (setting.key, setting.value)
        for rule in loaded()
        for example in rule.file.examples
        for finding in evaluate([rule], example_snapshot(rule, example, here, derive)).findings
        for setting in finding.settings
        if setting.target == "modprobe"
    }
    assert wanted == {("mlx5_core.prof_sel", 2)}
    text = generated(*(wish("modprobe", key, value) for key, value in wanted), host=host(tree))[MODPROBE]
    (tmp_path / "90-advisor.conf").write_text(text)
    done = ran(["modprobe", "-d", tree, "-S", release(tree), "-C", tmp_path, "--show-depends", "mlx5_core"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("/mlx5_core.ko prof_sel=2")


@pytest.mark.parametrize("parameter", OF_ARTICLES)
def test_what_the_real_module_lacks_is_never_written(parameter: str, tree: Path) -> None:
    (told,) = withheld(wish("modprobe", f"mlx5_core.{parameter}", 1), host=host(tree))
    assert "mlx5_core has no parameter" in told or "advisor never sets it" in told
