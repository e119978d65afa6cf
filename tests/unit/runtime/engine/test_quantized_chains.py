"""Quantised products with the nodes around them: what runs as one call, and that it gives what the nodes give."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import loopdbg
from fusion_checks import bits_equal, check_fused_run, run_node_by_node
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from optimizer_access import optimizer_of, set_optimizer_options
from text_models import text_with_initializers

CHAIN = """
    q, scale, zero = DynamicQuantizeLinear (s)
    sums = MatMulInteger (q, w, zero, w_zero)
    real = Cast <to = 1> (sums)
    factor = Mul (scale, w_scale)
    product = Mul (real, factor)
"""
WHOLE = ["q", "sums", "real", "factor", "product", "y"]


def loop(body: str, rows: int = 3, columns: int = 70) -> loopdbg.Model:
    """A loop with one carried tensor, s, of which the body makes y; and what it multiplies with."""
    rng = np.random.default_rng(4)
    feeds = {
        "w": rng.integers(-128, 128, (columns, columns)).astype(np.int8),
        "w_zero": rng.integers(-3, 4, columns).astype(np.int8),
        "w_scale": rng.uniform(1e-4, 1e-3, columns).astype(np.float32),
        "bias": rng.standard_normal(columns).astype(np.float32),
        "rest": rng.standard_normal((rows, columns)).astype(np.float32),
        "half": np.float32(0.5),
    }
    kind = f"float[{rows},{columns}]"
    used = {name: array for name, array in feeds.items() if name in re.findall(r"\w+", body)}
    return text_with_initializers(
        f"""
        g (int64 M, {kind} x) => ({kind} last) {{
          last = Loop <body = body (int64 i, bool c, {kind} s) => (bool keep, {kind} y) {{
            {body}
            keep = Identity (c)
          }}> (M, , x)
        }}""",
        **used,
    )


def inputs(m: int = 4, rows: int = 3, columns: int = 70) -> dict[str, Any]:
    x = np.random.default_rng(7).standard_normal((rows, columns)).astype(np.float32)
    return {"M": np.int64(m), "x": x}


@pytest.mark.parametrize(
    "end", ["Add (product, bias)", "Add (bias, product)", "Add (product, rest)", "Add (s, product)"]
)
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_a_chain_runs_as_one_call(end: str, rows: int) -> None:
    m = loop(f"{CHAIN} y = {end}", rows)
    assert check_fused_run(m, inputs(rows=rows)) == [WHOLE]


def test_without_a_bias() -> None:
    m = loop(CHAIN.replace("product =", "y ="))
    assert check_fused_run(m, inputs()) == [["q", "sums", "real", "factor", "y"]]


def test_bytes_that_two_products_read_are_made_once() -> None:
    second = "other = MatMulInteger (q, w, zero)\nfloats = Cast <to = 1> (other)\nagain = Mul (floats, factor)\n"
    m = loop(f"{CHAIN} {second} y = Sub (product, again)")
    assert check_fused_run(m, inputs()) == [["sums", "real", "product"], ["other", "floats", "again"]]


@pytest.mark.parametrize(
    "end",
    [
        "kept = Cast <to = 1> (sums)\nmore = Add (kept, bias)\npart = Mul (more, half)\ny = Add (product, part)",
        "wide = Add (real, real)\ny = Add (product, wide)",
    ],
)
def test_what_others_look_into_is_none(end: str) -> None:
    m = loop(f"{CHAIN} {end}")
    assert check_fused_run(m, inputs()) == []


def test_a_scale_that_others_read_stays() -> None:
    m = loop(f"{CHAIN} moved = Add (product, bias)\ny = Mul (moved, scale)")
    assert check_fused_run(m, inputs()) == [["sums", "real", "product", "moved"]]


def test_stops_show_what_the_nodes_give() -> None:
    m = loop(f"{CHAIN} y = Add (product, bias)")
    engines = [Engine(m.plan), Engine(m.plan)]
    set_optimizer_options(engines[1], fuse=False)
    for engine in engines:
        engine.start(m.check(inputs(9)))
    for _ in range(3):
        for engine in engines:
            engine.clear_stops()
            for index in engine.stack[:1]:
                engine.stop_at(index, engine.loop_state(index)[0] + 2)
            engine.resume()
        fused, alone = (dict(Frame(engine, 0).values) for engine in engines)
        assert set(WHOLE) <= set(fused) or not engines[0].loop_state(0)[0]
        bits_equal(fused, alone)
    assert [runs > 1 for _, runs in optimizer_of(engines[0]).groups] == [True]
    for engine in engines:
        engine.clear_stops()
        engine.resume()
    bits_equal(*(engine.results() for engine in engines))


def test_main_graph_chains_run_unobserved() -> None:
    rng = np.random.default_rng(4)
    m = text_with_initializers(
        f"""
        g (int64 M, float[9,70] s) => (float[9,70] last) {{
          {CHAIN}
          y = Add (product, bias)
          last = Loop <body = body (int64 i, bool c, float[9,70] x) => (bool keep, float[9,70] x_next) {{
            x_next = Tanh (x)
            keep = Identity (c)
          }}> (M, , y)
        }}""",
        w=rng.integers(0, 256, (70, 70)).astype(np.uint8),
        w_zero=np.uint8(120),
        w_scale=np.float32(1e-3),
        bias=rng.standard_normal((1, 70)).astype(np.float32),
    )
    feeds = {"M": np.int64(2), "s": inputs(rows=9)["x"]}
    assert check_fused_run(m, feeds) == [WHOLE]
    expected = m.run(feeds)
    seen: list[Any] = []
    bits_equal(
        m.run(feeds, on_iteration=lambda frame: seen.append({n: np.array(frame.values[n]) for n in WHOLE})), expected
    )
    product = (seen[0]["sums"].astype(np.float32)) * seen[0]["factor"]
    np.testing.assert_array_equal(seen[0]["product"], product)
    changed = {**feeds, "s": feeds["s"][::-1].copy()}
    expected = run_node_by_node(m, changed)
    bits_equal(m.run(changed), expected)
    m.run(changed, on_iteration=lambda frame: seen.append({n: np.array(frame.values[n]) for n in WHOLE}))
    assert not np.array_equal(seen[-1]["sums"], seen[0]["sums"])
    np.testing.assert_array_equal(seen[-1]["product"], seen[-1]["sums"].astype(np.float32) * seen[-1]["factor"])
    spoilt = {**feeds, "s": np.full((9, 70), np.nan, np.float32)}
    bits_equal(m.run(spoilt), run_node_by_node(m, spoilt))
