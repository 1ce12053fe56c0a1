"""job/launch.sh: each rank on the node of its GPU, found where it runs; unbound, and saying so, where none is told."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.targets import launch
from tests.plans import HOSTILE, UNSEEN, everything, generated, needed, ran, wish

GPUS = ("00000000:3B:00.0, GPU-aaaa1111", "00000000:5E:00.0, GPU-aaab2222", "00010000:AF:00.0, GPU-cccc3333")
NODES = {"0000:3b:00.0": 0, "0000:5e:00.0": 1, "10000:af:00.0": 3}
CPUS = {0: ("0-3,16-19", 0), 1: ("4-7", 0), 2: ("8-11", 1), 3: ("12-15", 1)}


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A machine with three GPUs on two sockets of two nodes, and programs that say what they were told."""
    needed("dash", "bash")
    root, programs = tmp_path / "root", tmp_path / "bin"
    programs.mkdir()
    for address, number in NODES.items():
        device(root, address, vendor="0x10de", **{"class": "0x030200", "numa_node": str(number)})
    device(root, "0000:00:02.0", vendor="0x1a03", **{"class": "0x030000"})
    device(root, "0000:01:00.0", vendor="0x10de", **{"class": "0x068000"})
    for number, (cpus, socket) in CPUS.items():
        (root / f"sys/devices/system/node/node{number}").mkdir(parents=True)
        (root / f"sys/devices/system/node/node{number}/cpulist").write_text(f"{cpus}\n")
        topology = root / f"sys/devices/system/cpu/cpu{cpus.partition('-')[0]}/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{socket}\n")
    (root / "sys/devices/system/node/possible").write_text("0-1,2-3\n")
    program(programs, "nvidia-smi", "cat <<'X'\n" + "\n".join(GPUS) + "\nX")
    # As numactl does, it starts the command; the first call of the script is only a trial.
    show = '[ "$1" = --show ] && echo "cpubind: $BOUND" && exit'
    refused = 'case "$REFUSED" in "") ;; *) case $1 in *=*"$REFUSED"*) exit 1;; esac;; esac'
    start = '[ "$3" = true ] || { echo "bound $1 $2"; shift 2; exec "$@"; }'
    program(programs, "numactl", f"{show}; {refused}; {start}")
    program(programs, "torchrun", 'case $1 in --help) echo "  --numa-binding {node}";; *) echo "torchrun $*";; esac')
    return tmp_path


def device(root: Path, address: str, **files: str) -> None:
    (root / "sys/bus/pci/devices" / address).mkdir(parents=True)
    for name, text in files.items():
        (root / "sys/bus/pci/devices" / address / name).write_text(f"{text}\n")


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def start(
    node: Path, *argv: str, mode: str = "node", shell: str = "dash", env: str = "", **variables: str
) -> tuple[str, str]:
    """What the command said and what the script said, started with these variables alone."""
    script = node / "job" / "launch.sh"
    script.parent.mkdir(exist_ok=True)
    script.write_text(generated(wish("launch", "numa-binding", mode))["job/launch.sh"])
    if env:
        (node / "job" / "env.sh").write_text(env)
    base = {"PATH": f"{node}/bin:/usr/bin:/bin", "ADVISOR_ROOT": str(node / "root"), "BOUND": "0 1 2 3", **variables}
    done = ran([f"/bin/{shell}", script, *argv], env=base, cwd=node)
    assert done.returncode == (0 if argv else 2)
    return done.stdout.strip(), done.stderr.strip().replace("launch.sh: ", "")


ECHO = ("sh", "-c", 'echo "ran $*"', "x", "a b", "$c")
RAN = "ran a b $c"


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize(
    ("variables", "bound"),
    [
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "3"}, "0"),
        ({"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "3"}, "3"),
        ({"SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "3(x2)"}, "1"),
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, "1"),
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "2,1"}, "3"),
        ({"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "GPU-cccc,GPU-aaab"}, "1"),
        ({"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "2"}, "3"),
        ({"SLURM_LOCALID": "0", "SLURM_NTASKS_PER_NODE": "1", "CUDA_VISIBLE_DEVICES": "1"}, "1"),
    ],
    ids=["first", "last, long domain", "slurm", "open mpi", "other order", "by identity", "one each", "one GPU"],
)
def test_a_rank_is_bound_to_the_node_of_its_gpu(
    node: Path, shell: str, variables: Mapping[str, str], bound: str
) -> None:
    out, said = start(node, *ECHO, shell=shell, **variables)
    assert (out, said) == (f"bound --cpunodebind={bound} --localalloc\n{RAN}", "")


@pytest.mark.parametrize("bound", ["0", "3"])
def test_a_rank_that_its_launcher_bound_already_stays_there(node: Path, bound: str) -> None:
    assert start(node, *ECHO, LOCAL_RANK="0", LOCAL_WORLD_SIZE="3", BOUND=bound) == (RAN, "")


def test_a_rank_can_have_all_nodes_of_the_socket(node: Path) -> None:
    out, _ = start(node, *ECHO, mode="socket", LOCAL_RANK="2", LOCAL_WORLD_SIZE="3")
    assert out.startswith("bound --cpunodebind=2,3 ")


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({}, "no launcher says which rank"),
        ({"LOCAL_RANK": "0"}, "no launcher says which rank"),
        ({"SLURM_LOCALID": "0", "SLURM_STEP_TASKS_PER_NODE": "1"}, "one process for several GPUs"),
        ({"LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4"}, "the PCI address of GPU 3 is not known"),
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "MIG-1,MIG-2"}, "no whole GPU"),
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": ""}, "no whole GPU"),
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "GPU-aaa,x"}, "of GPU GPU-aaa is not"),
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, "may be any"),
        ({"LOCAL_RANK": "$(touch pwned)", "LOCAL_WORLD_SIZE": "2"}, "no launcher says"),
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "../x,$(touch pwned)"}, "not known"),
    ],
    ids=[
        "alone",
        "of how many",
        "a launcher",
        "too few GPUs",
        "MIG",
        "none",
        "two such",
        "order",
        "hostile",
        "hostile 2",
    ],
)
def test_what_cannot_be_told_is_said_and_the_rank_starts_all_the_same(
    node: Path, variables: Mapping[str, str], why: str
) -> None:
    out, said = start(node, *ECHO, **variables)
    assert out == RAN
    assert why in said
    assert said.endswith("the rank is not bound")
    assert not (node / "pwned").exists()


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize("mode", ["node", "socket"])
@pytest.mark.parametrize("text", ["-1", "", "x", None], ids=["not told", "empty", "no number", "no file"])
def test_a_gpu_without_a_node_is_not_bound(node: Path, text: str | None, mode: str, shell: str) -> None:
    file = node / "root/sys/bus/pci/devices/0000:3b:00.0/numa_node"
    file.unlink()
    if text is not None:
        file.write_text(f"{text}\n")
    out, said = start(node, *ECHO, mode=mode, shell=shell, LOCAL_RANK="0", LOCAL_WORLD_SIZE="3")
    assert (out, said.splitlines()[1:]) == (RAN, ["the rank is not bound"])


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize("mode", ["node", "socket"])
def test_a_gpu_on_a_node_without_cpus_is_not_bound(node: Path, shell: str, mode: str) -> None:
    (node / "root/sys/devices/system/node/node0/cpulist").write_text("\n")
    out, said = start(node, *ECHO, mode=mode, shell=shell, LOCAL_RANK="0", LOCAL_WORLD_SIZE="3")
    assert (out, said) == (RAN, "node 0, on which GPU 0 is, has no CPUs\nthe rank is not bound")


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize("text", ["-1", None], ids=["not told", "no file"])
def test_a_gpu_on_a_socket_that_is_not_known_is_not_bound(node: Path, shell: str, text: str | None) -> None:
    for number in (0, 4, 8, 12):
        file = node / f"root/sys/devices/system/cpu/cpu{number}/topology/physical_package_id"
        file.unlink()
        if text is not None:
            file.write_text(f"{text}\n")
    out, said = start(node, *ECHO, mode="socket", shell=shell, LOCAL_RANK="0", LOCAL_WORLD_SIZE="3")
    assert (out, said) == (RAN, "the kernel does not say which socket node 0 is on\nthe rank is not bound")
    assert start(node, *ECHO, shell=shell, LOCAL_RANK="0", LOCAL_WORLD_SIZE="3")[0].startswith("bound ")


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_socket_is_without_its_nodes_that_have_no_cpus(node: Path, shell: str) -> None:
    (node / "root/sys/devices/system/node/node1/cpulist").write_text("\n")
    out, said = start(node, *ECHO, mode="socket", shell=shell, LOCAL_RANK="0", LOCAL_WORLD_SIZE="3")
    assert (out, said) == (f"bound --cpunodebind=0 --localalloc\n{RAN}", "")


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_what_is_not_installed_keeps_no_rank_from_starting(node: Path, shell: str) -> None:
    """Neither nvidia-smi nor numactl nor awk, and an env.sh with a line that fails."""
    only = node / "only"
    only.mkdir()
    for name in ("dirname", "grep", "tr", "true"):
        (only / name).symlink_to(shutil.which(name) or name)
    out, said = start(
        node,
        *("/bin/sh", *ECHO[1:]),
        shell=shell,
        env="false; A=$UNSET",
        LOCAL_RANK="0",
        LOCAL_WORLD_SIZE="3",
        PATH=str(only),
    )
    assert (out, said.splitlines()[-2:]) == (RAN, ["the PCI address of GPU 0 is not known", "the rank is not bound"])


def test_a_node_that_the_group_may_not_use_is_not_bound_to(node: Path) -> None:
    program(node / "bin", "numactl", "exit 1")
    out, said = start(node, *ECHO, LOCAL_RANK="0", LOCAL_WORLD_SIZE="3")
    assert (out, "cannot bind to node 0" in said) == (RAN, True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--nproc-per-node=8", "train.py"), "torchrun --numa-binding=node --nproc-per-node=8 train.py"),
        (("--numa-binding", "socket", "train.py"), "torchrun --numa-binding socket train.py"),
    ],
    ids=["added", "the operator's own"],
)
def test_torchrun_binds_by_itself_where_it_can(node: Path, arguments: tuple[str, ...], expected: str) -> None:
    assert start(node, "torchrun", *arguments, SLURM_LOCALID="0", SLURM_STEP_TASKS_PER_NODE="1") == (expected, "")


TRAIN = ("torchrun", "train.py")
BOUND = "torchrun --numa-binding={} train.py"


def test_torchrun_binds_to_sockets_where_every_node_has_cpus_for_it(node: Path) -> None:
    assert start(node, *TRAIN, mode="socket") == (BOUND.format("socket"), "")


def test_torchrun_needs_no_nvidia_smi_to_bind(node: Path) -> None:
    (node / "bin" / "nvidia-smi").unlink()
    assert start(node, *TRAIN) == (BOUND.format("node"), "")


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize(
    ("mode", "file", "text", "why"),
    [
        ("node", "bus/pci/devices/0000:5e:00.0/numa_node", "-1", "does not say which NUMA node GPU 0000:5e:00.0 is on"),
        ("node", "devices/system/node/node1/cpulist", "", "node 1, on which GPU 0000:5e:00.0 is, has no CPUs"),
        ("socket", "devices/system/node/node1/cpulist", "", "node 1, on which GPU 0000:5e:00.0 is, has no CPUs"),
        ("socket", "devices/system/node/possible", "0-9", "node 4 has no CPUs for this job"),
        ("socket", "devices/system/node/possible", "", "node unknown has no CPUs for this job"),
    ],
    ids=["node not told", "node without CPUs", "socket without CPUs there", "memory only", "possible nodes not known"],
)
def test_torchrun_is_not_asked_for_what_would_end_it(
    node: Path, shell: str, mode: str, file: str, text: str, why: str
) -> None:
    (node / "root/sys" / file).write_text(f"{text}\n")
    program(node / "bin", "numactl", "case $1 in *=[0-3] | *=[0-3],*) ;; *) exit 1;; esac")
    out, said = start(node, *TRAIN, mode=mode, shell=shell)
    assert (out, why in said, said.endswith("ranks are not bound")) == ("torchrun train.py", True, True)


def test_torchrun_is_started_as_it_is_where_the_group_may_not_use_a_node(node: Path) -> None:
    out, said = start(node, *TRAIN, REFUSED="3")
    assert (out, "cannot bind to node 3" in said) == ("torchrun train.py", True)


def test_torchrun_is_started_as_it_is_where_no_gpu_is_seen(node: Path) -> None:
    out, said = start(node, *TRAIN, ADVISOR_ROOT=str(node / "nowhere"))
    assert (out, "no GPU can be seen" in said) == ("torchrun train.py", True)


def test_an_older_torchrun_is_started_as_it_is(node: Path) -> None:
    program(node / "bin", "torchrun", 'echo "torchrun $*"')
    out, said = start(node, "torchrun", "train.py")
    assert (out, "this torchrun has no --numa-binding" in said) == ("torchrun train.py", True)


def test_this_torchrun_has_the_option() -> None:
    run = pytest.importorskip("torch.distributed.run")
    assert "--numa-binding" in run.get_args_parser().format_help()


def test_env_sh_beside_it_is_read_and_the_order_of_gpus_is_that_of_the_bus(node: Path) -> None:
    out, _ = start(node, "sh", "-c", "echo $A $CUDA_DEVICE_ORDER", env="A=1; export A")
    assert out == "1 PCI_BUS_ID"


def test_without_a_command_it_says_what_to_give(node: Path) -> None:
    assert "give the command that is to start" in start(node)[1]


def test_numactl_itself_takes_the_options_and_tells_the_nodes_it_is_bound_to(node: Path) -> None:
    needed("numactl")
    shown = ran(["numactl", "--show"])
    done = ran(["numactl", "--cpunodebind=0", "--localalloc", "true"])
    if done.returncode != 0 or "No NUMA support" in shown.stdout:
        pytest.skip("this kernel does not allow a memory policy")
    assert next(line for line in shown.stdout.splitlines() if line.startswith("cpubind:")).split()[1] == "0"


def test_shellcheck_has_no_complaint(tmp_path: Path) -> None:
    needed("shellcheck")
    script = tmp_path / "launch.sh"
    script.write_text(generated(wish("launch", "numa-binding", "node", text="$(x) `y`\nz\\"))["job/launch.sh"])
    done = ran(["shellcheck", script])
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("text", [*HOSTILE, *UNSEEN], ids=ascii)
def test_no_text_gets_into_the_script(text: str) -> None:
    assert launch.wrong(launch.KEY, text) is not None
    assert launch.wrong(text, "node") is not None


def test_nothing_asked_for_gives_no_script() -> None:
    assert everything() == {}
