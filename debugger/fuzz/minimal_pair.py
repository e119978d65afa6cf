"""Minimal pairs: inputs that fail and adjacent ones that pass, with the first iteration at which their runs diverge."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ...runtime.dtypes import is_ml_dtype
from ...runtime.errors import LoopdbgError
from ...runtime.frame import Frame
from ...runtime.graph import Loop, Value
from ...runtime.input_validation import Data
from ...runtime.model import Model
from ..input_space.element_candidates import element_kind, nearby_values, to_array, to_python_scalar
from ..input_space.shrink import simpler_inputs
from ..input_space.space import Inputs, InputSpace, Leaf, leaf_value, leaves, replace_leaf
from ..value_text import value_text
from .finding import MinimalPair, PairRow

#: Candidates to run, pairs to choose from, boundaries to compare, values to show.
_MAX_CANDIDATES, _MAX_PAIRS, _MAX_BOUNDARIES, _MAX_ROWS = 400, 4, 4096, 12
_VALUE_WIDTH, _MAX_SHOWN_SIZE = 32, 16


def find_minimal_pair(
    model: Model, space: InputSpace, inputs: Inputs, verdict: Callable[[Inputs], bool | None], max_iterations: int
) -> MinimalPair | None:
    """Return adjacent inputs, near failing ones, of which some fail and others pass; None: there are none.

    ``verdict``: whether inputs pass, None: they fail in another way. ``max_iterations``: of the runs that are compared.
    """
    pairs: list[MinimalPair] = []
    decided: set[object] = set()
    tests = 0
    for place, candidate in _adjacent_inputs(space, inputs):
        if tests >= _MAX_CANDIDATES or len(pairs) >= _MAX_PAIRS:
            break
        if place in decided or not space.admits(candidate):
            continue
        tests += 1
        if verdict(candidate):
            decided.add(place)
            failing, passing = _bisect_inputs(space, inputs, candidate, verdict)
            loop, iteration, rows = _first_divergence(model, failing, passing, max_iterations)
            pairs.append(MinimalPair(failing, passing, _change_text(failing, passing), loop, iteration, rows))
    # Runs that differ in little, and without a NaN that hides the rest.
    return min(pairs, key=lambda pair: (_has_nonfinite(pair), len(pair.rows)), default=None)


def _has_nonfinite(pair: MinimalPair) -> bool:
    return any(text in row.passing for row in pair.rows for text in ("nan", "inf"))


def _adjacent_inputs(space: InputSpace, inputs: Inputs) -> Iterator[tuple[object, Inputs]]:
    """Inputs that differ in one element or one size, with what differs; then all shrink steps."""
    for leaf in leaves(inputs):
        array = leaf_value(inputs, leaf)
        if array.size > 64:
            continue
        elements = [to_python_scalar(element, element_kind(array.dtype)) for element in array.flat]
        for position, element in enumerate(elements):
            for near in nearby_values(element, array.dtype):
                changed = [*elements[:position], near, *elements[position + 1 :]]
                changed_array = to_array(changed, array.dtype, array.shape)
                yield (leaf, position), space.enforce(replace_leaf(inputs, leaf, changed_array))
    for key, (low, high) in space.dimensions.items():
        size = space.size_of(inputs, key)
        if size is not None:
            yield from ((key, space.resize(inputs, key, n)) for n in (size + 1, size - 1) if low <= n <= high)
    yield from ((None, step) for step in simpler_inputs(space, inputs))


def _bisect_inputs(
    space: InputSpace, failing: Inputs, passing: Inputs, verdict: Callable[[Inputs], bool | None]
) -> tuple[Inputs, Inputs]:
    """Adjacent inputs between two that differ in one number, found by bisection."""
    change = _single_changed_element(failing, passing)
    if change is None:
        return failing, passing
    leaf, position = change
    array = leaf_value(failing, leaf)
    bad, good = (_ordinal(leaf_value(side, leaf).reshape(-1)[position]) for side in (failing, passing))
    while bad is not None and good is not None and abs(bad - good) > 1:
        middle = (bad + good) // 2
        flat = array.ravel().copy()
        flat[position] = _from_ordinal(middle, array.dtype)
        candidate = space.enforce(replace_leaf(failing, leaf, flat.reshape(array.shape)))
        passes = verdict(candidate) if space.admits(candidate) else None
        if passes is None:
            break
        if passes:
            good, passing = middle, candidate
        else:
            bad, failing = middle, candidate
    return failing, passing


def _ordinal(number: Any) -> int | None:
    """The position of a finite number among all numbers of its dtype; None: unknown."""
    if number.dtype.kind in "iu":
        return int(number)
    if number.dtype.kind != "f" or is_ml_dtype(number.dtype) or not np.isfinite(number):
        return None
    bits = int(number.view(f"i{number.dtype.itemsize}"))
    return bits if bits >= 0 else -(bits & (1 << (8 * number.dtype.itemsize - 1)) - 1)


def _from_ordinal(position: int, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        return position
    return np.copysign(np.array(abs(position), f"i{dtype.itemsize}").view(dtype), position)


def _single_changed_element(left: Inputs, right: Inputs) -> tuple[Leaf, int] | None:
    """The only element in which inputs differ, if there is only one."""
    if list(leaves(left)) != list(leaves(right)):
        return None
    changes: list[tuple[Leaf, int]] = []
    for leaf in leaves(left):
        a, b = leaf_value(left, leaf), leaf_value(right, leaf)
        if a.shape != b.shape:
            return None
        changes += [(leaf, k) for k, (x, y) in enumerate(zip(a.flat, b.flat, strict=True)) if repr(x) != repr(y)]
    return changes[0] if len(changes) == 1 else None


def _change_text(left: Mapping[str, Data], right: Mapping[str, Data]) -> str:
    """The inputs that differ, as text."""
    change = _single_changed_element(dict(left), dict(right))
    if change is not None and leaf_value(left, change[0]).size > 1:
        (name, k), position = change
        index = np.unravel_index(position, leaf_value(left, change[0]).shape)
        subscript = ("" if k is None else f"[{k}]") + f"[{', '.join(map(str, index))}]"
        old, new = (_data_text(leaf_value(side, change[0]).flat[position]) for side in (left, right))
        return f"{name}{subscript} = {old} fails, {new} passes"
    parts = []
    for name in dict.fromkeys((*left, *right)):
        texts = [_data_text(side[name]) if name in side else "nothing" for side in (left, right)]
        if texts[0] != texts[1] or repr(left.get(name)) != repr(right.get(name)):
            parts.append(f"{name} = {texts[0]} fails, {texts[1]} passes")
    return "; ".join(parts)


def _data_text(value: Any) -> str:
    return value_text(value, 60) if not isinstance(value, list) else f"[{', '.join(map(_data_text, value))}]"


# -- the divergence of two runs

#: A boundary: the loop, its iteration, its decisions by name, whether the loop has ended.
_Boundary = tuple[str, int, dict[str, Any], bool]


def _first_divergence(
    model: Model, failing: Inputs, passing: Inputs, max_iterations: int
) -> tuple[str | None, int | None, tuple[PairRow, ...]]:
    """The loop and the first iteration at which the runs decide differently, and the values there."""
    left, right = (_boundary_decisions(model, inputs, max_iterations) for inputs in (failing, passing))
    if not left or not right:
        return None, None, ()
    number = next((k for k, (a, b) in enumerate(zip(left, right, strict=False)) if repr(a) != repr(b)), None)
    if number is None:
        # The decisions are the same: the values differ, at the end at the latest.
        digests = [_boundary_digests(model, inputs, max_iterations) for inputs in (failing, passing)]
        last = min(len(left), len(right)) - 1
        number = next((k for k, (x, y) in enumerate(zip(*digests, strict=False)) if x != y), last)
    a, b = left[number], right[number]
    rows = _differing_rows(_values_at_boundary(model, failing, number), _values_at_boundary(model, passing, number))
    ended = (PairRow("ended", *(str(side[3]).lower() for side in (a, b))),) if a[3] != b[3] else ()
    return a[0], max(max(a[1], b[1]) - 1, 0), (*ended, *rows)


def _differing_rows(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[PairRow]:
    """The values that differ, truth values first."""
    names = sorted(dict.fromkeys((*left, *right)), key=lambda name: not _is_boolean(left.get(name, right.get(name))))
    rows = [PairRow(name, *(_cell_text(side.get(name)) for side in (left, right))) for name in names]
    return [row for row in rows if row.failing != row.passing][:_MAX_ROWS]


def _is_boolean(value: Any) -> bool:
    return getattr(value, "dtype", None) == np.bool_


def _cell_text(value: Any) -> str:
    return "-" if value is None else value_text(value, _VALUE_WIDTH)


def _boundary_decisions(model: Model, inputs: Inputs, max_iterations: int) -> list[_Boundary]:
    """The boundaries of a run with their truth values, up to its end or its failure."""
    boundaries: list[_Boundary] = []
    truths = {plan.path: [v for v in _body_values(plan.loop) if _is_boolean(v.type)] for plan in model.plan.loops}

    def read(frame: Frame) -> None:
        if len(boundaries) < _MAX_BOUNDARIES:
            values = frame.values.read_all(truths[frame.path]) if frame.iteration else {}
            decisions = {value.name: np.array(data).tolist() for value, data in values.items()}
            boundaries.append((frame.path, frame.iteration, decisions, frame.stopped_by is not None))

    _run_and_read(model, inputs, read, max_iterations)
    return boundaries


def _boundary_digests(model: Model, inputs: Inputs, max_iterations: int) -> list[int]:
    """A digest of what the loop holds at each boundary of a run, up to its end or its failure."""
    digests: list[int] = []

    def read(frame: Frame) -> None:
        if len(digests) < _MAX_BOUNDARIES:
            digests.append(_digest(_values_of_body(frame)))

    _run_and_read(model, inputs, read, max_iterations)
    return digests


def _digest(values: Mapping[str, Any]) -> int:
    digest = 0
    for name, value in values.items():
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            content = repr((name, value.shape)).encode() + value.tobytes()
        else:  # strings, sequences, optionals
            content = repr((name, value)).encode()
        digest = zlib.crc32(content, digest)
    return digest


def _values_at_boundary(model: Model, inputs: Inputs, number: int) -> dict[str, Any]:
    """The values of a loop at a boundary of the run, by name, and small inputs."""
    count = -1
    values = {name: value for name, value in inputs.items() if np.size(value) <= _MAX_SHOWN_SIZE}

    def read(frame: Frame) -> None:
        nonlocal count
        count += 1
        if count == number:
            values.update(_values_of_body(frame))

    _run_and_read(model, inputs, read, _MAX_BOUNDARIES, lambda: count >= number)
    return values


def _values_of_body(frame: Frame) -> dict[str, Any]:
    """What an iteration has computed, or, before the first one, what is carried into it: copies, by name."""
    if frame.loop is None or frame.iteration == 0:
        return dict(frame.carried)
    return {value.name: data for value, data in frame.values.read_all(_body_values(frame.loop)).items()}


class _EnoughRead(Exception):
    """Ends a run of which all that is needed has been read."""


def _run_and_read(
    model: Model,
    inputs: Inputs,
    read: Callable[[Frame], None],
    max_iterations: int,
    is_done: Callable[[], bool] = lambda: False,
) -> None:
    def observe(frame: Frame) -> None:
        read(frame)
        if is_done():
            raise _EnoughRead

    with suppress(LoopdbgError, _EnoughRead):
        model.reset()
        model.execute(inputs, on_iteration=observe, max_iterations=min(max_iterations, _MAX_BOUNDARIES))


def _body_values(loop: Loop) -> list[Value]:
    """What a loop's body carries, captures and computes, without what is inside other loops.

    Without parts of sliced inputs: at a boundary they are those of the next iteration.
    """
    parts = {entry.inner for entry in loop.sliced_inputs}
    computed = (value for node in loop.body.nodes for value in node.outputs if value is not None)
    return [*(value for value in loop.body.inputs if value not in parts), *computed]
