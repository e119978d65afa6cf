"""Checks of single nodes: what is wrong with one execution, from its operands and results alone.

Each check is a function of a :class:`.iteration_run.NodeRun` that returns an :class:`Evidence`, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from ...runtime.errors import LoopdbgError
from ...runtime.graph import Array, Loop, Node
from ...runtime.ops.eager import EagerPrimitives
from ...runtime.ops.registry import ResolvedOperator, resolve
from ..value_text import scalar_text, value_text
from .graph_facts import GraphFacts
from .integer_overflow import find_overflow
from .iteration_run import NodeRun

#: The largest number of float16, and the largest one that it rounds to 0.
FLOAT16_MAX, FLOAT16_ZERO = 65504.0, 2.0**-25
_VALUE_WIDTH = 40
_COMPARISONS = frozenset(
    {"Less", "LessOrEqual", "LessEqual", "Greater", "GreaterOrEqual", "GreaterEqual", "Equal", "NotEqual"}
)
#: Ends of slices from here on mean "to the end".
_TO_THE_END = 2**31 - 1


class DiagnosticKind(StrEnum):
    """What is wrong."""

    OVERFLOW = "integer overflow"
    FLOAT16_RANGE = "beyond float16"
    EPSILON = "vanishing epsilon"
    INDEX = "index outside"
    NAN_COMPARISON = "NaN compared"
    FIXED_POINT = "fixed point"
    TOLERANCE = "unreachable tolerance"
    UNWRITTEN_ROW = "unwritten row"


@dataclass(frozen=True)
class Evidence:
    """What a check saw in one execution. ``values``: the numbers that it rests on, as text by role."""

    text: str
    values: Mapping[str, str]


NodeCheck = Callable[[NodeRun, Loop | None, GraphFacts], Evidence | None]


def _is_numeric(x: Any, kinds: str) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in kinds and x.size > 0


def _named_values(run: NodeRun, facts: GraphFacts) -> dict[str, str]:
    """The operands and the result of a node, by name."""
    pairs = [*zip(run.node.inputs, run.inputs, strict=False), *zip(run.node.outputs, run.outputs, strict=False)]
    return {
        facts.formatter.operand(value, bare=True): value_text(data, _VALUE_WIDTH)
        for value, data in pairs
        if value is not None and data is not None
    }


# -- integers


def check_overflow(run: NodeRun, loop: Loop | None, facts: GraphFacts) -> Evidence | None:
    """An integer result that its type cannot hold. Where bit operators read or make the numbers, it is a hash."""
    overflow = find_overflow(run.node, run.inputs, run.outputs)
    if overflow is None or _is_near_bit_operator(run.node, facts):
        return None
    type_name = run.outputs[0].dtype.name
    values = {f"operand {k}": str(number) for k, number in enumerate(overflow.operands, 1)}
    return Evidence(
        f"the result is {overflow.exact}, which {type_name} cannot hold: it becomes {overflow.stored}",
        {**values, "exact": str(overflow.exact), "stored": str(overflow.stored)},
    )


def _is_near_bit_operator(node: Node, facts: GraphFacts) -> bool:
    neighbours = [facts.origins.get(value) for value in node.inputs if value is not None]
    neighbours += [reader for value in node.outputs for reader in facts.readers(value)]
    return any(other is not None and other.op_type.startswith("Bit") for other in neighbours)


# -- float16


def check_float16_overflow(run: NodeRun, loop: Loop | None, facts: GraphFacts) -> Evidence | None:
    """A float16 result that is infinite, while the same node in float32 gives a finite number."""
    for position, result in enumerate(run.outputs):
        if not _is_numeric(result, "f") or result.dtype != np.float16 or not np.isinf(result).any():
            continue
        exact = _result_in_float32(run, position, facts)
        if exact is None or exact.shape != result.shape:
            continue
        positions = np.flatnonzero(np.isinf(result) & np.isfinite(exact))
        if positions.size:
            number = scalar_text(exact.flat[positions[0]])
            text = f"the result is {number}, beyond the largest number of float16, {FLOAT16_MAX:g}: it becomes inf"
            return Evidence(text, {"exact": number, "stored": scalar_text(result.flat[positions[0]])})
    return None


def _result_in_float32(run: NodeRun, position: int, facts: GraphFacts) -> Array | None:
    """The result of a node whose float16 operands are float32; None where that cannot be computed."""
    if run.node.op_type in ("Cast", "Convert"):
        return np.asarray(run.inputs[0]).astype(np.float32)
    operator: ResolvedOperator | None = getattr(run.node, "op", None)
    try:
        operator = operator or resolve(run.node, facts.system)
        if operator.random:
            return None
        inputs = [
            x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype == np.float16 else x for x in run.inputs
        ]
        with np.errstate(all="ignore"):
            return np.asarray(operator.apply(EagerPrimitives(), inputs)[position])
    except (LoopdbgError, ValueError, TypeError, IndexError, ArithmeticError):
        return None


def check_float16_range(run: NodeRun, loop: Loop | None, facts: GraphFacts) -> Evidence | None:
    """A finite number of a wider type that float16 does not have."""
    for result in run.outputs:
        if exceeds_float16_range(result):
            finite = result[np.isfinite(result)]
            number = scalar_text(finite[np.abs(finite).argmax()])
            return Evidence(f"{number} is beyond the largest number of float16, {FLOAT16_MAX:g}", {"largest": number})
    return None


def exceeds_float16_range(x: Any) -> bool:
    """Whether a tensor of a type wider than float16 has a finite number beyond the range of float16."""
    if not _is_numeric(x, "f") or x.dtype.itemsize <= 2:
        return False
    with np.errstate(invalid="ignore"):
        magnitudes = np.abs(x)
        return bool(((magnitudes > FLOAT16_MAX) & np.isfinite(x)).any())


def check_lost_epsilon(run: NodeRun, loop: Loop | None, facts: GraphFacts) -> Evidence | None:
    """A float16 constant 0 that is added, or bounds from below, what a division, a root or a logarithm reads."""
    position = _guard_constant_position(run, facts)
    if position is None:
        return None
    guard = run.inputs[position]
    if guard.dtype != np.float16 or guard.any() or not _needs_epsilon_guard(run.node, facts):
        return None
    name = facts.formatter.operand(run.node.inputs[position], bare=True)
    text = f"{name} is 0 in float16: an epsilon that guards the next node is lost"
    return Evidence(text, {"epsilon": "0"})


def check_small_epsilon(run: NodeRun, loop: Loop | None, facts: GraphFacts) -> Evidence | None:
    """An epsilon of a wider type that float16 rounds to 0."""
    position = _guard_constant_position(run, facts)
    if position is None:
        return None
    guard = run.inputs[position]
    number = float(guard.reshape(-1)[0])
    if guard.dtype.itemsize <= 2 or not 0 < number <= FLOAT16_ZERO or not _needs_epsilon_guard(run.node, facts):
        return None
    text = f"the epsilon {scalar_text(guard.reshape(-1)[0])} is 0 in float16"
    return Evidence(text, {"epsilon": scalar_text(guard.reshape(-1)[0])})


def _guard_constant_position(run: NodeRun, facts: GraphFacts) -> int | None:
    """The position of a one-element float constant that a node adds, or that bounds its result from below."""
    positions = {"Add": (0, 1), "Max": (0, 1), "Maximum": (0, 1), "Clip": (1,)}.get(run.node.op_type, ())
    for position in positions:
        if position < len(run.inputs) and facts.is_constant(run.node.inputs[position]):
            data = run.inputs[position]
            if _is_numeric(data, "f") and data.size == 1:
                return position
    return None


def _needs_epsilon_guard(node: Node, facts: GraphFacts) -> bool:
    """Whether the next node divides by the result, or takes its root or logarithm. A root of what has 0 as its lower
    bound needs no epsilon."""
    adds = node.op_type == "Add"
    return any(
        reader.op_type in ("Log", "Reciprocal")
        or (reader.op_type in ("Div", "Divide") and reader.inputs[1] is node.outputs[0])
        or (adds and reader.op_type == "Sqrt")
        for reader in facts.readers(node.outputs[0])
    )


# -- indices


def check_index_range(run: NodeRun, loop: Loop | None, facts: GraphFacts) -> Evidence | None:
    """An index that is outside of the axis that it selects from."""
    for index, size, role in _indices(run, loop, facts):
        if role == "slice":
            outside = (index > size) | (index < -size)
        else:
            outside = (index >= size) | (index < -size)
        positions = np.flatnonzero(outside)
        if positions.size:
            number = int(index.reshape(-1)[positions[0]])
            effect = "it is clamped" if role == "slice" else "it is outside"
            text = f"index {number} of an axis of {size}: {effect}"
            return Evidence(text, {"index": str(number), "size": str(size)})
    return None


def _indices(run: NodeRun, loop: Loop | None, facts: GraphFacts) -> Sequence[tuple[Array, int, str]]:
    """The indices of a node, each with the size of its axis and what it is."""
    node, inputs = run.node, run.inputs
    data = inputs[0] if inputs else None
    if not isinstance(data, np.ndarray):
        return ()
    kind = node.op_type.removesuffix("Update").removesuffix("Elements")
    if node.op_type in ("Slice", "StridedSlice"):
        return _slice_indices(run, data, loop, facts)
    if (
        kind not in ("Gather", "GatherND", "Scatter", "ScatterND")
        or len(inputs) < 2
        or not _is_numeric(inputs[1], "iu")
    ):
        return ()
    indices = inputs[1]
    if kind in ("Gather", "Scatter"):
        axis = indexed_axis(run)
        return [(indices, data.shape[axis], "index")] if -data.ndim <= axis < data.ndim else ()
    batch = int(str(node.attributes.get("batch_dims", node.attributes.get("batched", 0))))
    count = indices.shape[-1] if indices.ndim else 0
    return [
        (indices[..., k], data.shape[batch + k], "index")
        for k in range(count)
        if batch + k < data.ndim and indices.size
    ]


def indexed_axis(run: NodeRun) -> int:
    """The axis of a Gather or a Scatter: an attribute in ONNX, the last input in OpenVINO."""
    if "axis" in run.node.attributes:
        return int(str(run.node.attributes["axis"]))
    position = {"Gather": 2, "ScatterUpdate": 3, "ScatterElementsUpdate": 3}.get(run.node.op_type, len(run.inputs))
    data = run.inputs[position] if position < len(run.inputs) else None
    return int(np.asarray(data).reshape(-1)[0]) if data is not None and np.size(data) == 1 else 0


def _slice_indices(run: NodeRun, data: Array, loop: Loop | None, facts: GraphFacts) -> Sequence[tuple[Array, int, str]]:
    """The starts and ends of a slice that vary in a loop; constant ones beyond an axis mean "to the end"."""
    node, inputs = run.node, run.inputs
    if node.is_custom_operator or len(inputs) < 3 or not all(_is_numeric(x, "iu") for x in inputs[1:3]):
        return ()
    strided = node.op_type == "StridedSlice"
    if strided and any(str(node.attributes.get(name, "")).strip("0, ") for name in ("ellipsis_mask", "new_axis_mask")):
        return ()
    axes: Sequence[int] = range(inputs[1].size)
    # OpenVINO's Slice has the step before the axes.
    axes_position = 4 if node.domain.startswith("opset") else 3
    if not strided and len(inputs) > axes_position and inputs[axes_position] is not None:
        axes = [int(axis) for axis in inputs[axes_position].reshape(-1)]
    indices: list[tuple[Array, int, str]] = []
    for position, mask_name in ((1, "begin_mask"), (2, "end_mask")):
        if not facts.varies_between_iterations(loop, node.inputs[position]):
            continue
        mask = str(node.attributes.get(mask_name, "")).split(",") if strided else []
        for k, (number, axis) in enumerate(zip(inputs[position].reshape(-1), axes, strict=False)):
            is_used = not strided or k >= len(mask) or mask[k].strip() != "0"
            if is_used and -data.ndim <= axis < data.ndim and abs(int(number)) < _TO_THE_END:
                indices.append((np.asarray(number, np.int64), data.shape[axis], "slice"))
    return indices


# -- NaN


def check_nan_comparison(run: NodeRun, loop: Loop | None, facts: GraphFacts) -> Evidence | None:
    """A comparison with NaN whose result decides something; ``x != x`` is a test for NaN."""
    if run.node.op_type not in _COMPARISONS or len(run.inputs) < 2 or run.node.inputs[0] is run.node.inputs[1]:
        return None
    for value, data in zip(run.node.inputs, run.inputs, strict=False):
        if _is_numeric(data, "f") and np.isnan(data).any():
            use = facts.deciding_use(run.node.outputs[0])
            if not use:
                return None
            result = "true" if run.node.op_type == "NotEqual" else "false"
            name = facts.formatter.operand(value, bare=True)
            text = f"{name} is NaN, and any comparison with NaN is {result}: {use} decides by that"
            return Evidence(text, _named_values(run, facts))
    return None


#: The checks of every run, and those for a model that is to run in float16.
NODE_CHECKS: Mapping[DiagnosticKind, NodeCheck] = {
    DiagnosticKind.OVERFLOW: check_overflow,
    DiagnosticKind.FLOAT16_RANGE: check_float16_overflow,
    DiagnosticKind.EPSILON: check_lost_epsilon,
    DiagnosticKind.INDEX: check_index_range,
    DiagnosticKind.NAN_COMPARISON: check_nan_comparison,
}
FLOAT16_CHECKS: Mapping[DiagnosticKind, NodeCheck] = {
    DiagnosticKind.FLOAT16_RANGE: check_float16_range,
    DiagnosticKind.EPSILON: check_small_epsilon,
}
