"""What a run of ours tells about a model before a peer is asked: how its loops go, and what the peer cannot hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....runtime.frame import Frame
from ....runtime.graph import Loop, TensorType, Value

_INT32 = np.iinfo(np.int32)


@dataclass
class LoopProfile:
    """One loop over all its entries."""

    loop: Loop
    iterations: int = 0
    #: Iterations of the last entry.
    trips: int = 0
    #: The iteration whose body first says "stop" where the specification ignores that; None: it never does.
    first_ignored_stop: int | None = None
    #: Back edge's result -> its type, None once that changed or where it is no tensor.
    types: dict[Value, TensorType | None] = field(default_factory=dict)
    #: What the values with a type take over all iterations.
    nbytes: dict[Value, int] = field(default_factory=dict)


@dataclass
class RunProfile:
    """All loops of one run."""

    loops: dict[str, LoopProfile] = field(default_factory=dict)
    #: Name of a value that does not fit 32 bits, and where that was first found; None: all fit.
    first_wide_value: tuple[str, str] | None = None

    def add_boundary(self, frame: Frame) -> None:
        """Take note of a boundary."""
        loop = frame.loop
        assert loop is not None
        found = self.loops.setdefault(frame.path, LoopProfile(loop))
        found.trips = frame.iteration
        carried = frame.carried
        if self.first_wide_value is None:
            for name, value in carried.items():
                if exceeds_int32(value):
                    self.first_wide_value = name, f"{frame.path}, iteration {frame.iteration}"
                    break
        if not frame.iteration:
            return
        found.iterations += 1
        for edge in loop.back_edges:
            found_type = _tensor_type(carried[edge.param.name])
            if edge.result not in found.types:
                found.types[edge.result] = found_type
            elif found.types[edge.result] != found_type:
                found.types[edge.result] = None
            value = carried[edge.param.name]
            found.nbytes[edge.result] = found.nbytes.get(edge.result, 0) + getattr(value, "nbytes", 0)
        ignored = loop.ignored_condition
        if ignored is not None and found.first_ignored_stop is None:
            yielded = ignored.constant if ignored.constant is not None else frame.values.get(ignored.name)
            if yielded is not None and not np.asarray(yielded).reshape(-1)[:1].all():
                found.first_ignored_stop = frame.iteration - 1


def _tensor_type(value: Any) -> TensorType | None:
    if not isinstance(value, np.ndarray) or value.dtype.hasobject:
        return None
    return TensorType(value.dtype, value.shape)


def exceeds_int32(value: Any) -> bool:
    """A 64-bit integer tensor with a number that 32 bits do not hold."""
    if isinstance(value, list | tuple):
        return any(exceeds_int32(item) for item in value)
    if not isinstance(value, np.ndarray) or value.dtype not in (np.int64, np.uint64) or not value.size:
        return False
    return bool(value.max() > _INT32.max or value.min() < _INT32.min)


def is_float64(value: Any) -> bool:
    """A float64 tensor."""
    return isinstance(value, np.ndarray) and value.dtype == np.float64


def unsupported_by_peer(value: Any, peer: str) -> str:
    """What a value is that a peer does not take, else empty."""
    if isinstance(value, list | tuple):
        if peer == "openvino":
            return "a sequence"
        return next((name for item in value if (name := unsupported_by_peer(item, peer))), "")
    if value is None:
        return "an empty optional"
    dtype = np.asarray(value).dtype
    if peer == "openvino" and dtype.kind in "OUST":
        return "strings"
    return str(dtype.name) if dtype.kind == "V" else ""
