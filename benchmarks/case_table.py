"""The cases, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable

from case import BenchmarkCase
from cell_models import greedy, lstm, two_lstm
from scalar_models import collatz, mandelbrot, scalar, scalar_scan
from tensor_models import cache, grow, heat, ssm
from vector_models import beams, hashing, newton, quaternion, rk4, rotation

CASES: dict[str, Callable[[], BenchmarkCase]] = {
    function.__name__: function
    for function in (
        *(scalar, scalar_scan, collatz, mandelbrot, newton, rk4, quaternion, rotation, hashing, beams),
        *(heat, lstm, grow, cache, ssm, two_lstm, greedy),
    )
}
