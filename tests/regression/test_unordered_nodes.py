"""Quantisers write nodes after their readers; rewrites took a node for unused whose readers come first in the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

import loopdbg
from text_models import proto

#: ``row`` computes the same in every iteration; what it reads will follow the loop in the file.
MODEL = """
m (int64 M, float[4,4] w, float[4] x0) => (float[4] x) {
    low, high = Split <axis = 0, num_outputs = 2> (w)
    x = Loop <body = body (int64 i, bool c, float[4] a) => (bool keep, float[4] b) {
        keep = Identity (c)
        square = MatMul (high, w)
        row = ReduceSum <keepdims = 0> (square, axes)
        sum = Add (a, row)
        b = Tanh (sum)
    }> (M, , x0)
}"""


def test_a_node_after_its_readers_is_kept(tmp_path: Path) -> None:
    model = proto(MODEL)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0]), "axes"))
    split, loop = model.graph.node[0], model.graph.node[1]
    for body in (attribute.g for attribute in loop.attribute):
        nodes = [*body.node][::-1]
        del body.node[:]
        body.node.extend(nodes)
    unordered = [onnx.NodeProto(), onnx.NodeProto()]
    for copy, node in zip(unordered, (loop, split), strict=True):
        copy.CopyFrom(node)
    del model.graph.node[:]
    model.graph.node.extend(unordered)
    path, faster = tmp_path / "unordered.onnx", tmp_path / "faster.onnx"
    onnx.save(model, path)

    inputs = {"M": 5, "w": np.arange(16, dtype=np.float32).reshape(4, 4) / 16, "x0": np.zeros(4, np.float32)}
    expected = loopdbg.load(path).run(inputs)["x"]
    report = loopdbg.load(path).optimizations(inputs, only=["invariant-node"], count=20, peer=False, save=faster)
    assert [rewrite.kind for rewrite in report.offered] == ["invariant-node"], str(report)
    onnx.checker.check_model(onnx.load(faster))
    assert (loopdbg.load(faster).run(inputs)["x"] == expected).all()
