"""Reading /proc/interrupts. Format: fs/proc/interrupts.c, kernel/irq/proc.c (show_interrupts)"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from advisor.host.base import Host

INTERRUPTS = "/proc/interrupts"
LIMIT_BYTES = 64 * 1024 * 1024
"""4,000 interrupts on 1,024 CPUs make 45 MB."""
_AFTER_COUNTS = re.compile(r"(\S+)(?: +(?:\d+-\w+|\d+ +(?:Level|Edge)|\d+(?= |$)))?(?: +(.*))?")
_PCI_CHIP = re.compile(r"MSI[Xx]?-([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")
"""Since 6.1 the name of an MSI chip holds the address of its device."""


@dataclass(frozen=True)
class Interrupt:
    """One numbered row; ``counts`` holds the CPUs that had any."""

    number: int
    name: str | None
    pci_address: str | None
    counts: Mapping[int, int]


def read_interrupts(host: Host, wanted: Container[int] | None = None) -> dict[int, Interrupt] | None:
    """The rows of ``wanted`` numbers (default: all) by number; ``None`` when the file says nothing."""
    text = host.text(INTERRUPTS, LIMIT_BYTES)
    if text is None:
        return None
    if not parse_cpus(text):
        host.missed(INTERRUPTS, "unsupported")
        return None
    return {row.number: row for row in parse_interrupts(text, wanted)}


def parse_cpus(text: str) -> tuple[int, ...]:
    """The CPUs of the columns: online ones only, so that numbers may be missing. Sample: ``  CPU0  CPU2``"""
    words = text.partition("\n")[0].split()
    if not all(re.fullmatch(r"CPU\d{1,6}", word, re.ASCII) for word in words):
        return ()
    return tuple(int(word[3:]) for word in words)


def parse_interrupts(text: str, wanted: Container[int] | None = None) -> Iterator[Interrupt]:
    """The numbered rows; those of letters (NMI, LOC ...) belong to no device. Samples::

             CPU0       CPU1
    24:          5          0  IR-PCI-MSI 524289-edge      mlx5_comp0@pci:0000:3b:00.0
    25:          0          7  PCI-MSIX-0000:5e:00.0   1-edge      nvme0q1
    """
    cpus = parse_cpus(text)
    for line in text.split("\n")[1:] if cpus else ():
        label, colon, rest = line.partition(":")
        label = label.strip()
        if not colon or not label.isascii() or not label.isdigit() or len(label) > 9:
            continue
        number = int(label)
        if wanted is not None and number not in wanted:
            continue
        words = rest.split(None, len(cpus))
        if len(words) >= len(cpus):
            yield from _row(number, cpus, words)


def _row(number: int, cpus: tuple[int, ...], words: list[str]) -> Iterator[Interrupt]:
    try:
        counts = {cpu: int(word) for cpu, word in zip(cpus, words, strict=False) if word != "0"}
    except ValueError:
        # A row that was cut or mixed up says nothing.
        return
    yield _interrupt(number, counts, words[len(cpus)] if len(words) > len(cpus) else "")


def _interrupt(number: int, counts: dict[int, int], after: str) -> Interrupt:
    found = _AFTER_COUNTS.match(after)
    chip = _PCI_CHIP.search(found[1]) if found else None
    name = found[2].strip() if found and found[2] else None
    return Interrupt(number, name or None, chip[1] if chip else None, counts)
