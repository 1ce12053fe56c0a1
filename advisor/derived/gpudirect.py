"""Whether network cards can reach GPU memory by themselves (GPUDirect RDMA), on the host's side.

As NCCL chooses, src/transport/net_ib: a module of peer memory, or DMA-BUF, which needs the open flavour of the driver
and Linux 5.12. What NIC, CUDA and the distance between the two add to it, only a job's log tells.
"""

from typing import Annotated

from advisor.model.facts import Facts
from advisor.probes.gpu import Gpu
from advisor.probes.modules import Modules, module_named
from advisor.probes.nvidia import Nvidia
from advisor.probes.platform import Platform

DMABUF_KERNEL = (5, 12, 0)
"""The first whose RDMA drivers take DMA-BUF (drivers/infiniband/core/umem_dmabuf.c)."""
_MODULES = ("nvidia_peermem", "nv_peer_mem")


class Gpudirect(Facts):
    """The ways from network cards to NVIDIA GPUs' memory."""

    path: Annotated[str | None, "peermem where the module is loaded, else dmabuf where that can be; none: neither"] = (
        None
    )
    peermem: Annotated[bool | None, "a module of peer memory is loaded: nvidia_peermem or nv_peer_mem"] = None
    dmabuf_possible: Annotated[bool | None, "kernel and driver can do DMA-BUF"] = None


def derive(gpu: Gpu, nvidia: Nvidia | None, modules: Modules | None, platform: Platform | None) -> Gpudirect:
    """The ways; all unknown where there is no NVIDIA GPU."""
    if not any(one.vendor == "nvidia" for one in gpu.gpus or ()):
        return Gpudirect(origin=gpu.origin)
    peermem = _peermem(nvidia, modules)
    dmabuf = _dmabuf(gpu, platform)
    path = "peermem" if peermem else "dmabuf" if dmabuf else "none" if (peermem, dmabuf) == (False, False) else None
    return Gpudirect(
        origin=gpu.origin,
        path=path,
        peermem=peermem,
        dmabuf_possible=dmabuf,
        origins={"peermem": "/sys/module/nvidia_peermem", "dmabuf_possible": "/proc/driver/nvidia/version"},
    )


def _peermem(nvidia: Nvidia | None, modules: Modules | None) -> bool | None:
    if nvidia is not None and (nvidia.peermem_version or nvidia.legacy_peermem_version):
        return True
    # nv_mem_nc is what nv_peer_mem registers for memory that it does not cache.
    if nvidia is not None and any(name.startswith("nv_mem") for name in nvidia.peer_memory_clients or ()):
        return True
    found = [module_named(modules, name) if modules is not None else None for name in _MODULES]
    loaded = [None if module is None else module.loaded for module in found]
    return True if True in loaded else None if None in loaded else False


def _dmabuf(gpu: Gpu, platform: Platform | None) -> bool | None:
    version = platform.kernel_version if platform is not None else None
    if gpu.open_kernel_module is False or (version is not None and version < DMABUF_KERNEL):
        return False
    return None if version is None or gpu.open_kernel_module is None else True
