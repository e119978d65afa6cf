"""Loops of small tensors of fixed shape: a few numbers each, and many nodes."""

from __future__ import annotations

import numpy as np
import onnx

from case import Array, BenchmarkCase, Inputs, f32, parse, trip_count_inputs, uniform


def newton(iterations: int = 20_000) -> BenchmarkCase:
    """Newton's method for z^3 = 1 from 16 points, complex numbers as pairs; a finished point restarts."""

    def build() -> onnx.ModelProto:
        return parse("""
            newton (int64 M, bool cond, float[2,16] z0) => (float[2,16] z_last)
            <int64[2] parts = {1, 1}, float third = {0.33333334}, float two = {2}, float tiny = {1e-12}>
            {
              z_last = Loop (M, cond, z0) <
                body: graph = step (int64 i, bool more_in, float[2,16] z) => (bool more, float[2,16] z_next) {
                  re, im = Split <axis = 0> (z, parts)
                  rr = Mul (re, re)
                  ii = Mul (im, im)
                  size = Add (rr, ii)
                  safe = Max (size, tiny)
                  square_re = Sub (rr, ii)
                  ri = Mul (re, im)
                  square_im = Mul (ri, two)
                  scale = Mul (safe, safe)
                  w_re = Div (square_re, scale)
                  w_im_negative = Div (square_im, scale)
                  w_im = Neg (w_im_negative)
                  w = Concat <axis = 0> (w_re, w_im)
                  zz = Mul (z, two)
                  sum = Add (zz, w)
                  z_near = Mul (sum, third)
                  shift = Sub (z_near, z)
                  moved = Mul (shift, shift)
                  done = Less (moved, tiny)
                  z_next = Where (done, z0, z_near)
                  more = Identity (more_in)
                }>
            }
        """)

    def inputs() -> Inputs:
        return {**trip_count_inputs(iterations), "z0": uniform(11, 2, 16, low=-1.5, high=1.5)}

    return BenchmarkCase("newton", "Newton for z^3 = 1 from 16 points, [2, 16]: 20 nodes", iterations, build, inputs)


#: x' = A x with A computed from x: (s (y - x), x (r - z) - y, x y - b z), four times per iteration.
_LORENZ = """
  {k}_x, {k}_y, {k}_z = Split <axis = 0> ({p}, ones)
  {k}_yx = Sub ({k}_y, {k}_x)
  {k}_dx = Mul (s, {k}_yx)
  {k}_rz = Sub (r, {k}_z)
  {k}_xrz = Mul ({k}_x, {k}_rz)
  {k}_dy = Sub ({k}_xrz, {k}_y)
  {k}_xy = Mul ({k}_x, {k}_y)
  {k}_bz = Mul (b, {k}_z)
  {k}_dz = Sub ({k}_xy, {k}_bz)
  {k} = Concat <axis = 0> ({k}_dx, {k}_dy, {k}_dz)
"""


def rk4(iterations: int = 20_000) -> BenchmarkCase:
    """The Lorenz system by Runge-Kutta, with all states as outputs."""
    slopes = [_LORENZ.format(k=k, p=p) for k, p in zip("efgh", ("state", "pe", "pf", "pg"), strict=True)]
    middle = [
        f"h{k} = Mul ({k}, {step})\n p{k} = Add (state, h{k})\n"
        for k, step in zip("efg", ("half", "half", "whole"), strict=True)
    ]

    def build() -> onnx.ModelProto:
        return parse(f"""
            rk4 (int64 M, bool cond, float[3] x0) => (float[3] x_last, float[n,3] xs)
            <int64[3] ones = {{1, 1, 1}}, float s = {{10}}, float r = {{14}}, float b = {{2.6666667}},
             float half = {{0.005}}, float whole = {{0.01}}, float sixth = {{0.0016666667}}, float two = {{2}}>
            {{
              x_last, xs = Loop (M, cond, x0) <
                body: graph = step (int64 i, bool more_in, float[3] state)
                    => (bool more, float[3] state_next, float[3] row) {{
                  {slopes[0]} {middle[0]} {slopes[1]} {middle[1]} {slopes[2]} {middle[2]} {slopes[3]}
                  fg = Add (f, g)
                  fg2 = Mul (fg, two)
                  eh = Add (e, h)
                  slope = Add (eh, fg2)
                  moved = Mul (slope, sixth)
                  state_next = Add (state, moved)
                  row = Identity (state_next)
                  more = Identity (more_in)
                }}>
            }}
        """)

    def inputs() -> Inputs:
        return {**trip_count_inputs(iterations), "x0": f32([1.0, 1.0, 1.0])}

    # With r = 14 it converges, so that different rounding has the same limit.
    return BenchmarkCase("rk4", "Lorenz by RK4, [3], states kept: 53 nodes", iterations, build, inputs)


def quaternion(iterations: int = 20_000) -> BenchmarkCase:
    """A rotating body: q = q * r, normalized, with its direction as an output."""

    def build() -> onnx.ModelProto:
        return parse("""
            quaternion (int64 M, bool cond, float[4] q0, float[N,4] turns) => (float[4] q_last, float[n,3] ahead)
            <int64[4] wwww = {0, 0, 0, 0}, int64[4] xxxx = {1, 1, 1, 1}, int64[4] yyyy = {2, 2, 2, 2},
             int64[4] zzzz = {3, 3, 3, 3}, int64[4] xwzy = {1, 0, 3, 2}, int64[4] yzwx = {2, 3, 0, 1},
             int64[4] zyxw = {3, 2, 1, 0},
             float[4] sx = {-1, 1, 1, -1}, float[4] sy = {-1, -1, 1, 1}, float[4] sz = {-1, 1, -1, 1},
             int64[1] zero = {0}, int64[1] one = {1}, int64[1] four = {4}>
            {
              q_last, ahead = Loop (M, cond, q0) <
                body: graph = step (int64 i, bool more_in, float[4] q) => (bool more, float[4] q_next, float[3] axis) {
                  t = Gather <axis = 0> (turns, i)
                  w = Gather <axis = 0> (q, wwww)
                  x = Gather <axis = 0> (q, xxxx)
                  y = Gather <axis = 0> (q, yyyy)
                  z = Gather <axis = 0> (q, zzzz)
                  tx = Gather <axis = 0> (t, xwzy)
                  ty = Gather <axis = 0> (t, yzwx)
                  tz = Gather <axis = 0> (t, zyxw)
                  a = Mul (w, t)
                  xt = Mul (x, tx)
                  b = Mul (xt, sx)
                  yt = Mul (y, ty)
                  c = Mul (yt, sy)
                  zt = Mul (z, tz)
                  d = Mul (zt, sz)
                  ab = Add (a, b)
                  cd = Add (c, d)
                  product = Add (ab, cd)
                  squares = Mul (product, product)
                  length2 = ReduceSum <keepdims = 1> (squares, zero)
                  length = Sqrt (length2)
                  q_next = Div (product, length)
                  axis = Slice (q_next, one, four, zero)
                  more = Identity (more_in)
                }>
            }
        """)

    def inputs() -> Inputs:
        turns: Array = uniform(12, iterations, 4, low=-0.1, high=0.1)
        turns[:, 0] = 1
        return {**trip_count_inputs(iterations), "q0": f32([1.0, 0.0, 0.0, 0.0]), "turns": turns}

    return BenchmarkCase(
        "quaternion", "q = q * r / |q|, [4], directions kept: 23 nodes", iterations, build, inputs, rtol=1e-2
    )


def rotation(iterations: int = 20_000) -> BenchmarkCase:
    """A 3x3 matrix that a product rotates, and the vector that it transforms."""

    def build() -> onnx.ModelProto:
        return parse("""
            rotation (int64 M, bool cond, float[3,3] a0, float[3,3] turn, float[3] v)
                => (float[3,3] a_last, float[n,3] vs)
            <float most = {10}, float least = {-10}>
            {
              a_last, vs = Loop (M, cond, a0) <
                body: graph = step (int64 i, bool more_in, float[3,3] a)
                    => (bool more, float[3,3] a_next, float[3] moved) {
                  product = MatMul (a, turn)
                  low = Max (product, least)
                  a_next = Min (low, most)
                  moved = MatMul (a_next, v)
                  more = Identity (more_in)
                }>
            }
        """)

    def inputs() -> Inputs:
        c, s = np.cos(0.01), np.sin(0.01)
        turn = f32([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        return {**trip_count_inputs(iterations), "a0": np.eye(3, dtype=np.float32), "turn": turn, "v": f32([1, 2, 3])}

    return BenchmarkCase(
        "rotation", "A = A @ R and A @ v, [3, 3]: 2 MatMul, 2 others", iterations, build, inputs, rtol=1e-2
    )


def hashing(iterations: int = 20_000) -> BenchmarkCase:
    """Eight parallel random number generators, the low bits of each mixed into its neighbour."""

    def build() -> onnx.ModelProto:
        return parse("""
            hashing (int64 M, bool cond, int64[8] h0) => (int64[8] h_last)
            <int64 factor = {6364136223846793005}, int64 addend = {1442695040888963407}, int64 low = {65536},
             int64[8] around = {7, 0, 1, 2, 3, 4, 5, 6}>
            {
              h_last = Loop (M, cond, h0) <
                body: graph = step (int64 i, bool more_in, int64[8] h) => (bool more, int64[8] h_next) {
                  product = Mul (h, factor)
                  sum = Add (product, addend)
                  bits = Mod (sum, low)
                  turned = Gather <axis = 0> (bits, around)
                  mixed = Add (sum, turned)
                  h_next = Add (mixed, i)
                  more = Identity (more_in)
                }>
            }
        """)

    def inputs() -> Inputs:
        return {**trip_count_inputs(iterations), "h0": np.arange(8, dtype=np.int64)}

    return BenchmarkCase(
        "hashing", "h = h * a + b + (neighbour mod 65536), int64 [8]: 7 nodes", iterations, build, inputs
    )


def beams(iterations: int = 5_000) -> BenchmarkCase:
    """The state of a beam search without its network: 4 beams, 8 words each, the best ones continue."""

    def build() -> onnx.ModelProto:
        return parse("""
            beams (int64 M, bool cond, float[4] scores0, float[N,4,8] logits)
                => (float[4] scores_last, int64[n,4] parents, int64[n,4] words)
            <int64[2] column = {4, 1}, int64[1] flat = {-1}, int64[1] four = {4}, int64 eight = {8},
             float decay = {0.9}>
            {
              scores_last, parents, words = Loop (M, cond, scores0) <
                body: graph = step (int64 i, bool more_in, float[4] scores)
                    => (bool more, float[4] scores_next, int64[4] parent, int64[4] word) {
                  row = Gather <axis = 0> (logits, i)
                  kept = Mul (scores, decay)
                  old = Reshape (kept, column)
                  sums = Add (row, old)
                  all = Reshape (sums, flat)
                  scores_next, best = TopK (all, four)
                  parent = Div (best, eight)
                  word = Mod (best, eight)
                  more = Identity (more_in)
                }>
            }
        """)

    def inputs() -> Inputs:
        logits = uniform(13, iterations, 4, 8, low=-2, high=0)
        return {**trip_count_inputs(iterations), "scores0": np.zeros(4, np.float32), "logits": logits}

    return BenchmarkCase("beams", "the best 4 of 4x8, by TopK, Div, Mod: 9 nodes", iterations, build, inputs)
