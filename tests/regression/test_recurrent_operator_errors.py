"""The error for weights of a wrong shape named a node that is before the loops, which no file has; where a GRU's
weights are constants, it was an IndexError."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import loopdbg
from loopdbg.runtime.errors import ExecutionError, ModelError
from loopdbg.runtime.frontends.onnx.reader import from_proto

SHAPES = {"X": [3, 1, 5], "W": [2, 16, 5], "R": [2, 16, 4], "H": [2, 1, 4]}
HERE = "LSTM 'tagger' (opset 20): "


@pytest.mark.parametrize(
    ("wrong", "shape", "message"),
    [
        (
            "W",
            [2, 16, 6],
            "W has shape (2, 16, 6) instead of (2, 16, 5), as 2 directions of hidden size 4 and 5 features",
        ),
        ("R", [2, 12, 4], "R has shape (2, 12, 4) instead of (2, 16, 4), as 2 directions of hidden size 4"),
        ("H", [1, 1, 4], "an initial state has shape (1, 1, 4) instead of (2, 1, 4), as 2 directions"),
    ],
)
@pytest.mark.parametrize("around", [False, True])
def test_the_file_s_operator_is_named(wrong: str, shape: list[int], message: str, around: bool) -> None:
    shapes = SHAPES | {wrong: shape}
    node = helper.make_node(
        "LSTM", ["X", "W", "R", "", "", "H"], ["Y"], name="tagger", hidden_size=4, direction="bidirectional"
    )
    nodes, inputs = [node], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in shapes]
    if around:
        yes = helper.make_tensor_value_info("yes", TensorProto.BOOL, [])
        keep = helper.make_node("Identity", ["go"], ["yes"])
        body = helper.make_graph(
            [node, keep],
            "body",
            [
                helper.make_tensor_value_info("i", TensorProto.INT64, []),
                helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            ],
            [yes, helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
        )
        inputs.append(helper.make_tensor_value_info("n", TensorProto.INT64, []))
        nodes = [helper.make_node("Loop", ["n", ""], ["Ys"], name="around", body=body)]
    result = helper.make_tensor_value_info("Ys" if around else "Y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", inputs, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    feeds: dict[str, Any] = {name: np.ones(size, np.float32) for name, size in shapes.items()}
    with pytest.raises(ExecutionError) as caught:
        loopdbg.Model(from_proto(model, "test")).run(feeds | ({"n": 2} if around else {}))
    place = HERE[:-2] + " in loop 'around', iteration 0: " if around else HERE
    assert str(caught.value).startswith(place + message) and "; correct it" in str(caught.value)
    assert "InitialStates" not in str(caught.value)


@pytest.mark.parametrize("rows", [8, 1])
def test_constant_weights_that_do_not_fit_are_an_error_of_the_model(rows: int) -> None:
    weights = {"W": [1, 12, 3], "R": [1, rows, 4]}
    constants = [numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in weights.items()]
    graph = helper.make_graph(
        [helper.make_node("GRU", ["X", "W", "R"], ["Y"], name="tagger", hidden_size=4)],
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [5, 2, 3])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    with pytest.raises(
        ModelError, match=rf"^test: GRU 'tagger' \(opset 20\): its weights do not fit .* of \[{rows}, 4\]$"
    ):
        from_proto(model, "test")
