"""A model for each kind of fix of ``check --fix``. Their results are exact, so that runtimes can give the same bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import text_models
from loopdbg.debugger.portability.known_differences import ONNXRUNTIME, OPENVINO
from portability_models import RULE_CASES, RuleCase
from text_models import loop_text

_M, _C, _V = np.array(6), np.array(True), np.array(1, np.float32)
_RULE_CASES = {case.name: case for case in RULE_CASES}
#: Weights for which sigmoid and tanh of any product that is not zero are 0, 1 or -1.
_LARGE = 256


@dataclass(frozen=True)
class FixCase:
    """A model that needs a kind of fix. ``targets``: the runtimes that refuse the original or compute otherwise, and
    have to run the result; ``more``: the values of ``inputs`` that a second run has."""

    kind: str
    name: str
    model: onnx.ModelProto
    inputs: Mapping[str, Any]
    targets: tuple[str, ...]
    more: Mapping[str, Any] = field(default_factory=dict)


def _of_rule(kind: str, name: str, *targets: str, **more: Any) -> FixCase:
    case: RuleCase = _RULE_CASES[name]
    return FixCase(kind, name, case.model, {key: np.asarray(v) for key, v in case.inputs.items()}, targets, more)


def _loop(kind: str, name: str, feeds: Mapping[str, Any], targets: tuple[str, ...], /, **parts: str) -> FixCase:
    return FixCase(kind, name, text_models.proto(loop_text(**parts)), feeds, targets)


def _recurrent(
    kind: str, name: str, op_type: str, targets: tuple[str, ...], layout: int = 0, **attributes: Any
) -> FixCase:
    """One operator with weights of -1, 0 and 1, or of -256, 0 and 256."""
    random, gates = np.random.default_rng(3), {"LSTM": 4, "GRU": 3, "RNN": 1}[op_type]
    scale = 1 if attributes.pop("is_linear", False) else _LARGE
    count = 2 if attributes.get("direction") == "bidirectional" else 1
    shapes = {"W": (count, 4 * gates, 3), "R": (count, 4 * gates, 4)}
    outputs = ["Y", "Y_h", *(["Y_c"] if op_type == "LSTM" else [])]
    node = helper.make_node(op_type, ["X", "W", "R"], outputs, "rnn", hidden_size=4, **attributes)
    if layout:
        node.attribute.append(helper.make_attribute("layout", layout))
    x = random.integers(-2, 3, (2, 3, 3) if layout else (3, 2, 3)).astype(np.float32)
    weights = {name: random.integers(-1, 2, shape) * scale for name, shape in shapes.items()}
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(data.astype(np.float32), key) for key, data in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    return FixCase(kind, name, model, {"X": x}, targets, {"X": -x})


def _operator(kind: str, name: str, text: str, opset: int, targets: tuple[str, ...], **inputs: Any) -> FixCase:
    return FixCase(kind, name, text_models.proto(text, opset), inputs, targets)


_BOTH = (ONNXRUNTIME, OPENVINO)
#: At least one for each kind.
FIX_CASES: tuple[FixCase, ...] = (
    _of_rule("rename-inner-name", "a body's input with an outer name", OPENVINO, m=np.array(0)),
    _of_rule("rename-inner-name", "nested loops with the same input names", OPENVINO, m=np.array(2)),
    _of_rule("rename-inner-name", "a body's initializer with an outer name", OPENVINO, m=np.array(0)),
    _of_rule("sort-body", "a body that is not in order", *_BOTH, m=np.array(0)),
    _of_rule("identity-for-output", "the iteration number as a scan output", ONNXRUNTIME, m=np.array(0)),
    _of_rule("identity-for-output", "a value that is handed on", OPENVINO, m=np.array(0)),
    _of_rule("identity-for-output", "a state that a Scan returns", *_BOTH),
    _of_rule("identity-for-output", "a body that returns an outer value", ONNXRUNTIME, m=np.array(0)),
    _of_rule("identity-for-output", "a branch that returns an outer value", ONNXRUNTIME, c=np.array(False)),
    _of_rule("identity-for-output", "one value as two outputs of a branch", ONNXRUNTIME, c=np.array(False)),
    _of_rule("identity-for-output", "one value as two outputs of a Scan", ONNXRUNTIME),
    _of_rule("name-omitted-output", "an omitted output", ONNXRUNTIME, m=np.array(0)),
    _of_rule("cast-trip-count", "a trip count of int32", ONNXRUNTIME, m=np.array(0, np.int32)),
    _of_rule("reshape-condition", "a condition of shape [1]", ONNXRUNTIME, c=np.array([False])),
    _of_rule("redeclare-iteration-number", "an int32 iteration number", ONNXRUNTIME, m=np.array(0)),
    _loop(
        "cast-iteration-number",
        "an int32 iteration number that is added",
        {"m": _M, "c": _C, "v": np.array(2, np.int32)},
        (ONNXRUNTIME,),
        inputs="int32 i, bool ci, int32 x",
        outputs="bool co, int32 xo",
        result="int32 a",
        graph_inputs="int64 m, bool c, int32 v",
        nodes="co = Identity (ci) xo = Add (x, i)",
    ),
    _of_rule("redeclare-carried-value", "an initial value of another type", ONNXRUNTIME, m=np.array(0)),
    _of_rule("cast-mixed-types", "two types in one operator", *_BOTH, m=np.array(0)),
    _of_rule("read-true-condition", "a condition that is handed on and read", OPENVINO, m=np.array(0)),
    _of_rule("drop-ignored-condition", "a condition that the loop ignores", *_BOTH, m=np.array(0)),
    _of_rule("pass-true-condition", "a condition without cond that a carried scalar is computed from", OPENVINO),
    _of_rule("limit-trip-count", "a negative constant trip count", OPENVINO),
    _of_rule("no-trips", "a condition that is false at first", OPENVINO),
    _operator(
        "flatten-softmax",
        "Softmax of opset 12",
        "g (float[2,2,2] x) => (float[2,2,2] y) { y = Softmax <axis = 1> (x) }",
        12,
        (OPENVINO,),
        x=np.array([0, -900, -900, 0, 0, 0, 0, 0], np.float32).reshape(2, 2, 2),
    ),
    _recurrent("transpose-layout", "RNN with layout=1", "RNN", _BOTH, layout=1, activations=["Relu"], is_linear=True),
    _recurrent("transpose-layout", "GRU with layout=1", "GRU", (OPENVINO,), layout=1),
    _recurrent(
        "state-activation-parameters", "RNN with Affine", "RNN", (ONNXRUNTIME,), activations=["Affine"], is_linear=True
    ),
    _recurrent(
        "recurrent-as-loop",
        "directions with other activations",
        "RNN",
        (OPENVINO,),
        direction="bidirectional",
        activations=["Tanh", "Relu"],
    ),
    _of_rule("choose-booleans", "a Where whose condition is a value too", *_BOTH, c=np.array([False, True])),
    _operator(
        "cast-around-operator",
        "Max of int16",
        "g (int16[2] x, int16[2] y) => (int16[2] z) { z = Max (x, y) }",
        21,
        (ONNXRUNTIME,),
        x=np.array([1, -5], np.int16),
        y=np.array([2, -7], np.int16),
    ),
    _operator(
        "decompose-function",
        "SwiGLU",
        "g (float[4] x, float[4] w) => (float[4] y) { y = SwiGLU (x, w) }",
        28,
        (OPENVINO,),
        x=np.array([0, 128, 256, -256], np.float32),
        w=np.array([1, 2, 3, 4], np.float32),
    ),
    _recurrent(
        "recurrent-as-loop",
        "LSTM with input_forget",
        "LSTM",
        (OPENVINO,),
        input_forget=1,
        activations=["Sigmoid", "Relu", "Relu"],
    ),
    _recurrent("recurrent-as-loop", "GRU with HardSigmoid", "GRU", (OPENVINO,), activations=["HardSigmoid", "Tanh"]),
    _recurrent(
        "recurrent-as-loop",
        "RNN with LeakyRelu",
        "RNN",
        (OPENVINO,),
        activations=["LeakyRelu"] * 2,
        activation_alpha=[0.5, 0.5],
        direction="bidirectional",
        is_linear=True,
    ),
    _of_rule("scan-as-loop", "a Scan that uses an outer value", OPENVINO),
    _of_rule("scan-as-loop", "a state of a Scan that grows", *_BOTH),
    _operator(
        "scan-as-loop",
        "a Scan over other axes, in reverse",
        "g (float[2] v, float[2,4] xs, float w) => (float[2] a, float[2,N] b) { a, b = Scan <num_scan_inputs = 1,"
        " scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [1], scan_output_directions = [1],"
        " body: graph = s (float[2] k, float[2] x) => (float[2] so, float[2] y) { t = Add (k, x) so = Mul (t, w)"
        " y = Identity (so) }> (v, xs) }",
        21,
        (OPENVINO,),
        v=np.ones(2, np.float32),
        xs=np.arange(8, dtype=np.float32).reshape(2, 4),
        w=np.array(2, np.float32),
    ),
    _of_rule("sequence-as-scan-output", "a sequence that is built and joined", OPENVINO),
    _of_rule("sequence-element-as-slice", "elements of a sequence inside a loop", OPENVINO, m=np.array(0)),
    _operator(
        "unroll-loop",
        "a rank that grows a few times",
        "g (float[2] v) => (float[A,B,C,D] a) { m = Constant <value = int64 {3}> () c = Constant <value = bool {1}> ()"
        " a = Loop <body: graph = b (int64 i, bool ci, float[P] x) => (bool co, float[Q] xo) { co = Identity (ci) ax ="
        " Constant <value = int64[1] {0}> () xo = Unsqueeze (x, ax) }> (m, c, v) }",
        21,
        (OPENVINO,),
        v=np.ones(2, np.float32),
    ),
)
