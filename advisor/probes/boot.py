"""What the kernel was told on its command line: parameters with their values, those of the IOMMU and of PCI in parts.

Meanings: Linux, Documentation/admin-guide/kernel-parameters.txt. What a parameter that is not there defaults to depends
on how the kernel was built and on the machine; whether the IOMMU translates, say the groups in the section ``pci``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.boot_words import shown_word
from advisor.model.facts import Facts, Seen
from advisor.probes._cmdline import CMDLINE, read_cmdline
from advisor.probes._collected import Collected

_TRUE, _FALSE = ("1", "y", "yes", "on", "true"), ("0", "n", "no", "off", "false")
"""What kstrtobool takes (lib/kstrtox.c)."""
_PASSTHROUGH = {"pt": True, "nopt": False}
_SEPARATOR = ","


class Boot(Facts):
    """The kernel's command line."""

    read_from: ClassVar[str] = "/proc/cmdline"
    seen: ClassVar[Seen | None] = "host"
    parameters: Annotated[
        dict[str, tuple[str, ...]] | None,
        "values by name with _ for -, in the order given; a word alone, or one whose value may name the host, has none",
    ] = None
    iommu: Annotated[tuple[str, ...] | None, "options of iommu=: pt, nopt, off, soft, force ..."] = None
    intel_iommu: Annotated[tuple[str, ...] | None, "options of intel_iommu=: on, off, sm_on ..."] = None
    amd_iommu: Annotated[tuple[str, ...] | None, "options of amd_iommu=: off, force_enable ..."] = None
    iommu_passthrough: Annotated[
        bool | None, "DMA of the host's own devices is asked to pass, or not to pass, untranslated; absent: not told"
    ] = None
    iommu_strict: Annotated[
        bool | None, "IOMMU entries are asked to be dropped at once (true) or together later; absent: not told"
    ] = None
    pci: Annotated[tuple[str, ...] | None, "options of pci=: noats, realloc, noacs, disable_acs_redir=... ..."] = None
    acs_redirection_off: Annotated[
        tuple[str, ...] | None, "PCI devices whose ACS redirection pci=disable_acs_redir= turns off, as written there"
    ] = None


COLLECTED = Collected(files=(CMDLINE,))


def read(host: Host) -> Boot:
    """What the kernel of ``host`` was told."""
    words = read_cmdline(host)
    if words is None:
        return Boot(origin=CMDLINE)
    boot = boot_of(words)
    for name in ("iommu_passthrough", "iommu_strict"):
        if getattr(boot, name) is None:
            host.missed(boot.origins[name], "absent")
    return boot


def boot_of(words: Sequence[str]) -> Boot:
    """The parameters among the words of a command line. Sample: ``iommu=pt``, ``pci=noats,realloc``, ``quiet``"""
    values: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, value = shown_word(word).partition("=")
        name = name.replace("-", "_")
        values[name] = (*values.get(name, ()), *((value,) if equals else ()))
    pci = _options(values, "pci")
    return Boot(
        origin=CMDLINE,
        parameters=values,
        iommu=_options(values, "iommu"),
        intel_iommu=_options(values, "intel_iommu"),
        amd_iommu=_options(values, "amd_iommu"),
        iommu_passthrough=_passthrough(words),
        iommu_strict=_strict(values),
        pci=pci,
        acs_redirection_off=_without_redirection(pci),
        origins={f"iommu_{name}": f"{CMDLINE}/iommu.{name}" for name in ("passthrough", "strict")},
    )


def _options(values: Mapping[str, tuple[str, ...]], name: str) -> tuple[str, ...]:
    """The options of a parameter that takes several between commas, of all its words."""
    return tuple(option for value in values.get(name, ()) for option in value.split(_SEPARATOR) if option)


def _passthrough(words: Iterable[str]) -> bool | None:
    """What was said last: ``iommu=`` (x86) and ``iommu.passthrough=`` set the same, each as it comes."""
    said = None
    for word in words:
        name, _, value = word.partition("=")
        if name == "iommu.passthrough" and (known := _bool(value)) is not None:
            said = known
        elif name == "iommu":
            said = next((_PASSTHROUGH[o] for o in reversed(value.split(_SEPARATOR)) if o in _PASSTHROUGH), said)
    return said


def _strict(values: Mapping[str, tuple[str, ...]]) -> bool | None:
    """The last ``iommu.strict=``; the older options of one maker's IOMMU come later in the boot and only turn it on."""
    if "strict" in _options(values, "intel_iommu") or "fullflush" in _options(values, "amd_iommu"):
        return True
    said = [known for value in values.get("iommu.strict", ()) if (known := _bool(value)) is not None]
    return said[-1] if said else None


def _bool(text: str) -> bool | None:
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _without_redirection(pci: tuple[str, ...]) -> tuple[str, ...]:
    """The devices of ``disable_acs_redir=0000:00:1c.0;pci:8086:2030``; later words of the kind take the place."""
    named = [option for option in pci if option.startswith("disable_acs_redir=")]
    return tuple(part for part in named[-1].partition("=")[2].split(";") if part) if named else ()
