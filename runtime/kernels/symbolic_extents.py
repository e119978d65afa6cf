"""Symbolic extents: integers for binding that record how they depend on one varying number.

A loop whose tensors grow would have to rebind its nodes at each iteration. Instead a node is bound once for shapes with
one :class:`SymbolicExtent`: sums and products with it stay ``base + slope * number``, and every decision that binding
takes on it (is this axis of length 1, which axis is the longest) narrows the range of numbers for which it is the same.
Within that range the engine updates the numbers in the calls, without Python. Code that needs the plain integer pins
the range to the present number, so that nothing is generalized by accident.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_MAX_EXTENT = 2**62


class ExtentVariable:
    """The varying number: its present value, and the range for which all decisions hold."""

    def __init__(self, now: int) -> None:
        self.current = now
        self.min_valid = 0
        self.max_valid = _MAX_EXTENT

    def pin(self) -> None:
        """Pin the range to the present number."""
        self.min_valid = self.max_valid = self.current

    def require_at_least(self, low: int) -> None:
        self.min_valid = max(self.min_valid, low)

    def require_at_most(self, high: int) -> None:
        self.max_valid = min(self.max_valid, high)


class SymbolicExtent:
    """``base + slope * number``; the slope is never 0."""

    __slots__ = ("base", "slope", "variable")
    __array_ufunc__ = None  # NumPy's integers leave arithmetic to this class

    def __init__(self, span: ExtentVariable, base: int = 0, slope: int = 1) -> None:
        self.variable, self.base, self.slope = span, base, slope

    @property
    def current(self) -> int:
        """The integer; it must not influence any decision."""
        return self.base + self.slope * self.variable.current

    def __repr__(self) -> str:
        return str(self.current)

    # -- symbolic arithmetic

    def __add__(self, other: Any) -> Any:
        if isinstance(other, SymbolicExtent):
            return _affine_extent(self.variable, self.base + other.base, self.slope + other.slope)
        if isinstance(other, int | np.integer):
            return SymbolicExtent(self.variable, self.base + int(other), self.slope)
        return NotImplemented

    __radd__ = __add__

    def __neg__(self) -> SymbolicExtent:
        return SymbolicExtent(self.variable, -self.base, -self.slope)

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, SymbolicExtent):
            return int(self) * int(other)
        if isinstance(other, int | np.integer):
            return _affine_extent(self.variable, self.base * int(other), self.slope * int(other))
        return NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        if _is_multiple(self, other):
            return self.slope // other.slope
        if isinstance(other, int | np.integer) and other and not self.base % other and not self.slope % other:
            return _affine_extent(self.variable, self.base // int(other), self.slope // int(other))
        return int(self) // int(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return int(other) // int(self)

    def __mod__(self, other: Any) -> Any:
        if _is_multiple(self, other):
            return 0
        if isinstance(other, int | np.integer) and other and not self.slope % other:
            return self.base % int(other)
        return int(self) % int(other)

    def __rmod__(self, other: Any) -> Any:
        return int(other) % int(self)

    def __abs__(self) -> SymbolicExtent:
        return -self if self < 0 else self

    # -- decisions

    def is_negative(self) -> bool:
        base, slope, span = self.base, self.slope, self.variable
        if self.current < 0:
            if slope > 0:
                span.require_at_most((-base - 1) // slope)
            else:
                span.require_at_least(base // -slope + 1)
            return True
        if slope > 0:
            span.require_at_least(-(base // slope))
        else:
            span.require_at_most(base // -slope)
        return False

    def is_zero(self) -> bool:
        if self.current == 0:
            self.variable.pin()
            return True
        if self.base % self.slope == 0:
            root = -self.base // self.slope
            if root < self.variable.current:
                self.variable.require_at_least(root + 1)
            else:
                self.variable.require_at_most(root - 1)
        return False

    def __lt__(self, other: Any) -> bool:
        return _is_negative(self - other)

    def __gt__(self, other: Any) -> bool:
        return _is_negative(other - self)

    def __le__(self, other: Any) -> bool:
        return not _is_negative(other - self)

    def __ge__(self, other: Any) -> bool:
        return not _is_negative(self - other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | np.integer | SymbolicExtent):
            return NotImplemented
        difference = self - other
        return difference.is_zero() if isinstance(difference, SymbolicExtent) else difference == 0

    def __bool__(self) -> bool:
        return not self.is_zero()

    # -- uses of the plain integer

    def __index__(self) -> int:
        self.variable.pin()
        return self.current

    __int__ = __index__

    def __float__(self) -> float:
        return float(int(self))

    def __hash__(self) -> int:
        return hash(int(self))


def _affine_extent(span: ExtentVariable, base: int, slope: int) -> int | SymbolicExtent:
    return SymbolicExtent(span, base, slope) if slope else base


def _is_multiple(a: SymbolicExtent, b: Any) -> bool:
    """Is one always the same multiple of the other?"""
    if not isinstance(b, SymbolicExtent) or a.base * b.slope != b.base * a.slope or a.slope % b.slope:
        return False
    return bool(b)


def _is_negative(difference: Any) -> bool:
    return difference.is_negative() if isinstance(difference, SymbolicExtent) else difference < 0


def symbolic_or_int(extent: Any) -> Any:
    """A symbolic extent unchanged, anything else as a plain integer."""
    return extent if type(extent) is SymbolicExtent else int(extent)


def current_extent(extent: Any) -> int:
    """The present integer, for uses that do not influence the results."""
    return extent.current if type(extent) is SymbolicExtent else int(extent)


def approximate_quotient(extent: Any, divisor: int) -> Any:
    """About ``extent / divisor``, for estimates."""
    if type(extent) is SymbolicExtent:
        return SymbolicExtent(extent.variable, extent.base // divisor, -(-extent.slope // divisor) or 1)
    return extent // divisor


def any_symbolic(extents: Iterable[Any]) -> bool:
    """True if any of the numbers is symbolic."""
    return any(type(extent) is SymbolicExtent for extent in extents)


def variable_of(shapes: Iterable[Sequence[Any]]) -> ExtentVariable:
    """The number that shapes depend on; if none varies, an independent one."""
    return next(
        (extent.variable for shape in shapes for extent in shape if type(extent) is SymbolicExtent), ExtentVariable(0)
    )


def infer_symbolic_extents(
    before: Sequence[tuple[int, ...] | None],
    after: Sequence[tuple[int, ...] | None],
    numbers: Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]] | None = None,
) -> SymbolicExtentMap | None:
    """Fit a line through two sets of input shapes, from two executions of a node.

    ``numbers``: for some inputs their integers, then and now.

    None: not possible (nothing changed, a rank did, or two axes of one input).
    """
    changes: list[tuple[int, int, int]] = []  # input, axis, by how much
    for k, (old, new) in enumerate(zip(before, after, strict=True)):
        if old == new:
            continue
        if old is None or new is None or len(old) != len(new):
            return None
        axes = [d for d in range(len(new)) if old[d] != new[d]]
        if len(axes) > 1:
            return None
        changes.append((k, axes[0], new[axes[0]] - old[axes[0]]))
    elements: list[tuple[int, int, int]] = []
    for k, (was, present) in (numbers or {}).items():
        if len(was) != len(present):
            return None
        elements += [(k, j, new - old) for j, (old, new) in enumerate(zip(was, present, strict=True)) if old != new]
    if not changes and not elements:
        return None
    leading, place, by = min(changes or elements, key=lambda change: abs(change[2]))
    if any(change[2] % by for change in (*changes, *elements)):
        return None
    shapes: list[Any] = list(after)
    values: dict[int, Any] = {k: list(present) for k, (_, present) in (numbers or {}).items()}
    span = ExtentVariable(shapes[leading][place] if changes else values[leading][place])
    for k, d, step in changes:
        slope = step // by
        shapes[k] = (
            *shapes[k][:d],
            SymbolicExtent(span, shapes[k][d] - slope * span.current, slope),
            *shapes[k][d + 1 :],
        )
    for k, j, step in elements:
        slope = step // by
        values[k][j] = SymbolicExtent(span, values[k][j] - slope * span.current, slope)
    integers = {k: tuple(integers) for k, integers in values.items() if any_symbolic(integers)}
    return SymbolicExtentMap(span, leading, shapes, integers, -1 if changes else place)


class SymbolicExtentMap:
    """The inputs' shapes, and some of their integers, with symbolic parts; ``leading``: the input whose varying extent
    is the number or, where ``element`` is not -1, which has it as that element."""

    def __init__(
        self, span: ExtentVariable, leading: int, shapes: list[Any], numbers: dict[int, tuple[Any, ...]], element: int
    ) -> None:
        self.variable, self.lead_input, self.shapes, self.integer_inputs, self.lead_element = (
            span,
            leading,
            shapes,
            numbers,
            element,
        )
        #: Axis along which an input has spare capacity, and its extent (plan/binding_result.py).
        self.capacities: list[tuple[int, int] | None] = [None] * len(shapes)


def symbolic_axis(shape: Sequence[Any]) -> int:
    """The one varying axis of a shape; -1: none, -2: several."""
    axes = [d for d, extent in enumerate(shape) if type(extent) is SymbolicExtent]
    return axes[0] if len(axes) == 1 else -2 if axes else -1
