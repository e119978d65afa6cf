"""Utility functions of the module."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .enums import DataType, numpy_type
from .script_location import ArgumentError, caller_location


def volume(iterable: Iterable[int]) -> int:
    """The product of sizes; 1 for a scalar's shape."""
    return math.prod(iterable)


def nptype(trt_type: Any) -> Any:
    """The NumPy dtype of a TensorRT type.

    Raises:
        ArgumentError: NumPy itself has no such dtype.
    """
    dtype = numpy_type(trt_type) if isinstance(trt_type, DataType) else None
    if dtype is None or dtype.type.__module__ != "numpy":
        raise ArgumentError(f"{caller_location()}: NumPy has no type for {trt_type}")
    return dtype.type
