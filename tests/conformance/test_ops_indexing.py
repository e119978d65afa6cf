"""Gathering, scattering and one-hot next to onnxruntime and OpenVINO."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import System

from .operator_checks import REFUSED, both_refuse_onnx, both_refuse_openvino, counting_tensor, i64, run_operator
from .single_node import Array, assert_close, assert_same, onnx_node, openvino_node

# --- Gather


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("indices", [0, -1, [1, 0], [[0, -2], [1, 1]], []])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather(axis: int, indices: Any, dtype: Any) -> None:
    inputs = [counting_tensor(2, 3, 4), np.array(indices, dtype)]
    assert_close(*onnx_node("Gather", inputs, axis=axis))
    if inputs[1].size:  # the CPU plugin divides by the number of indices
        assert_close(*openvino_node("Gather", [*inputs, np.array(axis)], opset=8, constant=(2,)))


@pytest.mark.parametrize(
    ("shape", "indices", "axis", "message"),
    [
        ((3,), [3], 0, "out of bounds"),
        ((3,), [-4], 0, "out of bounds"),
        ((3,), [0], 1, "outside"),
        ((), 0, 0, "scalar"),
    ],
)
def test_gather_refuses(shape: tuple[int, ...], indices: Any, axis: int, message: str) -> None:
    both_refuse_onnx("Gather", [counting_tensor(*shape), np.array(indices)], 13, message, axis=axis)


@pytest.mark.parametrize(
    ("opset", "indices"), [(1, [1, 9, -1]), (7, [1, 9, -1]), (8, [1, 9, -1, -20]), (8, 5), (1, -1)]
)
@pytest.mark.parametrize("axis", [0, 1])
def test_openvino_gather_gives_zeros_for_what_is_outside(opset: int, indices: Any, axis: int) -> None:
    inputs = [counting_tensor(2, 4), np.array(indices), np.array(axis)]
    assert_close(*openvino_node("Gather", inputs, opset=opset, constant=(2,)))


def test_openvino_gather_from_nothing() -> None:
    # The CPU plugin fails here; by the page, every index is outside.
    inputs = [counting_tensor(2, 0), np.array([0, 1, 2]), np.array(1)]
    assert_same(run_operator(System.OPENVINO, "Gather", *inputs, version=8), np.zeros((2, 3), np.float32))


@pytest.mark.parametrize(
    ("shape", "indices", "axis", "batch_dims"),
    [
        ((2, 5), (2, 3), 1, 1),
        ((2, 5), (2, 3), -1, -1),
        ((2, 2, 5), (2, 2, 3), 2, 2),
        ((2, 1, 5, 4), (2, 3), 2, 1),
        ((2, 3, 4, 5), (2, 2, 3), 3, 1),
        ((2, 3, 4, 5), (2,), 2, 1),
        ((2, 3, 4), (2, 3, 2), 2, 2),
    ],
)
@pytest.mark.parametrize("opset", [7, 8])
def test_openvino_gather_of_batches(
    shape: tuple[int, ...], indices: tuple[int, ...], axis: int, batch_dims: int, opset: int
) -> None:
    rng = np.random.default_rng(1)
    places = rng.integers(-shape[axis] - 2, shape[axis] + 2, indices)
    inputs = [counting_tensor(*shape), places.astype(np.int32), np.array(axis)]
    assert_close(*openvino_node("Gather", inputs, opset=opset, constant=(2,), batch_dims=batch_dims))


def test_openvino_gather_refuses_batches_that_do_not_fit() -> None:
    inputs = [counting_tensor(2, 5), np.zeros((3, 2), np.int32), np.array(1)]
    both_refuse_openvino("Gather", inputs, 8, "batch_dims", (2,), batch_dims=1)


@pytest.mark.parametrize(
    ("shape", "indices", "axis"),
    [((3, 4), (3, 2), 1), ((3, 4), (5, 4), 0), ((3, 4), (5, 4), -2), ((6,), (4,), 0), ((2, 3, 4), (2, 3, 6), -1)],
)
def test_gather_elements(shape: tuple[int, ...], indices: tuple[int, ...], axis: int) -> None:
    rng = np.random.default_rng(2)
    places = rng.integers(-shape[axis], shape[axis], indices)
    for dtype in (np.int32, np.int64):
        assert_close(*onnx_node("GatherElements", [counting_tensor(*shape), places.astype(dtype)], axis=axis))
    assert_close(*openvino_node("GatherElements", [counting_tensor(*shape), places % shape[axis]], opset=6, axis=axis))


def test_gather_elements_of_a_part() -> None:
    assert_close(*onnx_node("GatherElements", [counting_tensor(3, 4), i64(3, -1, 0, 1).reshape(2, 2)], axis=1))
    assert_close(
        *onnx_node("GatherElements", [counting_tensor(3, 4, dtype=object), np.zeros((0, 2), np.int64)], axis=0)
    )


@pytest.mark.parametrize(
    ("indices", "message"), [([[0], [4]], "outside"), ([[0], [-5]], "outside"), ([[0]] * 4, "fit"), ([0], "fit")]
)
def test_gather_elements_refuses(indices: Any, message: str) -> None:
    both_refuse_onnx("GatherElements", [counting_tensor(3, 4), np.array(indices)], 13, message, axis=1)


@pytest.mark.parametrize(
    ("shape", "indices"),
    [((3, 4), (2,)), ((3, 4), (1,)), ((3, 4), (5, 2)), ((3, 4), (5, 1)), ((2, 3, 4), (2, 2, 2)), ((3, 4), (0, 1))],
)
def test_gather_nd(shape: tuple[int, ...], indices: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    places = rng.integers([-n for n in shape[: indices[-1]]], shape[: indices[-1]], indices)
    for opset in (11, 12, 13):
        assert_close(*onnx_node("GatherND", [counting_tensor(*shape), places], opset=opset))
    if places.size:
        assert_close(*openvino_node("GatherND", [counting_tensor(*shape), places], opset=8))
        assert_close(*openvino_node("GatherND", [counting_tensor(*shape), abs(places) % min(shape)], opset=5))


def test_gather_nd_of_strings() -> None:
    assert_close(*onnx_node("GatherND", [counting_tensor(2, 2, dtype=object), i64(1, 0)]))
    assert_close(*onnx_node("GatherND", [counting_tensor(2, 2, dtype=object), i64(1, 0).reshape(2, 1)]))


@pytest.mark.parametrize(
    ("shape", "indices", "batch_dims"),
    [((2, 3, 4), (2, 1), 1), ((2, 3, 4), (2, 5, 1), 1), ((2, 3, 4), (2, 5, 2), 1), ((2, 3, 4), (2, 3, 1, 1), 2)],
)
def test_gather_nd_of_batches(shape: tuple[int, ...], indices: tuple[int, ...], batch_dims: int) -> None:
    rng = np.random.default_rng(4)
    tops = shape[batch_dims : batch_dims + indices[-1]]
    places = rng.integers([-n for n in tops], tops, indices)
    assert_close(*onnx_node("GatherND", [counting_tensor(*shape), places], opset=12, batch_dims=batch_dims))
    assert_close(*openvino_node("GatherND", [counting_tensor(*shape), places], opset=8, batch_dims=batch_dims))
    positive = places % min(tops)
    assert_close(*openvino_node("GatherND", [counting_tensor(*shape), positive], opset=5, batch_dims=batch_dims))


@pytest.mark.parametrize(
    ("indices", "batch_dims", "message"),
    [([3, 0], 0, "outside"), ([-4, 0], 0, "outside"), ([0, 0, 0], 0, "fit"), ([[0], [1]], 1, "must be equal")],
)
def test_gather_nd_refuses(indices: Any, batch_dims: int, message: str) -> None:
    both_refuse_onnx("GatherND", [counting_tensor(3, 4), np.array(indices)], 13, message, batch_dims=batch_dims)


def test_openvino_gather_nd_refuses() -> None:
    # The CPU plugin reads beyond the data.
    with pytest.raises(IndexError, match="outside"):
        run_operator(System.OPENVINO, "GatherND", counting_tensor(3, 4), i64(4, 0), version=8)


# --- Scatter


@pytest.mark.parametrize(
    ("shape", "indices", "axis"),
    [((3, 4), (2, 2), 0), ((3, 4), (3, 2), 1), ((3, 4), (2, 4), -1), ((6,), (3,), 0), ((2, 3, 4), (2, 1, 4), 1)],
)
def test_scatter_elements(shape: tuple[int, ...], indices: tuple[int, ...], axis: int) -> None:
    rng = np.random.default_rng(5)
    places = np.argsort(rng.random((*indices[:axis], shape[axis], *indices[axis:][1:])), axis=axis)
    places = np.take(places, range(indices[axis]), axis=axis)  # none twice
    updates = -counting_tensor(*indices)
    assert_close(*onnx_node("Scatter", [counting_tensor(*shape), places, updates], opset=9, axis=axis))
    assert_close(*onnx_node("ScatterElements", [counting_tensor(*shape), places, updates], opset=11, axis=axis))
    inputs = [counting_tensor(*shape), places, updates, np.array(axis)]
    assert_close(*openvino_node("ScatterElementsUpdate", inputs, opset=3, constant=(3,)))
    inputs[1] = places - shape[axis]
    assert_close(*onnx_node("ScatterElements", inputs[:3], opset=18, axis=axis))
    assert_close(*openvino_node("ScatterElementsUpdate", inputs, opset=12, constant=(3,)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_elements_reduces(reduction: str, dtype: Any) -> None:
    places = i64(1, 1, -1, 1) if reduction != "none" else i64(1, 0, -1, 2)
    inputs = [counting_tensor(5, dtype=dtype), places, np.array([3, 1, 7, 2], dtype)]
    assert_close(*onnx_node("ScatterElements", inputs, opset=18, reduction=reduction))


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("use_init_val", [True, False])
@pytest.mark.parametrize("reduction", ["none", "sum", "prod", "max", "min", "mean"])
def test_openvino_scatter_elements_reduces(reduction: str, use_init_val: bool, dtype: Any) -> None:
    places = i64(1, 1, -1, 1) if reduction != "none" else i64(1, 0, -1, 2)
    inputs = [counting_tensor(5, dtype=dtype), places, np.array([3, 1, 7, 2], dtype), np.array(0)]
    attributes = {"reduction": reduction, "use_init_val": use_init_val}
    assert_close(*openvino_node("ScatterElementsUpdate", inputs, opset=12, constant=(3,), **attributes))


def test_openvino_scatter_mean_of_integers_rounds_down() -> None:
    # "Rounded down (towards negative infinity)"; the CPU plugin truncates to -37.
    inputs = [np.array([-14], np.int32), i64(0), np.array([-61], np.int32), np.array(0)]
    assert run_operator(System.OPENVINO, "ScatterElementsUpdate", *inputs, version=12, reduction="mean").tolist() == [
        -38
    ]


@pytest.mark.parametrize(("reduction", "expected"), [("sum", [True, True]), ("prod", [True, False])])
def test_openvino_scatter_of_booleans(reduction: str, expected: list[bool]) -> None:
    inputs = [np.array([True, True]), i64(0, 1), np.array([True, False]), np.array(0)]
    assert_close(*openvino_node("ScatterElementsUpdate", inputs, opset=12, constant=(3,), reduction=reduction))
    out = run_operator(System.OPENVINO, "ScatterElementsUpdate", *inputs, version=12, reduction=reduction)
    assert out.tolist() == expected


@pytest.mark.parametrize(
    ("places", "updates", "message"),
    [([[3]], (1, 1), "outside"), ([[-4]], (1, 1), "outside"), ([[0] * 5], (1, 5), "fit"), ([[0]], (1, 2), "updates")],
)
def test_scatter_elements_refuses(places: Any, updates: tuple[int, ...], message: str) -> None:
    both_refuse_onnx(
        "ScatterElements", [counting_tensor(3, 4), np.array(places), counting_tensor(*updates)], 18, message
    )


def test_scatter_elements_refuses_an_unknown_reduction() -> None:
    # onnxruntime takes it as none.
    with raises_error(ModelError, name="reduction", expected="none, add, mul, max, min", got="'mean'"):
        run_operator(
            System.ONNX, "ScatterElements", counting_tensor(3), i64(0), counting_tensor(1), version=18, reduction="mean"
        )


# The pages: "If an index points to non-existing element then exception is raised", in version 3 also "if an index ...
# is negative". The CPU plugin may crash, and counts negative indices from the end.
@pytest.mark.parametrize(("index", "version"), [(3, 3), (3, 12), (-1, 3)])
def test_openvino_scatter_elements_refuses(index: int, version: int) -> None:
    inputs = [counting_tensor(3), i64(index), counting_tensor(1), np.array(0)]
    with pytest.raises(IndexError, match="outside"):
        run_operator(System.OPENVINO, "ScatterElementsUpdate", *inputs, version=version)


@pytest.mark.parametrize(
    ("shape", "places"),
    [((5,), [[1], [-1]]), ((3, 4), [[1], [2]]), ((3, 4), [[1, 2], [-1, 0]]), ((2, 3, 4), [[[0, 1], [1, 2]]])],
)
def test_scatter_nd(shape: tuple[int, ...], places: Any) -> None:
    indices = np.array(places)
    updates = -counting_tensor(*indices.shape[:-1], *shape[indices.shape[-1] :])
    for opset in (11, 13, 16, 18):
        assert_close(*onnx_node("ScatterND", [counting_tensor(*shape), indices, updates], opset=opset))
    assert_close(*openvino_node("ScatterNDUpdate", [counting_tensor(*shape), indices, updates], opset=4))
    assert_close(*openvino_node("ScatterNDUpdate", [counting_tensor(*shape), indices, updates], opset=15))


def scatter_nd_inputs(dtype: Any) -> list[Array]:
    """Updates of which two have the same index."""
    return [counting_tensor(3, 2, dtype=dtype), i64(1, 1, -1).reshape(3, 1), np.array([[5, -1], [2, 2], [0, 9]], dtype)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_scatter_nd_reduces(reduction: str, dtype: Any) -> None:
    assert_close(*onnx_node("ScatterND", scatter_nd_inputs(dtype), opset=18, reduction=reduction))


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("reduction", ["sum", "sub", "prod", "max", "min"])
def test_openvino_scatter_nd_reduces(reduction: str, dtype: Any) -> None:
    assert_close(*openvino_node("ScatterNDUpdate", scatter_nd_inputs(dtype), opset=15, reduction=reduction))


def test_openvino_scatter_nd_of_booleans_subtracts_by_exclusive_or() -> None:
    inputs = [np.array([True, True, False]), i64(0, 1, 2).reshape(3, 1), np.array([True, False, True])]
    out = run_operator(System.OPENVINO, "ScatterNDUpdate", *inputs, version=15, reduction="sub")
    assert out.tolist() == [False, True, True]


def test_openvino_scatter_nd_of_one_element() -> None:
    # "If expected updates rank is 0D it can be a tensor with single element"; the CPU plugin refuses it.
    out = run_operator(
        System.OPENVINO, "ScatterNDUpdate", counting_tensor(2, 2), i64(1, 0), np.array([9], np.float32), version=15
    )
    assert out.tolist() == [[1, 2], [9, 4]]


@pytest.mark.parametrize(
    ("places", "updates", "message"),
    [([[3]], (1, 4), "outside"), ([[-4]], (1, 4), "outside"), ([[1]], (4,), "updates"), ([[0, 0, 0]], (1,), "fit")],
)
def test_scatter_nd_refuses(places: Any, updates: tuple[int, ...], message: str) -> None:
    both_refuse_onnx("ScatterND", [counting_tensor(3, 4), np.array(places), counting_tensor(*updates)], 18, message)
    # The CPU plugin writes outside its memory for some of these.
    with pytest.raises(REFUSED, match=message):
        run_operator(
            System.OPENVINO,
            "ScatterNDUpdate",
            counting_tensor(3, 4),
            np.array(places),
            counting_tensor(*updates),
            version=15,
        )


@pytest.mark.parametrize(
    ("shape", "indices", "axis"),
    [((5,), [1, 4], 0), ((3, 5), [4, 0], 1), ((3, 5), [[2], [0]], -2), ((2, 3, 4), [1], 1)],
)
def test_scatter_update(shape: tuple[int, ...], indices: Any, axis: int) -> None:
    places = np.array(indices)
    along = axis % len(shape)
    updates = -counting_tensor(*shape[:along], *places.shape, *shape[along + 1 :])
    inputs = [counting_tensor(*shape), places, updates, np.array(axis)]
    assert_close(*openvino_node("ScatterUpdate", inputs, opset=3, constant=(3,)))


def test_scatter_update_at_a_scalar_index() -> None:
    # By the page "indices is a 0D tensor" is legal; the CPU plugin refuses it.
    out = run_operator(
        System.OPENVINO,
        "ScatterUpdate",
        counting_tensor(2, 3),
        np.array(1),
        -counting_tensor(2),
        np.array(1),
        version=3,
    )
    assert out.tolist() == [[1, -1, 3], [4, -2, 6]]


@pytest.mark.parametrize(("index", "count", "message"), [(5, 1, "outside"), (-1, 1, "outside"), (0, 2, "updates")])
def test_scatter_update_refuses(index: int, count: int, message: str) -> None:
    # The CPU plugin may crash on each of these.
    with pytest.raises(REFUSED, match=message):
        run_operator(
            System.OPENVINO,
            "ScatterUpdate",
            counting_tensor(5),
            i64(index),
            counting_tensor(count),
            np.array(0),
            version=3,
        )


def test_scatter_leaves_its_input_alone() -> None:
    x = counting_tensor(4)
    run_operator(System.ONNX, "ScatterND", x, i64(0).reshape(1, 1), -counting_tensor(1), version=18)
    run_operator(System.ONNX, "ScatterElements", x, i64(1), -counting_tensor(1), version=18, reduction="add")
    assert_same(x, counting_tensor(4))


# --- OneHot


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32])
def test_one_hot(axis: int, dtype: Any) -> None:
    indices = np.array([0, -1, 5, 3, -4, -5], dtype)
    for values in (np.array([2, 3], np.float32), np.array([0, 1], np.int64)):
        depth = np.array([4], np.float32 if dtype is np.float32 else np.int64)
        if dtype is np.int32 or (dtype is np.float32 and values.dtype == np.int64):
            indices, depth = indices.astype(np.int64), depth.astype(np.int64)  # no kernel in onnxruntime
        assert_close(*onnx_node("OneHot", [indices, depth, values], opset=11, axis=axis))


def test_one_hot_of_fractions_truncates() -> None:
    # "In case 'indices' is of non-integer type, the values will be casted to int64 before use"; onnxruntime matches
    # fractions with no class.
    indices, depth = np.array([0.7, -0.5, 1.9], np.float32), np.array(3.7, np.float32)
    out = run_operator(System.ONNX, "OneHot", indices, depth, np.array([0, 1], np.float32), version=11)
    assert_same(out, np.eye(3, dtype=np.float32)[[0, 0, 1]])


def test_one_hot_9_knows_no_negative_indices() -> None:
    # "Outside the range [0, depth)": all off. onnxruntime counts from the end in opset 9 as well.
    out = run_operator(System.ONNX, "OneHot", i64(0, -1), np.array(3), np.array([2, 3]), version=9)
    assert out.tolist() == [[3, 2, 2], [2, 2, 2]]


@pytest.mark.parametrize("shape", [(2, 2), (0,), (3, 1)])
def test_one_hot_of_shapes(shape: tuple[int, ...]) -> None:
    inputs = [counting_tensor(*shape, dtype=np.int64), np.array(4), np.array([0, 1], np.float32)]
    assert_close(*onnx_node("OneHot", inputs, opset=11, axis=1))


@pytest.mark.parametrize(
    ("values", "axis", "message"), [([0, 1], 2, "outside"), ([0], 0, "values"), ([[0, 1]], 0, "values")]
)
def test_one_hot_refuses(values: Any, axis: int, message: str) -> None:
    both_refuse_onnx("OneHot", [i64(1), np.array(3), np.array(values)], 11, message, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_openvino_one_hot(axis: int) -> None:
    inputs = [i64(0, 3, 1, -1, 7), np.array(4), np.array(2, np.float32), np.array(5, np.float32)]
    assert_close(*openvino_node("OneHot", inputs, constant=(1, 2, 3), axis=axis))
    for mode in ("ignore_negative", "normalize"):
        assert_close(
            *openvino_node("OneHot", inputs, opset=16, constant=(1, 2, 3), axis=axis, negative_indices_mode=mode)
        )


def test_openvino_one_hot_refuses_an_unknown_mode() -> None:
    inputs = [i64(0), np.array(4), np.array(2), np.array(5)]
    with raises_error(ModelError, name="negative_indices_mode", expected="ignore_negative, normalize", got="'wrap'"):
        run_operator(System.OPENVINO, "OneHot", *inputs, version=16, axis="0", negative_indices_mode="wrap")


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.int4])
def test_types_that_numpy_lacks(dtype: Any) -> None:
    x = (np.arange(6).reshape(2, 3) - 2).astype(dtype)
    width = x.astype(np.float32)
    assert_same(run_operator(System.ONNX, "Gather", x, i64(-1, 0), version=13, axis=1), width[:, [-1, 0]].astype(dtype))
    scattered = run_operator(System.ONNX, "ScatterND", x, i64(1, 1).reshape(2, 1), x, version=18, reduction="max")
    assert_same(scattered, np.stack([width[0], width.max(0)]).astype(dtype))
