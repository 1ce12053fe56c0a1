"""Whether the workers of a stream share its samples is tried, and nothing is claimed that cannot be told."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.model.trial import Config
from advisor.tuning.sharing import Sharing, sharing_from
from advisor.tuning.trial import TrialRequest, look_at_sharing
from advisor.workloads._sharing import compared, digest_of
from tests.tuning.trials import MIB, nothing_left

STREAMS = Path(__file__).resolve().parent / "streams.py"
A, B = [f"a{n}" for n in range(8)], [f"b{n}" for n in range(8)]


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with nothing_left(monkeypatch) as folder:
        yield folder


def request_of(case: str, config: Config) -> TrialRequest:
    limits = {"seconds": 60.0, "windows": 2, "window_seconds": 0.1, "memory_limit_bytes": 4096 * MIB}
    return TrialRequest(config, f"{STREAMS}:{case}", **limits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("case", "verdict", "said"),
    [
        ("Naive", "repeats", "the first 8 samples of two workers were the same"),
        ("chain", "repeats", "gives every sample of ChainDataset once more"),
        ("by_init", "splits", None),
        ("ByMethod", "splits", None),
        ("OneShard", "splits", None),
        ("Shuffled", "unknown", "its order is random"),
        ("Alike", "unknown", "no 4 differ from each other"),
        ("Opaque", "unknown", "cannot be compared"),
        ("Broken", "unknown", "no shard"),
    ],
)
def test_two_workers_are_tried(case: str, verdict: str, said: str | None) -> None:
    found = look_at_sharing(request_of(case, Config(batch_size=1)))
    assert found.verdict == verdict
    if said is None:
        assert found.says is None
    else:
        assert found.says is not None
        assert said in found.says
        assert "get_worker_info" in found.says


@pytest.mark.parametrize(
    ("first", "again", "verdict"),
    [
        ((A, A), None, "repeats"),
        ((A[:4], A[:4]), None, "repeats"),
        ((A[:3], A[:3]), None, "unknown"),
        (([], []), None, "unknown"),
        ((A, B), None, "different"),
        ((A, B), (A, B), "splits"),
        ((A, []), (A, []), "splits"),
        ((A, B), (B, A), "unknown"),
        ((A, [*A[1:], "z"]), (A, [*A[1:], "z"]), "unknown"),
        ((A, ["", *A[1:]]), None, "unknown"),
    ],
)
def test_the_first_samples_of_two_workers_say(
    first: tuple[list[str], list[str]], again: tuple[list[str], list[str]] | None, verdict: str
) -> None:
    assert compared(first, again)[0] == verdict


def test_a_sample_is_known_by_its_content() -> None:
    numpy, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    samples = [
        *(torch.zeros(2), torch.zeros(2, 1), torch.ones(2), torch.zeros(2, dtype=torch.bfloat16), torch.zeros(0)),
        *(torch.arange(6).reshape(2, 3), torch.arange(6).reshape(2, 3).T),
        *(numpy.zeros(2), numpy.ones(2), numpy.array(["a"], dtype=object), b"x", "x", 1, 1.0, None, ["x"], ("x",)),
        *({"a": 1}, {"a": 2}, {"b": 1}, slice(1, 2), slice(1, 3)),
    ]
    digests = [digest_of(sample) for sample in samples]
    assert "" not in digests
    assert len(set(digests)) == len(samples)
    assert digest_of({"x": torch.ones(3), "y": [1, "t"]}) == digest_of({"x": torch.ones(3), "y": [1, "t"]})
    assert digest_of(lambda: 1) == ""


def test_what_is_not_claimed_is_not_said() -> None:
    assert sharing_from({"verdict": "splits", "why": "x", "name": "S"}) == Sharing("splits")
    told = sharing_from({"verdict": "unknown", "why": "its order is random", "name": "S"})
    assert told.says is not None
    assert told.says.startswith("whether the workers of S share its samples or each give all of them cannot be told")
