"""Suggestions for the boot loader, containers, Slurm, TuneD and Ansible; their own parsers decide."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from advisor.model.facts import Facts
from advisor.model.setting import Setting, Value
from advisor.model.snapshot import Snapshot, Source
from advisor.probes._unit_files import UnitLine
from advisor.probes.block import Block, BlockDevice
from advisor.probes.boot import Boot
from advisor.probes.modules import Module, Modules
from advisor.probes.platform import Platform
from advisor.probes.shm import Shm
from advisor.probes.sysctl import Sysctl
from advisor.probes.systemd import Service, Systemd
from advisor.probes.tuned import Tuned
from advisor.targets import cmdline, container, slurm
from tests.plans import HOSTILE, UNSEEN, body, everything, needed, ran, suggested, wish, withheld


def service(name: str) -> Service:
    path = f"/usr/lib/systemd/system/{name}.service"
    line = UnitLine(section="Service", key="LimitMEMLOCK", value="8M", path=path, line=1)
    return Service(name=f"{name}.service", path=path, masked=False, settings=(line,))


def host(*services: str, kind: str | None = None, **facts: Facts) -> Snapshot:
    known: dict[str, Facts] = {
        "systemd": Systemd(services=tuple(service(name) for name in services)),
        "platform": Platform(container=kind is not None, container_kind=kind),
        "boot": Boot(parameters={"quiet": (), "iommu": ("off",), "pci": ("noats", "realloc")}),
        "shm": Shm(size_bytes=64 << 20),
        "sysctl": Sysctl(vm_swappiness=60, net_ipv4_tcp_rmem=(4096, 131072, 6291456)),
        **facts,
    }
    return Snapshot(Source(kind="live"), known, {})


def test_the_command_line_as_it_is_read() -> None:
    text = suggested(wish("cmdline", "iommu.passthrough", 1), wish("cmdline", "nosmt", True), host=host())[
        "kernel-cmdline.txt"
    ]
    assert body(text) == ["iommu.passthrough=1", "nosmt"]
    assert "# rule area/name: helps\n# seen: nothing in /proc/cmdline (iommu.passthrough is not on it)\n" in text


def test_another_word_for_the_same_stands_too() -> None:
    machine = host(boot=Boot(parameters={"iommu.passthrough": ("0",)}))
    told = withheld(wish("cmdline", "iommu", "pt"), host=machine)
    assert told == ["set to iommu.passthrough=0 by /proc/cmdline: change it there if you agree"]


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("iommu", "pt", "set to off by /proc/cmdline: change it there if you agree"),
        ("quiet", True, "already"),
        ("isolcpus", "2-5", "advisor never sets it"),
        ("mitigations", "off", "advisor never sets it"),
    ],
)
def test_the_operators_words_on_the_command_line_stand(key: str, value: Value, why: str) -> None:
    assert why in withheld(wish("cmdline", key, value), host=host())[0]


FLAGS: Mapping[str, Value] = {
    "shm-size": 16 << 30,
    "ulimit/memlock": -1,
    "cap-add/IPC_LOCK": True,
    "device/dev/infiniband": True,
    "network": "host",
    "ipc": "host",
}


def flags(machine: Snapshot) -> Mapping[str, str]:
    return suggested(*(wish("container", key, value) for key, value in FLAGS.items()), host=machine)


def test_the_flags_of_a_container_are_words_of_a_shell() -> None:
    files = flags(host("docker"))
    assert sorted(files) == ["container-flags.txt"]
    assert [word for line in body(files["container-flags.txt"]) for word in shlex.split(line)] == [
        "--cap-add=IPC_LOCK",
        "--device=/dev/infiniband",
        "--ipc=host",
        "--network=host",
        "--shm-size=17179869184",
        "--ulimit=memlock=-1",
    ]


def test_a_container_gets_the_rdma_nodes_that_are_named_and_no_others() -> None:
    nodes = wish("container", "device/dev/infiniband", "uverbs0,uverbs11,rdma_cm")
    files = suggested(nodes, host=host(kind="docker"))
    assert [word for line in body(files["container-flags.txt"]) for word in shlex.split(line)] == [
        "--device=/dev/infiniband/uverbs0",
        "--device=/dev/infiniband/uverbs11",
        "--device=/dev/infiniband/rdma_cm",
    ]


@pytest.mark.parametrize("value", ["", "mem", "uverbs0,", "uverbs0 uverbs1", "../mem", "uverbs0\n", False, 1, "true"])
def test_what_names_no_rdma_node_is_refused(value: Value) -> None:
    assert "uverbs0,uverbs1,rdma_cm" in str(container.wrong("device/dev/infiniband", value))


def test_an_operator_may_name_the_nodes_or_ask_for_all() -> None:
    assert container.parsed("device/dev/infiniband", "uverbs3") == "uverbs3"
    assert container.parsed("device/dev/infiniband", "true") is True


def test_a_container_is_told_where_its_limits_and_kernel_keys_come_from() -> None:
    inside = host(kind="docker")
    assert "limits.d does not reach" in withheld(wish("limits", "*/soft/memlock", "unlimited"), host=inside)[0]
    assert withheld(wish("sysctl", "vm.swappiness", 10), host=inside) == ["this is a container: apply it on the host"]
    assert "else start it with --sysctl" in withheld(wish("sysctl", "net.core.somaxconn", 4096), host=inside)[0]


def test_inside_a_container_the_size_seen_is_told() -> None:
    text = suggested(wish("container", "shm-size", 1 << 30), host=host(kind="docker"))["container-flags.txt"]
    assert "# seen: 67108864 in /dev/shm\n" in text
    assert body(text) == ["--shm-size='1073741824'"]


def test_a_host_that_starts_no_containers_gets_no_flags() -> None:
    assert flags(host("slurmd")) == {}
    assert withheld(wish("container", "network", "host"), host=host("slurmd")) == [
        "nothing on this host starts containers, as far as its services tell"
    ]


@pytest.mark.parametrize("machine", [host("kubelet"), host(kind="kubernetes")], ids=["node", "pod"])
def test_kubernetes_own_schema_takes_the_pod(machine: Snapshot) -> None:
    kubernetes = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    pod = yaml.safe_load(flags(machine)["kubernetes.yaml"])
    kubernetes.validate(pod, kubernetes.latest_version(), strict=True)
    assert pod["spec"]["volumes"] == [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "17179869184"}}]
    assert pod["spec"]["containers"][0]["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert (pod["spec"]["hostNetwork"], pod["spec"]["hostIPC"]) == (True, True)
    with pytest.raises(kubernetes.ValidationError):
        kubernetes.validate({**pod, "spec": {**pod["spec"], "hostNetwork": "yes"}}, kubernetes.latest_version())


def test_slurm_is_told_only_where_it_runs() -> None:
    setting = wish("slurm", "PropagateResourceLimitsExcept", "MEMLOCK")
    text = suggested(setting, host=host("slurmd"))["slurm.conf.d/90-advisor.conf"]
    assert body(text) == ["PropagateResourceLimitsExcept=MEMLOCK"]
    assert withheld(setting, host=host("docker")) == ["it is not known that this host runs slurmd"]


@pytest.mark.parametrize("text", [*HOSTILE, *UNSEEN, "a b"], ids=ascii)
def test_no_text_gets_into_a_suggestion(text: str) -> None:
    assert cmdline.wrong(text, True) is not None
    assert cmdline.wrong("iommu", text) is not None
    assert container.wrong(text, True) is not None
    assert container.wrong("shm-size", text) is not None
    assert container.wrong("network", text) is not None
    assert slurm.wrong(text, "MEMLOCK") is not None
    assert slurm.wrong("PropagateResourceLimitsExcept", text) is not None


SYSCTLS = (wish("sysctl", "vm.swappiness", 10), wish("sysctl", "net.ipv4.tcp_rmem", (4096, 131072, 16777216)))


def tuned(profile: str, *files: str) -> Snapshot:
    return host("tuned", tuned=Tuned(profile=profile, files=files))


def profile_text(machine: Snapshot) -> str | None:
    return suggested(*SYSCTLS, host=machine).get("tuned/advisor/tuned.conf")


def test_tuned_loads_the_profile_and_that_of_the_host_below_it(tmp_path: Path) -> None:
    needed("tuned-adm")
    text = profile_text(tuned("throughput-performance"))
    assert text is not None
    (tmp_path / "advisor").mkdir()
    (tmp_path / "advisor" / "tuned.conf").write_text(text)
    code = (
        "import sys, json; sys.path.insert(0, '/usr/lib/python3/dist-packages')\n"
        "from tuned.profiles import Locator, Loader, Factory, Merger\n"
        "from tuned.profiles.variables import Variables\n"
        "from tuned.utils.config_parser import ConfigParser\n"
        "import tuned.consts as c\n"
        "from tuned.utils.global_config import GlobalConfig\n"
        "loader = Loader(Locator([sys.argv[1], '/usr/lib/tuned', '/usr/lib/tuned/profiles']), Factory(), Merger(),"
        " GlobalConfig('/etc/tuned/tuned-main.conf'), Variables())\n"
        "profile = loader.load(['advisor'])\n"
        "print(json.dumps({name: dict(unit.options) for name, unit in profile.units.items()}))\n"
    )
    done = ran(["/usr/bin/python3", "-c", code, tmp_path])
    assert done.returncode == 0, done.stderr
    units = json.loads(done.stdout.splitlines()[-1])
    assert units["sysctl"]["vm.swappiness"] == "10"
    assert units["sysctl"]["net.ipv4.tcp_rmem"] == "4096 131072 16777216"
    assert "cpu" in units  # of throughput-performance


@pytest.mark.parametrize(
    ("machine", "include"),
    [
        (tuned("balanced"), "balanced"),
        (tuned("hpc-compute site"), "hpc-compute,site"),
        (tuned("advisor", "/usr/lib/tuned/balanced/tuned.conf", "/etc/tuned/advisor/tuned.conf"), "balanced"),
        (tuned("advisor", "/etc/tuned/advisor/tuned.conf"), None),
        (tuned("a\nb"), "a,b"),
        (tuned("x;rm"), None),
        (host(tuned=Tuned(profile="balanced")), None),
    ],
    ids=["one", "two", "ours is active", "ours alone", "line break", "no name", "not installed"],
)
def test_the_profile_includes_that_of_the_host(machine: Snapshot, include: str | None) -> None:
    text = profile_text(machine)
    found = None if text is None else [line for line in body(text) if line.startswith("include=")]
    assert found == (None if include is None else [f"include={include}"])


def every_host_file() -> tuple[tuple[Setting, ...], Snapshot]:
    disk = BlockDevice(name="nvme0n1", kind="nvme", scheduler="kyber", schedulers=("none", "kyber"))
    module = Module(name="sunrpc", loaded=False, accepts=("x",))
    machine = host("slurmd", block=Block(devices=(disk,)), modules=Modules(modules=(module,)))
    wishes = (
        *SYSCTLS,
        wish("udev", "nvme/scheduler", "none"),
        wish("unit", "slurmd.service/LimitMEMLOCK", "infinity"),
        wish("modules", "sunrpc", True),
        wish("modprobe", "sunrpc.x", 1),
        wish("limits", "*/soft/nofile", 65536),
    )
    return wishes, machine


def test_ansible_takes_the_playbook_and_would_install_every_file(tmp_path: Path) -> None:
    needed("ansible-playbook")
    wishes, machine = every_host_file()
    files = everything(*wishes, host=machine)
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    playbook = tmp_path / "suggested/ansible/advisor.yml"
    home = {"HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}  # it keeps files below HOME, and takes no other locale
    check = ["ansible-playbook", "-i", "localhost,", "--syntax-check", playbook]
    done = ran(check, cwd=tmp_path, env={**os.environ, **home})
    assert done.returncode == 0, done.stdout + done.stderr
    (play,) = yaml.safe_load(playbook.read_text())
    copies = [task["ansible.builtin.copy"] for task in play["tasks"] if "ansible.builtin.copy" in task]
    assert {copy["dest"] for copy in copies} == {path[4:] for path in files if path.startswith("host/")}
    assert all((playbook.parent / copy["src"]).is_file() for copy in copies)
    assert {task["notify"] for task in play["tasks"] if "notify" in task} == {one["name"] for one in play["handlers"]}
    assert len(copies) == 6
    folders = [task["ansible.builtin.file"] for task in play["tasks"] if "ansible.builtin.file" in task]
    assert all(set(folder) == {"path", "state"} for folder in folders)  # one that is there keeps its mode


def test_the_playbook_sets_no_key_of_another_file() -> None:
    text = everything(*SYSCTLS, host=host())["suggested/ansible/advisor.yml"]
    assert "systemd-sysctl" not in text
    assert '- "--load=/etc/sysctl.d/90-advisor.conf"' in text


def test_without_files_for_the_host_there_is_no_playbook() -> None:
    assert suggested(wish("env", "A", "1"), host=host()) == {}
