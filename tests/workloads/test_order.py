"""Which samples a trial reads: the same each time, none twice in a round, however large the data set is."""

from itertools import islice

import pytest

from advisor.workloads._order import MOST_PERMUTED, SLICE_SAMPLES, Order, permuted

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("samples", [1, 2, 3, 4, 5, 63, 64, 65, 1000, 4097])
def test_a_permutation_by_position_is_one(samples: int) -> None:
    order = [permuted(position, samples, seed=0) for position in range(samples)]
    assert sorted(order) == list(range(samples))
    if samples > 60:
        assert order != list(range(samples))
        assert order != [permuted(position, samples, seed=1) for position in range(samples)]


def test_a_slice_of_a_huge_data_set_is_drawn_without_the_rest() -> None:
    huge = 3_000_000_000
    one, other = (Order(huge, number, shuffle=True, seed=0) for number in (0, 1))
    length = one.end - one.start
    assert SLICE_SAMPLES <= length < 2 * SLICE_SAMPLES
    first = list(islice(iter(one), length + 5))
    assert first[length:] == first[:5]
    assert len(set(first[:length])) == length
    assert 0 <= min(first) < huge // 100
    assert huge - huge // 100 < max(first) < huge
    assert set(first).isdisjoint(islice(iter(other), other.end - other.start))
    assert first == list(islice(iter(one), length + 5))


def test_a_data_set_that_can_be_permuted_whole_is() -> None:
    order = torch.randperm(1000, generator=torch.Generator().manual_seed(0)).tolist()
    assert list(islice(iter(Order(1000, 0, shuffle=True, seed=0)), 2000)) == order * 2
    assert MOST_PERMUTED * 8 <= 1 << 27


@pytest.mark.parametrize("samples", [10, 3_000_000_000])
def test_without_shuffling_samples_come_in_order(samples: int) -> None:
    assert list(islice(iter(Order(samples, 0, shuffle=False, seed=0)), 8)) == list(range(8))
