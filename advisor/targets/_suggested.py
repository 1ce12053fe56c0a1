"""What the templates of suggestions see besides settings: the container's flags, and the profile of TuneD."""

import re
from typing import Any

from advisor.model.setting import Plan, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.platform import Platform
from advisor.probes.systemd import Systemd, service_named
from advisor.probes.tuned import Tuned
from advisor.targets.container import text

_PROFILE = re.compile(r"[A-Za-z0-9_.-]{1,100}", re.ASCII)
OUR_PROFILE = "advisor"


def container(plan: Plan, snapshot: Snapshot) -> dict[str, Any]:
    """The flags by key, capabilities without their prefix, and whether Kubernetes starts the containers here."""
    flags: dict[str, Value] = {setting.key: text(setting.key, setting.value) for setting in plan.of("container")}
    return {
        "flags": flags,
        "capabilities": [key.partition("/")[2] for key in flags if key.startswith("cap-add/")],
        "kubernetes": _kubernetes(snapshot),
    }


def _kubernetes(snapshot: Snapshot) -> bool:
    platform = snapshot.get(Platform)
    if platform is not None and platform.container_kind == "kubernetes":
        return True
    systemd = snapshot.get(Systemd) or Systemd()
    found = (service_named(systemd, name) for name in ("kubelet", "k3s", "rke2-agent"))
    return any(one is not None and one.path is not None for one in found)


def tuned_profile(snapshot: Snapshot) -> str:
    """What a profile of our own must include to keep the host's: its profile, or what that of ours includes already.

    Nothing where TuneD is not installed or has no profile, and for names that are none.
    """
    tuned = snapshot.get(Tuned)
    service = service_named(snapshot.get(Systemd) or Systemd(), "tuned")
    if tuned is None or tuned.profile is None or service is None or service.path is None:
        return ""
    names = [name for name in tuned.profile.split() if name != OUR_PROFILE]
    if len(names) < len(tuned.profile.split()):
        names += [path.split("/")[-2] for path in (tuned.files or ())[-2:-1]]
    fine = bool(names) and all(_PROFILE.fullmatch(name) for name in names)
    return ",".join(names) if fine else ""
