"""What tests of kernels share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from processors import BYTES, FLOATS, NAMES, only


@pytest.fixture(params=BYTES, ids=NAMES.get)
def way(request: Any) -> Iterator[None]:
    """Each way to multiply 8-bit integers that this processor has."""
    with only(request.param):
        yield


@pytest.fixture(params=FLOATS, ids=NAMES.get)
def width(request: Any) -> Iterator[int]:
    """Each width of vectors that this processor has."""
    with only(request.param):
        yield request.param
