"""Slices, joins, splits, pads and parts next to onnxruntime and OpenVINO."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from loopdbg.runtime.graph import System

from .operator_checks import DTYPES, both_refuse_onnx, both_refuse_openvino, counting_tensor, i64, run_operator
from .single_node import Array, assert_close, assert_same, onnx_node, openvino_node, openvino_nodes, run_here

INT64 = np.iinfo(np.int64)
INT32 = np.iinfo(np.int32)


# --- Slice

BOUNDS = [-20, -6, -5, -2, -1, 0, 1, 3, 4, 5, 6, 20]


@pytest.mark.parametrize("step", [-20, -2, -1, 1, 2, 20])
def test_slice_of_one_axis(step: int) -> None:
    x = counting_tensor(5)
    for start, end in itertools.product([*BOUNDS, INT64.min, INT64.max], repeat=2):
        if step > 0 or end != INT64.max:
            assert_close(*onnx_node("Slice", [x, i64(start), i64(end), i64(0), i64(step)]))


@pytest.mark.parametrize("end", [INT32.max, INT64.max])
def test_slice_backwards_to_a_large_end_is_empty(end: int) -> None:
    # Ends are clamped to [-1, dim - 1]. onnxruntime takes these two numbers as "through to element 0"; for that the
    # specification has INT_MIN.
    assert_same(
        run_operator(System.ONNX, "Slice", counting_tensor(5), i64(4), i64(end), i64(0), i64(-1), version=13),
        counting_tensor(0),
    )


@pytest.mark.parametrize("step", [-20, -2, 1, 2])
def test_openvino_slice_of_one_axis(step: int) -> None:
    x = counting_tensor(5)
    bounds = itertools.product([-20, -1, 0, 3, INT32.min, INT32.max], repeat=2)
    several = [[x, i64(start), i64(stop), i64(step), i64(0)] for start, stop in bounds]
    assert_close(*openvino_nodes("Slice", several, opset=8, constant=(1, 2, 3, 4)))


SLICES: list[tuple[tuple[int, ...], list[tuple[int, ...] | None]]] = [
    ((3, 4), [(1,), (3,), None, None]),
    ((3, 4), [(0, 1), (2, 3), None, None]),
    ((3, 4), [(1,), (-1,), (1,), None]),
    ((3, 4), [(1,), (-1,), (-1,), (1,)]),
    ((3, 4), [(-1, 3), (-9, 0), (0, 1), (-1, -2)]),
    ((3, 4), [(3, -1), (0, -9), (-1, 0), (-2, -1)]),
    ((3, 4, 2), [(0, 1, 0), (9, 9, 1), (0, 1, 2), (2, 1, 1)]),
    ((3, 0, 2), [(0, 0), (2, 5), (0, 1), (1, 1)]),
    ((3, 0, 2), [(0, -1), (2, -5), (0, 1), (1, -1)]),
    ((3, 4), [(2, 2), (2, 1), (0, 1), (1, 1)]),
]


@pytest.mark.parametrize(("shape", "bounds"), SLICES)
@pytest.mark.parametrize("opset", [10, 11, 13])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_slice(shape: tuple[int, ...], bounds: list[Any], opset: int, dtype: Any) -> None:
    inputs = [None if b is None else np.array(b, dtype) for b in bounds]
    while inputs[-1] is None:
        inputs.pop()
    assert_close(*onnx_node("Slice", [counting_tensor(*shape), *inputs], opset=opset))


@pytest.mark.parametrize(("shape", "bounds"), SLICES)
def test_openvino_slice(shape: tuple[int, ...], bounds: list[Any]) -> None:
    start, stop, axes, step = bounds
    inputs = [i64(*start), i64(*stop), i64(*(step or [1] * len(start))), *([] if axes is None else [i64(*axes)])]
    assert_close(*openvino_node("Slice", [counting_tensor(*shape), *inputs], opset=8, constant=(1, 2, 3, 4)))
    assert_close(*openvino_node("Slice", [counting_tensor(*shape), *inputs], opset=8, constant=(3, 4)))


@pytest.mark.parametrize(
    "attributes",
    [
        {"starts": [1, 1], "ends": [2, -1]},
        {"starts": [-2], "ends": [100], "axes": [1]},
        {"starts": [0, 0], "ends": [INT32.max, 2], "axes": [1, 0]},
    ],
)
def test_slice_by_attributes(attributes: dict[str, list[int]]) -> None:
    assert_close(*onnx_node("Slice", [counting_tensor(3, 4)], opset=9, **attributes))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([i64(1), i64(3), i64(0), i64(0)], "zero"),
        ([i64(1), i64(3), i64(2)], "outside"),
        ([i64(1), i64(3), i64(-3)], "outside"),
        ([i64(1, 0), i64(3, 1), i64(0, 0)], "twice"),
        ([i64(1, 0), i64(3)], "equally long"),
        ([i64(1), i64(3), i64(0), i64(1, 1)], "equally long"),
    ],
)
def test_slice_refuses(inputs: list[Any], message: str) -> None:
    both_refuse_onnx("Slice", [counting_tensor(3, 4), *inputs], 13, message)


def test_openvino_slice_refuses_a_step_of_zero() -> None:
    both_refuse_openvino("Slice", [counting_tensor(4), i64(0), i64(3), i64(0)], 8, "zero", (1, 2, 3))


# --- StridedSlice


def strided(x: Array, first: Sequence[int], last: Sequence[int], stride: Sequence[int] | None, **masks: str) -> None:
    """Ours next to OpenVINO's. A mask is a string of 0 and 1 as long as ``first``."""
    names = ("begin", "end", "new_axis", "shrink_axis", "ellipsis")
    attributes = {f"{name}_mask": [int(c) for c in masks.get(name, "0" * len(first))] for name in names}
    inputs = [x, i64(*first), i64(*last), *([] if stride is None else [i64(*stride)])]
    assert_close(*openvino_node("StridedSlice", inputs, constant=(1, 2, 3), **attributes))


@pytest.mark.parametrize("stride", [-2, 1, 3])
def test_strided_slice_of_one_axis(stride: int) -> None:
    for begin, end in itertools.product([-20, -2, 0, 3, 20], repeat=2):
        strided(counting_tensor(5), [begin], [end], [stride])


@pytest.mark.parametrize("stride", [-2, -1, 1, 2])
@pytest.mark.parametrize(("begin_mask", "end_mask"), [("1", "0"), ("0", "1"), ("1", "1")])
def test_strided_slice_with_masked_bounds(stride: int, begin_mask: str, end_mask: str) -> None:
    strided(counting_tensor(5, 2), [3], [2], [stride], begin=begin_mask, end=end_mask)


STRIDED: list[tuple[tuple[int, ...], tuple[Any, ...], dict[str, str]]] = [
    ((3, 4), ([0, 1], [2, 3], [1, 1]), {}),
    ((3, 4), ([0, 1], [2, 3], None), {}),
    ((3, 4), ([0, 1], [0, 3], [1, 1]), {}),
    ((3, 4), ([2, 3], [0, 0], [-1, -2]), {"end": "11"}),
    ((3, 4), ([1], [1], [1]), {"shrink_axis": "1"}),
    ((3, 4), ([-1], [0], [1]), {"shrink_axis": "1"}),
    ((3, 4), ([2], [0], [1]), {"shrink_axis": "1", "begin": "1"}),
    ((3, 4), ([1], [0], [-1]), {"shrink_axis": "1"}),
    ((3, 4), ([-1, 2], [9, 9], [1, 1]), {"shrink_axis": "11"}),
    ((3, 4), ([1, -1], [1, 2], [1, 1]), {"shrink_axis": "01", "begin": "10", "end": "10"}),
    ((3, 4), ([0, 1], [0, 3], [1, 1]), {"new_axis": "10"}),
    ((3, 4), ([0, 1, 0], [0, 3, 0], [1, 1, 1]), {"new_axis": "001", "begin": "100", "end": "100"}),
    ((3, 4), ([0, 1], [0, 2], [1, 1]), {"new_axis": "10", "shrink_axis": "10"}),
    ((2, 4), ([7, 0, -1, 0], [7, 2, 9, 4], [5, 1, 6, 1]), {"new_axis": "1010"}),
    ((2, 3, 4, 5), ([0, 0, 1], [0, 0, 3], [1, 1, 1]), {"ellipsis": "100", "begin": "010", "end": "010"}),
    ((2, 3, 4, 5), ([1, 0, 0, 1], [2, 0, 0, 3], [1, 1, 1, 1]), {"ellipsis": "0100", "new_axis": "0010"}),
    ((2, 3, 4, 5), ([0, 1, 0], [0, 2, 4], [1, 1, 1]), {"ellipsis": "100", "shrink_axis": "010"}),
    ((2, 3, 4, 5), ([1, 0], [2, 0], [1, 1]), {"ellipsis": "01", "shrink_axis": "10"}),
    ((2, 3), ([0, 0, 1], [1, 0, 2], [1, 1, 1]), {"ellipsis": "010"}),
    ((2, 0, 3), ([0, 0], [2, 5], [1, 1]), {}),
]


@pytest.mark.parametrize(("shape", "bounds", "masks"), STRIDED)
def test_strided_slice(shape: tuple[int, ...], bounds: tuple[Any, ...], masks: dict[str, str]) -> None:
    strided(counting_tensor(*shape), *bounds, **masks)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_strided_slice_with_moving_bounds(dtype: Any) -> None:
    inputs = [counting_tensor(5, 3), np.array([2], dtype), np.array([4], dtype), np.array([1], dtype)]
    assert_close(*openvino_node("StridedSlice", inputs, constant=(3,), begin_mask=[0], end_mask=[0]))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.int16])
def test_strided_slice_with_a_moving_index(dtype: Any) -> None:
    # The CPU plugin crashes where begin is no constant and an axis shrinks.
    inputs = [counting_tensor(5, 3), np.array([-2], dtype), np.array([0], dtype)]
    masks = {"begin_mask": "0", "end_mask": "0", "shrink_axis_mask": "1"}
    assert_same(run_operator(System.OPENVINO, "StridedSlice", *inputs, version=1, **masks), counting_tensor(5, 3)[-2])


def test_strided_slice_reads_short_and_long_masks() -> None:
    # The page: "the length of the masks can differ"; OpenVINO refuses such a node.
    x = counting_tensor(4, 5, 6)
    inputs = [x, i64(2, 1, 10, 10), i64(123, 1, 10, 5), i64(1, -1, 1, 1)]
    masks = {"begin_mask": "0,0,1,1,0", "end_mask": "1,1", "new_axis_mask": "0,0,1", "ellipsis_mask": "0,1"}
    assert_same(run_operator(System.OPENVINO, "StridedSlice", *inputs, version=1, **masks), x[2:, :, None, :5])


@pytest.mark.parametrize(
    ("bounds", "masks", "message"),
    [
        (([3], [4], [1]), {"shrink_axis_mask": [1]}, "out of bounds|outside"),
        (([-4], [4], [1]), {"shrink_axis_mask": [1]}, "out of bounds|outside"),
        (([0, 9], [1, 9], [1, 1]), {"shrink_axis_mask": [0, 1]}, "outside axis 1"),
        (([0, 0, 0], [1, 1, 1], [1, 1, 1]), {}, "too many"),
        (([0], [1], [0]), {}, "zero"),
    ],
)
def test_strided_slice_refuses(bounds: tuple[list[int], ...], masks: dict[str, list[int]], message: str) -> None:
    zeros = [0] * len(bounds[0])
    names = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
    attributes = {name: masks.get(name, zeros) for name in names}
    both_refuse_openvino(
        "StridedSlice", [counting_tensor(3, 4), *(i64(*b) for b in bounds)], 1, message, (1, 2, 3), **attributes
    )


# --- Concat


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_concat(axis: int) -> None:
    inputs = [counting_tensor(2, 3), -counting_tensor(2, 3), counting_tensor(2, 3) * 10]
    assert_close(*onnx_node("Concat", inputs, opset=13, axis=axis))
    assert_close(*onnx_node("Concat", inputs, opset=4, axis=axis))
    assert_close(*openvino_node("Concat", inputs, axis=axis))


@pytest.mark.parametrize("sizes", [(1, 3), (2,), (0, 2), (0, 0), (3, 0, 1)])
def test_concat_of_sizes(sizes: tuple[int, ...]) -> None:
    inputs = [counting_tensor(2, n, 3) for n in sizes]
    assert_close(*onnx_node("Concat", inputs, axis=1))
    assert_close(*openvino_node("Concat", inputs, axis=1))


def test_concat_1_has_a_default_axis() -> None:
    x = counting_tensor(2, 3)
    assert_same(run_operator(System.ONNX, "Concat", x, x, version=1), np.concatenate([x, x], 1))


@pytest.mark.parametrize(
    ("shapes", "axis", "message"),
    [
        ([(2, 3), (2, 4)], 0, "cannot be joined"),
        ([(2, 3), (3,)], 0, "cannot be joined"),
        ([(2, 3), (2, 3)], 2, "outside"),
        ([(), ()], 0, "scalar"),
    ],
)
def test_concat_refuses(shapes: list[tuple[int, ...]], axis: int, message: str) -> None:
    both_refuse_onnx("Concat", [counting_tensor(*shape) for shape in shapes], 13, message, axis=axis)


# --- Split


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("opset", [2, 11, 13])
def test_split_into_equal_parts(axis: int, opset: int) -> None:
    assert_close(*onnx_node("Split", [counting_tensor(4, 6)], 2, opset=opset, axis=axis))


@pytest.mark.parametrize("sizes", [(2, 4), (6,), (1, 0, 5), (0, 6)])
def test_split_into_sizes(sizes: tuple[int, ...]) -> None:
    count = len(sizes)
    assert_close(*onnx_node("Split", [counting_tensor(2, 6)], count, opset=11, axis=1, split=list(sizes)))
    assert_close(*onnx_node("Split", [counting_tensor(2, 6), i64(*sizes)], count, opset=13, axis=1))
    assert_close(*onnx_node("Split", [counting_tensor(2, 6), i64(*sizes)], count, opset=18, axis=1))
    assert_close(*openvino_node("VariadicSplit", [counting_tensor(2, 6), i64(1), i64(*sizes)], count, constant=(1, 2)))


@pytest.mark.parametrize(("size", "count"), [(6, 3), (5, 3), (7, 2), (5, 1), (7, 3)])
def test_split_18_makes_the_last_chunk_smaller(size: int, count: int) -> None:
    assert_close(*onnx_node("Split", [counting_tensor(2, size)], count, opset=18, axis=-1, num_outputs=count))


def test_split_18_may_leave_nothing_for_the_last_chunk() -> None:
    # ONNX's own shape inference and reference; onnxruntime refuses it.
    parts = run_here(System.ONNX, "Split", [counting_tensor(6)], 4, version=18, attributes={"num_outputs": 4})
    assert [part.tolist() for part in parts] == [[1, 2], [3, 4], [5, 6], []]


@pytest.mark.parametrize(
    ("inputs", "opset", "count", "attributes", "message"),
    [
        ([counting_tensor(5)], 13, 2, {}, "equal parts"),
        ([counting_tensor(6), i64(2, 3)], 13, 2, {}, "cannot be split"),
        ([counting_tensor(6), i64(7, -1)], 13, 2, {}, "negative"),
        ([counting_tensor(6), i64(2, 2, 2)], 13, 2, {}, "cannot be split"),
        ([counting_tensor(6)], 13, 2, {"axis": 1}, "outside"),
        ([counting_tensor(5)], 18, 4, {"num_outputs": 4}, "too short"),
        ([counting_tensor(6)], 18, 2, {}, "num_outputs"),
        ([counting_tensor(6), i64(2, 4)], 18, 2, {"num_outputs": 2}, "num_outputs"),
    ],
)
def test_split_refuses(inputs: list[Any], opset: int, count: int, attributes: dict[str, Any], message: str) -> None:
    both_refuse_onnx("Split", inputs, opset, message, count, **attributes)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_openvino_split(axis: int) -> None:
    assert_close(*openvino_node("Split", [counting_tensor(4, 6), np.array(axis)], 2, constant=(1,), num_splits=2))


@pytest.mark.parametrize("sizes", [(2, -1, 3), (-1,), (-1, 10), (3, 7, -1)])
def test_variadic_split_infers_a_size(sizes: tuple[int, ...]) -> None:
    assert_close(
        *openvino_node("VariadicSplit", [counting_tensor(10, 2), np.array(0), i64(*sizes)], len(sizes), constant=(1, 2))
    )


def test_openvino_splits_refuse() -> None:
    both_refuse_openvino("Split", [counting_tensor(10), np.array(0)], 1, "equal parts", (1,), 3, num_splits=3)
    both_refuse_openvino(
        "VariadicSplit", [counting_tensor(10), np.array(0), i64(2, 3)], 1, "cannot be split", (1, 2), 2
    )
    # The CPU plugin reads beyond the data here.
    with pytest.raises(ValueError, match="negative"):
        run_operator(
            System.OPENVINO, "VariadicSplit", counting_tensor(10), np.array(0), i64(2, -1, 12), version=1, n_outputs=3
        )


# --- Pad

PADS = [(2, 3), (0, 1), (0, 0), (4, 4), (-1, 0), (-2, -2), (-2, 1), (1, -3), (-3, 0)]


#: By more than there is.
LARGE_PADS = [(9, 30), (30, 9), (-4, 7)]


@pytest.mark.parametrize(
    ("mode", "before", "after"),
    [
        *((mode, *pads) for mode in ("constant", "edge", "wrap") for pads in (*PADS, *LARGE_PADS)),
        *(("reflect", *pads) for pads in PADS),
    ],
)
def test_pad_of_one_axis(mode: str, before: int, after: int) -> None:
    assert_close(*onnx_node("Pad", [counting_tensor(5), i64(before, after)], mode=mode))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad_of_several_axes(mode: str) -> None:
    assert_close(*onnx_node("Pad", [counting_tensor(3, 5, 2), i64(1, -1, 0, 2, 3, 1)], mode=mode))


def test_pad_may_cut_everything_away_and_fill() -> None:
    assert_close(*onnx_node("Pad", [counting_tensor(5), i64(-7, 5), np.float32(9)[...]]))
    assert_close(*onnx_node("Pad", [counting_tensor(5, 2), i64(-5, 0, 0, 1)]))


@pytest.mark.parametrize(
    "value", [np.array(7.0, np.float32), np.array([7.0], np.float32), np.array(np.nan, np.float32)]
)
def test_pad_with_a_value(value: Array) -> None:
    assert_close(*onnx_node("Pad", [counting_tensor(2, 2), i64(1, 0, 0, 2), value], opset=13))


@pytest.mark.parametrize("axes", [(1,), (-1,), (1, 0), (-2, 2)])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad_of_named_axes(mode: str, axes: tuple[int, ...]) -> None:
    pads = i64(*range(1, 1 + len(axes)), *([0] * len(axes)))
    assert_close(*onnx_node("Pad", [counting_tensor(3, 4, 5), pads, None, i64(*axes)], opset=19, mode=mode))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad_by_attributes(mode: str) -> None:
    assert_close(*onnx_node("Pad", [counting_tensor(2, 3)], opset=2, pads=[1, 1, 0, -1], mode=mode, value=1.5))
    assert_same(
        run_operator(
            System.ONNX, "Pad", counting_tensor(2, 3), version=1, paddings=[1, 1, 0, -1], mode=mode, value=1.5
        ),
        run_operator(System.ONNX, "Pad", counting_tensor(2, 3), version=2, pads=[1, 1, 0, -1], mode=mode, value=1.5),
    )


def test_pad_of_strings_fills_with_empty_ones() -> None:
    assert run_operator(System.ONNX, "Pad", counting_tensor(2, dtype=object), i64(1, 1), version=21).tolist() == [
        "",
        "1",
        "2",
        "",
    ]


@pytest.mark.parametrize(
    ("shape", "pads", "mode", "message"),
    [
        ((5,), (5, 0), "reflect", "by 4 at most"),
        ((5,), (0, 9), "reflect", "by 4 at most"),
        ((0,), (1, 1), "reflect", "at most|size 0"),
        ((0,), (1, 1), "edge", "size 0"),
        ((0,), (1, 1), "wrap", "size 0"),
        ((5,), (-3, -3), "constant", "negative"),
        ((5,), (1, 1, 1), "constant", "two numbers"),
        ((5,), (1, 1), "mirror", "mirror"),
    ],
)
def test_pad_refuses(shape: tuple[int, ...], pads: tuple[int, ...], mode: str, message: str) -> None:
    both_refuse_onnx("Pad", [counting_tensor(*shape), i64(*pads)], 19, message, mode=mode)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize(("before", "after"), PADS)
def test_openvino_pad(mode: str, before: int, after: int) -> None:
    inputs = [counting_tensor(5), i64(before), i64(after)]
    assert_close(*openvino_node("Pad", inputs, opset=12, constant=(1, 2), pad_mode=mode))
    if min(before, after) >= 0:
        assert_close(*openvino_node("Pad", inputs, opset=1, constant=(1, 2), pad_mode=mode))


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric"])
def test_openvino_pad_mirrors_what_negative_pads_cut(mode: str) -> None:
    # ONNX cuts first and mirrors what is left; there this would be an error for reflect.
    inputs = [counting_tensor(5, 3), i64(-4, 0), i64(3, 1)]
    assert_close(*openvino_node("Pad", inputs, opset=12, constant=(1, 2), pad_mode=mode))


def test_openvino_pad_with_a_value() -> None:
    inputs = [counting_tensor(2, 2), i64(1, 0), i64(0, 2), np.array(7.0, np.float32)]
    assert_close(*openvino_node("Pad", inputs, constant=(1, 2, 3), pad_mode="constant"))


@pytest.mark.parametrize(("mode", "before"), [("reflect", 5), ("symmetric", 6)])
def test_openvino_pad_refuses(mode: str, before: int) -> None:
    both_refuse_openvino("Pad", [counting_tensor(5), i64(before), i64(0)], 12, "at most", (1, 2), pad_mode=mode)


# --- Trilu, Compress


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -5, -1, 0, 1, 2, 5])
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 3, 3), (0, 3)])
def test_trilu(shape: tuple[int, ...], k: int | None, upper: int) -> None:
    inputs = [counting_tensor(*shape)] if k is None else [counting_tensor(*shape), np.array(k)]
    assert_close(*onnx_node("Trilu", inputs, upper=upper))


def test_trilu_refuses() -> None:
    both_refuse_onnx("Trilu", [counting_tensor(3)], 14, "two axes")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("condition", [(0, 1, 1), (0, 0), (1,), ()])
def test_compress(condition: tuple[int, ...], axis: int | None) -> None:
    attributes = {} if axis is None else {"axis": axis}
    assert_close(*onnx_node("Compress", [counting_tensor(3, 4), np.array(condition, bool)], **attributes))


def test_compress_refuses() -> None:
    both_refuse_onnx("Compress", [counting_tensor(3), np.array([True])], 11, "outside", axis=1)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.int4])
def test_types_that_numpy_lacks(dtype: Any) -> None:
    x = (np.arange(6).reshape(2, 3) - 2).astype(dtype)
    width = x.astype(np.float32)
    assert_same(
        run_operator(System.ONNX, "Concat", x, x, version=13, axis=0), np.concatenate([width, width]).astype(dtype)
    )
    assert_same(
        run_operator(System.ONNX, "Slice", x, i64(2), i64(-9), i64(1), i64(-2), version=13),
        width[:, ::-2].astype(dtype),
    )
    assert_same(
        run_operator(System.ONNX, "Pad", x, i64(0, 1, 0, 0), version=21), np.pad(width, ((0, 0), (1, 0))).astype(dtype)
    )
    assert_same(run_operator(System.ONNX, "Trilu", x, version=14), np.triu(width).astype(dtype))


#: Of what onnxruntime has kernels for: the operator, the shape of its first input, more inputs, attributes, types.
KEPT_TYPES: list[tuple[str, tuple[int, ...], list[Array], dict[str, Any], Sequence[Any]]] = [
    (
        "Slice",
        (3, 4),
        [i64(2, 3), i64(0, 0), i64(0, 1), i64(-1, -2)],
        {},
        [np.float32, np.float64, np.int64, np.int32, np.bool_, object],
    ),
    ("Pad", (3,), [i64(1, 1)], {}, [np.float32, np.float64, np.int32, np.int64, np.int8, np.uint8, np.bool_]),
    ("Trilu", (2, 2), [], {"upper": 0}, [np.float32, np.float64, np.int64, np.bool_]),
    ("Compress", (3,), [np.array([True, False, True])], {"axis": 0}, [np.float32, np.int64, np.bool_, object]),
    ("Concat", (3,), [], {"axis": 0}, DTYPES),
    ("Reshape", (2, 3), [i64(3, 2)], {}, DTYPES),
    ("Transpose", (2, 3), [], {}, DTYPES),
    ("Gather", (3,), [i64(2, 0)], {}, DTYPES),
]


@pytest.mark.parametrize(
    ("op_type", "shape", "others", "attributes", "dtype"),
    [(*row, dtype) for *row, dtypes in KEPT_TYPES for dtype in dtypes],
)
def test_the_type_is_kept(
    op_type: str, shape: tuple[int, ...], others: list[Array], attributes: dict[str, Any], dtype: Any
) -> None:
    x = counting_tensor(*shape, dtype=dtype)
    more = [counting_tensor(2, dtype=dtype)] if op_type == "Concat" else others
    assert_close(*onnx_node(op_type, [x, *more], **attributes))
