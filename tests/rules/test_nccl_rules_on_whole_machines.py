"""Variables for NCCL on a node on which nothing else is wrong: each mistake is one finding, an article several."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.healthy_node import calls, failing, healthy, report

CONF = "/etc/nccl.conf"


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("NCCL_IB_DISABLE=1", "rdma-disabled-with-active-ports"),
        ("NCCL_PROTO=SHM", "unknown-algorithm-or-protocol"),
        ("NCCL_PROTO=Simple", "algorithm-or-protocol-forced"),
        ("NCCL_SOCKET_IFNAME=ens5", "interface-missing"),
        ("GLOO_SOCKET_IFNAME=ens5", "gloo-interface-missing"),
        ("NCCL_IB_HCA==mlx5_0,mlx5_7", "rdma-device-missing"),
        ("NCCL_P2P_DISABLE=1", "local-transport-disabled"),
        ("NCCL_P2P_LEVEL=SYS", "distance-level-forced"),
        ("NCCL_MIN_NCHANNELS=4", "deprecated-variable"),
        ("NCCL_SOCKET_TIMEOUT=1800", "variable-read-by-nothing"),
        ("NCCL_IB_DISBLE=1", "misspelt-variable"),
        ("NCCL_FOO=1", "unknown-variable"),
        ("NCCL_RAS_ENABLE=on", "word-where-number-belongs"),
        ("NCCL_IB_TIMEOUT=60", "value-not-taken"),
        ("NCCL_DEBUG=INFO", "loud-log-for-all-jobs"),
        ("NCCL_BUFFSIZE=8388608", "debugging-variable-for-all-jobs"),
        ("export NCCL_DEBUG=WARN", "line-that-nccl-misreads"),
        ("NCCL_DEBUG=WARN", None),
        ("NCCL_IB_DISABLE=0", None),
        ("NCCL_SOCKET_IFNAME==eth0", None),
        ("NCCL_IB_HCA=mlx5", None),
        ("NCCL_IB_GID_INDEX=3", None),
        ("# NCCL_PROTO=SHM", None),
    ],
)
def test_one_line_of_nccls_file_is_one_finding(tmp_path: Path, line: str, rule: str | None) -> None:
    files = healthy() | {CONF: f"{line}\n"}
    assert failing(report(tmp_path, files, calls())) == ({f"nccl/{rule}"} if rule else set())


@pytest.mark.parametrize(
    ("environment", "rules"),
    [
        ({"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}, {"nccl/debugging-left-on"}),
        ({"CUDA_LAUNCH_BLOCKING": "1"}, {"nccl/debugging-left-on"}),
        ({"TORCH_NCCL_BLOCKING_WAIT": "on"}, {"nccl/value-that-torch-refuses"}),
        ({"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "0", "UCX_TLS": "rc"}, set()),
        ({"NCCL_PROTO": ""}, set()),
    ],
    ids=lambda value: next(iter(value), "nothing") if isinstance(value, dict) else "",
)
def test_what_the_session_brings(tmp_path: Path, environment: Mapping[str, str], rules: set[str]) -> None:
    assert failing(report(tmp_path, healthy(), {**calls(), "environment": environment})) == rules


def test_the_golden_combination_of_an_article(tmp_path: Path) -> None:
    environment = {
        "NCCL_ALGO": "Ring,Tree",
        "NCCL_PROTO": "SHM",
        "NCCL_IB_DISABLE": "0",
        "NCCL_IB_GID_INDEX": "3",
        "NCCL_SOCKET_TIMEOUT": "1800",
        "NCCL_MIN_NCHANNELS": "4",
        "NCCL_TRACE_FILE": "/tmp/nccl_trace.log",
    }
    made = report(tmp_path, healthy(), {**calls(), "environment": environment})
    assert {(finding.rule, finding.subject) for finding in made.failing()} == {
        ("nccl/algorithm-or-protocol-forced", "NCCL_ALGO"),
        ("nccl/unknown-algorithm-or-protocol", "NCCL_PROTO"),
        ("nccl/variable-read-by-nothing", "NCCL_SOCKET_TIMEOUT"),
        ("nccl/variable-read-by-nothing", "NCCL_TRACE_FILE"),
        ("nccl/deprecated-variable", "NCCL_MIN_NCHANNELS"),
    }


@pytest.mark.parametrize("topology", ["/opt/microsoft/ndv5/topo.xml", "/opt/microsoft/ndv4-topo.xml"])
def test_the_settings_of_a_vendors_image_are_left_alone(topology: str, tmp_path: Path) -> None:
    text = (
        f"NCCL_IB_PCI_RELAXED_ORDERING=1\nNCCL_TOPO_FILE={topology}\nNCCL_IGNORE_CPU_AFFINITY=1\n"
        "NCCL_PROTO=Simple,LL128\nNCCL_VENDORS_OWN=1\nNCCL_P2P_LEVEL=NVL\n"
    )
    files = healthy() | {CONF: text, topology: "<system/>"}
    assert failing(report(tmp_path, files, calls())) == set()
