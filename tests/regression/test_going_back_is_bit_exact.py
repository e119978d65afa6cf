"""A node that was restored a few times runs in Python, whose results differed in bits from the kernels': of float32 Erf
and what uses it, of extremes of two zeros, and of conversions of what a type cannot hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from text_models import model

LOOP = """g (float{shape} x) => (float{shape} y, {kind}[t{dims}] q) {{
  n = Constant <value = int64 {{12}}> ()
  yes = Constant <value = bool {{1}}> ()
  y, q = Loop (n, yes, x) <body = b (int64 i, bool c, float{shape} h) => (bool c2, float{shape} h2, {kind}{shape} r) {{
    c2 = Identity (c)
    zero = Constant <value = float {{0}}> ()
    r = {node}
    h2 = Identity (h)
  }}>
}}"""
ODD = np.array([np.nan, np.inf, -np.inf, -3e9, 5e9, 1e30, -1.5, *np.linspace(-3, 3, 300)], np.float32)


def visits(node: str, value: Any, kind: str = "float") -> list[bytes]:
    """What the node gave in iteration 3, in each of 8 visits."""
    text = LOOP.format(shape="[k]" if value.ndim else "", dims=",k" if value.ndim else "", kind=kind, node=node)
    session = loopdbg.debug(model(text), {"x": value})
    results = []
    for _ in range(8):
        session.step(4)
        results.append(session.frame.values["r"].tobytes())
        session.back(4)
    return results


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        ("Erf (h)", "float"),
        ("Gelu (h)", "float"),
        ("Cast <to = 12> (h)", "uint32"),
        ("Cast <to = 6> (h)", "int32"),
        ("Cast <to = 2> (h)", "uint8"),
        ("Softmax (h)", "float"),
    ],
)
def test_functions_and_conversions(node: str, kind: str) -> None:
    assert len(set(visits(node, ODD, kind))) == 1


@pytest.mark.parametrize("node", ["Relu (h)", "Max (h, zero)", "Max (zero, h)", "Min (h, zero)", "Clip (h, zero)"])
def test_extremes_of_two_zeros(node: str) -> None:
    single = visits(node, np.float32(-0.0).reshape(()))
    assert len(set(single)) == 1
    assert set(visits(node, np.full(33, -0.0, np.float32))) == {33 * single[0]}
