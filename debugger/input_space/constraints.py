"""Constraints on inputs: ranges and properties, which are enforced, and conditions, which are filters.

``x in 0..1``, ``x finite``, ``x sorted``, ``x unique`` and ``x sum 1`` change a value of x so that it satisfies them,
the last three along the last axis. Anything else is a condition in the language of expressions over the inputs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.graph import Array
from ...runtime.text import did_you_mean
from ..expression.expression import Expression, ExpressionError, ScopeError, UnknownNameError, parse
from .element_candidates import element_kind

_PROPERTIES = ("finite", "sorted", "unique", "sum 1")
_PROPERTY = re.compile(r"(\S+)\s+(finite|sorted|unique|sum\s+1|in\s+(\S+)\.\.(\S+))")


class ValueConstraint(NamedTuple):
    """A property of one input. ``low``, ``high``: of a range."""

    name: str
    kind: str
    low: float = 0.0
    high: float = 0.0

    def enforce(self, array: Array) -> Array:
        """Return the array, changed where it violates the constraint."""
        numeric = array if array.dtype.kind in "biufc" else array.astype(np.float64)
        with np.errstate(all="ignore"):
            return np.asarray(getattr(self, f"_enforce_{self.kind}")(numeric)).astype(array.dtype)

    def _enforce_range(self, array: Array) -> Array:
        low, high = (int(self.low), int(self.high)) if array.dtype.kind in "iu" else (self.low, self.high)
        return np.clip(np.where(np.isnan(array), low, array) if array.dtype.kind == "f" else array, low, high)

    def _enforce_finite(self, array: Array) -> Array:
        return np.where(np.isfinite(array), array, 0)

    def _enforce_sorted(self, array: Array) -> Array:
        return np.sort(array, axis=-1) if array.ndim else array

    def _enforce_unique(self, array: Array) -> Array:
        """Replace repeated elements by the next larger numbers."""
        rows = array.reshape(-1, array.shape[-1] if array.ndim else 1).copy()
        for row in rows:
            seen: set[Any] = set()
            for k, element in enumerate(row):
                while element in seen:
                    element = element + 1
                seen.add(element)
                row[k] = element
        return rows.reshape(array.shape)

    def _enforce_sum(self, array: Array) -> Array:
        """Scale the magnitudes to the sum 1; all 0 becomes uniform."""
        if not array.ndim or not array.size:
            return np.ones_like(array)
        weights = np.abs(np.where(np.isfinite(array), array, 0)).astype(np.float64)
        weights = np.minimum(weights, 1e30)
        total = weights.sum(axis=-1, keepdims=True)
        return np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / array.shape[-1])


class InputScope:
    """The inputs of a run as the scope of an expression."""

    iteration = 0
    trip_count = None
    condition = None

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def names(self) -> Collection[str]:
        """The names of the inputs."""
        return self._values.keys()

    def value(self, name: str) -> Any:
        """The value of an input."""
        if name not in self._values:
            raise UnknownNameError(f"no input '{name}'")
        return self._values[name]

    def previous(self, name: str) -> Any:
        """Not available: inputs do not change."""
        raise ScopeError("inputs have no iterations")

    initial = history = previous

    def value_at(self, name: str, iteration: int) -> Any:
        """Not available."""
        raise ScopeError("inputs have no iterations")


class ConstraintSet:
    """The constraints of a model's inputs.

    Raises:
        UsageError: a constraint is neither a known property nor an expression, or names no input.
    """

    def __init__(self, texts: Sequence[str], names: Collection[str]) -> None:
        self.texts = tuple(texts)
        self._enforced: dict[str, list[ValueConstraint]] = {}
        self._conditions: list[Expression] = []
        for text in texts:
            match = _PROPERTY.fullmatch(text.strip())
            if match is None:
                self._add_condition(text, names)
                continue
            name, kind = match[1], match[2].split()[0]
            _check_name(text, name, names)
            bounds = _parse_bounds(text, match[3], match[4]) if kind == "in" else (0.0, 0.0)
            constraint = ValueConstraint(name, "range" if kind == "in" else kind, *bounds)
            self._enforced.setdefault(name, []).append(constraint)

    def _add_condition(self, text: str, names: Collection[str]) -> None:
        try:
            condition = parse(text)
        except ExpressionError as error:
            raise UsageError(
                f"constraint '{text}': {error.what}; give NAME followed by {', '.join(_PROPERTIES)} or in LOW..HIGH, "
                "or a condition over the inputs",
                name=text,
            ) from None
        for name in condition.names:
            _check_name(text, name, names)
        self._conditions.append(condition)

    def range_of(self, name: str) -> tuple[float, float] | None:
        """The range of an input, if it has one."""
        ranges = [c for c in self._enforced.get(name, ()) if c.kind == "range"]
        return (ranges[-1].low, ranges[-1].high) if ranges else None

    def enforce(self, name: str, value: Any) -> Any:
        """Return the value of an input with its properties."""
        if name not in self._enforced or value is None:
            return value
        if isinstance(value, list):
            return [self.enforce(name, item) for item in value]
        if element_kind(value.dtype) == "s":
            return value
        # In a fixed order: sorting ends with sorted values.
        for constraint in sorted(self._enforced[name], key=lambda c: _ENFORCING_ORDER.index(c.kind)):
            value = constraint.enforce(value)
        return value

    def admits(self, values: Mapping[str, Any]) -> bool:
        """Whether inputs satisfy the conditions; one that cannot be evaluated is not satisfied."""
        scope = InputScope(values)
        try:
            return all(condition.truth(scope) for condition in self._conditions)
        except ExpressionError:
            return False


_ENFORCING_ORDER = ("finite", "range", "unique", "sum", "sorted")


def _check_name(text: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        hint = did_you_mean(name, list(names)) or f"; the inputs are {', '.join(names) or 'none'}"
        raise UsageError(f"constraint '{text}': no input '{name}'{hint}", name=name)


def _parse_bounds(text: str, low: str, high: str) -> tuple[float, float]:
    try:
        bounds = float(low), float(high)
    except ValueError:
        raise UsageError(f"constraint '{text}': a range is two numbers, as in 0..1", name=text) from None
    if not bounds[0] <= bounds[1]:
        raise UsageError(f"constraint '{text}': the range is empty", name=text)
    return bounds
