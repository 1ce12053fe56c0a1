"""Caches, clocks, idle states, throttling and flaws of CPUs, read from few files of few CPUs."""

from pathlib import Path

import pytest

from advisor.host.captured import open_root
from advisor.host.recording import Recorder
from advisor.host.tree import Tree
from advisor.model.facts import evidence_path
from advisor.probes._caches import parse_size
from advisor.probes.cpu import ORIGIN, Cpu, read
from tests.gpu_node import gpu_node
from tests.trees import write_capture, write_tree


def cache(cpu: int, index: int, level: int, kind: str, size: str, cpus: str) -> dict[str, str]:
    """The files of one cache."""
    folder = f"{ORIGIN}/cpu{cpu}/cache/index{index}"
    return {
        f"{folder}/level": f"{level}\n",
        f"{folder}/type": f"{kind}\n",
        f"{folder}/size": f"{size}\n",
        f"{folder}/shared_cpu_list": f"{cpus}\n",
    }


def topology(number: int, package: int, siblings: str) -> dict[str, str]:
    """The files that tell cores and sockets apart."""
    folder = f"{ORIGIN}/cpu{number}/topology"
    return {f"{folder}/physical_package_id": f"{package}\n", f"{folder}/thread_siblings_list": f"{siblings}\n"}


def idle(cpu: int, level: int, disabled: str = "0") -> dict[str, str]:
    """The files of one idle state."""
    folder = f"{ORIGIN}/cpu{cpu}/cpuidle/state{level}"
    return {
        f"{folder}/name": f"C{level}\n",
        f"{folder}/latency": f"{level * 100}\n",
        f"{folder}/residency": f"{level * 300}\n",
        f"{folder}/disable": f"{disabled}\n",
    }


FOUR = {f"{ORIGIN}/online": "0-3\n", **{k: v for n in range(4) for k, v in topology(n, n // 2, str(n)).items()}}


def test_caches_of_one_cpu_and_every_cache_of_the_last_level(tmp_path: Path) -> None:
    files = {
        **FOUR,
        **cache(0, 0, 1, "Data", "32K", "0"),
        **cache(0, 3, 3, "Unified", "32768K", "0-1"),
        **cache(1, 3, 3, "Unified", "32768K", "0-1"),
        **cache(2, 3, 3, "Unified", "16M", "2-3"),
    }
    cpu = read(write_tree(tmp_path, files))
    assert [(one.level, one.kind, one.size_bytes, one.cpus) for one in cpu.caches or ()] == [
        (1, "Data", 32 << 10, (0,)),
        (3, "Unified", 32 << 20, (0, 1)),
    ]
    assert [(one.cpus, one.size_bytes) for one in cpu.last_level_caches or ()] == [
        ((0, 1), 32 << 20),
        ((2, 3), 16 << 20),
    ]


def test_a_cpu_without_the_last_level_is_in_no_group(tmp_path: Path) -> None:
    files = {**FOUR, **cache(0, 3, 3, "Unified", "30M", "0-2"), **cache(3, 2, 2, "Unified", "2M", "3")}
    assert [one.cpus for one in read(write_tree(tmp_path, files)).last_level_caches or ()] == [(0, 1, 2)]


def test_a_cache_of_nobody_is_not_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**FOUR, **cache(0, 3, 3, "Unified", "30M", "")})
    cpu = read(host)
    (one,) = cpu.caches or ()
    assert (one.cpus, cpu.last_level_caches) == (None, None)
    assert host.gaps[evidence_path(one, "cpus")] == "unsupported"


def test_a_cache_that_cpus_outside_of_it_name_too_is_one(tmp_path: Path) -> None:
    files = {**FOUR, **{k: v for n in range(4) for k, v in cache(n, 3, 3, "Unified", "8M", "0-1").items()}}
    assert [one.cpus for one in read(write_tree(tmp_path, files)).last_level_caches or ()] == [(0, 1)]


def test_old_kernels_give_the_cpus_of_a_cache_as_a_mask(tmp_path: Path) -> None:
    files = {**FOUR, **cache(0, 2, 2, "Unified", "4096K", "x")}
    folder = f"{ORIGIN}/cpu0/cache/index2"
    del files[f"{folder}/shared_cpu_list"]
    (one,) = read(write_tree(tmp_path, {**files, f"{folder}/shared_cpu_map": "00000000,00000003\n"})).caches or ()
    assert (one.cpus, evidence_path(one, "cpus")) == ((0, 1), f"{folder}/shared_cpu_map")


@pytest.mark.parametrize(
    ("text", "size"), [("48K", 48 << 10), ("1M", 1 << 20), ("512", 512), pytest.param("0K", None, id="not known")]
)
def test_the_size_of_a_cache(text: str, size: int | None) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "K", "32 K", "-1K", "32k", "٣K", "9" * 40])
def test_nonsense_is_no_size_of_a_cache(text: str) -> None:
    with pytest.raises(ValueError, match="no size"):
        parse_size(text)


def test_a_cache_of_nonsense_is_not_known(tmp_path: Path) -> None:
    files = {**FOUR, **cache(0, 3, 3, "Unified", "lots", "x-y")}
    host = write_tree(tmp_path, {**files, f"{ORIGIN}/cpu0/cache/index3/level": "many\n"})
    (one,) = read(host).caches or ()
    assert (one.level, one.size_bytes, one.cpus) == (None, None, None)
    assert {host.gaps[evidence_path(one, name)] for name in ("level", "size_bytes", "cpus")} == {"unsupported"}


def test_virtual_machines_without_caches_idle_states_and_clocks_say_so(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {**FOUR, f"{ORIGIN}/cpuidle/current_driver": "none\n"})
    cpu = read(host)
    assert (cpu.caches, cpu.idle_states, cpu.idle_driver, cpu.policies, cpu.clocks, cpu.throttles) == (
        *(None, (), "none", (), (), None),
    )
    assert host.gaps[evidence_path(cpu, "throttles")] == host.gaps[evidence_path(cpu, "caches")] == "absent"


def test_what_was_not_captured_is_not_known(tmp_path: Path) -> None:
    cpu = read(Tree.in_folder(tmp_path))
    names = ("caches", "last_level_caches", "idle_states", "idle_states_differ", "policies", "clocks", "throttles")
    assert {getattr(cpu, name) for name in names} == {None}
    assert cpu.vulnerabilities is None


def two_idle(tmp_path: Path, disabled: str) -> Cpu:
    """33 CPUs; state 2 of the last is disabled as given."""
    numbers = {f"{ORIGIN}/online": "0-32\n", **{f"{ORIGIN}/cpu{n}/uevent": "\n" for n in range(33)}}
    states = {**idle(0, 1), **idle(0, 2), **idle(32, 1), **idle(32, 2, disabled)}
    return read(write_tree(tmp_path, numbers | states))


def test_idle_states_of_a_few_cpus(tmp_path: Path) -> None:
    cpu = two_idle(tmp_path, "0")
    assert [(s.name, s.latency_usecs, s.residency_usecs, s.disabled, s.default) for s in cpu.idle_states or ()] == [
        ("C1", 100, 300, False, None),
        ("C2", 200, 600, False, None),
    ]
    assert cpu.idle_states_differ is False


@pytest.mark.parametrize(("disabled", "differ"), [("1", True), pytest.param("?", None, id="nonsense")])
def test_idle_states_that_are_off_on_some_cpus(tmp_path: Path, disabled: str, differ: bool | None) -> None:
    assert two_idle(tmp_path, disabled).idle_states_differ is differ


def policy(number: int, **files: str) -> dict[str, str]:
    """The files of one frequency domain."""
    return {f"{ORIGIN}/cpufreq/policy{number}/{name}": f"{text}\n" for name, text in files.items()}


def test_limits_of_a_frequency_domain_are_in_hertz(tmp_path: Path) -> None:
    files = policy(0, cpuinfo_min_freq="800000", cpuinfo_max_freq="3900000", scaling_min_freq="1200000")
    (one,) = read(write_tree(tmp_path, FOUR | files)).policies or ()
    assert (one.min_hertz, one.max_hertz, one.allowed_min_hertz) == (800_000_000, 3_900_000_000, 1_200_000_000)


def test_a_raw_energy_preference_stays_as_it_is(tmp_path: Path) -> None:
    files = policy(0, energy_performance_preference="128", scaling_driver="amd-pstate-epp")
    (one,) = read(write_tree(tmp_path, FOUR | files)).policies or ()
    assert (one.energy_preference, one.driver) == ("128", "amd-pstate-epp")


def test_the_clock_is_read_of_few_domains(tmp_path: Path) -> None:
    files = policy(0, scaling_cur_freq="2400000") | policy(1, scaling_cur_freq="1") | policy(32, scaling_cur_freq="?")
    host = write_tree(tmp_path, FOUR | files)
    clocks = read(host).clocks or ()
    assert [(clock.number, clock.hertz) for clock in clocks] == [(0, 2_400_000_000), (32, None)]
    assert host.gaps[evidence_path(clocks[1], "hertz")] == "unsupported"


def test_the_switches_of_both_makers_have_opposite_senses(tmp_path: Path) -> None:
    intel = {"status": "active", "no_turbo": "1", "min_perf_pct": "20", "max_perf_pct": "100"}
    files = {f"{ORIGIN}/intel_pstate/{name}": text for name, text in intel.items()}
    cpu = read(write_tree(tmp_path, {**FOUR, **files, f"{ORIGIN}/cpufreq/boost": "1\n"}))
    assert (cpu.no_turbo, cpu.boost, cpu.min_performance_percent, cpu.max_performance_percent) == (True, True, 20, 100)


def throttle(number: int, **counts: str) -> dict[str, str]:
    """The counters of one CPU."""
    return {f"{ORIGIN}/cpu{number}/thermal_throttle/{name}": f"{text}\n" for name, text in counts.items()}


def test_each_core_and_socket_is_counted_once(tmp_path: Path) -> None:
    files = {f"{ORIGIN}/online": "0-3\n", **topology(0, 0, "0,2"), **topology(1, 1, "1,3")}
    files |= topology(2, 0, "0,2") | topology(3, 1, "1,3")
    for number, count in enumerate("5757"):
        files |= throttle(number, core_throttle_count=count, package_throttle_count="9")
    found = read(write_tree(tmp_path, files)).throttles
    assert found is not None
    assert (found.cores, found.packages) == (12, 18)


def test_old_kernels_count_cores_only(tmp_path: Path) -> None:
    found = read(
        write_tree(tmp_path, FOUR | {k: v for n in range(4) for k, v in throttle(n, count="1").items()})
    ).throttles
    assert found is not None
    assert (found.cores, found.packages) == (4, None)


def test_a_counter_of_nonsense_makes_no_sum(tmp_path: Path) -> None:
    files = throttle(0, core_throttle_count="1") | throttle(1, core_throttle_count="-1")
    found = read(write_tree(tmp_path, FOUR | files)).throttles
    assert found is not None
    assert found.cores is None


def test_flaws_are_told_in_the_words_of_the_kernel(tmp_path: Path) -> None:
    files = {f"{ORIGIN}/vulnerabilities/l1tf": "Not affected\n", f"{ORIGIN}/vulnerabilities/mds": "Vulnerable: x\n"}
    found = read(write_tree(tmp_path, FOUR | files)).vulnerabilities or ()
    assert [(flaw.name, flaw.status) for flaw in found] == [("l1tf", "Not affected"), ("mds", "Vulnerable: x")]


def test_of_many_cpus_few_are_asked_for_what_is_alike(tmp_path: Path) -> None:
    host = Recorder.of(open_root(str(gpu_node(cpus=128, gpus=0, nics=0, drives=0, vectors=0).write(tmp_path))))
    told = read(host)
    assert len(told.last_level_caches or ()) == 8
    assert [state.name for state in told.idle_states or ()] == ["POLL", "C1", "C1E", "C6"]
    asked = [answer.place for (question, _), answer in host.answers.items() if question == "data"]
    assert sum("/cpuidle/state" in path for path in asked) == 4 * 4 + 3 * 4
    assert sum("/cache/" in path for path in asked) == 4 * 4 + 7 * 4
    assert sum("/thermal_throttle/" in path for path in asked) == 64 + 2
