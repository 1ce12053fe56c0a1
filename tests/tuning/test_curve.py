"""What report.md shows of a search."""

from dataclasses import replace

import pytest

from advisor.model.trial import Config, Measurement, Trial
from advisor.tuning.choice import choose
from advisor.tuning.curve import measured_section
from advisor.tuning.record import SCHEMA_VERSION, Record

BASE = Config(0, None, 32)


def ran(config: Config, speed: float, origin: str = "model") -> Trial:
    rates = (speed * 0.999, speed, speed * 1.001)
    return Trial(0, config, Measurement("ok", samples_per_second=rates, peak_rss_bytes=512 << 20), origin)


def workers(count: int, prefetch: int = 2) -> Config:
    return Config(count, prefetch, 32)


def record(*trials: Trial, basis: str = "measured on train.py:factory, one rank") -> Record:
    choice = choose(trials, BASE)
    parts = (replace(ran(BASE, 1000), part="cached"),)
    return Record(
        SCHEMA_VERSION, "key", {}, basis, 32, "a test", 1, BASE, "told", (), "done", choice, trials, parts=parts
    )  # fmt: skip


MEASURED = (
    *(ran(BASE, speed, f"final {n}") for n, speed in enumerate((100, 101, 99), 1)),
    *(ran(workers(8), speed, f"final {n}") for n, speed in enumerate((900, 901, 899), 1)),
    ran(workers(2), 220),
    ran(workers(4), 450),
    ran(workers(4, 1), 430),
    ran(workers(16), 905),
)


def test_the_curve_shows_each_number_of_workers_once() -> None:
    lines = measured_section(record(*MEASURED)).splitlines()
    start = lines.index("workers   samples/s")
    rows = lines[start + 1 : lines.index("```", start)]
    assert [int(row.split()[0]) for row in rows] == [0, 2, 4, 8, 16]
    assert rows[0].endswith("#  today")
    assert rows[3].endswith("#  chosen")
    assert [row.count("#") for row in rows] == [4, 9, 18, 36, 36]
    assert "From 8 workers on nothing that was measured is more than 3 % faster." in lines


def test_the_ceiling_and_the_runners_up_are_told() -> None:
    text = measured_section(record(*MEASURED))
    assert "the training step alone gives 1,000 samples/s" in text
    assert "| `w8 p2 b32 a1` | 900 | 0.2% | 512 MiB |  | chosen |" in text
    assert "| `w4 p1 b32 a1` | 430 |" in text


def test_markup_in_a_name_stays_text() -> None:
    assert r"measured on a\|b\<i\>.py:f" in measured_section(record(*MEASURED, basis="measured on a|b<i>.py:f"))


@pytest.mark.parametrize(
    ("trials", "failed"),
    [((), []), ((Trial(0, BASE, Measurement("killed", "by <b>")),), [r"- Failed: w0 p- b32 a1: killed: by \<b\>."])],
    ids=["none", "none-ran"],
)
def test_where_nothing_was_measured_that_is_said_with_its_reason(trials: tuple[Trial, ...], failed: list[str]) -> None:
    lines = measured_section(record(*trials)).splitlines()
    assert lines[:2] == ["## Measured data loading", ""]
    chosen = "- Chosen: nothing, as no configuration could be measured; no DataLoader settings are written."
    assert lines[4:] == ["- Headroom: told.", chosen, *failed]


def test_configurations_that_failed_are_told_beside_those_that_ran() -> None:
    killed = [Trial(n, workers(n), Measurement("killed", f"pid {n}")) for n in range(30, 36)]
    text = measured_section(record(*MEASURED, *killed))
    told = "w30 p2 b32 a1, w31 p2 b32 a1, w32 p2 b32 a1, w33 p2 b32 a1 and 2 more: killed: pid 30"
    assert f"- Failed: {told}.\n" in text
