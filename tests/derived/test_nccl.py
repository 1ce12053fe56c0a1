"""Variables held against the knob database, and what lists of interfaces and devices choose on a host."""

import pytest

from advisor.derived._nccl_choices import NcclChoice, parse_choice
from advisor.derived.nccl import MOST_SETTINGS, MOST_SLIPS, Nccl, derive
from advisor.model.facts import evidence_path
from advisor.probes.nccl_conf import NcclConf, ShellLine, Variable, counting, parse_nccl_conf
from advisor.probes.net import Interface, Net
from advisor.probes.python import Python
from advisor.probes.rdma import Port, Rdma, RdmaDevice

CONF = "/etc/nccl.conf"
NET = Net(
    origin="/sys/class/net",
    interfaces=(
        Interface(name="lo", physical=False),
        Interface(name="eth0", physical=True, carrier=True),
        Interface(name="eth1", physical=True, carrier=False),
        Interface(name="eth10", physical=True),
        Interface(name="docker0", physical=False),
    ),
    others=("tun0",),
)
RDMA = Rdma(
    origin="/sys/class/infiniband",
    devices=tuple(
        RdmaDevice(name=name, ports=(Port(number=1, state=state),))
        for name, state in (("mlx5_0", 4), ("mlx5_1", 1), ("mlx5_10", None))
    ),
)


def conf(text: str = "", logins: tuple[ShellLine, ...] | None = (), **environment: str) -> NcclConf:
    """What is set by /etc/nccl.conf, by logins and by the environment."""
    return NcclConf(
        origin=CONF,
        lines=counting(list(parse_nccl_conf(text, CONF))),
        environment=tuple(Variable(origin="environment", name=n, value=v) for n, v in environment.items()),
        logins=logins,
        vendor_paths=(),
    )


def chosen(value: str, name: str = "NCCL_SOCKET_IFNAME", net: Net | None = NET, rdma: Rdma | None = RDMA) -> NcclChoice:
    (choice,) = derive(conf(**{name: value}), None, net, rdma).choices or ()
    return choice


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("NCCL_IB_DISABLE", "0x1", {"family": "nccl", "use": "debugging", "number": 1, "fault": "none"}),
        ("NCCL_P2P_DISABLE", "true", {"number": 0, "fault": "no number"}),
        ("NCCL_PROTO", "SHM", {"number": None, "fault": "unknown word", "since": "2.5.6"}),
        ("NCCL_MIN_NCHANNELS", "4", {"deprecated": "2.17", "instead": "NCCL_MIN_CTAS"}),
        ("NCCL_TREE_THRESHOLD", "0", {"family": "removed", "removed": "2.5"}),
        ("NCCL_SOCKET_TIMEOUT", "1800", {"family": "unread", "instead": "init_process_group(timeout=...)"}),
        ("NCCL_IB_DISBLE", "1", {"family": "unknown", "meant": "NCCL_IB_DISABLE"}),
        ("NCCL_FOO", "1", {"family": "unknown", "meant": "", "fault": "none"}),
        ("NCCL_BLOCKING_WAIT", "1", {"family": "torch-old", "instead": "TORCH_NCCL_BLOCKING_WAIT"}),
        ("NCCL_SHARP_DISABLE", "1", {"family": "plugin", "use": ""}),
        ("CUDA_LAUNCH_BLOCKING", "1", {"family": "cuda", "leftover": True}),
        ("NCCL_DEBUG", "WARN", {"use": "diagnosis", "leftover": False}),
    ],
)
def test_a_variable_is_held_against_the_table(name: str, value: str, told: dict[str, object]) -> None:
    (setting,) = derive(conf(**{name: value}), None, None, None).settings or ()
    assert {field: getattr(setting, field) for field in told} == told
    assert (setting.where, setting.place, setting.origin) == ("the environment", "environment", "environment")


def test_each_place_is_told_with_its_line_and_only_what_counts_of_a_file() -> None:
    login = ShellLine(origin="/etc/profile.d/a.sh", name="NCCL_NET", value="IB", path="/etc/profile.d/a.sh", line=3)
    text = "NCCL_DEBUG=WARN\nNCCL_DEBUG=INFO\nexport NCCL_NET=IB\nNCCL_ALGO =Ring\nPATH=/x\nNCCL_ALGO=\n"
    told = conf(text, (login,), NCCL_DEBUG="INFO", UCX_TLS="rc", OMP_NUM_THREADS="8", NCCL_PROTO="")
    nccl = derive(told, None, None, None)
    assert [(one.name, one.value, one.where, one.place) for one in nccl.settings or ()] == [
        ("NCCL_DEBUG", "INFO", "the environment", "environment"),
        ("NCCL_DEBUG", "WARN", "/etc/nccl.conf:1", "file"),
        ("NCCL_NET", "IB", "/etc/profile.d/a.sh:3", "login"),
    ]
    assert nccl.names == ("NCCL_DEBUG", "NCCL_NET")


@pytest.mark.parametrize(("absent", "there"), [((), True), (("/t.xml",), False), (None, None)])
def test_a_file_that_must_be_there(absent: tuple[str, ...] | None, there: bool | None) -> None:
    told = conf(NCCL_TOPO_FILE="/t.xml").model_copy(update={"absent_files": absent})
    (setting,) = derive(told, None, None, None).settings or ()
    assert setting.file_there is there


def test_what_the_environment_has_from_a_login_is_told_of_the_login() -> None:
    login = ShellLine(origin="/etc/profile.d/a.sh", name="NCCL_NET", value="IB", path="/etc/profile.d/a.sh", line=3)
    same, other = (derive(conf("", (login,), NCCL_NET=value), None, None, None).settings for value in ("IB", "Socket"))
    assert [one.place for one in same or ()] == ["login"]
    assert [one.place for one in other or ()] == ["environment", "login"]


def test_a_file_full_of_unknown_names_does_not_take_long() -> None:
    settings = derive(conf("".join(f"NCCL_DEBUGS{n}=1\n" for n in range(5000))), None, None, None).settings or ()
    assert [one.meant for one in settings].count("NCCL_DEBUG") <= MOST_SLIPS < len(settings) == MOST_SETTINGS
    assert settings[0].meant == "NCCL_DEBUG"


def test_a_value_that_is_kept_back_is_not_judged() -> None:
    secret = NcclConf(environment=(Variable(name="NCCL_COMM_ID"),))
    (setting,) = derive(secret, None, None, None).settings or ()
    assert (setting.value, setting.fault) == (None, None)


@pytest.mark.parametrize("unread", ["environment", "lines", "logins"])
def test_what_is_not_set_is_known_only_where_every_place_was_read(unread: str) -> None:
    nccl = derive(conf(NCCL_DEBUG="WARN").model_copy(update={unread: None}), None, None, None)
    assert nccl.names is None
    assert nccl.settings is not None


def test_nothing_is_known_where_nothing_was_read() -> None:
    nccl = derive(NcclConf(origin=CONF), None, NET, RDMA)
    assert (nccl.settings, nccl.names, nccl.choices, nccl.vendor_profile) == (None, None, None, None)


@pytest.mark.parametrize(("paths", "profile"), [(("/opt/amazon/efa",), True), ((), False), (None, None)])
def test_a_vendors_profile(paths: tuple[str, ...] | None, profile: bool | None) -> None:
    assert derive(conf().model_copy(update={"vendor_paths": paths}), None, None, None).vendor_profile is profile


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("2.20.5", ("NCCL_IB_ADDR_RANGE", "NCCL_MNNVL_ENABLE")),
        ("2.21.5", ()),
        ("2.32.3", ()),
        (None, None),
        ("2.x", None),
    ],
)
def test_variables_that_the_installed_nccl_does_not_read_yet(
    version: str | None, names: tuple[str, ...] | None
) -> None:
    told = conf(NCCL_MNNVL_ENABLE="0", NCCL_IB_ADDR_RANGE="10.0.0.0/8", NCCL_DEBUG="WARN", NCCL_FOO="1")
    assert derive(told, Python(nccl_version=version), None, None).too_new == names


@pytest.mark.parametrize(
    ("value", "missing", "names", "usable", "by_prefix", "stays_here"),
    [
        ("eth0", (), ("eth0",), ("eth0",), (), False),
        ("=eth1", (), ("eth1",), (), (), False),
        ("eth1", (), ("eth1", "eth10"), ("eth10",), ("eth10",), False),
        ("eth", (), ("eth0", "eth1", "eth10"), ("eth0", "eth10"), (), False),
        ("ens5,eth0", ("ens5",), ("eth0",), ("eth0",), (), False),
        ("ens5", ("ens5",), (), (), (), False),
        ("lo # loopback", ("lo # loopback",), (), (), (), False),
        ("lo,docker0", (), ("lo", "docker0"), ("lo", "docker0"), (), True),
        ("^docker0,lo", (), ("eth0", "eth1", "eth10", "tun0"), ("eth0", "eth10", "tun0"), (), False),
        ("^=eth1,=x", ("=x",), ("lo", "eth0", "eth10", "docker0", "tun0"), None, (), False),
        ("tun0", (), ("tun0",), ("tun0",), (), False),
        ("veth12ab34cd", None, None, None, None, None),
    ],
)
def test_what_a_list_of_interfaces_chooses(
    value: str,
    missing: tuple[str, ...] | None,
    names: tuple[str, ...] | None,
    usable: tuple[str, ...] | None,
    by_prefix: tuple[str, ...] | None,
    stays_here: bool | None,
) -> None:
    made = chosen(value)
    told = (made.missing, made.chosen, made.by_prefix, made.stays_here)
    assert told == (missing, names, by_prefix, stays_here)
    assert usable is None or made.usable == usable
    assert evidence_path(made, "missing") in (NET.origin, "environment")


def test_gloo_takes_whole_names_only() -> None:
    assert chosen("eth1", "GLOO_SOCKET_IFNAME").chosen == ("eth1",)
    assert chosen("eth", "GLOO_SOCKET_IFNAME").missing == ("eth",)


@pytest.mark.parametrize(
    ("value", "missing", "usable"),
    [
        ("mlx5_1", (), ("mlx5_10",)),
        ("=mlx5_0:1,mlx5_1:1", (), ("mlx5_0",)),
        ("^mlx5_0", (), ("mlx5_10",)),
        ("mlx5_bond_0", ("mlx5_bond_0",), ()),
    ],
)
def test_what_a_list_of_rdma_devices_chooses(value: str, missing: tuple[str, ...], usable: tuple[str, ...]) -> None:
    made = chosen(value, "NCCL_IB_HCA")
    assert (made.devices, made.missing, made.usable) == (True, missing, usable)
    assert evidence_path(made, "usable") == RDMA.origin


@pytest.mark.parametrize("net", [None, Net(), NET.model_copy(update={"others": None})])
def test_nothing_is_missing_where_not_all_interfaces_are_known(net: Net | None) -> None:
    made = chosen("ens5", net=net)
    assert (made.missing, made.chosen) == (None, None)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("=a:1,b", (False, True, ("a", "b"))),
        ("^=a", (True, True, ("a",))),
        ("^", (True, False, ())),
        (",", (False, False, ())),
    ],
)
def test_a_list_is_split_as_nccl_does(text: str, parts: tuple[bool, bool, tuple[str, ...]]) -> None:
    assert parse_choice(text) == parts


def test_without_settings_there_is_nothing_to_choose() -> None:
    nccl: Nccl = derive(conf(), None, NET, RDMA)
    assert (nccl.settings, nccl.names, nccl.choices, nccl.too_new) == ((), (), (), None)
