"""LSTM, GRU and RNN of more than 64 steps, with weights that go to panels: no way to run them was found."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.reference
import pytest
from onnx import TensorProto, helper, numpy_helper

import loopdbg
from loopdbg.runtime.frontends.onnx.reader import from_proto
from loopdbg.runtime.ops.weight_packing import PACK_RANGE_BYTES

HIDDEN, INPUT = 64, 128


@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("steps", [64, 65, 192])
def test_it_gives_what_the_reference_gives(kind: str, gates: int, steps: int) -> None:
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> Any:
        return (rng.standard_normal(shape) * 0.1).astype(np.float32)

    weights, recurrence = numbers(1, gates * HIDDEN, INPUT), numbers(1, gates * HIDDEN, HIDDEN)
    assert weights.nbytes >= PACK_RANGE_BYTES[0]
    graph = helper.make_graph(
        [helper.make_node(kind, ["X", "W", "R"], ["Y"], hidden_size=HIDDEN)],
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [steps, 1, INPUT])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "W"), numpy_helper.from_array(recurrence, "R")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = numbers(steps, 1, INPUT)
    expected = onnx.reference.ReferenceEvaluator(model).run(None, {"X": x})[0]
    got = loopdbg.Model(from_proto(model, "test")).run({"X": x})["Y"]
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-5)
