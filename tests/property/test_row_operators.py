"""Random bodies of softmax, norms, attention, Einsum, TopK, gathers and scatters: all execution modes give the same
bits, and onnxruntime the same numbers within a tolerance."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import onnxruntime_peer
from differential_testing import check_all_modes
from strategies.draws import SeededChoices
from text_models import model, proto

#: Nodes that compute y from x, both float[2,4,6].
SMOOTH = (
    "y = Softmax <axis = {axis}> (x)",
    "y = LogSoftmax <axis = {axis}> (x)",
    "y = LayerNormalization <axis = -1, epsilon = 0.01> (x, six, six)",
    "y = LayerNormalization <axis = 1> (x, rows)",
    "y = RMSNormalization <epsilon = 0.01> (x, six)",
    "y = GroupNormalization <num_groups = 2, epsilon = 0.01> (x, four, four)",
    "y = InstanceNormalization <epsilon = 0.01> (x, four, four)",
    "y = Erf (x)",
    "y = Gelu (x)",
    'y = Gelu <approximate = "tanh"> (x)',
    'y = Einsum <equation = "abc,dc->abd"> (x, square)',
    'y = Einsum <equation = "abc,bd->adc"> (x, small)',
    'y = Einsum <equation = "abc,abc,c->abc"> (x, x, six)',
    "y = CumSum (x, {place})",
    "y = GatherElements <axis = {axis}> (x, places)",
    "y = ScatterElements <axis = 1> (x, few, part)",
    'y = ScatterElements <axis = 1, reduction = "{reduction}"> (x, few, part)',
    "row = GatherND (x, tuples)\ny = ScatterND (x, tuples, row)",
    'row = Mul (part, half)\ny = ScatterND <reduction = "{reduction}"> (x, tuple, row)',
    "q = Reshape (x, apart)\nz = Attention (q, k2, v2b)\ny = Reshape (z, whole)",
    "q = Reshape (x, apart)\nz = Attention <is_causal = 1, softcap = 2.0> (q, q, q)\ny = Reshape (z, whole)",
    "q = Reshape (x, apart)\nz = Attention (q, q, q, mask)\ny = Reshape (z, whole)",
    "q = Reshape (x, apart)\nz = RotaryEmbedding (q, turn, turn)\ny = Reshape (z, whole)",
    "big = Greater (x, zero)\ny = Where (big, x, row4)",
)
ABRUPT = (
    "y = Hardmax <axis = {axis}> (x)",
    "y, unused = TopK <axis = {axis}, largest = {bit}> (x, {length})",
    "unused, places2 = TopK <axis = -1> (x, n6)\ny = Cast <to = 1> (places2)",
    "at = ArgMax <axis = {axis}, select_last_index = {bit}> (x)\nf2 = Cast <to = 1> (at)\ny = Sub (x, f2)",
)
AHEAD = """wide = MatMul (r, up)
    normed = LayerNormalization (wide, wide1)
    chances = Softmax (normed)
    r2 = MatMul (chances, down)"""


def text(draw: SeededChoices, smooth: bool) -> str:
    lines = []
    now = "x0"
    for n in range(draw.integer(1, 5)):
        choices = SMOOTH if smooth or draw.integer(0, 2) else ABRUPT
        axis = draw.integer(0, 2)
        words = {
            "axis": axis,
            "place": ("p0", "p1", "p2")[axis],
            "length": ("n2", "n4", "n6")[axis],
            "reduction": draw.pick(("add", "mul", "max", "min")),
            "bit": draw.integer(0, 1),
        }
        first = draw.pick(choices).format(**words)
        for name in ("y", "x", "q", "z", "row", "big", "unused", "places2", "at", "f2"):
            first = _renamed(first, name, now if name == "x" else f"{name}_{n}")
        now = f"y_{n}"
        lines.append(first)
    ahead = AHEAD if draw.integer(0, 1) else "r2 = Softmax (r)"
    body = "\n".join(lines)
    return f"""
    g (int64 M, float[2,4,6] v0, float[2,2,n,6] v1, float[2,2,n,6] v2, float[40,2,4,6] table, float[6,400] up,
       float[400,6] down, float[400] wide1, float[6] six, float[4] four, float[4,6] rows, float[6,6] square,
       float[4,4] small, float[2,2,6] part, float[2,2,3] turn, float[2,4,6] row4, int64[2,4,6] places,
       int64[2,2,6] few, int64[3,2] tuples) => (float[2,4,6] o0, float[a,b,c,d] o1, float[t,e,f] o3)
    <int64[4] apart = {{2, 2, 2, 6}}, int64[3] whole = {{2, 4, 6}}, int64[1] n2 = {{2}}, int64[1] n4 = {{4}},
     int64[1] n6 = {{6}}, int64 p0 = {{0}}, int64 p1 = {{1}}, int64 p2 = {{2}}, float zero = {{0}},
     float half = {{0.5}},     int64[2,2,2] tuple = {{0, 1, 1, 2, 1, 3, 0, 0}}, bool[2,2] mask = {{1, 0, 1, 1}}> {{
      o0, o1, o2, o3 = Loop <body = b (int64 i, bool c, float[2,4,6] x0, float[2,2,k,6] k1, float[2,2,k,6] v1b) =>
          (bool keep, float[2,4,6] x2, float[2,2,m,6] k2, float[2,2,m,6] v2b, float[4,6] seen) {{
        keep = Identity (c)
        r = Gather (table, i)
        {ahead}
        new = Reshape (x0, apart)
        k2 = Concat <axis = 2> (k1, new)
        v2b = Concat <axis = 2> (v1b, new)
        {body}
        mixed = Add ({now}, r2)
        x2 = Tanh (mixed)
        seen = Gather (x2, p0)
      }}> (M, , v0, v1, v2)
    }}"""


def _renamed(line: str, name: str, new: str) -> str:
    return re.sub(rf"(?<![\w]){name}(?![\w])(?! = [-\d{{\"])", new, line)


def draw_feeds(draw: SeededChoices) -> dict[str, Any]:
    rng = np.random.default_rng(draw.integer(0, 1 << 20))

    def f(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    first = draw.integer(0, 3)
    return {
        "M": np.array(draw.integer(0, 30)),
        "v0": f(2, 4, 6),
        "v1": f(2, 2, first, 6),
        "v2": f(2, 2, first, 6),
        "table": f(40, 2, 4, 6),
        "up": f(6, 400),
        "down": f(400, 6),
        "wide1": f(400),
        "six": f(6),
        "four": f(4),
        "rows": f(4, 6),
        "square": f(6, 6) / 3,
        "small": f(4, 4) / 2,
        "part": f(2, 2, 6),
        "turn": f(2, 2, 3),
        "row4": f(2, 4, 6),
        "places": rng.integers(-2, 2, (2, 4, 6)),
        "few": rng.integers(-4, 4, (2, 2, 6)),
        "tuples": np.array([[0, 1], [1, 3], [0, 2]]),
    }


@pytest.mark.parametrize("seed", range(24))
def test_row_operators_agree_in_all_modes(seed: int) -> None:
    draw = SeededChoices(f"rows {seed}")
    smooth = bool(seed % 2)
    source, feeds = text(draw, smooth), draw_feeds(draw)
    check_all_modes(lambda: model(source, 23), feeds, draw_feeds(draw), draw)
    if smooth and feeds["M"]:
        theirs = onnxruntime_peer.run(proto(source, 23), feeds)
        for name, ours in model(source, 23).run(feeds).items():
            np.testing.assert_allclose(ours, theirs[name], rtol=1e-3, atol=1e-3)
