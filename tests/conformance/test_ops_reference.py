"""Operators that run through ``onnx.reference``, next to onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cli_runner import run_python_code
from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import Graph, Operation, System, Value
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.onnx_reference import resolve_reference
from loopdbg.runtime.ops.registry import UnknownOperatorError, resolve

from .single_node import Array, assert_close, assert_same, onnxruntime_outputs


def data(*shape: int, dtype: Any = np.float32) -> Array:
    """Numbers between -1 and 1, each time the same."""
    return np.random.default_rng(7).uniform(-1, 1, shape).astype(dtype)


def node(
    op_type: str, n_inputs: int, n_outputs: int = 1, opset: int = 18, domain: str = "", **attributes: Any
) -> Operation:
    inputs: list[Value | None] = [Value(f"in{k}") for k in range(n_inputs)]
    outputs: list[Value | None] = [Value(f"out{k}") for k in range(n_outputs)]
    return Operation("node", op_type, domain, opset, inputs, outputs, attributes)


def bound(operation: Operation) -> Callable[..., tuple[Any, ...]]:
    function = resolve_reference(operation)
    assert function is not None
    return function


def text(*words: str) -> Array:
    return np.array(words, object)


GRAMS = {"min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0], "ngram_indexes": [0, 1]}

CASES: list[tuple[str, list[Any], dict[str, Any], int, int]] = [
    # operator, inputs, attributes, outputs, opset
    ("Det", [data(2, 3, 3)], {}, 1, 11),
    ("StringNormalizer", [text("Monday", "tuesday")], {"case_change_action": "UPPER", "locale": "C"}, 1, 10),
    ("TfIdfVectorizer", [np.array([1, 1, 3, 8])], {"mode": "TF", "pool_int64s": [1, 3], **GRAMS}, 1, 9),
]


@pytest.mark.parametrize(("op_type", "inputs", "attributes", "n_outputs", "opset"), CASES)
def test_matches_onnxruntime(
    op_type: str, inputs: list[Any], attributes: dict[str, Any], n_outputs: int, opset: int
) -> None:
    operation = node(op_type, len(inputs), n_outputs, opset, **attributes)
    operation.inputs = [None if x is None else v for v, x in zip(operation.inputs, inputs, strict=True)]
    results = bound(operation)(EagerPrimitives(), *inputs)
    assert_close(results, onnxruntime_outputs(op_type, inputs, n_outputs, opset, **attributes), 1e-4, 1e-5)


def test_every_case_is_run_by_the_reference() -> None:
    # Otherwise this file would say nothing of it: an operator that got its own implementation belongs elsewhere.
    for op_type, inputs, attributes, n_outputs, opset in CASES:
        op = resolve(node(op_type, len(inputs), n_outputs, opset, **attributes), System.ONNX)
        assert op.function.__module__.endswith("onnx_reference"), op_type
        assert not op.native


def test_reference_runs_operator_of_other_domain() -> None:
    attributes = {"domain": "ai.onnx.ml", "threshold": 0.5}
    (ours,) = bound(node("Binarizer", 1, opset=1, **attributes))(EagerPrimitives(), data(3, 2))
    assert_same(ours, onnxruntime_outputs("Binarizer", [data(3, 2)], 1, 1, **attributes)[0])


def test_reference_omits_trailing_absent_inputs() -> None:
    x, w = data(1, 2, 5), data(2, 2, 3)
    operation = node("Conv", 3)
    operation.inputs[2] = None
    assert_same(bound(operation)(EagerPrimitives(), x, w, None)[0], bound(node("Conv", 2))(EagerPrimitives(), x, w)[0])


def test_reference_omits_absent_outputs() -> None:
    x = np.array([2, 1, 1], np.float32)
    operation = node("Unique", 1, 3)
    operation.outputs[1] = None
    values, _, inverse = bound(operation)(EagerPrimitives(), x)
    assert values.tolist() == [1, 2]
    assert inverse.tolist() == [1, 0, 0]


def test_strings_have_dtype_object() -> None:
    operation = node("StringConcat", 2, opset=20)
    (joined,) = bound(operation)(EagerPrimitives(), np.array("a", object), np.array("b", object))
    assert_same(joined, np.array("ab", object))


def test_reference_implementation_is_bound_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnx.reference

    function = bound(node("Det", 1, opset=11))
    by_types = bound(node("GroupNormalization", 3, opset=21, num_groups=2))
    by_types(EagerPrimitives(), data(2, 4, 3), data(4), data(4))
    monkeypatch.setattr(onnx.reference, "ReferenceEvaluator", None)
    for seed in range(3):
        function(EagerPrimitives(), data(3, 3) + seed)
        by_types(EagerPrimitives(), data(2, 4, 3) + seed, data(4), data(4))


def test_a_function_of_types_is_bound_again_for_others() -> None:
    function = bound(node("GroupNormalization", 3, opset=21, num_groups=2))
    for dtype in (np.float32, np.float64, np.float32):
        inputs = [data(2, 4, 3, dtype=dtype), data(4, dtype=dtype), data(4, dtype=dtype)]
        (result,) = function(EagerPrimitives(), *inputs)
        assert result.dtype == dtype
        expected = onnxruntime_outputs(
            "GroupNormalization", [x.astype(np.float32) for x in inputs], 1, 21, num_groups=2
        )
        assert_close([result.astype(np.float32)], expected, 1e-4, 1e-5)


# --- What it does not run


@pytest.mark.parametrize("op_type", ["Loop", "Scan", "If", "SequenceMap"])
def test_resolve_reference_rejects_control_flow(op_type: str) -> None:
    assert resolve_reference(node(op_type, 2, opset=21)) is None


def test_resolve_reference_rejects_node_with_graph_attribute() -> None:
    assert resolve_reference(node("Det", 1, body=Graph("body"))) is None


def test_resolve_reference_rejects_function_with_loop_body(monkeypatch: pytest.MonkeyPatch) -> None:
    # Range is a function whose body is a Loop; onnx.reference has it both ways.
    from onnx.reference.ops import _op_list

    bound(node("Range", 3, opset=11))
    assert _op_list._registered_operators is not None
    monkeypatch.delitem(_op_list._registered_operators, "Range")
    assert resolve_reference(node("Range", 3, opset=11)) is None


@pytest.mark.parametrize(("op_type", "domain"), [("NoSuchOperator", ""), ("Det", "com.example"), ("MaxRoiPool", "")])
def test_unknown_operators(op_type: str, domain: str) -> None:
    operation = node(op_type, 2, domain=domain, pooled_shape=[1, 1]) if op_type == "MaxRoiPool" else node(op_type, 2)
    operation.domain = domain
    assert resolve_reference(operation) is None
    with raises_error(UnknownOperatorError, node="node", op_type=op_type):
        resolve(operation, System.ONNX)


def test_an_operator_newer_than_the_opset() -> None:
    assert resolve_reference(node("StringConcat", 2, opset=19)) is None


@pytest.mark.parametrize(
    ("attributes", "message"),
    [({}, "blocksize"), ({"blocksize": 2, "colour": 1}, "colour"), ({"blocksize": "two"}, "blocksize")],
)
def test_resolve_reference_rejects_invalid_attributes(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        resolve_reference(node("SpaceToDepth", 1, opset=13, **attributes))


def test_reference_failure_is_value_error() -> None:
    function = bound(node("Einsum", 2, equation="ij,jk->ik"))
    with pytest.raises(ValueError, match=r"onnx\.reference cannot run it: ValueError: Size of label 'j'"):
        function(EagerPrimitives(), data(2, 3), data(4, 5))


def test_onnx_reference_is_imported_lazily() -> None:
    code = (
        "import sys\n"
        "from loopdbg.runtime.graph import Operation, System, TensorType, Value\n"
        "from loopdbg.runtime.ops.registry import resolve\n"
        "x = Value('x', TensorType())\n"
        "resolve(Operation('n', 'Add', '', 21, [x, x], [None]), System.ONNX)\n"
        "print('onnx' in sys.modules)\n"
    )
    assert run_python_code(code) == (0, "False\n", "")
