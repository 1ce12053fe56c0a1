"""The test double of NVIDIA's library, built from `tests/host/nvml_test_double.c`, and nodes that it plays."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("host") / "nvml_test_double.c"
NAME = "libnvidia-ml.so.1"

EIGHT_GPUS = "\n".join(
    [
        "count 8",
        *(f"{index}.bus_id 00000000:{16 * index + 15:02X}:00.0" for index in range(8)),
        *(f"{index}.uuid GPU-0000000{index}-1111-2222-3333-444444444444" for index in range(8)),
        *(f"{index}.serial 165012300456{index}" for index in range(8)),
        *(f"{index}.minor {index}" for index in range(8)),
        *(f"{index}.cpus {56 * (index // 4)} {56 * (index // 4) + 55}" for index in range(8)),
        *(f"{index}.nodes {index // 4} {index // 4}" for index in range(8)),
        "*.name NVIDIA H100 80GB HBM3",
        "*.brand 14",
        "*.architecture 9",
        "*.capability 9 0",
        "*.vbios 96.00.89.00.01",
        "*.gsp 580.95.05",
        "*.virtualization 0",
        "*.addressing 1",
        "*.memory 85520809984 1048576",
        "*.bar1 137438953472 1048576",
        "*.persistence 1",
        "*.pcie_generation 5",
        "*.pcie_width 16",
        "*.pcie_max_generation 5",
        "*.pcie_max_width 16",
        "*.pcie_gpu_max_generation 5",
        "*.pcie_replays 3",
        "*.power_limit 700000",
        "*.power_default_limit 700000",
        "*.power_enforced_limit 650000",
        "*.power_constraints 200000 700000",
        "*.power_usage 112345",
        "*.clock.1 345",
        "*.clock.2 2619",
        "*.max_clock.0 1980",
        "*.max_clock.1 1980",
        "*.max_clock.2 2619",
        "*.application_clock.0 1755",
        "*.application_clock.2 2619",
        "*.default_application_clock.0 1980",
        "*.default_application_clock.2 2619",
        "*.performance_state 0",
        "*.throttle_reasons 0x44",
        "*.violation.0 1500000000",
        "*.violation.1 0",
        "*.temperature.0 34",
        "*.threshold.0 92",
        "*.threshold.1 89",
        "*.value.82 41",
        "*.value.230 0",
        "*.utilization 7 1",
        "*.ecc 1 1",
        "*.ecc_errors.0 12",
        "*.ecc_errors.1 0",
        "*.mig 0 0",
        "*.compute_mode 0",
        "*.remapped 1 0 0 0",
        "*.retired_pending 0",
        "*.processes 4242 4243",
        "*.links 18",
        "*.nvlinks 18",
        "*.nvlink_version 7",
        "*.nvlink_remote 2",
        "*.nvlink_remote_bus_id 00000000:05:00.0",
        "*.nvlink_errors 0 1 2 3 4",
        "*.fabric 3 0 1 0x11aa 1 3",
        "*.p2p.0 0",
        "*.p2p.1 0",
        "*.p2p.2 0",
        "*.p2p.3 0",
        "*.ancestor 50",
        "confidential 0",
        "",
    ]
)
"""A node of eight GPUs with NVSwitches."""

GEFORCE = """count 1
0.name NVIDIA GeForce RTX 4090
0.brand 5
0.uuid GPU-99999999-1111-2222-3333-444444444444
0.bus_id 00000000:01:00.0
0.minor 0
0.memory 25757220864 524288000
0.persistence 0
0.pcie_generation 1
0.pcie_width 16
0.pcie_max_generation 4
0.pcie_max_width 16
0.power_limit 450000
0.power_default_limit 450000
0.power_enforced_limit 450000
0.clock.1 210
0.max_clock.1 3105
0.throttle_reasons 0x1
0.temperature.0 38
0.compute_mode 0
0.performance_state 8
"""
"""A card for games: no ECC, no MIG, no NVLink, no application clocks."""


def build(folder: Path, *options: str) -> Path:
    """``folder``, with the test double in it; skips where there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    warnings = ("-Wall", "-Wextra", "-Werror")
    command = [compiler, "-shared", "-fPIC", "-O1", *warnings, *options, f"-Wl,-soname,{NAME}"]
    subprocess.run([*command, "-o", folder / NAME, SOURCE], check=True)
    return folder
