"""Keys of sysctl with dots in their parts, keys that come later, and what a real kernel makes of the written file."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.model.setting import Setting, Value
from advisor.model.snapshot import Snapshot, Source
from advisor.planning.merge import plan
from advisor.probes.ip import Ip, IpInterface
from advisor.probes.sysctl import Sysctl, SysctlLine
from advisor.probes.systemd import Service, Systemd
from advisor.probes.tuned import Tuned, TunedLine
from advisor.targets import sysctl
from advisor.targets._base import SetBy, load_targets
from tests import plans
from tests.plans import body, generated, needed, ran

FILE = "host/etc/sysctl.d/90-advisor.conf"
HOST = Snapshot(
    Source(kind="live"),
    {
        "ip": Ip(
            interfaces=(
                IpInterface(name="eth0", rp_filter=1, arp_ignore=0),
                IpInterface(name="eth0.100", rp_filter=1, arp_announce=2),
            )
        ),
        "sysctl": Sysctl(
            net_ipv4_conf_all_rp_filter=0,
            net_ipv4_tcp_slow_start_after_idle=1,
            sunrpc_tcp_max_slot_table_entries=65536,
            configured=(
                SysctlLine(key="net.ipv4.conf.eth0/100.arp_announce", value="1", path="/etc/sysctl.d/9.conf", line=1),
                SysctlLine(key="net.ipv4.conf.*.arp_ignore", value="1", path="/etc/sysctl.conf", line=2, pattern=True),
            ),
        ),
    },
    {},
)


def wish(key: str, value: Value) -> Setting:
    return plans.wish("sysctl", key, value)


def written(*settings: Setting) -> str:
    return generated(*settings, host=HOST)[FILE]


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("net.ipv4.conf.all.rp_filter", "net.ipv4.conf.all.rp_filter = 2"),
        ("net/ipv4/tcp_slow_start_after_idle", "net.ipv4.tcp_slow_start_after_idle = 2"),
        ("net.ipv4.conf.eth0.rp_filter", "-net.ipv4.conf.eth0.rp_filter = 2"),
        ("net/ipv4/conf/eth0.100/rp_filter", "-net/ipv4/conf/eth0.100/rp_filter = 2"),
        ("net.ipv4.conf.eth0/100.rp_filter", "-net/ipv4/conf/eth0.100/rp_filter = 2"),
        ("sunrpc.tcp_max_slot_table_entries", "-sunrpc.tcp_max_slot_table_entries = 2"),
    ],
)
def test_a_key_is_written_so_that_its_parts_are_told_apart(key: str, line: str) -> None:
    assert body(written(wish(key, 2))) == [line]


def test_two_spellings_are_one_key() -> None:
    made = plan(
        [wish("net/ipv4/conf/eth0.100/rp_filter", 2), wish("net.ipv4.conf.eth0/100.rp_filter", 0)],
        HOST,
        load_targets(),
    )
    assert [conflict.key for conflict in made.conflicts] == ["net.ipv4.conf.eth0/100.rp_filter"]


def test_a_dotted_interface_in_a_dotted_key_is_not_guessed_at() -> None:
    made = plan([wish("net.ipv4.conf.eth0.100.rp_filter", 2)], HOST, load_targets())
    assert made.settings == {}
    assert "it is not known whether this kernel has" in made.withheld[0].why


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("net/ipv4/conf/eth0.100/arp_announce", (SetBy("1", "/etc/sysctl.d/9.conf", 1),)),
        ("net/ipv4/conf/eth0.100/arp_ignore", (SetBy("1", "/etc/sysctl.conf", 2),)),
        ("net/ipv4/conf/eth0.100/rp_filter", ()),
    ],
)
def test_the_operators_lines_are_found_in_any_spelling(key: str, expected: tuple[SetBy, ...]) -> None:
    assert sysctl.set_by(HOST, key) == expected


@pytest.mark.parametrize("key", ["net/ipv4/../vm/swappiness", "/net/x", "net//x", "net/ipv4/conf/e;th/x", "net/", "a"])
def test_a_path_that_leads_elsewhere_is_no_key(key: str) -> None:
    assert sysctl.wrong(key, 1) is not None


def test_slashes_are_no_way_around_what_is_never_set() -> None:
    made = plan([wish("vm/drop_caches", 3)], HOST, load_targets())
    assert "advisor never sets it" in made.withheld[0].why


IN_A_NAMESPACE = """
set -e
ip link set lo name eth0.100
sysctl -p "$1" >/dev/null
cat /proc/sys/net/ipv4/conf/all/rp_filter /proc/sys/net/ipv4/conf/eth0.100/rp_filter
cat /proc/sys/net/ipv4/tcp_slow_start_after_idle
"""


def test_the_kernel_takes_the_file_in_a_network_of_its_own(tmp_path: Path) -> None:
    needed("unshare", "ip", "sysctl")
    file = tmp_path / "90-advisor.conf"
    settings: Mapping[str, Value] = {
        "net.ipv4.conf.all.rp_filter": 1,
        "net/ipv4/conf/eth0.100/rp_filter": 2,
        "net.ipv4.tcp_slow_start_after_idle": 0,
    }
    file.write_text(written(*(wish(key, value) for key, value in settings.items())))
    assert len(body(file.read_text())) == 3
    # Of these keys every network namespace has its own: the machine's are left alone.
    own = ["unshare", "--net"] if ran(["unshare", "-n", "true"]).returncode == 0 else []
    if not own:
        pytest.skip("only root, or a kernel that allows it, makes a network namespace")
    done = ran([*own, "sh", "-c", IN_A_NAMESPACE, "sh", file])
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["1", "2", "0"], "")


def test_a_key_that_is_not_there_yet_stops_nothing(tmp_path: Path) -> None:
    # procps 4.0 complains of such a key all the same; at boot it is systemd that reads the file.
    systemd = shutil.which("systemd-sysctl", path="/usr/lib/systemd:/lib/systemd")
    if systemd is None:
        pytest.skip("systemd-sysctl is not installed")
    file = tmp_path / "90-advisor.conf"
    file.write_text("-net.ipv4.conf.no_such0.rp_filter = 2\n-net/ipv4/conf/no_such0.5/rp_filter = 2\n")
    done = ran([systemd, file])
    assert (done.returncode, done.stderr) == (0, "")


def with_tuned(path: str, installed: bool = True) -> Snapshot:
    line = TunedLine(section="sysctl", plugin="sysctl", key="net.ipv4.tcp_slow_start_after_idle", value="1", path=path)
    services = (Service(name="tuned.service", path="/usr/lib/systemd/system/tuned.service"),) if installed else ()
    more = {"tuned": Tuned(profile="x", lines=(line,)), "systemd": Systemd(services=services)}
    return Snapshot(Source(kind="live"), {**HOST.facts, **more}, {})


@pytest.mark.parametrize(
    ("host", "stands"),
    [
        (with_tuned("/etc/tuned/site/tuned.conf"), True),
        (with_tuned("/etc/tuned/advisor/tuned.conf"), False),
        (with_tuned("/usr/lib/tuned/balanced/tuned.conf"), False),
        (with_tuned("/etc/tuned/site/tuned.conf", installed=False), False),
    ],
    ids=["the operator's", "ours", "the distribution's", "of a TuneD that is not here"],
)
def test_an_operators_profile_of_tuned_stands(host: Snapshot, stands: bool) -> None:
    made = plan([wish("net.ipv4.tcp_slow_start_after_idle", 0)], host, load_targets())
    assert [one.why for one in made.withheld] == (
        ["set to 1 by /etc/tuned/site/tuned.conf: change it there if you agree"] if stands else []
    )
