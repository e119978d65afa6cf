"""A selected part of a tensor in NumPy slice syntax, ``h[0, :, 3]``, shown as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.graph import Array
from ...runtime.text import count_text
from .tensor_statistics import TensorRef

#: One axis of a slice: an index or a range.
Axis = int | range
_INTEGER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class TensorSlice:
    """A part of a tensor. ``axes``: an index or a range for each axis of the tensor."""

    axes: tuple[Axis, ...]

    @classmethod
    def full(cls, shape: Sequence[int]) -> TensorSlice:
        return cls(tuple(range(size) for size in shape))

    @classmethod
    def initial(cls, shape: Sequence[int]) -> TensorSlice:
        """The initial selection: axes of one element become an index unless no other axis is left."""
        if all(size == 1 for size in shape):
            return cls.full(shape)
        return cls(tuple(0 if size == 1 else range(size) for size in shape))

    @classmethod
    def parse(cls, text: str, shape: Sequence[int]) -> TensorSlice:
        """Parse a slice: ``0, :, 3``, ``[..., ::2]``, ``h[-1]``; a name before the bracket is ignored.

        Raises:
            UsageError: the text is not a slice, or does not fit the shape.
        """
        inner = _bracket_content(text)
        words = [word.strip() for word in inner.split(",")] if inner.strip() else []
        if words and not words[-1] and len(words) > 1:
            words.pop()  # a[3,]
        if words.count("...") > 1:
            raise UsageError("a slice has one '...' at most", name="...", expected="at most 1")
        if "..." not in words:
            words.append("...")
        count = len(words) - 1
        if count > len(shape):
            raise UsageError(
                f"{count_text(count, 'index', 'indices')} for {_axis_count_text(shape)}",
                expected=_axis_count_text(shape),
                got=str(count),
            )
        ellipsis = words.index("...")
        words[ellipsis : ellipsis + 1] = [":"] * (len(shape) - count)
        return cls(tuple(_parse_axis(word, size, k) for k, (word, size) in enumerate(zip(words, shape, strict=True))))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the part; an axis with an index is dropped."""
        return tuple(len(axis) for axis in self.axes if isinstance(axis, range))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def rows(self) -> int:
        """The number of table rows: the last axis is the columns."""
        return math.prod(self.shape[:-1])

    @property
    def columns(self) -> int:
        return self.shape[-1] if self.shape else 1

    @property
    def index(self) -> tuple[int | slice, ...]:
        """The index for NumPy."""
        return tuple(axis if isinstance(axis, int) else _as_slice(axis) for axis in self.axes)

    def text(self, full_shape: Sequence[int]) -> str:
        """``0, 0:256, 3``; a complete axis of ``full_shape`` is ``:``."""
        words = []
        for axis, size in zip(self.axes, full_shape, strict=True):
            if isinstance(axis, int):
                words.append(str(axis))
            elif axis == range(size):
                words.append(":")
            else:
                step = "" if axis.step == 1 else f":{axis.step}"
                stop = str(axis.stop) if axis.stop >= 0 else ""
                words.append(f"{axis.start}:{stop}{step}")
        return ", ".join(words)

    def tensor_index(self, row: int, column: int) -> tuple[int, ...]:
        """The index in the tensor of a cell of the table."""
        indices = iter((*_unravel(row, self.shape[:-1]), column) if self.shape else ())
        return tuple(axis if isinstance(axis, int) else axis[next(indices)] for axis in self.axes)

    def table_cell(self, index: Sequence[int]) -> tuple[int, int] | None:
        """Row and column of an element of the tensor; None if the part does not contain it."""
        inner: list[int] = []
        for axis, k in zip(self.axes, index, strict=True):
            if isinstance(axis, int):
                if axis != k:
                    return None
            elif k in axis:
                inner.append(axis.index(k))
            else:
                return None
        if not inner:
            return 0, 0
        row = int(np.ravel_multi_index(inner[:-1], self.shape[:-1])) if inner[:-1] else 0
        return row, inner[-1]

    def read_window(self, tensor: TensorRef, rows: range, columns: range) -> list[Array]:
        """Copies of some rows of the table, each of some columns; ranges are ascending."""
        shape = self.shape

        def read(array: Array) -> list[Array]:
            part = array[self.index]
            if not shape:
                return [np.array(part).reshape(1)]
            column_slice = slice(columns.start, columns.stop, columns.step)
            indices = ((*_unravel(row, shape[:-1]), column_slice) for row in rows)
            return [np.array(part[index]) for index in indices]

        return tensor.with_array(read)

    def read(self, tensor: TensorRef) -> Array:
        """A copy of the part."""
        return tensor.with_array(lambda array: np.array(array[self.index]))


def _unravel(row: int, shape: tuple[int, ...]) -> list[Any]:
    return [int(k) for k in np.unravel_index(row, shape)]


def _bracket_content(text: str) -> str:
    """The text between the brackets, or all of it without brackets."""
    text = text.strip()
    if "[" not in text and "]" not in text:
        return text
    if not text.endswith("]") or text.count("[") != 1 or text.count("]") != 1:
        raise UsageError(f"'{text}' is no slice; write it as in NumPy: [0, :, 3]", expected="a slice", got=text)
    return text[text.index("[") + 1 : -1]


def _axis_count_text(shape: Sequence[int]) -> str:
    if not shape:
        return "a scalar, which has no axis"
    return f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'}"


def _parse_axis(word: str, size: int, k: int) -> Axis:
    numbers = word.split(":")
    if len(numbers) > 3 or not all(
        _INTEGER.fullmatch(n.strip()) or (not n.strip() and len(numbers) > 1) for n in numbers
    ):
        raise UsageError(
            f"'{word}' is no index; write numbers, ranges such as 2:8 or ::2, or ...", expected="an index", got=word
        )
    if len(numbers) == 1:
        index = int(word)
        if not -size <= index < size:
            raise UsageError(
                f"index {index} is out of range: axis {k} has {size} element{'' if size == 1 else 's'}",
                name=f"axis {k}",
                expected=f"less than {size}",
                got=str(index),
            )
        return index % size
    bounds: list[Any] = [int(number) if number else None for number in numbers]
    if bounds[2:] == [0]:
        raise UsageError("the step of a range cannot be 0", name="step", got="0")
    return range(*slice(*bounds).indices(size))


def _as_slice(axis: range) -> slice:
    # A slice cannot express a descending stop before the first element.
    return slice(axis.start, axis.stop if axis.stop >= 0 else None, axis.step)
