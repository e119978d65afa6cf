"""The benchmark loops in JAX, compiled by XLA for the CPU: the alternative of a user who leaves the model file.

Growing values have no static shape that XLA could compile, so those cases have no twin.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

import xla_vector_twins
from c_twins import NoTwinError
from case import BenchmarkCase, Inputs, Outputs
from xla_vector_twins import XlaTwin

#: One thread, as for the others.
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def _import_modules() -> tuple[Any, Any]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    return jax, jnp


def _scalar(weights: Inputs) -> XlaTwin:
    jax, jnp = _import_modules()

    def run(trips: Any, v0: Any, a: Any, b: Any, limit: Any) -> Any:
        def step(state: Any) -> Any:
            i, _, v = state
            v = v * a + b
            return i + 1, v < limit, v

        return jax.lax.while_loop(lambda s: (s[0] < trips) & s[1], step, (jnp.int64(0), True, v0))[2]

    return run, ("M", "v0", "a", "b", "limit"), ("v_last",)


def _scalar_scan(weights: Inputs) -> XlaTwin:
    jax, jnp = _import_modules()
    capacity = 100_000

    def run(trips: Any, v0: Any, a: Any, b: Any, limit: Any) -> Any:
        def step(state: Any) -> Any:
            i, _, v, vs = state
            v = v * a + b
            return i + 1, v < limit, v, vs.at[i].set(v)

        state = (jnp.int64(0), True, v0, jnp.zeros(capacity, jnp.float32))
        return jax.lax.while_loop(lambda s: (s[0] < trips) & s[1], step, state)[2:]

    return run, ("M", "v0", "a", "b", "limit"), ("v_last", "vs")


def _collatz(weights: Inputs) -> XlaTwin:
    jax, jnp = _import_modules()

    def run(trips: Any, start: Any, addend: Any) -> Any:
        def step(state: Any) -> Any:
            i, _, n = state
            n = jnp.where(n % 2 == 0, n // 2, n * 3 + addend)
            return i + 1, n > 1, n

        return jax.lax.while_loop(lambda s: (s[0] < trips) & s[1], step, (jnp.int64(0), True, start))[2]

    return run, ("M", "start", "addend"), ("n_last",)


def _mandelbrot(weights: Inputs) -> XlaTwin:
    jax, jnp = _import_modules()
    pixels = 1024

    def run(side: Any, limit: Any) -> Any:
        width = jnp.float32(2) / side.astype(jnp.float32)

        def count_pixel(p: Any, counts: Any) -> Any:
            c_im = jnp.float32(-1) + (p // side).astype(jnp.float32) * width
            c_re = jnp.float32(-1.5) + (p % side).astype(jnp.float32) * width

            def escape(state: Any) -> Any:
                k, _, re, im, count = state
                re_re, im_im, re_im = re * re, im * im, re * im
                return k + 1, re_re + im_im < 4, re_re - im_im + c_re, re_im + re_im + c_im, count + 1

            begin = (jnp.int64(0), True, jnp.float32(0), jnp.float32(0), jnp.int64(0))
            count = jax.lax.while_loop(lambda s: (s[0] < limit) & s[1], escape, begin)[4]
            return counts.at[p].set(count)

        return jax.lax.fori_loop(jnp.int64(0), jnp.int64(pixels), count_pixel, jnp.zeros(pixels, jnp.int64))

    return run, ("side", "limit"), ("counts",)


def _heat(weights: Inputs) -> XlaTwin:
    jax, jnp = _import_modules()

    def run(trips: Any, u0: Any, k: Any, tol: Any) -> Any:
        def step(state: Any) -> Any:
            i, _, u = state
            padded = jnp.pad(u, 1, mode="edge")
            vertical, horizontal = padded[:-2, 1:-1] + padded[2:, 1:-1], padded[1:-1, :-2] + padded[1:-1, 2:]
            change = (vertical + horizontal - u * 4) * k
            return i + 1, jnp.abs(change).max() > tol, u + change

        return jax.lax.while_loop(lambda s: (s[0] < trips) & s[1], step, (jnp.int64(0), True, u0))[2]

    return run, ("M", "u0", "k", "tol"), ("u_last",)


def _lstm_layer(weights: Inputs, n: int) -> Callable[..., Any]:
    jax, jnp = _import_modules()
    w, r, b = (jnp.asarray(weights[f"{name}{n}"]) for name in "WRb")

    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, o, f, g = jnp.split(x @ w + h @ r + b, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lambda xs, h, c: jax.lax.scan(step, (h, c), xs)


def _lstm(weights: Inputs) -> XlaTwin:
    layer = _lstm_layer(weights, 1)

    def run(xs: Any, h0: Any, c0: Any) -> Any:
        (h, c), rows = layer(xs, h0, c0)
        return rows, h, c

    return run, ("X", "h0", "c0"), ("h1_rows", "h1_last", "c1_last")


def _two_lstm(weights: Inputs) -> XlaTwin:
    first, second = _lstm_layer(weights, 1), _lstm_layer(weights, 2)

    def run(xs: Any, h0: Any, c0: Any) -> Any:
        (h, c), rows = second(first(xs, h0, c0)[1], h0, c0)
        return rows, h, c

    return run, ("X", "h0", "c0"), ("h2_rows", "h2_last", "c2_last")


def _ssm(weights: Inputs) -> XlaTwin:
    jax, _ = _import_modules()

    def run(a: Any, b: Any, x: Any, c: Any, h0: Any) -> Any:
        def step(h: Any, parts: Any) -> Any:
            h = parts[0] * h + parts[1] * parts[2]
            return h, (h * c).sum(axis=2)

        return jax.lax.scan(step, h0, (a, b, x))

    return run, ("a", "b", "x", "c", "h0"), ("h_last", "y")


def _greedy(weights: Inputs) -> XlaTwin:
    jax, jnp = _import_modules()
    w = {name: jnp.asarray(value) for name, value in weights.items()}
    steps = int(weights["M"])

    def run(token0: Any, h0: Any) -> Any:
        def step(state: Any) -> Any:
            i, _, token, h, tokens = state
            x_z, x_r, x_n = jnp.split(w["embedding"][token] @ w["W"] + w["b"], 3, axis=1)
            h_z, h_r, h_n = jnp.split(h @ w["R"], 3, axis=1)
            update = jax.nn.sigmoid(x_z + h_z)
            candidate = jnp.tanh(x_n + jax.nn.sigmoid(x_r + h_r) * h_n)
            h = update * h + (1 - update) * candidate
            token = jnp.argmax(h @ w["to_logits"], axis=1)[0]
            return i + 1, token != 0, token, h, tokens.at[i].set(token)

        initial = (jnp.int64(0), True, token0, h0, jnp.zeros(steps, jnp.int64))
        _, _, _, h, tokens = jax.lax.while_loop(lambda s: (s[0] < steps) & s[1], step, initial)
        return tokens, h

    return run, ("token0", "h0"), ("tokens", "h_last")


_XLA_TWINS: dict[str, Callable[[Inputs], XlaTwin]] = {
    "scalar": _scalar,
    "scalar_scan": _scalar_scan,
    "collatz": _collatz,
    "mandelbrot": _mandelbrot,
    "newton": xla_vector_twins.newton,
    "rk4": xla_vector_twins.rk4,
    "quaternion": xla_vector_twins.quaternion,
    "rotation": xla_vector_twins.rotation,
    "hashing": xla_vector_twins.hashing,
    "beams": xla_vector_twins.beams,
    "heat": _heat,
    "lstm": _lstm,
    "ssm": _ssm,
    "two_lstm": _two_lstm,
    "greedy": _greedy,
}


def prepare(
    case: BenchmarkCase, inputs: Inputs, threads: int | None
) -> tuple[Callable[[], Any], Callable[[Any], Outputs], float]:
    """Return the case's compiled twin, a converter of its results to arrays, and the compilation time in seconds.

    Raises:
        NoTwinError: no twin; ModuleNotFoundError: no JAX.
    """
    if case.name not in _XLA_TWINS:
        raise NoTwinError
    if threads == 1:
        os.environ.setdefault("XLA_FLAGS", ONE_THREAD)
    jax, jnp = _import_modules()
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in case.build().graph.initializer}
    # The trip count of a loop with scan outputs is part of their shapes, which XLA has to know.
    function, names, keys = _XLA_TWINS[case.name]({"M": inputs["M"], **weights} if "M" in inputs else weights)
    arguments = [jnp.asarray(inputs[name]) for name in names]
    started = time.perf_counter()
    compiled = jax.jit(function).lower(*arguments).compile()
    seconds = time.perf_counter() - started

    def outputs(values: Any) -> Outputs:
        values = values if isinstance(values, tuple | list) else (values,)
        return {name: np.array(value) for name, value in zip(keys, jax.tree.leaves(values), strict=True)}

    return lambda: jax.block_until_ready(compiled(*arguments)), outputs, seconds
