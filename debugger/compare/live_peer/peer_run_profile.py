"""Profile of our run for a peer comparison: trip counts, types and values that the peer cannot represent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....runtime.frame import Frame
from ....runtime.graph import Loop, TensorType, Value

_INT32 = np.iinfo(np.int32)
#: Larger integers are not exact in float32.
_MAX_FLOAT32_INTEGER = 1 << 24


@dataclass
class LoopProfile:
    """The profile of one loop over all its entries."""

    loop: Loop
    iterations: int = 0
    #: Iterations of the last entry.
    trips: int = 0
    #: The first iteration with a false condition that the specification ignores; None if there is none.
    first_ignored_stop: int | None = None
    #: Back edge's result -> its type; None if it changed or is not a tensor.
    types: dict[Value, TensorType | None] = field(default_factory=dict)
    #: Back edge's result -> the type of its last initial value; None if it is not a tensor.
    initial_types: dict[Value, TensorType | None] = field(default_factory=dict)
    #: Total bytes of the typed values over all iterations.
    nbytes: dict[Value, int] = field(default_factory=dict)


@dataclass
class RunProfile:
    """The profile of all loops of one run."""

    loops: dict[str, LoopProfile] = field(default_factory=dict)
    #: The name and the location of the first value that does not fit 32 bits; None if all fit.
    first_wide_value: tuple[str, str] | None = None
    #: The same of integers that float32 rounds.
    first_rounded_value: tuple[str, str] | None = None

    def record_integer_magnitudes(self, values: Mapping[str, Any], location: str) -> None:
        """Record how large integers are."""
        for name, value in values.items():
            if self.first_wide_value is None and exceeds_int32(value):
                self.first_wide_value = name, location
            if self.first_rounded_value is None and _largest_integer_magnitude(value) > _MAX_FLOAT32_INTEGER:
                self.first_rounded_value = name, location

    def add_boundary(self, frame: Frame) -> None:
        """Record a boundary."""
        loop = frame.loop
        assert loop is not None
        profile = self.loops.setdefault(frame.path, LoopProfile(loop))
        profile.trips = frame.iteration
        carried = frame.carried
        self.record_integer_magnitudes(carried, f"{frame.path}, iteration {frame.iteration}")
        if not frame.iteration:
            for edge in loop.back_edges:
                profile.initial_types[edge.result] = _tensor_type(carried[edge.param.name])
            return
        profile.iterations += 1
        for edge in loop.back_edges:
            value_type = _tensor_type(carried[edge.param.name])
            if edge.result not in profile.types:
                profile.types[edge.result] = value_type
            elif profile.types[edge.result] != value_type:
                profile.types[edge.result] = None
            value = carried[edge.param.name]
            profile.nbytes[edge.result] = profile.nbytes.get(edge.result, 0) + getattr(value, "nbytes", 0)
        condition = loop.ignored_condition
        if condition is not None and profile.first_ignored_stop is None:
            data = condition.constant if condition.constant is not None else frame.values.get(condition.name)
            if data is not None and not np.asarray(data).reshape(-1)[:1].all():
                profile.first_ignored_stop = frame.iteration - 1


def _tensor_type(value: Any) -> TensorType | None:
    if not isinstance(value, np.ndarray) or value.dtype.hasobject:
        return None
    return TensorType(value.dtype, value.shape)


def exceeds_int32(value: Any) -> bool:
    """Whether a 64-bit integer tensor has a number that does not fit 32 bits."""
    if isinstance(value, list | tuple):
        return any(exceeds_int32(item) for item in value)
    if not isinstance(value, np.ndarray) or value.dtype not in (np.int64, np.uint64) or not value.size:
        return False
    return bool(value.max() > _INT32.max or value.min() < _INT32.min)


def _largest_integer_magnitude(value: Any) -> int:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or not value.size:
        return 0
    return max(abs(int(value.min())), abs(int(value.max())))


def is_float64(value: Any) -> bool:
    """Whether a value is a float64 tensor."""
    return isinstance(value, np.ndarray) and value.dtype == np.float64


def unsupported_value_kind(value: Any, peer: str) -> str:
    """The kind of a value that a peer does not support; empty if it does."""
    if isinstance(value, list | tuple):
        if peer == "openvino":
            return "a sequence"
        return next((name for item in value if (name := unsupported_value_kind(item, peer))), "")
    if value is None:
        return "an empty optional"
    dtype = np.asarray(value).dtype
    if peer == "openvino" and dtype.kind in "OUST":
        return "strings"
    return str(dtype.name) if dtype.kind == "V" else ""
