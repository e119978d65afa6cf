"""The port pairs of two loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

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
from ..running.value_comparison import dtype_kind
from .assignment import best_assignment

T = TypeVar("T")

_NUMBERED_NAME = re.compile(r"\d(_output_\d+)?$")
_NUMBER_AT_END = re.compile(r"[_./:]?\d+$")


@dataclass
class LoopAlignment:
    """Two loops and their port pairs; each pair has the method that found it."""

    left: Loop
    right: Loop
    edges: list[tuple[BackEdge, BackEdge, str]] = field(default_factory=list)
    slices: list[tuple[SlicedInput, SlicedInput, str]] = field(default_factory=list)
    scans: list[tuple[ScanOutput, ScanOutput, str]] = field(default_factory=list)
    #: With each pair, whether both are the last value of the same carried value.
    last_values: list[tuple[LastValueOutput, LastValueOutput, bool]] = field(default_factory=list)
    #: A condition that one side carries as a value: its names on both sides.
    condition: tuple[str, str] | None = None
    #: By side, carried values that the other side does not carry: the condition or the iteration
    #: number.
    one_sided: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))


def best_matches(
    left: Sequence[T],
    right: Sequence[T],
    name: Callable[[T], str],
    score: Callable[[T, T], float | None],
    names: Mapping[str, str],
) -> list[tuple[T, T, str]]:
    """The best pairs: by the mapping of names, then those of the highest total score, of which names are a part."""
    matches: dict[int, tuple[int, str]] = {}
    used: set[int] = set()
    for k, left_item in enumerate(left):
        target = names.get(name(left_item))
        match = next((j for j, right_item in enumerate(right) if name(right_item) == target and j not in used), None)
        if target is not None and match is not None:
            matches[k] = match, "given"
            used.add(match)
    # As in loop_matching.py: a numbered name only counts if one side has all names of the other.
    name_sets = {name(left_item) for left_item in left}, {name(right_item) for right_item in right}
    use_numbers = name_sets[0] <= name_sets[1] or name_sets[1] <= name_sets[0]
    scores = np.full((len(left), len(right)), np.nan)
    for k, left_item in enumerate(left):
        for j, right_item in enumerate(right):
            value = None if k in matches or j in used else score(left_item, right_item)
            if value is not None:
                scores[k, j] = value + equal_name_score(name(left_item), name(right_item), use_numbers)
    for k, j in best_assignment(scores):
        same = name(left[k]) == name(right[j])
        matches[k] = j, "name" if same else "structure" if scores[k, j] >= 1 else "position"
    return [(left[k], right[j], method) for k, (j, method) in sorted(matches.items())]


def is_numbered_name(name: str) -> bool:
    """Whether a name ends in a number that an exporter may have assigned, as ``Cast_12``."""
    return _NUMBERED_NAME.search(name) is not None


def equal_name_score(left: str, right: str, use_numbers: bool = True) -> float:
    """The score of equal names, less than any structural evidence. ``numbers``: numbered names count too."""
    if left != right or (is_numbered_name(left) and not use_numbers):
        return 0.1 if _NUMBER_AT_END.sub("", left) == _NUMBER_AT_END.sub("", right) else 0.0
    return 0.3 if is_numbered_name(left) else 0.6


def type_fit_score(left: Value, right: Value) -> float | None:
    """How well two declared types fit: 0 if they may be equal, less for different dtypes of one kind, None if they
    cannot correspond. Axes of length 1 are ignored, since systems add and drop them."""
    a, b = left.type, right.type
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)):
        return 0.0 if type(a) is type(b) or ANY_TYPE in (a, b) else None
    score = 0.0
    if a.dtype is not None and b.dtype is not None and a.dtype != b.dtype:
        if dtype_kind(a.dtype) != dtype_kind(b.dtype):
            return None
        score = -0.7
    if a.shape is None or b.shape is None:
        return score
    dims = [[dim for dim in shape if dim != 1] for shape in (a.shape, b.shape)]
    if not all(isinstance(dim, int) for dims in dims for dim in dims):
        return score
    return score if dims[0] == dims[1] else None


def initial_outer_value(port: Value | SlicedInput) -> Value:
    """The outer value that initialises a back edge, whole or sliced."""
    return port.outer if isinstance(port, SlicedInput) else port
