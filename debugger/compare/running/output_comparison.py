"""Compares the outputs of two runs. An output that TensorRT pads is compared up to the shorter length.

TensorRT pads what a loop collects to a fixed length. Nodes after the loop may transpose, merge axes or compute each
element: the padding is then at the end of one axis, and the same in all elements that were not collected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ....runtime.graph import Graph, Loop, TensorType, Value
from ....runtime.graph.producers import ProducerMap
from ....runtime.model import Data
from ..causes.quantization_tie_rounding import QuantizationSteps
from ..report.findings import Comparison, Difference
from .loop_matching import match_names
from .value_comparison import Delta, Tolerance, compare


class RunOutputs(Protocol):
    """The outputs of a run; None if it did not end."""

    @property
    def label(self) -> str:
        """The name of the side."""

    @property
    def graph(self) -> Graph | None:
        """The loop graph; None if unknown."""

    @property
    def outputs(self) -> Mapping[str, Data] | None:
        """The outputs by name."""


def compare_outputs(
    result: Comparison, left: RunOutputs, right: RunOutputs, tolerance: Tolerance, name_map: Mapping[str, str]
) -> None:
    """Compare the outputs if both runs ended."""
    if left.outputs is None or right.outputs is None:
        return
    names = match_names(left.outputs, right.outputs, name_map)
    steps = QuantizationSteps(left.graph)
    for name, other, _ in names:
        a, b = left.outputs[name], right.outputs[other]
        delta = compare(a, b, tolerance)
        if delta.kind == "shape":
            delta = _compare_without_padding(result, (left, right), (name, other), (a, b), tolerance) or delta
        result.compared_outputs += 1
        if delta.kind:
            step = steps.output_quantization_step(name, a)
            result.outputs.append(Difference("output", name, other, delta, left=a, right=b, step=step))
    for label, names_only in ((left.label, names.only_left), (right.label, names.only_right)):
        for name in names_only:
            result.add_note(f"the output '{name}' is only in {label}: not compared")
            result.uncompared.append(name)
    for side in (left, right):
        note_uncomputed_outputs(result, side.graph, side.label)


def note_uncomputed_outputs(result: Comparison, graph: Graph | None, label: str) -> None:
    """Add notes on outputs that the graph omits and that cannot be compared."""
    for name in () if graph is None else graph.missing_outputs:
        result.add_note(
            f"the output '{name}' of {label} is not computed, since it needs a value of an unsupported type: not"
            " compared"
        )
        result.uncompared.append(name)


def outputs_by_name(graph: Graph) -> dict[str, Value]:
    """The outputs of a model by their names in a run."""
    return dict(zip(graph.output_names or [value.name for value in graph.outputs], graph.outputs, strict=False))


def _padded_lengths(side: RunOutputs, name: str) -> list[int]:
    """The lengths to which loops pad what an output is computed from."""
    graph = side.graph
    lengths: list[int] = []
    producers = ProducerMap() if graph is None else ProducerMap.for_graph(graph)
    stack = [] if graph is None else [outputs_by_name(graph).get(name)]
    seen: set[Value | None] = {None}
    while stack:
        value = stack.pop()
        node = None if value is None or value in seen else producers.get(value)
        seen.add(value)
        if isinstance(node, Loop):
            for scan in node.scan_outputs:
                shape = scan.outer.type.shape if isinstance(scan.outer.type, TensorType) else None
                if scan.outer is value and scan.length is not None and shape:
                    lengths += [size for size in (shape[scan.axis],) if isinstance(size, int)]
        elif node is not None:
            stack += node.inputs
    return lengths


def _compare_without_padding(
    result: Comparison,
    sides: tuple[RunOutputs, RunOutputs],
    names: tuple[str, str],
    values: tuple[Any, Any],
    tolerance: Tolerance,
) -> Delta | None:
    """The difference of two arrays up to the padding at the end of an axis of one of them; None if none has any."""
    a, b = values
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.ndim != b.ndim:
        return None
    axes = [axis for axis in range(a.ndim) if a.shape[axis] != b.shape[axis]]
    if len(axes) != 1:
        return None
    padded = int(b.shape[axes[0]] > a.shape[axes[0]])
    length, total = values[1 - padded].shape[axes[0]], values[padded].shape[axes[0]]
    for count in _padded_lengths(sides[padded], names[padded]):
        # The axis may be merged with others: each element takes some places on it.
        if not count or total % count or length % (total // count):
            continue
        collected, rest = np.split(values[padded], [length], axes[0])
        elements = np.stack(np.split(rest, (total - length) * count // total, axes[0]))
        delta = compare(a, collected, tolerance) if padded else compare(collected, b, tolerance)
        if not delta.kind or np.array_equal(elements, np.broadcast_to(elements[:1], elements.shape)):
            result.add_note(
                f"the output '{names[padded]}' of {sides[padded].label} is padded to {total}, and"
                f" {sides[1 - padded].label} has {length}: the first {length} are compared"
            )
            return delta
    return None
