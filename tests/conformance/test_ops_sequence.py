"""Sequences and optionals beside onnxruntime.

A node that gives an optional, or takes an empty sequence or an empty optional, cannot be fed to onnxruntime by itself:
its outputs here are compared with what the specification says.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from loopdbg.runtime.graph import OptionalType, SequenceType, System, TensorType

from .op_cases import both_refuse_onnx, data
from .single_node import Array, close, onnx_node, ours, same


def three(dtype: Any = np.float32) -> list[Array]:
    return [data(2, dtype=dtype), data(3, 1, dtype=dtype), data(0, dtype=dtype)]


def mine(op_type: str, *inputs: Any, version: int = 21, **attributes: Any) -> Any:
    """The output of one of our operators."""
    return ours(System.ONNX, op_type, list(inputs), version=version, attributes=attributes)[0]


def same_list(actual: Any, expected: list[Array]) -> None:
    assert isinstance(actual, list)
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        same(a, e)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, object])
def test_construct(dtype: Any) -> None:
    close(*onnx_node("SequenceConstruct", three(dtype)))
    close(*onnx_node("SequenceConstruct", three(dtype)[:1]))


def test_empty() -> None:
    assert mine("SequenceEmpty") == []
    assert mine("SequenceEmpty", dtype=7) == []
    same(mine("SequenceLength", mine("SequenceEmpty")), np.array(0))


@pytest.mark.parametrize("position", [None, 0, 1, 3, -1, -3])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_insert(position: int | None, dtype: Any) -> None:
    inputs = [three(), -data(2, 2)] + ([] if position is None else [np.array(position, dtype)])
    close(*onnx_node("SequenceInsert", inputs))


def test_insert_into_an_empty_sequence() -> None:
    same_list(mine("SequenceInsert", [], data(2)), [data(2)])
    same_list(mine("SequenceInsert", [], data(2), np.array(0)), [data(2)])


@pytest.mark.parametrize("position", [4, -4])
def test_insert_refuses_a_position_outside(position: int) -> None:
    both_refuse_onnx("SequenceInsert", [three(), data(2), np.array(position)], 21, "outside")


def test_insert_refuses_another_dtype() -> None:
    both_refuse_onnx("SequenceInsert", [three(), data(2, dtype=np.int64)], 21, "int64")


@pytest.mark.parametrize("position", [None, 0, 1, 2, -1, -3])
def test_erase(position: int | None) -> None:
    close(*onnx_node("SequenceErase", [three()] + ([] if position is None else [np.array(position)])))


@pytest.mark.parametrize("position", [3, -4])
def test_erase_refuses(position: int) -> None:
    both_refuse_onnx("SequenceErase", [three(), np.array(position)], 21, "outside")


def test_erase_refuses_an_empty_sequence() -> None:
    with pytest.raises(IndexError, match="empty"):
        mine("SequenceErase", [])


@pytest.mark.parametrize("position", [0, 1, 2, -1, -3])
def test_at(position: int) -> None:
    close(*onnx_node("SequenceAt", [three(), np.array(position)]))
    close(*onnx_node("SequenceAt", [three(object), np.array(position, np.int32)]))


@pytest.mark.parametrize("position", [3, -4])
def test_at_refuses(position: int) -> None:
    both_refuse_onnx("SequenceAt", [three(), np.array(position)], 21, "outside.*3 elements")


def test_length() -> None:
    close(*onnx_node("SequenceLength", [three()]))


def test_a_sequence_is_never_changed() -> None:
    before = three()
    kept = list(before)
    mine("SequenceInsert", before, data(1), np.array(0))
    mine("SequenceErase", before)
    assert len(before) == 3 and all(a is b for a, b in zip(before, kept, strict=True))


# --- Tensors to sequences and back


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, object])
def test_split_into_single_slices(axis: int, keepdims: int, dtype: Any) -> None:
    close(*onnx_node("SplitToSequence", [data(3, 4, dtype=dtype)], axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("split", [1, 2, 3, 4, 9, [4], [1, 3], [2, 0, 2], [1, 1, 1, 1]])
def test_split_by_sizes(split: Any) -> None:
    for dtype in (np.int64, np.int32):
        close(*onnx_node("SplitToSequence", [data(2, 4), np.array(split, dtype)], axis=1))


def test_split_by_a_size_ignores_keepdims() -> None:
    # "If input 'split' is specified, this attribute is ignored"; onnxruntime drops the axis, or fails.
    x = data(2, 4)
    for split in (1, 2):
        same_list(mine("SplitToSequence", x, np.array(split), axis=1, keepdims=0), np.split(x, 4 // split, 1))


def test_split_of_a_vector_gives_scalars() -> None:
    close(*onnx_node("SplitToSequence", [data(3)], keepdims=0))
    close(*onnx_node("SplitToSequence", [data(3, dtype=object)], keepdims=0))


@pytest.mark.parametrize(
    ("split", "axis", "message"),
    [(0, 0, "positive"), (-1, 0, "positive"), ([1, 1], 0, "add up"), ([5, -1], 0, "negative"), (1, 2, "outside")],
)
def test_split_refuses(split: Any, axis: int, message: str) -> None:
    both_refuse_onnx("SplitToSequence", [data(4, 2), np.array(split)], 21, message, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, object])
def test_concat(axis: int, dtype: Any) -> None:
    parts = [data(2, 3, dtype=dtype), data(2, 3, dtype=dtype)]
    close(*onnx_node("ConcatFromSequence", [parts], axis=axis))
    close(*onnx_node("ConcatFromSequence", [parts], axis=axis, new_axis=1))


def test_concat_of_sizes() -> None:
    close(*onnx_node("ConcatFromSequence", [[data(1, 2), data(0, 2), data(3, 2)]], axis=0))
    close(*onnx_node("ConcatFromSequence", [[data(2), data(2)]], axis=1, new_axis=1))
    close(*onnx_node("ConcatFromSequence", [[data(), data()]], axis=0, new_axis=1))


@pytest.mark.parametrize(
    ("parts", "attributes", "message"),
    [
        ([data(2), data(2)], {"axis": 1}, "outside"),
        ([data(2), data(2)], {"axis": 2, "new_axis": 1}, "outside"),
        ([data(2), data(3)], {"axis": 0, "new_axis": 1}, "shape"),
        ([data(2, 2), data(3)], {"axis": 0}, "dimensions"),
    ],
)
def test_concat_refuses(parts: list[Array], attributes: dict[str, int], message: str) -> None:
    both_refuse_onnx("ConcatFromSequence", [parts], 21, message, **attributes)


def test_concat_refuses_an_empty_sequence() -> None:
    with pytest.raises(ValueError, match="empty"):
        mine("ConcatFromSequence", [], axis=0)


def test_there_and_back() -> None:
    x = data(5, 3, dtype=ml_dtypes.bfloat16)
    for split in (None, np.array(2), np.array([4, 1])):
        parts = mine("SplitToSequence", x, *([] if split is None else [split]))
        same(mine("ConcatFromSequence", parts, axis=0), x)


# --- Optionals


@pytest.mark.parametrize("value", [data(2), three()])
@pytest.mark.parametrize("version", [18, 21])
def test_optionals_that_hold_something(value: Any, version: int) -> None:
    assert mine("Optional", value, version=version) is value
    assert mine("OptionalGetElement", value, version=version) is value
    same(mine("OptionalHasElement", value, version=version), np.array(True))
    close(*onnx_node("OptionalHasElement", [value], opset=version))


@pytest.mark.parametrize(
    "type_",
    [TensorType(np.dtype(np.float32)), SequenceType(TensorType(np.dtype(np.int64))), OptionalType(TensorType())],
)
@pytest.mark.parametrize("version", [15, 18])
def test_optionals_that_hold_nothing(type_: Any, version: int) -> None:
    assert mine("Optional", version=version, type=type_) is None
    same(mine("OptionalHasElement", None, version=version), np.array(False))
    with pytest.raises(ValueError, match="empty"):
        mine("OptionalGetElement", None, version=version)


def test_an_absent_input_is_no_element() -> None:
    close(*onnx_node("OptionalHasElement", [], opset=18))
