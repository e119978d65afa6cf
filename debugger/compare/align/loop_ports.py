"""Two loops, and which of their ports are which."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ....runtime.graph import (
    ANY_TYPE,
    BackEdge,
    LastValueOutput,
    Loop,
    ScanOutput,
    SlicedInput,
    TensorType,
    Value,
)
from ....runtime.graph.slicing import normalize_axis
from ..running.value_comparison import dtype_kind

T = TypeVar("T")

_NUMBERED_NAME = re.compile(r"\d(_output_\d+)?$")
_NUMBER_AT_END = re.compile(r"[_./:]?\d+$")


@dataclass
class LoopAlignment:
    """Two loops, and which of their ports are which; with each pair, how it was found."""

    left: Loop
    right: Loop
    edges: list[tuple[BackEdge, BackEdge, str]] = field(default_factory=list)
    slices: list[tuple[SlicedInput, SlicedInput, str]] = field(default_factory=list)
    scans: list[tuple[ScanOutput, ScanOutput, str]] = field(default_factory=list)
    #: With each pair whether it is the last of the same value.
    last_values: list[tuple[LastValueOutput, LastValueOutput, bool]] = field(default_factory=list)
    #: What one side carries as a value, and the other as its condition: the names on both sides.
    condition: tuple[str, str] | None = None
    #: By side, what is carried on that side alone and holds what the other side has without it: the condition or the
    #: iteration number.
    one_sided: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))


def best_matches(
    left: Sequence[T],
    right: Sequence[T],
    name: Callable[[T], str],
    score: Callable[[T, T], float | None],
    given: Mapping[str, str],
) -> list[tuple[T, T, str]]:
    """The best pairs: the names that are given, then by score; with equal scores a name decides, then the place."""
    found: dict[int, tuple[int, str]] = {}
    taken: set[int] = set()
    for k, one in enumerate(left):
        wanted = given.get(name(one))
        match = next((j for j, other in enumerate(right) if name(other) == wanted and j not in taken), None)
        if wanted is not None and match is not None:
            found[k] = match, "given"
            taken.add(match)
    # As in matching.py: a name with a number tells only where both sides have the same names.
    names = {name(one) for one in left}, {name(other) for other in right}
    tells = names[0] <= names[1] or names[1] <= names[0]
    marks = []
    for k, one in enumerate(left):
        for j, other in enumerate(right):
            mark = None if k in found or j in taken else score(one, other)
            if mark is not None:
                mark += name_evidence(name(one), name(other), tells)
                marks.append((-mark, abs(k - j), k, j))
    for mark, _, k, j in sorted(marks):
        if k not in found and j not in taken:
            same = name(left[k]) == name(right[j])
            found[k] = j, "name" if same else "structure" if mark <= -1 else "position"
            taken.add(j)
    return [(left[k], right[j], how) for k, (j, how) in sorted(found.items())]


def is_numbered_name(name: str) -> bool:
    """Whether a name may have its number from an exporter, as in ``Cast_12``."""
    return _NUMBERED_NAME.search(name) is not None


def name_evidence(left: str, right: str, numbers: bool = True) -> float:
    """What a name says: less than any structure. ``numbers``: one that ends in a number may be the same thing's."""
    if left != right or (is_numbered_name(left) and not numbers):
        return 0.1 if _NUMBER_AT_END.sub("", left) == _NUMBER_AT_END.sub("", right) else 0.0
    return 0.3 if is_numbered_name(left) else 0.6


def type_fit(left: Value, right: Value) -> float | None:
    """How well two declared types go together: 0 where they can be the same, less where their dtypes are two of one
    kind, None where they cannot stand for each other. Axes of length 1 come and go between systems."""
    a, b = left.type, right.type
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)):
        return 0.0 if type(a) is type(b) or ANY_TYPE in (a, b) else None
    mark = 0.0
    if a.dtype is not None and b.dtype is not None and a.dtype != b.dtype:
        if dtype_kind(a.dtype) != dtype_kind(b.dtype):
            return None
        mark = -0.7
    if a.shape is None or b.shape is None:
        return mark
    known = [[dim for dim in shape if dim != 1] for shape in (a.shape, b.shape)]
    if not all(isinstance(dim, int) for dims in known for dim in dims):
        return mark
    return mark if known[0] == known[1] else None


def same_slicing(left: SlicedInput, right: SlicedInput) -> bool:
    """Whether two tensors are cut in one way, as far as the declared shape of either tells."""
    shapes = [_outer_shape(port) for port in (left, right)]
    known = shapes[0] if shapes[0] is not None else shapes[1]
    return _slice_geometry(left, shapes[0] or known) == _slice_geometry(right, shapes[1] or known)


def _outer_shape(port: SlicedInput) -> tuple[object, ...] | None:
    return port.outer.type.shape if isinstance(port.outer.type, TensorType) else None


def _slice_geometry(port: SlicedInput, shape: tuple[object, ...] | None) -> tuple[int, ...]:
    axis = port.axis if shape is None else normalize_axis(port.axis, len(shape))
    dim = shape[axis] if shape is not None and 0 <= axis < len(shape) else None
    start, end = port.start, port.end
    if isinstance(dim, int):
        start, end = (dim + 1 + place if place < 0 else place for place in (start, end))
    return axis, start, end, port.stride, port.part_size, int(port.from_trip_count)
