"""Measured, explained configuration of GPU training nodes."""

from advisor.model.workload import Workload

__all__ = ["Workload", "__version__"]
__version__ = "0.1.0"
