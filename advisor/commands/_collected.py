"""What a collector reads: what each probe declares, and what makes a capture safe to share."""

from advisor.discover import units
from advisor.host.collector import collector_script
from advisor.host.view import NETWORK
from advisor.model.facts import marks
from advisor.probes import _filesystems, ethtool, modules, nvme, raid, zfs
from advisor.probes._collected import Collected, Tool
from advisor.probes._lvm import LVS
from advisor.probes._md import MDADM
from advisor.probes._services import SERVICES
from advisor.probes.cgroup import FILES as CGROUP_FILES
from advisor.probes.pressure import GROUP_FILES

CGROUP_KINDS = ("cgroup", "cgroup2", "cpuset")
FOR_REDACTION = Collected(
    folders=(("/sys/class", ""),),
    files=(
        *("/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/etc/hostname", "/etc/resolv.conf"),
        "/etc/passwd",
    ),
)
"""Files that hold the names which are to be taken out."""


def declared() -> tuple[Collected, ...]:
    """What all probes declare, and the files that redaction needs."""
    found = (getattr(module, "COLLECTED", None) for module in units("probes").values())
    return (*(one for one in found if one is not None), FOR_REDACTION)


def folders() -> dict[str, tuple[str, ...]]:
    """The folders that are listed, and the names of files in them that are kept."""
    names: dict[str, dict[str, None]] = {}
    for one in declared():
        for folder, model in one.models:
            for mark in marks(model).values():
                if mark.file is not None:
                    below, _, name = mark.file.name.rpartition("/")
                    names.setdefault(f"{folder}/{below}".rstrip("/"), {})[name] = None
        for folder, text in one.folders:
            names.setdefault(folder, {}).update(dict.fromkeys(text.split()))
    return {folder: tuple(found) for folder, found in names.items()}


def rules() -> tuple[str, ...]:
    """The patterns as the collector's script takes them: kind, path, names, with tabs between."""
    all_of = declared()
    lines = (
        *(f"F\t{path}" for one in all_of for path in one.files),
        *(f"B\t{path}" for one in all_of for path in one.large_files),
        *(f"E\t{path}" for one in all_of for path in one.there),
        *(f"D\t{folder}\t{' '.join(names)}" for folder, names in folders().items()),
        *(f"P\t{folder}" for one in all_of for folder in one.config_spaces),
        *(f"C\t{' '.join(argv)}" for one in all_of for argv in one.commands),
        *(f"M\t{path}" for one in all_of for path in one.modes),
        *("\t".join(("T", *_words(tool))) for one in all_of for tool in one.tools),
    )
    return tuple(dict.fromkeys(lines))


def _words(tool: Tool) -> tuple[str, ...]:
    """Drivers, programs and each command of a tool."""
    return tuple(" ".join(words) for words in (tool.drivers, tool.programs, *tool.commands))


def script() -> str:
    """The collector's script."""
    network = sorted({*_filesystems.NETWORK, *NETWORK, "fuse"})
    kernel = sorted(kind for kind in _filesystems.KERNEL if kind not in CGROUP_KINDS and not kind.startswith("fuse."))
    values = {
        "NETWORK": "|".join([*network, "fuse.*"]),
        "KERNEL": "|".join(kernel),
        "CGROUP_FILES": " ".join((*CGROUP_FILES, *GROUP_FILES)),
        "SERVICES": " ".join(SERVICES),
        "MODULES": " ".join(modules.OF_INTEREST),
        "ETHTOOL": " ".join(ethtool.OPTIONS),
        "NVME": " ".join(nvme.QUESTIONS),
        "MDADM": " ".join(MDADM),
        "LVS": " ".join(LVS),
        "CCISS": " ".join(raid.CCISS_STATUS),
        "SCSI_CONTROLLER": raid.SCSI_CONTROLLER,
        "ZFS": " ".join(zfs.GET),
        "ZFS_DIRECT": " ".join(zfs.GET_DIRECT),
    }
    return collector_script(rules(), values)
