"""Whether the NVSwitch fabric is there and ready: without it CUDA refuses to start (error 802) on nodes that need it.

https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/ : Fabric Manager must be of the driver's version.
"""

from typing import Annotated

from advisor.model.facts import Facts
from advisor.probes.gpu import Gpu
from advisor.probes.nvidia import Nvidia
from advisor.probes.pci import Pci
from advisor.probes.platform import Platform
from advisor.probes.systemd import Systemd, service_named

MANAGER = "nvidia-fabricmanager"
_JOINED = "completed"
_UNREADY = ("not started", "in progress")


class Fabric(Facts):
    """The NVSwitches between GPUs, the service that sets them up, and the GPUs' part."""

    nvswitches: Annotated[int | None, "on the PCI bus; none in a guest whose host keeps them"] = None
    present: Annotated[bool | None, "there are NVSwitches, or GPUs that register with a fabric"] = None
    manager_running: Annotated[bool | None, "nvidia-fabricmanager has processes; a container cannot tell"] = None
    manager_enabled: Annotated[bool | None, "nvidia-fabricmanager starts with the system"] = None
    manager_version: Annotated[str | None, "of Fabric Manager"] = None
    manager_version_matches: Annotated[bool | None, "it is that of the driver"] = None
    ready: Annotated[bool | None, "every GPU that registers with a fabric has done so with success"] = None
    unready_gpus: Annotated[tuple[int, ...] | None, "indexes of GPUs that have not, or whose registration failed"] = (
        None
    )


def derive(
    gpu: Gpu, pci: Pci | None, nvidia: Nvidia | None, systemd: Systemd | None, platform: Platform | None
) -> Fabric:
    """The fabric as all of them tell of it."""
    switches = None if pci is None or pci.devices is None else sum(one.kind == "nvswitch" for one in pci.devices)
    states = {one.index: one.fabric_state for one in gpu.gpus or ()}
    unready = tuple(one.index for one in gpu.gpus or () if _is_unready(one.fabric_state, one.fabric_status))
    takes_part = [state in (_JOINED, *_UNREADY) for state in states.values()]
    # A guest may have GPUs on switches that only its host sees.
    real = platform is not None and platform.virtual is False
    told = any(state is not None for state in states.values())
    running, enabled = _manager(systemd, platform)
    version = None if nvidia is None else nvidia.fabric_manager_version
    matches = None if version is None or gpu.driver_version is None else version == gpu.driver_version
    return Fabric(
        origin=gpu.origin,
        nvswitches=switches,
        present=True if switches or any(takes_part) else False if told or (switches == 0 and real) else None,
        manager_running=running,
        manager_enabled=enabled,
        manager_version=version,
        manager_version_matches=matches,
        ready=not unready if any(takes_part) else None,
        unready_gpus=unready if told else None,
        origins={
            "nvswitches": pci.origin if pci is not None else gpu.origin,
            "manager_running": systemd.origin if systemd is not None else gpu.origin,
            "manager_enabled": systemd.origin if systemd is not None else gpu.origin,
            "manager_version": "command: nv-fabricmanager --version",
            "manager_version_matches": "command: nv-fabricmanager --version",
        },
    )


def _manager(systemd: Systemd | None, platform: Platform | None) -> tuple[bool | None, bool | None]:
    """Whether the service runs and is enabled. That a container has none says nothing of its host."""
    service = None if systemd is None else service_named(systemd, MANAGER)
    if service is not None:
        return service.running, service.enabled
    if systemd is None or systemd.services is None or platform is None or platform.container is not False:
        return None, None
    return False, False


def _is_unready(state: str | None, status: int | None) -> bool:
    return state in _UNREADY or (state == _JOINED and status not in (0, None))
