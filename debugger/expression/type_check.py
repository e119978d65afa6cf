"""Static type check of conditions, so that errors are reported on input, not at the first test.

The tree is evaluated on tensor specs (abstract interpretation) by the calculator that also computes on arrays. A result
that depends on values or unknown types is unknown: only certain errors are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime.graph import Array, TensorType
from .errors import EvaluationProblem, ExpressionError
from .evaluate import TreeWalker
from .nodes import (
    Call,
    Constant,
    EllipsisIndex,
    ExpressionNode,
    Index,
    Logic,
    Name,
    SliceIndex,
    StateVariable,
    TimeShift,
    Unary,
)
from .operator_semantics import Calculator
from .value_types import Dtype, TensorSpec, Value

#: The known type of a value of the model; None: unknown.
TypeLookup = Callable[[str], TensorType | None]
_BOOL, _INT64, _FLOAT64 = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64)
_NOT_KNOWN_YET = "not known before it is computed"


def check_condition(text: str, tree: ExpressionNode, types: TypeLookup) -> None:
    """Check that a condition can be one truth value.

    Raises:
        ExpressionError: it cannot, for any values.
    """
    checker = _TypeChecker(text, types)
    try:
        with np.errstate(all="ignore"):
            checker.check_truth(tree)
    except RecursionError:
        return
    if checker.first_error is not None:
        raise checker.first_error


class _TypePrimitives:
    """The primitives of expressions on tensor specs: only dtypes and shapes are computed."""

    def map(self, function: np.ufunc, *inputs: TensorSpec) -> TensorSpec:
        dtype = function.resolve_dtypes((*(x.dtype for x in inputs), *(None,) * function.nout))[-1]
        return self._broadcast(dtype, *inputs)

    def where(self, condition: TensorSpec, a: TensorSpec, b: TensorSpec) -> TensorSpec:
        return self._broadcast(a.dtype, condition, a, b)

    def cast(self, x: TensorSpec, dtype: Dtype) -> TensorSpec:
        return TensorSpec(dtype, x.shape, x.shape_known)

    def reduce(self, ufunc: np.ufunc, x: TensorSpec, axes: Sequence[int], keepdims: bool) -> TensorSpec:
        # Expressions reduce only flat tensors.
        return TensorSpec(x.dtype, ())

    def arg_extreme(self, which: str, x: TensorSpec, axis: int, last: bool) -> TensorSpec:
        return TensorSpec(_INT64, (1,))

    def reshape(self, x: TensorSpec, shape: Sequence[int]) -> TensorSpec:
        return TensorSpec(x.dtype, tuple(shape), x.shape_known)

    def slice(self, x: TensorSpec, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> TensorSpec:
        return TensorSpec(x.dtype, tuple(extents), x.shape_known)

    def assemble(self, shape: Sequence[int], dtype: Dtype, pieces: Sequence[tuple[TensorSpec, Any]]) -> TensorSpec:
        return TensorSpec(dtype, tuple(shape), all(x.shape_known for x, _ in pieces))

    def constant(self, array: Array) -> TensorSpec:
        return TensorSpec(array.dtype, array.shape)

    @staticmethod
    def _broadcast(dtype: Dtype, *inputs: TensorSpec) -> TensorSpec:
        if all(x.shape_known for x in inputs):
            return TensorSpec(dtype, np.broadcast_shapes(*(x.shape for x in inputs)))
        return TensorSpec(dtype, (), False)


class _TypeChecker(TreeWalker):
    """Evaluates a tree on tensor specs."""

    def __init__(self, text: str, types: TypeLookup) -> None:
        super().__init__(text, Calculator(_TypePrimitives()))
        self.types = types
        #: The first operand that is no truth value though one is needed.
        self.first_error: ExpressionError | None = None

    def check_truth(self, node: ExpressionNode) -> bool:
        """Check an operand that must be a truth value; the result is arbitrary."""
        try:
            value = self.evaluate(node)
        except ExpressionError:
            return True
        try:
            if not isinstance(value, TensorSpec) or value.shape_known or value.dtype != _BOOL:
                self.calculator.check_truth_value(value)
        except EvaluationProblem as problem:
            self.first_error = self.first_error or self.make_error(problem.problem, node.position, problem.hint)
        return True

    def visit_constant(self, node: Constant) -> Value:
        return node.value

    def visit_name(self, node: Name) -> Value:
        type_ = self.types(node.name)
        if type_ is None or type_.dtype is None:
            raise EvaluationProblem(_NOT_KNOWN_YET)
        shape = [extent for extent in type_.shape or () if isinstance(extent, int)]
        if type_.shape is None or len(shape) < len(type_.shape):
            return TensorSpec(type_.dtype, (), False)
        return TensorSpec(type_.dtype, tuple(shape))

    def visit_state_variable(self, node: StateVariable) -> Value:
        if node.name == "cond":
            raise EvaluationProblem(_NOT_KNOWN_YET)
        return 0

    def visit_time_shift(self, node: TimeShift) -> Value:
        return TensorSpec(_FLOAT64, (), False) if node.kind == "all" else self.evaluate(node.operand)

    def visit_logic(self, node: Logic) -> Value:
        # No short circuit: check all operands.
        for operand in node.operands:
            self.check_truth(operand)
        return True

    def evaluate_not(self, node: Unary) -> Value:
        return self.check_truth(node.operand)

    def call_function(self, node: Call, arguments: Sequence[Value]) -> Value:
        if node.function == "shape" and any(isinstance(arg, TensorSpec) and not arg.shape_known for arg in arguments):
            raise EvaluationProblem(_NOT_KNOWN_YET)
        return super().call_function(node, arguments)

    def apply_index(self, node: Index, value: Value) -> Value:
        parts = [part for entry in node.entries for part in entry.walk()]
        constant = all(isinstance(part, Constant | SliceIndex | EllipsisIndex | Unary) for part in parts)
        if not isinstance(value, TensorSpec) or (value.shape_known and constant):
            return super().apply_index(node, value)
        has_ranges = any(isinstance(entry, SliceIndex | EllipsisIndex) for entry in node.entries)
        is_known = value.shape_known and not has_ranges and len(node.entries) <= len(value.shape)
        return TensorSpec(value.dtype, value.shape[len(node.entries) :] if is_known else (), is_known)


__all__ = ["TypeLookup", "check_condition"]
