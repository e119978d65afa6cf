"""The benchmark loops in C, compiled if a compiler is installed: the cost of the arithmetic alone."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from case import Array, BenchmarkCase, Inputs, Outputs, f32, i64

SOURCES = Path(__file__).resolve().parent / "twins"
# Do not fuse multiplications and additions: the runtimes round after each.
FLAGS = ("-O3", "-ffp-contract=off", "-shared", "-fPIC")

_int64, _float, _pointer = ctypes.c_int64, ctypes.c_float, ctypes.c_void_p
_Run = Callable[[], Outputs]


class NoTwinError(Exception):
    """No C twin of a case, or no compiler."""


def compiler() -> str | None:
    """Return the path of gcc, or None if it is missing."""
    return shutil.which("gcc")


@functools.cache
def _compiled_library() -> ctypes.CDLL:
    """All twins, compiled into a temporary folder: the loaded library needs no file.

    Raises:
        NoTwinError: no compiler, or it failed.
    """
    gcc = compiler()
    if gcc is None:
        raise NoTwinError("no gcc")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        target = Path(folder) / "twins.so"
        sources = map(str, sorted(SOURCES.glob("*.c")))
        proc = subprocess.run([gcc, *FLAGS, "-o", str(target), *sources, "-lm"], capture_output=True, encoding="utf-8")
        if proc.returncode:
            raise NoTwinError(f"gcc failed: {proc.stderr.strip()}")
        return ctypes.CDLL(str(target))


def _typed_function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    function = getattr(_compiled_library(), name)
    function.restype, function.argtypes = result, arguments
    return function  # type: ignore[no-any-return]


def _input_numbers(inputs: Inputs, *names: str) -> list[int | float]:
    return [inputs[name].item() for name in names]


def _scalar(inputs: Inputs) -> _Run:
    call = _typed_function("scalar", _float, _int64, *[_float] * 4)
    arguments = _input_numbers(inputs, "M", "v0", "a", "b", "limit")
    return lambda: {"v_last": f32(call(*arguments))}


def _scalar_scan(inputs: Inputs) -> _Run:
    call = _typed_function("scalar_scan", _float, _int64, *[_float] * 4, _pointer, _pointer)
    arguments = _input_numbers(inputs, "M", "v0", "a", "b", "limit")

    def run() -> Outputs:
        vs, count = np.empty(int(arguments[0]), np.float32), i64(0)
        v_last = call(*arguments, vs.ctypes.data, count.ctypes.data)
        return {"v_last": np.array(v_last, np.float32), "vs": vs[: int(count)]}

    return run


def _collatz(inputs: Inputs) -> _Run:
    call = _typed_function("collatz", _int64, _int64, _int64, _int64)
    arguments = _input_numbers(inputs, "M", "start", "addend")
    return lambda: {"n_last": i64(call(*arguments))}


def _mandelbrot(inputs: Inputs) -> _Run:
    call = _typed_function("mandelbrot", None, _int64, _int64, _pointer)
    side, limit = _input_numbers(inputs, "side", "limit")

    def run() -> Outputs:
        counts: Array = np.empty(int(side) ** 2, np.int64)
        call(side, limit, counts.ctypes.data)
        return {"counts": counts}

    return run


def _heat(inputs: Inputs) -> _Run:
    call = _typed_function("heat", ctypes.c_int, _int64, _pointer, _int64, _float, _float)
    trips, k, tol = _input_numbers(inputs, "M", "k", "tol")

    def run() -> Outputs:
        u = inputs["u0"].copy()
        if call(trips, u.ctypes.data, len(u), k, tol):
            raise MemoryError("the C twin of heat got no memory")
        return {"u_last": u}

    return run


_TWINS = {
    "scalar": _scalar,
    "scalar_scan": _scalar_scan,
    "collatz": _collatz,
    "mandelbrot": _mandelbrot,
    "heat": _heat,
}


def prepare(case: BenchmarkCase, inputs: Inputs) -> _Run:
    """Return the case's C twin, ready to be called.

    Raises:
        NoTwinError: no twin, or no compiler.
    """
    if case.name not in _TWINS:
        raise NoTwinError
    return _TWINS[case.name](inputs)
