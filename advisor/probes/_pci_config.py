"""What the configuration space of a PCI device says: PCI Express, ACS, ATS, resizable BARs.

Offsets are those of PCI Express Base Specification 5.0, chapter 7, as named in Linux, include/uapi/linux/pci_regs.h.
"""

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from advisor.host.base import Host
from advisor.host.pci_space import ACS, ATS, EXPRESS, RESIZABLE_BAR, SPACE_BYTES, Space, parse_space
from advisor.model.facts import Facts, GapState, Root, Seen

_PORT_TYPES = {
    0x0: "endpoint",
    0x1: "legacy endpoint",
    0x4: "root port",
    0x5: "upstream port",
    0x6: "downstream port",
    0x7: "PCIe to PCI bridge",
    0x8: "PCI to PCIe bridge",
    0x9: "integrated endpoint",
    0xA: "event collector",
}
"""PCI_EXP_TYPE_*"""
_WITHOUT_LINK = (0x9, 0xA)
_ASPM = ("off", "L0s", "L1", "L0s L1")
_ACS_BITS = {
    "source_validation": 0x01,
    "translation_blocking": 0x02,
    "request_redirect": 0x04,
    "completion_redirect": 0x08,
    "upstream_forwarding": 0x10,
    "egress_control": 0x20,
    "direct_translated": 0x40,
}
"""PCI_ACS_SV, TB, RR, CR, UF, EC, DT: the same bits in the capability and in the control register."""
_NO_VENDOR = 0xFFFF
"""Virtual functions show it in place of their own (SR-IOV specification)."""
_MOST_BARS = 6
_MIB = 1 << 20


class ResizableBar(Facts):
    """A BAR whose size can be chosen, set by the firmware or the kernel."""

    number: Annotated[int, "of the BAR, from 0"]
    size_bytes: Annotated[int | None, "as it is set"] = None
    largest_bytes: Annotated[int | None, "the largest of the first 28 sizes (1 MiB to 128 TiB) that it offers"] = None


class Config(Facts):
    """What the configuration space of one device says."""

    read_from: ClassVar[str] = "/sys/bus/pci/devices/*/config"
    seen: ClassVar[Seen | None] = "masked"

    port_type: Annotated[
        str | None, Root(), "endpoint, legacy endpoint, root port, upstream port, downstream port ..."
    ] = None
    max_payload_supported_bytes: Annotated[int | None, Root(), "largest payload of a packet that it can"] = None
    max_payload_bytes: Annotated[int | None, Root(), "largest payload that it sends; set for the whole tree"] = None
    max_read_request_bytes: Annotated[int | None, Root(), "most that it asks for in one read"] = None
    relaxed_ordering: Annotated[bool | None, Root(), "it may mark its packets as free to overtake others"] = None
    no_snoop: Annotated[bool | None, Root(), "it may mark its packets as not to be looked up in caches"] = None
    extended_tags: Annotated[bool | None, Root(), "it may have 256 requests under way, not 32"] = None
    aspm_supported: Annotated[str | None, Root(), "sleep states that its link can: off, L0s, L1 or L0s L1"] = None
    aspm: Annotated[str | None, Root(), "sleep states that are on: off, L0s, L1 or L0s L1"] = None
    link_up: Annotated[bool | None, Root(), "the link is up (data link layer active); only ports tell"] = None
    acs: Annotated[bool | None, Root(), "it has Access Control Services"] = None
    acs_supported: Annotated[
        tuple[str, ...] | None,
        Root(),
        "services it can: source_validation and translation_blocking refuse requests; request_redirect and "
        "completion_redirect send what is between devices below it up to the root complex and back; "
        "upstream_forwarding sends on what came up for something below the same port; egress_control lists the ports "
        "that may be reached; direct_translated lets requests with translated address pass in spite of redirection",
    ] = None
    acs_on: Annotated[tuple[str, ...] | None, Root(), "services that are on, in the words of acs_supported"] = None
    ats: Annotated[bool | None, Root(), "it has Address Translation Services"] = None
    ats_enabled: Annotated[bool | None, Root(), "it asks the IOMMU for translations and keeps them"] = None
    resizable_bars: Annotated[tuple[ResizableBar, ...] | None, Root(), "BARs whose size can be chosen"] = None


_CONTROL = ("max_payload_bytes", "max_read_request_bytes", "relaxed_ordering", "no_snoop", "extended_tags")
_LINK = ("aspm_supported", "aspm", "link_up")
_OF_EXPRESS = ("port_type", "max_payload_supported_bytes", *_CONTROL, *_LINK)
_OF_ACS = ("acs", "acs_supported", "acs_on")


def read_config(host: Host, folder: str, awake: bool) -> tuple[Config | None, bool | None]:
    """What the configuration space of the device in ``folder`` says, and whether the device answers at all.

    A device that sleeps is not asked: to read from it would wake it.
    """
    path = f"{folder}/config"
    data = host.data(path, SPACE_BYTES) if awake else None
    if data is None:
        if not awake:
            host.missed(path, "not captured")
        return None, None
    space = parse_space(data)
    if space.listed or space.unlisted == "absent":
        config, gaps = decode_config(space, path)
        for place, state in gaps.items():
            host.missed(place, state)
        return config, True
    host.missed(path, space.unlisted)
    return None, space.answers


def decode_config(space: Space, path: str) -> tuple[Config, dict[str, GapState]]:
    """What ``space`` says and, by evidence path, why the rest is not known.

    A capability's path is that of the file with its name behind it: ``.../config/acs``.
    """
    decoder = _Decoder(space, path)
    decoder.express()
    decoder.acs()
    decoder.ats()
    decoder.resizable_bars()
    return Config(origin=path, **decoder.values, origins=decoder.origins), decoder.gaps


class _Decoder:
    """Values of one space so far, where they stand, and why some do not."""

    def __init__(self, space: Space, path: str) -> None:
        self.space = space
        self.path = path
        self.values: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.gaps: dict[str, GapState] = {}

    def _lacks(self, part: str, fields: Iterable[str], state: GapState) -> None:
        place = f"{self.path}/{part}"
        missing = [name for name in fields if self.values.get(name) is None]
        if missing:
            self.origins.update(dict.fromkeys(missing, place))
            self.gaps[place] = state

    def express(self) -> None:
        """PCI_EXP_FLAGS 0x02, DEVCAP 0x04, DEVCTL 0x08; for a device with a link LNKCAP 0x0c, LNKCTL 0x10, LNKSTA 0x12.

        DEVCTL: relaxed ordering bit 4, payload 7:5, extended tags 8, no snoop 11, read request 14:12.
        """
        at = self.space.listed.get(EXPRESS)
        if at is None:
            self._lacks("express", _OF_EXPRESS, self.space.unlisted)
            return
        flags, can, control = self.space.word(at + 2), self.space.long(at + 4), self.space.word(at + 8)
        kind = None if flags is None else flags >> 4 & 0xF
        self.values["port_type"] = None if kind is None else _PORT_TYPES.get(kind)
        self.values["max_payload_supported_bytes"] = None if can is None else _bytes(can)
        # What a virtual function shows there is reserved: the physical function's counts.
        if control is not None and self.space.word(0) != _NO_VENDOR:
            self._control(control)
        linkless = kind in _WITHOUT_LINK
        if kind is not None and not linkless:
            self._link(at)
        self._lacks("link", _LINK, "absent" if linkless else "unsupported")
        self._lacks("express", _OF_EXPRESS[: -len(_LINK)], "unsupported")

    def _control(self, control: int) -> None:
        self.values.update(
            max_payload_bytes=_bytes(control >> 5),
            max_read_request_bytes=_bytes(control >> 12),
            relaxed_ordering=bool(control & 0x0010),
            no_snoop=bool(control & 0x0800),
            extended_tags=bool(control & 0x0100),
        )

    def _link(self, at: int) -> None:
        """LNKCAP: ASPM 11:10, can tell whether the link is up 20; LNKCTL: ASPM 1:0; LNKSTA: up 13."""
        can, control, status = self.space.long(at + 0xC), self.space.word(at + 0x10), self.space.word(at + 0x12)
        tells = can is not None and can & 1 << 20
        self.values.update(
            aspm_supported=None if can is None else _ASPM[can >> 10 & 3],
            aspm=None if control is None else _ASPM[control & 3],
            link_up=bool(status & 1 << 13) if tells and status is not None else None,
        )

    def acs(self) -> None:
        """PCI_ACS_CAP 0x04, PCI_ACS_CTRL 0x06, the same seven bits in both."""
        at = self.space.extended.get(ACS)
        can, control = (None, None) if at is None else (self.space.word(at + 4), self.space.word(at + 6))
        if can is not None and control is not None:
            # Bits of what it cannot are zero by the specification; where they are not, they do nothing.
            supported, on = _named(can), _named(can & control)
            self.values.update(acs=True, acs_supported=supported, acs_on=on)
        elif at is None and self.space.unextended == "absent":
            self.values.update(acs=False, acs_supported=(), acs_on=())
        else:
            self._lacks("acs", _OF_ACS, _why(at, self.space))

    def ats(self) -> None:
        """PCI_ATS_CTRL 0x06, enabled bit 15."""
        at = self.space.extended.get(ATS)
        control = None if at is None else self.space.word(at + 6)
        if control is not None:
            self.values.update(ats=True, ats_enabled=bool(control & 0x8000))
        elif at is None and self.space.unextended == "absent":
            self.values.update(ats=False, ats_enabled=False)
        else:
            self._lacks("ats", ("ats", "ats_enabled"), _why(at, self.space))

    def resizable_bars(self) -> None:
        """Per BAR 8 bytes: PCI_REBAR_CAP 0x04, PCI_REBAR_CTRL 0x08.

        CAP: sizes that it offers, 1 MiB and doubles, bits 31:4; CTRL: number of the BAR 2:0, of BARs 7:5, size 13:8.
        """
        at = self.space.extended.get(RESIZABLE_BAR)
        first = None if at is None else self.space.long(at + 8)
        if at is None or first is None:
            known = at is None and self.space.unextended == "absent"
            self.values["resizable_bars"] = () if known else None
            self._lacks("resizable_bars", ("resizable_bars",), _why(at, self.space))
            return
        bars = [self._bar(at + 4 + 8 * number) for number in range(min(first >> 5 & 7, _MOST_BARS))]
        self.values["resizable_bars"] = None if None in bars else tuple(bars)
        self._lacks("resizable_bars", ("resizable_bars",), "unsupported")

    def _bar(self, at: int) -> ResizableBar | None:
        can, control = self.space.long(at), self.space.long(at + 4)
        if can is None or control is None or control & 7 >= _MOST_BARS:
            return None
        exponent = control >> 8 & 0x3F
        sizes = can >> 4
        return ResizableBar(
            origin=f"{self.path}/resizable_bars",
            number=control & 7,
            # 43: 8 EiB, half of what addresses there are.
            size_bytes=_MIB << exponent if exponent <= 43 else None,
            largest_bytes=_MIB << sizes.bit_length() - 1 if sizes else None,
        )


def _named(bits: int) -> tuple[str, ...]:
    return tuple(name for name, bit in _ACS_BITS.items() if bits & bit)


def _why(at: int | None, space: Space) -> GapState:
    return space.unextended if at is None else "unsupported"


def _bytes(code: int) -> int | None:
    """A size of payloads and read requests by its three bits: 128 to 4096; 6 and 7 mean nothing."""
    return 128 << (code & 7) if code & 7 < 6 else None
