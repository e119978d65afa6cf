"""Loops of scalars: the overhead of an iteration."""

from __future__ import annotations

import functools

import numpy as np
import onnx

from case import BenchmarkCase, Inputs, f32, i64, parse

# The inputs of both scalar loops: v grows throughout, and the limit is never reached.
_SCALAR = {"v0": 0.0, "a": 0.99999, "b": 1.0, "limit": 1e9}


def _scalar_inputs(iterations: int) -> Inputs:
    values = {name: f32(value) for name, value in _SCALAR.items()}
    return {"M": i64(iterations), "cond": np.array(True), **values}


def scalar(iterations: int = 100_000) -> BenchmarkCase:
    """v = v*a + b while v < limit, with a trip count and a condition."""

    def build() -> onnx.ModelProto:
        return parse("""
            scalar (int64 M, bool cond, float v0, float a, float b, float limit) => (float v_last) {
              v_last = Loop (M, cond, v0) <
                body: graph = step (int64 i, bool keep_in, float v) => (bool keep, float v_next) {
                  product = Mul (v, a)
                  v_next = Add (product, b)
                  keep = Less (v_next, limit)
                }>
            }
        """)

    inputs = functools.partial(_scalar_inputs, iterations)
    return BenchmarkCase(
        "scalar", "v = v*a + b while v < limit: Mul, Add, Less", iterations, build, inputs, speedup_goal=50
    )


def scalar_scan(iterations: int = 100_000) -> BenchmarkCase:
    """The same, with every v in a scan output."""

    def build() -> onnx.ModelProto:
        return parse("""
            scalar_scan (int64 M, bool cond, float v0, float a, float b, float limit) => (float v_last, float[n] vs) {
              v_last, vs = Loop (M, cond, v0) <
                body: graph = step (int64 i, bool keep_in, float v) => (bool keep, float v_next, float v_scan) {
                  product = Mul (v, a)
                  v_next = Add (product, b)
                  v_scan = Identity (v_next)
                  keep = Less (v_next, limit)
                }>
            }
        """)

    inputs = functools.partial(_scalar_inputs, iterations)
    return BenchmarkCase("scalar_scan", "the same with a scan output", iterations, build, inputs, speedup_goal=80)


# From 5, n -> n/2 or 3n + 11491 is a cycle of 6784 numbers, the largest of them 6 576 412: it never reaches 1, and a
# runtime that computes int64 with 32 bits has the same result.
_COLLATZ_START, _COLLATZ_ADDEND = 5, 11_491


def collatz(iterations: int = 100_000) -> BenchmarkCase:
    """The Collatz iteration with another addend, so that it is long."""

    def build() -> onnx.ModelProto:
        return parse("""
            collatz (int64 M, bool cond, int64 start, int64 addend) => (int64 n_last)
            <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64 three = {3}>
            {
              n_last = Loop (M, cond, start) <
                body: graph = step (int64 i, bool walking_in, int64 n) => (bool walking, int64 n_next) {
                  remainder = Mod (n, two)
                  is_even = Equal (remainder, zero)
                  halved = Div (n, two)
                  tripled = Mul (n, three)
                  odd_next = Add (tripled, addend)
                  n_next = Where (is_even, halved, odd_next)
                  walking = Greater (n_next, one)
                }>
            }
        """)

    def inputs() -> Inputs:
        numbers = {"start": i64(_COLLATZ_START), "addend": i64(_COLLATZ_ADDEND)}
        return {"M": i64(iterations), "cond": np.array(True), **numbers}

    description = "n/2 or 3n + c while n > 1, int64: Mod, Equal, Div, Mul, Add, Where, Greater"
    return BenchmarkCase("collatz", description, iterations, build, inputs, speedup_goal=25)


def mandelbrot(side: int = 32, limit: int = 100) -> BenchmarkCase:
    """A loop over the pixels around the escape loop of one pixel."""

    def build() -> onnx.ModelProto:
        return parse("""
            mandelbrot (int64 pixels, int64 side, int64 limit) => (int64[n] counts)
            <bool yes = {1}, int64 no_count = {0}, int64 one = {1}, float zero = {0}, float four = {4},
             float left = {-1.5}, float top = {-1}, float width = {2}>
            {
              side_f = Cast <to = 1> (side)
              pixel_step = Div (width, side_f)
              counts = Loop (pixels, yes) <
                body: graph = pixel_body (int64 pixel, bool more_in) => (bool more, int64 escape_count) {
                  row = Div (pixel, side)
                  column = Mod (pixel, side)
                  row_f = Cast <to = 1> (row)
                  column_f = Cast <to = 1> (column)
                  down = Mul (row_f, pixel_step)
                  right = Mul (column_f, pixel_step)
                  c_im = Add (top, down)
                  c_re = Add (left, right)
                  re_last, im_last, escape_count = Loop (limit, yes, zero, zero, no_count) <
                    body: graph = escape_body (int64 k, bool inside_in, float re, float im, int64 count)
                        => (bool inside, float re_next, float im_next, int64 count_next) {
                      re_re = Mul (re, re)
                      im_im = Mul (im, im)
                      re_im = Mul (re, im)
                      difference = Sub (re_re, im_im)
                      re_next = Add (difference, c_re)
                      twice = Add (re_im, re_im)
                      im_next = Add (twice, c_im)
                      distance = Add (re_re, im_im)
                      inside = Less (distance, four)
                      count_next = Add (count, one)
                    }>
                  more = Identity (more_in)
                }>
            }
        """)

    def inputs() -> Inputs:
        return {"pixels": i64(side * side), "side": i64(side), "limit": i64(limit)}

    iterations = int(escape_counts(side, limit).sum())
    description = f"nested, {side}x{side} pixels of up to {limit} iterations, 10 scalar nodes each"
    return BenchmarkCase("mandelbrot", description, iterations, build, inputs, speedup_goal=35)


def escape_counts(side: int, limit: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the results of ``mandelbrot``: the number of iterations of each pixel."""
    step = np.float32(2) / np.float32(side)
    row, column = (np.indices((side, side)).reshape(2, -1)).astype(np.float32)
    c = np.complex64(-1.5 - 1j) + (column + 1j * row).astype(np.complex64) * step
    c_re, c_im = c.real, c.imag
    re, im = np.zeros_like(c_re), np.zeros_like(c_im)
    inside = np.ones(c_re.shape, bool)
    counts = np.zeros(c_re.shape, np.int64)
    with np.errstate(all="ignore"):
        for _ in range(limit):
            counts += inside
            re_re, im_im = re * re, im * im
            re, im = re_re - im_im + c_re, re * im + re * im + c_im
            inside &= re_re + im_im < 4
    return counts
