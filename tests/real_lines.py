"""Values that real machines showed in files of which no capture lies beside the checkout: what the probes look at."""

from collections.abc import Mapping

_PARAMETERS = {
    "EnableStreamMemOPs": "0",
    "RmProfilingAdminOnly": "1",
    "EnablePCIERelaxedOrderingMode": "0",
    "EnableResizableBar": "0",
    "EnableGpuFirmware": "0",
    "PreserveVideoMemoryAllocations": "1",
    "GrdmaPciTopoCheckOverride": "0",
    "CoherentGPUMemoryMode": '""',
    "InitializeSystemMemoryAllocations": "1",
    "NvLinkDisable": "0",
    "ImexChannelCount": "2048",
    "EnableUserNUMAManagement": "1",
    "RegistryDwords": '""',
}
"""Of a desktop with a proprietary driver, as its owner published them."""
_INFORMATION = {
    "Model": "NVIDIA H100 80GB HBM3",
    "Video BIOS": "96.00.99.00.01",
    "Bus Location": "0000:62:00.0",
    "Device Minor": "5",
    "GPU Firmware": "535.129.03",
    "GPU Excluded": "No",
}
"""Of a node with eight H100, from notes on its driver's files; the GPU's identifier is left out."""
_ARC = {
    "hits": 8772612,
    "misses": 604635,
    "c": 1643208777,
    "c_min": 33554432,
    "c_max": 8367976448,
    "size": 1603939792,
    "memory_throttle_count": 0,
}
"""Of a host with 16 GiB, from the fixtures of prometheus/node_exporter."""
_AZURE = {
    "NCCL_IB_PCI_RELAXED_ORDERING": "1",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "NCCL_TOPO_FILE": "/opt/microsoft/ndv4-topo.xml",
    "NCCL_SOCKET_IFNAME": "eth0",
}
"""Of Microsoft's images for its NDv4 machines."""

FILES: Mapping[str, str] = {
    "/proc/driver/nvidia/params": "".join(f"{name}: {value}\n" for name, value in _PARAMETERS.items()),
    "/proc/driver/nvidia/gpus/0000:62:00.0/information": "".join(
        f"{f'{name}:':<17}{value}\n" for name, value in _INFORMATION.items()
    ),
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.84  Release Build\n",
    "/proc/spl/kstat/zfs/arcstats": "6 1 0x01 91 4368 5266997922 97951858082072\n"
    "name                            type data\n"
    + "".join(f"{name:<32}4    {value}\n" for name, value in _ARC.items()),
    "/sys/module/zfs/": "",
    "/etc/nccl.conf": "".join(f"{name}={value}\n" for name, value in _AZURE.items()),
}
"""In one tree that is no machine of its own."""

_ROWS = (f"{first:5}:  " + "".join(f"{(first + n) % 16:6}" for n in range(8)) + "\n" for first in range(0, 128, 8))
ETHTOOL: Mapping[str, str] = {
    "-l": "Channel parameters for eth0:\n"
    "Pre-set maximums:\nRX:\t\t0\nTX:\t\t0\nOther:\t\t0\nCombined:\t4\n"
    "Current hardware settings:\nRX:\t\t0\nTX:\t\t0\nOther:\t\t0\nCombined:\t1\n",
    "-x": "RX flow hash indirection table for eth0 with 63 RX ring(s):\n" + "".join(_ROWS),
}
"""What ethtool printed of a guest in a cloud (from JD Cloud's manual), and of an 82599 with 63 rings of which its table
can name 16 (from a question on the netdev list in January 2025)."""
