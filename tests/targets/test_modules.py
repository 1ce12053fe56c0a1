"""modules-load.d: only modules that are proven to be there."""

import pytest

from advisor.model.snapshot import Snapshot, Source
from advisor.probes.gpu import Gpu
from advisor.probes.modules import AtBoot, Module, Modules
from advisor.probes.nvidia import Nvidia
from advisor.targets import modules
from tests.plans import HOSTILE, UNSEEN, body, generated, wish, withheld

FILE = "host/etc/modules-load.d/90-advisor.conf"


def host(driver: str | None = "580.65.06", clients: tuple[str, ...] | None = (), loaded: bool = False) -> Snapshot:
    facts = {
        "modules": Modules(
            modules=(
                Module(name="nvidia_peermem", loaded=loaded),
                Module(name="sunrpc", loaded=False, accepts=("tcp_slot_table_entries",)),
                Module(name="zswap", loaded=None),
            )
        ),
        "gpu": Gpu(driver_version=driver),
        "nvidia": Nvidia(peer_memory_clients=clients),
    }
    return Snapshot(Source(kind="live"), facts, {})


@pytest.mark.parametrize("key", ["nvidia_peermem", "nvidia-peermem"])
def test_peer_memory_is_loaded_where_the_driver_and_ofed_are_there(key: str) -> None:
    text = generated(wish("modules", key, True), host=host())[FILE]
    assert body(text) == ["nvidia_peermem"]
    assert "# rule area/name: helps\n# seen: nothing in /sys/module/nvidia_peermem (not loaded)\n" in text


@pytest.mark.parametrize(
    ("machine", "key", "why"),
    [
        (host(driver="460.32"), "nvidia_peermem", "as it does since 470"),
        (host(driver=None), "nvidia_peermem", "as it does since 470"),
        (host(clients=None), "nvidia_peermem", "there is no /sys/kernel/mm/memory_peers"),
        (host(loaded=True), "nvidia_peermem", "already so"),
        (host(), "zswap", "it is not known whether this host has the module zswap"),
        (host(), "no_such", "it is not known whether this host has the module no_such"),
    ],
    ids=["old driver", "no driver", "no OFED", "loaded", "unknown", "not listed"],
)
def test_a_module_that_may_not_come_up_is_not_listed(machine: Snapshot, key: str, why: str) -> None:
    assert why in withheld(wish("modules", key, True), host=machine)[0]


def test_a_module_that_modinfo_found_can_be_listed() -> None:
    assert body(generated(wish("modules", "sunrpc", True), host=host())[FILE]) == ["sunrpc"]


@pytest.mark.parametrize("text", [*HOSTILE, *UNSEEN, ""], ids=ascii)
def test_no_text_gets_into_the_list(text: str) -> None:
    assert modules.wrong(text, True) is not None
    assert modules.wrong("sunrpc", text or False) is not None


def listed(path: str) -> Snapshot:
    modules = Modules(
        modules=(Module(name="sunrpc", loaded=True, accepts=("x",)),),
        at_boot=(AtBoot(module="sunrpc", path=path, line=3),),
    )
    return Snapshot(Source(kind="live"), {"modules": modules}, {})


def test_what_our_list_loaded_stays_on_it() -> None:
    ours = listed("/etc/modules-load.d/90-advisor.conf")
    assert body(generated(wish("modules", "sunrpc", True), host=ours)[FILE]) == ["sunrpc"]


def test_what_the_operator_lists_needs_no_second_list() -> None:
    theirs = listed("/etc/modules-load.d/site.conf")
    told = withheld(wish("modules", "sunrpc", True), host=theirs)
    assert told == ["already set to loaded by /etc/modules-load.d/site.conf:3"]
