"""Files a user names are read within bounds, and nothing that is printed can steer a terminal."""

import os
from pathlib import Path

import pytest

from advisor.errors import SourceError
from advisor.inputs import printable, read_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain name", "plain name"),
        ("\x1b[31mred\n", "\\x1b[31mred\\n"),
        ("a\u202eb", "a\\u202eb"),
        ("lone \ud800 half", "lone ??? half".replace("?", "\ufffd")),
        (Path("/a\tb"), "/a\\tb"),
        (3, "3"),
    ],
    ids=["plain", "escape sequence", "direction mark", "surrogate", "path", "number"],
)
def test_printable_text_has_no_control_characters(value: object, text: str) -> None:
    assert printable(value) == text


def test_text_of_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("grüße")
    assert read_text(tmp_path / "file") == "grüße"


def _missing(folder: Path) -> Path:
    return folder / "missing"


def _fifo(folder: Path) -> Path:
    os.mkfifo(folder / "fifo")
    return folder / "fifo"


def _large(folder: Path) -> Path:
    (folder / "large").write_bytes(b"x" * 2000)
    return folder / "large"


def _binary(folder: Path) -> Path:
    (folder / "binary").write_bytes(b"ab\xff")
    return folder / "binary"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_missing, "No such file"),
        (_fifo, "not a regular file"),
        (lambda folder: folder, "not a regular file"),
        (_large, "larger than"),
        (_binary, "byte 2 is 0xff"),
    ],
    ids=["missing", "fifo", "folder", "too large", "not text"],
)
def test_other_files_are_refused_in_one_sentence(make, said: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SourceError, match=said) as caught:
        read_text(make(tmp_path), limit=1000)
    assert "\n" not in str(caught.value)
