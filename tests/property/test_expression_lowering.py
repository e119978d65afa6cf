"""Conditions give the same result in three ways: evaluated, lowered to NumPy, and bound to native kernels in the
engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from hypothesis_settings import example_settings
from loopdbg.debugger.expression.expression import ExpressionError, InputRef, LoweredCondition, parse
from loopdbg.runtime.graph import Array, Graph, Operation, System, TensorType, Value
from loopdbg.runtime.model import Model
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.primitive_types import NoNativeKernel
from loopdbg.runtime.plan.binding_result import InputDescriptor
from loopdbg.runtime.plan.operator_binder import bind

DTYPES = ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")


class ArrayScope:
    """A scope of arrays; the previous value of x is in ``before``."""

    trip_count = None
    condition = None

    def __init__(self, values: Mapping[str, Array], before: Mapping[str, Array], iteration: int) -> None:
        self.values, self.before, self.iteration = values, before, iteration

    def names(self) -> Collection[str]:
        return list(self.values)

    def value(self, name: str) -> Any:
        return self.values[name].copy()

    def previous(self, name: str) -> Any:
        return self.before[name].copy()

    def initial(self, name: str) -> Any:
        raise AssertionError

    def value_at(self, name: str, iteration: int) -> Any:
        raise AssertionError

    def input(self, ref: InputRef) -> Array:
        if ref.kind == "iteration":
            return np.array(self.iteration, np.int64)
        return (self.before if ref.kind == "previous" else self.values)[ref.name]


def evaluated(text: str, moment: ArrayScope) -> bool | str:
    try:
        return parse(text).truth(moment)
    except ExpressionError as error:
        return error.message


def eager(lowered: LoweredCondition, moment: ArrayScope) -> bool | None:
    try:
        (result,) = lowered.op.apply(EagerPrimitives(), [moment.input(ref) for ref in lowered.inputs])
    except NoNativeKernel:
        return None
    assert result.dtype == np.bool_ and result.shape == ()
    return bool(result)


def native(lowered: LoweredCondition, moment: ArrayScope) -> bool | None:
    """Compute with kernels, as the only node of a model; None if it cannot be bound."""
    arrays = [moment.input(ref) for ref in lowered.inputs]
    if not arrays:
        return None
    peeked = [InputDescriptor(k, x.dtype, x.shape, None, lambda x=x: x) for k, x in enumerate(arrays)]  # type: ignore[misc]
    try:
        bound = bind(lowered.op, peeked)
    except NoNativeKernel:
        return None
    assert [(b.dtype, b.shape) for b in bound.outputs] == [(np.dtype(np.bool_), ())]
    values = [Value(f"in{k}", TensorType(x.dtype, x.shape)) for k, x in enumerate(arrays)]
    node = Operation("node", "Sum", "", 21, list(values), [Value("out", TensorType(np.dtype(np.bool_), ()))])
    model = Model(
        Graph("one_node", inputs=values, outputs=[v for v in node.outputs if v], nodes=[node], system=System.ONNX)
    )
    code = model.plan.code
    (index,) = [k for k, instruction in enumerate(code) if instruction.node is node]
    code[index] = dataclasses.replace(code[index], op=lowered.op)
    return bool(model.run({f"in{k}": x for k, x in enumerate(arrays)})["out"])


def check(text: str, moment: ArrayScope) -> bool | None:
    """Check that all ways agree, and return the native result."""
    expected = evaluated(text, moment)
    lowered = parse(text).lower()
    if lowered is None:
        return None
    is_present = eager(lowered, moment)
    assert is_present is None or is_present == expected, (text, expected, is_present)
    result = native(lowered, moment)
    assert result is None or result == expected, (text, expected, result)
    return result


# --- Random conditions on random arrays.

_FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 3.0, np.inf, -np.inf, np.nan, 6e4, 1e-7]
_INTS = [0, 1, 2, -1, 5, -7, 100, 127]


@st.composite
def arrays(draw: st.DrawFn, dtype: str, shape: tuple[int, ...]) -> Array:
    size = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    pool = [False, True] if kind == "b" else _FLOATS if kind == "f" else [n for n in _INTS if n >= 0 or kind == "i"]
    numbers = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size))
    return np.array(numbers, dtype).reshape(shape)


@st.composite
def array_scopes(draw: st.DrawFn) -> ArrayScope:
    values, before = {}, {}
    shapes = draw(st.sampled_from([[(), (1,), (3,), (2, 3)], [(2, 3), (1, 3), (2, 1)], [(0,), (1,)], [(20,), ()]]))
    for name in ("a", "b", "c"):
        dtype = draw(st.sampled_from(DTYPES))
        shape = draw(st.sampled_from(shapes))
        values[name] = draw(arrays(dtype, shape))
        before[name] = draw(arrays(dtype, shape))
    return ArrayScope(values, before, draw(st.sampled_from([1, 2, 7, 40, 1000, 10**7])))


_NUMBERS = ["0", "1", "2", "-3", "0.5", "1e30", "300", "70000", "inf", "nan", "true", "iter", "iter - 1", "len(a)"]
_TENSORS = [*"abc", "prev(a)", "delta(b)", "a[0]", "b[..., -1]", "c[::-1]", "a[1:, 0]"]
_LISTS = ["[1, 2, 3]", "[0.1, -1.5, 3]", "shape(b)"]
_ARITHMETIC = st.sampled_from(["+", "-", "*", "/", "//", "%", "**"])
_COMPARISONS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
_LEAVES = st.sampled_from([*_TENSORS * 2, *_NUMBERS, *_LISTS])


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    names = ("abs", "min", "max", "sum", "mean", "norm", "any", "all", "isnan", "isinf", "argmax", "argmin", "sqrt")
    names += ("sign", "round", "exp", "log", "zeros_like", "ones_like", "dtype")
    return st.one_of(
        st.tuples(_ARITHMETIC, pair).map(lambda t: f"({t[1][0]} {t[0]} {t[1][1]})"),
        st.tuples(_COMPARISONS, pair).map(lambda t: f"({t[1][0]} {t[0]} {t[1][1]})"),
        st.tuples(st.sampled_from(names), inner).map(lambda t: f"{t[0]}({t[1]})"),
        inner.map(lambda x: f"(-{x})"),
        st.tuples(inner, inner, inner).map(lambda t: f"where({t[0]} > 0, {t[1]}, {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"allclose({t[0]}, {t[1]}, atol=0.5)"),
    )


_TERMS = st.recursive(_LEAVES, _grow, max_leaves=5)
_COMPARED = st.tuples(_TERMS, _COMPARISONS, _TERMS).map(" ".join)
_REDUCED = st.one_of(
    st.tuples(st.sampled_from(["any", "all", ""]), _COMPARED).map(lambda t: f"{t[0]}({t[1]})"),
    st.tuples(st.sampled_from(["max", "min", "sum", "mean", "norm"]), _TERMS, _TERMS).map(
        lambda t: f"{t[0]}({t[1]}) > max({t[2]})"
    ),
)
_CONDITIONS = st.recursive(
    _REDUCED,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        inner.map(lambda x: f"not ({x})"),
    ),
    max_leaves=3,
)


@example_settings(400, suppress_health_check=[HealthCheck.too_slow])
@given(text=_CONDITIONS, moment=array_scopes())
def test_lowered_conditions_agree_in_three_ways(text: str, moment: ArrayScope) -> None:
    check(text, moment)


@example_settings(60)
@given(
    n=st.sampled_from([1, 2, 7, 8, 9, 64, 65, 127, 128, 129, 1000, 8191, 8192, 8193, 20000]),
    dtype=st.sampled_from(["float16", "float32", "float64", "int8", "int64"]),
    rows=st.sampled_from([1, 3]),
    seed=st.integers(0, 2**32 - 1),
)
@example(n=128, dtype="float32", rows=3, seed=0)
def test_sums_of_many_numbers_are_bit_exact(n: int, dtype: str, rows: int, seed: int) -> None:
    numbers = (np.random.default_rng(seed).standard_normal((rows, n)) * 50).astype(dtype)
    for function in ("sum", "mean", "norm"):
        wanted = np.array(parse(f"{function}(x)").evaluate(ArrayScope({"x": numbers}, {}, 0)))
        moment = ArrayScope({"x": numbers, "wanted": wanted}, {}, 0)
        assert check(f"{function}(x) == wanted", moment) in ((True, None) if dtype == "float16" else (True,))
        with np.errstate(all="ignore"):
            exact = {"sum": np.sum, "mean": np.mean, "norm": np.linalg.norm}[function](numbers.astype(np.float64))
        np.testing.assert_allclose(wanted.astype(np.float64), exact, rtol=1e-3, atol=1e-2)


# --- What people write is native, not merely accepted.

X = np.array([[1, -2, 3.5]], np.float32)
MOMENT = ArrayScope(
    {"h": X, "n": np.array(5), "flag": np.array([True]), "k": np.array(3, np.int32), "w": X.astype(np.float16)},
    {"h": X * 2, "n": np.array(4)},
    12,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n > 3", True),
        ("n == 5 and k < 3", False),
        ("not flag", False),
        ("max(abs(h)) > 1e3", False),
        ("any(isnan(h))", False),
        ("any(isinf(h)) or any(isnan(h))", False),
        ("all(h < 4)", True),
        ("norm(h) >= 4", True),
        ("norm(delta(h)) > 4", True),
        ("max(abs(delta(h))) < 1e-6", False),
        ("sum(h) == 2.5", True),
        ("mean(h) > 0.8", True),
        ("sum(w) > 2", True),
        ("h[0, 2] > 3", True),
        ("h[..., -1] > prev(h)[..., -1]", False),
        ("iter % 5 == 2", True),
        ("iter >= 10 and n > prev(n)", True),
        ("iter / 2 > 5.5", True),
        ("iter * 2 + 1 == n * 5", True),
        ("iter > k", True),
        ("iter // 5 == 2", True),
        ("h[0, 0] + iter > 12", True),
        ("shape(h) == [1, 3]", True),
        ("dtype(h) == 'float32' and len(h) == 1", True),
        ("allclose(h, prev(h) / 2)", True),
        ("argmax(h) == 2", True),
        ("0 < n < 10", True),
        ("n % 2 == 1", True),
        ("max(where(h > 0, h, 0)) == 3.5", True),
        ("sqrt(abs(h[0, 1])) < 1.5", True),
    ],
)
def test_common_conditions_are_native(text: str, expected: bool) -> None:
    assert parse(text).truth(MOMENT) is expected
    assert check(text, MOMENT) is expected


@pytest.mark.parametrize("text", ["h@3 > 1", "init(n) == 4", "trip_count > 3", "cond", "prev(iter) > 3"])
def test_values_that_the_engine_does_not_provide_are_not_lowered(text: str) -> None:
    assert parse(text).lower() is None


@pytest.mark.parametrize("text", ["n", "h > 1", "n // k == 1", "n ** 2 > 3", "iter * iter > 3", "h[k] > 1", "n[0] > 1"])
def test_uncertain_conditions_are_left_to_evaluation(text: str) -> None:
    lowered = parse(text).lower()
    assert lowered is not None
    assert native(lowered, MOMENT) is None


def test_lowered_condition_lists_each_input_once() -> None:
    lowered = parse("h[0, 0] > 1 and max(prev(h)) > max(h) and iter > 3 and iter < 9").lower()
    assert lowered is not None
    assert lowered.inputs == (InputRef("h", "value"), InputRef("h", "previous"), InputRef("iter", "iteration"))
    assert lowered.op.native and lowered.op.pure


def test_condition_without_inputs_is_constant() -> None:
    lowered = parse("2 ** 10 == 1024").lower()
    assert lowered is not None
    assert lowered.inputs == ()
    assert bind(lowered.op, []).outputs[0].known == np.array(True)
