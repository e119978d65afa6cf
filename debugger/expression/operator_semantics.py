"""Semantics of operators and functions, written over the primitives of ``runtime.ops``.

As with the operators of models, one implementation serves two modes: on NumPy arrays when an expression is evaluated,
and on tensor specs when a condition is bound to native kernels. So both give the same results and dtypes.

Plain numbers and the numbers of a list literal are weakly typed as in NumPy 2: they take the dtype of the other
operand. Narrow types of ``ml_dtypes`` are computed in float32 or int8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ...runtime.ops.operator_helpers import cast, is_float, is_integer
from ...runtime.text import count_text
from . import plain_number_arithmetic
from .errors import EvaluationProblem
from .value_types import (
    Dtype,
    TensorLike,
    UntypedNumbers,
    Value,
    describe_value,
    flatten_list,
    is_number,
    is_tensor,
    is_text,
    shape_text,
)

ARITHMETIC_UFUNCS: dict[str, np.ufunc] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": np.power,
}
COMPARISON_UFUNCS: dict[str, np.ufunc] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
#: Maximum growth of a result over its operands.
MAX_GROWTH_ELEMENTS = 1 << 24
#: Maximum work of one evaluation in elements, or 32 times the largest value that it reads, if that is more.
MAX_WORK_ELEMENTS = 1 << 27
_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


@cache
def _resolve_dtypes(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[Dtype, ...]:
    """The dtypes in which NumPy computes on inputs of these kinds (``int`` and ``float``: plain numbers)."""
    return tuple(ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout)))[: ufunc.nin]


class Calculator:
    """Operators and functions on values, over primitives ``p``."""

    def __init__(self, p: Any) -> None:
        self.p = p
        self.computed_elements = 0
        self.largest_input_elements = 0

    # -- values as tensors

    def constant(self, value: Any, dtype: Dtype) -> TensorLike:
        """A scalar constant; a number that does not fit into the dtype is an error."""
        try:
            return self.p.constant(np.array(value, dtype))
        except OverflowError:
            raise EvaluationProblem(f"{value} does not fit into {dtype.name}") from None

    def operand(self, value: Value) -> Any:
        """An operand of arithmetic: a tensor of a supported type, a plain number, or the numbers of a list literal."""
        if is_tensor(value):
            return self._as_computable(value)
        if isinstance(value, UntypedNumbers):
            return value
        if isinstance(value, bool):
            return self.constant(value, _BOOL)
        if is_number(value):
            return value
        if isinstance(value, list):
            return self._list_operand(value)
        raise EvaluationProblem(f"{describe_value(value)} where numbers are needed")

    def tensor(self, value: Value) -> TensorLike:
        """The operand as a tensor; plain numbers become int64 or float64."""
        operand = self.operand(value)
        if isinstance(operand, UntypedNumbers):
            return self.p.constant(operand.numbers)
        if is_tensor(operand):
            return operand
        return self.constant(operand, _INT64 if isinstance(operand, int) else _FLOAT64)

    def _as_computable(self, x: TensorLike) -> TensorLike:
        dtype = x.dtype
        if dtype.isbuiltin == 1:
            if dtype.kind not in "biufc":
                raise EvaluationProblem(f"{describe_value(x)} where numbers are needed")
            return x
        if is_float(dtype):
            return cast(self.p, x, _FLOAT32)
        if is_integer(dtype):
            return cast(self.p, x, np.dtype(np.int8 if dtype.name.startswith("int") else np.uint8))
        raise EvaluationProblem(f"{describe_value(x)} where numbers are needed")

    def _list_operand(self, items: list[Value]) -> Any:
        """A list of plain numbers as :class:`UntypedNumbers`; one with tensors among them as a tensor."""
        flat, shape = flatten_list(items)
        tensors = [item for item in flat if is_tensor(item) or isinstance(item, bool)]
        if tensors:
            return self._stack_list(flat, shape)
        if not all(is_number(item) for item in flat):
            raise EvaluationProblem("a list of other things than numbers where numbers are needed")
        kind = float if any(isinstance(item, float) for item in flat) else int
        dtype = _FLOAT64 if kind is float else _INT64
        try:
            return UntypedNumbers(np.array(flat, dtype).reshape(shape), kind)
        except OverflowError:
            raise EvaluationProblem("a list with a number that does not fit into int64") from None

    def _stack_list(self, flat: list[Value], shape: tuple[int, ...]) -> TensorLike:
        operands = [self.operand(item) for item in flat]
        if any(is_tensor(x) and math.prod(x.shape) != 1 for x in operands):
            raise EvaluationProblem("a list of tensors where numbers are needed", "name one of them, as in x[0]")
        dtype = self._common_dtype(operands)
        pieces = [(self.p.reshape(self._cast_operand(x, dtype), (1,)), (k,)) for k, x in enumerate(operands)]
        return self.p.reshape(self.p.assemble((len(pieces),), dtype, pieces), shape)

    @staticmethod
    def _promotion_kind(operand: Any) -> Any:
        if isinstance(operand, UntypedNumbers):
            return operand.kind
        return operand.dtype if is_tensor(operand) else type(operand)

    def _common_dtype(self, operands: Sequence[Any]) -> Dtype:
        """NumPy's result type of the operands."""
        kinds = [self._promotion_kind(x) for x in operands]
        return np.result_type(*(0 if k is int else 0.0 if k is float else k for k in kinds))

    def _cast_operand(self, operand: Any, dtype: Dtype) -> TensorLike:
        if is_tensor(operand):
            return cast(self.p, operand, dtype)
        if not isinstance(operand, UntypedNumbers):
            return self.constant(operand, dtype)
        if dtype.kind in "iu" and operand.numbers.size:
            limits = np.iinfo(dtype)
            for extreme in (int(operand.numbers.min()), int(operand.numbers.max())):
                if not limits.min <= extreme <= limits.max:
                    raise EvaluationProblem(f"{extreme} does not fit into {dtype.name}")
        return self.p.constant(operand.numbers.astype(dtype))

    # -- limits

    def broadcast_shape(self, *operands: Any) -> tuple[int, ...]:
        """The broadcast shape of operands; incompatible or much larger shapes are errors."""
        shapes = [x.shape for x in operands if is_tensor(x) or isinstance(x, UntypedNumbers)]
        try:
            shape = np.broadcast_shapes(*shapes)
        except ValueError:
            texts = " and ".join(shape_text(s) for s in shapes)
            raise EvaluationProblem(f"shapes {texts} do not fit") from None
        size = math.prod(shape)
        if size > MAX_GROWTH_ELEMENTS + max(math.prod(s) for s in (*shapes, ())):
            raise EvaluationProblem(
                f"a result of shape {shape_text(shape)} is too large", "index or reduce the operands first"
            )
        self.charge_work(size)
        return shape

    def charge_work(self, size: int) -> None:
        """Charge computed elements against the work limit."""
        self.computed_elements += size
        if self.computed_elements > max(MAX_WORK_ELEMENTS, 32 * self.largest_input_elements):
            raise EvaluationProblem("too much to compute", "index or reduce large tensors first")

    # -- elementwise

    def map(self, ufunc: np.ufunc, *values: Value) -> TensorLike:
        """Apply a ufunc to operands, at least one of them a tensor, with NumPy's type promotion."""
        operands = [self.operand(value) for value in values]
        dtypes = self._computation_dtypes(ufunc, operands)
        self.broadcast_shape(*operands)
        return self.p.map(ufunc, *(self._cast_operand(x, d) for x, d in zip(operands, dtypes, strict=True)))

    def _computation_dtypes(self, ufunc: np.ufunc, operands: Sequence[Any]) -> tuple[Dtype, ...]:
        try:
            return _resolve_dtypes(ufunc, tuple(self._promotion_kind(x) for x in operands))
        except TypeError:
            kinds = " and ".join(describe_value(x) for x in operands)
            raise EvaluationProblem(f"{_UFUNC_LABELS.get(ufunc, ufunc.__name__)} is not defined on {kinds}") from None

    def unary(self, ufunc: np.ufunc, value: Value) -> Value:
        """Apply a ufunc to one operand; plain numbers stay plain."""
        if is_number(value):
            return plain_number_arithmetic.apply_function(ufunc, value)
        operand = self.operand(value)
        return self.map(ufunc, self.p.constant(operand.numbers) if isinstance(operand, UntypedNumbers) else operand)

    def binary(self, sign: str, a: Value, b: Value) -> Value:
        """The arithmetic operation ``a sign b``."""
        ufunc = ARITHMETIC_UFUNCS[sign]
        if is_number(a) and is_number(b):
            return plain_number_arithmetic.arithmetic(sign, ufunc, a, b)
        operands = [self.operand(a), self.operand(b)]
        if not any(is_tensor(x) for x in operands):
            raise EvaluationProblem("arithmetic on a list", "take one of its items, as in x[0]")
        if ufunc is np.power and _is_negative(operands[1]) and all(_is_integer_operand(x) for x in operands):
            raise EvaluationProblem("a whole number to a negative power", "write 1 / x ** n, or 1.0 * x ** -n")
        return self.map(ufunc, *operands)

    def choose(self, condition: TensorLike, a: Value, b: Value) -> TensorLike:
        """``a`` where a tensor of booleans is true, else ``b``."""
        operands = [self.operand(a), self.operand(b)]
        dtype = self._common_dtype(operands)
        self.broadcast_shape(condition, *operands)
        return self.p.where(condition, *(self._cast_operand(x, dtype) for x in operands))

    def as_number(self, value: Value) -> Value:
        """A plain number, or the element of a one-element tensor (arrays only)."""
        if isinstance(value, bool) or is_number(value):
            return value
        raise EvaluationProblem(f"{describe_value(value)} where one number is needed")

    # -- comparisons

    def compare(self, sign: str, a: Value, b: Value) -> Value:
        """``a sign b``: true or false, or a tensor of them."""
        if is_number(a) and is_number(b):
            return plain_number_arithmetic.COMPARISON_OPERATORS[sign](a, b)
        if a is None or b is None:
            return self._equality_result(sign, a is b, a, b)
        if isinstance(a, list) and isinstance(b, list):
            return self._equality_result(sign, self.equal_lists(a, b), a, b)
        if isinstance(a, str) or isinstance(b, str) or is_text(a) or is_text(b):
            return self._equality_result(sign, self.equal_text(a, b), a, b)
        operands = [self.operand(a), self.operand(b)]
        if not any(is_tensor(x) for x in operands):
            raise EvaluationProblem(f"cannot compare {describe_value(a)} with {describe_value(b)}")
        # Integer list literals are compared as int64, since a narrower type could wrap them.
        operands = [
            self.p.constant(x.numbers)
            if isinstance(x, UntypedNumbers) and x.kind is int and not self._has_float_operand(operands)
            else x
            for x in operands
        ]
        result = self._compare_out_of_range_integer(sign, operands)
        return self.map(COMPARISON_UFUNCS[sign], *operands) if result is None else result

    def conjunction(self, a: Value, b: Value) -> Value:
        """The conjunction of two comparisons."""
        if isinstance(a, bool) and isinstance(b, bool):
            return a and b
        return self.map(np.logical_and, a, b)

    @staticmethod
    def _has_float_operand(operands: Sequence[Any]) -> bool:
        return any(is_tensor(x) and x.dtype.kind in "fc" for x in operands)

    def _compare_out_of_range_integer(self, sign: str, operands: Sequence[Any]) -> TensorLike | None:
        """The result if a plain integer is outside the range of the tensor's dtype; else None."""
        dtypes = self._computation_dtypes(COMPARISON_UFUNCS[sign], operands)
        for k, (x, dtype) in enumerate(zip(operands, dtypes, strict=True)):
            if isinstance(x, int) and dtype.kind in "iu" and not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
                pair = (0, x) if k else (x, 0)
                shape = self.broadcast_shape(*operands)
                return self.p.constant(np.full(shape, plain_number_arithmetic.COMPARISON_OPERATORS[sign](*pair), _BOOL))
        return None

    def _equality_result(self, sign: str, same: Value, a: Value, b: Value) -> Value:
        if sign not in ("==", "!="):
            raise EvaluationProblem(
                f"'{sign}' between {describe_value(a)} and {describe_value(b)}", "only == and != are defined here"
            )
        if isinstance(same, bool):
            return same == (sign == "==")
        return same if sign == "==" else self.map(np.logical_not, same)

    def equal_lists(self, a: Value, b: Value) -> bool:
        """Recursive equality of lists. Needs the values."""
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(self.equal_lists(x, y) for x, y in zip(a, b, strict=True))
        if is_tensor(a) or is_tensor(b):
            return self.equal_tensors(a, b)
        return bool(isinstance(a, bool) == isinstance(b, bool) and a == b)

    def equal_tensors(self, a: Value, b: Value) -> bool:
        """Equality if one operand is a tensor (arrays only)."""
        raise EvaluationProblem("tensors in a list")

    def equal_text(self, a: Value, b: Value) -> Value:
        """Elementwise equality of strings and string tensors (tensors: arrays only)."""
        if isinstance(a, str) and isinstance(b, str):
            return a == b
        raise EvaluationProblem(f"cannot compare {describe_value(a)} with {describe_value(b)}")

    # -- conditions

    def check_truth_value(self, value: Value) -> Value:
        """Check that a value is a boolean, or a tensor with one."""
        if isinstance(value, bool):
            return value
        if is_tensor(value) and value.dtype == _BOOL:
            count = math.prod(value.shape)
            if count != 1:
                raise EvaluationProblem(f"{count} truth values where one is needed", "say which: any(...) or all(...)")
            return value
        hint = "compare it, as in ... > 0" if is_tensor(value) or is_number(value) else ""
        raise EvaluationProblem(f"{describe_value(value)} where true or false is needed", hint)

    # -- reductions

    def ravel(self, value: Value) -> TensorLike:
        """All elements in row-major order, so that sums do not depend on the memory layout."""
        x = self.tensor(value)
        self.charge_work(math.prod(x.shape))
        return self.p.reshape(x, (math.prod(x.shape),))

    def sum_elements(self, x: TensorLike) -> TensorLike:
        """The pairwise sum of a flat tensor, as in NumPy; the dtype stays."""
        return self.p.reduce(np.add, x, (0,), False)

    def as_booleans(self, value: Value) -> TensorLike:
        """All elements as a flat boolean tensor; nonzero is true."""
        x = self.ravel(value)
        return x if x.dtype == _BOOL else self.map(np.not_equal, x, 0)

    def extreme(self, ufunc: np.ufunc, value: Value) -> TensorLike:
        """The largest or smallest element; the undefined sign of a float zero is removed."""
        x = self.ravel(value)
        if not x.shape[0]:
            raise EvaluationProblem(f"{describe_value(value)} has no elements")
        result = self.p.reduce(ufunc, x, (0,), False)
        return self.map(np.add, result, 0.0) if is_float(result.dtype) else result

    def widen_for_sum(self, x: TensorLike, integers: Dtype) -> TensorLike:
        """Cast to the accumulator dtype: float32 for narrow floats, ``integers`` for integers."""
        if x.dtype.kind in "biu":
            unsigned = integers == _INT64 and x.dtype.kind == "u"
            return cast(self.p, x, np.dtype(np.uint64) if unsigned else integers)
        return cast(self.p, x, _FLOAT32) if x.dtype == np.float16 else x

    # -- indexing

    def index(self, x: TensorLike, entries: Sequence[Any]) -> TensorLike:
        """NumPy's basic indexing as a copy; entries are integers, slices, and at most one Ellipsis."""
        if entries.count(Ellipsis) > 1:
            raise EvaluationProblem("'...' occurs twice in an index")
        explicit = sum(entry is not Ellipsis for entry in entries)
        rank = len(x.shape)
        if explicit > rank:
            axes = count_text(rank, "axis", "axes")
            raise EvaluationProblem(
                f"{count_text(explicit, 'index', 'indices')} for {describe_value(x)}, which has {axes}"
            )
        full_index: list[Any] = []
        for entry in entries if Ellipsis in entries else (*entries, Ellipsis):
            full_index += [slice(None)] * (rank - explicit) if entry is Ellipsis else [entry]
        starts, steps, extents, shape = [], [], [], []
        for axis, (entry, length) in enumerate(zip(full_index, x.shape, strict=True)):
            if isinstance(entry, slice):
                start, stop, step = entry.indices(length)
                extent = len(range(start, stop, step))
                shape.append(extent)
            else:
                start, step, extent = normalize_index(entry, length, f"axis {axis}"), 1, 1
            starts.append(start if extent else 0)
            steps.append(step if extent else 1)
            extents.append(extent)
        self.charge_work(math.prod(extents))
        part = self.p.slice(x, starts, steps, extents)
        copy_ = self.p.assemble(tuple(extents), x.dtype, [(part, (0,) * rank)])
        return self.p.reshape(copy_, tuple(shape))


def normalize_index(index: int, length: int, where: str) -> int:
    """An index counted from the start; ``where``: the indexed axis or list, for messages."""
    if not -length <= index < length:
        raise EvaluationProblem(f"index {index} is outside of {where}, of length {length}")
    return index % length


def _is_integer_operand(operand: Any) -> bool:
    if isinstance(operand, UntypedNumbers):
        return operand.kind is int
    return operand.dtype.kind in "iub" if is_tensor(operand) else isinstance(operand, int)


def _is_negative(operand: Any) -> bool:
    if isinstance(operand, UntypedNumbers):
        return bool((operand.numbers < 0).any())
    return not is_tensor(operand) and operand < 0


_UFUNC_LABELS: dict[np.ufunc, str] = {
    **{ufunc: f"'{sign}'" for sign, ufunc in (*ARITHMETIC_UFUNCS.items(), *COMPARISON_UFUNCS.items())},
    np.negative: "'-'",
    np.positive: "'+'",
    np.absolute: "abs",
    np.rint: "round",
}
