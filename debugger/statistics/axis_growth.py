"""A tensor beside another one that is shorter or longer along one axis, as a cache before and after it grew: what both
have, and which rows only one of them has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...runtime.graph import Array
from ...runtime.text import count_text
from .tensor_ref import TensorRef


@dataclass(frozen=True)
class AxisGrowth:
    """How the shape of a tensor differs from that of another one. ``common``: so many rows along ``axis`` both have;
    ``more``: so many more the tensor has, negative where it has fewer. ``flat``: it has no other axis.

    >>> Growth.between((1, 4, 6, 8), (1, 4, 7, 8))
    Growth(axis=2, common=6, more=1, flat=False)
    >>> Growth.between((2, 3), (3, 2)) is None
    True
    """

    axis: int
    common_rows: int
    added_rows: int
    one_dimensional: bool = False

    @classmethod
    def from_shapes(cls, before: Sequence[int], after: Sequence[int]) -> AxisGrowth | None:
        """From one shape to another; None where they differ in other than the length of one axis."""
        axes = [axis for axis, (a, b) in enumerate(zip(before, after, strict=False)) if a != b]
        if len(before) != len(after) or len(axes) != 1:
            return None
        axis = axes[0]
        return cls(axis, min(before[axis], after[axis]), after[axis] - before[axis], len(after) == 1)

    @property
    def label(self) -> str:
        """``1 new row on axis 2``, ``2 elements fewer``."""
        what = (
            count_text(self.added_rows, f"new {self.row_noun}")
            if self.added_rows > 0
            else f"{count_text(-self.added_rows, self.row_noun)} fewer"
        )
        return what if self.one_dimensional else f"{what} on axis {self.axis}"

    @property
    def row_noun(self) -> str:
        """What stands at one place of the axis."""
        return "element" if self.one_dimensional else "row"

    def common_part(self, tensor: TensorRef) -> TensorRef:
        """The rows of either that both have; nothing is copied."""
        index = (slice(None),) * self.axis + (slice(0, self.common_rows),)
        shape = (*tensor.shape[: self.axis], self.common_rows, *tensor.shape[self.axis + 1 :])

        def view(whole: Array) -> Array:
            part: Array = whole[index]
            return part

        return TensorRef(tensor.dtype, shape, lambda do: tensor.with_array(lambda whole: do(view(whole))))

    def flat_position(self, at: int, shape: Sequence[int]) -> int:
        """Where in a tensor of a shape an element of what both have lies, both as flat positions."""
        inner = (*shape[: self.axis], self.common_rows, *shape[self.axis + 1 :])
        return int(np.ravel_multi_index(np.unravel_index(at, inner), tuple(shape)))
