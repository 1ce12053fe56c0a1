"""What Ansible is to do with the files of OUT that belong on a host: where each goes, and what makes it count."""

from collections.abc import Sequence
from dataclasses import dataclass

HOST = "host/"


@dataclass(frozen=True)
class Handler:
    """What brings files of one folder into effect."""

    name: str
    folder: str
    argv: tuple[str, ...]


HANDLERS = (
    # Not systemd-sysctl.service, which would set every other file's keys anew over what was set at run time.
    Handler("Apply kernel settings", "/etc/sysctl.d/", ("sysctl", "--load=/etc/sysctl.d/90-advisor.conf")),
    Handler("Load rules of udev", "/etc/udev/rules.d/", ("udevadm", "control", "--reload")),
    Handler("Load kernel modules", "/etc/modules-load.d/", ("systemctl", "restart", "systemd-modules-load.service")),
    Handler("Load units of systemd", "/etc/systemd/system/", ("systemctl", "daemon-reload")),
)
"""No service is restarted and no module loaded anew: that may end jobs, so a person decides."""
_SCRIPTS = "/usr/local/libexec/"


@dataclass(frozen=True)
class Step:
    """One file and where it goes."""

    file: str
    """Below OUT."""
    place: str
    mode: str
    handler: str

    @property
    def folder(self) -> str:
        """The folder of the place."""
        return self.place.rpartition("/")[0]


def steps(written: Sequence[str]) -> tuple[Step, ...]:
    """A step for each file of the host among the paths below OUT."""
    return tuple(_step(path) for path in written if path.startswith(HOST))


def _step(path: str) -> Step:
    place = path.removeprefix(HOST.rstrip("/"))
    handler = next((one.name for one in HANDLERS if place.startswith(one.folder)), "")
    return Step(path, place, "0755" if place.startswith(_SCRIPTS) else "0644", handler)


def handlers(written: Sequence[str]) -> tuple[Handler, ...]:
    """The handlers that these files need."""
    needed = {step.handler for step in steps(written)}
    return tuple(one for one in HANDLERS if one.name in needed)
