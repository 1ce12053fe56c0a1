"""What a workload says of itself, told by the process that trains."""

import multiprocessing
import platform
from typing import Any

from advisor.workloads._load import Loaded

DECLARED = (
    "batch_size",
    "num_workers",
    "prefetch_factor",
    "global_batch",
    "accumulation",
    "pin_memory",
    "persistent_workers",
)


def describe(loaded: Loaded) -> dict[str, Any]:
    """JSON values: what the workload declares, its data, its code, and the versions it runs with."""
    import torch

    accelerators = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return {
        "declared": {name: getattr(loaded.workload, name) for name in DECLARED},
        "has_step": loaded.has_step,
        "bare": loaded.bare,
        "iterable": loaded.iterable,
        "length": loaded.length,
        "fingerprint": loaded.fingerprint,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "start_method": multiprocessing.get_start_method(),
        "accelerators": accelerators,
        "accelerator_names": [torch.cuda.get_device_name(n) for n in range(accelerators)],
        "threads": torch.get_num_threads(),
    }
