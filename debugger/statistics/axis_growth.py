"""Compares two tensors that differ in the length of one axis, as a cache before and after it grew: the common part and
the rows that only one of them has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...runtime.graph import Array
from ...runtime.text import count_text
from .tensor_statistics import TensorRef


@dataclass(frozen=True)
class AxisGrowth:
    """How the shape of a tensor differs from that of another one. ``common_rows``: rows along ``axis`` in both;
    ``added_rows``: rows only in this one, negative if it has fewer. ``one_dimensional``: there is no other axis.

    >>> AxisGrowth.from_shapes((1, 4, 6, 8), (1, 4, 7, 8))
    AxisGrowth(axis=2, common_rows=6, added_rows=1, one_dimensional=False)
    >>> AxisGrowth.from_shapes((2, 3), (3, 2)) is None
    True
    """

    axis: int
    common_rows: int
    added_rows: int
    one_dimensional: bool = False

    @classmethod
    def from_shapes(cls, before: Sequence[int], after: Sequence[int]) -> AxisGrowth | None:
        """The growth from one shape to another; None if they differ in more than the length of one axis."""
        axes = [axis for axis, (a, b) in enumerate(zip(before, after, strict=False)) if a != b]
        if len(before) != len(after) or len(axes) != 1:
            return None
        axis = axes[0]
        return cls(axis, min(before[axis], after[axis]), after[axis] - before[axis], len(after) == 1)

    @property
    def label(self) -> str:
        """``1 new row on axis 2``, ``2 elements fewer``."""
        text = (
            count_text(self.added_rows, f"new {self.row_noun}")
            if self.added_rows > 0
            else f"{count_text(-self.added_rows, self.row_noun)} fewer"
        )
        return text if self.one_dimensional else f"{text} on axis {self.axis}"

    @property
    def row_noun(self) -> str:
        """The noun for one index of the axis."""
        return "element" if self.one_dimensional else "row"

    def rows_in_both(self, tensor: TensorRef) -> TensorRef:
        """A view of the rows that both tensors have."""
        index = (slice(None),) * self.axis + (slice(0, self.common_rows),)
        shape = (*tensor.shape[: self.axis], self.common_rows, *tensor.shape[self.axis + 1 :])

        def view(array: Array) -> Array:
            part: Array = array[index]
            return part

        return TensorRef(tensor.dtype, shape, lambda function: tensor.with_array(lambda array: function(view(array))))

    def flat_position(self, position: int, shape: Sequence[int]) -> int:
        """Convert a flat position in the common part to a flat position in a tensor of ``shape``."""
        common_shape = (*shape[: self.axis], self.common_rows, *shape[self.axis + 1 :])
        return int(np.ravel_multi_index(np.unravel_index(position, common_shape), tuple(shape)))
