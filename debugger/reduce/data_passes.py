"""Reduction passes for data: shorter axes, and simpler numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...runtime.graph import Array
from ...runtime.model import Data
from ..compare.running.value_comparison import dtype_kind
from .documents.document import Document, ReductionCandidate
from .reduction_session import ReductionSession

#: Maximum size of an integer constant that may be a shape.
_MAX_SHAPE_ELEMENTS = 8
#: Significant digits that values are rounded to.
_SIGNIFICANT_DIGITS = (1, 2, 3)


def shorten_axes(run: ReductionSession) -> bool:
    """Shorten all axes of one length together, since they may be related; then each axis of each array alone."""
    changed = run.attempt(_candidate_with_data(run, {}, {}))
    for length in sorted(_axis_lengths(run), reverse=True):
        changed |= any(
            run.attempt(_cut_all_axes(run, length, part, shapes))
            for part in _axis_pieces(length, _largest_difference_index(run))
            for shapes in (True, False)
        )
    for name in [*run.best.inputs, *run.main_document.constants()]:
        changed |= _shorten_array_axes(run, name)
    return changed


def _shorten_array_axes(run: ReductionSession, name: str) -> bool:
    """Shorten each axis of one array, as far as broadcasting allows it."""
    changed = False
    array = _as_array(_arrays_by_name(run).get(name))
    for axis in range(0 if array is None else array.ndim):
        array = _as_array(_arrays_by_name(run).get(name))
        if array is None or axis >= array.ndim:
            break
        length = array.shape[axis]
        parts = _axis_pieces(length, _largest_difference_index(run)) if length > 1 else ()
        changed |= any(run.attempt(_replace_data(run, {name: _slice_axis(array, axis, part)})) for part in parts)
    return changed


def simplify_values(run: ReductionSession) -> bool:
    """Replace values by zeros, ones, a constant, or fewer digits."""
    changed = False
    for name in [*run.best.inputs, *run.main_document.constants()]:
        array = _as_array(_arrays_by_name(run).get(name))
        if array is None or not array.size:
            continue
        for simple in _simpler_arrays(array):
            if run.attempt(_replace_data(run, {name: simple})):
                changed = True
                break
    return changed


def _simpler_arrays(array: Array) -> Iterator[Array]:
    """Arrays that are simpler than the given one, the simplest first."""
    if array.dtype == object:
        candidates = [np.full_like(array, ""), np.full_like(array, "a")]
    elif array.dtype.kind == "b":
        candidates = [np.zeros_like(array)]
    else:
        candidates = [np.zeros_like(array), np.ones_like(array)]
        if array.size > 1:
            candidates += [np.full_like(array, value) for value in array.reshape(-1)[[0, -1]]]
        if dtype_kind(array.dtype) == "f":
            candidates += [_round_digits(array, digits) for digits in _SIGNIFICANT_DIGITS]
    for simple in candidates:
        if _arrays_identical(simple, array):
            return
        yield simple


def _round_digits(array: Array, digits: int) -> Array:
    """Round numbers to a few significant digits."""
    numbers = array.astype(np.float64)
    texts = [float(f"{value:.{digits - 1}e}") for value in numbers.reshape(-1)]
    with np.errstate(all="ignore"):
        return np.asarray(texts).reshape(array.shape).astype(array.dtype)


def _arrays_identical(a: Array, b: Array) -> bool:
    if a.dtype == object:
        return bool((a == b).all())
    return a.tobytes() == b.tobytes()


# -- axes


def _axis_lengths(run: ReductionSession) -> set[int]:
    """The lengths of axes of all arrays, from 2 on."""
    return {length for data in _arrays_by_name(run).values() for length in getattr(data, "shape", ()) if length > 1}


def _arrays_by_name(run: ReductionSession) -> dict[str, Data]:
    """Inputs and constants; of two documents those of the first."""
    return {**run.main_document.constants(), **run.best.inputs}


def _as_array(data: Any) -> Array | None:
    return data if isinstance(data, np.ndarray) else None


def _largest_difference_index(run: ReductionSession) -> tuple[int, ...]:
    """The index of the largest difference."""
    return run.observation.delta.worst_index


def _axis_pieces(length: int, worst: tuple[int, ...]) -> Iterator[slice]:
    """Pieces of an axis, the smallest first: at its beginning, and at the largest difference."""
    ranges = set()
    for count in (1, 2, 3, 4, length // 2):
        for first in (0, *worst):
            start = min(first, length - count)
            if 0 < count < length and start >= 0 and (start, count) not in ranges:
                ranges.add((start, count))
                yield slice(start, start + count)


def _slice_axis(array: Array, axis: int, part: slice) -> Array:
    return np.ascontiguousarray(array[(slice(None),) * axis + (part,)])


def _cut_all_axes(run: ReductionSession, length: int, part: slice, shapes: bool) -> ReductionCandidate:
    """Cut each axis of that length; ``shapes``: also in constants that may be shapes."""

    def cut(data: Data) -> Data:
        array = _as_array(data)
        if array is None:
            return data
        if (
            shapes
            and array.dtype == np.int64
            and array.size <= _MAX_SHAPE_ELEMENTS
            and array.ndim <= 1
            and (array == length).any()
        ):
            array = np.where(array == length, part.stop - part.start, array)
        for axis in range(array.ndim):
            if array.shape[axis] == length:
                array = _slice_axis(array, axis, part)
        return array

    inputs = {name: cut(data) for name, data in run.best.inputs.items()}
    return _candidate_with_data(run, inputs, {}, cut)


def _replace_data(run: ReductionSession, values: Mapping[str, Data]) -> ReductionCandidate:
    """Replace the data of some inputs and constants."""
    inputs = {name: data for name, data in values.items() if name in run.best.inputs}
    return _candidate_with_data(run, inputs, {name: data for name, data in values.items() if name not in inputs})


def _candidate_with_data(
    run: ReductionSession,
    inputs: Mapping[str, Data],
    constants: Mapping[str, Data],
    map_constant: Callable[[Data], Data] | None = None,
) -> ReductionCandidate:
    """Return the best candidate with other data and declarations; ``map_constant``: applied to every constant."""
    new = run.best.copy()
    all_inputs = {**new.inputs, **inputs}
    for document in new.documents:
        document.set_constants(constants if map_constant is None else _map_constants(document, map_constant))
        document.declare_inputs(all_inputs)
    return ReductionCandidate(new.documents, all_inputs)


def _map_constants(document: Document, map_constant: Callable[[Data], Data]) -> dict[str, Data]:
    mapped = ((name, data, map_constant(data)) for name, data in document.constants().items())
    return {name: new for name, data, new in mapped if new is not data}
