"""What values were in all iterations so far: as numbers, and beyond some hundreds of iterations in buckets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
#: From here on not every integer is a float64.
_MAX_EXACT_INTEGER = 2.0**53


class Series(NamedTuple):
    """One number over iterations, a bucket an element. ``low`` and ``high`` are of the finite ones (NaN: there are
    none); ``odd``: how many are not finite."""

    low: Numbers
    high: Numbers
    first: Numbers
    last: Numbers
    odd: Numbers


@dataclass(frozen=True, eq=False)
class ValueHistory:
    """What one value was in all iterations so far, including the present one.

    A bucket has ``bucket`` iterations, the last one perhaps fewer, and begins with that of ``iterations``. Up to 512
    iterations that is one each; then buckets double as often as there would be more.
    """

    name: str
    iterations: npt.NDArray[np.int64]
    bucket: int
    #: The value where it is one element, else its norm.
    value: Series
    #: Of the elements of a tensor, as far as they are finite; None of a value of one element.
    min: Series | None = None
    max: Series | None = None
    mean: Series | None = None
    #: False where memory ran out: iterations are missing at the end.
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
        """The value, or the norm, at the end of each bucket: with buckets of one iteration all there are."""
        return self.value.last

    @property
    def extremes(self) -> Numbers:
        """Nothing but ``values`` where each iteration has its own; else of each bucket the smallest and the largest,
        and NaN where something was not finite."""
        if self.bucket == 1:
            return self.value.last
        odd = np.where(self.value.odd > 0, np.nan, self.value.high)
        return np.stack([self.value.low, self.value.high, odd], axis=1).reshape(-1)


def is_exact(number: float, dtype: str) -> bool:
    """Whether a number of a history is the value itself: histories hold float64, which rounds large 64-bit integers."""
    return dtype not in ("int64", "uint64") or abs(number) < _MAX_EXACT_INTEGER


class Evolution(Mapping[str, ValueHistory]):
    """The histories of a loop's carried values, and of what its deciding comparison compares, by name.

    What an iteration gets is of that iteration, as ``x@3`` is: carried values begin with what iteration 0 gets, and
    what a body computes has one iteration less at a boundary.
    """

    def __init__(
        self, histories: Mapping[str, ValueHistory], sides: tuple[ValueHistory, ValueHistory] | None = None
    ) -> None:
        self._histories = histories
        #: Of the two sides of the deciding comparison; None where it is not one comparison, or not known.
        self.sides = sides

    def __getitem__(self, name: str) -> ValueHistory:
        return self._histories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._histories)

    def __len__(self) -> int:
        return len(self._histories)


EMPTY_EVOLUTION = Evolution({})
