"""Assignment targets of ``set``: a value or a part of one."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.graph import Array
from ...runtime.text import count_text
from .conversion import convert_lossless
from .errors import EvaluationProblem, ExpressionError
from .evaluate import Scope, evaluate_index
from .nodes import Constant, ExpressionNode, Index, Name, StateVariable
from .operator_semantics import normalize_index
from .parser import parse_tree
from .tokens import quote
from .value_types import shape_text


@dataclass(frozen=True)
class AssignmentTarget:
    """``h``, ``h[0, 3]``, ``cond`` or ``trip_count``.

    ``is_loop_state``: the bare word ``cond`` or ``trip_count`` of the loop; else ``name`` is the name of a value.
    """

    text: str
    name: str
    is_loop_state: bool = False
    index: tuple[ExpressionNode, ...] = ()

    @property
    def position(self) -> int:
        """The position for errors about the index."""
        return self.index[0].position if self.index else 0

    def entries(self, scope: Scope) -> tuple[Any, ...]:
        """The index as a NumPy index; empty for the entire value.

        Raises:
            ExpressionError: an entry is no integer here.
        """
        return evaluate_index(self.text, self.index, scope)


def parse_target(text: str) -> AssignmentTarget:
    """The left side of an assignment.

    Raises:
        ExpressionError: it is neither a name nor a name with an index.
    """
    tree: ExpressionNode = parse_tree(text)
    index: tuple[ExpressionNode, ...] = ()
    if isinstance(tree, Index) and isinstance(tree.operand, Name):
        index = tree.entries
        tree = tree.operand
    if isinstance(tree, Name):
        return AssignmentTarget(text, tree.name, index=index)
    if isinstance(tree, StateVariable) and tree.name != "iter":
        return AssignmentTarget(text, tree.name, is_loop_state=True)
    problem = (
        "cannot be set"
        if isinstance(tree, StateVariable | Constant)
        else "only a name, or a name with an index, can be set"
    )
    hint = ""
    if isinstance(tree, StateVariable | Constant) and text.strip().isidentifier():
        hint = f"a value of that name is written {quote(text.strip())}"
    raise ExpressionError(text, tree.position, problem, hint)


def replace_value(value: Any, target: AssignmentTarget, new: Any, scope: Scope) -> Any:
    """A copy of the value with the target replaced by ``new``; dtype and shape stay.

    One number fills all elements. A fraction is rounded to a floating-point dtype; any other conversion must be exact.

    Raises:
        ExpressionError: the index does not fit the value, or ``new`` does not fit the target.
    """
    index = target.entries(scope)
    try:
        return _replace(value, index, new)
    except EvaluationProblem as problem:
        raise ExpressionError(target.text, target.position, problem.problem, problem.hint) from None


def _replace(value: Any, index: tuple[Any, ...], new: Any) -> Any:
    if isinstance(value, list | tuple):
        return _replace_in_list(list(value), index, new)
    if value is None:
        if index:
            raise EvaluationProblem("none cannot be indexed")
        return copy.deepcopy(new)
    array = np.asarray(value)
    if isinstance(new, list) and any(isinstance(item, np.ndarray) and item.ndim for item in new):
        raise EvaluationProblem("a list of tensors where one tensor is needed")
    if new is None:
        raise EvaluationProblem("none where a tensor is needed")
    number = convert_lossless(new, array.dtype)
    result = array.copy()
    if not index:
        if number.ndim and number.shape != array.shape:
            shapes = f"{shape_text(array.shape)} cannot take {shape_text(number.shape)}"
            raise EvaluationProblem(f"a value of shape {shapes}", "give the same shape, or one number for all places")
        result[...] = number
        return result
    _check_index(array, index)
    target_shape = np.broadcast_to(np.False_, array.shape)[index].shape
    try:
        fits = np.broadcast_shapes(target_shape, number.shape) == target_shape
    except ValueError:
        fits = False
    if not fits:
        raise EvaluationProblem(f"a place of shape {shape_text(target_shape)} cannot take {shape_text(number.shape)}")
    # In an array of strings, an array without axes would itself become the element.
    result[index] = number if number.ndim else number[()]
    return result


def _check_index(array: Array, index: tuple[Any, ...]) -> None:
    explicit = [entry for entry in index if entry is not Ellipsis]
    if index.count(Ellipsis) > 1:
        raise EvaluationProblem("'...' occurs twice in an index")
    if len(explicit) > array.ndim:
        axes = count_text(array.ndim, "axis", "axes")
        raise EvaluationProblem(f"{count_text(len(explicit), 'index', 'indices')} for a value of {axes}")
    ellipsis = index.index(Ellipsis) if Ellipsis in index else len(index)
    for k, entry in enumerate(index):
        if entry is not Ellipsis and not isinstance(entry, slice):
            axis = k if k < ellipsis else array.ndim - (len(index) - k)
            normalize_index(entry, array.shape[axis], f"axis {axis}")


def _replace_in_list(items: list[Any], index: tuple[Any, ...], new: Any) -> Any:
    if not index:
        if not isinstance(new, list):
            raise EvaluationProblem("one value where a list is needed")
        dtype = items[0].dtype if items and isinstance(items[0], np.ndarray) else None
        return [convert_lossless(item, dtype) if dtype is not None else copy.deepcopy(item) for item in new]
    if isinstance(index[0], slice) or index[0] is Ellipsis:
        raise EvaluationProblem("one item of a list at a time")
    position = normalize_index(index[0], len(items), "the list")
    items = copy.deepcopy(items)
    items[position] = _replace(items[position], index[1:], new)
    return items
