"""Sequences and optionals next to onnxruntime.

A node that gives an optional, or takes an empty sequence or an empty optional, cannot be fed to onnxruntime by itself:
its outputs here are compared with what the specification says.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from loopdbg.runtime.graph import OptionalType, SequenceType, System, TensorType

from .operator_checks import both_refuse_onnx, counting_tensor
from .single_node import Array, assert_close, assert_same, onnx_node, run_here


def three(dtype: Any = np.float32) -> list[Array]:
    return [counting_tensor(2, dtype=dtype), counting_tensor(3, 1, dtype=dtype), counting_tensor(0, dtype=dtype)]


def run_operator(op_type: str, *inputs: Any, version: int = 21, **attributes: Any) -> Any:
    """The output of one of our operators."""
    return run_here(System.ONNX, op_type, list(inputs), version=version, attributes=attributes)[0]


def same_list(actual: Any, expected: list[Array]) -> None:
    assert isinstance(actual, list)
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        assert_same(a, e)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, object])
def test_construct(dtype: Any) -> None:
    assert_close(*onnx_node("SequenceConstruct", three(dtype)))
    assert_close(*onnx_node("SequenceConstruct", three(dtype)[:1]))


def test_empty() -> None:
    assert run_operator("SequenceEmpty") == []
    assert run_operator("SequenceEmpty", dtype=7) == []
    assert_same(run_operator("SequenceLength", run_operator("SequenceEmpty")), np.array(0))


@pytest.mark.parametrize("position", [None, 0, 1, 3, -1, -3])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_insert(position: int | None, dtype: Any) -> None:
    inputs = [three(), -counting_tensor(2, 2)] + ([] if position is None else [np.array(position, dtype)])
    assert_close(*onnx_node("SequenceInsert", inputs))


def test_insert_into_an_empty_sequence() -> None:
    same_list(run_operator("SequenceInsert", [], counting_tensor(2)), [counting_tensor(2)])
    same_list(run_operator("SequenceInsert", [], counting_tensor(2), np.array(0)), [counting_tensor(2)])


@pytest.mark.parametrize("position", [4, -4])
def test_insert_refuses_a_position_outside(position: int) -> None:
    both_refuse_onnx("SequenceInsert", [three(), counting_tensor(2), np.array(position)], 21, "outside")


def test_insert_refuses_another_dtype() -> None:
    both_refuse_onnx("SequenceInsert", [three(), counting_tensor(2, dtype=np.int64)], 21, "int64")


@pytest.mark.parametrize("position", [None, 0, 1, 2, -1, -3])
def test_erase(position: int | None) -> None:
    assert_close(*onnx_node("SequenceErase", [three()] + ([] if position is None else [np.array(position)])))


@pytest.mark.parametrize("position", [3, -4])
def test_erase_refuses(position: int) -> None:
    both_refuse_onnx("SequenceErase", [three(), np.array(position)], 21, "outside")


def test_erase_refuses_an_empty_sequence() -> None:
    with pytest.raises(IndexError, match="empty"):
        run_operator("SequenceErase", [])


@pytest.mark.parametrize("position", [0, 1, 2, -1, -3])
def test_at(position: int) -> None:
    assert_close(*onnx_node("SequenceAt", [three(), np.array(position)]))
    assert_close(*onnx_node("SequenceAt", [three(object), np.array(position, np.int32)]))


@pytest.mark.parametrize("position", [3, -4])
def test_at_refuses(position: int) -> None:
    both_refuse_onnx("SequenceAt", [three(), np.array(position)], 21, "outside.*3 elements")


def test_length() -> None:
    assert_close(*onnx_node("SequenceLength", [three()]))


def test_a_sequence_is_never_changed() -> None:
    before = three()
    kept = list(before)
    run_operator("SequenceInsert", before, counting_tensor(1), np.array(0))
    run_operator("SequenceErase", before)
    assert len(before) == 3 and all(a is b for a, b in zip(before, kept, strict=True))


# --- Tensors to sequences and back


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, object])
def test_split_into_single_slices(axis: int, keepdims: int, dtype: Any) -> None:
    assert_close(*onnx_node("SplitToSequence", [counting_tensor(3, 4, dtype=dtype)], axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("split", [1, 2, 3, 4, 9, [4], [1, 3], [2, 0, 2], [1, 1, 1, 1]])
def test_split_by_sizes(split: Any) -> None:
    for dtype in (np.int64, np.int32):
        assert_close(*onnx_node("SplitToSequence", [counting_tensor(2, 4), np.array(split, dtype)], axis=1))


def test_split_by_a_size_ignores_keepdims() -> None:
    # "If input 'split' is specified, this attribute is ignored"; onnxruntime drops the axis, or fails.
    x = counting_tensor(2, 4)
    for split in (1, 2):
        same_list(run_operator("SplitToSequence", x, np.array(split), axis=1, keepdims=0), np.split(x, 4 // split, 1))


def test_split_of_a_vector_gives_scalars() -> None:
    assert_close(*onnx_node("SplitToSequence", [counting_tensor(3)], keepdims=0))
    assert_close(*onnx_node("SplitToSequence", [counting_tensor(3, dtype=object)], keepdims=0))


@pytest.mark.parametrize(
    ("split", "axis", "message"),
    [(0, 0, "positive"), (-1, 0, "positive"), ([1, 1], 0, "add up"), ([5, -1], 0, "negative"), (1, 2, "outside")],
)
def test_split_refuses(split: Any, axis: int, message: str) -> None:
    both_refuse_onnx("SplitToSequence", [counting_tensor(4, 2), np.array(split)], 21, message, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, object])
def test_concat(axis: int, dtype: Any) -> None:
    parts = [counting_tensor(2, 3, dtype=dtype), counting_tensor(2, 3, dtype=dtype)]
    assert_close(*onnx_node("ConcatFromSequence", [parts], axis=axis))
    assert_close(*onnx_node("ConcatFromSequence", [parts], axis=axis, new_axis=1))


def test_concat_of_sizes() -> None:
    assert_close(
        *onnx_node(
            "ConcatFromSequence", [[counting_tensor(1, 2), counting_tensor(0, 2), counting_tensor(3, 2)]], axis=0
        )
    )
    assert_close(*onnx_node("ConcatFromSequence", [[counting_tensor(2), counting_tensor(2)]], axis=1, new_axis=1))
    assert_close(*onnx_node("ConcatFromSequence", [[counting_tensor(), counting_tensor()]], axis=0, new_axis=1))


@pytest.mark.parametrize(
    ("parts", "attributes", "message"),
    [
        ([counting_tensor(2), counting_tensor(2)], {"axis": 1}, "outside"),
        ([counting_tensor(2), counting_tensor(2)], {"axis": 2, "new_axis": 1}, "outside"),
        ([counting_tensor(2), counting_tensor(3)], {"axis": 0, "new_axis": 1}, "shape"),
        ([counting_tensor(2, 2), counting_tensor(3)], {"axis": 0}, "dimensions"),
    ],
)
def test_concat_refuses(parts: list[Array], attributes: dict[str, int], message: str) -> None:
    both_refuse_onnx("ConcatFromSequence", [parts], 21, message, **attributes)


def test_concat_refuses_an_empty_sequence() -> None:
    with pytest.raises(ValueError, match="empty"):
        run_operator("ConcatFromSequence", [], axis=0)


def test_there_and_back() -> None:
    x = counting_tensor(5, 3, dtype=ml_dtypes.bfloat16)
    for split in (None, np.array(2), np.array([4, 1])):
        parts = run_operator("SplitToSequence", x, *([] if split is None else [split]))
        assert_same(run_operator("ConcatFromSequence", parts, axis=0), x)


# --- Optionals


@pytest.mark.parametrize("value", [counting_tensor(2), three()])
@pytest.mark.parametrize("version", [18, 21])
def test_optionals_that_hold_something(value: Any, version: int) -> None:
    assert run_operator("Optional", value, version=version) is value
    assert run_operator("OptionalGetElement", value, version=version) is value
    assert_same(run_operator("OptionalHasElement", value, version=version), np.array(True))
    assert_close(*onnx_node("OptionalHasElement", [value], opset=version))


@pytest.mark.parametrize(
    "type_",
    [TensorType(np.dtype(np.float32)), SequenceType(TensorType(np.dtype(np.int64))), OptionalType(TensorType())],
)
@pytest.mark.parametrize("version", [15, 18])
def test_optionals_that_hold_nothing(type_: Any, version: int) -> None:
    assert run_operator("Optional", version=version, type=type_) is None
    assert_same(run_operator("OptionalHasElement", None, version=version), np.array(False))
    with pytest.raises(ValueError, match="empty"):
        run_operator("OptionalGetElement", None, version=version)


def test_an_absent_input_is_no_element() -> None:
    assert_close(*onnx_node("OptionalHasElement", [], opset=18))
