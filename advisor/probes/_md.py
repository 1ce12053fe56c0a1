"""md (software RAID) arrays: from sysfs, from /proc/mdstat where there is no sysfs, and what mdadm tells root.

Formats: https://docs.kernel.org/admin-guide/md.html, mdadm(8) ``--detail --export``; /proc/mdstat: drivers/md/md.c
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from advisor.host.base import Host, command_origin
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Private, Root, Volatile
from advisor.probes._sysfs import quiet_text
from advisor.probes._together import run_together

MDSTAT = "/proc/mdstat"
MDADM = ("mdadm", "--detail", "--export")
_FROM_MDADM = ("label", "uuid")
_MOST_MEMBERS = 1000


class Member(Facts):
    """One device or partition of an array, from its folder ``dev-NAME``."""

    name: Annotated[str, "as below /dev"]
    state: Annotated[
        str | None,
        File("state", unknown=("",)),
        "in_sync, spare, faulty, write_mostly, blocked, replacement ..., with commas between",
    ] = None
    slot: Annotated[int | None, File("slot", unknown=("none",)), "place in the array; none: a spare"] = None


class Array(Facts):
    """One md (software RAID) array, from its folder ``md`` in sysfs."""

    name: str
    level: Annotated[str | None, File("level", unknown=("",)), "raid0, raid1, raid5, linear, container ..."] = None
    raid_disks: Annotated[int | None, File("raid_disks"), "members it should have"] = None
    degraded: Annotated[int | None, File("degraded"), "members that are missing; raid0 has no such file"] = None
    array_state: Annotated[str | None, File("array_state"), Volatile(), "clean, active, readonly, inactive ..."] = None
    condition: Annotated[
        str | None, "running, stopped (was assembled, did not start) or broken (raid0, linear: lacks a member)"
    ] = None
    sync_action: Annotated[
        str | None, File("sync_action"), Volatile(), "idle, resync, recover, reshape, check, repair, frozen"
    ] = None
    sync_completed: Annotated[
        float | None, File("sync_completed"), Volatile(), "done of what sync_action does, 0 to 1"
    ] = None
    sync_bytes_per_second: Annotated[
        int | None, File("sync_speed", unknown=("none",), scale=1024), Volatile(), "speed of what sync_action does"
    ] = None
    mismatches: Annotated[
        int | None, File("mismatch_cnt"), Volatile(), "sectors that the last check found to differ"
    ] = None
    chunk_bytes: Annotated[int | None, File("chunk_size")] = None
    component_bytes: Annotated[
        int | None,
        File("component_size", unknown=("0",), scale=1024),
        "used of each member, where that is the same; raid0 and linear use all of each",
    ] = None
    metadata_version: Annotated[str | None, File("metadata_version"), "1.2, 0.90, external:imsm, none ..."] = None
    consistency_policy: Annotated[
        str | None, File("consistency_policy"), "what closes the write hole: none, resync, bitmap, journal or ppl"
    ] = None
    bitmap_location: Annotated[
        str | None, File("bitmap/location"), "of the write-intent bitmap: none, file, or sectors from the superblock"
    ] = None
    stripe_cache_entries: Annotated[
        int | None, File("stripe_cache_size"), "stripes in memory, a page of each member; raid4, 5 and 6 only"
    ] = None
    worker_threads: Annotated[
        int | None, File("group_thread_cnt"), "threads beside the array's own; raid4, 5 and 6 only"
    ] = None
    safe_mode_delay_seconds: Annotated[
        float | None, File("safe_mode_delay"), "without writes until it is marked clean"
    ] = None
    members: Annotated[tuple[str, ...] | None, "devices or partitions it is made of"] = None
    member_states: Annotated[tuple[Member, ...] | None, "the same, each with its state"] = None
    label: Annotated[str | None, Root(), Private(), "name in the superblock, often with that of its first host"] = None
    uuid: Annotated[str | None, Root(), Private(), "of the array, as mdadm prints it"] = None


def read_arrays(
    host: Host, folders: Mapping[str, str], slaves: Mapping[str, tuple[str, ...] | None]
) -> tuple[Array, ...]:
    """The arrays: ``folders`` are their folders ``md`` by name, ``slaves`` what they are made of."""
    arrays = [_array(host, folder, name, slaves.get(name)) for name, folder in folders.items()]
    asked = [array for array in arrays if array.level is not None]
    return tuple(_with_mdadm(host, arrays, [array.name for array in asked]))


def arrays_of_mdstat(host: Host) -> tuple[Array, ...] | None:
    """The arrays that /proc/mdstat lists, for a host that shows nothing of sysfs; ``None`` when it does neither."""
    text = quiet_text(host, MDSTAT)
    return None if text is None else parse_mdstat(text)


def _array(host: Host, folder: str, name: str, slaves: tuple[str, ...] | None) -> Array:
    # Where nothing can be missing (raid0, linear) the kernel has no files for it.
    listed = host.names(folder)
    states = None if listed is None else tuple(_member(host, folder, one) for one in listed if one.startswith("dev-"))
    array = read_fields(
        host,
        Array,
        folder,
        name=name,
        members=slaves,
        member_states=states,
        raid_disks=_first_number(host, f"{folder}/raid_disks"),
        sync_completed=_completed(host, f"{folder}/sync_completed"),
        sync_bytes_per_second=_speed(host, f"{folder}/sync_speed"),
        origins={
            "members": f"{folder.rpartition('/')[0]}/slaves",
            "member_states": folder,
            "condition": f"{folder}/array_state",
        },
    )
    works = condition(array.array_state)
    if array.array_state is not None and works is None:
        host.missed(f"{folder}/array_state", "unsupported")
    return array.model_copy(update={"condition": works})


def condition(state: str | None) -> str | None:
    """Whether the array works, which array_state tells beside what it does at the moment. Sample: ``write-pending``"""
    words = {"inactive": "stopped", "clear": "stopped", "broken": "broken"}
    running = ("clean", "active", "active-idle", "write-pending", "readonly", "read-auto", "suspended")
    return "running" if state in running else words.get(state or "")


def _member(host: Host, folder: str, name: str) -> Member:
    return read_fields(host, Member, f"{folder}/{name}", name=name.removeprefix("dev-").replace("!", "/"))


def _first_number(host: Host, path: str) -> int | None:
    """The number of a file that adds what it was before (``11 (10)``) while an array is reshaped."""
    text = host.text(path)
    found = re.match(r"\d{1,9}(?!\d)", text or "", re.ASCII)
    if text is not None and found is None:
        host.missed(path, "unsupported")
    return int(found[0]) if found else None


def _completed(host: Host, path: str) -> float | None:
    """The part done; ``none`` is a plain "nothing is being done"."""
    text = host.text(path)
    done = parse_completed(text or "")
    if text is not None and done is None and text != "none":
        host.missed(path, "unsupported")
    return done


def parse_completed(text: str) -> float | None:
    """The part of a resync that is done. Samples: ``1569888 / 2093056``, ``none``, ``delayed``"""
    found = re.fullmatch(r"(\d{1,20}) / (\d{1,20})", text.strip(), re.ASCII)
    return int(found[1]) / int(found[2]) if found and int(found[2]) else None


def _speed(host: Host, path: str) -> int | None:
    text = host.text(path)
    if text is None or text == "none":
        return None
    if not re.fullmatch(r"\d{1,15}", text, re.ASCII):
        host.missed(path, "unsupported")
        return None
    return int(text) * 1024


def _with_mdadm(host: Host, arrays: Sequence[Array], names: Sequence[str]) -> list[Array]:
    """The arrays with what only mdadm tells, and only root."""
    if not names:
        return list(arrays)
    if host.root_user is False:
        host.missed(command_origin(MDADM), "denied")
        return [_with(array, {}, command_origin(MDADM)) for array in arrays]
    commands = [(*MDADM, f"/dev/{name}") for name in names]
    told = {}
    for name, command, output in zip(names, commands, run_together(host, commands), strict=True):
        fields = parse_export(output.stdout) if output is not None else {}
        if output is not None and not fields:
            host.missed(command_origin(command), "unsupported")
        told[name] = fields
    return [_with(array, told.get(array.name, {}), command_origin((*MDADM, f"/dev/{array.name}"))) for array in arrays]


def _with(array: Array, told: Mapping[str, str], origin: str) -> Array:
    update: dict[str, Any] = {"label": told.get("MD_NAME"), "uuid": told.get("MD_UUID")}
    return array.model_copy(update={**update, "origins": {**array.origins, **dict.fromkeys(_FROM_MDADM, origin)}})


def parse_export(text: str) -> dict[str, str]:
    """What ``mdadm --detail --export`` prints, by name. Sample: ``MD_LEVEL=raid1``; ``MD_NAME=node:0``"""
    pairs = (line.partition("=") for line in text.split("\n"))
    return {name: value.strip() for name, equals, value in pairs if equals and re.fullmatch(r"MD_\w{1,80}", name)}


_HEAD = re.compile(r"(md\w*) : (active|inactive)(?: \((?:auto-)?read-only\))?(?: (?!\S+\[)(\S+))? ?(.*)", re.ASCII)
_DISK = re.compile(r"(\S+?)\[(\d{1,6})\]((?:\([A-Z]\))*)", re.ASCII)
_MARKS = {"(F)": "faulty", "(S)": "spare", "(W)": "write_mostly", "(R)": "replacement", "(J)": "journal"}


def parse_mdstat(text: str) -> tuple[Array, ...]:
    """The arrays in /proc/mdstat::

    md6 : active raid1 sdb2[2](F) sdc[1](S) sda2[0]
          195310144 blocks super 1.2 [2/1] [U_]
          [=>...................]  recovery =  8.5% (16775552/195310144) finish=17.0min speed=259783K/sec
    """
    found: list[Array] = []
    for paragraph in re.split(r"\n(?=md)", "\n" + text):
        head = _HEAD.match(paragraph.lstrip("\n").split("\n", 1)[0])
        if head is not None:
            found.append(_of_mdstat(head, paragraph.lstrip("\n").partition("\n")[2]))
    return tuple(sorted(found, key=lambda array: array.name))


def _of_mdstat(head: re.Match[str], below: str) -> Array:
    members = tuple(
        Member(origin=MDSTAT, name=name, state=",".join(_MARKS[m] for m in re.findall(r"\(.\)", marks) if m in _MARKS))
        for name, _, marks in _DISK.findall(head[4])[:_MOST_MEMBERS]
    )
    counts = re.search(r"\[(\d{1,6})/(\d{1,6})\]", below, re.ASCII)
    action = re.search(r"(recovery|resync|check|repair|reshape) ?=", below)
    done = re.search(r"= +(\d{1,3}\.\d)%", below)
    chunk = re.search(r" (\d{1,12})k chunks?", below, re.ASCII)
    version = re.search(r" super (\S+)", below)
    return Array(
        origin=MDSTAT,
        name=head[1],
        level=head[3],
        raid_disks=int(counts[1]) if counts else None,
        degraded=int(counts[1]) - int(counts[2]) if counts else None,
        array_state="inactive" if head[2] == "inactive" else None,
        condition="stopped" if head[2] == "inactive" else "running",
        sync_action={"recovery": "recover"}.get(action[1], action[1]) if action else "idle" if counts else None,
        sync_completed=round(float(done[1]) / 100, 3) if done else None,
        chunk_bytes=int(chunk[1]) * 1024 if chunk else None,
        metadata_version=version[1] if version else None,
        members=tuple(member.name for member in members),
        member_states=tuple(m.model_copy(update={"state": m.state or None}) for m in members),
        origins=dict.fromkeys((name for name in Array.model_fields if name not in ("origin", "origins")), MDSTAT),
    )
