"""A tensor beside another one that is shorter or longer along one axis, as a cache before and after it grew: what both
have, and which rows only one of them has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...runtime.graph import Array
from ...runtime.text import counted
from .tensor import TensorRef


@dataclass(frozen=True)
class Growth:
    """How the shape of a tensor differs from that of another one. ``common``: so many rows along ``axis`` both have;
    ``more``: so many more the tensor has, negative where it has fewer. ``flat``: it has no other axis.

    >>> Growth.between((1, 4, 6, 8), (1, 4, 7, 8))
    Growth(axis=2, common=6, more=1, flat=False)
    >>> Growth.between((2, 3), (3, 2)) is None
    True
    """

    axis: int
    common: int
    more: int
    flat: bool = False

    @classmethod
    def between(cls, before: Sequence[int], after: Sequence[int]) -> Growth | None:
        """From one shape to another; None where they differ in other than the length of one axis."""
        axes = [axis for axis, (a, b) in enumerate(zip(before, after, strict=False)) if a != b]
        if len(before) != len(after) or len(axes) != 1:
            return None
        axis = axes[0]
        return cls(axis, min(before[axis], after[axis]), after[axis] - before[axis], len(after) == 1)

    @property
    def told(self) -> str:
        """``1 new row on axis 2``, ``2 elements fewer``."""
        what = counted(self.more, f"new {self.row}") if self.more > 0 else f"{counted(-self.more, self.row)} fewer"
        return what if self.flat else f"{what} on axis {self.axis}"

    @property
    def row(self) -> str:
        """What stands at one place of the axis."""
        return "element" if self.flat else "row"

    def shared(self, tensor: TensorRef) -> TensorRef:
        """The rows of either that both have; nothing is copied."""
        index = (slice(None),) * self.axis + (slice(0, self.common),)
        shape = (*tensor.shape[: self.axis], self.common, *tensor.shape[self.axis + 1 :])

        def view(whole: Array) -> Array:
            part: Array = whole[index]
            return part

        return TensorRef(tensor.dtype, shape, lambda do: tensor.use(lambda whole: do(view(whole))))

    def place(self, at: int, shape: Sequence[int]) -> int:
        """Where in a tensor of a shape an element of what both have lies, both as flat positions."""
        inner = (*shape[: self.axis], self.common, *shape[self.axis + 1 :])
        return int(np.ravel_multi_index(np.unravel_index(at, inner), tuple(shape)))
