"""All that `advisor apply` and `advisor rollback` do on a running system, in a network of the test's own."""

import json
from pathlib import Path

import pytest

from advisor.commands._changes import Manner
from advisor.commands._installing import install, undo
from advisor.commands._site import Place
from advisor.errors import ApplyError
from advisor.host.live import LiveHost
from tests.outs import SYSCTL, sysctl_text
from tests.planning.sites import generated, looks, machine, nobody, site
from tests.planning.test_live_values import OwnNetwork, in_own_network, shown

KEY = "net.ipv4.tcp_mtu_probing"
YES = Manner("apply", dry_run=False, yes=True, json=True, quiet=False)


def running(root: Path) -> Place:
    return Place(site(root, nobody, OwnNetwork()), LiveHost.here(), running=True)


def test_a_value_counts_at_once_and_goes_back(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def act() -> None:
        root, before = machine(tmp_path), shown()
        files = looks(root)
        text = sysctl_text(1, seen=before[KEY], key=KEY)
        assert install(running(root), generated({SYSCTL: text}), YES) == 0
        assert shown() == {**before, KEY: "1"}
        assert undo(running(root), YES) == 0
        assert (shown(), looks(root)) == (before, files)

    in_own_network(act)
    first, _ = json.JSONDecoder().raw_decode(capfd.readouterr().out)
    assert first["live"][0]["setting"] == f"sysctl:{KEY}"
    assert first["settings"] == [f"sysctl:{KEY}=1 (risk: low): counts at once"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (sysctl_text(1, seen=2, key=KEY), "had 2 when it was generated and has 0 now"),
        (sysctl_text(1, key="net.ipv4.no_such_key"), "net.ipv4.no_such_key"),
        (sysctl_text("1 2", key=KEY), "a whole number"),
    ],
    ids=["another value since", "another kernel", "another kind of value"],
)
def test_what_does_not_fit_this_host_is_refused(tmp_path: Path, text: str, why: str) -> None:
    def act() -> None:
        root, before = machine(tmp_path), shown()
        files = looks(root)
        with pytest.raises(ApplyError, match=why):
            install(running(root), generated({SYSCTL: text}), YES)
        assert (shown(), looks(root)) == (before, files)

    in_own_network(act)
