"""The history of values over all iterations: exact for some hundreds of iterations, then aggregated in buckets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
#: Above this not every integer is exact in float64.
_MAX_EXACT_INTEGER = 2.0**53


class Series(NamedTuple):
    """One number over iterations, one element per bucket. ``low`` and ``high``: range of the finite numbers (NaN
    without any); ``odd``: the count of numbers that are not finite."""

    low: Numbers
    high: Numbers
    first: Numbers
    last: Numbers
    odd: Numbers


@dataclass(frozen=True, eq=False)
class ValueHistory:
    """The history of one value over all iterations, including the current one.

    A bucket covers ``bucket`` iterations, the last one possibly fewer, and ``iterations`` holds the first iteration of
    each. Up to 512 iterations each has its own bucket; then the bucket size doubles as needed.
    """

    name: str
    iterations: npt.NDArray[np.int64]
    bucket: int
    #: The value if it has one element, else its norm.
    value: Series
    #: Of the finite elements of a tensor; None for a value of one element.
    min: Series | None = None
    max: Series | None = None
    mean: Series | None = None
    #: False if memory ran out, so that iterations are missing at the end.
    is_complete: bool = True

    def __len__(self) -> int:
        return len(self.iterations)

    def __repr__(self) -> str:
        each = "" if self.bucket == 1 else f", {self.bucket} iterations each"
        return f"<History of {self.name}: {len(self)} {'norms' if self.is_tensor else 'values'}{each}>"

    @property
    def is_tensor(self) -> bool:
        """Whether ``value`` is a norm."""
        return self.min is not None

    @property
    def values(self) -> Numbers:
        """The value, or the norm, at the end of each bucket."""
        return self.value.last

    @property
    def extremes(self) -> Numbers:
        """``values`` if each iteration has its own bucket; else the minimum and maximum of each bucket, and NaN if any
        number is not finite."""
        if self.bucket == 1:
            return self.value.last
        odd = np.where(self.value.odd > 0, np.nan, self.value.high)
        return np.stack([self.value.low, self.value.high, odd], axis=1).reshape(-1)


def is_exact(numbers: npt.ArrayLike, dtype: str) -> bool:
    """Whether numbers of a history are exact: histories hold float64, which rounds large 64-bit integers."""
    return dtype not in ("int64", "uint64") or bool((np.abs(numbers) < _MAX_EXACT_INTEGER).all())


class Evolution(Mapping[str, ValueHistory]):
    """Histories of a loop's carried values and of the operands of its deciding comparison, by name.

    Iterations are counted as in ``x@3``: carried values begin with the input of iteration 0; at a boundary a value that
    the body computes has one iteration less.
    """

    def __init__(
        self, histories: Mapping[str, ValueHistory], sides: tuple[ValueHistory, ValueHistory] | None = None
    ) -> None:
        self._histories = histories
        #: Both sides of the deciding comparison; None if the condition is not one comparison, or unknown.
        self.sides = sides

    def __getitem__(self, name: str) -> ValueHistory:
        return self._histories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._histories)

    def __len__(self) -> int:
        return len(self._histories)


EMPTY_EVOLUTION = Evolution({})
