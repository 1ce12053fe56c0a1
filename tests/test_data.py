"""Templates as they lie on disk: what cannot be read is told, never taken for no template."""

import os
from pathlib import Path

import pytest

from advisor.data import template_texts
from advisor.errors import TemplateError


def not_utf8(path: Path) -> None:
    path.write_bytes(b"\xff")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def too_large(path: Path) -> None:
    path.write_text("x" * (1024 * 1024 + 1), "utf-8")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (not_utf8, "is not UTF-8 text: byte 0 is 0xff"),
        (fifo, "it is not a regular file"),
        (Path.mkdir, "it is not a regular file"),
        (link_to_itself, "Too many levels of symbolic links"),
        (too_large, "is larger than 1048576 bytes"),
    ],
    ids=["not utf-8", "fifo", "folder", "loop", "large"],
)
def test_a_template_that_cannot_be_read_is_told_in_one_sentence(tmp_path: Path, make: object, said: str) -> None:
    assert callable(make)
    make(tmp_path / "a.conf.j2")
    with pytest.raises(TemplateError) as caught:
        template_texts(tmp_path)
    assert said in str(caught.value)
    assert "a.conf.j2" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_template_at_all_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="there is no template in"):
        template_texts(tmp_path / "none")


def test_the_shipped_templates_are_found() -> None:
    assert "job/env.sh.j2" in template_texts()
