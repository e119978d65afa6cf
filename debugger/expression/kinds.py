"""What a condition is, as far as the types of what it reads tell: told when it is given, not where it is tested first.

The tree is walked on descriptions of tensors, by the calculator that computes on arrays. Whatever needs numbers, or the
type of something that has none yet, is left open: only what is certain is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime.graph import Array, TensorType
from .calculator import Calculator
from .errors import ExpressionError, Problem
from .evaluate import Walker
from .nodes import Call, Constant, Index, Logic, Name, Node, Past, Range, Rest, State, Unary
from .values import Dtype, Spec, Value

#: What is known of a value of the model; None: nothing.
Types = Callable[[str], TensorType | None]
_BOOL, _INT64, _FLOAT64 = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64)
_OPEN = "not known before it is computed"


def check_condition(text: str, tree: Node, types: Types) -> None:
    """See that a condition can be one truth value.

    Raises:
        ExpressionError: it cannot, whatever the numbers are.
    """
    kinds = _Kinds(text, types)
    try:
        with np.errstate(all="ignore"):
            kinds.holds(tree)
    except RecursionError:
        return
    if kinds.wrong is not None:
        raise kinds.wrong


class _Described:
    """The primitives that expressions use, on descriptions: only dtypes and shapes are computed."""

    def map(self, function: np.ufunc, *inputs: Spec) -> Spec:
        dtype = function.resolve_dtypes((*(x.dtype for x in inputs), *(None,) * function.nout))[-1]
        return self._together(dtype, *inputs)

    def where(self, condition: Spec, a: Spec, b: Spec) -> Spec:
        return self._together(a.dtype, condition, a, b)

    def cast(self, x: Spec, dtype: Dtype) -> Spec:
        return Spec(dtype, x.shape, x.sized)

    def reduce(self, ufunc: np.ufunc, x: Spec, axes: Sequence[int], keepdims: bool) -> Spec:
        # Always of all elements, flat.
        return Spec(x.dtype, ())

    def arg(self, which: str, x: Spec, axis: int, last: bool) -> Spec:
        return Spec(_INT64, (1,))

    def reshape(self, x: Spec, shape: Sequence[int]) -> Spec:
        return Spec(x.dtype, tuple(shape), x.sized)

    def slice(self, x: Spec, starts: Sequence[int], steps: Sequence[int], extents: Sequence[int]) -> Spec:
        return Spec(x.dtype, tuple(extents), x.sized)

    def assemble(self, shape: Sequence[int], dtype: Dtype, pieces: Sequence[tuple[Spec, Any]]) -> Spec:
        return Spec(dtype, tuple(shape), all(x.sized for x, _ in pieces))

    def constant(self, array: Array) -> Spec:
        return Spec(array.dtype, array.shape)

    @staticmethod
    def _together(dtype: Dtype, *inputs: Spec) -> Spec:
        if all(x.sized for x in inputs):
            return Spec(dtype, np.broadcast_shapes(*(x.shape for x in inputs)))
        return Spec(dtype, (), False)


class _Kinds(Walker):
    """Walks a tree on descriptions."""

    def __init__(self, text: str, types: Types) -> None:
        super().__init__(text, Calculator(_Described()))
        self.types = types
        #: The first part that is no truth value where one is needed.
        self.wrong: ExpressionError | None = None

    def holds(self, node: Node) -> bool:
        """Look at what has to be a truth value; the answer stands for any."""
        try:
            value = self.value(node)
        except ExpressionError:
            return True
        try:
            if not isinstance(value, Spec) or value.sized or value.dtype != _BOOL:
                self.calculator.one_truth(value)
        except Problem as problem:
            self.wrong = self.wrong or self.error(problem.problem, node.position, problem.hint)
        return True

    def constant(self, node: Constant) -> Value:
        return node.value

    def name(self, node: Name) -> Value:
        found = self.types(node.name)
        if found is None or found.dtype is None:
            raise Problem(_OPEN)
        shape = [extent for extent in found.shape or () if isinstance(extent, int)]
        if found.shape is None or len(shape) < len(found.shape):
            return Spec(found.dtype, (), False)
        return Spec(found.dtype, tuple(shape))

    def state(self, node: State) -> Value:
        if node.word == "cond":
            raise Problem(_OPEN)
        return 0

    def past(self, node: Past) -> Value:
        return Spec(_FLOAT64, (), False) if node.moment == "all" else self.value(node.operand)

    def logic(self, node: Logic) -> Value:
        # All of them, also where the first would decide.
        for operand in node.operands:
            self.holds(operand)
        return True

    def negation(self, node: Unary) -> Value:
        return self.holds(node.operand)

    def called(self, node: Call, arguments: Sequence[Value]) -> Value:
        if node.function == "shape" and any(isinstance(one, Spec) and not one.sized for one in arguments):
            raise Problem(_OPEN)
        return super().called(node, arguments)

    def indexed(self, node: Index, value: Value) -> Value:
        parts = [part for entry in node.entries for part in entry.walk()]
        constant = all(isinstance(part, Constant | Range | Rest | Unary) for part in parts)
        if not isinstance(value, Spec) or (value.sized and constant):
            return super().indexed(node, value)
        ranges = any(isinstance(entry, Range | Rest) for entry in node.entries)
        known = value.sized and not ranges and len(node.entries) <= len(value.shape)
        return Spec(value.dtype, value.shape[len(node.entries) :] if known else (), known)


__all__ = ["Types", "check_condition"]
