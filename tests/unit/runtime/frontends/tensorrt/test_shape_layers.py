"""TensorRT's layers that move elements against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ExecutionError, ModelError
from loopdbg.runtime.frontends.tensorrt.dims import Dims, Permutation
from loopdbg.runtime.frontends.tensorrt.enums import (
    DataType,
    ElementWiseOperation,
    FillOperation,
    LoopOutput,
    SampleMode,
)
from loopdbg.runtime.frontends.tensorrt.layers.constant import IFillLayer
from loopdbg.runtime.model import Model
from tensorrt_networks import output_of

from .layer_checks import build_error, build_network, check_layer, layer

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
SQUARE = np.arange(16, dtype=np.float32).reshape(4, 4)


def test_shape() -> None:
    check_layer(layer("add_shape"), {"x": X}, np.array([2, 3, 4], np.int64))
    check_layer(layer("add_shape"), {"x": np.float32(3)}, np.array([], np.int64))


SHUFFLES: dict[str, tuple[dict[str, Any], Any]] = {
    "nothing": ({}, X),
    "first": ({"first_transpose": (2, 0, 1)}, X.transpose(2, 0, 1)),
    "permutation": ({"first_transpose": Permutation([1, 2, 0])}, X.transpose(1, 2, 0)),
    "reshape": ({"reshape_dims": (6, 4)}, X.reshape(6, 4)),
    "inferred": ({"reshape_dims": [-1]}, X.reshape(-1)),
    "placeholder": ({"reshape_dims": Dims([0, -1])}, X.reshape(2, 12)),
    "all": (
        {"first_transpose": (1, 0, 2), "reshape_dims": (3, 8), "second_transpose": (1, 0)},
        X.transpose(1, 0, 2).reshape(3, 8).T,
    ),
}


def shuffled(settings: dict[str, Any]) -> Any:
    return layer("add_shuffle", **settings)


@pytest.mark.parametrize("name", SHUFFLES)
def test_shuffle(name: str) -> None:
    settings, want = SHUFFLES[name]
    check_layer(shuffled(settings), {"x": X}, want)


def test_shuffle_to_a_scalar_and_back() -> None:
    check_layer(shuffled({"reshape_dims": ()}), {"x": np.ones((1, 1), np.float32)}, np.float32(1))
    check_layer(shuffled({"reshape_dims": (1, 1)}), {"x": np.float32(1)}, np.ones((1, 1), np.float32))


def test_a_zero_that_is_no_placeholder_is_a_size() -> None:
    settings = {"zero_is_placeholder": False, "reshape_dims": (0, 7)}
    check_layer(shuffled(settings), {"x": np.empty((2, 0), np.float32)}, np.empty((0, 7), np.float32))


def test_shuffle_by_a_tensor() -> None:
    def build(net: Any, x: Any, dims: Any) -> Any:
        layer = net.add_shuffle(x)
        layer.set_input(1, dims)
        with pytest.raises(ValueError, match="len"):
            len(layer.reshape_dims)
        return layer

    check_layer(build, {"x": X, "dims": np.array([4, -1], np.int32)}, X.reshape(4, 6), dynamic=False, static=False)
    # A constant is looked into.
    check_layer(lambda net, x: build(net, x, net.const([4, -1], np.int64)), {"x": X}, X.reshape(4, 6))


def test_the_properties_of_a_shuffle() -> None:
    net, _ = build_network(shuffled({}), {"x": X})
    layer = net.add_shuffle(net.get_input(0))
    with pytest.raises(ValueError, match="len"):
        len(layer.reshape_dims)
    assert list(layer.first_transpose) == list(range(8))
    layer.reshape_dims = [3, 8]
    assert layer.reshape_dims == (3, 8)
    assert layer.zero_is_placeholder
    layer.set_input(1, net.const([8, 3], np.int32))
    layer.reshape_dims = (24,)
    assert layer.num_inputs == 1
    assert tuple(output_of(layer).shape) == (24,)


def test_squeeze_and_unsqueeze() -> None:
    y = X[:, :1]
    check_layer(lambda net, x: net.add_squeeze(x, net.const([1], np.int32)), {"x": y}, y[:, 0], dynamic=True)
    check_layer(lambda net, x: net.add_squeeze(x, net.const([-2], np.int64)), {"x": y}, y[:, 0])
    check_layer(lambda net, x: net.add_unsqueeze(x, net.const([0, -1], np.int64)), {"x": X}, X[None, ..., None])


def test_concatenation() -> None:
    parts = {"a": X, "b": X[:, :, :2], "c": X[:, :, 1:2]}

    def joined(**settings: int) -> Callable[..., Any]:
        return lambda net, *tensors: layer("add_concatenation", list(tensors), **settings)(net)

    check_layer(joined(axis=2), parts, np.concatenate(list(parts.values()), 2))
    # The third axis from the end, where nothing is stated.
    check_layer(joined(), {"a": X, "b": X[:1]}, np.concatenate([X, X[:1]], 0))
    check_layer(joined(), {"a": SQUARE, "b": SQUARE[:1]}, np.concatenate([SQUARE, SQUARE[:1]], 0))


def test_padding() -> None:
    y = X.reshape(1, 2, 3, 4)
    want = np.pad(y, ((0, 0), (0, 0), (1, 0), (2, 3)))
    check_layer(layer("add_padding_nd", (1, 2), (0, 3)), {"x": y}, want)
    check_layer(
        layer("add_padding_nd", (-1, 2), (0, -1)), {"x": y}, np.pad(y, ((0, 0),) * 3 + ((2, 0),))[:, :, 1:, :-1]
    )


@pytest.mark.parametrize(("batch", "sequence"), [(1, 0), (0, 1), (2, 0), (1, 2)])
def test_reverse_sequence(batch: int, sequence: int) -> None:
    lengths = np.arange(X.shape[batch], dtype=np.int32) % (X.shape[sequence] + 1)
    want = np.moveaxis(X.copy(), (batch, sequence), (0, 1))
    for k, length in enumerate(lengths):
        want[k, :length] = want[k, :length][::-1].copy()
    build = layer("add_reverse_sequence", batch_axis=batch, sequence_axis=sequence)
    check_layer(build, {"x": X, "n": lengths}, np.moveaxis(want, (0, 1), (batch, sequence)))


# -- slices


def test_the_examples_of_the_header() -> None:
    y = np.array([[0, 2, 4], [1, 3, 5]], np.float32)
    check_layer(layer("add_slice", (1, 0), (1, 2), (1, 2)), {"x": y}, np.array([[1, 5]], np.float32))
    over_axes = layer("add_slice", (1,), (2,), (1,), axes=(1,))
    check_layer(over_axes, {"x": y}, np.array([[2, 4], [3, 5]], np.float32))


SLICES: dict[str, tuple[Any, Any, Any, Any]] = {
    "part": ((1, 0), (2, 3), (1, 1), SQUARE[1:3, :3]),
    "strides": ((0, 1), (2, 2), (2, 2), SQUARE[::2, 1::2]),
    "backwards": ((3, 3), (4, 2), (-1, -2), SQUARE[::-1, 3::-2]),
    "the same again": ((1, 2), (3, 1), (0, 1), SQUARE[[1, 1, 1], 2:3]),
    "nothing": ((0, 0), (0, 4), (1, 1), SQUARE[:0]),
}


@pytest.mark.parametrize("name", SLICES)
@pytest.mark.parametrize("by", ["numbers", "tensors", "constants"])
def test_slice(name: str, by: str) -> None:
    start, shape, stride, want = SLICES[name]
    if by == "numbers":
        check_layer(layer("add_slice", start, shape, stride), {"x": SQUARE}, want)
        return

    def build(net: Any, x: Any, *parts: Any) -> Any:
        layer = net.add_slice(x, Dims(), Dims(), Dims())
        inputs = parts or [net.const(part, np.int32) for part in (start, shape, stride)]
        for index, tensor in enumerate(inputs, 1):
            layer.set_input(index, tensor)
        return layer

    if by == "constants":
        check_layer(build, {"x": SQUARE}, want)
    else:
        parts = {what: np.array(part, np.int32) for what, part in zip("abc", (start, shape, stride), strict=True)}
        check_layer(build, {"x": SQUARE, **parts}, want, dynamic=False, static=False)


MODES: dict[SampleMode, list[int]] = {
    SampleMode.WRAP: [2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0],
    SampleMode.CLAMP: [0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3],
    SampleMode.REFLECT: [2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2],
}


@pytest.mark.parametrize("mode", MODES)
def test_slices_that_reach_outside(mode: SampleMode) -> None:
    build = layer("add_slice", (-2,), (11,), (1,), mode=mode)
    row = np.array([5, 6, 7, 8], np.float32)
    check_layer(build, {"x": row}, row[MODES[mode]])


@pytest.mark.parametrize("value", [None, 9.0])
def test_slices_that_fill(value: float | None) -> None:
    inputs = {} if value is None else {4: np.float32(value)}
    build = layer("add_slice", (-1, 3), (3, 3), (2, 1), inputs=inputs, mode=SampleMode.FILL)
    want = np.full((3, 3), value or 0, np.float32)
    want[1, 0], want[2, 0] = SQUARE[1, 3], SQUARE[3, 3]
    check_layer(build, {"x": SQUARE}, want)


def test_what_is_outside_is_an_error_at_build_or_at_run() -> None:
    with pytest.raises(ModelError, match=r"takes element 4 of axis 0 .* which has 4"):
        build_network(layer("add_slice", (2, 0), (3, 4), (1, 1)), {"x": SQUARE})[0].graph()
    net, _ = build_network(layer("add_slice", (2, 0), (3, 4), (1, 1)), {"x": SQUARE}, dynamic=True)
    with pytest.raises(ExecutionError, match=r"test_shape_layers.py:\d+.*takes element 4 of axis 0, which has 4"):
        Model(net.graph()).run({"x": SQUARE})


# -- filling


def test_fill_with_a_line() -> None:
    def line(net: Any, n: Any) -> Any:
        layer = net.add_fill((1,), FillOperation.LINSPACE, DataType.INT32)
        layer.set_input(0, n)
        layer.set_input(1, net.const(3, np.int32))
        layer.set_input(2, net.const([2], np.int32))
        return layer

    check_layer(line, {"n": np.array([4], np.int32)}, np.array([3, 5, 7, 9], np.int32), dynamic=False, static=False)
    constant = layer("add_fill", (5,), FillOperation.LINSPACE, alpha=0.5, beta=0.25)
    check_layer(constant, {}, np.arange(5, dtype=np.float32) * 0.25 + 0.5)
    inputs = {1: np.float32(1), 2: np.array([100, 10], np.float32)}
    example = layer("add_fill", (3, 4), FillOperation.LINSPACE, inputs=inputs)
    want = np.array([[1, 11, 21, 31], [101, 111, 121, 131], [201, 211, 221, 231]], np.float32)
    check_layer(example, {}, want)


@pytest.mark.parametrize("op", [FillOperation.RANDOM_UNIFORM, FillOperation.RANDOM_NORMAL])
@pytest.mark.parametrize("tensors", [False, True])
def test_random_fill(op: FillOperation, tensors: bool) -> None:
    inputs = {1: np.float32(2), 2: np.float32(5)} if tensors else {}
    build = layer("add_fill", (100, 50), op, inputs=inputs, alpha=2.0, beta=5.0)
    net, _ = build_network(build, {})
    got = Model(net.graph()).run({})["out0"]
    assert got.shape == (100, 50)
    assert got.dtype == np.float32
    if op is FillOperation.RANDOM_UNIFORM:
        assert 2 <= got.min() < 2.1
        assert 4.9 < got.max() <= 5
    else:
        assert abs(got.mean() - 2) < 0.5
        assert abs(got.std() - 5) < 0.5


def test_what_is_no_number_is_ignored_for_alpha_and_beta() -> None:
    net, _ = build_network(layer("add_fill", (5,), FillOperation.LINSPACE), {})
    fill: Any = net.get_layer(0)
    fill.__class__ = IFillLayer
    assert (fill.alpha, fill.beta, fill.is_alpha_beta_int64()) == (0, 1, False)
    fill.alpha = [1, 2]
    assert fill.alpha == 0
    fill.alpha, fill.beta = 1, 2
    assert fill.is_alpha_beta_int64()


def test_assertion() -> None:
    def build(net: Any, x: Any) -> Any:
        net.add_assertion(net.elementwise(x, net.const(0.0), ElementWiseOperation.GREATER), "x has to be positive")
        return [output_of(net.add_identity(x))]

    net, _ = build_network(build, {"x": np.float32(1)})
    model = Model(net.graph())
    assert model.run({"x": np.float32(1)})["out0"] == 1
    with pytest.raises(ExecutionError, match="x has to be positive"):
        model.run({"x": np.float32(-1)})
    with raises_error(ModelError, node="(Unnamed Layer* 1) [Assertion]", op_type="IAssertionLayer", name="no"):
        build_network(lambda net: net.add_assertion(net.const(False, bool), "no"), {})[0].graph()


def test_an_assertion_in_a_loop_names_the_iteration() -> None:
    def build(net: Any, x: Any) -> Any:
        loop = net.counted_loop(5)
        value, after = net.add_carried(loop, x, lambda r: net.elementwise(r, r))
        net.add_assertion(net.elementwise(after, net.const(10), ElementWiseOperation.LESS), "too large")
        return [output_of(loop.add_loop_output(value, LoopOutput.LAST_VALUE))]

    model = Model(build_network(build, {"x": np.float32(1)})[0].graph())
    assert model.run({"x": np.float32(0.1)})["out0"] == np.float32(3.2)
    with pytest.raises(
        ExecutionError,
        match=r"test_shape_layers.py:\d+, called from layer_checks.py:\d+[^)]*\) in loop 'loop_0', "
        r"iteration 3: too large",
    ) as caught:
        model.run({"x": np.float32(1)})
    assert (caught.value.loop, caught.value.iteration) == ("loop_0", 3)


@pytest.mark.parametrize(
    ("build", "inputs", "message"),
    [
        (shuffled({"reshape_dims": (5, 5)}), [X], "reshape would change volume: [2,3,4]"),
        (shuffled({"reshape_dims": (5, -1)}), [X], "reshape would change volume"),
        (shuffled({"reshape_dims": (-1, -1)}), [X], "one of them may be -1"),
        (shuffled({"reshape_dims": (1, 1, 1, 0)}), [X], "means a size of the input"),
        (shuffled({"reshape_dims": (-1, 0)}), [X[:0, :0, 0]], "could be anything"),
        (shuffled({"reshape_dims": 5}), [X], "sequence of integers"),
        (shuffled({"first_transpose": (0, 1)}), [X], "no order of 3 axes"),
        (shuffled({"reshape_dim": (6, 4)}), [X], "reshape_dims"),
        (lambda net, x: net.add_squeeze(x, net.const([0], np.int32)), [X], "is not 1"),
        (lambda net, x: net.add_squeeze(x, net.const([3], np.int32)), [X], "lie in -3 to 2"),
        (layer("add_squeeze", (0,)), [X], "takes an ITensor"),
        (layer("add_unsqueeze"), [X, np.array([0], np.int32)], "have to be constant"),
        (lambda net, x, y: net.add_concatenation([x, y]), [X, SQUARE], "all other sizes"),
        (lambda net, x, y: net.add_concatenation([x, y]), [X, X.astype(np.int32)], "of one type"),
        (layer("add_concatenation"), [X], "takes a list of tensors"),
        (lambda net, x: net.add_concatenation([]), [X], "at least one"),
        (layer("add_padding_nd", (1, 1), (1, 1)), [X], "at least 4 dimensions"),
        (layer("add_padding_nd", (1,), (1,)), [X[None]], "two numbers"),
        (layer("add_slice", (0, 0), (1, 1), (1, 1)), [X], "its start has 2 numbers"),
        (layer("add_slice", (0,) * 3, (1, -1, 1), (1,) * 3), [X], "no size can be negative"),
        (layer("add_slice", (0.5,), (1,), (1,)), [X], "sequence of integers"),
        (layer("add_reverse_sequence"), [X, np.zeros(2, np.int32)], "for a batch of 3"),
        (layer("add_fill", (2, 2), FillOperation.LINSPACE), [], "fills one dimension"),
        (layer("add_fill", (2,), FillOperation.RANDOM_NORMAL, DataType.INT32), [], "gives FLOAT, HALF"),
        (lambda net, x: net.add_constant((2, 2), np.zeros(5, np.float32)), [X], "there are 5 weights"),
        (lambda net, x: net.add_constant((2, 2), [1, 2, 3, 4]), [X], "np.array makes one"),
        (lambda net, x: net.add_constant((2, 2), np.zeros(4)), [X], "float64"),
    ],
)
def test_wrong_use_is_one_error_with_the_line(build: Any, inputs: list[Any], message: str) -> None:
    assert message in build_error(build, inputs)
