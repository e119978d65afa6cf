"""What tests of kernels share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from loopdbg.runtime.kernels import drivers
from loopdbg.runtime.kernels.routines import int8
from processors import BYTES, LANES, needs


@pytest.fixture(params=[1, 2, 3, 4, 5], ids=["any", "avx2", "avxvnni", "avx512", "amx"])
def way(request: Any) -> Iterator[None]:
    """Each way to multiply 8-bit integers that this processor has."""
    needs(int8.use(request.param), BYTES[request.param])
    yield
    int8.use(0)


@pytest.fixture(params=[1, 2, 3], ids=["any", "AVX2", "AVX-512"])
def tiling(request: Any) -> Iterator[int]:
    """Each way to multiply matrices of float32 that this processor has."""
    needs(drivers.use_tiling(request.param), LANES[request.param])
    yield request.param
    drivers.use_tiling(0)
