"""Units of systemd on disk: precedence, drop-ins, masks, and whether a service runs."""

from pathlib import Path

import pytest

from advisor.host.base import Host
from advisor.model.facts import evidence_path
from advisor.probes._dropins import continued
from advisor.probes._unit_files import UnitLine, counting, parse_unit_lines
from advisor.probes.systemd import Service, read, service_named
from tests.trees import write_capture, write_link, write_tree

LIB = "/usr/lib/systemd/system"
ETC = "/etc/systemd/system"
RUN = "/run/systemd/system"
GROUPS = "/sys/fs/cgroup/system.slice"
UNIT = "[Unit]\nDescription=x\n[Service]\nExecStart=/usr/bin/x --token=secret\nLimitNOFILE=1048576\nLimitMEMLOCK=64K\n"


def service(host: Host, name: str = "containerd") -> Service:
    found = service_named(read(host), name)
    assert found is not None
    return found


def said(one: Service) -> list[str]:
    return [f"{line.key}={line.value} {line.path}:{line.line}" for line in one.settings or () if line.counts]


def test_the_last_drop_in_by_name_wins_wherever_it_lies(tmp_path: Path) -> None:
    files = {
        f"{LIB}/containerd.service": UNIT,
        f"{ETC}/containerd.service.d/10-site.conf": "[Service]\nLimitMEMLOCK=1G\n",
        f"{RUN}/containerd.service.d/20-run.conf": "[Service]\n# all of it\nLimitMEMLOCK=infinity\n",
        f"{RUN}/containerd.service.d/10-site.conf": "[Service]\nLimitMEMLOCK=2G\n",
        f"{ETC}/containerd.service.d/99.txt": "[Service]\nLimitMEMLOCK=3G\n",
    }
    one = service(write_tree(tmp_path, files))
    assert said(one) == [
        f"LimitNOFILE=1048576 {LIB}/containerd.service:5",
        f"LimitMEMLOCK=infinity {RUN}/containerd.service.d/20-run.conf:3",
    ]
    assert one.path == f"{LIB}/containerd.service"
    assert not any("token" in line.value for line in one.settings or ())


def test_a_unit_in_etc_hides_the_one_of_the_package(tmp_path: Path) -> None:
    files = {f"{LIB}/docker.service": UNIT, f"{ETC}/docker.service": "[Service]\nTasksMax=512\n"}
    assert said(service(write_tree(tmp_path, files), "docker")) == [f"TasksMax=512 {ETC}/docker.service:2"]


def test_drop_ins_for_all_services_and_for_a_prefix_count_too(tmp_path: Path) -> None:
    files = {
        f"{LIB}/nvidia-persistenced.service": "[Service]\nExecStart=/usr/bin/x --no-persistence-mode\n",
        f"{ETC}/service.d/50-all.conf": "[Service]\nNUMAPolicy=interleave\n",
        f"{ETC}/nvidia-.service.d/50-all.conf": "[Service]\nNUMAPolicy=local\n",
    }
    assert said(service(write_tree(tmp_path, files), "nvidia-persistenced")) == [
        f"ExecStart=/usr/bin/x --no-persistence-mode {LIB}/nvidia-persistenced.service:2",
        f"NUMAPolicy=local {ETC}/nvidia-.service.d/50-all.conf:2",
    ]


def test_a_mask_in_a_drop_in_folder_hides_the_file_of_that_name(tmp_path: Path) -> None:
    files = {f"{LIB}/slurmd.service": "[Service]\n", f"{LIB}/slurmd.service.d/10.conf": "[Service]\nTasksMax=9\n"}
    host = write_tree(tmp_path, files)
    write_link(tmp_path, f"{ETC}/slurmd.service.d/10.conf", "/dev/null")
    assert service(host, "slurmd").settings == ()
    assert f"{ETC}/slurmd.service.d/10.conf" not in host.gaps


def test_a_masked_unit_says_so_and_sets_nothing(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {f"{LIB}/irqbalance.service": "[Service]\nNice=5\n"})
    write_link(tmp_path, f"{ETC}/irqbalance.service", "/dev/null")
    one = service(host, "irqbalance")
    assert (one.masked, one.settings, one.path) == (True, (), f"{ETC}/irqbalance.service")


def test_lists_add_up_until_an_empty_line_and_single_values_are_replaced() -> None:
    lines = [("CPUAffinity", "0-3"), ("CPUAffinity", ""), ("CPUAffinity", "4"), ("CPUAffinity", "6"), ("TasksMax", "1")]
    lines += [("TasksMax", "")]
    told = counting([UnitLine(section="Service", key=key, value=value) for key, value in lines])
    assert [line.counts for line in told] == [False, True, True, True, False, True]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a=1 \\\n# not this\n; nor this\\\n b\nc", [(1, "a=1  b"), (5, "c")]),
        ("# a comment \\\nb=2", [(2, "b=2")]),
        ("a=1\\", [(1, "a=1")]),
        ("\\\n\\\n", []),
        ("x" * 20000 + "\ny=1", [(2, "y=1")]),
        ("x\\\n" * 20000, []),
    ],
    ids=["goes on over comments", "a comment ends", "at the end", "nothing", "endless", "endless in parts"],
)
def test_lines_are_put_together(text: str, lines: list[tuple[int, str]]) -> None:
    assert [(line.number, line.text) for line in continued(text, "/x", "#;", " ")] == lines


def test_odd_files_of_units_do_no_harm() -> None:
    text = "LimitNOFILE=1\n[Service\n=\nLimitNOFILE\n LimitNOFILE = 2 \n\x1b[2J\nLimitNOFILE=\udcff\n"
    told = parse_unit_lines(text, "/x", frozenset({"LimitNOFILE"}))
    assert [(line.section, line.value) for line in told] == [("", "1"), ("Service", "2"), ("Service", "\udcff")]


@pytest.mark.parametrize(
    ("files", "running"),
    [
        ({f"{GROUPS}/slurmd.service/cgroup.procs": "12\n"}, True),
        ({f"{GROUPS}/slurmd.service/cgroup.procs": ""}, False),
        ({f"{GROUPS}/slurmd.service/cgroup.procs": "", f"{GROUPS}/slurmd.service/step/": ""}, None),
        ({f"{GROUPS}/ssh.service/cgroup.procs": "1\n"}, False),
        ({f"{GROUPS}/": ""}, None),
        ({}, None),
    ],
    ids=["has processes", "has none", "has them below", "others run", "no service has a group", "no groups"],
)
def test_whether_a_service_runs(files: dict[str, str], running: bool | None, tmp_path: Path) -> None:
    host = write_capture(tmp_path, {f"{LIB}/slurmd.service": "[Service]\n", **files})
    assert service(host, "slurmd").running is running


def test_a_service_is_enabled_by_a_link_in_etc(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {f"{LIB}/slurmd.service": "", f"{LIB}/sshd.service": "", f"{ETC}/": ""})
    write_link(tmp_path, f"{ETC}/multi-user.target.wants/slurmd.service", f"{LIB}/slurmd.service")
    assert (service(host, "slurmd").enabled, service(host, "sshd").enabled) == (True, False)


def test_the_defaults_of_all_services_and_of_sessions(tmp_path: Path) -> None:
    files = {
        "/etc/systemd/system.conf": "[Manager]\n#DefaultLimitNOFILE=1\nDefaultLimitMEMLOCK=8M\n",
        "/usr/lib/systemd/system.conf.d/90-x.conf": "[Manager]\nDefaultLimitMEMLOCK=infinity\n",
        "/etc/systemd/logind.conf": "[Login]\nRemoveIPC=no\n",
    }
    told = read(write_tree(tmp_path, files))
    assert [(line.value, line.counts) for line in told.manager or ()] == [("8M", False), ("infinity", True)]
    assert [(line.key, line.value) for line in told.logind or ()] == [("RemoveIPC", "no")]


def test_without_systemd_there_are_no_services_and_in_a_tree_nothing_is_known(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path / "a", {})).services == ()
    host = write_tree(tmp_path / "b", {"/etc/hostname": "x"})
    told = read(host)
    assert (told.services, told.manager) == (None, None)
    assert host.gaps[evidence_path(told, "services")] == "not captured"
