"""Scan of opset 8, with a batch axis and ``sequence_lens``, next to onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

import onnxruntime_peer
from loopdbg.runtime.errors import ExecutionError
from loopdbg.runtime.frontends.onnx.reader import from_proto
from loopdbg.runtime.model import Model

BATCH, STEPS, WIDTH = 3, 5, 2


def scan_8(directions: list[int], lengths: bool) -> onnx.ModelProto:
    """Two states, two sliced inputs, two scan outputs, and a value of the outer graph."""
    inputs = "int64[B] lens, " if lengths else ""
    return onnx.parser.parse_model(f"""
    <ir_version: 4, opset_import: ["" : 8]>
    g ({inputs}float[B,2] a0, float[B] b0, float[B,T,2] x, float[B,T,2] y)
      => (float[B,2] a, float[B] b, float[B,T,2] p, float[B,T] q)
      <float[2] w = {{0.5, 0.25}}> {{
      a, b, p, q = Scan ({"lens" if lengths else '""'}, a0, b0, x, y) <num_scan_inputs = 2,
        directions = {directions},
        body: graph = body (float[2] ai, float bi, float[2] xi, float[2] yi)
            => (float[2] ao, float bo, float[2] pi, float qi) {{
          wx = Mul (xi, w)
          ay = Add (ai, yi)
          ao = Add (ay, wx)
          bo = ReduceSum <axes = [0], keepdims = 0> (ao)
          pi = Mul (ao, yi)
          qi = Add (bo, bi) }}>
    }}""")


@pytest.mark.parametrize("directions", [[0, 0], [1, 0], [1, 1]])
@pytest.mark.parametrize("lengths", [None, [5, 2, 3], [1, 5, 5]])
def test_matches_onnxruntime(directions: list[int], lengths: list[int] | None) -> None:
    proto = scan_8(directions, lengths is not None)
    random = np.random.default_rng(3)
    shapes = {"a0": (BATCH, WIDTH), "b0": (BATCH,), "x": (BATCH, STEPS, WIDTH), "y": (BATCH, STEPS, WIDTH)}
    inputs = {name: random.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    if lengths is not None:
        inputs["lens"] = np.array(lengths, np.int64)
    run = Model(from_proto(proto, "m.onnx")).execute(inputs)
    assert [*run.notes, *(note for loop in run.loops for note in loop.notes)] == []
    for name, other in onnxruntime_peer.run(proto, inputs).items():
        np.testing.assert_allclose(run.outputs[name], other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("length", [6, -1])
def test_a_length_that_no_sequence_has(length: int) -> None:
    model = Model(from_proto(scan_8([0, 0], True), "m.onnx"))
    inputs = {"a0": np.zeros((1, 2)), "b0": np.zeros(1), "x": np.zeros((1, 5, 2)), "y": np.zeros((1, 5, 2))}
    with pytest.raises(ExecutionError):
        model.run({"lens": np.array([length])} | {name: x.astype(np.float32) for name, x in inputs.items()})
