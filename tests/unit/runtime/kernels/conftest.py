"""What tests of kernels share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cpu_features import FLOAT_LEVELS, INT8_LEVELS, LEVEL_NAMES, limit_to


@pytest.fixture(params=INT8_LEVELS, ids=LEVEL_NAMES.get)
def way(request: Any) -> Iterator[None]:
    """Each way to multiply 8-bit integers that this processor has."""
    with limit_to(request.param):
        yield


@pytest.fixture(params=FLOAT_LEVELS, ids=LEVEL_NAMES.get)
def width(request: Any) -> Iterator[int]:
    """Each width of vectors that this processor has."""
    with limit_to(request.param):
        yield request.param
