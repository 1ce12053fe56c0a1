"""The memory that a step would take on an accelerator, where there is none: an estimate, without computing anything.

The factory is called once more, and its step run on tensors that have shapes but no data, under PyTorch's own accounts
(torch.distributed._tools.mem_tracker). Neither is a public interface, and not every step can be run so: whatever is
raised here means that the memory cannot be told.
"""

import contextlib
import gc
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from advisor.errors import WorkloadError
from advisor.model.workload import Workload
from advisor.workloads._load import load
from advisor.workloads._loader import is_iterable
from advisor.workloads._tensors import bytes_of

MOST_SAMPLES = 8
"""Samples that are loaded; the largest of them stands for all, as a batch may be full of such."""
MOST_BATCH_BYTES = 256 * 1024 * 1024
"""Batches are real, for their shapes: no larger one is made."""
MOST_SIZES = 4
ITERATIONS = 2
"""Under account; what lasts and is no parameter, as averaged weights, is seen when the first one touches it."""
NO_AUTOCAST = re.compile(r"Disabling autocast|device_type of 'cuda', but CUDA is not available")
"""PyTorch's warnings that it computes in full precision instead."""
NEEDS_VALUES = ("DataDependentOutputException", "DynamicOutputShapeException")
Tell = Callable[[Mapping[str, Any]], None]


def estimated(workload: Workload, request: Mapping[str, Any], tell: Tell = lambda event: None) -> dict[str, Any]:
    """``peaks``: bytes at the peak of a step by micro-batch, for some of the ``sizes`` of the request."""
    if workload.step is None:
        raise WorkloadError("the workload has no step")
    tools = _Tools()
    tell({"progress": "loading samples for their shapes"})
    sample = _largest_sample(workload.dataset)
    tell({"progress": "loading the workload without its data"})
    with tools.watched():
        traced = _loaded_anew(request["workload"], request["data"])
    per_step = (request["config"]["batch_size"] or 1) * request["config"]["accumulation"]
    peaks = {}
    for size in _chosen(request["sizes"], bytes_of(_collated(workload, [sample]))):
        tell({"progress": f"estimating a micro-batch of {size}"})
        batch = tools.without_data(_collated(workload, [sample] * size))
        try:
            peaks[str(size)] = tools.peak(traced, batch, accumulates=per_step // size > 1)
        except WorkloadError:
            raise
        except Exception as error:  # of the user's code, or of PyTorch about it
            raise WorkloadError(f"its step cannot be run without data: {_told(error)}{_place(error)}") from error
        del batch
    return {"peaks": peaks}


def _told(error: Exception) -> str:
    name = type(error).__name__
    if name in NEEDS_VALUES:
        return "it needs the value of a tensor"
    return f"{name}: {error}".strip().partition("\n")[0]


def _place(error: BaseException) -> str:
    """`` (FILE:LINE)`` of the innermost frame that is neither advisor's nor a library's."""
    files = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    others = (os.path.dirname(os.path.dirname(__file__)), "<")
    own = [f for f in files if not f[0].startswith(others) and "/site-packages/" not in f[0] and "/python3" not in f[0]]
    return f" ({own[-1][0]}:{own[-1][1]})" if own else ""


def _chosen(sizes: Sequence[int], sample_bytes: int) -> list[int]:
    """The least of ``sizes``, the largest whose batch may be made here, and some between them."""
    able = [size for size in sorted(sizes) if size * sample_bytes <= MOST_BATCH_BYTES] or [min(sizes)]
    last = len(able) - 1
    return sorted({able[last * n // (MOST_SIZES - 1)] for n in range(MOST_SIZES)})


def _largest_sample(dataset: Any) -> Any:
    if is_iterable(dataset):
        samples = list(islice(iter(dataset), MOST_SAMPLES))
    else:
        total = len(dataset)
        indices = sorted({total * n // MOST_SAMPLES for n in range(MOST_SAMPLES)})
        fetch = getattr(dataset, "__getitems__", None)
        samples = list(fetch(indices)) if callable(fetch) else [dataset[index] for index in indices]
    if not samples:
        raise WorkloadError("the data set came to its end before it gave one sample")
    return max(samples, key=bytes_of)


def _collated(workload: Workload, samples: list[Any]) -> Any:
    from torch.utils.data import default_collate

    return (workload.collate_fn or default_collate)(samples)


def _loaded_anew(name: str, data: str | None) -> Workload:
    place, _, _ = name.rpartition(":")
    if place and not place.endswith(".py"):
        sys.modules.pop(place, None)  # else a model that the module holds would be the real one
    return load(name, data).workload


class _Tools:
    """What of PyTorch is needed. Raises WorkloadError where this one lacks it."""

    def __init__(self) -> None:
        import torch

        try:
            from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
            from torch.distributed._tools.mem_tracker import MemTracker
            from torch.utils._pytree import tree_map_only
        except (ImportError, AttributeError, RuntimeError) as error:
            raise WorkloadError(f"PyTorch {torch.__version__} cannot account for memory ({error})") from error
        read = torch.ops.aten._local_scalar_dense.default

        class Shapes(FakeTensorMode):  # type: ignore[no-untyped-call]
            """Tensors without data, of which a float may be read all the same, as for a mean of losses: it is 0.

            A GradScaler asks so whether it found an infinity. Whole numbers and booleans stay unreadable, as sizes and
            decisions depend on them.
            """

            def __deepcopy__(self, memo: Any) -> Any:  # modules that copy their layers
                return self

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                if func is read and args[0].is_floating_point() and getattr(args[0], "constant", None) is None:
                    return 0.0
                return super().__torch_dispatch__(func, types, args, kwargs)

        self.shapes: Any = Shapes(allow_non_fake_inputs=True)
        # It remembers every tensor that it makes, for which Module.to() refuses to exchange parameters.
        converter: Any = self.shapes.fake_tensor_converter
        converter.set_tensor_memo = lambda tensor, made: None
        self._tracker: Any = MemTracker()
        self._kind: Any = FakeTensor
        self._map: Any = tree_map_only
        self._is_prepared = False

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Without data; an error if what runs inside would be computed in another precision than on an accelerator."""
        with self.shapes, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
        if any(NO_AUTOCAST.search(str(one.message)) for one in warned):
            raise WorkloadError("autocast for an accelerator is turned off here, so its tensors would count too large")

    def without_data(self, batch: Any) -> Any:
        """``batch`` with the shapes of its tensors alone."""
        import torch

        return self._map(torch.Tensor, self.shapes.from_tensor, batch)

    def peak(self, workload: Workload, batch: Any, accumulates: bool) -> int:
        """Bytes at the peak of an optimizer step: its parameters, gradients, state, activations and the batch."""
        tracker = self._tracker
        # Gradients of one micro-batch are there while the next one's activations are made.
        micro_batches = 2 if accumulates and workload.optimizer_step is not None else 1
        if not self._is_prepared:
            self._prepare(workload, batch)
        found: list[Any] = []
        self._map(self._kind, found.append, batch)
        tracker.track_external(*found)
        del found
        for _ in range(ITERATIONS):
            with self.shapes, tracker:
                _train(workload, batch, micro_batches, tracker.reset_mod_stats)
        return sum(int(of_device["Total"]) for of_device in tracker.get_tracker_snapshot("peak").values())

    def _prepare(self, workload: Workload, batch: Any) -> None:
        """Lets the job make all that lasts: a model that is made in the first step, what its optimizer keeps."""
        with self.watched():
            _train(workload, batch, 1, lambda: None)
        things = [thing for thing in gc.get_objects() if issubclass(type(thing), _lasting_kinds())]
        held = [tensor for thing in things for tensor in _tensors_held(thing) if self._is_ours(tensor)]
        self._tracker.track_external(*held)
        for thing in things:
            self._update_as_on_a_gpu(thing)
        self._is_prepared = True

    def _update_as_on_a_gpu(self, thing: Any) -> None:
        """Optimizers that leave the choice to PyTorch update all parameters at once there, which takes more memory."""
        for group in vars(thing).get("param_groups", ()) if hasattr(thing, "param_groups") else ():
            ours = any(self._is_ours(parameter) for parameter in group["params"])
            if ours and "foreach" in group and group["foreach"] is None and not group.get("fused"):
                group["foreach"] = True

    def _is_ours(self, thing: Any) -> bool:
        return isinstance(thing, self._kind) and thing.fake_mode is self.shapes


def _train(workload: Workload, batch: Any, micro_batches: int, before: Callable[[], None]) -> None:
    assert workload.step is not None
    for _ in range(micro_batches):
        before()
        workload.step(batch)
    if workload.optimizer_step is not None:
        workload.optimizer_step()


def _lasting_kinds() -> tuple[type, ...]:
    import torch

    return torch.nn.Module, torch.optim.Optimizer, torch.Tensor


def _tensors_held(thing: Any) -> Iterator[Any]:
    """Of a module its parameters and buffers, of an optimizer its state, and loose parameters; with their gradients.

    Other tensors may be the data set's, which are no part of the step.
    """
    import torch

    if isinstance(thing, torch.nn.Module):
        found = [*vars(thing).get("_parameters", {}).values(), *vars(thing).get("_buffers", {}).values()]
    elif isinstance(thing, torch.optim.Optimizer):
        found = [value for state in thing.state.values() for value in state.values()]
    else:
        found = [thing] if thing.requires_grad and thing.is_leaf else []
    for tensor in found:
        yield tensor
        if isinstance(tensor, torch.Tensor) and tensor.is_leaf and tensor.grad is not None:
            yield tensor.grad
