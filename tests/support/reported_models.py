"""Small models rebuilt from public reports: data for portability_models.py, which makes cases for rules of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_TRUE, _TRIPS = np.array(True), np.array(6)
_ROW = np.ones((1, 6), np.float32)
_SCALAR = np.array(1, np.float32)
_TEXTS = np.array(["a", "b"], object)


@dataclass(frozen=True)
class ReportedModel:
    """A model of a report. ``also``: further rules that belong to it; ``runs``: False where it cannot be run here."""

    report: str
    rule: str
    text: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    opset: int = 21
    runs: bool = True


def _loop(graph: str, call: str, result: str, body: str, nodes: str, before: str = "", after: str = "") -> str:
    return f"""g ({graph}) => ({result}) {{ {before}
        {call} <body: graph = b (int64 i, bool ci, {body} {{ {nodes} }}> {after} }}"""


def _branches(graph: str, result: str, then: str, other: str, after: str = "", head: str = "bool c, ") -> str:
    return f"""g ({head}{graph}) => ({result}) {{ a = If (c) <then_branch: graph = t () => {then},
        else_branch: graph = e () => {other}> {after} }}"""


def _squeeze(kind: str, axis: int) -> str:
    return f"({kind} q) {{ ax = Constant <value = int64[1] {{{axis}}}> () q = Squeeze (v, ax) }}"


#: By report. Models of an operator alone stand for one in a body as well: rules look at both.
REPORTED_MODELS: tuple[ReportedModel, ...] = (
    # -- branches
    ReportedModel(
        "microsoft/onnxruntime#23757",
        "B84",
        _branches(
            "float[1,1,6] v",
            "float[A] y",
            "(float[1,1,6] p) { p = Identity (v) }",
            _squeeze("float[1,6]", 0),
            "k = Constant <value = int64[1] {-1}> () y = ReduceMean <keepdims = 0> (a, k)",
        ),
        {"c": _TRUE, "v": np.ones((1, 1, 6), np.float32)},
        ("T11",),
    ),
    ReportedModel(
        "spacewalk01/depth-anything-tensorrt#8",
        "B84",
        _branches(
            "float[1,1,2,2] v",
            "float[A,B,C,D] a",
            _squeeze("float[1,2,2]", 1),
            "(float[1,1,2,2] p) { p = Identity (v) }",
        ),
        {"c": np.array(False), "v": np.ones((1, 1, 2, 2), np.float32)},
        ("T11",),
    ),
    ReportedModel(
        "nod-ai/AMD-SHARK-ModelDev#696",
        "B84",
        _branches(
            "float[1,1,6] v",
            "float[A,B,C] y",
            "(float[1,1,6] p) { p = Neg (v) }",
            _squeeze("float[1,6]", 1),
            "y = Mul (a, v)",
            "bool[1] c, ",
        ),
        {"c": np.array([True]), "v": np.ones((1, 1, 6), np.float32)},
        ("T11",),
    ),
    ReportedModel(
        "sonos/tract#1062",
        "B84",
        """g (int64 m, float[1,6] v) => (float[A,B] y) { y = Loop <body: graph = b (int64 i, bool ci, float[1,6] x) =>
        (bool co, float[1,6] xo) { co = Identity (ci) z = Constant <value = int64 {0}> () first = Equal (i, z)
        a = If (first) <then_branch: graph = t () => (float[1,6] p) { p = Identity (x) },
        else_branch: graph = e () => (float[6] q) { ax = Constant <value = int64[1] {0}> () q = Squeeze (x, ax) }>
        xo = Add (a, x) }> (m, , v) }""",
        {"m": _TRIPS, "v": _ROW},
        ("T11",),
    ),
    ReportedModel(
        "openvinotoolkit/openvino#36181",
        "B85",
        _branches(
            "float[6] v",
            "float[A] y",
            "(float q) { q = ReduceMax <keepdims = 0> (v) }",
            "(float[6] p) { p = Neg (v) }",
            "y = Identity (a)",
        ),
        {"c": _TRUE, "v": np.ones(6, np.float32)},
        ("T11",),
    ),
    ReportedModel(
        "microsoft/onnxruntime#18549",
        "B86",
        _branches("float v", "float a", "(float p) { p = Neg (v) }", "(float q) { q = Abs (v) }", "", "bool[2] c, "),
        {"c": np.array([True, False]), "v": _SCALAR},
        runs=False,
    ),
    ReportedModel(
        "onnx/onnx#3541",
        "B86",
        """g (int64 m, bool[3] c, float v) => (float y) { y = Loop <body: graph = b (int64 i, bool ci, float x) =>
        (bool co, float xo) { co = Identity (ci) xo = If (c) <then_branch: graph = t () => (float p) { p = Neg (x)
        }, else_branch: graph = e () => (float q) { q = Abs (x) }> }> (m, , v) }""",
        {"m": _TRIPS, "c": np.array([True, False, True]), "v": _SCALAR},
        runs=False,
    ),
    ReportedModel(
        "microsoft/onnxruntime#9339",
        "B89",
        f"""g (float[1,10] v) => (float[A,B] y) {{ d = Constant <value = bool {{0}}> () y = If (d) <then_branch: graph =
        t () => {_squeeze("float[P]", 1)}, else_branch: graph = e () => (float[1,10] p) {{ p = Identity (v) }}> }}""",
        {"v": np.ones((1, 10), np.float32)},
        ("T11",),
    ),
    ReportedModel(
        "microsoft/onnxruntime#5991",
        "B40",
        _branches(
            "float[3,4,5] v",
            "float[3,4,5] a",
            "(float[3,4,5] p) { k = Constant <value = float {10}> () p = Add (v, k) }",
            "(float[3,4,5] v) { }",
        ),
        {"c": _TRUE, "v": np.ones((3, 4, 5), np.float32)},
    ),
    ReportedModel(
        "microsoft/onnxruntime#11536",
        "B40",
        """g (bool c, float v) => (float a) { one = Constant <value = float {1}> () a = If (c) <then_branch: graph =
        t () => (float one) { }, else_branch: graph = e () => (float q) { q = Abs (v) }> }""",
        {"c": _TRUE, "v": _SCALAR},
    ),
    ReportedModel(
        "microsoft/onnxruntime#3755",
        "B40",
        """g (int64[5] array, int64 thresh) => (int64 n) { m = Constant <value = int64 {5}> () yes = Constant <value =
        bool {1}> () zero = Constant <value = int64 {0}> () n = Loop <body: graph = b (int64 i, bool ci, int64 count)
        => (bool co, int64 next) { co = Identity (yes) x = Gather <axis = 0> (array, i) above = Greater (x, thresh)
        next = If (above) <then_branch: graph = t () => (int64 p) { one = Constant <value = int64 {1}> () p = Add
        (count, one) }, else_branch: graph = e () => (int64 count) { }> }> (m, yes, zero) }""",
        {"array": np.array([10, 11, 5, 4, 6]), "thresh": np.array(5)},
    ),
    # -- types
    ReportedModel(
        "pytorch/pytorch#125753",
        "S1",
        "g (int64[2] v) => (int64[2] y) { y = Floor (v) }",
        {"v": np.array([1, 2])},
        ("T13",),
    ),
    ReportedModel(
        "microsoft/onnxruntime#310",
        "S1",
        "g (float[2,3] v) => (float[A] y) { s = Constant <value = int32[1] {6}> () y = Reshape (v, s) }",
        {"v": np.ones((2, 3), np.float32)},
    ),
    ReportedModel(
        "microsoft/onnxruntime#6782",
        "B44",
        "g (double[1,2] v, float[2,3] w) => (double[1,3] y) { y = MatMul (v, w) }",
        {"v": np.ones((1, 2)), "w": np.ones((2, 3), np.float32)},
    ),
    ReportedModel(
        "microsoft/onnxruntime#4997",
        "B44",
        _loop(
            "int64 m, int32[3] v, float x0",
            "y = Loop",
            "float y",
            "float x) => (bool co, float xo)",
            "n = Size (v) k = Constant <value = int32 {3}> () co = Equal (n, k) xo = Add (x, x)",
            "yes = Constant <value = bool {1}> ()",
            "(m, yes, x0)",
        ),
        {"m": _TRIPS, "v": np.arange(3, dtype=np.int32), "x0": _SCALAR},
    ),
    ReportedModel(
        "microsoft/onnxruntime#6470",
        "B44",
        """g (float[4,1] v) => (float[4,1] y) { n = Constant <value = int64 {4}> () d = Div (v, n) f = Floor (d)
        y = Mul (f, n) }""",
        {"v": np.ones((4, 1), np.float32)},
    ),
    ReportedModel(
        "microsoft/onnxruntime#649",
        "B44",
        """g (float[1,2,3,3] v) => (float[1,2,3,3] y) { k = Constant <value = double {0.75}> () s = Mul (v, v)
        y = Add (s, k) }""",
        {"v": np.ones((1, 2, 3, 3), np.float32)},
    ),
    ReportedModel(
        "microsoft/onnxruntime#1542",
        "B44",
        _loop(
            "int64 m, float x0",
            "y = Loop",
            "float y",
            "float x) => (bool co, float xo)",
            "co = Identity (ci) t = Mul (x, i) xo = Cast <to = 1> (t)",
            "",
            "(m, , x0)",
        ),
        {"m": _TRIPS, "x0": _SCALAR},
    ),
    ReportedModel(
        "NVIDIA/TensorRT#411",
        "B55",
        _loop(
            "int64 m, bool c, int32[1] x0",
            "y = Loop",
            "int32[1] y",
            "int32[1] x) => (bool co, int64[1] xo)",
            "co = Identity (ci) w = Cast <to = 7> (x) one = Constant <value = int64[1] {1}> () xo = Add (w, one)",
            "",
            "(m, c, x0)",
        ),
        {"m": _TRIPS, "c": _TRUE, "x0": np.ones(1, np.int32)},
        runs=False,
    ),
    ReportedModel(
        "microsoft/onnxruntime#7981",
        "B48",
        _loop(
            "int64 m, bool c, float16[1] x0",
            "y = Loop",
            "float16[1] y",
            "float[1] x) => (bool co, float[1] xo)",
            "co = Identity (ci) xo = Mul (x, x)",
            "",
            "(m, c, x0)",
        ),
        {"m": _TRIPS, "c": _TRUE, "x0": np.ones(1, np.float16)},
    ),
    ReportedModel(
        "microsoft/onnxruntime#3736",
        "B48",
        _loop(
            "int64 m, bool c, double[2] h0, float[2] w",
            "y = Loop",
            "double[2] y",
            "float[2] h) => (bool co, float[2] ho)",
            "co = Identity (ci) ho = Mul (h, w)",
            "",
            "(m, c, h0)",
        ),
        {"m": _TRIPS, "c": _TRUE, "h0": np.ones(2), "w": np.ones(2, np.float32)},
        ("B79",),
        runs=False,
    ),
    ReportedModel(
        "onnx/onnx-tensorrt#501",
        "B29",
        _loop(
            "int64 m, double[2] x0",
            "y = Loop",
            "double[2] y",
            "double[2] x) => (bool co, double[2] xo)",
            "co = Identity (ci) k = Constant <value = double {1.1}> () xo = Mul (x, k)",
            "",
            "(m, , x0)",
        ),
        {"m": _TRIPS, "x0": np.ones(2)},
        ("T9",),
    ),
    # -- numbers
    ReportedModel(
        "openvinotoolkit/openvino#35829",
        "B88",
        """g (int64 m, int64 seed) => (int64 y) { y = Loop <body: graph = b (int64 i, bool ci, int64 x) => (bool co,
        int64 xo) { co = Identity (ci) p = Constant <value = int64 {1000000007}> () t = Add (x, x) xo = Mod (t, p)
        }> (m, , seed) }""",
        {"m": _TRIPS, "seed": np.array(123456789)},
    ),
    ReportedModel(
        "openvinotoolkit/openvino#35838",
        "B88",
        "g (int64[4] v) => (int64[4] y) { k = Constant <value = int64 {815730721}> () y = Pow (k, v) }",
        {"v": np.array([1, 0, 1, 0])},
        ("T13",),
    ),
    ReportedModel(
        "openvinotoolkit/openvino#37766",
        "B88",
        "g (int64[4] v) => (int64[4] y) { n = Constant <value = int64 {633444086}> () y = Div (n, v) }",
        {"v": np.array([961, 1, 2, 3])},
    ),
    ReportedModel(
        "openvinotoolkit/openvino#37598",
        "B87",
        "g (int32 n) => (int32 y) { s = Constant <value = int64[0] {}> () y = Expand (n, s) }",
        {"n": np.array(-8, np.int32)},
    ),
    ReportedModel(
        "openvinotoolkit/openvino#37823",
        "B35",
        """g (int64 m, float[2,3,4] x0) => (float[2,3,4] y) { y = Loop <body: graph = b (int64 i, bool ci, float[2,3,4]
        x) => (bool co, float[2,3,4] xo) { co = Identity (ci) xo = Softmax <axis = 1> (x) }> (m, , x0) }""",
        {"m": _TRIPS, "x0": np.arange(24, dtype=np.float32).reshape(2, 3, 4)},
        opset=11,
    ),
    # -- kernels and operators
    ReportedModel(
        "microsoft/onnxruntime#9539",
        "B59",
        """g (int32[4] x, bool[4] v) => (bool[4] y) { z = Constant <value = int32 {0}> () no = Constant <value = bool
        {0}> () c = Equal (x, z) y = Where (c, no, v) }""",
        {"x": np.arange(4, dtype=np.int32), "v": np.ones(4, bool)},
    ),
    ReportedModel(
        "microsoft/onnxruntime#15845",
        "B59",
        "g (int16[2] v) => (int16[2] y) { y = Min (v, v) }",
        {"v": np.array([1, 2], np.int16)},
        ("T13",),
    ),
    ReportedModel(
        "microsoft/onnxruntime#7546",
        "B59",
        "g (double[1,1,4] v, double[1,1,2] w) => (double[1,1,3] y) { y = Conv (v, w) }",
        {"v": np.ones((1, 1, 4)), "w": np.ones((1, 1, 2))},
    ),
    ReportedModel(
        "microsoft/onnxruntime#2207",
        "T8",
        'g (uint8[2] v) => (uint8[2] y) { y = BitShift <direction = "LEFT"> (v, v) }',
        {"v": np.array([1, 2], np.uint8)},
    ),
    ReportedModel(
        "NVIDIA/TensorRT#3019",
        "T8",
        _loop(
            "int64 m, float[4] x0",
            "y = Loop",
            "float[A] y",
            "float[N] x) => (bool co, float[K] xo)",
            "co = Identity (ci) xo = Unique (x)",
            "",
            "(m, , x0)",
        ),
        {"m": _TRIPS, "x0": np.array([1, 1, 2, 3], np.float32)},
    ),
    ReportedModel(
        "microsoft/onnxruntime#26743",
        "T8",
        "g (int8[2,2] v, uint8[2,2] w) => (int32[2,2] y) { y = MatMulInteger (v, w) }",
        {"v": np.ones((2, 2), np.int8), "w": np.ones((2, 2), np.uint8)},
    ),
    ReportedModel(
        "openvinotoolkit/openvino#24635",
        "B58",
        "g (float[1,1,3,3] x, float[1,1,2,2] w, float[1,8,2,2] o) => (float[1,1,2,2] y) { y = DeformConv (x, w, o) }",
        {
            "x": np.ones((1, 1, 3, 3), np.float32),
            "w": np.ones((1, 1, 2, 2), np.float32),
            "o": np.zeros((1, 8, 2, 2), np.float32),
        },
    ),
    # -- strings, sequences
    ReportedModel(
        "microsoft/onnxruntime#14511",
        "B56",
        "g (string[2] v) => (string[4] y) { r = Constant <value = int64[1] {2}> () y = Tile (v, r) }",
        {"v": _TEXTS},
        ("T13",),
    ),
    ReportedModel(
        "onnx/tensorflow-onnx#1080",
        "B58",
        "g (string[2] v) => (string[A] y) { y = StringConcat (v, v) }",
        {"v": _TEXTS},
        ("B56", "T8"),
    ),
    ReportedModel(
        "openvinotoolkit/openvino#26107",
        "T8",
        """g (float[6] v) => (float[A] y) { n = Constant <value = int64 {2}> () s = SplitToSequence <axis = 0> (v, n)
        y = ConcatFromSequence <axis = 0> (s) }""",
        {"v": np.arange(6, dtype=np.float32)},
    ),
    ReportedModel(
        "openvinotoolkit/openvino#13116",
        "B70",
        """g (int64 m, float[2] v) => (float[2] y) { s = SequenceConstruct (v, v) y = Loop <body: graph = b (int64 i,
        bool ci, float[2] x) => (bool co, float[2] xo) { co = Identity (ci) k = Constant <value = int64 {0}> () e =
        SequenceAt (s, k) xo = Add (x, e) }> (m, , v) }""",
        {"m": _TRIPS, "v": np.ones(2, np.float32)},
        ("T8",),
    ),
    ReportedModel(
        "openvinotoolkit/openvino#15094",
        "B57",
        """g (int64 m, float[2] v) => (float[A] y) { s0 = SequenceEmpty <dtype = 1> () z = Constant <value = int64 {0}>
        () s = Loop <body: graph = b (int64 i, bool ci, seq(float[2]) x) => (bool co, seq(float[2]) xo) { co =
        Identity (ci) xo = SequenceInsert (x, v, z) }> (m, , s0) y = ConcatFromSequence <axis = 0> (s) }""",
        {"m": _TRIPS, "v": np.ones(2, np.float32)},
        ("T8",),
    ),
    ReportedModel(
        "microsoft/onnxscript#1570",
        "B90",
        """g (int64 m, float[2] v) => (int64 y) { s0 = SequenceEmpty <dtype = 1> () s = Loop <body: graph = b (int64 i,
        bool ci, seq(float[2]) x) => (bool co, seq(float[2]) xo) { co = Identity (ci) xo = SequenceInsert (x, v) }>
        (m, , s0) y = SequenceLength (s) }""",
        {"m": _TRIPS, "v": np.ones(2, np.float32)},
        ("B70", "T8"),
    ),
    ReportedModel(
        "openvinotoolkit/openvino#32477",
        "B70",
        """g (int64 m, float[1,2] v) => (float[A,2] y) { s0 = SequenceEmpty <dtype = 1> () s = Loop <body: graph = b
        (int64 i, bool ci, seq(float[1,2]) x) => (bool co, seq(float[1,2]) xo) { co = Identity (ci) f = Cast <to =
        1> (i) e = Add (v, f) xo = SequenceInsert (x, e) }> (m, , s0) y = ConcatFromSequence <axis = 0> (s) }""",
        {"m": _TRIPS, "v": np.ones((1, 2), np.float32)},
        ("T8",),
    ),
    ReportedModel(
        "pytorch/pytorch#138485",
        "B70",
        """g (int64 m, float[4,2] w, int64[6] ids) => (float[A,2] y) { s0 = SequenceEmpty <dtype = 1> () s = Loop
        <body: graph = b (int64 i, bool ci, seq(float[1,2]) x) => (bool co, seq(float[1,2]) xo) { co = Identity (ci)
        id = Gather <axis = 0> (ids, i) e = Gather <axis = 0> (w, id) z = Constant <value = int64[1] {0}> () r =
        Unsqueeze (e, z) xo = SequenceInsert (x, r) }> (m, , s0) y = ConcatFromSequence <axis = 0> (s) }""",
        {"m": _TRIPS, "w": np.ones((4, 2), np.float32), "ids": np.arange(6) % 4},
        ("T8",),
    ),
    # -- loops
    ReportedModel(
        "enpasos/jax2onnx#37",
        "B53",
        """g (int64 m, bool[1] c, int64 x0) => (int64 y) { y = Loop <body: graph = b (int64 i, bool ci, int64 x) =>
        (bool co, int64 xo) { co = Identity (ci) one = Constant <value = int64 {1}> () xo = Add (x, one) }> (m, c,
        x0) }""",
        {"m": _TRIPS, "c": np.array([True]), "x0": np.array(0)},
    ),
    ReportedModel(
        "onnx/onnx#2082",
        "B37",
        """g (int64 m, bool cond, float a, float b) => (float b_loop) { b_loop = Loop <body: graph = s (int64 i, bool
        keep, float b) => (bool more, float next) { next = Add (a, b) more = Identity (keep) }> (m, cond, b) }""",
        {"m": _TRIPS, "cond": _TRUE, "a": _SCALAR, "b": _SCALAR},
    ),
    ReportedModel(
        "ROCm/AMDMIGraphX#5078",
        "B37",
        """g (int64 m, bool c, float[1,2] v) => (float[A,B] y) { h = Tanh (v) y = Loop <body: graph = s (int64 i, bool
        ci, float[1,2] h) => (bool co, float[1,2] ho) { co = Identity (ci) ho = Add (h, h) }> (m, c, h) }""",
        {"m": _TRIPS, "c": _TRUE, "v": np.ones((1, 2), np.float32)},
    ),
    ReportedModel(
        "onnx/onnx#2303",
        "B28",
        """g (int64 m, float v) => (float a) { a = Loop <body: graph = o (int64 i, bool c, float x) => (bool co, float
        xo) { co = Identity (c) xo = Loop <body: graph = n (int64 i, bool c, float x) => (bool do, float yo) { do =
        Identity (c) f = Cast <to = 1> (i) yo = Add (x, f) }> (m, , x) }> (m, , v) }""",
        {"m": np.array(2), "v": _SCALAR},
        ("B37",),
    ),
    ReportedModel(
        "microsoft/onnxruntime#10941",
        "B36",
        """g (int64 m, bool c, float[2] v) => (float[2] y) { y = Loop <body: graph = b (int64 i, bool ci, float[2] x)
        => (bool co, float[2] xo) { xo = Mul (s, s) s = Sigmoid (x) co = Identity (ci) }> (m, c, v) }""",
        {"m": _TRIPS, "c": _TRUE, "v": np.ones(2, np.float32)},
    ),
    ReportedModel(
        "onnx/onnx#3969",
        "B17",
        """g (int64 m, bool c, float v, float w) => (float y) { , y = Loop <body: graph = b (int64 i, bool ci, float x,
        float z) => (bool co, float xo, float zo) { co = Identity (ci) xo = Add (x, z) zo = Add (z, z) }> (m, c, v,
        w) }""",
        {"m": _TRIPS, "c": _TRUE, "v": _SCALAR, "w": _SCALAR},
    ),
    ReportedModel(
        "NVIDIA/TensorRT#2582",
        "T6",
        _loop(
            "int64 m, bool c, int64[3,1] x0",
            "y = Loop",
            "int64[3,A] y",
            "int64[3,P] x) => (bool co, int64[3,Q] xo)",
            "co = Identity (ci) z = Constant <value = int64[3,1] {0,0,0}> () xo = Concat <axis = 1> (x, z)",
            "",
            "(m, c, x0)",
        ),
        {"m": _TRIPS, "c": _TRUE, "x0": np.ones((3, 1), np.int64)},
    ),
    ReportedModel(
        "NVIDIA/TensorRT#2566",
        "T6",
        _loop(
            "int64 m, bool c, float[N,2] x0, float[1,2] v",
            "y, s = Loop",
            "float[A,2] y, float[B] s",
            "float[P,2] x) => (bool co, float[Q,2] xo, float e)",
            "co = Identity (ci) xo = Concat <axis = 0> (x, v) e = ReduceSum <keepdims = 0> (xo)",
            "",
            "(m, c, x0)",
        ),
        {"m": _TRIPS, "c": _TRUE, "x0": np.ones((2, 2), np.float32), "v": np.ones((1, 2), np.float32)},
        ("T5",),
    ),
    ReportedModel(
        "onnx/tensorflow-onnx#1948",
        "T2",
        """g (float[2] x0) => (float[2] y) { m = Constant <value = int64 {2147483647}> () yes = Constant <value = bool
        {1}> () y = Loop <body: graph = b (int64 i, bool ci, float[2] x) => (bool co, float[2] xo) { f = Cast <to =
        1> (i) xo = Add (x, f) n = Constant <value = int64 {32}> () co = Less (i, n) }> (m, yes, x0) }""",
        {"x0": np.ones(2, np.float32)},
    ),
    ReportedModel(
        "onnx/onnx-mlir#1420",
        "T5",
        f"""g (float[30] x0) => (float[30] y, float[N,30] s) {{ m = Constant <value = int64 {{{2**63 - 1}}}> () yes =
        Constant <value = bool {{1}}> () y, s = Loop <body: graph = b (int64 i, bool ci, float[30] x) => (bool co,
        float[30] xo, float[30] e) {{ xo = Add (x, x) e = Neg (xo) k = Constant <value = float {{50}}> () t =
        ReduceSum <keepdims = 0> (xo) co = Less (t, k) }}> (m, yes, x0) }}""",
        {"x0": np.ones(30, np.float32)},
    ),
    ReportedModel(
        "ROCm/AMDMIGraphX#2361",
        "T5",
        f"""g (bool c, float[4,2] boxes) => (float[N,2] s) {{ m = Constant <value = int64 {{{2**63 - 1}}}> () n =
        Constant <value = int64 {{0}}> () k, s = Loop <body: graph = b (int64 i, bool ci, int64 x) => (bool co,
        int64 xo, float[2] e) {{ one = Constant <value = int64 {{1}}> () xo = Add (x, one) e = Gather <axis = 0>
        (boxes, x) end = Constant <value = int64 {{4}}> () co = Less (xo, end) }}> (m, c, n) }}""",
        {"c": _TRUE, "boxes": np.ones((4, 2), np.float32)},
    ),
    ReportedModel(
        "onnx/tensorflow-onnx#1969",
        "T1",
        """g (float x0) => (float y) { y = Loop <body: graph = b (int64 i, bool ci, float x) => (bool co, float xo) {
        xo = Add (x, x) k = Constant <value = float {5}> () co = Less (xo, k) }> (, , x0) }""",
        {"x0": _SCALAR},
        ("B1",),
        runs=False,
    ),
    ReportedModel(
        "onnx/onnx#8146",
        "B65",
        """g (bool c, int64 n) => (int64[8] s) { m = Constant <value = int64 {8}> () k0 = Constant <value = int64 {1}>
        () k, s = Loop <body: graph = b (int64 i, bool ci, int64 x) => (bool co, int64 xo, int64 e) { one = Constant
        <value = int64 {1}> () xo = Add (x, one) e = Identity (xo) co = Less (xo, n) }> (m, c, k0) }""",
        {"c": _TRUE, "n": np.array(4)},
        ("T4",),
    ),
    # -- sizes of the example
    ReportedModel(
        "microsoft/onnxruntime#6424",
        "B60",
        """g (float[N,16,4] x) => (float[A,64] y) { s = Constant <value = int64[2] {1, 64}> () y = Reshape (x, s) }""",
        {"x": np.ones((1, 16, 4), np.float32)},
    ),
    ReportedModel(
        "pytorch/pytorch#122321",
        "B60",
        "g (float[S,B,4] x) => (float[A,C,D] y) { s = Constant <value = int64[3] {5, 8, 2}> () y = Reshape (x, s) }",
        {"x": np.ones((5, 4, 4), np.float32)},
    ),
)
