"""The way of network cards to GPU memory: peer memory, DMA-BUF, neither, or not known."""

import pytest

from advisor.derived.gpudirect import derive
from advisor.probes._gpu_models import GpuDevice
from advisor.probes.gpu import Gpu
from advisor.probes.modules import Module, Modules
from advisor.probes.nvidia import Nvidia
from advisor.probes.platform import Platform


def gpu(is_open: bool | None, vendor: str = "nvidia") -> Gpu:
    return Gpu(gpus=(GpuDevice(index=0, vendor=vendor),), open_kernel_module=is_open)


def modules(peermem: bool | None = False, older: bool | None = False) -> Modules:
    return Modules(
        modules=(Module(name="nvidia_peermem", loaded=peermem), Module(name="nv_peer_mem", loaded=older)),
    )


NEW, OLD = Platform(kernel_version=(5, 15, 0)), Platform(kernel_version=(5, 4, 0))


@pytest.mark.parametrize(
    ("is_open", "loaded", "platform", "path"),
    [
        (False, modules(peermem=True), NEW, "peermem"),
        (True, modules(peermem=True), NEW, "peermem"),
        (False, modules(older=True), OLD, "peermem"),
        (True, modules(), NEW, "dmabuf"),
        (False, modules(), NEW, "none"),
        (True, modules(), OLD, "none"),
        (None, modules(), OLD, "none"),
        (None, modules(), NEW, None),
        (True, modules(), None, None),
        (False, modules(peermem=None), NEW, None),
        (True, None, NEW, "dmabuf"),
        (False, None, NEW, None),
    ],
    ids=[
        "the module of the closed driver",
        "the module beside the open driver",
        "the module of older drivers",
        "open driver and new kernel",
        "closed driver",
        "old kernel",
        "old kernel, any driver",
        "driver not known",
        "kernel not known",
        "module not known",
        "DMA-BUF, modules not known",
        "closed driver, modules not known",
    ],
)
def test_the_way(is_open: bool | None, loaded: Modules | None, platform: Platform | None, path: str | None) -> None:
    assert derive(gpu(is_open), None, loaded, platform).path == path


@pytest.mark.parametrize(
    "nvidia",
    [
        Nvidia(peermem_version="580.95.05"),
        Nvidia(legacy_peermem_version="1.3"),
        Nvidia(peer_memory_clients=("nv_mem_nc",)),
    ],
    ids=["version of nvidia_peermem", "version of nv_peer_mem", "a client"],
)
def test_what_nccl_looks_for_is_enough(nvidia: Nvidia) -> None:
    assert derive(gpu(False), nvidia, None, None).path == "peermem"


@pytest.mark.parametrize("gpus", [gpu(False, "amd"), Gpu(gpus=()), Gpu()], ids=["AMD", "no GPU", "not known"])
def test_without_nvidia_gpus_there_is_no_way_to_tell_of(gpus: Gpu) -> None:
    facts = derive(gpus, None, modules(), NEW)
    assert (facts.path, facts.peermem, facts.dmabuf_possible) == (None, None, None)
