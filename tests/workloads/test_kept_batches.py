"""Kept batches are the same at every step, whatever the step does to them."""

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

import numpy as np  # noqa: TID253 - a batch may hold arrays
import pytest
import torch  # noqa: TID253 - it is what is kept

from advisor.workloads._kept import MOST_KEPT, MOST_KEPT_BYTES, KeptBatches

Pair = namedtuple("Pair", "x y")


@dataclass
class Holder:
    x: Any


CONTAINERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tensor": (lambda x: x, lambda batch: batch),
    "tuple": (lambda x: (torch.zeros(1), x), lambda batch: batch[1]),
    "dict": (lambda x: {"a": [x, "text"], "b": 3}, lambda batch: batch["a"][0]),
    "namedtuple": (lambda x: Pair(x, torch.zeros(1)), lambda batch: batch.x),
    "dataclass": (Holder, lambda batch: batch.x),
    "other mapping": (lambda x: OrderedDict(x=x), lambda batch: batch["x"]),
}


def loaded(made: Callable[[Any], Any], size: int = 4) -> Iterator[Any]:
    """Batches of one number each: 0, 1, 2 ..."""
    return (made(torch.full((size,), float(number))) for number in count())


@pytest.mark.parametrize(("made", "tensor"), CONTAINERS.values(), ids=CONTAINERS)
def test_a_step_that_changes_its_batch_finds_it_unchanged_the_next_time(
    made: Callable[[Any], Any], tensor: Callable[[Any], Any]
) -> None:
    kept = KeptBatches(loaded(made), None)
    seen = []
    for batch in islice(kept, 3 * MOST_KEPT):
        seen.append(float(tensor(batch)[0]))
        tensor(batch).sub_(1e30)
    assert seen == [float(number) for number in range(MOST_KEPT)] * 3
    assert kept.changed


@pytest.mark.parametrize(("made", "tensor"), CONTAINERS.values(), ids=CONTAINERS)
def test_a_step_that_leaves_its_batch_alone_gets_the_tensors_themselves(
    made: Callable[[Any], Any], tensor: Callable[[Any], Any]
) -> None:
    kept = KeptBatches(loaded(made), None)
    steps = [tensor(batch) for batch in islice(kept, 2 * MOST_KEPT)]
    assert [a is b for a, b in zip(steps, steps[MOST_KEPT:], strict=False)] == [True] * MOST_KEPT
    assert not kept.changed


def test_a_view_of_a_batch_that_is_changed_counts_too() -> None:
    kept = KeptBatches(loaded(lambda x: x), None)
    firsts = [float(batch.view(2, 2)[0].add_(1)[0]) for batch in islice(kept, 2 * MOST_KEPT)]
    assert firsts == [float(number + 1) for number in range(MOST_KEPT)] * 2


def test_an_array_that_is_changed_is_seen_by_its_content() -> None:
    kept = KeptBatches(({"x": np.full(4, number)} for number in count()), None)
    seen = []
    for batch in islice(kept, 2 * MOST_KEPT):
        seen.append(int(batch["x"][0]))
        batch["x"] += 1
    assert seen == list(range(MOST_KEPT)) * 2
    assert kept.changed


def test_a_step_may_empty_the_containers() -> None:
    kept = KeptBatches(loaded(lambda x: {"x": [x]}), None)
    assert len([batch.pop("x").pop() for batch in islice(kept, 2 * MOST_KEPT)]) == 2 * MOST_KEPT
    assert not kept.changed


def test_a_change_that_comes_late_happens_once() -> None:
    kept = KeptBatches(loaded(lambda x: x), None)
    seen = []
    for number, batch in enumerate(islice(kept, 4 * MOST_KEPT)):
        seen.append(float(batch[0]))
        if number >= MOST_KEPT:
            batch.add_(100)
    assert seen[2 * MOST_KEPT :] == [100.0, *map(float, range(1, MOST_KEPT))] * 2


def test_tensors_that_count_no_changes_are_kept_as_they_are() -> None:
    with torch.inference_mode():
        batches = iter([torch.zeros(2)] * MOST_KEPT)
    kept = KeptBatches(batches, None)
    assert len(list(islice(kept, 2 * MOST_KEPT))) == 2 * MOST_KEPT
    assert not kept.changed


def test_what_cannot_be_copied_is_handed_out_as_it_is() -> None:
    kept = KeptBatches(loaded(lambda x: {"x": x, "source": (n for n in range(3))}), None)
    for batch in islice(kept, 2 * MOST_KEPT):
        batch["x"].add_(1)
        assert next(batch["source"], 3) in range(4)
    assert kept.changed


def test_no_more_are_kept_than_memory_allows() -> None:
    size = MOST_KEPT_BYTES // 4 // 2
    numbers = [float(batch[0]) for batch in islice(KeptBatches(loaded(lambda x: x, size), None), 5)]
    assert numbers == [0.0, 1.0, 0.0, 1.0, 0.0]
