"""TuneD: the active profile, what it includes, and what of all that counts."""

from pathlib import Path

import pytest

from advisor.probes.tuned import Tuned, parse_profile, read
from tests.trees import write_capture, write_tree

ACTIVE = "/etc/tuned/active_profile"
LIB = "/usr/lib/tuned"
BASE = "[cpu]\ngovernor=performance\n[vm]\ntransparent_hugepages=always\n[sysctl]\nvm.dirty_ratio = 40\n"


def said(tuned: Tuned) -> list[str]:
    return [
        f"{line.section}.{line.key}={line.value} {line.path}:{line.line}" for line in tuned.lines or () if line.counts
    ]


def test_a_profile_replaces_what_those_it_includes_set(tmp_path: Path) -> None:
    files = {
        ACTIVE: "site\n",
        "/etc/tuned/profile_mode": "manual\n",
        "/etc/tuned/site/tuned.conf": "[main]\ninclude=hpc-compute\n[sysctl]\nvm.dirty_ratio=10 # less\n",
        f"{LIB}/hpc-compute/tuned.conf": "[main]\ninclude = throughput-performance\n[sysctl]\nnet.core.busy_poll=50\n",
        f"{LIB}/throughput-performance/tuned.conf": BASE,
    }
    tuned = read(write_tree(tmp_path, files))
    assert (tuned.profile, tuned.mode, tuned.missing) == ("site", "manual", ())
    assert tuned.files == tuple(
        f"{folder}/tuned.conf" for folder in (f"{LIB}/throughput-performance", f"{LIB}/hpc-compute", "/etc/tuned/site")
    )
    assert said(tuned) == [
        f"cpu.governor=performance {LIB}/throughput-performance/tuned.conf:2",
        f"vm.transparent_hugepages=always {LIB}/throughput-performance/tuned.conf:4",
        f"sysctl.net.core.busy_poll=50 {LIB}/hpc-compute/tuned.conf:4",
        "sysctl.vm.dirty_ratio=10 /etc/tuned/site/tuned.conf:4",
    ]


def test_of_two_profiles_the_later_one_counts_and_the_new_folders_are_known(tmp_path: Path) -> None:
    files = {
        ACTIVE: "a b",
        f"{LIB}/profiles/a/tuned.conf": "[sysctl]\nvm.swappiness=10\n",
        "/etc/tuned/profiles/b/tuned.conf": "[sysctl]\nvm.swappiness=1\n",
    }
    assert said(read(write_tree(tmp_path, files))) == ["sysctl.vm.swappiness=1 /etc/tuned/profiles/b/tuned.conf:2"]


def test_a_profile_that_includes_its_own_name_gets_the_packages(tmp_path: Path) -> None:
    files = {
        ACTIVE: "balanced",
        "/etc/tuned/balanced/tuned.conf": "[main]\ninclude=balanced\n[vm]\ntransparent_hugepages=never\n",
        f"{LIB}/balanced/tuned.conf": "[vm]\ntransparent_hugepages=always\n",
    }
    tuned = read(write_tree(tmp_path, files))
    assert said(tuned) == ["vm.transparent_hugepages=never /etc/tuned/balanced/tuned.conf:4"]
    assert tuned.missing == ()


def test_profiles_that_include_each_other_end(tmp_path: Path) -> None:
    files = {ACTIVE: "a", f"{LIB}/a/tuned.conf": "[main]\ninclude=b\n", f"{LIB}/b/tuned.conf": "[main]\ninclude=a\n"}
    assert read(write_tree(tmp_path, files)).missing == ("a",)


def test_a_chain_without_end_and_a_list_without_end_are_cut(tmp_path: Path) -> None:
    chain = {f"{LIB}/p{n}/tuned.conf": f"[main]\ninclude=p{n + 1}\n" for n in range(200)}
    many = {f"{LIB}/p20/tuned.conf": "[main]\ninclude=" + ",".join(f"q{n}" for n in range(3000)) + "\n"}
    assert len(read(write_tree(tmp_path / "a", {ACTIVE: "p0", **chain})).files or ()) == 40
    assert len(read(write_tree(tmp_path / "b", {ACTIVE: "p0", **chain, **many})).missing or ()) == 40


@pytest.mark.parametrize("name", ["../../../etc", "${x}", "a/b", "\x1b[2J", "x" * 200])
def test_a_name_that_is_none_is_not_looked_for(name: str, tmp_path: Path) -> None:
    tuned = read(write_tree(tmp_path, {ACTIVE: name, "/etc/tuned.conf": "[vm]\ntransparent_hugepages=never\n"}))
    assert (tuned.files, tuned.missing) == ((), (name[:100].strip(),))


def test_a_unit_that_replaces_drops_what_was_there() -> None:
    from advisor.probes.tuned import counting

    first, _ = parse_profile("[sysctl]\na=1\nb=2\n", "/1")
    second, _ = parse_profile("[sysctl]\nreplace=1\nb=3\n", "/2")
    assert [(line.key, line.value) for line in counting([*first, *second]) if line.counts] == [
        ("replace", "1"),
        ("b", "3"),
    ]


def test_a_profile_drops_what_those_it_includes_set(tmp_path: Path) -> None:
    files = {
        ACTIVE: "site",
        "/etc/tuned/site/tuned.conf": "[main]\ninclude=base\n[sysctl]\nvm.a=1\ndrop=vm.dirty_ratio, vm.a\n",
        f"{LIB}/base/tuned.conf": f"{BASE}vm.b=2\n",
    }
    assert [line for line in said(read(write_tree(tmp_path, files))) if line.startswith("sysctl.vm")] == [
        f"sysctl.vm.b=2 {LIB}/base/tuned.conf:7",
        "sysctl.vm.a=1 /etc/tuned/site/tuned.conf:4",
    ]


def test_a_unit_of_another_name_says_its_plugin() -> None:
    lines, _ = parse_profile("[sysctl_site]\ntype=sysctl\nvm.swappiness='5'\n[script]\nscript=x.sh\n; a=b\n[vm\n", "/x")
    assert [(line.section, line.plugin, line.key, line.value) for line in lines] == [
        ("sysctl_site", "sysctl", "vm.swappiness", "5")
    ]


@pytest.mark.parametrize(
    ("text", "reapplies"),
    [
        ("reapply_sysctl = 1\n", True),
        ("reapply_sysctl=0 # no\n", False),
        ("# reapply_sysctl = 0\n", True),
        (None, True),
    ],
    ids=["on", "off", "its own default", "no file"],
)
def test_whether_sysctl_d_wins_again(text: str | None, reapplies: bool, tmp_path: Path) -> None:
    files = {ACTIVE: "balanced"} | ({} if text is None else {"/etc/tuned/tuned-main.conf": text})
    assert read(write_capture(tmp_path, files)).reapply_sysctl is reapplies


def test_without_tuned_there_is_no_profile(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {})
    assert read(host).lines is None
    assert host.gaps[ACTIVE] == "absent"
