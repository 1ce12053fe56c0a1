"""tuning.json: written, read back, and not believed when it cannot be ours."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from advisor.errors import SourceError
from advisor.model.trial import Config, Measurement, Parameter, Trial
from advisor.tuning.choice import choose
from advisor.tuning.record import SCHEMA_VERSION, Record, parse_record, record_text
from advisor.tuning.settings import dataloader_settings, recorded_settings, told
from advisor.tuning.starting import NO_CUDA
from advisor.tuning.validity import Part, differences, validity_key
from advisor.tuning.vram import estimated_vram

BASE = Config(0, None, 32)
FAST = Config(4, 2, 32, 1, persistent_workers=True)
VALIDITY: dict[str, Part] = {"cpu_model": "Example 9000", "ranks": 1, "torch": "2.13.0"}


def record() -> Record:
    trials = []
    for number, (config, rate) in enumerate([(BASE, 100.0), (FAST, 300.0)] * 3):
        measured = Measurement("ok", samples_per_second=(rate, rate + number), notes={"a": 1, "b": 0.5, "c": "x"})
        trials.append(Trial(number, config, measured, f"final {number // 2 + 1}"))
    trials.append(Trial(9, Config(8, 2, 32), Measurement("no-space-in-shm", message="No space left"), "search"))
    return Record(
        schema_version=SCHEMA_VERSION,
        validity_key=validity_key(VALIDITY),
        validity=VALIDITY,
        basis="measured on a made-up workload",
        global_batch=32,
        global_batch_origin="--global-batch",
        ranks=1,
        baseline=BASE,
        headroom="none told",
        space=(Parameter("num_workers", (0, 1, 2), "CPUs"),),
        stopped="the end",
        choice=choose(trials, BASE),
        trials=tuple(trials),
    )


def test_a_record_comes_back_and_gives_the_same_bytes() -> None:
    text = record_text(record())
    again = parse_record(text, "tuning.json")
    assert again == record()
    assert record_text(again) == text
    assert text.endswith("}\n")


def test_a_record_of_before_accelerators_were_looked_at_still_holds() -> None:
    document = json.loads(record_text(record()))
    del document["vram"]
    assert parse_record(json.dumps(document), "tuning.json") == record()


def test_what_was_said_of_an_accelerator_comes_back() -> None:
    told = replace(record(), vram=estimated_vram({4: 400, 8: 800, 16: 1600}, 1000, (4, 8, 16), today=4))
    assert parse_record(record_text(told), "tuning.json") == told


def _set(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def change(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(_set("schema_version", to=2), "schema_version must be 1 but is 2", id="version"),
        pytest.param(_set("validity", "ranks", to=8), "validity_key does not follow", id="another-host"),
        pytest.param(_set("choice", "config", "num_workers", to=3), "choice does not follow", id="choice-changed"),
        pytest.param(_set("trials", 0, "config", "num_workers", to=-1), "trial 0", id="negative-workers"),
        pytest.param(_set("trials", 0, "config", "num_workers", to="4; reboot"), "num_workers", id="text-for-number"),
        pytest.param(_set("trials", 1, "config", "prefetch_factor", to=10**9), "trial 1", id="absurd-prefetch"),
        pytest.param(_set("trials", 0, "measurement", "samples_per_second", to=[-1.0]), "positive", id="negative-rate"),
        pytest.param(_set("trials", 0, "measurement", "outcome", to="fine"), "outcome", id="unknown-outcome"),
        pytest.param(_set("baseline", "accumulation", to=0), "baseline", id="no-accumulation"),
        pytest.param(_set("trials", to=7), "trials", id="no-list"),
        pytest.param(
            _set("trials", 1, "config", "multiprocessing_context", to="thread"), "forkserver", id="no-context"
        ),
        pytest.param(_set("trials", 0, "config", "multiprocessing_context", to="spawn"), "trial 0", id="no-workers"),
        pytest.param(_set("trials", 0, "measurement", "samples_per_second", to=[1e200]), "at most 1e+12", id="fast"),
        pytest.param(_set("trials", 0, "measurement", "samples_per_second", to=[1e-200]), "positive", id="slow"),
        pytest.param(_set("trials", 0, "measurement", "batch_bytes", to=10**400), "proportion", id="endless-batch"),
        pytest.param(_set("trials", 0, "measurement", "notes", "cpus", to=10**400), "proportion", id="endless-note"),
        pytest.param(
            _set("trials", 0, "measurement", "notes", "tensors_per_batch", to=math.inf), "proportion", id="infinite"
        ),
        pytest.param(_set("trials", 0, "measurement", "wait_share", to=math.nan), "proportion", id="no-number"),
        pytest.param(_set("trials", 0, "origin", to="final " + "9" * 5000), "its origin is longer", id="long-origin"),
        pytest.param(_set("baseline", "amp", to="float16"), "baseline.amp", id="a-type-that-needs-scaling"),
    ],
)
def test_a_record_that_cannot_be_ours_is_one_sentence(change: Callable[[dict[str, Any]], None], said: str) -> None:
    document = json.loads(record_text(record()))
    change(document)
    with pytest.raises(SourceError, match=r"^OUT/tuning\.json: ") as caught:
        parse_record(json.dumps(document), "OUT/tuning.json")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_file_claims_beyond_what_to_use_is_computed_from_its_trials() -> None:
    document = json.loads(record_text(record()))
    document["choice"]["gain"].update(value=99.0, low=98.0)
    document["choice"]["why"] = "because the file says so"
    for candidate in document["choice"]["candidates"]:
        candidate["samples_per_second"] = math.nan
    assert parse_record(json.dumps(document), "tuning.json") == record()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 50_000, '{"schema_version": NaN}'])
def test_what_is_not_a_record_is_one_sentence(text: str) -> None:
    with pytest.raises(SourceError, match=r"tuning\.json: ") as caught:
        parse_record(text, "tuning.json")
    assert "\n" not in str(caught.value)


def test_the_key_depends_on_every_part_and_not_on_their_order() -> None:
    assert validity_key(VALIDITY) == validity_key(dict(reversed(list(VALIDITY.items()))))
    for part in VALIDITY:
        assert validity_key({**VALIDITY, part: "other"}) != validity_key(VALIDITY)


def test_the_parts_that_differ_are_named() -> None:
    assert differences(VALIDITY, {**VALIDITY, "ranks": 8, "python": "3.12"}) == ("python", "ranks")


def test_settings_carry_the_measurement_that_they_rest_on() -> None:
    kept = record()
    settings = {s.key: s for s in recorded_settings(kept)}
    assert settings["num_workers"].value == 4
    assert settings["prefetch_factor"].value == 2
    assert settings["persistent_workers"].value is True
    assert settings["batch_size"].value == 32
    reason = settings["num_workers"].reason
    assert (reason.rank, reason.by) == ("measured", "trial")
    assert reason.text.startswith("was 0; +")
    assert "over the baseline" in reason.text
    assert "measured on a made-up workload" in reason.text


def test_no_measurement_gives_no_settings() -> None:
    choice = choose([Trial(0, BASE, Measurement("killed"))], BASE)
    assert dataloader_settings(choice, BASE, "basis") == ()
    assert told(choice) == "no configuration could be measured"


def test_settings_without_workers_name_nothing_that_needs_workers() -> None:
    choice = choose([Trial(0, BASE, Measurement("ok", samples_per_second=(1.0,)))], BASE)
    assert {s.key for s in dataloader_settings(choice, BASE, "b")} == {
        "num_workers",
        "batch_size",
        "accumulation",
        "pin_memory",
    }


def test_a_record_from_before_workers_could_be_started_otherwise_is_read_as_it_was_meant() -> None:
    document = json.loads(record_text(record()))
    everywhere = [document["baseline"], document["choice"]["config"]]
    everywhere += [c["config"] for c in document["choice"]["candidates"]] + [t["config"] for t in document["trials"]]
    for config in everywhere:
        del config["multiprocessing_context"], config["amp"]
    assert parse_record(json.dumps(document), "tuning.json") == record()


def test_workers_that_are_started_otherwise_carry_their_own_reason() -> None:
    forked = Trial(7, FAST, Measurement("user-error", message=f"RuntimeError: {NO_CUDA}. To use ..."), "search")
    started = replace(FAST, multiprocessing_context="forkserver")
    runs = [
        Trial(n, config, Measurement("ok", samples_per_second=(rate + n,), startup_seconds=2.5), f"final {n // 2 + 1}")
        for n, (config, rate) in enumerate([(BASE, 100.0), (started, 300.0)] * 3)
    ]
    validity: dict[str, Part] = {**VALIDITY, "start_method": "fork"}
    kept = replace(
        record(),
        validity=validity,
        validity_key=validity_key(validity),
        trials=(forked, *runs),
        choice=choose(runs, BASE),
    )
    again = parse_record(record_text(kept), "tuning.json")
    settings = {s.key: s for s in recorded_settings(again)}
    assert settings["multiprocessing_context"].value == "forkserver"
    reason = settings["multiprocessing_context"].reason.text
    assert reason.startswith("forked workers, the default here, cannot use CUDA: w4 p2 b32 a1 ended with")
    assert "the first batch comes after 2.5 s with 4 workers (measured on a made-up workload)" in reason
    assert settings["num_workers"].reason.text.startswith("was 0; +")
    assert kept.choice.config == started
