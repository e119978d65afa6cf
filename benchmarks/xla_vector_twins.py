"""The loops of vector_models.py in JAX, for xla_twins.py, which configures JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from case import Inputs

XlaTwin = tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]


def newton(weights: Inputs) -> XlaTwin:
    """A finished point restarts."""
    import jax
    import jax.numpy as jnp

    def run(trips: Any, z0: Any) -> Any:
        def step(_: Any, z: Any) -> Any:
            re, im = z
            rr, ii = re * re, im * im
            safe = jnp.maximum(rr + ii, weights["tiny"])
            scale = safe * safe
            w = jnp.stack(((rr - ii) / scale, -(re * im * weights["two"] / scale)))
            near = (z * weights["two"] + w) * weights["third"]
            shift = near - z
            return jnp.where(shift * shift < weights["tiny"], z0, near)

        return jax.lax.fori_loop(jnp.int64(0), trips, step, z0)

    return run, ("M", "z0"), ("z_last",)


def rk4(weights: Inputs) -> XlaTwin:
    """All states are outputs."""
    import jax
    import jax.numpy as jnp

    s, r, b, half, whole, sixth, two = (weights[k] for k in ("s", "r", "b", "half", "whole", "sixth", "two"))

    def slope(state: Any) -> Any:
        x, y, z = state
        return jnp.stack((s * (y - x), x * (r - z) - y, x * y - b * z))

    def run(x0: Any) -> Any:
        def step(state: Any, _: None) -> Any:
            e = slope(state)
            f = slope(state + e * half)
            g = slope(state + f * half)
            h = slope(state + g * whole)
            state = state + (e + h + (f + g) * two) * sixth
            return state, state

        return jax.lax.scan(step, x0, length=int(weights["M"]))

    return run, ("x0",), ("x_last", "xs")


def quaternion(weights: Inputs) -> XlaTwin:
    """Products as sums of rows of one factor, permuted and with changed signs, scaled by elements of the other."""
    import jax
    import jax.numpy as jnp

    x_at, y_at, z_at = (weights[k] for k in ("xwzy", "yzwx", "zyxw"))
    sx, sy, sz = (weights[k] for k in ("sx", "sy", "sz"))

    def run(q0: Any, turns: Any) -> Any:
        def step(q: Any, t: Any) -> Any:
            product = (q[0] * t + q[1] * t[x_at] * sx) + (q[2] * t[y_at] * sy + q[3] * t[z_at] * sz)
            q = product / jnp.sqrt((product * product).sum())
            return q, q[1:]

        return jax.lax.scan(step, q0, turns)

    return run, ("q0", "turns"), ("q_last", "ahead")


def rotation(weights: Inputs) -> XlaTwin:
    """A matrix that a product rotates."""
    import jax
    import jax.numpy as jnp

    def run(a0: Any, turn: Any, v: Any) -> Any:
        def step(a: Any, _: None) -> Any:
            a = jnp.minimum(jnp.maximum(a @ turn, weights["least"]), weights["most"])
            return a, a @ v

        return jax.lax.scan(step, a0, length=int(weights["M"]))

    return run, ("a0", "turn", "v"), ("a_last", "vs")


def hashing(weights: Inputs) -> XlaTwin:
    """Parallel generators."""
    import jax
    import jax.numpy as jnp

    def run(trips: Any, h0: Any) -> Any:
        def step(i: Any, h: Any) -> Any:
            h = h * weights["factor"] + weights["addend"]
            return h + (h % weights["low"])[weights["around"]] + i

        return jax.lax.fori_loop(jnp.int64(0), trips, step, h0)

    return run, ("M", "h0"), ("h_last",)


def beams(weights: Inputs) -> XlaTwin:
    """The best four of four beams with eight words each."""
    import jax

    def run(scores0: Any, logits: Any) -> Any:
        def step(scores: Any, row: Any) -> Any:
            scores, best = jax.lax.top_k((row + (scores * weights["decay"])[:, None]).reshape(-1), 4)
            best = best.astype("int64")
            return scores, (best // weights["eight"], best % weights["eight"])

        scores, (parents, words) = jax.lax.scan(step, scores0, logits)
        return scores, parents, words

    return run, ("scores0", "logits"), ("scores_last", "parents", "words")
