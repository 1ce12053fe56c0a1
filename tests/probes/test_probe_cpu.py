"""CPUs are counted from whatever the kernel, old or new, has to say."""

from pathlib import Path

import pytest

from advisor.host.tree import Tree
from advisor.model.facts import evidence_path
from advisor.probes._cpuinfo import architecture_of, hypervisor_flag, parse_first_cpu, parse_processors
from advisor.probes._cpulist import parse_cpulist, parse_cpumask
from advisor.probes.cpu import ORIGIN, core_of, parse_allowed_cpus, read
from tests.trees import write_capture, write_tree


def topology(number: int, package: int, core: int, siblings: str, together: str) -> dict[str, str]:
    """The files of one CPU."""
    folder = f"{ORIGIN}/cpu{number}/topology"
    return {
        f"{folder}/physical_package_id": f"{package}\n",
        f"{folder}/core_id": f"{core}\n",
        f"{folder}/thread_siblings_list": f"{siblings}\n",
        f"{folder}/core_siblings_list": f"{together}\n",
    }


TWO_SOCKETS = {
    f"{ORIGIN}/online": "0-3\n",
    f"{ORIGIN}/present": "0-3\n",
    f"{ORIGIN}/offline": "4-15\n",
    **topology(0, 0, 0, "0,2", "0,2"),
    **topology(1, 1, 0, "1,3", "1,3"),
    **topology(2, 0, 0, "0,2", "0,2"),
    **topology(3, 1, 0, "1,3", "1,3"),
}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("0-3,8,10-12\n", (0, 1, 2, 3, 8, 10, 11, 12), id="ranges"),
        pytest.param("\n", (), id="empty"),
        pytest.param("(null)\n", (), id="nohz_full unset"),
        pytest.param("0-6:2", (0, 2, 4, 6), id="stride"),
        pytest.param("0-9:2/5", (0, 1, 5, 6), id="groups"),
        pytest.param("3,1-2,2", (1, 2, 3), id="unordered and double"),
    ],
)
def test_a_cpulist_is_read(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_cpulist(text) == numbers


@pytest.mark.parametrize("text", ["0-99999999999", "3-1", "a", "1-", "-1", "0-3:0", "0-3:1/0", "0x3", "٣"])
def test_nonsense_is_no_cpulist(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_cpulist(text)


def test_a_mask_is_read_from_its_end() -> None:
    assert parse_cpumask("00000001,0000000a\n") == (1, 3, 32)
    assert parse_cpumask("1,00000000") == (32,)
    with pytest.raises(ValueError, match="no mask"):
        parse_cpumask("0-3")


def test_sockets_cores_and_threads_are_told_apart(tmp_path: Path) -> None:
    cpu = read(write_tree(tmp_path, TWO_SOCKETS))
    assert (cpu.online, cpu.packages, cpu.cores, cpu.smt_active) == ((0, 1, 2, 3), 2, 2, True)
    assert [(one.number, one.package, one.core, one.siblings) for one in cpu.cpus or ()] == [
        (0, 0, 0, (0, 2)),
        (1, 1, 0, (1, 3)),
        (2, 0, 0, (0, 2)),
        (3, 1, 0, (1, 3)),
    ]


def test_empty_slots_are_not_offline_cpus(tmp_path: Path) -> None:
    assert read(write_tree(tmp_path, TWO_SOCKETS)).offline == ()


def test_a_cpu_that_is_switched_off_is_offline(tmp_path: Path) -> None:
    cpu = read(write_tree(tmp_path, {**TWO_SOCKETS, f"{ORIGIN}/online": "0-2", f"{ORIGIN}/cpu3/online": "0"}))
    assert (cpu.offline, cpu.packages, cpu.cores) == ((3,), 2, 2)
    assert [one.online for one in cpu.cpus or ()] == [True, True, True, False]


def test_without_a_list_each_cpu_tells_whether_it_is_online(tmp_path: Path) -> None:
    files = {f"{ORIGIN}/cpu0/": "", f"{ORIGIN}/cpu2/online": "0\n", f"{ORIGIN}/cpu3/online": "1\n"}
    cpu = read(write_tree(tmp_path, files))
    assert (cpu.online, cpu.offline) == ((0, 3), (2,))
    assert evidence_path(cpu, "online") == ORIGIN


def test_without_folders_cpuinfo_counts(tmp_path: Path) -> None:
    cpu = read(write_tree(tmp_path, {"/proc/cpuinfo": "processor : 0\n\nprocessor : 2\n"}))
    assert (cpu.online, cpu.cpus, cpu.cores, cpu.packages) == ((0, 2), None, None, None)
    assert evidence_path(cpu, "online") == "/proc/cpuinfo"


def test_a_kernel_before_lists_has_masks(tmp_path: Path) -> None:
    files = {}
    for number in (0, 1):
        files[f"{ORIGIN}/cpu{number}/topology/thread_siblings"] = "00000003\n"
        files[f"{ORIGIN}/cpu{number}/topology/core_siblings"] = "00000003\n"
    cpu = read(write_tree(tmp_path, files))
    assert (cpu.packages, cpu.cores, cpu.smt_active) == (1, 1, True)
    assert cpu.cpus is not None
    assert evidence_path(cpu.cpus[1], "siblings") == f"{ORIGIN}/cpu1/topology/thread_siblings"


def test_package_ids_count_where_there_are_no_sets(tmp_path: Path) -> None:
    files = {f"{ORIGIN}/cpu{n}/topology/physical_package_id": f"{n}\n" for n in (0, 1)}
    assert read(write_tree(tmp_path, files)).packages == 2


def test_cores_with_the_same_id_in_two_packages_are_two(tmp_path: Path) -> None:
    files = {}
    for number in (0, 1):
        files[f"{ORIGIN}/cpu{number}/topology/physical_package_id"] = f"{number}\n"
        files[f"{ORIGIN}/cpu{number}/topology/core_id"] = "0\n"
    cpu = read(write_tree(tmp_path, files))
    assert cpu.cores == 2
    assert [core_of(one) for one in cpu.cpus or ()] == [(0, None, 0), (1, None, 0)]


def test_an_id_of_minus_one_is_not_known(tmp_path: Path) -> None:
    cpu = read(write_tree(tmp_path, {f"{ORIGIN}/cpu0/topology/physical_package_id": "-1\n"}))
    assert (cpu.packages, cpu.cores) == (None, None)


def test_an_empty_tree_says_nothing(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/": ""})
    cpu = read(host)
    assert (cpu.online, cpu.offline, cpu.cpus, cpu.policies, cpu.affinity, cpu.isolated) == (None,) * 6
    assert host.gaps[f"{ORIGIN}/online"] == "not captured"
    assert host.gaps[evidence_path(cpu, "affinity")] == "not captured"


def test_a_list_that_does_not_parse_is_a_gap(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {f"{ORIGIN}/isolated": "all of them\n"})
    assert read(host).isolated is None
    assert host.gaps[f"{ORIGIN}/isolated"] == "unsupported"


def test_affinity_is_asked_for_and_else_read_from_status(tmp_path: Path) -> None:
    asked = read(write_capture(tmp_path / "asked", {}, affinity=[3, 1]))
    status = read(write_tree(tmp_path / "tree", {"/proc/self/status": "Name:\tcat\nCpus_allowed_list:\t0-1,4\n"}))
    assert (asked.affinity, status.affinity) == ((1, 3), (0, 1, 4))
    assert evidence_path(status, "affinity") == "/proc/self/status"
    with pytest.raises(ValueError, match="Cpus_allowed_list"):
        parse_allowed_cpus("Name:\tcat\n")


def test_frequency_domains_have_governor_and_preference(tmp_path: Path) -> None:
    folder = f"{ORIGIN}/cpufreq/policy4"
    files = {
        f"{folder}/scaling_driver": "intel_pstate\n",
        f"{folder}/scaling_governor": "powersave\n",
        f"{folder}/scaling_available_governors": "performance powersave\n",
        f"{folder}/energy_performance_preference": "balance_performance\n",
        f"{folder}/cpuinfo_max_freq": "3500000\n",
        f"{ORIGIN}/intel_pstate/status": "active\n",
        f"{ORIGIN}/intel_pstate/no_turbo": "1\n",
        f"{ORIGIN}/cpufreq/boost": "0\n",
    }
    cpu = read(write_tree(tmp_path, files))
    (policy,) = cpu.policies or ()
    assert (policy.number, policy.driver, policy.governor) == (4, "intel_pstate", "powersave")
    assert policy.available_governors == ("performance", "powersave")
    assert (policy.energy_preference, policy.max_hertz) == ("balance_performance", 3_500_000_000)
    assert (cpu.intel_pstate_status, cpu.no_turbo, cpu.boost) == ("active", True, False)


def test_old_kernels_keep_frequency_in_the_folders_of_cpus(tmp_path: Path) -> None:
    files = {f"{ORIGIN}/cpu{n}/cpufreq/scaling_governor": "ondemand\n" for n in (0, 1)}
    policies = read(write_tree(tmp_path, files)).policies
    assert [(p.number, p.governor) for p in policies or ()] == [(0, "ondemand"), (1, "ondemand")]


def test_no_frequency_folder_is_an_answer_only_where_absence_is_known(tmp_path: Path) -> None:
    files = {f"{ORIGIN}/cpu0/online": "1\n"}
    assert read(write_capture(tmp_path / "capture", files)).policies == ()
    assert read(write_tree(tmp_path / "tree", files)).policies is None


def test_the_switch_of_the_kernel_tells_smt(tmp_path: Path) -> None:
    cpu = read(write_tree(tmp_path, {f"{ORIGIN}/smt/active": "0\n", f"{ORIGIN}/smt/control": "forceoff\n"}))
    assert (cpu.smt_active, cpu.smt_control) == (False, "forceoff")


def test_cpuinfo_gives_the_first_cpus_fields() -> None:
    text = "processor\t: 0\nmodel name\t: Made Up 9000 @ 2.0GHz\nflags\t\t: fpu lm hypervisor\n\nmodel name\t: Other\n"
    fields = parse_first_cpu(text)
    assert (fields["model name"], hypervisor_flag(fields)) == ("Made Up 9000 @ 2.0GHz", True)
    assert hypervisor_flag({"flags": "fpu lm"}) is False
    assert hypervisor_flag({"cpu implementer": "0x41"}) is None


def test_processors_are_listed_in_two_ways() -> None:
    assert parse_processors("processor\t: 12\nprocessor : 3\n") == (3, 12)
    assert parse_processors("# processors : 2\nprocessor 0: version = FF\nprocessor 1: version = FF\n") == (0, 1)


@pytest.mark.parametrize(
    ("fields", "architecture"),
    [
        pytest.param({"vendor_id": "A", "flags": "fpu lm"}, "x86_64", id="x86_64"),
        pytest.param({"vendor_id": "A", "flags": "fpu"}, "i686", id="32-bit CPU"),
        pytest.param({"vendor_id": "A", "flags": "fpu lm", "f00f_bug": "no"}, "i686", id="32-bit kernel"),
        pytest.param({"cpu implementer": "0x41", "cpu architecture": "8"}, "aarch64", id="aarch64"),
        pytest.param({"vendor_id": "IBM/S390"}, "s390x", id="s390x"),
        pytest.param({"isa": "rv64imafdc"}, "riscv64", id="riscv64"),
        pytest.param({"cpu": "POWER9"}, None, id="POWER does not tell its byte order"),
    ],
)
def test_architecture_by_the_shape_of_cpuinfo(fields: dict[str, str], architecture: str | None) -> None:
    assert architecture_of(fields) == architecture


def test_architecture_is_asked_for_at_last(tmp_path: Path) -> None:
    cpu = read(write_capture(tmp_path, {"/proc/cpuinfo": "cpu : POWER9\n"}, outputs={("uname", "-m"): "ppc64le\n"}))
    assert (cpu.architecture, evidence_path(cpu, "architecture")) == ("ppc64le", "command: uname -m")


def test_big_machines_cost_few_questions(tmp_path: Path) -> None:
    """Per CPU: three ids, the siblings; its package's CPUs are read once per package."""
    files = {f"{ORIGIN}/online": "0-63\n"}
    for number in range(64):
        files |= topology(number, 0, number, str(number), "0-63")
    counted = _Counted.in_folder(tmp_path)
    write_tree(tmp_path, files)
    assert read(counted).packages == 1
    assert counted.questions < 64 * 4 + 40


class _Counted(Tree):
    """A tree that counts what it is asked."""

    questions = 0

    def data(self, path: str, limit: int = 65536) -> bytes | None:
        self.questions += 1
        return super().data(path, limit)
