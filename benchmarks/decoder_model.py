"""A decoder in a Loop, as exporters write it: attention layers with growing caches, and names that are paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, VOCABULARY_SIZE = 32, 4, 50
_HEAD_SIZE = WIDTH // HEADS
#: Shapes of inputs and outputs of an iteration.
_TOKEN, _CACHE = [1, 1], [1, HEADS, None, _HEAD_SIZE]


class _GraphBuilder:
    """Nodes and initializers in order."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._rng = np.random.default_rng(0)

    def node(self, op: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        """Add a node, and return the name of its result."""
        self.nodes.append(helper.make_node(op, inputs, [name], name=name.removesuffix("_output_0"), **attributes))
        return name

    def constant(self, name: str, array: Any) -> str:
        """Add an initializer."""
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, name: str, *shape: int) -> str:
        """Add random weights that preserve the magnitude of their operand."""
        return self.constant(name, (self._rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def layer_norm(self, prefix: str, x: str) -> str:
        """The norm before a layer."""
        square = self.node("Mul", [x, x], f"{prefix}/Pow_output_0")
        mean = self.node("ReduceMean", [square, "minus_one"], f"{prefix}/ReduceMean_output_0")
        root = self.node("Sqrt", [self.node("Add", [mean, "eps"], f"{prefix}/Add_output_0")], f"{prefix}/Sqrt_output_0")
        return self.node("Div", [x, root], f"{prefix}/Div_output_0")

    def project_heads(self, prefix: str, part: str, x: str) -> str:
        """A projection, by head."""
        product = self.node(
            "MatMul", [x, self.weight(f"{prefix}.{part}", WIDTH, WIDTH)], f"{prefix}/{part}_proj/MatMul_output_0"
        )
        split = self.node("Reshape", [product, "split"], f"{prefix}/{part}/Reshape_output_0")
        return self.node("Transpose", [split], f"{prefix}/{part}/Transpose_output_0", perm=[0, 2, 1, 3])

    def layer(self, k: int, x: str) -> tuple[str, str, str]:
        """Add a layer; return its result and its two caches."""
        prefix = f"/decoder/layers.{k}/self_attn"
        normed = self.layer_norm(f"/decoder/layers.{k}/input_layernorm", x)
        q, key, value = (self.project_heads(prefix, part, normed) for part in "qkv")
        keys = self.node("Concat", [f"past.{k}.key", key], f"present.{k}.key", axis=2)
        values = self.node("Concat", [f"past.{k}.value", value], f"present.{k}.value", axis=2)
        transposed = self.node("Transpose", [keys], f"{prefix}/Transpose_3_output_0", perm=[0, 1, 3, 2])
        scores = self.node("MatMul", [q, transposed], f"{prefix}/MatMul_output_0")
        scores = self.node("Mul", [scores, "scale"], f"{prefix}/Mul_output_0")
        scores = self.node("Softmax", [scores], f"{prefix}/Softmax_output_0", axis=-1)
        mixed = self.node("MatMul", [scores, values], f"{prefix}/MatMul_1_output_0")
        mixed = self.node("Transpose", [mixed], f"{prefix}/Transpose_4_output_0", perm=[0, 2, 1, 3])
        mixed = self.node("Reshape", [mixed, "flat"], f"{prefix}/Reshape_3_output_0")
        out = self.node("MatMul", [mixed, self.weight(f"{prefix}.o", WIDTH, WIDTH)], f"{prefix}/o_proj/MatMul_output_0")
        return self.node("Add", [x, out], f"/decoder/layers.{k}/Add_output_0"), keys, values


def decoder(layers: int = 12) -> onnx.ModelProto:
    """Return a greedy decoder; 12 layers have 307 nodes, 38 have 957."""
    body = _builder_with_constants()
    x = body.node(
        "Gather", [body.weight("decoder.embed_tokens", VOCABULARY_SIZE, WIDTH), "token"], "/decoder/Gather_output_0"
    )
    past, present = list[str](), list[str]()
    for k in range(layers):
        x, *caches = body.layer(k, x)
        present += caches
        past += [f"past.{k}.key", f"past.{k}.value"]
    logits = body.node("MatMul", [x, body.weight("lm_head", WIDTH, VOCABULARY_SIZE)], "/lm_head/MatMul_output_0")
    best = body.node("ArgMax", [logits], "/ArgMax_output_0", axis=-1, keepdims=0)
    token = body.node("Reshape", [best, "one_token"], "next_token")
    is_end = body.node("Squeeze", [body.node("Equal", [token, "eos"], "/Equal_output_0")], "/Squeeze_output_0")
    condition = body.node("Not", [is_end], "keep_going")
    info, bits, ints = helper.make_tensor_value_info, TensorProto.BOOL, TensorProto.INT64
    input_infos = [info("i", ints, []), info("cond", bits, []), info("token", ints, _TOKEN)]
    output_infos = [info(condition, bits, []), info(token, ints, _TOKEN)]
    step = helper.make_graph(
        body.nodes,
        "body",
        [*input_infos, *(info(name, TensorProto.FLOAT, _CACHE) for name in past)],
        [
            *output_infos,
            *(info(name, TensorProto.FLOAT, _CACHE) for name in present),
            info(logits, TensorProto.FLOAT, [1, 1, VOCABULARY_SIZE]),
        ],
        body.weights,
    )
    return _loop_model(step, len(past))


def _builder_with_constants() -> _GraphBuilder:
    """Return a builder with the constants that layers share."""
    body = _GraphBuilder()
    for name, array in (
        ("split", np.array([1, -1, HEADS, _HEAD_SIZE])),
        ("flat", np.array([1, 1, WIDTH])),
        ("one_token", np.array([1, 1])),
        ("minus_one", np.array([-1])),
        ("scale", np.float32(_HEAD_SIZE**-0.5)),
        ("eps", np.float32(1e-5)),
        ("eos", np.int64(-1)),
    ):
        body.constant(name, array)
    return body


def _loop_model(step: onnx.GraphProto, caches: int) -> onnx.ModelProto:
    """A model of the loop alone, with empty caches."""
    info = helper.make_tensor_value_info
    outputs = ["last_token", *(f"cache.{k}" for k in range(caches)), "logits"]
    inputs = ["max_length", "true", "input_ids", *["empty"] * caches]
    loop = helper.make_node("Loop", inputs, outputs, name="/decoder/Loop", body=step)
    graph = helper.make_graph(
        [loop],
        "main",
        [info("max_length", TensorProto.INT64, []), info("input_ids", TensorProto.INT64, _TOKEN)],
        [
            info("last_token", TensorProto.INT64, _TOKEN),
            *(info(f"cache.{k}", TensorProto.FLOAT, _CACHE) for k in range(caches)),
            info("logits", TensorProto.FLOAT, [None, 1, 1, VOCABULARY_SIZE]),
        ],
        [
            numpy_helper.from_array(np.zeros((1, HEADS, 0, _HEAD_SIZE), np.float32), "empty"),
            numpy_helper.from_array(np.array(True), "true"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


#: Inputs of a run.
INPUTS = {"max_length": np.int64(1000), "input_ids": np.array([[1]])}
