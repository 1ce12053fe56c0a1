"""The NVSwitch fabric: there or not, its service, its version, and the GPUs that have joined it."""

import pytest

from advisor.derived.fabric import derive
from advisor.probes._gpu_models import GpuDevice
from advisor.probes.gpu import Gpu
from advisor.probes.nvidia import Nvidia
from advisor.probes.pci import Device, Pci
from advisor.probes.platform import Platform
from advisor.probes.systemd import Service, Systemd

SWITCHED = Pci(devices=tuple(Device(address=f"0000:0{n}:00.0", kind="nvswitch") for n in range(4)))
UNSWITCHED = Pci(devices=(Device(address="0000:01:00.0", kind="gpu"),))
HOST, CONTAINER = Platform(container=False), Platform(container=True)
RUNNING = Systemd(services=(Service(name="nvidia-fabricmanager.service", running=True, enabled=True),))


def gpus(*states: tuple[str | None, int | None]) -> Gpu:
    devices = (GpuDevice(index=n, fabric_state=state, fabric_status=status) for n, (state, status) in enumerate(states))
    return Gpu(gpus=tuple(devices), driver_version="580.95.05")


def test_a_fabric_that_works() -> None:
    gpu = gpus(("completed", 0), ("completed", 0))
    facts = derive(gpu, SWITCHED, Nvidia(fabric_manager_version="580.95.05"), RUNNING, HOST)
    assert (facts.nvswitches, facts.present, facts.ready, facts.unready_gpus) == (4, True, True, ())
    assert (facts.manager_running, facts.manager_enabled, facts.manager_version_matches) == (True, True, True)


def test_gpus_that_have_not_joined_are_named() -> None:
    facts = derive(gpus(("completed", 0), ("in progress", None), ("completed", 999)), SWITCHED, None, None, HOST)
    assert (facts.ready, facts.unready_gpus) == (False, (1, 2))


def test_a_manager_of_another_version_is_told() -> None:
    facts = derive(gpus(), SWITCHED, Nvidia(fabric_manager_version="580.95.03"), None, None)
    assert (facts.manager_version, facts.manager_version_matches) == ("580.95.03", False)


@pytest.mark.parametrize(
    ("platform", "running"), [(HOST, False), (CONTAINER, None), (None, None)], ids=["host", "container", "not known"]
)
def test_a_service_that_is_not_there_says_something_on_the_host_only(
    platform: Platform | None, running: bool | None
) -> None:
    assert derive(gpus(), SWITCHED, None, Systemd(services=()), platform).manager_running is running


@pytest.mark.parametrize(
    ("gpu", "pci", "virtual", "present"),
    [
        (gpus(("not supported", None)), UNSWITCHED, True, False),
        (gpus((None, None)), SWITCHED, None, True),
        (gpus(("completed", 0)), UNSWITCHED, True, True),
        (gpus((None, None)), UNSWITCHED, False, False),
        (gpus((None, None)), UNSWITCHED, True, None),
        (gpus((None, None)), None, False, None),
        (Gpu(), None, False, None),
    ],
    ids=[
        "PCIe cards",
        "A100, whose GPUs do not say",
        "a guest whose GPUs do say",
        "no switch",
        "a guest whose GPUs do not say",
        "no bus",
        "nothing",
    ],
)
def test_whether_there_is_a_fabric(gpu: Gpu, pci: Pci | None, virtual: bool | None, present: bool | None) -> None:
    facts = derive(gpu, pci, None, None, Platform(virtual=virtual))
    assert facts.present is present
    assert facts.ready is (True if gpu.gpus and gpu.gpus[0].fabric_state == "completed" else None)
