"""Values of variables lose addresses, hosts, accounts and homes, and whether they are right can still be told."""

import pytest

from advisor.nccl.knobs import KNOBS, fault_of
from advisor.probes._nccl_shown import shown


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("NCCL_IB_ADDR_RANGE", "10.11.12.13", "192.0.2.1"),
        ("NCCL_IB_ADDR_RANGE", "10.11.0.0/16", "192.0.2.1/16"),
        ("NCCL_IB_ADDR_RANGE", "fd00:11::/64", "2001:db8::1/64"),
        ("NCCL_IB_ADDR_RANGE", "::/0", "::/0"),
        ("NCCL_COMM_ID", "10.11.12.13:29500", "192.0.2.1:29500"),
        ("NCCL_COMM_ID", "[fd00:11::7]:29500", "[2001:db8::1]:29500"),
        ("NCCL_COMM_ID", "node3.lab:29500", "host.example:29500"),
        ("NCCL_COMM_ID", "node3", "host.example"),
        ("NCCL_RAS_ADDR", "localhost-7:28028", "host.example:28028"),
        ("NCCL_RAS_ADDR", "127.0.0.1:28028", "127.0.0.1:28028"),
        ("UCX_STATS_DEST", "udp:node3:5555", "udp:host.example:5555"),
        ("UCX_STATS_DEST", "file:/home/jane/stats", "file:/home/USER/stats"),
        ("UCX_RDMA_CM_SOURCE_ADDRESS", "10.11.12.13", "192.0.2.1"),
        ("NCCL_HOSTID", "node3", None),
        ("NCCL_SOCKET_IFNAME", "alice@10.11.12.13", "user@192.0.2.1"),
        ("GLOO_SOCKET_IFNAME", "eth0@if7", "eth0@if7"),
        ("NCCL_DEBUG_FILE", "/home/jane/nccl.%h.%p", "/home/USER/nccl.%h.%p"),
        ("NCCL_TUNER_PLUGIN", "/data/users/jane/t.so,~bob/u.so", "/data/users/USER/t.so,~USER/u.so"),
        ("CUDA_CACHE_PATH", "/home/jane/.nv", "/home/USER/.nv"),
        ("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "/tmp/p", "/tmp/p"),
        ("OMP_PLACES", "{0:4},{4:4}", "{0:4},{4:4}"),
        ("UCX_NET_DEVICES", "mlx5_0:1,mlx5_1:1", "mlx5_0:1,mlx5_1:1"),
        ("NCCL_NET_PLUGIN", "/opt/nccl-2.21.5.1/libnccl-net.so", "/opt/nccl-2.21.5.1/libnccl-net.so"),
        ("NCCL_NET_PLUGIN", "http://jane:pw@filer/x", "http://user@host.example/x"),
        ("OMPI_VERSION", "5.0.3.1", "5.0.3.1"),
        ("NCCL_X_PASSWORD", "hunter2", None),
        ("CUDA_VISIBLE_DEVICES", "GPU-8932f937", None),
    ],
)
def test_what_is_told(name: str, value: str, told: str | None) -> None:
    assert shown(name, value) == told
    assert told is None or shown(name, told) == told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_IB_ADDR_RANGE", "10.11.12.13"),
        ("NCCL_IB_ADDR_RANGE", "10.11.0.0/16"),
        ("NCCL_IB_ADDR_RANGE", "fd00:11::/64"),
        ("NCCL_COMM_ID", "node3:29500"),
        ("NCCL_COMM_ID", "node3"),
        ("NCCL_COMM_ID", "[fd00::1]:29500"),
        ("NCCL_RAS_ADDR", "10.11.12.13:28028"),
        ("NCCL_RAS_ADDR", "10.11.12.13"),
    ],
)
def test_what_is_told_has_the_faults_of_what_is_set(name: str, value: str) -> None:
    assert fault_of(KNOBS[name], shown(name, value) or "") == fault_of(KNOBS[name], value)
