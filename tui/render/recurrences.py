"""The recurrences of TensorRT loops as the sequences that they are, of what a stop knows without running anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...debugger.describe.value_names import quote
from ...debugger.scope.sequence_text import elements_text, is_not_computed, shown_indices
from ...debugger.session.snapshot import FrameSnapshot
from ...debugger.statistics.value_history import is_exact
from ...runtime.frame import CarriedValue
from ...runtime.graph import System
from .formatting import number_text
from .styled_text import truncate
from .value_cells import TensorSummary, short_value

#: How many elements are told at the beginning and at the end, the first that fit; an element has so many cells.
_SHOWN_END_COUNTS, _ELEMENT_CELLS = ((3, 4), (2, 3), (1, 3), (1, 2), (1, 1), (0, 1)), 24


def has_lazy_sequences(frame: FrameSnapshot) -> bool:
    """Is each value of its loop a sequence of those elements that are needed?"""
    return frame.loop is not None and frame.loop.system is System.TENSORRT


def recurrence_text(frame: FrameSnapshot, edge: CarriedValue, width: int) -> str:
    """``<8.0, 4.0, 2.0, ...>``, of tensors their norms; and where what it is fed with has no element at the index at
    which the loop ended, since nobody needed it."""
    assert frame.loop is not None
    now = frame.iteration
    # Inside an iteration what it yields is the next element, once it is there.
    newest = now if frame.at_boundary or not edge.ready or edge.value is None else now + 1
    last = edge.value if frame.at_boundary or newest > now else edge.previous
    at, what = _element_formatter(frame, edge, newest, last)
    rest = ""
    if is_not_computed(frame.loop, frame.stopped_by, now, edge.result, newest - 1):
        rest = f"   {quote(edge.result)} not needed at {newest}"
    text = ""
    for ends in _SHOWN_END_COUNTS:
        told = {k: one for k in shown_indices(newest, *ends) if (one := at(k))}
        text = f"{what}{elements_text(told, newest, frame.stopped_by is not None)}{rest}"
        if len(text) <= width:
            break
    return truncate(text, width)


def _element_formatter(
    frame: FrameSnapshot, edge: CarriedValue, newest: int, last: Any
) -> tuple[Callable[[int], str], str]:
    """What an element is told as, "" where it is not known; and what that is."""
    history = frame.history.get(edge.param)
    known = (
        {}
        if history is None or history.bucket > 1
        else dict(zip(history.iterations.tolist(), history.values, strict=True))
    )
    if isinstance(last, np.ndarray) and last.size == 1 and last.dtype.kind in "biuf":
        dtype = last.dtype
        own = {
            k: np.array(number).astype(dtype)
            for k, number in known.items()
            if dtype.kind == "f" or (np.isfinite(number) and is_exact(number, dtype.name))
        }
        own[newest] = last.reshape(())
        return lambda k: short_value(own[k], _ELEMENT_CELLS) if k in own else "", ""
    if history is not None and history.is_tensor:
        if isinstance(last, TensorSummary):
            known[newest] = last.norm
        return lambda k: number_text(float(known[k])) if k in known else "", "norms "
    ends = {newest - 1: edge.previous if frame.at_boundary else None, newest: last}
    return lambda k: short_value(ends[k], _ELEMENT_CELLS) if ends.get(k) is not None else "", ""
