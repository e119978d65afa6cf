"""Loops of tensors: kernels, memory and carried data."""

from __future__ import annotations

import numpy as np
import onnx

from case import BenchmarkCase, Inputs, f32, i64, parse, trip_count_inputs, uniform


def heat(side: int = 256, iterations: int = 200) -> BenchmarkCase:
    """Explicit heat diffusion on a square plate, until convergence."""

    def build() -> onnx.ModelProto:
        return parse(
            f"""
            heat (int64 M, bool cond, float[{side},{side}] u0, float k, float tol) => (float[{side},{side}] u_last)
            <float four = {{4}}>
            {{
              u_last = Loop (M, cond, u0) <
                body: graph = step (int64 i, bool moving_in, float[{side},{side}] u)
                    => (bool moving, float[{side},{side}] u_next) {{
                  padded = Pad <mode = "edge"> (u, pads)
                  up = Slice (padded, up_start, up_end, axes)
                  down = Slice (padded, down_start, down_end, axes)
                  left = Slice (padded, left_start, left_end, axes)
                  right = Slice (padded, right_start, right_end, axes)
                  vertical = Add (up, down)
                  horizontal = Add (left, right)
                  neighbours = Add (vertical, horizontal)
                  centre = Mul (u, four)
                  laplacian = Sub (neighbours, centre)
                  change = Mul (laplacian, k)
                  u_next = Add (u, change)
                  size = Abs (change)
                  largest = ReduceMax <keepdims = 0> (size)
                  moving = Greater (largest, tol)
                }}>
            }}
            """,
            {
                "pads": i64([1, 1, 1, 1]),
                "axes": i64([0, 1]),
                "up_start": i64([0, 1]),
                "up_end": i64([side, side + 1]),
                "down_start": i64([2, 1]),
                "down_end": i64([side + 2, side + 1]),
                "left_start": i64([1, 0]),
                "left_end": i64([side + 1, side]),
                "right_start": i64([1, 2]),
                "right_end": i64([side + 1, side + 2]),
            },
        )

    def inputs() -> Inputs:
        # Around 0 the front of the heat would have denormal numbers, which are slow on many processors.
        u0 = np.full((side, side), 20, np.float32)
        u0[side // 4 : side // 2, side // 4 : side // 2] = 100
        return {"M": i64(iterations), "cond": np.array(True), "u0": u0, "k": f32(0.2), "tol": f32(1e-6)}

    description = f"{side}x{side} stencil: Pad, 4 Slices, 8 elementwise, ReduceMax"
    return BenchmarkCase("heat", description, iterations, build, inputs, speedup_goal=2)


def grow(iterations: int = 2000) -> BenchmarkCase:
    """A carried tensor to which one element is appended in each iteration."""

    def build() -> onnx.ModelProto:
        return parse("""
            grow (int64 M, bool cond, float[k] v0, float[1] element) => (float[n] v_last, float total_last)
            <float zero = {0}>
            {
              v_last, total_last = Loop (M, cond, v0, zero) <
                body: graph = step (int64 i, bool more_in, float[m] v, float total)
                    => (bool more, float[m_plus_1] v_next, float total_next) {
                  v_next = Concat <axis = 0> (v, element)
                  total_next = ReduceSum <keepdims = 0> (v_next)
                  more = Identity (more_in)
                }>
            }
        """)

    def inputs() -> Inputs:
        return {"M": i64(iterations), "cond": np.array(True), "v0": f32([1.0]), "element": f32([0.5])}

    return BenchmarkCase(
        "grow", "Concat one element to a carried tensor, ReduceSum", iterations, build, inputs, speedup_goal=2
    )


def cache(heads: int = 8, width: int = 64, iterations: int = 1000) -> BenchmarkCase:
    """One query per iteration, over the keys and values of all iterations so far."""
    row = f"float[1,{heads},1,{width}]"

    def grown_type(name: str) -> str:
        return f"float[1,{heads},{name},{width}]"

    def build() -> onnx.ModelProto:
        return parse(
            f"""
            cache (int64 M, bool cond, {grown_type("t0")} k0, {grown_type("t0")} v0, {row} q0)
                => ({grown_type("t1")} k_last, {grown_type("t1")} v_last, {row} q_last)
            <float scale = {{0.125}}>
            {{
              k_last, v_last, q_last = Loop (M, cond, k0, v0, q0) <
                body: graph = step (int64 i, bool more_in, {grown_type("t")} k, {grown_type("t")} v, {row} q)
                    => (bool more, {grown_type("u")} keys, {grown_type("u")} values, {row} q_next) {{
                  turned = Neg (q)
                  keys = Concat <axis = 2> (k, turned)
                  values = Concat <axis = 2> (v, q)
                  across = Transpose <perm = [0, 1, 3, 2]> (keys)
                  products = MatMul (q, across)
                  scores = Mul (products, scale)
                  weights = Softmax <axis = -1> (scores)
                  mixed = MatMul (weights, values)
                  q_next = Tanh (mixed)
                  more = Identity (more_in)
                }}>
            }}
        """
        )

    def inputs() -> Inputs:
        numbers = {name: uniform(seed, 1, heads, 1, width, low=-1) for seed, name in enumerate(("k0", "v0", "q0"), 91)}
        return {"M": i64(iterations), "cond": np.array(True), **numbers}

    description = f"attention of {heads} heads over {iterations} keys and values, appended one by one"
    return BenchmarkCase("cache", description, iterations, build, inputs, speedup_goal=1.5)


def ssm(channels: int = 256, state: int = 16, iterations: int = 2000) -> BenchmarkCase:
    """A diagonal state-space layer, step by step; the inputs of each step by Gather(i)."""
    shape = f"1,{channels},{state}"

    def build() -> onnx.ModelProto:
        text = f"""
            ssm (float[{iterations},{shape}] a, float[{iterations},1,1,{state}] b,
                 float[{iterations},1,{channels},1] x, float[1,1,{state}] c, float[{shape}] h0)
                => (float[{shape}] h_last, float[n,1,{channels}] y)
            <int64[1] last_axis = {{2}}>
            {{
              h_last, y = Loop (M, cond, h0) <
                body: graph = step (int64 i, bool more_in, float[{shape}] h)
                    => (bool more, float[{shape}] h_next, float[1,{channels}] y_t) {{
                  a_t = Gather <axis = 0> (a, i)
                  b_t = Gather <axis = 0> (b, i)
                  x_t = Gather <axis = 0> (x, i)
                  kept = Mul (a_t, h)
                  added = Mul (b_t, x_t)
                  h_next = Add (kept, added)
                  seen = Mul (h_next, c)
                  y_t = ReduceSum <keepdims = 0> (seen, last_axis)
                  more = Identity (more_in)
                }}>
            }}
        """
        return parse(text, trip_count_inputs(iterations))

    def inputs() -> Inputs:
        return {
            "a": uniform(81, iterations, 1, channels, state, low=0.8, high=1.0),
            "b": uniform(82, iterations, 1, 1, state),
            "x": uniform(83, iterations, 1, channels, 1),
            "c": uniform(84, 1, 1, state),
            "h0": np.zeros((1, channels, state), np.float32),
        }

    description = f"state space: h = a_t*h + b_t*x_t; y = sum(h*c), h [{shape}]"
    return BenchmarkCase("ssm", description, iterations, build, inputs, speedup_goal=2)
