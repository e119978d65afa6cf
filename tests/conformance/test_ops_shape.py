"""Reading, changing and making shapes next to onnxruntime and OpenVINO."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError, UnsupportedError
from loopdbg.runtime.graph import System

from .operator_checks import DTYPES, both_refuse_onnx, both_refuse_openvino, counting_tensor, i64, run_operator
from .single_node import Array, assert_close, assert_same, onnx_node, openvino_node

# --- Reshape

RESHAPES = [
    ((2, 3, 4), (24,)),
    ((2, 3, 4), (-1,)),
    ((2, 3, 4), (0, -1)),
    ((2, 3, 4), (-1, 0, 2)),
    ((2, 3, 4), (0, 0, 0)),
    ((2, 3, 4), (4, -1, 2, 1)),
    ((1,), ()),
    ((), (1, 1)),
    ((), (-1,)),
    ((0, 3), (0, 5)),
    ((0, 3), (-1, 3)),
]


@pytest.mark.parametrize(("shape", "wanted"), RESHAPES)
@pytest.mark.parametrize("opset", [5, 13, 14, 21])
def test_reshape(shape: tuple[int, ...], wanted: tuple[int, ...], opset: int) -> None:
    assert_close(*onnx_node("Reshape", [counting_tensor(*shape), i64(*wanted)], opset=opset))


@pytest.mark.parametrize(("shape", "wanted"), [((2, 3, 4), (4, -1)), ((2, 3), (0, 3)), ((6,), (3, 2))])
def test_reshape_by_attribute(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    assert_close(*onnx_node("Reshape", [counting_tensor(*shape)], opset=1, shape=list(wanted)))


@pytest.mark.parametrize("wanted", [(3, 0), (0,), (0, 0, 7)])
def test_reshape_allowzero_keeps_zeros(wanted: tuple[int, ...]) -> None:
    assert_close(*onnx_node("Reshape", [counting_tensor(0, 3), i64(*wanted)], allowzero=1))


@pytest.mark.parametrize(
    ("shape", "wanted", "message"),
    [
        ((10,), (3, -1), "-1"),
        ((10,), (-1, -1), "more than one -1"),
        ((10,), (2, 0), "copies dimension 1"),
        ((10,), (-2, 5), "negative number other than -1"),
        ((10,), (2, 4), "10 elements"),
        ((0, 3), (0, -1), "-1"),
    ],
)
def test_reshape_refuses(shape: tuple[int, ...], wanted: tuple[int, ...], message: str) -> None:
    both_refuse_onnx("Reshape", [counting_tensor(*shape), i64(*wanted)], 21, message)


def test_reshape_allowzero_refuses_zero_with_minus_one() -> None:
    # onnxruntime lets it pass and answers with shape (3, 0, 0); the specification calls it invalid.
    with pytest.raises(ValueError, match="allowzero"):
        run_operator(System.ONNX, "Reshape", counting_tensor(0, 3), i64(3, 0, -1), version=21, allowzero=1)


OPENVINO_RESHAPES = [((2, 3, 4), (6, -1)), ((2, 3, 4), (24,)), ((), (1,)), ((1, 1), ()), ((0, 3), (5, -1))]


@pytest.mark.parametrize(
    ("shape", "wanted", "special_zero"),
    [
        *((shape, wanted, flag) for shape, wanted in OPENVINO_RESHAPES for flag in (True, False)),
        ((2, 3, 4), (0, -1), True),
        ((2, 5, 5, 4), (0, -1, 4), True),
        ((2, 2, 3), (0, 0, 1, -1), True),
        ((3, 1, 1), (-1, 0), True),
        ((0, 3), (0, -1), True),
        ((2, 5, 5, 0), (0, 4), False),
        ((0, 3), (-1, 0), False),
    ],
)
def test_openvino_reshape(shape: tuple[int, ...], wanted: tuple[int, ...], special_zero: bool) -> None:
    assert_close(
        *openvino_node("Reshape", [counting_tensor(*shape), i64(*wanted)], constant=(1,), special_zero=special_zero)
    )


@pytest.mark.parametrize(("shape", "wanted"), [((2, 3), (4,)), ((2, 3), (-1, 4)), ((2, 3), (-1, 0))])
def test_openvino_reshape_refuses(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    both_refuse_openvino("Reshape", [counting_tensor(*shape), i64(*wanted)], 1, "shape", special_zero=False)


# --- Transpose


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (2, 0, 4)])
def test_transpose_reverses_by_default(shape: tuple[int, ...]) -> None:
    assert_close(*onnx_node("Transpose", [counting_tensor(*shape)]))


@pytest.mark.parametrize("perm", [[0, 1, 2], [2, 0, 1], [1, 2, 0], [0, 2, 1]])
@pytest.mark.parametrize("opset", [1, 13, 21])
def test_transpose(perm: list[int], opset: int) -> None:
    assert_close(*onnx_node("Transpose", [counting_tensor(2, 3, 4)], opset=opset, perm=perm))


@pytest.mark.parametrize("perm", [[0, 0], [0], [0, 2], [-1, 0]])
def test_transpose_refuses(perm: list[int]) -> None:
    both_refuse_onnx("Transpose", [counting_tensor(2, 3)], 21, "permutation", perm=perm)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2), ()])
def test_openvino_transpose(order: tuple[int, ...]) -> None:
    assert_close(*openvino_node("Transpose", [counting_tensor(2, 3, 4), i64(*order)], constant=(1,)))


@pytest.mark.parametrize("order", [(0,), (0, 0), (0, 5)])
def test_openvino_transpose_refuses(order: tuple[int, ...]) -> None:
    both_refuse_openvino("Transpose", [counting_tensor(2, 3), i64(*order)], 1, "permutation")


# --- Squeeze, Unsqueeze, Flatten

SQUEEZES = [((1, 2, 1), (0,)), ((1, 2, 1), (-1, 0)), ((1, 2, 1), (2,)), ((1, 0, 1), (0, 2)), ((1,), (0,))]


UNSQUEEZES = [((2, 3), (0,)), ((2, 3), (-1, 0)), ((2, 3), (3, 1)), ((), (0,)), ((), (1, 0)), ((0,), (-1,))]


@pytest.mark.parametrize(
    ("op", "shape", "axes"),
    [*(("Squeeze", *row) for row in SQUEEZES), *(("Unsqueeze", *row) for row in UNSQUEEZES)],
)
def test_squeeze_and_unsqueeze(op: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    assert_close(*onnx_node(op, [counting_tensor(*shape)], opset=11, axes=list(axes)))
    assert_close(*onnx_node(op, [counting_tensor(*shape), i64(*axes)], opset=13))
    assert_close(*onnx_node(op, [counting_tensor(*shape), i64(*axes)], opset=21))
    assert_close(*openvino_node(op, [counting_tensor(*shape), i64(*axes)], constant=(1,)))


@pytest.mark.parametrize("shape", [(1, 2, 1), (2, 3), (1, 1), (), (1, 0)])
def test_squeeze_without_axes(shape: tuple[int, ...]) -> None:
    assert_close(*onnx_node("Squeeze", [counting_tensor(*shape)], opset=11))
    assert_close(*onnx_node("Squeeze", [counting_tensor(*shape)], opset=21))
    assert_close(*onnx_node("Squeeze", [counting_tensor(*shape), i64()], opset=21))
    assert_close(*openvino_node("Squeeze", [counting_tensor(*shape)]))


def test_squeeze_with_an_absent_input() -> None:
    # onnxruntime fails on an empty name for the optional input.
    assert_same(run_operator(System.ONNX, "Squeeze", counting_tensor(1, 2), None, version=21), counting_tensor(2))


@pytest.mark.parametrize(("axes", "message"), [((1,), "its size is not 1"), ((3,), "outside"), ((-4,), "outside")])
def test_squeeze_refuses(axes: tuple[int, ...], message: str) -> None:
    both_refuse_onnx("Squeeze", [counting_tensor(1, 2, 1), i64(*axes)], 21, message)
    both_refuse_onnx("Squeeze", [counting_tensor(1, 2, 1)], 11, message, axes=list(axes))


@pytest.mark.parametrize("opset", [1, 15])
def test_openvino_squeeze_skips_other_sizes(opset: int) -> None:
    assert_close(*openvino_node("Squeeze", [counting_tensor(1, 2, 1), i64(0, 1)], opset=opset, constant=(1,)))


def test_openvino_squeeze_refuses() -> None:
    both_refuse_openvino("Squeeze", [counting_tensor(1, 2, 1), i64(5)], 1, "outside")


@pytest.mark.parametrize(("axes", "message"), [((0, 0), "twice"), ((0, -3), "twice"), ((2,), "outside")])
def test_unsqueeze_refuses(axes: tuple[int, ...], message: str) -> None:
    both_refuse_onnx("Unsqueeze", [counting_tensor(4), i64(*axes)], 21, message)


def test_openvino_unsqueeze_ignores_repeated_axis() -> None:
    assert_close(*openvino_node("Unsqueeze", [counting_tensor(4), i64(0, 0)], constant=(1,)))


@pytest.mark.parametrize("axis", [-3, -1, 0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 0, 4)])
def test_flatten(shape: tuple[int, ...], axis: int) -> None:
    assert_close(*onnx_node("Flatten", [counting_tensor(*shape)], axis=axis))


def test_flatten_of_a_scalar() -> None:
    assert_close(*onnx_node("Flatten", [counting_tensor()], axis=0))
    both_refuse_onnx("Flatten", [counting_tensor()], 21, "outside")


# --- Shape, Size


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4)])
def test_shape_and_size(shape: tuple[int, ...], dtype: Any) -> None:
    assert_close(*onnx_node("Shape", [counting_tensor(*shape, dtype=dtype)]))
    assert_close(*onnx_node("Size", [counting_tensor(*shape, dtype=dtype)]))


@pytest.mark.parametrize("start", [-10, -2, 0, 1, 3])
@pytest.mark.parametrize("end", [None, -10, -1, 0, 2, 10])
def test_shape_of_some_dimensions(start: int, end: int | None) -> None:
    attributes = {} if end is None else {"end": end}
    assert_close(*onnx_node("Shape", [counting_tensor(2, 3, 4)], start=start, **attributes))


def test_openvino_shape_of() -> None:
    assert_close(*openvino_node("ShapeOf", [counting_tensor(2, 3)], opset=1))
    assert_close(*openvino_node("ShapeOf", [counting_tensor(2, 0, 4)], opset=3, output_type="i32"))
    assert_close(*openvino_node("ShapeOf", [counting_tensor(2, 3, dtype=np.int8)], opset=3, output_type="i64"))


# --- Expand, Broadcast, Tile


@pytest.mark.parametrize(
    ("shape", "to"),
    [((3, 1), (2, 1, 6)), ((3, 1), (3, 4)), ((3, 4), (1,)), ((), (2, 2)), ((1,), (0,)), ((0, 1), (1, 4)), ((2,), ())],
)
def test_expand(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    assert_close(*onnx_node("Expand", [counting_tensor(*shape), i64(*to)]))
    if 0 not in (*shape, *to):  # OpenVINO refuses some of these, and stretches [1] to [0] as [1]
        assert_close(
            *openvino_node(
                "Broadcast", [counting_tensor(*shape), i64(*to)], opset=3, constant=(1,), mode="bidirectional"
            )
        )


def test_openvino_broadcast_to_no_elements() -> None:
    # "Similar to numpy.array(input) * numpy.ones(target_shape)".
    out = run_operator(System.OPENVINO, "Broadcast", counting_tensor(1), i64(0), version=3, mode="bidirectional")
    assert_same(out, np.zeros(0, np.float32))


@pytest.mark.parametrize("to", [(2, 4), (0, 4), (-1, 4)])
def test_expand_refuses(to: tuple[int, ...]) -> None:
    both_refuse_onnx("Expand", [counting_tensor(3, 1), i64(*to)], 21, "shape")


@pytest.mark.parametrize("opset", [1, 3])
@pytest.mark.parametrize(("shape", "to"), [((16, 1, 1), (1, 16, 5, 5)), ((), (2, 3)), ((2, 3), (2, 3)), ((1,), (0,))])
def test_openvino_broadcast(shape: tuple[int, ...], to: tuple[int, ...], opset: int) -> None:
    assert_close(
        *openvino_node("Broadcast", [counting_tensor(*shape), i64(*to)], opset=opset, constant=(1,), mode="numpy")
    )


@pytest.mark.parametrize("opset", [1, 3])
@pytest.mark.parametrize(
    ("shape", "to", "axes"),
    [((16,), (1, 16, 5, 5), (1,)), ((5, 6), (2, 5, 6, 3), (1, 2)), ((1, 3), (4, 2, 5, 3), (1, 3))],
)
def test_openvino_broadcast_explicit(
    shape: tuple[int, ...], to: tuple[int, ...], axes: tuple[int, ...], opset: int
) -> None:
    inputs = [counting_tensor(*shape), i64(*to), i64(*axes)]
    assert_close(*openvino_node("Broadcast", inputs, opset=opset, constant=(1, 2), mode="explicit"))
    if opset == 1:
        assert_close(*openvino_node("Broadcast", inputs, opset=1, constant=(1, 2), mode="none"))


@pytest.mark.parametrize(("shape", "to"), [((2, 1), (1, 1)), ((2, 3), (4, 3)), ((2, 3), (3,))])
def test_openvino_broadcast_goes_one_way(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    both_refuse_openvino("Broadcast", [counting_tensor(*shape), i64(*to)], 3, "broadcast", mode="numpy")


def test_openvino_broadcast_does_not_transpose() -> None:
    inputs = [counting_tensor(2, 3), i64(4, 2, 5, 3), i64(3, 1)]
    both_refuse_openvino("Broadcast", inputs, 3, "in order", constant=(1, 2), mode="explicit")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("repeats", [(1, 1), (2, 1), (1, 3), (2, 3), (0, 2)])
def test_tile(repeats: tuple[int, ...], dtype: Any) -> None:
    if dtype is np.float16:  # onnxruntime has no Tile for it
        assert (
            run_operator(System.ONNX, "Tile", counting_tensor(2, 3, dtype=dtype), i64(*repeats), version=13).dtype
            == dtype
        )
        return
    assert_close(*onnx_node("Tile", [counting_tensor(2, 3, dtype=dtype), i64(*repeats)], opset=13))


@pytest.mark.parametrize(("shape", "repeats"), [((), ()), ((3,), (4,)), ((2, 0, 3), (2, 2, 2)), ((1, 2, 1), (3, 2, 4))])
def test_tile_of_other_ranks(shape: tuple[int, ...], repeats: tuple[int, ...]) -> None:
    assert_close(*onnx_node("Tile", [counting_tensor(*shape), i64(*repeats)], opset=13))


def test_tile_1_repeats_one_axis() -> None:
    # onnxruntime has no kernel for it.
    x = counting_tensor(2, 3)
    assert_same(run_operator(System.ONNX, "Tile", x, np.float32([2]), np.float32([1]), version=1), np.tile(x, (1, 2)))


@pytest.mark.parametrize(("repeats", "message"), [((-1, 1), "negative"), ((2,), "each axis"), ((1, 1, 1), "each axis")])
def test_tile_refuses(repeats: tuple[int, ...], message: str) -> None:
    both_refuse_onnx("Tile", [counting_tensor(2, 3), i64(*repeats)], 13, message)


@pytest.mark.parametrize(
    ("shape", "repeats"), [((2, 3), (2, 2)), ((2, 3), (2,)), ((3,), (2, 4)), ((2, 3, 4), (5, 1, 2, 3)), ((3,), (2, 0))]
)
def test_openvino_tile(shape: tuple[int, ...], repeats: tuple[int, ...]) -> None:
    assert_close(*openvino_node("Tile", [counting_tensor(*shape), i64(*repeats)], constant=(1,)))


# --- Tensors made from shapes and numbers


@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (2, 0)])
@pytest.mark.parametrize("value", [None, np.int64([7]), np.float64([0.5]), np.array([True]), np.float16([-0.0])])
def test_constant_of_shape(shape: tuple[int, ...], value: Array | None) -> None:
    attributes = {} if value is None else {"value": value}
    assert_close(*onnx_node("ConstantOfShape", [i64(*shape)], opset=20, **attributes))


def test_constant_of_shape_refuses() -> None:
    both_refuse_onnx("ConstantOfShape", [i64(2, -1)], 20, "negative")
    with raises_error(ModelError, name="value", expected="1 element", got="2"):
        run_operator(System.ONNX, "ConstantOfShape", i64(2), version=20, value=np.zeros(2))


@pytest.mark.parametrize(
    "attributes",
    [
        {"value": counting_tensor(2, 3)},
        {"value": np.array([], np.int32)},
        {"value_float": 1.5},
        {"value_floats": [1.5, -2.5]},
        {"value_int": -(2**60)},
        {"value_ints": [2**60, 1]},
        {"value_string": "one"},
        {"value_strings": ["one", "zwei"]},
    ],
)
def test_constant(attributes: dict[str, Any]) -> None:
    assert_close(*onnx_node("Constant", [], opset=13, **attributes))


def test_constant_refuses() -> None:
    with raises_error(UnsupportedError, name="sparse_value"):
        run_operator(System.ONNX, "Constant", version=13, sparse_value=object())
    for attributes in ({}, {"value_int": 1, "value_float": 1.0}):
        with raises_error(ModelError, name="value", expected="1 attribute"):
            run_operator(System.ONNX, "Constant", version=13, **attributes)


RANGES = [(0, 5, 1), (0, 5, 2), (10, 4, -2), (10, 3, -2), (5, 5, 1), (5, 0, 1), (0, 5, -1), (-3, 4, 3)]


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize(("start", "limit", "delta"), RANGES)
def test_range(start: int, limit: int, delta: int, dtype: Any) -> None:
    assert_close(*onnx_node("Range", [np.array(v, dtype) for v in (start, limit, delta)]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("start", "limit", "delta"), [(0, 1, 0.1), (0, 0.3, 0.1), (1, 0, -0.3), (-0.5, 2, 0.7)])
def test_range_of_fractions(start: float, limit: float, delta: float, dtype: Any) -> None:
    assert_close(*onnx_node("Range", [np.array(v, dtype) for v in (start, limit, delta)]))


def test_range_wraps_no_number() -> None:
    assert_close(*onnx_node("Range", [np.array(v, np.int16) for v in (-30000, 30000, 1)]))
    # onnxruntime counts in float64 and gives nothing here.
    big = 2**60 + 1
    out = run_operator(System.ONNX, "Range", *(np.array(v) for v in (big, big + 3, 1)), version=11)
    assert out.tolist() == [big, big + 1, big + 2]


@pytest.mark.parametrize("limits", [(0, 5, 0), (0.0, np.nan, 1.0), (0.0, np.inf, 1.0)])
def test_range_refuses(limits: tuple[float, ...]) -> None:
    inputs = [np.array(v, np.asarray(limits[0]).dtype) for v in limits]
    both_refuse_onnx("Range", inputs, 21, "range")


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_range_27_counts_small_floats_in_float32(dtype: Any) -> None:
    # Newer than onnxruntime. In float16 itself, indices above 2048 would be rounded before they are multiplied.
    out = run_operator(System.ONNX, "Range", *(np.array(v, dtype) for v in (0, 32, 2**-7)), version=27)
    assert_same(out, (np.arange(4096, dtype=np.float32) * np.float32(2**-7)).astype(dtype))


@pytest.mark.parametrize("constant", [(), (0, 1, 2)])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
@pytest.mark.parametrize(("start", "stop", "step"), RANGES)
def test_openvino_range(start: int, stop: int, step: int, dtype: Any, constant: tuple[int, ...]) -> None:
    inputs = [np.array(v, dtype) for v in (start, stop, step)]
    if (stop - start) * step < 0 and not constant:
        # The CPU plugin gives as many numbers as if the step had the other sign.
        assert run_operator(System.OPENVINO, "Range", *inputs, version=1).shape == (0,)
        return
    assert_close(*openvino_node("Range", inputs, opset=1, constant=constant))
    assert_close(*openvino_node("Range", inputs, opset=4, constant=constant, output_type="f32"))
    assert_close(*openvino_node("Range", inputs, opset=4, constant=constant, output_type="i32"))


@pytest.mark.parametrize(("start", "stop", "step"), [(1.7, 5.2, 1.5), (-1.7, 5.2, 1.5), (1.0, 5.9, 2.0)])
def test_openvino_range_casts_before_it_counts(start: float, stop: float, step: float) -> None:
    # Where the inputs are no constants, the CPU plugin counts before it casts; the page says "after casting".
    inputs = [np.array(v, np.float32) for v in (start, stop, step)]
    assert_close(*openvino_node("Range", inputs, opset=4, constant=(0, 1, 2), output_type="i32"))


def test_openvino_range_refuses_a_step_of_zero() -> None:
    # The CPU plugin divides by it and takes the process down.
    with pytest.raises(ValueError, match="zero"):
        run_operator(System.OPENVINO, "Range", *map(np.array, (0.0, 4.0, 0.5)), version=4, output_type="i32")


@pytest.mark.parametrize("k", [-1, 0, 1, 5])
@pytest.mark.parametrize(("shape", "dtype"), [((2, 3), np.float32), ((3, 2), np.int32), ((0, 3), np.float64)])
def test_eye_like(shape: tuple[int, ...], dtype: Any, k: int) -> None:
    assert_close(*onnx_node("EyeLike", [counting_tensor(*shape, dtype=dtype)], k=k))
    assert_close(*onnx_node("EyeLike", [counting_tensor(*shape, dtype=dtype)], k=k, dtype=7))


def test_eye_like_refuses() -> None:
    both_refuse_onnx("EyeLike", [counting_tensor(3)], 21, "two axes")


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 2), (0, 3)])
def test_non_zero(shape: tuple[int, ...], dtype: Any) -> None:
    x = (counting_tensor(*shape) % 3 - 1).astype(dtype)
    assert_close(*onnx_node("NonZero", [x]))
    assert_close(*openvino_node("NonZero", [x], opset=3))
    assert_close(*openvino_node("NonZero", [x], opset=3, output_type="i32"))


@pytest.mark.parametrize(("system", "version"), [(System.ONNX, 13), (System.OPENVINO, 3)])
def test_non_zero_of_a_scalar_has_no_rows(system: System, version: int) -> None:
    # Both specifications: [rank, count]. Both runtimes treat a scalar as rank 1 and give (1, count).
    assert run_operator(system, "NonZero", np.array(3.0), version=version).shape == (0, 1)
    assert run_operator(system, "NonZero", np.array(0.0), version=version).shape == (0, 0)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4])
def test_types_that_numpy_lacks(dtype: Any) -> None:
    x = (np.arange(6).reshape(2, 3) - 2).astype(dtype)
    assert_same(run_operator(System.ONNX, "Transpose", x, version=21), x.T)
    assert_same(run_operator(System.ONNX, "Reshape", x, i64(3, -1), version=21), x.reshape(3, 2))
    assert_same(run_operator(System.ONNX, "Expand", x, i64(2, 2, 3), version=13), np.stack([x, x]))
    assert_same(run_operator(System.ONNX, "NonZero", x, version=13), np.array(np.nonzero(x.astype(np.float32))))
