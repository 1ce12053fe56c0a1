"""What NCCL is told before a job starts: its files by its own odd rules, the environment, the vendor's image."""

from pathlib import Path

import pytest

from advisor.model.snapshot import Snapshot, Source, committed_json, full_json
from advisor.probes.nccl_conf import parse_exports, parse_nccl_conf, read
from tests.trees import write_capture, write_tree

CONF = "/etc/nccl.conf"


@pytest.mark.parametrize(
    ("line", "name", "value", "defects"),
    [
        ("NCCL_IB_PCI_RELAXED_ORDERING=1", "NCCL_IB_PCI_RELAXED_ORDERING", "1", ()),
        ("NCCL_SOCKET_IFNAME=lo # loopback", "NCCL_SOCKET_IFNAME", "lo # loopback", ("comment behind",)),
        (" NCCL_DEBUG=WARN", " NCCL_DEBUG", "WARN", ("blank before",)),
        ("export NCCL_X=1", "export NCCL_X", "1", ("export",)),
        ("NCCL_DEBUG = INFO", "NCCL_DEBUG ", " INFO", ("blank around =",)),
        ('NCCL_DEBUG="INFO"', "NCCL_DEBUG", '"INFO"', ("quotes",)),
        ("NCCL_DEBUG", None, None, ("no =",)),
        ("NCCL_TOPO_FILE=/a=b#c", "NCCL_TOPO_FILE", "/a=b#c", ()),
        ("NCCL_EMPTY=", "NCCL_EMPTY", "", ()),
        ("NCCL_COMM_ID=node3:9999", "NCCL_COMM_ID", "host.example:9999", ()),
        ("NCCL_HOSTID=node3", "NCCL_HOSTID", None, ()),
    ],
)
def test_a_line_is_taken_as_it_stands(line: str, name: str | None, value: str | None, defects: tuple[str, ...]) -> None:
    (told,) = parse_nccl_conf(f"# comment\n\n{line}\n", CONF)
    assert (told.name, told.value, told.defects, told.line) == (name, value, defects, 3)


def test_the_first_line_of_a_name_counts_and_the_users_file_comes_first(tmp_path: Path) -> None:
    files = {CONF: "NCCL_DEBUG=WARN\nNCCL_DEBUG=INFO\nNCCL_NET=IB\n", "/home/jane/n.conf": "NCCL_NET=Socket\n"}
    host = write_capture(tmp_path, files, environment={"NCCL_CONF_FILE": "/home/jane/n.conf", "HOME": "/home/jane"})
    told = read(host)
    assert [(line.name, line.value) for line in told.lines or () if line.counts] == [
        ("NCCL_NET", "Socket"),
        ("NCCL_DEBUG", "WARN"),
    ]
    assert told.user_file_read is True
    assert next((line.path, line.origin) for line in told.lines or ()) == ("$NCCL_CONF_FILE", "environment")
    assert "jane" not in str(told.lines)


def test_the_users_name_stays_out_of_files(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {CONF: ""}, environment={"NCCL_CONF_FILE": "/home/jane/n.conf"})
    told = read(host)
    assert told.user_file == "/home/jane/n.conf"
    assert "jane" not in str(host.gaps)
    assert told.user_file_read is None


def test_of_the_environment_only_known_names_and_no_secrets_are_kept(tmp_path: Path) -> None:
    environment = {"UCX_TLS": "rc", "NCCL_AUTH_TOKEN": "s3cret", "HOME": "/x", "CUDA_VISIBLE_DEVICES": "0,1"}
    environment |= {"TORCH_HOME": "/home/jane", "GLOO_SOCKET_IFNAME": "eth0", "TORCH_DISTRIBUTED_DEBUG": "OFF"}
    told = read(write_capture(tmp_path, {}, environment=environment))
    kept = [(one.name, one.value) for one in told.environment or ()]
    assert kept == [
        ("CUDA_VISIBLE_DEVICES", "0,1"),
        ("GLOO_SOCKET_IFNAME", "eth0"),
        ("NCCL_AUTH_TOKEN", None),
        ("TORCH_DISTRIBUTED_DEBUG", "OFF"),
        ("UCX_TLS", "rc"),
    ]
    assert "s3cret" not in full_json(Snapshot(Source(kind="capture"), {"nccl_conf": told}, {}))


def test_files_that_variables_name_and_that_are_not_there(tmp_path: Path) -> None:
    environment = {"NCCL_TOPO_FILE": "/opt/t.xml", "NCCL_GRAPH_FILE": "g.xml", "NCCL_DEBUG_FILE": "/opt/none.log"}
    files = {CONF: "NCCL_TOPO_FILE=/opt/none.xml\n", "/opt/t.xml": "<system/>"}
    host = write_capture(tmp_path, files, environment=environment)
    assert read(host).absent_files == ("/opt/none.xml",)
    assert "/opt/none.xml" not in host.gaps


def test_a_file_below_a_home_is_looked_for_and_told_without_its_owner(tmp_path: Path) -> None:
    environment = {"NCCL_TOPO_FILE": "/home/jane/t.xml", "NCCL_GRAPH_FILE": "/home/jane/none.xml"}
    host = write_capture(
        tmp_path, {CONF: "", "/home/jane/t.xml": "<system/>"}, ("/home/jane/none.xml",), environment=environment
    )
    told = read(host)
    assert [one.value for one in told.environment or ()] == ["/home/USER/none.xml", "/home/USER/t.xml"]
    assert told.absent_files == ("/home/USER/none.xml",)
    assert "jane" not in committed_json(Snapshot(Source(kind="capture"), {"nccl_conf": told}, host.gaps))


def test_whether_a_file_is_there_is_not_known_of_a_plain_tree(tmp_path: Path) -> None:
    assert read(write_tree(tmp_path, {CONF: "NCCL_TOPO_FILE=/opt/none.xml\n"})).absent_files is None


def test_logins_get_what_profile_d_exports(tmp_path: Path) -> None:
    files = {
        "/etc/profile.d/gpu.sh": '#!/bin/sh\nexport NCCL_NET="gIB"\nif x; then FI_X=efa; fi\n  OMP_NUM_THREADS=8\n',
        "/etc/profile.d/gpu.csh": "setenv NCCL_NET x\n",
        "/etc/environment": "PATH=/bin\nUCX_TLS=rc\n",
    }
    told = [(one.name, one.value, one.line) for one in read(write_tree(tmp_path, files)).logins or ()]
    assert told == [("UCX_TLS", "rc", 2), ("NCCL_NET", "gIB", 2), ("OMP_NUM_THREADS", "8", 4)]


def test_endless_and_odd_lines_of_shell_do_no_harm() -> None:
    assert parse_exports("export NCCL_" + "A" * (1 << 20) + "=1\n\x1b[2J\nNCCL_X='\n", "/x") != ()
    assert parse_nccl_conf("N" * (1 << 20) + "=1\n", CONF) == ()


@pytest.mark.parametrize(
    ("files", "vendor", "path"),
    [
        ({"/opt/microsoft/ndv4/topo.xml": "<system/>"}, "azure", "/opt/microsoft/ndv4/topo.xml"),
        ({"/opt/microsoft/ndv5-topo.xml": "<system/>"}, "azure", "/opt/microsoft/ndv5-topo.xml"),
        ({"/opt/amazon/efa/bin/": ""}, "aws-efa", "/opt/amazon/efa"),
        ({"/usr/local/gib/scripts/set_nccl_env.sh": ""}, "gcp-gib", "/usr/local/gib/scripts/set_nccl_env.sh"),
        (
            {"/var/lib/tcpxo/lib64/nccl-env-profile.sh": ""},
            "gcp-tcpxo",
            "/var/lib/tcpxo/lib64/nccl-env-profile.sh",
        ),
    ],
    ids=["Azure ND", "Azure ND, one file", "AWS EFA", "GCP A3 Ultra", "GCP A3 Mega"],
)
def test_the_vendors_profile_is_known_by_its_files(
    files: dict[str, str], vendor: str, path: str, tmp_path: Path
) -> None:
    told = read(write_tree(tmp_path, files))
    assert (told.vendor, told.vendor_paths) == (vendor, (path,))


def test_no_vendor_is_a_fact_only_where_it_was_looked_for(tmp_path: Path) -> None:
    absent = ("/etc", "/opt", "/usr", "/var")
    assert read(write_capture(tmp_path / "a", {}, absent)).vendor_paths == ()
    host = write_tree(tmp_path / "b", {"/etc/x": ""})
    told = read(host)
    assert (told.vendor_paths, told.lines, told.environment) == (None, None, None)
    assert host.gaps[CONF] == "not captured"
