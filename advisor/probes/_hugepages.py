"""Huge pages: reserved ones of every size (hugetlb), and those the kernel makes by itself (THP).

Formats: https://docs.kernel.org/admin-guide/mm/hugetlbpage.html and
https://docs.kernel.org/admin-guide/mm/transhuge.html
"""

import re
from collections.abc import Iterable
from typing import Annotated

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Volatile
from advisor.probes._sysfs import not_offered

_FOLDER = re.compile(r"hugepages-(\d{1,12})kB", re.ASCII)


class HugePool(Facts):
    """Reserved huge pages of one size, from a folder ``hugepages-NkB``."""

    name: Annotated[str | None, "hugepages-2048kB ..."] = None
    page_bytes: Annotated[int, "size of a page"]
    pages: Annotated[int | None, File("nr_hugepages"), "reserved, in use or not"] = None
    free: Annotated[int | None, File("free_hugepages"), Volatile(), "of them, used by nobody"] = None
    promised: Annotated[int | None, File("resv_hugepages"), Volatile(), "of the free, promised to somebody"] = None
    overcommit: Annotated[int | None, File("nr_overcommit_hugepages"), "pages that may be taken beyond them"] = None


class ThpSize(Facts):
    """Huge pages of one size that the kernel may make by itself, from a folder ``hugepages-NkB``."""

    page_bytes: Annotated[int, "size of a page"]
    enabled: Annotated[str | None, File("enabled", bracketed=True), "always, inherit, madvise or never"] = None


def sizes(names: Iterable[str]) -> tuple[tuple[int, str], ...]:
    """Bytes and folder name of each size among ``names``, ascending. Sample: ``hugepages-2048kB``"""
    return tuple(sorted((int(found[1]) * 1024, found[0]) for name in names if (found := _FOLDER.fullmatch(name))))


def read_pools(host: Host, parent: str) -> tuple[HugePool, ...] | None:
    """The pools below a folder; ``None`` where there is none, as a kernel without hugetlb has it."""
    names = host.names(parent)
    if names is None:
        return None
    return tuple(_pool(host, size, f"{parent}/{name}") for size, name in sizes(names))


def _pool(host: Host, size: int, folder: str) -> HugePool:
    given = not_offered(HugePool, host.names(folder) or ())
    return read_fields(host, HugePool, folder, name=folder.rpartition("/")[2], page_bytes=size, **given)


def read_thp_sizes(host: Host, parent: str) -> tuple[ThpSize, ...] | None:
    """The sizes below a folder; none before Linux 6.8, where there is one size."""
    names = host.names(parent)
    if names is None:
        return None
    found = ((size, f"{parent}/{name}") for size, name in sizes(names))
    return tuple(
        read_fields(host, ThpSize, folder, page_bytes=size, **not_offered(ThpSize, host.names(folder) or ()))
        for size, folder in found
    )
