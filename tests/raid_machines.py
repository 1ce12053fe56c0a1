"""Machines with a RAID controller, and what the probe tells of the only one."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from advisor.host.base import Host, command_origin
from advisor.host.captured import open_root
from advisor.probes._raid import (
    Controller,
    VirtualDrive,
)
from advisor.probes.raid import Raid
from tests.trees import ALL_ABSENT, write_capture, write_link

Command = tuple[str, ...]
STORCLI: Command = ("storcli64", "/call", "show", "all", "J", "nolog")
VALL: Command = ("storcli64", "/call/vall", "show", "all", "J", "nolog")
PERCCLI: Command = ("perccli64", *STORCLI[1:])
MEGACLI: Command = ("MegaCli64", "-LDInfo", "-Lall", "-aAll", "-NoLog")
BATTERY: Command = ("MegaCli64", "-AdpBbuCmd", "-aAll", "-NoLog")
SSACLI: Command = ("ssacli", "ctrl", "all", "show", "config", "detail")
ARCCONF: Command = ("arcconf", "GETCONFIG", "1", "AL", "nologs")
CARD = "0000:3b:00.0"


def machine(
    folder: Path,
    cards: Mapping[str, tuple[str, str]],
    outputs: Mapping[tuple[str, ...], str] | None = None,
    root: bool = True,
    absent: Sequence[tuple[str, ...]] = (),
) -> Host:
    """A machine with cards (PCI address to class and driver) on which commands printed ``outputs``."""
    files = {f"/sys/bus/pci/devices/{address}/class": code for address, (code, _) in cards.items()}
    nowhere = [*ALL_ABSENT, *(command_origin(argv) for argv in absent)]
    write_capture(folder, files or {"/sys/bus/pci/devices/": ""}, absent=nowhere, outputs=outputs)
    for address, (_, driver) in cards.items():
        if driver:
            write_link(folder / "fs", f"/sys/bus/pci/devices/{address}/driver", f"../../../../bus/pci/drivers/{driver}")
    (folder / "advisor-capture.json").write_text(json.dumps({"version": 1, "root_user": root}))
    return open_root(str(folder))


MEGARAID = {CARD: ("0x010400", "megaraid_sas")}


def only(raid: Raid) -> Controller:
    assert raid.controllers is not None
    (controller,) = raid.controllers
    return controller


def drive_of(controller: Controller) -> VirtualDrive:
    assert controller.drives is not None
    return controller.drives[0]
