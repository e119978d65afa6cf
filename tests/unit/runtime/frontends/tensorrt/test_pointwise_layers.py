"""TensorRT's layers of single elements against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.frontends.tensorrt.enums import ActivationType, DataType, ElementWiseOperation, UnaryOperation

from .layer_checks import build_error, check_layer, layer

X = np.array([[-2.5, -1.0, -0.5, 0.0], [0.5, 1.0, 1.5, 3.0]], np.float32)
INNER = X / 4
POSITIVE = np.abs(X) + np.float32(0.25)
WHOLE = np.array([[-7, 7, -6], [5, -1, 3]], np.int32)
J = np.array([[2, 2, 4], [-3, 3, 3]], np.int32)

erf = np.vectorize(math.erf)
UNARY = {
    "EXP": (X, np.exp),
    "LOG": (POSITIVE, np.log),
    "SQRT": (POSITIVE, np.sqrt),
    "RECIP": (POSITIVE, lambda x: 1 / x),
    "ABS": (X, np.abs),
    "NEG": (X, np.negative),
    "SIN": (X, np.sin),
    "COS": (X, np.cos),
    "TAN": (X, np.tan),
    "SINH": (X, np.sinh),
    "COSH": (X, np.cosh),
    "ASIN": (INNER, np.arcsin),
    "ACOS": (INNER, np.arccos),
    "ATAN": (X, np.arctan),
    "ASINH": (X, np.arcsinh),
    "ACOSH": (POSITIVE + 1, np.arccosh),
    "ATANH": (INNER, np.arctanh),
    "CEIL": (X, np.ceil),
    "FLOOR": (X, np.floor),
    "ERF": (X, erf),
    "NOT": (X > 0, np.logical_not),
    "SIGN": (X, np.sign),
    "ROUND": (X, np.rint),
    "ISINF": (np.array([np.inf, 1, -np.inf, np.nan], np.float32), np.isinf),
    "ISNAN": (np.array([np.inf, 1, -np.inf, np.nan], np.float32), np.isnan),
}


def test_all_operations_are_there() -> None:
    assert UNARY.keys() == UnaryOperation.__members__.keys()
    assert ACTIVATIONS.keys() == ActivationType.__members__.keys()
    assert ELEMENTWISE.keys() == ElementWiseOperation.__members__.keys()


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    x, function = UNARY[name]
    want = function(x)
    if want.dtype == np.float64:
        want = want.astype(np.float32)
    check_layer(layer("add_unary", UnaryOperation[name]), {"x": x}, want, rtol=1e-5)


@pytest.mark.parametrize("name", ["ABS", "NEG", "SIGN"])
def test_unary_of_integers(name: str) -> None:
    check_layer(layer("add_unary", UnaryOperation[name]), {"x": WHOLE}, UNARY[name][1](WHOLE))


A, B = 0.5, 2.0
ACTIVATIONS: dict[str, Any] = {
    "RELU": lambda x: np.maximum(x, 0),
    "SIGMOID": lambda x: 1 / (1 + np.exp(-x)),
    "TANH": np.tanh,
    "LEAKY_RELU": lambda x: np.where(x >= 0, x, A * x),
    "ELU": lambda x: np.where(x >= 0, x, A * (np.exp(x) - 1)),
    "SELU": lambda x: np.where(x > 0, B * x, B * (A * np.exp(x) - A)),
    "SOFTSIGN": lambda x: x / (1 + np.abs(x)),
    "SOFTPLUS": lambda x: A * np.log(np.exp(B * x) + 1),
    "CLIP": lambda x: np.maximum(A, np.minimum(B, x)),
    "HARD_SIGMOID": lambda x: np.maximum(0, np.minimum(1, A * x + B)),
    "SCALED_TANH": lambda x: A * np.tanh(B * x),
    "THRESHOLDED_RELU": lambda x: np.where(x > A, x, 0),
    "GELU_ERF": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
    "GELU_TANH": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_activation(name: str, dtype: Any) -> None:
    initially = {"type": ActivationType[name], "alpha": 0, "beta": 0}
    build = layer("add_activation", ActivationType[name], initially=initially, alpha=A, beta=B)
    x = X.astype(dtype)
    want = ACTIVATIONS[name](x.astype(np.float64)).astype(dtype)
    check_layer(build, {"x": x}, want, rtol=1e-5 if dtype == np.float32 else 4e-3)


def test_a_clip_whose_limits_cross_gives_the_lower_one() -> None:
    check_layer(layer("add_activation", ActivationType.CLIP, alpha=1.0, beta=-1.0), {"x": X}, np.ones_like(X))


def test_relu_of_integers() -> None:
    check_layer(layer("add_activation", ActivationType.RELU), {"x": WHOLE}, np.maximum(WHOLE, 0))


ELEMENTWISE: dict[str, Any] = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "SUB": np.subtract,
    "DIV": lambda a, b: (np.trunc(a / b) if a.dtype.kind == "i" else a / b).astype(a.dtype),
    "POW": lambda a, b: a**b,
    "FLOOR_DIV": lambda a, b: np.floor(a / b).astype(a.dtype),
    "AND": np.logical_and,
    "OR": np.logical_or,
    "XOR": np.logical_xor,
    "EQUAL": np.equal,
    "GREATER": np.greater,
    "LESS": np.less,
}


LOGICAL = ("AND", "OR", "XOR")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in ELEMENTWISE
        for dtype in ([np.bool_] if name in LOGICAL else [np.float32, np.int32, np.int64])
    ],
)
def test_elementwise(name: str, dtype: Any) -> None:
    logical = name in LOGICAL
    a = WHOLE.astype(dtype) if not logical else WHOLE > 0
    b = J.astype(dtype) if not logical else J > 2
    if name == "POW":
        a, b = np.abs(a), np.abs(b) % 3
    for item, other in ((a, b), (a, b[:1]), (a[:, :1], b)):
        check_layer(
            layer("add_elementwise", ElementWiseOperation[name]),
            {"a": item, "b": other},
            ELEMENTWISE[name](item, other),
        )


def test_parametric_relu() -> None:
    slopes = np.array([[0.1, 0.2, 0.3, 0.4]], np.float32)
    want = np.where(X >= 0, X, slopes * X)
    check_layer(layer("add_parametric_relu"), {"x": X, "s": slopes}, want)


def test_select() -> None:
    condition = np.array([[True], [False]])
    want = np.where(condition, X, X[:1] * 2)
    check_layer(layer("add_select"), {"c": condition, "a": X, "b": X[:1] * 2}, want)


def test_identity() -> None:
    check_layer(layer("add_identity"), {"x": X}, X)


@pytest.mark.parametrize("to", ["FLOAT", "HALF", "INT32", "INT64", "BOOL", "INT8"])
@pytest.mark.parametrize("x", [X, WHOLE, X > 0])
def test_cast(to: str, x: Any) -> None:
    numpy = {"FLOAT": "f4", "HALF": "f2", "INT32": "i4", "INT64": "i8", "BOOL": "?", "INT8": "i1"}[to]
    check_layer(layer("add_cast", DataType[to]), {"x": x}, x.astype(numpy))


@pytest.mark.parametrize(
    ("build", "inputs", "message"),
    [
        (layer("add_unary", UnaryOperation.EXP), [WHOLE], "takes a floating-point type"),
        (layer("add_unary", UnaryOperation.NOT), [X], "takes bool"),
        (layer("add_unary", "EXP"), [X], "must be a trt.UnaryOperation"),
        (layer("add_activation", UnaryOperation.EXP), [X], "must be a trt.ActivationType"),
        (layer("add_activation", ActivationType.TANH), [WHOLE], "takes a floating-point type"),
        (layer("add_parametric_relu"), [X, X[0]], "do not broadcast"),
        (layer("add_parametric_relu"), [X[:1], X], "do not broadcast"),
        (layer("add_select"), [X, X, X], "takes bool"),
        (layer("add_select"), [X > 0, X, WHOLE], "both choices must be of one type"),
        (layer("add_select"), [X > 0, X, X[0]], "do not fit"),
        (layer("add_cast", np.float32), [X], "must be a trt.DataType"),
        (layer("add_elementwise", ElementWiseOperation.SUM), [X, X[0]], "do not fit"),
        (layer("add_elementwise", ElementWiseOperation.SUM), [X, X.astype("f2")], "of one type"),
        (layer("add_elementwise", ElementWiseOperation.AND), [X, X], "boolean"),
        (lambda net, x: net.add_unary(net.add_identity(x), UnaryOperation.EXP), [X], "layer.get_output"),
    ],
)
def test_wrong_use_is_one_error_with_the_line(build: Any, inputs: list[Any], message: str) -> None:
    assert message in build_error(build, inputs)
