"""Small models on which one rule of ``check`` each applies, rebuilt from public reports, and sound models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import text_models
from reported_models import REPORTED_MODELS
from text_models import loop_text

_M, _C, _V = np.array(6), np.array(True), np.array(1, np.float32)
_LOOP_INPUTS = {"m": _M, "c": _C, "v": _V}
_STOP = "k = Constant <value = float {5}> () xo = Add (x, x) co = Less (xo, k)"


@dataclass(frozen=True)
class RuleCase:
    """A model for a rule. ``also``: further labels that belong to it. ``runs``: False where it cannot be run here.
    ``report``: the public issue that it is rebuilt from, if any."""

    name: str
    rule: str
    model: onnx.ModelProto
    inputs: Mapping[str, Any]
    also: tuple[str, ...] = ()
    runs: bool = True
    report: str = ""


def _text(
    name: str,
    rule: str,
    text: str,
    inputs: Mapping[str, Any],
    also: Sequence[str] = (),
    opset: int = 21,
    runs: bool = True,
) -> RuleCase:
    return RuleCase(name, rule, text_models.proto(text, opset), dict(inputs), tuple(also), runs)


def _loop(
    name: str, rule: str, feeds: Mapping[str, Any] = _LOOP_INPUTS, /, also: Sequence[str] = (), **parts: str
) -> RuleCase:
    return _text(name, rule, loop_text(**parts), feeds, also)


def _without_cond(name: str, rule: str, also: Sequence[str] = (), **parts: str) -> RuleCase:
    parts = {"call": "a = Loop (m, , v)", "graph_inputs": "int64 m, float v", **parts}
    return _loop(name, rule, {"m": _M, "v": _V}, also=also, **parts)


def _scan(name: str, rule: str, body: str, outputs: str, also: Sequence[str] = (), graph: str = "") -> RuleCase:
    text = (
        f"g (float v, float[4] xs{graph}) => (float a, float[N] b) {{ a, b = Scan <num_scan_inputs = 1, body: graph ="
        f" s (float k, float x) => ({outputs}) {{ {body} }}> (v, xs) }}"
    )
    inputs = {"v": _V, "xs": np.arange(4, dtype=np.float32)}
    return _text(name, rule, text, inputs | ({"w": _V} if graph else {}), also)


def recurrent(op_type: str, layout: int = 0, **attributes: Any) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A model of one LSTM, GRU or RNN with four hidden units, and its inputs."""
    random, gates = np.random.default_rng(1), {"LSTM": 4, "GRU": 3, "RNN": 1}[op_type]
    count = 2 if attributes.get("direction") == "bidirectional" else 1
    weights = {"W": (count, 4 * gates, 3), "R": (count, 4 * gates, 4), "B": (count, 8 * gates)}
    node = helper.make_node(op_type, ["X", "W", "R", "B"], ["Y"], "rnn", hidden_size=4, **attributes)
    if layout:
        node.attribute.append(helper.make_attribute("layout", layout))
    x = random.standard_normal((2, 3, 3) if layout else (3, 2, 3)).astype(np.float32)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(random.standard_normal(s).astype(np.float32), name) for name, s in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), {"X": x}


def _recurrent(name: str, rule: str, op_type: str, also: Sequence[str] = (), **attributes: Any) -> RuleCase:
    model, inputs = recurrent(op_type, **attributes)
    return RuleCase(name, rule, model, inputs, tuple(also))


def _zip_map() -> RuleCase:
    maps = helper.make_sequence_type_proto(
        helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    )
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["x", "x"], ["p"]),
            helper.make_node("ZipMap", ["p"], ["z"], "zip", domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2]),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("p", TensorProto.FLOAT, [2, 3]), helper.make_value_info("z", maps)],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return RuleCase("the output of ZipMap", "B69", model, {"x": np.ones((2, 3), np.float32)})


def _hidden_initializer() -> RuleCase:
    model = text_models.proto(loop_text(before="w = Neg (v)", nodes="co = Identity (ci) xo = Add (x, w)"))
    body = next(node for node in model.graph.node if node.op_type == "Loop").attribute[0].g
    body.initializer.append(numpy_helper.from_array(np.array(2, np.float32), "w"))
    return RuleCase("a body's initializer with an outer name", "B76", model, _LOOP_INPUTS)


def _custom_operator() -> RuleCase:
    model = text_models.proto("g (float v) => (float a) { a = Neg (v) }")
    model.graph.node[0].domain = "my.domain"
    model.opset_import.append(helper.make_opsetid("my.domain", 1))
    return RuleCase("an operator of another domain", "B68", model, {"v": _V}, runs=False)


def _opset_29() -> RuleCase:
    model = text_models.proto("g (float v) => (float a) { a = Neg (v) }", 29)
    return RuleCase("an operator set that is too new", "B66", model, {"v": _V}, runs=False)


def _dims(rows: int) -> Any:
    return np.ones((rows, 4), np.float32)


_NESTED = """g (int64 m, float v) => (float a) {{
  a = Loop <body: graph = o (int64 i, bool c, float x) => (bool co, float xo) {{
    co = Identity (c) xo = Loop <body: graph = n ({inputs}) => (bool do, float yo) {{ {nodes} }}> (m, , x)
  }}> (m, , v) }}"""
_SEQUENCES = """g (int64 m, float[2] v) => ({result}) {{ s0 = SequenceEmpty <dtype = 1> ()
    s = Loop <body: graph = b (int64 i, bool ci, seq(float[2]) x) => (bool co, seq(float[2]) xo) {{
        co = Identity (ci) {nodes}
    }}> (m, , s0) {after} }}"""
_TWO = {"m": _M, "v": np.ones(2, np.float32)}
_GROWING = {"inputs": "int64 i, bool ci, float[P] x", "outputs": "bool co, float[Q] xo", "result": "float[R] a"}

#: The cases of all rules that the graph alone shows, of our own probes.
_PROBES: tuple[RuleCase, ...] = (
    _without_cond("a condition that the loop ignores", "B1", nodes=_STOP),
    _without_cond(
        "a condition that is always false", "B1", nodes="co = Constant <value = bool {0}> () xo = Add (x, x)"
    ),
    _loop(
        "the iteration number as a scan output",
        "B7",
        also=("B49", "T5"),
        outputs="bool co, float xo, int64 i",
        call="a, s = Loop (m, c, v)",
        result="float a, int64[N] s",
    ),
    _text(
        "two values that swap",
        "B8",
        "g (int64 m, float v, float w) => (float a, float b) { a, b = Loop <body: graph = o (int64 i, bool c, float x,"
        " float y) => (bool co, float y, float x) { co = Identity (c) s = Add (x, y) }> (m, , v, w) }",
        {"m": _M, "v": _V, "w": 2 * _V},
        also=("B49",),
    ),
    _scan("a state that a Scan returns", "B9", "y = Mul (k, x)", "float k, float y", also=("B49",)),
    _scan("a slice that a Scan returns", "B9", "so = Add (k, x)", "float so, float x", also=("B49",)),
    _loop(
        "strings of an Identity as a scan output",
        "B10",
        {"m": _M, "c": _C, "v": np.array("ab", object)},
        also=("B56", "T5", "T10", "T13"),
        nodes="co = Identity (ci) xo = Identity (x) t = Identity (x)",
        outputs="bool co, string xo, string t",
        inputs="int64 i, bool ci, string x",
        call="a, s = Loop (m, c, v)",
        result="string a, string[N] s",
        graph_inputs="int64 m, bool c, string v",
    ),
    _loop(
        "a negative constant trip count",
        "B14",
        {"c": _C, "v": _V},
        nodes=_STOP,
        before="m = Constant <value = int64 {-1}> ()",
        graph_inputs="bool c, float v",
    ),
    _loop(
        "a condition that is false at first",
        "B16",
        {"m": _M, "v": _V},
        also=("T5",),
        nodes="co = Identity (ci) xo = Add (x, x) e = Identity (xo)",
        outputs="bool co, float xo, float e",
        call="a, s = Loop (m, n, v)",
        result="float a, float[N] s",
        graph_inputs="int64 m, float v",
        before="n = Constant <value = bool {0}> ()",
    ),
    _loop(
        "an omitted output",
        "B17",
        also=("T5",),
        nodes="co = Identity (ci) xo = Add (x, x) e = Identity (xo)",
        outputs="bool co, float xo, float e",
        call=", s = Loop (m, c, v)",
        result="float[N] s",
    ),
    _scan(
        "a Scan that uses an outer value",
        "B21",
        "t = Add (k, x) so = Mul (t, w) y = Identity (so)",
        "float so, float y",
        graph=", float w",
    ),
    _text(
        "nested loops with the same input names",
        "B28",
        _NESTED.format(inputs="int64 i, bool c, float x", nodes="do = Identity (c) yo = Add (x, x)"),
        {"m": _M, "v": _V},
        also=("B37",),
    ),
    _loop(
        "a carried float64",
        "B29",
        {"m": _M, "c": _C, "v": np.array(1.1)},
        also=("T9",),
        nodes="co = Identity (ci) t = Constant <value = double {1.1}> () xo = Mul (x, t)",
        inputs="int64 i, bool ci, double x",
        outputs="bool co, double xo",
        result="double a",
        graph_inputs="int64 m, bool c, double v",
    ),
    _text(
        "Softmax of opset 12",
        "B35",
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }",
        {"x": np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7},
        opset=12,
    ),
    _loop("a body that is not in order", "B36", nodes="co = Identity (ci) xo = Identity (t) t = Add (x, x)"),
    _loop("a body's input with an outer name", "B37", before="x = Identity (v)"),
    _loop(
        "a body's input with the name of the loop's input",
        "B37",
        {"m": _M, "c": _C, "x": _V},
        graph_inputs="int64 m, bool c, float x",
        call="a = Loop (m, c, x)",
    ),
    _hidden_initializer(),
    _loop("an int32 iteration number", "B38", inputs="int32 i, bool ci, float x"),
    _loop(
        "a body that returns an outer value",
        "B40",
        also=("B49",),
        outputs="bool co, float w",
        nodes="co = Identity (ci)",
        before="w = Neg (v)",
    ),
    _loop(
        "a body that returns the outer condition",
        "B40",
        also=("B49",),
        outputs="bool c, float xo",
        nodes="xo = Add (x, x)",
    ),
    _loop(
        "a body that returns an outer constant",
        "B40",
        outputs="bool t, float xo",
        nodes="xo = Add (x, x)",
        before="t = Constant <value = bool {1}> ()",
    ),
    _text(
        "a branch that returns an outer value",
        "B40",
        "g (bool c, float[6] v) => (float[A] a) { a = If (c) <then_branch: graph = t () => (float[6] v) { },"
        " else_branch: graph = e () => (float[6] q) { q = Add (v, v) }> }",
        {"c": _C, "v": np.ones(6, np.float32)},
    ),
    _loop(
        "two types in one operator",
        "B44",
        nodes="co = Identity (ci) d = Cast <to = 11> (x) t = Add (x, d) xo = Cast <to = 1> (t)",
    ),
    _text(
        "one value as two outputs of a branch",
        "B47",
        "g (bool c, float[6] v) => (float[A] a, float[B] b) { a, b = If (c) <then_branch: graph = t () => (float[6] q,"
        " float[6] q) { q = Add (v, v) }, else_branch: graph = e () => (float[6] q, float[6] r) { q = Add (v, v) r ="
        " Neg (v) }> }",
        {"c": _C, "v": np.ones(6, np.float32)},
        ("T15",),
    ),
    _scan("one value as two outputs of a Scan", "B47", "so = Add (k, x)", "float so, float so"),
    _loop(
        "an initial value of another type",
        "B48",
        {"m": _M, "c": _C, "v": np.array(1.0)},
        graph_inputs="int64 m, bool c, double v",
        result="double a",
    ),
    _loop(
        "a value that is handed on",
        "B49",
        {"m": _M, "c": _C, "v": _V, "w": _V},
        call="a, b = Loop (m, c, v, w)",
        graph_inputs="int64 m, bool c, float v, float w",
        result="float a, float b",
        inputs="int64 i, bool ci, float x, float y",
        outputs="bool co, float xo, float y",
        nodes="co = Identity (ci) xo = Add (x, y)",
    ),
    _loop(
        "a condition that is handed on and read",
        "B50",
        nodes="co = Identity (ci) f = Cast <to = 1> (ci) xo = Add (x, f)",
    ),
    _without_cond(
        "a condition without cond that a carried scalar is computed from",
        "B50",
        also=("B1", "B73", "T3"),
        nodes="k = Constant <value = float {5}> () co = Less (x, k) f = Cast <to = 1> (ci) xo = Add (x, f)",
    ),
    _loop(
        "a trip count of int32",
        "B52",
        {**_LOOP_INPUTS, "m": np.array(3, np.int32)},
        also=("S1",),
        graph_inputs="int32 m, bool c, float v",
    ),
    _loop(
        "a condition of shape [1]",
        "B53",
        {**_LOOP_INPUTS, "c": np.array([True])},
        graph_inputs="int64 m, bool[1] c, float v",
    ),
    _loop(
        "a rank that grows",
        "B54",
        {"m": _M, "c": _C, "v": np.ones(2, np.float32)},
        also=("T6",),
        nodes="co = Identity (ci) ax = Constant <value = int64[1] {0}> () xo = Unsqueeze (x, ax)",
        graph_inputs="int64 m, bool c, float[2] v",
    ),
    RuleCase(
        "a result of another type",
        "B55",
        text_models.proto(loop_text(outputs="bool co, double xo", nodes="co = Identity (ci) xo = Cast <to = 11> (x)")),
        _LOOP_INPUTS,
        (),
        runs=False,
    ),
    _text(
        "strings that are compared",
        "B56",
        "g (string[2] v, float w) => (bool[2] a, float b) { a = Equal (v, v) b = Neg (w) }",
        {"v": np.array(["a", "b"], object), "w": _V},
        ("T13",),
    ),
    _text(
        "a loop of unknown shapes over strings",
        "B74",
        """g (int64 m, string[N] s, float[K] v) => (float[A] a) { a = Loop <body: graph = b (int64 i, bool ci, float[P]
        x) => (bool co, float[Q] xo) { co = Identity (ci) n = Size (s) f = Cast <to = 1> (n) xo = Add (x, f) }> (m,
        , v) }""",
        {"m": _M, "s": np.array(["a", "b"], object), "v": np.ones(2, np.float32)},
        ("T10", "T13"),
    ),
    _text(
        "a sequence as an output",
        "B57",
        _SEQUENCES.format(result="seq(float[2]) s", nodes="xo = SequenceInsert (x, v)", after=""),
        _TWO,
        ("B70", "T8"),
    ),
    _text(
        "elements of a sequence inside a loop",
        "B57",
        "g (float[6] v, int64 m) => (float a) { n = Constant <value = int64 {2}> () s = SplitToSequence <axis = 0> (v,"
        " n) z = Constant <value = float {0}> () a = Loop <body: graph = b (int64 i, bool ci, float x) => (bool co,"
        " float xo) { co = Identity (ci) p = SequenceAt (s, i) q = ReduceSum <keepdims = 0> (p) xo = Add (x, q) }>"
        " (m, , z) }",
        {"v": np.arange(6, dtype=np.float32), "m": np.array(3)},
        ("T8",),
    ),
    _text(
        "a map over a sequence",
        "B57",
        "g (float[6] v) => (float[N] a) { n = Constant <value = int64 {2}> () s = SplitToSequence <axis = 0> (v, n) t ="
        " SequenceMap <body: graph = b (float[2] x) => (float[2] y) { y = Add (x, x) }> (s) a = ConcatFromSequence"
        " <axis = 0> (t) }",
        {"v": np.arange(6, dtype=np.float32)},
        ("B70", "T8"),
    ),
    _text(
        "an operator that OpenVINO lacks",
        "B58",
        "g (float[2,2] v) => (float a) { a = Det (v) }",
        {"v": np.eye(2, dtype=np.float32)},
        ("T8",),
    ),
    _text(
        "a type without a kernel",
        "B59",
        "g (bool[2] c, bool[2] v) => (bool[2] a) { a = Where (c, v, v) }",
        {"c": np.array([True, False]), "v": np.array([True, True])},
    ),
    _text(
        "a sequence that is built and joined",
        "B70",
        _SEQUENCES.format(
            result="float[N] a", nodes="xo = SequenceInsert (x, v)", after="a = ConcatFromSequence <axis = 0> (s)"
        ),
        _TWO,
        ("T8",),
    ),
    _text(
        "a Where whose condition is a value too",
        "B77",
        "g (bool[2] c, bool[2] v) => (bool[2] a) { a = Where (c, c, v) }",
        {"c": np.array([True, False]), "v": np.array([True, True])},
        ("B59",),
    ),
    _text(
        "a Reshape to the example's length",
        "B60",
        "g (float[N,4] x) => (float[A,B] y) { s = Constant <value = int64[2] {3, 4}> () y = Reshape (x, s) }",
        {"x": _dims(3)},
    ),
    _text(
        "an Expand to the example's length",
        "B60",
        "g (float[N,4] x) => (float[A,B] y) { s = Constant <value = int64[2] {3, 4}> () y = Expand (x, s) }",
        {"x": _dims(3)},
    ),
    _recurrent("LSTM with layout=1", "B61", "LSTM", layout=1),
    _recurrent("GRU with layout=1", "B61", "GRU", layout=1),
    _recurrent("RNN with layout=1", "B61", "RNN", layout=1),
    _recurrent("LSTM with input_forget", "B62", "LSTM", input_forget=1),
    _recurrent("GRU with HardSigmoid", "B63", "GRU", activations=["HardSigmoid", "Tanh"]),
    _recurrent("GRU with Softsign", "B63", "GRU", activations=["Sigmoid", "Softsign"]),
    _recurrent("RNN with LeakyRelu", "B63", "RNN", activations=["LeakyRelu"]),
    _recurrent("RNN with Affine", "B64", "RNN", ("B63",), activations=["Affine"]),
    _recurrent("RNN with ScaledTanh", "B64", "RNN", ("B63",), activations=["ScaledTanh"]),
    _loop(
        "a scan output of declared length",
        "B65",
        {"c": _C, "v": _V},
        also=("T4",),
        nodes=f"{_STOP} e = Identity (xo)",
        outputs="bool co, float xo, float e",
        call="a, s = Loop (m, c, v)",
        result="float a, float[10] s",
        graph_inputs="bool c, float v",
        before="m = Constant <value = int64 {10}> ()",
    ),
    _opset_29(),
    _text(
        "a state of a Scan that grows",
        "B67",
        "g (float[1] v, float[4] xs) => (float[A] a, float[N] b) { o = Constant <value = int64[1] {1}> () a, b = Scan"
        " <num_scan_inputs = 1, body: graph = s (float[P] k, float x) => (float[Q] so, float y) { t = Constant <value ="
        " int64[1] {1}> () r = Reshape (x, t) so = Concat <axis = 0> (k, r) y = Identity (x) }> (v, xs) }",
        {"v": np.zeros(1, np.float32), "xs": np.arange(4, dtype=np.float32)},
        ("T6",),
    ),
    _text(
        "a state of a Scan of known size that grows",
        "B78",
        "g (float[1] v, float[4,1] xs) => (float[A] a, float[N] b) { a, b = Scan <num_scan_inputs = 1, body: graph = s"
        " (float[P] k, float[1] x) => (float[Q] so, float y) { so = Concat <axis = 0> (k, x) y = ReduceSum <keepdims ="
        " 0> (so) }> (v, xs) }",
        {"v": np.zeros(1, np.float32), "xs": np.ones((4, 1), np.float32)},
        ("B67", "T6"),
    ),
    _custom_operator(),
    _zip_map(),
    _text(
        "a loop without any limit",
        "T1",
        loop_text(call="a = Loop (, , v)", graph_inputs="float v"),
        {"v": _V},
        runs=False,
    ),
    _loop(
        "the largest trip count, and the iteration number",
        "T2",
        {"c": _C, "v": _V},
        nodes="f = Cast <to = 1> (i) k = Constant <value = float {5}> () xo = Add (x, f) co = Less (xo, k)",
        graph_inputs="bool c, float v",
        before=f"m = Constant <value = int64 {{{2**63 - 1}}}> ()",
    ),
    _loop(
        "a scan output whose length is computed",
        "T5",
        nodes="co = Identity (ci) xo = Add (x, x) e = Identity (xo)",
        outputs="bool co, float xo, float e",
        call="a, s = Loop (m, c, v)",
        result="float a, float[N] s",
    ),
    _loop(
        "a carried value that grows",
        "T6",
        {"m": _M, "c": _C, "v": np.ones(2, np.float32)},
        nodes="co = Identity (ci) xo = Concat <axis = 0> (x, x)",
        graph_inputs="int64 m, bool c, float[N] v",
        **_GROWING,
    ),
    _text(
        "a Scan without states",
        "T7",
        "g (float[4] xs) => (float[N] b) { b = Scan <num_scan_inputs = 1, body: graph ="
        " s (float x) => (float y) { y = Add (x, x) }> (xs) }",
        {"xs": np.arange(4, dtype=np.float32)},
    ),
    _text(
        "an operator that TensorRT lacks",
        "T8",
        "g (float[4] x) => (float[N] y) { y = Unique (x) }",
        {"x": np.arange(4, dtype=np.float32)},
    ),
    _recurrent(
        "directions with other activations", "B75", "RNN", direction="bidirectional", activations=["Tanh", "Relu"]
    ),
    _text(
        "branches of other ranks",
        "T11",
        "g (bool c, float[6] v) => (float[A] a) { a = If (c) <then_branch: graph = t () => (float[6] p) { p = Identity"
        " (v) }, else_branch: graph = e () => (float q) { q = ReduceSum <keepdims = 0> (v) }> }",
        {"c": np.array(False), "v": np.ones(6, np.float32)},
        ("B85",),
    ),
    _text(
        "a Squeeze of a dimension that may be one",
        "B93",
        """g (float[N,6] v) => (float[A] y) { s = Shape (v) z = Constant <value = int64 {0}> () n = Gather (s, z)
        one = Constant <value = int64 {1}> () c = Equal (n, one) a = If (c) <then_branch: graph = t () => (float[6] p) {
        ax = Constant <value = int64[1] {0}> () p = Squeeze (v, ax) }, else_branch: graph = e () => (float[M,6] q) { q =
        Identity (v) }> k = Constant <value = int64[1] {-1}> () y = ReduceMean <keepdims = 0> (a, k) }""",
        {"v": np.ones((2, 6), np.float32)},
        ("T11",),
    ),
    _text(
        "the empty cache of a decoder",
        "B91",
        """g (int64 m, bool c, float[1,1,1,4] v) => (float[2,1,1,N,4] y) { e = Constant <value = float[2,1,1,0,4] {}> ()
        y = Loop <body: graph = b (int64 i, bool ci, float[P,Q,R,S,T] p) => (bool co, float[A,B,C,D,E] po) { co =
        Identity (ci) z = Constant <value = int64 {0}> () o = Constant <value = int64 {1}> () ax = Constant <value =
        int64[1] {0}> () k0 = Gather <axis = 0> (p, z) k1 = Gather <axis = 0> (p, o) n0 = Concat <axis = 2> (k0, v) n1
        = Concat <axis = 2> (k1, v) u0 = Unsqueeze (n0, ax) u1 = Unsqueeze (n1, ax) po = Concat <axis = 0> (u0, u1) }>
        (m, c, e) }""",
        {"m": _M, "c": _C, "v": np.ones((1, 1, 1, 4), np.float32)},
    ),
    _text(
        "the shape of a constant without elements",
        "B92",
        "g (float v) => (int64[2] y, float z) { e = Constant <value = float[0,2] {}> () y = Shape (e) z = Neg (v) }",
        {"v": _V},
    ),
    _text(
        "axes that are computed",
        "T14",
        "g (float[2,3] v, int64[1] k) => (float[A] y) { ax = Abs (k) y = ReduceSum <keepdims = 0> (v, ax) }",
        {"v": np.ones((2, 3), np.float32), "k": np.array([1])},
    ),
    _text(
        "a reduction of ScatterND",
        "T14",
        'g (float[3] v, int64[1,1] k, float[1] u) => (float[3] y) { y = ScatterND <reduction = "add"> (v, k, u) }',
        {"v": np.ones(3, np.float32), "k": np.array([[1]]), "u": np.ones(1, np.float32)},
    ),
    _text(
        "a product of integers",
        "T13",
        "g (int64[2,2] v) => (int64[2,2] y) { y = MatMul (v, v) }",
        {"v": np.ones((2, 2), np.int64)},
    ),
    _text(
        "an operator that TensorRT's table lacks",
        "T12",
        "g (float[2] x) => (float[2] y) { y = Swish (x) }",
        {"x": np.ones(2, np.float32)},
        opset=24,
    ),
)

#: Which of them are models of public reports, by name.
_REPORTS = {
    "an omitted output": "microsoft/onnxruntime#10361",
    "a body that is not in order": "onnx/tensorflow-onnx#716",
    "a body's input with the name of the loop's input": "opendatalab/PDF-Extract-Kit#238",
    "a body's initializer with an outer name": "onnx/onnx#6955",
    "a rank that grows": "openvinotoolkit/openvino#25051",
    "a Reshape to the example's length": "pytorch/pytorch#87677",
    "an Expand to the example's length": "pytorch/pytorch#107841",
    "LSTM with layout=1": "opencv/opencv#26456",
    "GRU with layout=1": "openvinotoolkit/openvino#37820",
    "RNN with layout=1": "openvinotoolkit/openvino#37819",
    "GRU with HardSigmoid": "openvinotoolkit/openvino#13470",
    "a scan output of declared length": "onnx/onnx#8135",
    "the output of ZipMap": "triton-inference-server/onnxruntime_backend#94",
    "a Scan without states": "onnx/onnx-tensorrt#543",
    "a sequence that is built and joined": "onnx/onnx-tensorrt#1044",
    "directions with other activations": "NVIDIA/TensorRT#1417",
    "an operator of another domain": "open-mmlab/mmdeploy#2377",
}
#: All of them.
RULE_CASES: tuple[RuleCase, ...] = (
    *(replace(case, report=_REPORTS.get(case.name, "")) for case in _PROBES),
    *(
        RuleCase(
            item.report,
            item.rule,
            text_models.proto(item.text, item.opset),
            item.inputs,
            item.also,
            item.runs,
            item.report,
        )
        for item in REPORTED_MODELS
    ),
)

#: Sound models, for which no rule of onnxruntime, OpenVINO and the specification applies.
SOUND_CASES: tuple[RuleCase, ...] = (
    _loop("a loop", ""),
    _loop("a loop with a condition", "", nodes=_STOP),
    _without_cond("a loop without cond that hands its condition on", ""),
    _loop(
        "a constant trip count",
        "",
        {"c": _C, "v": _V},
        graph_inputs="bool c, float v",
        before="m = Constant <value = int64 {4}> ()",
    ),
    _loop(
        "the largest trip count",
        "",
        {"c": _C, "v": _V},
        graph_inputs="bool c, float v",
        nodes=_STOP,
        before=f"m = Constant <value = int64 {{{2**63 - 1}}}> ()",
    ),
    _loop(
        "a trip count of shape [1]",
        "",
        {**_LOOP_INPUTS, "m": np.array([3])},
        graph_inputs="int64[1] m, bool c, float v",
    ),
    _loop(
        "a value that grows",
        "",
        {"m": _M, "c": _C, "v": np.ones(2, np.float32)},
        nodes="co = Identity (ci) xo = Concat <axis = 0> (x, x)",
        graph_inputs="int64 m, bool c, float[N] v",
        **_GROWING,
    ),
    _text(
        "nested loops",
        "",
        _NESTED.format(inputs="int64 j, bool d, float y", nodes="do = Identity (d) yo = Add (y, x)"),
        {"m": _M, "v": _V},
    ),
    _scan("a Scan", "", "so = Add (k, x) y = Identity (so)", "float so, float y"),
    _recurrent("LSTM", "", "LSTM"),
    _recurrent("GRU with clip", "", "GRU", clip=0.5),
    _recurrent("RNN with Relu", "", "RNN", activations=["Relu"]),
    _recurrent("LSTM in both directions", "", "LSTM", direction="bidirectional"),
    _text(
        "Softmax over the last axis",
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 1> (x) }",
        {"x": np.ones((2, 3), np.float32)},
        opset=12,
    ),
    _text(
        "Reshape that keeps a dimension",
        "",
        "g (float[N,4] x) => (float[A,B] y) { s = Constant <value = int64[2] {-1, 2}> () y = Reshape (x, s) }",
        {"x": _dims(3)},
    ),
)
