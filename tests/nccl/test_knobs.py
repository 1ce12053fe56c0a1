"""The knob database: every name once, values as the libraries take them, and what was probably meant."""

import re

import pytest

from advisor.nccl import _documented, _gone, _internal, _others, _torch
from advisor.nccl.knobs import KNOBS, NEWEST, fault_of, nearest_name, number_taken

TABLES = (_documented.DOCUMENTED, _internal.INTERNAL, _gone.GONE, _torch.TORCH, _others.OTHERS)
RELEASE = re.compile(r"(after )?\d+\.\d+(\.\d+)?")


def test_every_name_stands_once_and_in_alphabetical_order_where_it_is_looked_up_by_eye() -> None:
    assert sum(map(len, TABLES)) == len(KNOBS) > 440
    for table in (_documented.DOCUMENTED, _internal.INTERNAL):
        names = [knob.name for knob in table]
        assert names == sorted(names)


def wrong_in(name: str) -> list[str]:
    """What a row must not be."""
    knob = KNOBS[name]
    releases = [release for release in (knob.since, knob.deprecated, knob.removed) if release]
    instead = knob.instead.partition("=")[0]
    re.compile(knob.values)
    checks = {
        "named otherwise": re.fullmatch(r"(NCCL|TORCH|TORCHELASTIC|GLOO|CUDA)_[A-Z0-9_]+", name),
        "with an odd release": all(RELEASE.fullmatch(release) for release in releases),
        "newer than the table": not knob.since or tuple(map(int, knob.since.split("."))) <= NEWEST,
        "replaced by what nothing reads": instead in ("", "init_process_group(timeout")
        or KNOBS[instead].kind in ("nccl", "torch"),
        "of NCCL and of no use": knob.use or knob.kind != "nccl",
    }
    return [what for what, holds in checks.items() if not holds]


def test_every_row_is_sound() -> None:
    assert {name: wrong for name in KNOBS if (wrong := wrong_in(name))} == {}


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("NCCL_PROTO", "SHM", "unknown word"),
        ("NCCL_PROTO", "Simple,LL", "none"),
        ("NCCL_PROTO", "simple", "none"),
        ("NCCL_PROTO", "allreduce:^LL128;broadcast:LL", "none"),
        ("NCCL_PROTO", "LL128,", "unknown word"),
        ("NCCL_ALGO", "Ring,Tree", "none"),
        ("NCCL_ALGO", "^NVLS", "none"),
        ("NCCL_ALGO", "Mesh", "unknown word"),
        ("NCCL_IB_DISABLE", "true", "no number"),
        ("NCCL_IB_DISABLE", "1", "none"),
        ("NCCL_IB_DISABLE", "0x1", "none"),
        ("NCCL_IB_DISABLE", "1 ", "none"),
        ("NCCL_IB_DISABLE", "2", "none"),
        ("NCCL_IB_DISABLE", "1abc", "no number"),
        ("NCCL_IB_DISABLE", "", "none"),
        ("NCCL_CUMEM_ENABLE", "-2", "none"),
        ("NCCL_IB_TIMEOUT", "22", "none"),
        ("NCCL_IB_TIMEOUT", "0x16", "none"),
        ("NCCL_IB_TIMEOUT", "50", "out of range"),
        ("NCCL_IB_TC", "256", "out of range"),
        ("NCCL_CROSS_NIC", "3", "out of range"),
        ("NCCL_P2P_LEVEL", "SYS", "none"),
        ("NCCL_P2P_LEVEL", "sys", "unknown word"),
        ("NCCL_NET_GDR_LEVEL", "NODE", "unknown word"),
        ("NCCL_NET_GDR_LEVEL", "3", "none"),
        ("NCCL_DEBUG", "info", "none"),
        ("NCCL_DEBUG", "verbose", "unknown word"),
        ("NCCL_DEBUG_SUBSYS", "INIT,NET,GRAPH,ENV,TUNING", "none"),
        ("NCCL_DEBUG_SUBSYS", "^ALL", "none"),
        ("NCCL_SOCKET_IFNAME", "=eth0", "none"),
        ("NCCL_SOCKET_IFNAME", "^docker0,lo", "none"),
        ("NCCL_SOCKET_IFNAME", "lo # loopback", "unknown word"),
        ("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1", "none"),
        ("NCCL_IB_GID_INDEX", "3", "none"),
        ("NCCL_IB_ADDR_RANGE", "10.0.0.0", "unknown word"),
        ("NCCL_NETDEVS_POLICY", "max:2", "none"),
        ("NCCL_CTA_POLICY", "EFFICIENCY|ZERO", "none"),
        ("TORCH_NCCL_BLOCKING_WAIT", "True", "none"),
        ("TORCH_NCCL_BLOCKING_WAIT", "on", "unknown word"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "on", "unknown word"),
        ("TORCH_DISTRIBUTED_DEBUG", "detail", "none"),
    ],
)
def test_what_is_wrong_with_a_value(name: str, value: str, fault: str) -> None:
    assert fault_of(KNOBS[name], value) == fault


@pytest.mark.parametrize(
    ("name", "value", "leftover"),
    [
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", True),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", False),
        ("TORCH_NCCL_ENABLE_MONITORING", "False", True),
        ("TORCH_NCCL_ENABLE_MONITORING", "1", False),
        *(
            (name, value, value == "yes")
            for value in ("yes", "0")
            for name in (
                *("TORCH_NCCL_BLOCKING_WAIT", "TORCH_NCCL_DESYNC_DEBUG", "TORCH_NCCL_ENABLE_TIMING"),
                *("TORCH_NCCL_NAN_CHECK", "NCCL_BLOCKING_WAIT", "NCCL_DESYNC_DEBUG", "NCCL_ENABLE_TIMING"),
            )
        ),
        ("NCCL_ASYNC_ERROR_HANDLING", "0", True),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", True),
        ("TORCH_DISTRIBUTED_DEBUG", "INFO", False),
        ("NCCL_LAUNCH_MODE", "GROUP", True),
        ("NCCL_LAUNCH_MODE", "PARALLEL", False),
        ("NCCL_CHECK_MODE", "DEBUG_GLOBAL", True),
        ("NCCL_CHECK_MODE", "DEFAULT", False),
        ("CUDA_LAUNCH_BLOCKING", "1", True),
        ("CUDA_LAUNCH_BLOCKING", "0", False),
        ("NCCL_DEBUG", "INFO", False),
    ],
)
def test_values_that_are_left_over_from_debugging(name: str, value: str, leftover: bool) -> None:
    assert bool(re.fullmatch(KNOBS[name].leftover, value)) is leftover


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("0", 0), ("1", 1), ("-1", -1), ("+7", 7), ("0x10", 16), ("010", 8), ("089", 0), (" 5", 5), ("5 # five", 5)),
        *(("true", 0), ("", 0), ("1abc", 1), ("0x", 0), ("9" * 10_000, int("9" * 40))),
    ],
)
def test_a_text_counts_as_the_number_that_strtoll_makes_of_it(text: str, number: int) -> None:
    assert number_taken(text) == number


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("NCCL_IB_DISBLE", "NCCL_IB_DISABLE"),
        ("NCCL_SOCKET_IFNAMES", "NCCL_SOCKET_IFNAME"),
        ("NCCL_NSOCKS_PER_THREAD", "NCCL_NSOCKS_PERTHREAD"),
        ("NCCL_BUFFER_SIZE", "NCCL_BUFFSIZE"),
        ("TORCH_NCCL_BLOCK_WAIT", "TORCH_NCCL_BLOCKING_WAIT"),
        ("NCCL_FOO", ""),
        ("NCCL_IB_DISABLE" * 1000, ""),
    ],
)
def test_a_name_is_explained_by_one_that_is_read(name: str, meant: str) -> None:
    assert nearest_name(name) == meant
