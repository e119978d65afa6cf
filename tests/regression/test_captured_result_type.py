"""A body returns a value of the outer graph, which is declared nowhere but as the body's output: without iterations the
scan output has the element type and dimensions declared there."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import loopdbg
from loopdbg.runtime.frontends.onnx import reader as frontend


@pytest.mark.parametrize("trips", [0, 2])
def test_a_scan_output_has_the_declared_dimensions(trips: int) -> None:
    def info(name: str, kind: int, *shape: int | None) -> onnx.ValueInfoProto:
        return onnx.helper.make_tensor_value_info(name, kind, shape)

    int64, boolean = onnx.TensorProto.INT64, onnx.TensorProto.BOOL
    keep = onnx.helper.make_node("Identity", ["c"], ["d"])
    body = onnx.helper.make_graph(
        [keep], "body", [info("i", int64), info("c", boolean)], [info("d", boolean), info("v", int64, 3)]
    )
    nodes = [
        onnx.helper.make_node("Neg", ["x"], ["v"]),
        onnx.helper.make_node("Loop", ["n", ""], ["rows"], "loop", body=body),
    ]
    graph = onnx.helper.make_graph(nodes, "g", [info("n", int64), info("x", int64, 3)], [info("rows", int64, None, 3)])
    source = onnx.helper.make_model(graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", 21)])
    rows = loopdbg.Model(frontend.from_proto(source, "test")).run({"n": np.int64(trips), "x": np.arange(3)})["rows"]
    assert (rows.dtype, rows.shape) == (np.dtype(np.int64), (trips, 3))
