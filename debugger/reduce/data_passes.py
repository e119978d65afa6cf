"""Ways to make the data of a candidate smaller: shorter axes, and numbers that a person can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...runtime.graph import Array
from ...runtime.model import Data
from ..compare.running.value_comparison import dtype_kind
from .documents.document import Document, ReductionCandidate
from .reduction_session import ReductionSession

#: Constants of so many integers may be shapes.
_MAX_SHAPE_ELEMENTS = 8
#: Significant digits that values are rounded to.
_SIGNIFICANT_DIGITS = (1, 2, 3)


def shorten_axes(lab: ReductionSession) -> bool:
    """All axes of one length at once, since they belong together; then each axis of each array alone."""
    changed = lab.attempt(_with_data(lab, {}, {}))
    for length in sorted(_axis_lengths(lab), reverse=True):
        changed |= any(
            lab.attempt(_cut_all_axes(lab, length, part, shapes))
            for part in _axis_pieces(length, _worst_index(lab))
            for shapes in (True, False)
        )
    for name in [*lab.best.inputs, *lab.main_document.constants()]:
        changed |= _shorten_array_axes(lab, name)
    return changed


def _shorten_array_axes(lab: ReductionSession, name: str) -> bool:
    """Each axis of one array, as broadcasting may allow it."""
    changed = False
    array = _as_array(_arrays_by_name(lab).get(name))
    for axis in range(0 if array is None else array.ndim):
        array = _as_array(_arrays_by_name(lab).get(name))
        if array is None or axis >= array.ndim:
            break
        length = array.shape[axis]
        parts = _axis_pieces(length, _worst_index(lab)) if length > 1 else ()
        changed |= any(lab.attempt(_replace_data(lab, {name: _slice_axis(array, axis, part)})) for part in parts)
    return changed


def simplify_values(lab: ReductionSession) -> bool:
    """Zeros, ones, one number throughout, or fewer digits."""
    changed = False
    for name in [*lab.best.inputs, *lab.main_document.constants()]:
        array = _as_array(_arrays_by_name(lab).get(name))
        if array is None or not array.size:
            continue
        for simple in _simpler_arrays(array):
            if lab.attempt(_replace_data(lab, {name: simple})):
                changed = True
                break
    return changed


def _simpler_arrays(array: Array) -> Iterator[Array]:
    """Arrays that are simpler than one, the simplest first; none that is as simple."""
    if array.dtype == object:
        found = [np.full_like(array, ""), np.full_like(array, "a")]
    elif array.dtype.kind == "b":
        found = [np.zeros_like(array)]
    else:
        found = [np.zeros_like(array), np.ones_like(array)]
        if array.size > 1:
            found += [np.full_like(array, value) for value in array.reshape(-1)[[0, -1]]]
        if dtype_kind(array.dtype) == "f":
            found += [_round_digits(array, digits) for digits in _SIGNIFICANT_DIGITS]
    for simple in found:
        if _is_same(simple, array):
            return
        yield simple


def _round_digits(array: Array, digits: int) -> Array:
    """The same numbers with a few significant digits."""
    numbers = array.astype(np.float64)
    texts = [float(f"{value:.{digits - 1}e}") for value in numbers.reshape(-1)]
    with np.errstate(all="ignore"):
        return np.asarray(texts).reshape(array.shape).astype(array.dtype)


def _is_same(a: Array, b: Array) -> bool:
    if a.dtype == object:
        return bool((a == b).all())
    return a.tobytes() == b.tobytes()


# -- axes


def _axis_lengths(lab: ReductionSession) -> set[int]:
    """The lengths of axes of all arrays, from 2 on."""
    return {length for data in _arrays_by_name(lab).values() for length in getattr(data, "shape", ()) if length > 1}


def _arrays_by_name(lab: ReductionSession) -> dict[str, Data]:
    """Inputs and constants; of two documents those of the first."""
    return {**lab.main_document.constants(), **lab.best.inputs}


def _as_array(data: Any) -> Array | None:
    return data if isinstance(data, np.ndarray) else None


def _worst_index(lab: ReductionSession) -> tuple[int, ...]:
    """Where the values differ most."""
    return lab.observation.delta.worst_index


def _axis_pieces(length: int, worst: tuple[int, ...]) -> Iterator[slice]:
    """Pieces of an axis, the smallest first: at its beginning, and where the values differ."""
    seen = set()
    for count in (1, 2, 3, 4, length // 2):
        for first in (0, *worst):
            start = min(first, length - count)
            if 0 < count < length and start >= 0 and (start, count) not in seen:
                seen.add((start, count))
                yield slice(start, start + count)


def _slice_axis(array: Array, axis: int, part: slice) -> Array:
    return np.ascontiguousarray(array[(slice(None),) * axis + (part,)])


def _cut_all_axes(lab: ReductionSession, length: int, part: slice, shapes: bool) -> ReductionCandidate:
    """Each axis of that length; ``shapes``: in constants that may be shapes, too."""

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

    inputs = {name: cut(data) for name, data in lab.best.inputs.items()}
    return _with_data(lab, inputs, {}, cut)


def _replace_data(lab: ReductionSession, values: Mapping[str, Data]) -> ReductionCandidate:
    """Other data for some inputs and constants."""
    inputs = {name: data for name, data in values.items() if name in lab.best.inputs}
    return _with_data(lab, inputs, {name: data for name, data in values.items() if name not in inputs})


def _with_data(
    lab: ReductionSession,
    inputs: Mapping[str, Data],
    constants: Mapping[str, Data],
    each: Callable[[Data], Data] | None = None,
) -> ReductionCandidate:
    """The best with other data, and declared as that is; ``each``: what is done to every constant."""
    new = lab.best.copy()
    given = {**new.inputs, **inputs}
    for document in new.documents:
        document.set_constants(constants if each is None else _map_constants(document, each))
        document.declare_inputs(given)
    return ReductionCandidate(new.documents, given)


def _map_constants(document: Document, each: Callable[[Data], Data]) -> dict[str, Data]:
    found = ((name, data, each(data)) for name, data in document.constants().items())
    return {name: new for name, data, new in found if new is not data}
