"""A sequence length of 0 left the initial state as the final one; both runtimes give zeros."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from text_models import load_proto


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_final_states_are_zeros(kind: str, gates: int, direction: str) -> None:
    import onnxruntime

    random = np.random.default_rng(3)

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    weights = [
        numpy_helper.from_array(normal(1, gates * 3, 2), "W"),
        numpy_helper.from_array(normal(1, gates * 3, 3), "R"),
    ]
    states = ["h", "c"] if kind == "LSTM" else ["h"]
    outputs = ["Y", "Ho", *(["Co"] if kind == "LSTM" else [])]
    node = helper.make_node(kind, ["x", "W", "R", "", "lens", *states], outputs, hidden_size=3, direction=direction)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("x", 1, [5, 2, 2]),
            helper.make_tensor_value_info("lens", 6, [2]),
            *(helper.make_tensor_value_info(name, 1, [1, 2, 3]) for name in states),
        ],
        [helper.make_tensor_value_info(name, 1, None) for name in outputs],
        weights,
    )
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=9)
    feed = {"x": normal(5, 2, 2), "lens": np.int32([0, 3]), **{name: normal(1, 2, 3) for name in states}}
    right = onnxruntime.InferenceSession(source.SerializeToString()).run(None, feed)
    got = load_proto(onnx.ModelProto.FromString(source.SerializeToString())).run(feed)
    for name, value in zip(outputs, right, strict=True):
        np.testing.assert_allclose(got[name], value, atol=1e-5)
    assert not got["Ho"][0, 0].any()
