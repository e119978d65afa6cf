"""Reductions, arg-reductions, top-k and cumulative sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..kernels import kernel as kernels
from .axis_arguments import element_count, normalize_axes_sorted, normalize_axis, read_int, unknown_value_error
from .elementwise import DIVIDE_TRUNCATE
from .operator_helpers import Dtype, cast, constant, full_constant, is_float, is_integer, working_dtype
from .primitive_types import RoutineCall
from .registry import Ints, onnx, openvino

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
Reduction = Callable[[P, T, tuple[int, ...], bool], T]
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def _reduced_count(x: T, axes: Sequence[int]) -> int:
    return math.prod(x.shape[axis] for axis in axes)


def _kept_shape(x: T, axes: Sequence[int], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    return tuple(size for axis, size in enumerate(x.shape) if axis not in axes)


# --- Reductions. Narrow floats are summed in float32; logarithms and roots of integers are in float64.


def _sum(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
    return cast(p, p.reduce(np.add, cast(p, x, working_dtype(x.dtype)), axes, keepdims), x.dtype)


def _product(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
    return cast(p, p.reduce(np.multiply, cast(p, x, working_dtype(x.dtype)), axes, keepdims), x.dtype)


def _mean(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
    # The element count may exceed integers of 8 or 16 bits.
    accumulator = _INT64 if is_integer(x.dtype) and x.dtype.itemsize < 4 else working_dtype(x.dtype)
    total = p.reduce(np.add, cast(p, x, accumulator), axes, keepdims)
    divide = np.divide if is_float(x.dtype) else DIVIDE_TRUNCATE
    return cast(p, p.map(divide, total, constant(p, _reduced_count(x, axes), total.dtype)), x.dtype)


def _lowest_value(dtype: Dtype) -> Any:
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min if is_integer(dtype) else False


def _highest_value(dtype: Dtype) -> Any:
    return np.inf if is_float(dtype) else np.iinfo(dtype).max if is_integer(dtype) else True


def _extreme_reduction(ufunc: np.ufunc, empty_value: Callable[[Dtype], Any]) -> Reduction:
    def reduction(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
        if axes and not _reduced_count(x, axes):
            return full_constant(p, _kept_shape(x, axes, keepdims), empty_value(x.dtype), x.dtype)
        return p.reduce(ufunc, x, axes, keepdims)

    return reduction


_maximum, _minimum = _extreme_reduction(np.maximum, _lowest_value), _extreme_reduction(np.minimum, _highest_value)


def _sum_of_squares(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
    return p.reduce(np.add, p.map(np.multiply, x, x), axes, keepdims)


def _via_float_dtype(function: Reduction) -> Reduction:
    """A reduction in float32 for narrow floats, and in float64 for integers, truncated."""

    def reduction(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
        working = working_dtype(x.dtype) if is_float(x.dtype) else _FLOAT64
        return cast(p, function(p, cast(p, x, working), axes, keepdims), x.dtype)

    return reduction


def _in_working_dtype(function: Reduction) -> Reduction:
    def reduction(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
        return cast(p, function(p, cast(p, x, working_dtype(x.dtype)), axes, keepdims), x.dtype)

    return reduction


def _l1(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
    return p.reduce(np.add, p.map(np.absolute, x), axes, keepdims)


def _l2(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
    return p.map(np.sqrt, _sum_of_squares(p, x, axes, keepdims))


def _log_sum(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
    return p.map(np.log, p.reduce(np.add, x, axes, keepdims))


def _log_sum_exp(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
    if x.dtype == _FLOAT32 and x.size and axes and axes == tuple(range(axes[0], axes[0] + len(axes))):
        before, n, after = x.shape[: axes[0]], x.shape[axes[0] : axes[-1] + 1], x.shape[axes[-1] + 1 :]
        numbers = (element_count(before), element_count(n), element_count(after))
        (result,) = p.call(
            RoutineCall("softmax_normalize.log_sum_exp", [((*before, *after), _FLOAT32)], numbers, rows=(0,)), [x]
        )
        return p.reshape(result, _kept_shape(x, axes, keepdims))
    highest = _zero_if_infinite(p, _maximum(p, x, axes, True))
    total = p.reduce(np.add, p.map(np.exp, p.map(np.subtract, x, highest)), axes, True)
    result = p.map(np.add, p.map(np.log, total), highest)
    return p.reshape(result, _kept_shape(x, axes, keepdims))


def _zero_if_infinite(p: P, x: T) -> T:
    """Replace infinities by 0, so that subtraction gives no NaN; NaN is kept."""
    return p.where(p.map(np.isinf, x), constant(p, 0, x.dtype), x)


def _logical_reduction(ufunc: np.ufunc) -> Reduction:
    def reduction(p: P, x: T, axes: tuple[int, ...], keepdims: bool) -> T:
        return p.reduce(ufunc, x, axes, keepdims)

    return reduction


# ONNX name, opset from which axes are an input, first OpenVINO opset, function.
_REDUCTIONS: tuple[tuple[str, int, int | None, Reduction], ...] = (
    ("ReduceSum", 13, 1, _sum),
    ("ReduceMean", 18, 1, _mean),
    ("ReduceMax", 18, 1, _maximum),
    ("ReduceMin", 18, 1, _minimum),
    ("ReduceProd", 18, 1, _product),
    ("ReduceL1", 18, 4, _in_working_dtype(_l1)),
    ("ReduceL2", 18, 4, _via_float_dtype(_l2)),
    ("ReduceLogSum", 18, None, _via_float_dtype(_log_sum)),
    ("ReduceLogSumExp", 18, None, _via_float_dtype(_log_sum_exp)),
    ("ReduceSumSquare", 18, None, _in_working_dtype(_sum_of_squares)),
)


def _with_axes_attribute(reduction: Reduction) -> Callable[..., T]:
    def op(p: P, x: T, *, axes: Ints | None = None, keepdims: int = 1) -> T:
        reduced = normalize_axes_sorted(axes, x.ndim) if axes else tuple(range(x.ndim))
        return reduction(p, x, reduced, bool(keepdims))

    return op


def _with_axes_input(reduction: Reduction) -> Callable[..., T]:
    def op(p: P, x: T, axes: T | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
        reduced = () if axes is None else normalize_axes_sorted(p.value(axes).reshape(-1).tolist(), x.ndim)
        if axes is None or not axes.size:
            reduced = () if noop_with_empty_axes else tuple(range(x.ndim))
        return reduction(p, x, reduced, bool(keepdims))

    return op


def _openvino_reduction(reduction: Reduction) -> Callable[..., T]:
    def op(p: P, x: T, axes: T, *, keep_dims: bool = False) -> T:
        return reduction(p, x, normalize_axes_sorted(p.value(axes).reshape(-1).tolist(), x.ndim), keep_dims)

    return op


for _name, _input_since, _openvino_since, _reduction in _REDUCTIONS:
    onnx(_name, since=1)(_with_axes_attribute(_reduction))
    onnx(_name, since=_input_since)(_with_axes_input(_reduction))
    if _openvino_since is not None:
        openvino(_name, since=_openvino_since)(_openvino_reduction(_reduction))

openvino("ReduceLogicalAnd")(_openvino_reduction(_logical_reduction(np.logical_and)))
openvino("ReduceLogicalOr")(_openvino_reduction(_logical_reduction(np.logical_or)))


# --- Indices of extremes.


def _arg_extreme(which: str) -> Callable[..., T]:
    def op(p: P, x: T, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> T:
        axis_index = normalize_axis(axis, x.ndim)
        if not x.ndim:
            return full_constant(p, (), 0, np.dtype(np.int64))
        if not x.shape[axis_index]:
            raise ModelError(
                f"axis {axis_index} of {x.shape} is empty: it has no {which}imum",
                name="data",
                expected="1 element or more",
                got=str(x.shape),
            )
        indices = p.arg_extreme(which, cast(p, x, working_dtype(x.dtype)), axis_index, bool(select_last_index))
        return indices if keepdims else p.reshape(indices, _kept_shape(x, (axis_index,), False))

    return op


def _arg_extreme_11(function: Callable[..., T]) -> Callable[..., T]:
    def op(p: P, x: T, *, axis: int = 0, keepdims: int = 1) -> T:
        return function(p, x, axis=axis, keepdims=keepdims)

    return op


for _name, _which in (("ArgMax", "max"), ("ArgMin", "min")):
    onnx(_name, since=12)(_arg_extreme(_which))
    onnx(_name, since=1)(_arg_extreme_11(_arg_extreme(_which)))


def _top_k(p: P, x: T, k: T, axis: int, largest: bool, by_index: bool = False) -> tuple[T, T]:
    """The k extreme elements along ``axis`` in order, and their int64 indices; ties: the lower index first.

    NaN is greater than any number. ``by_index``: sort by index.
    """
    count = read_int(p, k, "k") if not isinstance(k, int) else k
    size = x.shape[axis] if x.ndim else 1
    if not 0 <= count <= size:
        raise ModelError(
            f"k = {count}, and axis {axis} of {x.shape} has {size} elements",
            name="k",
            expected=f"at most {size}",
            got=str(count),
        )
    data = cast(p, x, working_dtype(x.dtype))
    char = kernels.type_char(data.dtype)
    if char in ("", "?"):
        raise ModelError(f"elements of type {x.dtype} have no order", name="X", got=str(x.dtype))
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :]) if x.ndim else ()
    outputs = [(shape, data.dtype), (shape, _INT64)]
    if not count or not x.size:
        return p.constant(np.zeros(shape, x.dtype)), p.constant(np.zeros(shape, _INT64))
    numbers = (math.prod(x.shape[:axis]), size, math.prod(x.shape[axis + 1 :]), count, ord(char))
    flags = (int(largest), int(by_index))
    if count == 1 and x.ndim:
        # 4x faster for rows of 20: vectorized across rows.
        best = p.arg_extreme("max" if largest else "min", data, axis, False)
        values, indices = p.call(RoutineCall("data_movement.top1", outputs, (*numbers, *flags)), [data, best])
        return cast(p, values, x.dtype), indices
    values, indices = p.call(
        RoutineCall("data_movement.topk", outputs, (*numbers, *flags), scratch_bytes=16 * count), [data]
    )
    return cast(p, values, x.dtype), indices


@onnx("TopK", since=1)
def top_k_1(p: P, x: T, *, k: int, axis: int = -1) -> tuple[T, T]:
    return _top_k(p, x, k, normalize_axis(axis, x.ndim), True)


@onnx("TopK", since=10)
def top_k_10(p: P, x: T, k: T, *, axis: int = -1) -> tuple[T, T]:
    return _top_k(p, x, k, normalize_axis(axis, x.ndim), True)


@onnx("TopK", since=11)
def top_k(p: P, x: T, k: T, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[T, T]:
    """``sorted=0`` leaves the order unspecified; the result is sorted nevertheless."""
    return _top_k(p, x, k, normalize_axis(axis, x.ndim), bool(largest))


@openvino("TopK")
def openvino_top_k(
    p: P, x: T, k: T, *, axis: int, mode: str, sort: str, index_element_type: Dtype = _INT32
) -> tuple[T, T]:
    """``sort``: by value, by index, or none (unspecified; sorted by value)."""
    if mode.lower() not in ("max", "min"):
        raise unknown_value_error("mode", mode, ("max", "min"))
    if sort.lower() not in ("value", "index", "none"):
        raise unknown_value_error("sort", sort, ("value", "index", "none"))
    values, indices = _top_k(p, x, k, normalize_axis(axis, x.ndim), mode.lower() == "max", sort.lower() == "index")
    return values, cast(p, indices, index_element_type)


# --- Cumulative sums and products.


def accumulate(p: P, ufunc: np.ufunc, x: T, axis: int, exclusive: bool, reverse: bool) -> T:
    """Accumulate along ``axis``; ``exclusive`` excludes the current element, ``reverse`` starts at the end."""
    if not x.size:
        return x
    last = x.shape[axis] - 1
    unit_steps, zero_starts = (1,) * x.ndim, (0,) * x.ndim

    def replace_at_axis(values: tuple[int, ...], value: int) -> tuple[int, ...]:
        return (*values[:axis], value, *values[axis + 1 :])

    def reversed_view(value: T) -> T:
        return p.slice(value, replace_at_axis(zero_starts, last), replace_at_axis(unit_steps, -1), value.shape)

    result = p.accumulate(ufunc, reversed_view(x) if reverse else x, axis)
    if exclusive:
        shifted = p.slice(result, zero_starts, unit_steps, replace_at_axis(tuple(x.shape), last))
        result = p.assemble(x.shape, x.dtype, [(shifted, replace_at_axis(zero_starts, 1))], fill=ufunc.identity)
    return reversed_view(result) if reverse else result


def _read_axis(p: P, x: T, axis: T | None) -> int:
    return normalize_axis(0 if axis is None else int(p.value(axis).reshape(())), x.ndim)


@onnx("CumSum", since=11)
def cum_sum(p: P, x: T, axis: T, *, exclusive: int = 0, reverse: int = 0) -> T:
    return accumulate(p, np.add, x, _read_axis(p, x, axis), bool(exclusive), bool(reverse))


@onnx("CumProd", since=26)
def cum_prod(p: P, x: T, axis: T, *, exclusive: int = 0, reverse: int = 0) -> T:
    return accumulate(p, np.multiply, x, _read_axis(p, x, axis), bool(exclusive), bool(reverse))


@openvino("CumSum", since=3)
def openvino_cum_sum(p: P, x: T, axis: T | None = None, *, exclusive: bool = False, reverse: bool = False) -> T:
    return accumulate(p, np.add, x, _read_axis(p, x, axis), exclusive, reverse)
