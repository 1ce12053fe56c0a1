"""Hardware RAID controllers, their virtual drives and how these cache writes.

The vendors' tools take a lock in the controller and up to a minute: each is started a few times a controller family,
only as root, and only where a controller that it knows is on the PCI bus. None is asked to change anything.
Formats: see the modules of the single tools.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from advisor.host.base import Host, Output, command_origin
from advisor.model.facts import Facts, GapState, Seen
from advisor.probes import _raid_arcconf, _raid_cciss, _raid_megacli, _raid_ssacli, _raid_storcli
from advisor.probes._collected import Collected, Tool
from advisor.probes._pci_codes import class_and_vendor
from advisor.probes._raid import Controller
from advisor.probes._sysfs import PCI_DEVICES, link_name, pci_addresses, pci_chain, quiet_names, quiet_text

SECONDS = 60.0
MOST_CARDS = 4
"""Of a family whose tool must be asked for each card."""
_PROGRAMS_LIKE_STORCLI = (
    "storcli64", "storcli", "/opt/MegaRAID/storcli/storcli64",
    "perccli64", "perccli", "/opt/MegaRAID/perccli/perccli64",
)  # fmt: skip
_PROGRAMS_LIKE_MEGACLI = ("MegaCli64", "MegaCli", "megacli", "/opt/MegaRAID/MegaCli/MegaCli64")
_ALL = ("/call", "show", "all", "J", "nolog")
_VIRTUAL_DRIVES = ("/call/vall", "show", "all", "J", "nolog")
_MEGACLI = {
    "drives": ("-LDInfo", "-Lall", "-aAll", "-NoLog"),
    "battery": ("-AdpBbuCmd", "-aAll", "-NoLog"),
    "about": ("-AdpAllInfo", "-aAll", "-NoLog"),
}
_SMART_ARRAY = ("ctrl", "all", "show", "config", "detail")
_PROGRAMS_LIKE_SSACLI = ("ssacli", "hpssacli", "hpacucli")
_PROGRAMS_LIKE_ARCCONF = ("arcconf", "/usr/Arcconf/arcconf")
CCISS_STATUS = ("cciss_vol_status", "-V")
"""Asks one device each: the oldest tool, the last that is tried."""
SCSI_GENERIC = "/sys/class/scsi_generic"
SCSI_CONTROLLER = "12"
"""Type of a SCSI device that is an array controller."""
_HBA_DRIVERS = ("mpt2sas", "mpt3sas", "mptsas", "isci", "mvsas", "pm80xx", "mpi3mr")
_NO_CONTROLLERS = ("ahci", "vmd", "vmw_pvscsi", "nvme")
"""Drivers of what shares the class of RAID controllers and is none."""


class Raid(Facts):
    """The RAID and SAS controllers."""

    read_from: ClassVar[str] = (
        "/sys/bus/pci/devices, command: storcli64, command: MegaCli64, command: ssacli, command: arcconf"
    )
    seen: ClassVar[Seen | None] = "masked"
    controllers: tuple[Controller, ...] | None = None


@dataclass(frozen=True)
class _Card:
    """A controller as the PCI bus shows it."""

    address: str
    driver: str | None
    class_code: str


@dataclass(frozen=True)
class _Family:
    """Controllers that one set of tools knows; ``ask`` gives what they told, and the command that stands for it."""

    ask: Callable[[Host, int], tuple[tuple[Controller, ...], str]]
    command: str


def read(host: Host) -> Raid:
    """The RAID and SAS controllers of ``host``."""
    names = host.names(PCI_DEVICES)
    if names is None:
        return Raid(origin=PCI_DEVICES, controllers=() if host.gaps.get(PCI_DEVICES) == "absent" else None)
    controllers: list[Controller] = []
    families: dict[str, list[_Card]] = {}
    for card in _cards(host, pci_addresses(names)):
        family = _FAMILY_OF.get(card.driver or "")
        if family is not None:
            families.setdefault(family, []).append(card)
        elif (one := _without_tool(host, card)) is not None:
            controllers.append(one)
    for family, cards in families.items():
        controllers += _told(host, _FAMILIES[family], cards)
    return Raid(origin=PCI_DEVICES, controllers=tuple(controllers))


def _cards(host: Host, addresses: Iterable[str]) -> Iterable[_Card]:
    """The PCI devices of the classes RAID (0104) and SAS (0107)."""
    for address in addresses:
        folder = f"{PCI_DEVICES}/{address}"
        class_code, _ = class_and_vendor(host, folder)
        if class_code is not None and class_code[:4] in ("0104", "0107"):
            yield _Card(address, link_name(host, f"{folder}/driver"), class_code)


def _without_tool(host: Host, card: _Card) -> Controller | None:
    """A controller that no tool is needed or known for; ``None`` for what is none."""
    folder = f"{PCI_DEVICES}/{card.address}"
    if card.driver in _NO_CONTROLLERS:
        return None
    if card.class_code[:4] == "0107" or (card.driver in _HBA_DRIVERS and card.driver != "mpi3mr"):
        found = _silent(card, folder, folder)
        return found.model_copy(update={"mode": "hba", "has_cache": False, "drives": ()})
    # The newest generation (mpi3mr) has a tool of its own, whose answers nobody has checked.
    origin = command_origin(("storcli2", "/call", "show", "all", "J")) if card.driver == "mpi3mr" else folder
    host.missed(origin, "unsupported")
    return _silent(card, origin, folder)


def _silent(card: _Card, origin: str, folder: str) -> Controller:
    """A controller whose tool told nothing; why, stands under ``origin``."""
    origins = {"address": folder, "driver": f"{folder}/driver"}
    return Controller(origin=origin, name=card.address, address=card.address, driver=card.driver, origins=origins)


def _told(host: Host, family: _Family, cards: Sequence[_Card]) -> list[Controller]:
    """What the tools tell of some cards; those they leave out are there all the same."""
    told: tuple[Controller, ...] = ()
    origin = family.command
    if host.root_user is False:
        host.missed(origin, "denied")
    else:
        told, origin = family.ask(host, len(cards))
    left = [card for card in cards if card.address not in {one.address for one in told}]
    nameless = sum(one.address is None for one in told)
    if nameless == len(left) == 1:
        told = tuple(_at(left[0], one) if one.address is None else one for one in told)
    # A tool that tells no addresses counts its cards; which is which matters to nobody when all are told of.
    silent = [_silent(card, origin, f"{PCI_DEVICES}/{card.address}") for card in left[nameless:]]
    return [*(_with_driver(one, cards) for one in told), *silent]


def _at(card: _Card, controller: Controller) -> Controller:
    origins = {**controller.origins, "address": f"{PCI_DEVICES}/{card.address}"}
    return controller.model_copy(update={"address": card.address, "origins": origins})


def _with_driver(controller: Controller, cards: Sequence[_Card]) -> Controller:
    """``controller`` with the driver of its card, as its folder says."""
    card = next((card for card in cards if card.address == controller.address), None)
    if card is None:
        return controller
    origins = {**controller.origins, "driver": f"{PCI_DEVICES}/{card.address}/driver"}
    return controller.model_copy(update={"driver": card.driver, "origins": origins})


def _run_first(host: Host, programs: Sequence[str], words: Sequence[str]) -> Output | None:
    """The output of the first program that is there; the gaps of the others are one, under the first one's name."""
    states: list[GapState] = []
    for program in programs:
        output = host.run((program, *words), SECONDS)
        origin = command_origin((program, *words))
        state = host.gaps.pop(origin, "error")
        if output is not None:
            return output
        if state != "absent":
            states.append(state)
        if state == "timed out":
            # The lock is held, or the controller does not answer: another name for the tool would wait too.
            break
    host.missed(command_origin((programs[0], *words)), states[0] if states else "absent")
    return None


def _text(host: Host, program: str, words: Sequence[str]) -> tuple[str, str]:
    """What a program that is there prints, and its origin."""
    output = host.run((program, *words), SECONDS)
    return "" if output is None else output.stdout, command_origin((program, *words))


def _nothing(host: Host, origin: str, output: Output) -> tuple[tuple[Controller, ...], str]:
    """A tool that told of no controller: the gap says why."""
    said = (output.stdout[:4096] + output.stderr[:4096]).lower()
    refused = any(word in said for word in ("permission denied", "not permitted", "root", "administrator"))
    host.missed(origin, "denied" if refused else "unsupported")
    return (), origin


def _ask_megaraid(host: Host, cards: int) -> tuple[tuple[Controller, ...], str]:
    output = _run_first(host, _PROGRAMS_LIKE_STORCLI, _ALL)
    if output is None:
        return _ask_megacli(host)
    origin, program = command_origin(output.argv), output.argv[0]
    controllers = _raid_storcli.parse_controllers(output.stdout, origin, program)
    if not controllers:
        return _nothing(host, origin, output)
    text, details = "", command_origin((program, *_VIRTUAL_DRIVES))
    if any(one.drives for one in controllers):
        text, details = _text(host, program, _VIRTUAL_DRIVES)
    return _raid_storcli.with_virtual_drives(controllers, text, details), origin


def _ask_megacli(host: Host) -> tuple[tuple[Controller, ...], str]:
    """The older tool; when it is not there either, the gap stays that of the newer one."""
    storcli = command_origin((_PROGRAMS_LIKE_STORCLI[0], *_ALL))
    if host.gaps.get(storcli) == "timed out":
        return (), storcli
    output = _run_first(host, _PROGRAMS_LIKE_MEGACLI, _MEGACLI["drives"])
    if output is None:
        host.gaps.pop(command_origin((_PROGRAMS_LIKE_MEGACLI[0], *_MEGACLI["drives"])), None)
        return (), storcli
    host.gaps.pop(storcli, None)
    texts = {name: _text(host, output.argv[0], words) for name, words in _MEGACLI.items() if name != "drives"}
    origins = {"drives": command_origin(output.argv), **{name: origin for name, (_, origin) in texts.items()}}
    controllers = _raid_megacli.parse_controllers(output.stdout, texts["battery"][0], texts["about"][0], origins)
    return (controllers, origins["drives"]) if controllers else _nothing(host, origins["drives"], output)


def _ask_smart_array(host: Host, cards: int) -> tuple[tuple[Controller, ...], str]:
    output = _run_first(host, _PROGRAMS_LIKE_SSACLI, _SMART_ARRAY)
    if output is None:
        told, origin = _ask_microchip(host, cards)
        older = () if told else _ask_cciss(host)
        if older:
            host.gaps.pop(origin, None)
        return (older, older[0].origin) if older else (told, origin)
    origin = command_origin(output.argv)
    controllers = _raid_ssacli.parse_controllers(output.stdout, origin, output.argv[0])
    return (controllers, origin) if controllers else _nothing(host, origin, output)


def _ask_microchip(host: Host, cards: int) -> tuple[tuple[Controller, ...], str]:
    """Adaptec's tool knows cards that share the driver of HPE's."""
    ssacli = command_origin(("ssacli", *_SMART_ARRAY))
    state = host.gaps.get(ssacli)
    controllers, arcconf = _ask_adaptec(host, cards)
    if controllers:
        host.gaps.pop(ssacli, None)
        return controllers, arcconf
    if host.gaps.get(arcconf) in ("absent", "not captured") and state is not None:
        host.gaps.pop(arcconf, None)
        return (), ssacli
    return (), arcconf


def _ask_cciss(host: Host) -> tuple[Controller, ...]:
    """What the oldest tool tells of each controller's device; nothing, and no gap, where it is not there."""
    found = []
    for device, path in _cciss_devices(host):
        command = (*CCISS_STATUS, device)
        output = host.run(command, SECONDS)
        if output is None:
            host.gaps.pop(command_origin(command), None)
            break
        one = _raid_cciss.parse_controller(output.stdout, command_origin(command), device)
        if one is not None:
            chain = pci_chain(host.real(path) or "")
            origins = {"address": path}
            found.append(one.model_copy(update={"address": chain[-1] if chain else None, "origins": origins}))
    return tuple(found)


def _cciss_devices(host: Host) -> Iterable[tuple[str, str]]:
    """The devices that stand for a controller, each with its folder in sysfs."""
    for name in quiet_names(host, SCSI_GENERIC) or ():
        if quiet_text(host, f"{SCSI_GENERIC}/{name}/device/type") == SCSI_CONTROLLER:
            yield f"/dev/{name}", f"{SCSI_GENERIC}/{name}"
    for name in quiet_names(host, "/sys/block") or ():
        if re.fullmatch(r"cciss!c\d{1,3}d0", name, re.ASCII):
            yield f"/dev/{name.replace('!', '/')}", f"/sys/block/{name}"


def _ask_adaptec(host: Host, cards: int) -> tuple[tuple[Controller, ...], str]:
    controllers = []
    for number in range(1, min(cards, MOST_CARDS) + 1):
        output = _run_first(host, _PROGRAMS_LIKE_ARCCONF, _adaptec(number))
        if output is None:
            break
        one = _raid_arcconf.parse_controller(output.stdout, command_origin(output.argv), number)
        if one is None:
            _nothing(host, _ADAPTEC, output)
            break
        controllers.append(one)
    return tuple(controllers), _ADAPTEC


def _adaptec(number: int) -> tuple[str, ...]:
    return ("GETCONFIG", str(number), "AL", "nologs")


_ADAPTEC = command_origin((_PROGRAMS_LIKE_ARCCONF[0], *_adaptec(1)))
_FAMILIES = {
    "megaraid": _Family(_ask_megaraid, command_origin((_PROGRAMS_LIKE_STORCLI[0], *_ALL))),
    "smart array": _Family(_ask_smart_array, command_origin(("ssacli", *_SMART_ARRAY))),
    "adaptec": _Family(_ask_adaptec, _ADAPTEC),
}
_FAMILY_OF = {
    "megaraid_sas": "megaraid",
    "hpsa": "smart array",
    "smartpqi": "smart array",
    "cciss": "smart array",
    "aacraid": "adaptec",
}
_MEGARAID_DRIVERS, _SMART_ARRAY_DRIVERS, _ADAPTEC_DRIVERS = (
    tuple(driver for driver, family in _FAMILY_OF.items() if family == wanted) for wanted in _FAMILIES
)

COLLECTED = Collected(
    folders=((SCSI_GENERIC, "*"), (f"{SCSI_GENERIC}/*/device", "type")),
    tools=(
        Tool(_MEGARAID_DRIVERS, _PROGRAMS_LIKE_STORCLI, (_ALL, _VIRTUAL_DRIVES)),
        Tool(_MEGARAID_DRIVERS, _PROGRAMS_LIKE_MEGACLI, tuple(_MEGACLI.values())),
        Tool(_SMART_ARRAY_DRIVERS, _PROGRAMS_LIKE_SSACLI, (_SMART_ARRAY,)),
        Tool(
            (*_ADAPTEC_DRIVERS, *_SMART_ARRAY_DRIVERS),
            _PROGRAMS_LIKE_ARCCONF,
            tuple(_adaptec(number) for number in range(1, MOST_CARDS + 1)),
        ),
    ),
)
