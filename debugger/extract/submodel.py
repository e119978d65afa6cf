"""A part of a model as a standalone model, with its inputs and expected outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.errors import Remedy, UnsupportedError
from ...runtime.graph import Loop, Value, ValueType, walk
from ...runtime.ops.registry import is_random

#: Returns the values that a part reads and computes in a run.
CaptureValues = Callable[[list[Value], list[Value]], tuple[dict[Value, Any], dict[Value, Any]]]


#: Marks a value that the run did not compute because an earlier node failed.
NOT_COMPUTED = object()


@dataclass(frozen=True)
class SubmodelPort:
    """An input or an output of a part. ``value``: the corresponding value of the source graph."""

    name: str
    value: Value
    type: ValueType


@dataclass
class Submodel:
    """A model in the form of its source: ``model`` is an ``OnnxModel``, or the root of an IR's XML.

    ``inputs`` and ``outputs`` are in the model's order; ``input_values`` and ``output_values`` hold their values in the
    run (``NOT_COMPUTED`` after a failed node). ``weights``: the constants of an IR in the order of their offsets; None
    for other formats.
    """

    model: Any
    inputs: Sequence[SubmodelPort]
    outputs: Sequence[SubmodelPort]
    input_values: Mapping[Value, Any]
    output_values: Mapping[Value, Any]
    weights: Sequence[bytes] | None = None


def reject_random_operators(loop: Loop) -> None:
    """Reject the extraction of a loop that draws random numbers.

    Raises:
        UnsupportedError: the loop draws random numbers.
    """
    culprit = next((node for node in walk(loop.body) if is_random(node, loop.system)), None)
    if culprit is not None:
        raise UnsupportedError(
            f"loop '{loop.name}' draws random numbers ({culprit.op_type} '{culprit.name}'), and each runtime its own",
            Remedy.ONE_ITERATION,
            **culprit.error_fields,
            loop=loop.name,
        )


def same_bits(a: Any, b: Any) -> bool:
    """Whether two values are equal bit for bit: arrays, sequences (lists), empty optionals (None)."""
    if isinstance(a, list) or isinstance(b, list):
        return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(same_bits, a, b))
    if a is None or b is None:
        return a is b
    left, right = np.asarray(a), np.asarray(b)
    if (left.dtype, left.shape) != (right.dtype, right.shape):
        return False
    return bool((left == right).all()) if left.dtype.hasobject else left.tobytes() == right.tobytes()
