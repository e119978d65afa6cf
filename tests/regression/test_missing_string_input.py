"""An input of strings was not missed, once a run on the same model had it."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

import loopdbg
from loopdbg.runtime.frontends.onnx import reader
from loopdbg.runtime.model import Model


def test_it_is_missed_whatever_ran_before() -> None:
    graph = helper.make_graph(
        [helper.make_node("Identity", ["s"], ["t"]), helper.make_node("Neg", ["x"], ["y"])],
        "graph",
        [
            helper.make_tensor_value_info("s", TensorProto.STRING, [1]),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, []),
        ],
        [
            helper.make_tensor_value_info("t", TensorProto.STRING, [1]),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, []),
        ],
    )
    model = Model(reader.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), "strings"))
    x = np.array(2, np.float32)
    assert model.run({"s": np.array(["a"], object), "x": x})["t"] == ["a"]
    with pytest.raises(loopdbg.InputError, match="'s'"):
        model.run({"x": x})
