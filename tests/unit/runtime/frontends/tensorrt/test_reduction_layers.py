"""TensorRT's reductions, products, indexing and normalising layers against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.frontends.tensorrt.enums import (
    CumulativeOperation,
    DataType,
    GatherMode,
    MatrixOperation,
    ReduceOperation,
    ScaleMode,
    ScatterMode,
    TopKOperation,
)

from .layer_checks import build_error, check_layer, layer

random = np.random.default_rng(5)
X = random.standard_normal((2, 3, 4)).astype(np.float32)
WHOLE = random.integers(-9, 9, (2, 3, 4)).astype(np.int32)
NONE, TRANSPOSE, VECTOR = MatrixOperation.NONE, MatrixOperation.TRANSPOSE, MatrixOperation.VECTOR


# -- reductions

REDUCE = {"SUM": np.sum, "PROD": np.prod, "MAX": np.max, "MIN": np.min, "AVG": np.mean}


@pytest.mark.parametrize("name", REDUCE)
@pytest.mark.parametrize("mask", [0b1, 0b10, 0b101, 0b111])
@pytest.mark.parametrize("keep", [False, True])
def test_reduce(name: str, mask: int, keep: bool) -> None:
    axes = tuple(k for k in range(3) if mask >> k & 1)
    want = REDUCE[name](X.astype(np.float64), axis=axes, keepdims=keep).astype(np.float32)
    check_layer(layer("add_reduce", ReduceOperation[name], mask, keep), {"x": X}, want)
    if name != "AVG":
        whole = np.asarray(REDUCE[name](WHOLE, axis=axes, keepdims=keep)).astype(np.int32)
        check_layer(lambda net, x: net.add_reduce(x, ReduceOperation[name], mask, keep_dims=keep), {"x": WHOLE}, whole)


@pytest.mark.parametrize("op", TopKOperation)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("by_tensor", [False, True])
def test_topk(op: TopKOperation, axis: int, by_tensor: bool) -> None:
    def build(net: Any, x: Any) -> Any:
        layer = net.add_topk(x, op, 2 if not by_tensor else 1, 1 << axis)
        if by_tensor:
            layer.set_input(1, net.const(2, np.int32))
            assert layer.k == -1
        return layer

    order = np.argsort(-X if op is TopKOperation.MAX else X, axis, kind="stable")
    places = np.take(order, [0, 1], axis).astype(np.int32)
    check_layer(build, {"x": X}, np.take_along_axis(X, places, axis), places)


def test_of_equal_elements_topk_takes_the_first() -> None:
    build = layer("add_topk", TopKOperation.MAX, 3, 1, indices_type=DataType.INT64)
    row = np.array([1, 5, 5, 0, 5], np.float32)
    check_layer(build, {"x": row}, np.array([5, 5, 5], np.float32), np.array([1, 2, 4], np.int64))


def softmax(x: Any, axis: int) -> Any:
    grown = np.exp(x - x.max(axis, keepdims=True))
    return grown / grown.sum(axis, keepdims=True)


def test_softmax() -> None:
    for axis in range(3):
        check_layer(layer("add_softmax", initially={"axes": 1}, axes=1 << axis), {"x": X}, softmax(X, axis))
    check_layer(layer("add_softmax"), {"x": X}, softmax(X, 0))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_ragged_softmax(dtype: Any) -> None:
    bounds = np.array([[[4], [2], [0]], [[1], [3], [4]]], np.int32)
    x = X.astype(dtype)
    want = np.zeros_like(x)
    for k in itertools.product(range(2), range(3)):
        bound = int(bounds[k][0])
        if bound:
            want[k][:bound] = softmax(x[k][:bound].astype(np.float32), 0)
    check_layer(layer("add_ragged_softmax"), {"x": x, "b": bounds}, want, rtol=1e-6 if dtype == np.float32 else 1e-3)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("x", [X, WHOLE])
def test_cumulative(exclusive: bool, reverse: bool, x: Any) -> None:
    for axis in (0, 1, -1):
        turned = np.flip(x, axis) if reverse else x
        want = np.cumsum(turned, axis, dtype=x.dtype)
        if exclusive:
            want = want - turned
        want = np.flip(want, axis) if reverse else want
        check_layer(
            lambda net, t, axis=axis: net.add_cumulative(
                t, net.const(axis, np.int32), CumulativeOperation.SUM, exclusive, reverse
            ),
            {"x": x},
            want,
            rtol=1e-5,
        )


# -- scale and normalisation

IMAGE = random.standard_normal((2, 4, 3, 5)).astype(np.float32)


def test_scale() -> None:
    shift, scale, power = (random.uniform(1, 2, 4).astype(np.float32) for _ in range(3))
    positive = np.abs(IMAGE)
    each = np.s_[:, None, None]
    want = (positive * scale[each] + shift[each]) ** power[each]
    check_layer(layer("add_scale", ScaleMode.CHANNEL, shift, scale, power), {"x": positive}, want, rtol=1e-5)
    first = np.array([3], np.float32)
    check_layer(lambda net, x: net.add_scale(x, ScaleMode.UNIFORM, scale=first), {"x": IMAGE}, IMAGE * 3)
    check_layer(layer("add_scale", ScaleMode.UNIFORM), {"x": IMAGE}, IMAGE)
    all_of = random.standard_normal((4, 3, 5)).astype(np.float32)
    check_layer(
        lambda net, x: net.add_scale(x, ScaleMode.ELEMENTWISE, shift=all_of),
        {"x": IMAGE},
        IMAGE + all_of,
        dynamic=False,
    )
    last = random.standard_normal(5).astype(np.float32)
    check_layer(
        lambda net, x: net.add_scale_nd(x, ScaleMode.CHANNEL, scale=last, channel_axis=3), {"x": IMAGE}, IMAGE * last
    )


@pytest.mark.parametrize("mask", [0b1100, 0b1000, 0b0001, 0b1110])
def test_normalization(mask: int) -> None:
    axes = tuple(k for k in range(4) if mask >> k & 1)
    scale, bias = (random.standard_normal((1, 4, 1, 5)).astype(np.float32) for _ in range(2))
    mean = IMAGE.mean(axes, keepdims=True)
    want = (IMAGE - mean) / np.sqrt(IMAGE.var(axes, keepdims=True) + 1e-3) * scale + bias

    build = layer("add_normalization", mask, initially={"epsilon": pytest.approx(1e-5)}, epsilon=1e-3)
    check_layer(build, {"x": IMAGE, "s": scale, "b": bias}, want, rtol=1e-5)


@pytest.mark.parametrize("v2", [False, True])
def test_normalization_by_groups(v2: bool) -> None:
    channels = 4 if v2 else 2
    scale, bias = (random.standard_normal((1, channels, 1, 1)).astype(np.float32) for _ in range(2))
    groups = IMAGE.reshape(2, 2, 2, 3, 5)
    normal = (groups - groups.mean((2, 3, 4), keepdims=True)) / np.sqrt(groups.var((2, 3, 4), keepdims=True) + 1e-5)
    if v2:
        want = normal.reshape(IMAGE.shape) * scale + bias
    else:
        want = (normal * scale[..., None] + bias[..., None]).reshape(IMAGE.shape)
    method = "add_normalization_v2" if v2 else "add_normalization"
    build = layer(method, 0b1100, initially={"is_v2": v2}, num_groups=2)
    check_layer(build, {"x": IMAGE, "s": scale, "b": bias}, want, rtol=1e-5, dynamic=False)


@pytest.mark.parametrize("lead", [(), (1,)])
def test_lrn_as_it_was_seen(lead: tuple[int, ...]) -> None:
    x = np.array([1, 2, 5], np.float32).reshape(*lead, 3, 1, 1)
    want = np.array([0.59996, 0.2, 0.51724], np.float32).reshape(x.shape)
    check_layer(layer("add_lrn", 3, 1.0, 1.0, 1e-4), {"x": x}, want, rtol=2e-5)


# -- products

A = random.standard_normal((2, 3, 4)).astype(np.float32)
B = random.standard_normal((2, 4, 5)).astype(np.float32)
v3, v4, v5 = (random.standard_normal((2, n)).astype(np.float32) for n in (3, 4, 5))


@pytest.mark.parametrize(
    ("a", "op0", "b", "op1", "want"),
    [
        (A, NONE, B, NONE, A @ B),
        (A.swapaxes(1, 2), TRANSPOSE, B, NONE, A @ B),
        (A, NONE, B.swapaxes(1, 2), TRANSPOSE, A @ B),
        (A[0], NONE, B[0], NONE, A[0] @ B[0]),
        (A[:1], NONE, B, NONE, A[:1] @ B),
        (A, NONE, v4, VECTOR, np.einsum("bij,bj->bi", A, v4)),
        (v3, VECTOR, A, NONE, np.einsum("bi,bij->bj", v3, A)),
        (v4, VECTOR, A, TRANSPOSE, np.einsum("bj,bij->bi", v4, A)),
        (v4, VECTOR, v4, VECTOR, (v4 * v4).sum(1)),
        (v4[0], VECTOR, A[0], TRANSPOSE, A[0] @ v4[0]),
        (v3[0], VECTOR, A[0], NONE, v3[0] @ A[0]),
        (A[0], NONE, v4[0], VECTOR, A[0] @ v4[0]),
        (v4[0], VECTOR, v4[0], VECTOR, np.float32(v4[0] @ v4[0])),
    ],
)
def test_matrix_multiply(a: Any, op0: Any, b: Any, op1: Any, want: Any) -> None:
    check_layer(lambda net, x, y: net.add_matrix_multiply(x, op0, y, op1), {"a": a, "b": b}, want, rtol=1e-5)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("ij,jk", [(3, 4), (4, 5)]),
        ("bij , bkj -> bik", [(2, 3, 4), (2, 5, 4)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("ii->i", [(3, 3)]),
        ("i,j,k->kij", [(2,), (3,), (4,)]),
        ("ij->", [(2, 3)]),
    ],
)
def test_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = {f"x{k}": random.standard_normal(shape).astype(np.float32) for k, shape in enumerate(shapes)}
    want = np.asarray(np.einsum(equation, *arrays.values()), np.float32)
    check_layer(lambda net, *tensors: net.add_einsum(list(tensors), equation), arrays, want, rtol=1e-5)


# -- indexing


def gathered(mode: GatherMode, axis: int = 0, batched: int = 0) -> Any:
    return layer("add_gather_v2", mode, axis=axis, num_elementwise_dims=batched)


@pytest.mark.parametrize("indices", [np.int32(1), np.array([[0, -1], [1, 0]], np.int64), np.array([], np.int32)])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather(indices: Any, axis: int) -> None:
    want = np.take(X, indices, axis)
    check_layer(layer("add_gather", axis), {"x": X, "i": indices}, want)
    check_layer(lambda net, x: net.add_gather(x, net.const(indices, indices.dtype), axis), {"x": X}, want)


def test_what_lies_outside_gathers_zeros() -> None:
    places = np.array([2, 3, -3, -4, 99], np.int32)
    want = np.stack([X[:, 2], X[:, 0] * 0, X[:, 0], X[:, 0] * 0, X[:, 0] * 0], 1)
    check_layer(layer("add_gather", 1), {"x": X, "i": places}, want)
    check_layer(lambda net, x: net.add_gather(x, net.const(places, np.int32), 1), {"x": X}, want)
    row = X[0, 0]
    check_layer(
        gathered(GatherMode.ELEMENT), {"x": row, "i": places}, np.array([row[2], row[3], row[1], row[0], 0], np.float32)
    )
    tuples = np.array([[1, 2], [1, 3], [2, 0], [-1, -1]], np.int32)
    rest = np.stack([X[1, 2], X[0, 0] * 0, X[0, 0] * 0, X[1, 2]])
    check_layer(gathered(GatherMode.ND), {"x": X, "i": tuples}, rest, dynamic=False)


def test_gather_in_batches() -> None:
    places = np.array([[3, 0], [1, 1]], np.int32)
    want = np.stack([X[k][:, places[k]] for k in range(2)])
    check_layer(gathered(GatherMode.DEFAULT, 2, 1), {"x": X, "i": places}, want)
    check_layer(
        gathered(GatherMode.DEFAULT, 2, 1), {"x": X[:1], "i": places}, np.stack([X[0][:, places[k]] for k in range(2)])
    )
    tuples = np.array([[[2]], [[0]]], np.int32)
    check_layer(gathered(GatherMode.ND, 0, 1), {"x": X, "i": tuples}, np.stack([X[0, [2]], X[1, [0]]]), dynamic=False)


def test_gather_elements() -> None:
    for axis in range(3):
        places = random.integers(0, X.shape[axis], X.shape).astype(np.int64)
        check_layer(gathered(GatherMode.ELEMENT, axis), {"x": X, "i": places}, np.take_along_axis(X, places, axis))


def test_scatter() -> None:
    places = np.array([[[3, 1]] * 3] * 2, np.int32)
    new = random.standard_normal((2, 3, 2)).astype(np.float32)
    want = X.copy()
    np.put_along_axis(want, places.astype(np.int64), new, 2)
    check_layer(layer("add_scatter", ScatterMode.ELEMENT, axis=2), {"x": X, "i": places, "u": new}, want)
    tuples = np.array([[1, 2], [0, 0]], np.int32)
    rows = random.standard_normal((2, 4)).astype(np.float32)
    want = X.copy()
    want[1, 2], want[0, 0] = rows
    check_layer(layer("add_scatter", ScatterMode.ND), {"x": X, "i": tuples, "u": rows}, want, dynamic=False)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_hot(axis: int) -> None:
    indices = np.array([0, 2, 1, 2], np.int32)
    want = np.where(np.eye(3, dtype=bool)[indices], np.float32(5), np.float32(-1))
    want = want.T if axis == 0 else want
    check_layer(
        lambda net, i: net.add_one_hot(i, net.const([-1, 5]), net.const(3, np.int32), axis), {"i": indices}, want
    )


@pytest.mark.parametrize("x", [WHOLE, X, WHOLE > 2])
def test_non_zero(x: Any) -> None:
    want = np.stack(np.nonzero(x))
    check_layer(layer("add_non_zero"), {"x": x}, want.astype(np.int32), static=False)
    check_layer(layer("add_non_zero", DataType.INT64), {"x": x}, want.astype(np.int64), static=False)


@pytest.mark.parametrize(
    ("build", "inputs", "message"),
    [
        (layer("add_reduce", ReduceOperation.SUM, 8, False), [X], "bit k means axis k"),
        (layer("add_reduce", ReduceOperation.SUM, 0, False), [X], "bit k means axis k"),
        (layer("add_reduce", ReduceOperation.SUM, (0, 1), False), [X], "whole number"),
        (layer("add_reduce", ReduceOperation.SUM, 1, False), [X > 0], "floating-point numbers or integers"),
        (layer("add_reduce", ReduceOperation.NONE, 1, False), [X], "reduces nothing"),
        (layer("add_topk", TopKOperation.MAX, 2, 3), [X], "one axis"),
        (layer("add_topk", TopKOperation.MAX, 5, 1), [X], "only 2 elements"),
        (layer("add_topk", TopKOperation.MAX, 4000, 1), [X], "1 to 3840"),
        (layer("add_softmax"), [WHOLE], "floating-point"),
        (layer("add_ragged_softmax"), [X, np.zeros((2, 2, 1), np.int32)], "one for each row"),
        (layer("add_cumulative", CumulativeOperation.SUM, False, False), [X, np.int32(0)], "constant"),
        (layer("add_cumulative", 0, CumulativeOperation.SUM, False, False), [X], "takes an ITensor"),
        (layer("add_scale", ScaleMode.CHANNEL, np.zeros(3, np.float32)), [IMAGE], "takes 4, one for each"),
        (layer("add_scale", ScaleMode.UNIFORM, np.zeros(1, np.float16)), [IMAGE], "is float16"),
        (layer("add_scale", ScaleMode.UNIFORM), [X], "at least 4 dimensions"),
        (lambda net, x, s: net.add_normalization(x, s, s, 12), [IMAGE, X], "must have the rank"),
        (layer("add_lrn", 4, 1, 1, 1), [IMAGE], "odd number from 1 to 15"),
        (lambda net, a, b: net.add_matrix_multiply(a, NONE, b, NONE), [A, A], "cannot be multiplied: 4 columns meet 3"),
        (lambda net, a, b: net.add_matrix_multiply(a, NONE, b, NONE), [A, B[0]], "do not fit"),
        (lambda net, a, b: net.add_matrix_multiply(a, NONE, b, NONE), [WHOLE, WHOLE], "floating-point"),
        (lambda net, a, b: net.add_matrix_multiply(a, False, b, False), [A, B], "must be a trt.MatrixOperation"),
        (lambda net, a: net.add_einsum([a], "ij->ik"), [A[0]], "in the result alone"),
        (lambda net, a: net.add_einsum([a], "ijkl->i"), [A], "names 4 axes"),
        (lambda net, a, b: net.add_einsum([a, b], "ij,jk->ik"), [A[0], A[0]], "'j' in its equation"),
        (lambda net, a: net.add_einsum([a], "IJ->WHOLE"), [A[0]], "lower-case"),
        (layer("add_gather", 3), [X, np.int32(0)], "it may be 0 to 2"),
        (layer("add_gather", 0), [X, np.float32(0)], "int32 or int64"),
        (gathered(GatherMode.ELEMENT), [X, np.zeros(3, np.int32)], "of the data's rank"),
        (gathered(GatherMode.ND), [X, np.zeros((2, 4), np.int32)], "1 to 3 numbers"),
        (gathered(GatherMode.DEFAULT, 0, 2), [X, np.zeros((2, 4), np.int32)], "num_elementwise_dims"),
        (
            lambda net, *t: net.add_scatter(*t, ScatterMode.ND),
            [X, np.zeros((2, 2), np.int32), X[0]],
            "indices need [2,4]",
        ),
        (
            lambda net, i: net.add_one_hot(i, net.const([1, 2, 3]), net.const(3, np.int32), 0),
            [np.zeros(2, np.int32)],
            "are two",
        ),
    ],
)
def test_wrong_use_is_one_error_with_the_line(build: Any, inputs: list[Any], message: str) -> None:
    assert message in build_error(build, inputs)
