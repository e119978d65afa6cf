"""TensorRT recurrences as sequences, from the data of a stop without running anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...debugger.describe.value_names import quote
from ...debugger.frame_state import FrameState
from ...debugger.scope.tensorrt_sequence_text import elements_text, is_not_computed, shown_indices
from ...debugger.statistics.value_history import is_exact
from ...runtime.frame import CarriedValue
from ...runtime.graph import System
from .formatting import number_text
from .styled_text import truncate
from .value_cells import LiveTensorSummary, short_value

#: Numbers of leading and trailing elements to show, the first pair that fits; the cells of an element.
_SHOWN_END_COUNTS, _ELEMENT_CELLS = ((3, 4), (2, 3), (1, 3), (1, 2), (1, 1), (0, 1)), 24


def has_lazy_sequences(frame: FrameState) -> bool:
    """Whether the values of the frame's loop are lazily computed sequences."""
    return frame.loop is not None and frame.loop.system is System.TENSORRT


def recurrence_elements_text(frame: FrameState, edge: CarriedValue, width: int) -> str:
    """``<8.0, 4.0, 2.0, ...>``, for tensors their norms, with a remark if the last element of the result was not needed
    and not computed."""
    assert frame.loop is not None
    iteration = frame.iteration
    # Inside an iteration the result is the next element, once computed.
    newest = iteration if frame.at_boundary or not edge.ready or edge.value is None else iteration + 1
    last = edge.value if frame.at_boundary or newest > iteration else edge.previous
    format_element, prefix = _element_formatter(frame, edge, newest, last)
    rest = ""
    if is_not_computed(frame.loop, frame.stopped_by, iteration, edge.result, newest - 1):
        rest = f"   {quote(edge.result)} not needed at {newest}"
    text = ""
    for ends in _SHOWN_END_COUNTS:
        elements = {k: element for k in shown_indices(newest, *ends) if (element := format_element(k))}
        text = f"{prefix}{elements_text(elements, newest, frame.stopped_by is not None)}{rest}"
        if len(text) <= width:
            break
    return truncate(text, width)


def _element_formatter(
    frame: FrameState, edge: CarriedValue, newest: int, last: Any
) -> tuple[Callable[[int], str], str]:
    """A formatter of elements ("" for unknown ones), and a prefix that names the quantity."""
    history = frame.history.get(edge.param)
    norms = (
        {}
        if history is None or history.bucket > 1
        else dict(zip(history.iterations.tolist(), history.values, strict=True))
    )
    if isinstance(last, np.ndarray) and last.size == 1 and last.dtype.kind in "biuf":
        dtype = last.dtype
        numbers = {
            k: np.array(number).astype(dtype)
            for k, number in norms.items()
            if dtype.kind == "f" or (np.isfinite(number) and is_exact(number, dtype.name))
        }
        numbers[newest] = last.reshape(())
        return lambda k: short_value(numbers[k], _ELEMENT_CELLS) if k in numbers else "", ""
    if history is not None and history.is_tensor:
        if isinstance(last, LiveTensorSummary):
            norms[newest] = last.norm
        return lambda k: number_text(float(norms[k])) if k in norms else "", "norms "
    ends = {newest - 1: edge.previous if frame.at_boundary else None, newest: last}
    return lambda k: short_value(ends[k], _ELEMENT_CELLS) if ends.get(k) is not None else "", ""
