"""A scope with a value of each kind."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from loopdbg.debugger.expression.expression import ExpressionError, ScopeError, UnknownNameError, parse


class SampleScope:
    """A scope in iteration 12: x@n is x + n, the previous value is half of the value."""

    iteration = 12

    def __init__(self, trip_count: int | None = None, condition: bool | None = True, **values: Any) -> None:
        self.trip_count, self.condition, self.values = trip_count, condition, values

    def names(self) -> Collection[str]:
        return list(self.values)

    def value(self, name: str) -> Any:
        if name == "late":
            raise ScopeError("'late' is not computed yet in iteration 12")
        if name not in self.values:
            raise UnknownNameError(name)
        return self.values[name]

    def previous(self, name: str) -> Any:
        return self.value(name) / self.value(name).dtype.type(2)

    def initial(self, name: str) -> Any:
        return np.zeros_like(self.value(name))

    def value_at(self, name: str, iteration: int) -> Any:
        return self.value(name) + self.value(name).dtype.type(iteration)


H = np.array([[1, -2, 3.5], [0, 8, 2]], np.float32)


SAMPLE_SCOPE = SampleScope(
    h=H,
    x=np.array(2.5, np.float32),
    n=np.array(5),
    k=np.array([1, 2, 3], np.int8),
    u=np.array([3, 250], np.uint8),
    big=np.array(2**62),
    flag=np.array([True]),
    flags=np.array([True, False]),
    half=np.array([1, 60000], np.float16),
    b=np.array([0.5, -2], ml_dtypes.bfloat16),
    f8=np.array([0.5, 448], ml_dtypes.float8_e4m3fn),
    q=np.array([7, -8], ml_dtypes.int4),
    z=np.array([3 + 4j], np.complex64),
    bad=np.array([1, np.nan, -np.inf], np.float32),
    s=np.array(["yes", "no"], object),
    word=np.array("go", object),
    seq=[np.zeros(3, np.float32), np.ones((2, 2), np.float32)],
    nothing=None,
    empty=np.zeros((0, 3), np.float32),
    max=np.array(7),
    cond=np.array(99),
    **{"/rnn/h:0": np.array(1.5, np.float32), "a`b": np.array(4), "température": np.array(20)},
)


def value(text: str) -> Any:
    return parse(text).evaluate(SAMPLE_SCOPE)


def error(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        value(text)
    return caught.value
