"""What every target must do, whatever it sets: one good key and value of each, and texts that nobody meant."""

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from advisor.data import template_texts
from advisor.model.setting import Scope, Value
from advisor.model.snapshot import Snapshot, Source
from advisor.planning.requests import requested
from advisor.probes.platform import Platform
from advisor.targets._base import Target, load_targets
from tests.plans import HOSTILE, NO_FACTS, UNSEEN, planned, wish, withheld

TARGETS = load_targets()
GOOD: Mapping[str, tuple[str, Value]] = {
    "cmdline": ("iommu", "pt"),
    "container": ("shm-size", 1 << 30),
    "dataloader": ("num_workers", 8),
    "env": ("NCCL_DEBUG", "WARN"),
    "interrupts": ("nic-queues", "near"),
    "launch": ("numa-binding", "node"),
    "limits": ("*/soft/nofile", 65536),
    "modprobe": ("nvme_core.io_timeout", 60),
    "modules": ("nvidia_peermem", True),
    "mount": ("/data:nconnect", 8),
    "slurm": ("PropagateResourceLimitsExcept", "MEMLOCK"),
    "sysctl": ("vm.swappiness", 10),
    "udev": ("nvme/scheduler", "none"),
    "unit": ("slurmd.service/LimitMEMLOCK", "infinity"),
}
ROOT = Path(__file__).resolve().parent.parent.parent
every = pytest.mark.parametrize("name", sorted(TARGETS))


def of(name: str) -> tuple[Target, str, Value]:
    return TARGETS[name], *GOOD[name]


@every
def test_it_says_whose_its_settings_are_and_whether_they_are_only_suggested(name: str) -> None:
    target, *_ = of(name)
    assert target.SCOPE in get_args(Scope)
    assert isinstance(target.SUGGESTED, bool)


@every
def test_one_of_the_host_says_where_it_belongs_when_it_was_read_in_a_container(name: str) -> None:
    target, key, value = of(name)
    told = withheld(
        wish(name, key, value), host=Snapshot(Source(kind="live"), {"platform": Platform(container=True)}, {})
    )
    assert target.SCOPE != "host" or "this is a container" in told[0]


@every
def test_a_good_setting_is_one_line_of_what_can_be_read(name: str) -> None:
    target, key, value = of(name)
    assert target.wrong(key, value) is None
    line = target.line(wish(name, key, value), NO_FACTS)
    assert line.isprintable()
    assert target.text(key, value) in line or name == "modules"


@every
def test_a_key_has_one_spelling(name: str) -> None:
    target, key, _ = of(name)
    assert target.named(target.named(key)) == target.named(key)
    assert target.wrong(target.named(key), of(name)[2]) is None


@every
@pytest.mark.parametrize("text", [*HOSTILE, *UNSEEN, ""], ids=ascii)
def test_a_text_that_nobody_meant_is_no_key(name: str, text: str) -> None:
    target, key, value = of(name)
    assert target.wrong(target.named(text), value) is not None
    assert target.wrong(target.named(f"{key}{text} "), value) is not None
    made = planned(wish(name, text, value))
    assert (made.settings, len(made.withheld)) == ({}, 1)


@every
@pytest.mark.parametrize("text", UNSEEN, ids=ascii)
def test_characters_that_cannot_be_seen_are_in_no_value(name: str, text: str) -> None:
    target, key, _ = of(name)
    assert target.wrong(key, text) is not None


@every
def test_nothing_is_known_of_a_host_without_facts_and_nothing_is_assumed(name: str) -> None:
    target, key, value = of(name)
    seen = target.seen(NO_FACTS, key)
    assert seen.text is None
    assert seen.note
    assert target.set_by(NO_FACTS, key) == ()
    made = planned(wish(name, key, value))
    free = target.SCOPE != "host" or name in ("cmdline", "limits")  # every host has these
    assert bool(made.of(name)) == free
    assert bool(made.withheld) != free


@every
def test_what_an_operator_types_is_what_is_meant(name: str) -> None:
    target, key, value = of(name)
    words = "true" if value is True else str(value)
    asked = requested(f"{name}:{key}={words}", TARGETS)
    assert target.wrong(asked.key, asked.value) is None
    assert target.text(key, asked.value) == target.text(key, value)


@every
def test_it_is_told_of_and_has_a_template(name: str) -> None:
    assert f"\n| `{name}` |" in (ROOT / "docs/targets.md").read_text()
    assert any(f"settings.{name}" in text for text in (*template_texts().values(), UNIT_AND_LOADER))


UNIT_AND_LOADER = "settings.unit settings.dataloader settings.container settings.mount"
"""These come to their templates by other names."""


def test_every_target_has_a_good_example() -> None:
    assert set(GOOD) == set(TARGETS)
