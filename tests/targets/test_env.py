"""env: who sets a variable already, what is found on the node instead of written down, and job/nccl.conf."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.derived.gids import derive
from advisor.model.snapshot import Snapshot, Source
from advisor.probes import nccl_conf, rdma
from advisor.probes.nccl_conf import NcclConf, NcclLine, ShellLine
from advisor.targets import env
from advisor.targets._base import SetBy
from tests.plans import HOSTILE, body, generated, needed, ran, wish, withheld
from tests.trees import write_tree


def host(**facts: object) -> Snapshot:
    return Snapshot(Source(kind="live"), {"nccl_conf": NcclConf.model_validate(facts)}, {})


SET = host(
    lines=(
        NcclLine(name="NCCL_IB_TC", value="106", path="/etc/nccl.conf", line=2),
        NcclLine(name="NCCL_IB_TC", value="3", path="/etc/nccl.conf", line=9, counts=False),
    ),
    logins=(ShellLine(name="OMP_NUM_THREADS", value="8", path="/etc/profile.d/site.sh", line=1),),
)


def test_what_sets_a_variable_already_is_found() -> None:
    assert env.set_by(SET, "NCCL_IB_TC") == (SetBy("106", "/etc/nccl.conf", 2),)
    assert env.set_by(SET, "OMP_NUM_THREADS") == (SetBy("8", "/etc/profile.d/site.sh", 1),)
    assert env.set_by(SET, "NCCL_DEBUG") == ()


def test_a_variable_of_the_operators_files_is_withheld() -> None:
    assert withheld(wish("env", "NCCL_IB_TC", 3), wish("env", "OMP_NUM_THREADS", 8), host=SET) == [
        "set to 106 by /etc/nccl.conf:2: change it there if you agree",
        "already set to 8 by /etc/profile.d/site.sh:1",
    ]


def test_a_vendors_profile_for_nccl_is_not_overridden() -> None:
    vendor = host(vendor="gcp-gib", vendor_paths=("/usr/local/gib/scripts/set_nccl_env.sh",))
    assert withheld(wish("env", "NCCL_IB_HCA", "=mlx5_0"), host=vendor) == [
        "gcp-gib brings a profile for NCCL with this machine (/usr/local/gib/scripts/set_nccl_env.sh)"
    ]
    text = generated(wish("env", "NCCL_DEBUG", "WARN"), wish("env", "OMP_NUM_THREADS", 4), host=vendor)["job/env.sh"]
    assert len(body(text)) == 2


def test_nccl_conf_is_read_as_it_was_meant(tmp_path: Path) -> None:
    settings = [wish("env", f"NCCL_TEST_{n}", value) for n, value in enumerate(HOSTILE)]
    text = generated(*settings, wish("env", "OMP_NUM_THREADS", 4))["job/nccl.conf"]
    facts = nccl_conf.read(write_tree(tmp_path, {"/etc/nccl.conf": text}))
    assert {line.name: line.value for line in facts.lines or ()} == {
        f"NCCL_TEST_{n}": value for n, value in enumerate(HOSTILE)
    }
    assert not any("comment behind" in line.defects for line in facts.lines or () if "#" not in (line.value or ""))


def test_a_job_without_variables_of_nccl_has_no_file_for_it() -> None:
    assert list(generated(wish("env", "OMP_NUM_THREADS", 4))) == ["job/env.sh"]
    assert list(generated(wish("env", "NCCL_IB_HCA", env.ALIKE_PORTS))) == ["job/env.sh"]


IB, ROCE = "InfiniBand", "Ethernet"
NODES: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "all alike": {"mlx5_0:1": ("4: ACTIVE", IB, "400"), "mlx5_1:1": ("4: ACTIVE", IB, "400")},
    "a slow front end": {"mlx5_0:1": ("4: ACTIVE", IB, "400"), "mlx5_1:1": ("4: ACTIVE", IB, "100")},
    "half is enough": {"mlx5_0:1": ("4: ACTIVE", IB, "400"), "mlx5_1:1": ("4: ACTIVE", IB, "200")},
    "ethernet beside": {"mlx5_0:1": ("4: ACTIVE", ROCE, "100"), "mlx5_1:1": ("4: ACTIVE", IB, "400")},
    "mostly RoCE": {
        "mlx5_0:1": ("4: ACTIVE", ROCE, "200"),
        "mlx5_1:1": ("4: ACTIVE", ROCE, "200"),
        "mlx5_2:1": ("4: ACTIVE", IB, "100"),
    },
    "a tie": {"mlx5_0:1": ("4: ACTIVE", ROCE, "200"), "mlx5_1:1": ("4: ACTIVE", IB, "200")},
    "one down": {"mlx5_0:1": ("1: DOWN", IB, "10"), "mlx5_1:1": ("4: ACTIVE", IB, "200")},
    "two ports": {"mlx5_0:1": ("4: ACTIVE", IB, "200"), "mlx5_0:2": ("4: ACTIVE", IB, "200")},
    "none": {},
    "all down": {"mlx5_0:1": ("1: DOWN", IB, "10")},
    "a rate that is not told": {"mlx5_0:1": ("4: ACTIVE", IB, "?"), "mlx5_1:1": ("4: ACTIVE", IB, "400")},
}


def files_of(ports: Mapping[str, tuple[str, str, str]]) -> dict[str, str]:
    files = {"/sys/class/infiniband/": ""}
    for name, (state, layer, rate) in ports.items():
        device, _, number = name.partition(":")
        folder = f"/sys/class/infiniband/{device}/ports/{number}"
        told = f"{rate} Gb/sec (4X NDR)\n" if rate.isdigit() else "\n"
        files |= {f"{folder}/state": f"{state}\n", f"{folder}/link_layer": f"{layer}\n", f"{folder}/rate": told}
    return files


def found(tmp_path: Path, shell: str, **variables: str) -> str:
    script = tmp_path / "env.sh"
    script.write_text(generated(wish("env", "NCCL_IB_HCA", env.ALIKE_PORTS))["job/env.sh"])
    argv = [shell, "-euc", '. "$1"; sh -c \'echo "${NCCL_IB_HCA-unset}"\'', shell, script]
    done = ran(argv, env={"PATH": "/usr/bin:/bin", "ADVISOR_ROOT": str(tmp_path / "root"), **variables})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize("case", list(NODES))
def test_ports_are_found_on_the_node_as_the_facts_have_them(tmp_path: Path, case: str, shell: str) -> None:
    needed(shell)
    tree = write_tree(tmp_path / "root", files_of(NODES[case]))
    assert found(tmp_path, shell) == (derive(rdma.read(tree), None).even_ports or "unset")


@pytest.mark.parametrize("own", ["=mlx5_7", ""], ids=["set", "set to nothing"])
def test_ports_that_the_operator_named_stay(tmp_path: Path, own: str) -> None:
    write_tree(tmp_path / "root", files_of(NODES["all alike"]))
    assert found(tmp_path, "dash", NCCL_IB_HCA=own) == own


def test_a_hostile_name_of_a_device_is_only_a_value(tmp_path: Path) -> None:
    write_tree(tmp_path / "root", files_of({"$(touch pwned);x:1": ("4: ACTIVE", IB, "100")}))
    assert found(tmp_path, "dash") == "=$(touch pwned);x:1"
    assert not (tmp_path / "pwned").exists()


def test_shellcheck_has_no_complaint(tmp_path: Path) -> None:
    needed("shellcheck")
    (tmp_path / "env.sh").write_text(generated(wish("env", "NCCL_IB_HCA", env.ALIKE_PORTS))["job/env.sh"])
    done = ran(["shellcheck", tmp_path / "env.sh"])
    assert (done.returncode, done.stdout) == (0, "")


def test_what_names_no_function_is_a_value_as_any_other() -> None:
    assert body(generated(wish("env", "A", env.ALIKE_PORTS))["job/env.sh"]) == [
        "[ -n \"${A+set}\" ] || A='@alike-rdma-ports'; export A"
    ]
