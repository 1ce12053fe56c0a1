"""Figures as people read them."""

import pytest

from advisor.figures import count_text, cpulist_text, size_text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (None, "unknown"),
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (64 * 1024**2, "64 MiB"),
        (int(23.5 * 1024**3), "23.5 GiB"),
        (3 * 1024**6, "3072 PiB"),
    ],
)
def test_sizes(size_bytes: int | None, text: str) -> None:
    assert size_text(size_bytes) == text


@pytest.mark.parametrize(
    ("numbers", "text"),
    [(None, "unknown"), ((), "none"), ((3,), "3"), ((0, 1, 2, 3, 8), "0-3,8"), ((9, 7, 8), "7-9")],
)
def test_cpu_lists(numbers: tuple[int, ...] | None, text: str) -> None:
    assert cpulist_text(numbers) == text


def test_counts() -> None:
    assert [count_text(number, "trial") for number in (0, 1, 2)] == ["0 trials", "1 trial", "2 trials"]
