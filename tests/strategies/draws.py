"""The sources of a generator's choices: hypothesis, which shrinks them, or a seed, which is fast and reproducible."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class ChoiceSource(Protocol):
    """Makes choices. The first element of a sequence and the lowest number are the simplest."""

    def integer(self, low: int, high: int) -> int: ...

    def pick(self, choices: Sequence[T]) -> T: ...

    def chance(self, percent: int) -> bool: ...


class SeededChoices:
    """The same choices for the same seed on every machine."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(str(seed))

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self._random.randrange(len(choices))]

    def chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent


class HypothesisChoices:
    """Choices made by hypothesis, which simplifies them when a test fails."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self._draw(st.integers(0, len(choices) - 1))]

    def chance(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) >= 100 - percent
