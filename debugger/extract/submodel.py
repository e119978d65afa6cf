"""A part of a model: a model of its own, what it is fed, and what it should give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.errors import Remedy, UnsupportedError
from ...runtime.graph import Loop, Value, ValueType, walk
from ...runtime.ops.registry import is_random

#: Tells what values were in a run: those that a part is fed, and those that it gives.
CaptureValues = Callable[[list[Value], list[Value]], tuple[dict[Value, Any], dict[Value, Any]]]


#: What stands for a value that a run did not come to, since a node failed before.
NOT_COMPUTED = object()


@dataclass(frozen=True)
class SubmodelPort:
    """An input or an output of a part. ``value``: it in the graph that the part was cut out of."""

    name: str
    value: Value
    type: ValueType


@dataclass
class Submodel:
    """A model in the form of its source: ``model`` is an ``OnnxModel``, or the root of an IR's XML.

    ``inputs`` and ``outputs`` stand in the model's order; ``fed`` and ``given`` are what they were in the run, by the
    graph's values (``NOT_COMPUTED`` behind a node that failed). ``weights``: the constants of an IR, in the order of
    its offsets; None: it is no IR.
    """

    model: Any
    inputs: Sequence[SubmodelPort]
    outputs: Sequence[SubmodelPort]
    input_values: Mapping[Value, Any]
    output_values: Mapping[Value, Any]
    weights: Sequence[bytes] | None = None


def refuse_random(loop: Loop) -> None:
    """Refuse all iterations of a loop that draws random numbers.

    Raises:
        UnsupportedError: it does.
    """
    drawn = next((node for node in walk(loop.body) if is_random(node, loop.system)), None)
    if drawn is not None:
        raise UnsupportedError(
            f"loop '{loop.name}' draws random numbers ({drawn.op_type} '{drawn.name}'), and each runtime its own",
            Remedy.ONE_ITERATION,
        )


def same_bits(a: Any, b: Any) -> bool:
    """Whether two values are the same to the bit: arrays, sequences (lists), empty optionals (None)."""
    if isinstance(a, list) or isinstance(b, list):
        return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(same_bits, a, b))
    if a is None or b is None:
        return a is b
    one, other = np.asarray(a), np.asarray(b)
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    return bool((one == other).all()) if one.dtype.hasobject else one.tobytes() == other.tobytes()
