"""Compares the outputs of two runs. An output that TensorRT pads is compared up to the shorter length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ....runtime.graph import Graph
from ....runtime.model import Data
from ..causes.quantization_tie_rounding import QuantizationSteps
from ..report.findings import Comparison, Difference
from .loop_matching import match_names
from .padding import padded_axes
from .value_comparison import Tolerance, compare


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
    padding = _padded_axes(left), _padded_axes(right)
    steps = QuantizationSteps(left.graph)
    for name, other, _ in names:
        a, b = left.outputs[name], right.outputs[other]
        delta = compare(a, b, tolerance)
        if delta.kind == "shape":
            parts = _common_prefix(a, b, padding[0].get(name), padding[1].get(other))
            if parts is not None:
                delta = compare(*parts[:2], tolerance)
                padded, short = (right.label, left.label) if parts[2] else (left.label, right.label)
                result.add_note(
                    f"the output '{other if parts[2] else name}' of {padded} is padded to {parts[4]}, and {short} has "
                    f"{parts[3]}: the first {parts[3]} are compared"
                )
        result.compared_outputs += 1
        if delta.kind:
            step = steps.output_step(name, a)
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


def _padded_axes(side: RunOutputs) -> Mapping[str, int]:
    return {} if side.graph is None else padded_axes(side.graph)


def _common_prefix(a: Any, b: Any, left: int | None, right: int | None) -> tuple[Any, Any, bool, int, int] | None:
    """The common parts of two arrays that differ only in padding at the end of an axis of the left or the right one;
    whether the right one is longer, and both lengths."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.ndim != b.ndim:
        return None
    unequal = [axis for axis in range(a.ndim) if a.shape[axis] != b.shape[axis]]
    if len(unequal) != 1:
        return None
    axis = unequal[0]
    right_longer = b.shape[axis] > a.shape[axis]
    if (right if right_longer else left) != axis:
        return None
    shorter, longer = sorted((a.shape[axis], b.shape[axis]))
    index = (slice(None),) * axis + (slice(shorter),)
    return a[index], b[index], right_longer, shorter, longer
