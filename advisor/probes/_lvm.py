"""LVM's logical volumes and how they are laid out, which only root is told. Format: lvmreport(7)."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from advisor.host.base import Host, command_origin
from advisor.model.facts import Facts, Seen

LVS = (
    "lvs",
    "--reportformat", "json", "--units", "b", "--nosuffix",
    "-o", "lv_name,vg_name,segtype,stripes,stripe_size,lv_attr",
)  # fmt: skip
LVS_ORIGIN = command_origin(LVS)
_MOST_BYTES = 2**63


class LogicalVolume(Facts):
    """One segment of a logical volume; most volumes have one."""

    seen: ClassVar[Seen | None] = "masked"
    read_from: ClassVar[str] = "command: lvs --reportformat json"
    name: str
    group: Annotated[str, "volume group"]
    device: Annotated[str | None, "block device of the volume, while it is active"] = None
    segment_type: Annotated[str | None, "linear, striped, raid1, thin, cache ..."] = None
    stripes: Annotated[int | None, "devices or mirrors of the segment"] = None
    stripe_bytes: Annotated[int | None, "0 for what is not striped"] = None
    attributes: Annotated[str | None, "the ten characters of lv_attr; p at the ninth: a device is missing"] = None


def read_volumes(host: Host, devices: Mapping[str, str]) -> tuple[LogicalVolume, ...] | None:
    """The logical volumes; ``devices`` are the block devices of LVM by their device mapper name.

    Nothing is asked, and there are none, where device mapper has none of LVM's.
    """
    if not devices:
        return ()
    if host.root_user is False:
        host.missed(LVS_ORIGIN, "denied")
        return None
    output = host.run(LVS)
    if output is None:
        return None
    volumes = parse_volumes(output.stdout, devices)
    if volumes is None:
        host.missed(LVS_ORIGIN, "denied" if "root" in output.stderr.lower() else "unsupported")
    return volumes


def parse_volumes(text: str, devices: Mapping[str, str]) -> tuple[LogicalVolume, ...] | None:
    """The segments in a report; ``None`` when it is none.

    Sample: ``{"report": [{"lv": [{"lv_name": "data", "vg_name": "vg0", "segtype": "striped", "stripes": "4", ...}]}]}``
    """
    try:
        document = json.loads(text)
        rows = [row for report in document["report"] for row in report.get("lv", report.get("seg", ()))]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return tuple(_volume(row, devices) for row in rows if isinstance(row, dict) and row.get("lv_name"))


def _volume(row: Mapping[str, Any], devices: Mapping[str, str]) -> LogicalVolume:
    name, group = str(row["lv_name"]).strip("[]"), str(row.get("vg_name", ""))
    return LogicalVolume(
        origin=LVS_ORIGIN,
        name=name,
        group=group,
        device=devices.get(mapper_name(group, name)),
        segment_type=str(row["segtype"]) if row.get("segtype") else None,
        stripes=_number(row.get("stripes")),
        stripe_bytes=_number(row.get("stripe_size")),
        attributes=str(row["lv_attr"]) if row.get("lv_attr") else None,
    )


def mapper_name(group: str, volume: str) -> str:
    """The device mapper name of a volume, in which LVM doubles dashes: ``my--vg-data`` of ``my-vg`` and ``data``."""
    return f"{group.replace('-', '--')}-{volume.replace('-', '--')}"


def _number(value: object) -> int | None:
    found = re.fullmatch(r"(\d{1,20})B?", str(value).strip(), re.ASCII)
    return int(found[1]) if found and int(found[1]) < _MOST_BYTES else None
