"""Whether the workers of a stream share its samples or each give all of them, told by what two of them give first."""

import ctypes
import hashlib
import pickle
import time
from collections.abc import Mapping
from typing import Any

from advisor.model.workload import Workload

FIRST_SAMPLES = 8
"""Of each worker."""
LEAST_DISTINCT = 4
"""Of them; with fewer, two parts of a stream may begin alike."""
LONGEST_SECONDS = 20.0
SEED = 0
MOST_DEPTH = 8
Firsts = tuple[list[str], list[str]]


def sharing(workload: Workload, seconds: float = LONGEST_SECONDS) -> dict[str, Any]:
    """``verdict`` (``repeats``, ``splits`` or ``unknown``), and ``why``; samples are loaded for so many ``seconds``."""
    ends = time.monotonic() + seconds
    try:
        first = _firsts(workload, SEED, ends)
        verdict, why = compared(first)
        if verdict == "different":
            verdict, why = compared(first, _firsts(workload, SEED + 1, ends))
    except Exception as error:  # noqa: BLE001 - of the user's code, which trials will tell of
        verdict, why = "unknown", f"{type(error).__name__}: {error}".strip().splitlines()[-1]
        if "DataLoader timed out" in why:
            why = f"its first samples took more than {seconds:g} s"
    return {"verdict": verdict, "why": why, "name": type(workload.dataset).__name__}


def compared(first: Firsts, again: Firsts | None = None) -> tuple[str, str]:
    """The verdict on the first samples of two workers, and of two more with other random numbers (``again``).

    ``different``: these are needed, as streams of random order differ however they are read.
    """
    one, other = first
    if "" in one or "" in other:
        return "unknown", "samples of its kind cannot be compared"
    if not one and not other:
        return "unknown", "two workers gave no sample"
    if one == other:
        if len(set(one)) >= LEAST_DISTINCT:
            return "repeats", f"the first {len(one)} samples of two workers were the same"
        return "unknown", f"of its first {len(one)} samples no {LEAST_DISTINCT} differ from each other"
    if again is None:
        return "different", ""
    if again != first:
        return "unknown", "its order is random"
    if set(one) & set(other):
        return "unknown", "two workers gave some of the same samples, but not all"
    return "splits", f"the first {FIRST_SAMPLES} samples of two workers differ"


def _firsts(workload: Workload, seed: int, ends: float) -> Firsts:
    """Digests of the first samples of two workers, of both as many unless one has come to its end."""
    import torch
    from torch.utils.data import DataLoader

    loader: Any = DataLoader(
        workload.dataset,
        batch_size=1,
        collate_fn=_digest_and_worker,
        num_workers=2,
        worker_init_fn=workload.worker_init_fn,
        timeout=max(ends - time.monotonic(), 1.0),
        generator=torch.Generator().manual_seed(seed),
    )
    found: Firsts = [], []
    for worker, digest in loader:
        found[worker].append(digest)
        if min(map(len, found)) >= FIRST_SAMPLES or max(map(len, found)) >= 2 * FIRST_SAMPLES:
            break
        if time.monotonic() > ends:
            shorter = min(map(len, found))
            return found[0][:shorter], found[1][:shorter]
    return found[0][:FIRST_SAMPLES], found[1][:FIRST_SAMPLES]


def _digest_and_worker(samples: list[Any]) -> tuple[int, str]:
    """Runs in a worker."""
    from torch.utils.data import get_worker_info

    return get_worker_info().id, digest_of(samples[0])  # type: ignore[union-attr]


def digest_of(sample: Any) -> str:
    """The same for the same content; ``""``: it cannot be told."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        _feed(digest, sample, 0)
    except Exception:  # noqa: BLE001 - a sample may be anything
        return ""
    return digest.hexdigest()


def _feed(digest: Any, part: Any, depth: int) -> None:
    digest.update(type(part).__name__.encode())
    if isinstance(part, (str, int, float, complex, type(None))):
        digest.update(repr(part).encode())
    elif isinstance(part, (bytes, bytearray, memoryview)):
        digest.update(bytes(part))
    elif depth < MOST_DEPTH and isinstance(part, (Mapping, list, tuple)):
        for inner in [x for item in part.items() for x in item] if isinstance(part, Mapping) else part:
            _feed(digest, inner, depth + 1)
    elif callable(getattr(part, "data_ptr", None)):
        dense = part.detach().cpu().contiguous()
        digest.update(f"{dense.dtype} {tuple(dense.shape)}".encode())
        digest.update(ctypes.string_at(dense.data_ptr(), dense.nbytes) if dense.nbytes else b"")
    elif callable(getattr(part, "tobytes", None)) and not getattr(getattr(part, "dtype", None), "hasobject", False):
        digest.update(f"{getattr(part, 'shape', getattr(part, 'size', ''))}".encode())  # an array, or a picture
        digest.update(part.tobytes())
    else:
        digest.update(pickle.dumps(part))
