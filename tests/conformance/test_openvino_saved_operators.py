"""Every OpenVINO operator that we have, as openvino itself writes it.

It is made with each of openvino's operator sets, saved, opened here, and run beside the CPU plugin.

The version that a layer carries is that of the operator's class in openvino, which is not always the operator set that
the written specification has it from: RNNCell says ``opset1``, LogicalXor ``opset2``, ScatterNDUpdate ``opset4``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
import openvino_peer
from loopdbg.runtime.graph import Loop, Operation, System
from loopdbg.runtime.ops import registry

from . import openvino_cases
from .single_node import Array, assert_close

F32, I32, I64 = np.float32, np.int32, np.int64
X = (np.arange(1, 7, dtype=F32) / 8).reshape(2, 3)
WHOLE = np.array([[1, 2, 3], [4, 5, 6]], I32)
TRUTH = np.array([[True, False, True]])
HIDDEN = 4
Case = tuple[list[Any], dict[str, Any]]


class ConstantInput:
    """An input that is a Const layer; the others are Parameters."""

    def __init__(self, value: Any, dtype: Any = I64) -> None:
        self.array = np.array(value, dtype)


def weights(*shape: int) -> ConstantInput:
    return ConstantInput(np.random.default_rng(sum(shape)).normal(size=shape), F32)


def cell(gates: int, states: int, sequence: bool) -> Case:
    """One of the recurrent cells, or a sequence of five steps of which the second row has three."""
    names = {4: "sigmoid,tanh,tanh", 3: "sigmoid,tanh", 1: "tanh"}[gates].split(",")
    attributes: dict[str, Any] = {"hidden_size": HIDDEN, "activations": names}
    rows = (gates * HIDDEN,)
    if not sequence:
        state = np.full((2, HIDDEN), 0.5, F32)
        return [X, *[state] * states, weights(*rows, 3), weights(*rows, HIDDEN), weights(*rows)], attributes
    steps, state = np.repeat(X[:, None], 5, 1), np.full((2, 1, HIDDEN), 0.5, F32)
    joined = [weights(1, *rows, 3), weights(1, *rows, HIDDEN), weights(1, *rows)]
    return [steps, *[state] * states, ConstantInput([5, 3]), *joined], {**attributes, "direction": "forward"}


UNARY = (
    "Abs Acos Asin Atan Ceiling Cos Cosh Erf Exp Floor Gelu HSigmoid HSwish Identity IsFinite IsInf IsNaN Log Mish"
    " Negative Relu Sigmoid Sign Sin Sinh SoftPlus SoftSign Sqrt Swish Tan Tanh"
)
BINARY = (
    "Add Divide Equal FloorMod Greater GreaterEqual Less LessEqual Maximum Minimum Mod Multiply NotEqual PRelu Power"
    " SquaredDifference Subtract"
)
CASES: dict[str, Case] = {
    **dict.fromkeys(UNARY.split(), ([X], {})),
    **dict.fromkeys(["Acosh", "Asinh", "Atanh"], ([X + 1], {})),
    **dict.fromkeys(BINARY.split(), ([X, X[:, ::-1].copy()], {})),
    **dict.fromkeys(["BitwiseAnd", "BitwiseOr", "BitwiseXor"], ([WHOLE, WHOLE], {})),
    **dict.fromkeys(["BitwiseLeftShift", "BitwiseRightShift"], ([WHOLE, WHOLE], {})),
    **dict.fromkeys(["LogicalAnd", "LogicalOr", "LogicalXor"], ([TRUTH, ~TRUTH], {})),
    **dict.fromkeys(
        ["ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"],
        ([X, ConstantInput([1])], {"keep_dims": True}),
    ),
    **dict.fromkeys(["ReduceLogicalAnd", "ReduceLogicalOr"], ([TRUTH, ConstantInput([1])], {"keep_dims": True})),
    **dict.fromkeys(["LogSoftmax", "Softmax"], ([X], {"axis": 1})),
    "BitwiseNot": ([WHOLE], {}),
    "Broadcast": ([X, ConstantInput([4, 2, 3])], {"mode": "numpy"}),
    "Clamp": ([X], {"min": 0.2, "max": 0.6}),
    "Concat": ([X, X], {"axis": 1}),
    "Convert": ([X], {"destination_type": "i32"}),
    "ConvertLike": ([X, WHOLE], {}),
    "CumSum": ([X, ConstantInput(1)], {}),
    "Elu": ([-X], {"alpha": 0.5}),
    "GRUCell": cell(3, 1, False),
    "GRUSequence": cell(3, 1, True),
    "Gather": ([X, ConstantInput([1, 0]), ConstantInput(1)], {}),
    "GatherElements": ([X, WHOLE // 4], {"axis": 1}),
    "GatherND": ([X, ConstantInput([1, 1])], {}),
    "HardSigmoid": ([X, ConstantInput(0.2, F32), ConstantInput(0.5, F32)], {}),
    "LSTMCell": cell(4, 2, False),
    "LSTMSequence": cell(4, 2, True),
    "LogicalNot": ([TRUTH], {}),
    "MatMul": ([X, X], {"transpose_a": False, "transpose_b": True}),
    "Multinomial": (
        [X, ConstantInput([2])],
        {"convert_type": "i64", "with_replacement": True, "log_probs": False, "global_seed": 1, "op_seed": 1},
    ),
    "NonZero": ([X], {"output_type": "i64"}),
    "OneHot": ([WHOLE, ConstantInput(4), ConstantInput(1, F32), ConstantInput(0, F32)], {"axis": -1}),
    "Pad": ([X, ConstantInput([1, 1]), ConstantInput([0, 0])], {"pad_mode": "reflect"}),
    "RNNCell": cell(1, 1, False),
    "RNNSequence": cell(1, 1, True),
    "RandomUniform": (
        [ConstantInput([2, 3]), ConstantInput(0, F32), ConstantInput(1, F32)],
        {"output_type": "f32", "global_seed": 1, "op_seed": 1},
    ),
    "Range": ([ConstantInput(0), ConstantInput(5), ConstantInput(1)], {"output_type": "i64"}),
    "Reshape": ([X, ConstantInput([3, 2])], {"special_zero": False}),
    "Round": ([X], {"mode": "half_to_even"}),
    "ScatterElementsUpdate": ([X, ConstantInput([[0, 1, 0]]), X[1:], ConstantInput(0)], {}),
    "ScatterNDUpdate": ([X, ConstantInput([[1]]), X[:1]], {}),
    "ScatterUpdate": ([X, ConstantInput([1]), X[:1], ConstantInput(0)], {}),
    "Select": ([TRUTH, X, -X], {"auto_broadcast": "numpy"}),
    "Selu": ([-X, ConstantInput(1.6, F32), ConstantInput(1.05, F32)], {}),
    "ShapeOf": ([X], {"output_type": "i64"}),
    "Slice": ([X, ConstantInput([0]), ConstantInput([1]), ConstantInput([1]), ConstantInput([0])], {}),
    "Split": ([X, ConstantInput(1)], {"num_splits": 3}),
    "Squeeze": ([X[None], ConstantInput([0])], {}),
    "StridedSlice": (
        [X, ConstantInput([0, 0]), ConstantInput([1, 2]), ConstantInput([1, 1])],
        {"begin_mask": [0, 0], "end_mask": [0, 0]},
    ),
    "Tile": ([X, ConstantInput([2, 1])], {}),
    "TopK": ([X, ConstantInput(2)], {"axis": 1, "mode": "max", "sort": "value"}),
    "Transpose": ([X, ConstantInput([1, 0])], {}),
    "Unsqueeze": ([X, ConstantInput([0])], {}),
    "VariadicSplit": ([X, ConstantInput(1), ConstantInput([1, 2])], {}),
}
SPATIAL = {"strides": [1, 2], "pads_begin": [1, 0], "pads_end": [0, 1], "dilations": [1, 1], "auto_pad": "explicit"}
IMAGE = np.arange(60, dtype=np.float32).reshape(1, 2, 5, 6) / 60
for _op_type, _shape in (
    ("Convolution", (3, 2, 3, 3)),
    ("GroupConvolution", (2, 3, 1, 3, 3)),
    ("ConvolutionBackpropData", (2, 3, 3, 3)),
    ("GroupConvolutionBackpropData", (2, 1, 3, 3, 3)),
):
    _weights = np.cos(np.arange(np.prod(_shape), dtype=np.float32)).reshape(_shape)
    CASES[_op_type] = ([IMAGE, ConstantInput(_weights, F32)], SPATIAL)
SPATIAL = {**SPATIAL, "kernel": [2, 3], "rounding_type": "floor"}
CASES["AvgPool"] = ([IMAGE], {**SPATIAL, "exclude-pad": True})
CASES["MaxPool"] = ([IMAGE], SPATIAL)
#: What they draw is their own; dtype and shape are compared.
RANDOM = ("Multinomial", "RandomUniform")
#: Read as loops.
LOOPS = ("LSTMSequence", "GRUSequence", "RNNSequence")


def test_each_of_our_operators_is_in_the_table() -> None:
    registry._load_families()
    ours = {key[2] for key in registry._OPERATORS if key[0] is System.OPENVINO}
    elsewhere = {case.type.lower() for case in openvino_cases.CASES} | {"assign", "readvalue"}
    assert ours - elsewhere <= {op_type.lower() for op_type in CASES if op_type not in LOOPS} <= ours


def build_case(op_type: str) -> Iterator[tuple[str, Any, list[Array]]]:
    """The version that openvino gives the operator, a model of it, and its inputs: one for each of its classes."""
    import openvino
    from openvino import opset1
    from openvino.utils.node_factory import NodeFactory

    inputs, attributes = CASES[op_type]
    sets = sorted((name for name in vars(openvino) if name.startswith("opset")), key=lambda name: int(name[5:]))
    seen = set()
    for opset in sets:
        parameters = [opset1.parameter(x.shape, x.dtype.type) for x in inputs if not isinstance(x, ConstantInput)]
        left = iter(parameters)
        nodes = [opset1.constant(x.array) if isinstance(x, ConstantInput) else next(left) for x in inputs]
        try:
            node = NodeFactory(opset).create(op_type, nodes, attributes)
        except RuntimeError as error:
            assert "Couldn't create operation" in str(error), opset  # it has no such operator
            continue
        version = node.get_type_info().version_id
        if version not in seen:
            seen.add(version)
            model = openvino.Model([opset1.result(output) for output in node.outputs()], parameters, "written")
            yield version, model, [x for x in inputs if not isinstance(x, ConstantInput)]
    assert seen, f"no operator set has {op_type}"


@pytest.mark.parametrize("op_type", CASES)
def test_as_openvino_writes_it(op_type: str, tmp_path: Path) -> None:
    import openvino

    for version, written, feeds in build_case(op_type):
        path = tmp_path / f"{op_type}_{version}.xml"
        openvino.save_model(written, path, compress_to_fp16=False)
        model = loopdbg.load(path)
        results = [node for node in model.graph.nodes if node.op_type.lower() == op_type.lower()]
        kind = Loop if op_type in LOOPS else Operation
        assert [(node.domain, type(node)) for node in results] == [(version, kind)]
        ours = list(model.run(dict(zip([port.name for port in model.inputs], feeds, strict=True))).values())
        theirs = openvino_peer.run(written, feeds)
        if op_type in RANDOM:
            assert [(x.dtype, x.shape) for x in ours] == [(x.dtype, x.shape) for x in theirs]
        else:
            assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("order", ["ifco", "fico", "iofc"])
def test_weights_format_is_without_effect(order: str, tmp_path: Path) -> None:
    """OpenVINO writes ifco unless it is told otherwise, and reads the weights as f, i, c, o whatever it says."""
    import openvino

    version, written, feeds = next(build_case("LSTMCell"))
    assert version == "opset1"
    path = tmp_path / "cell.xml"
    openvino.save_model(written, path, compress_to_fp16=False)
    text = path.read_text(encoding="utf-8")
    assert 'weights_format="ifco"' in text
    path.write_text(text.replace('weights_format="ifco"', f'weights_format="{order}"'))
    model = loopdbg.load(path)
    ours = list(model.run(dict(zip([port.name for port in model.inputs], feeds, strict=True))).values())
    assert_close(ours, openvino_peer.run(path, feeds), rtol=1e-4, atol=1e-5)
