"""What ``set`` writes to: a value or a part of one."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.graph import Array
from ...runtime.text import counted
from .calculator import place
from .conversion import converted
from .errors import ExpressionError, Problem
from .evaluate import Scope, entries
from .nodes import Constant, Index, Name, Node, State
from .parser import parse_tree
from .tokens import quote
from .values import shape_text


@dataclass(frozen=True)
class Target:
    """``h``, ``h[0, 3]``, ``cond`` or ``trip_count``.

    ``state``: the bare word ``cond`` or ``trip_count``, which mean the loop's own; else ``name`` is that of a value.
    """

    text: str
    name: str
    state: bool = False
    index: tuple[Node, ...] = ()

    @property
    def position(self) -> int:
        """What errors about the index point at."""
        return self.index[0].position if self.index else 0

    def entries(self, scope: Scope) -> tuple[Any, ...]:
        """The index as NumPy takes it; empty for the whole value.

        Raises:
            ExpressionError: an entry is no whole number here.
        """
        return entries(self.text, self.index, scope)


def parse_target(text: str) -> Target:
    """The left side of an assignment.

    Raises:
        ExpressionError: it is something else than a name, or a name with an index.
    """
    tree: Node = parse_tree(text)
    index: tuple[Node, ...] = ()
    if isinstance(tree, Index) and isinstance(tree.operand, Name):
        index = tree.entries
        tree = tree.operand
    if isinstance(tree, Name):
        return Target(text, tree.name, index=index)
    if isinstance(tree, State) and tree.word != "iter":
        return Target(text, tree.word, state=True)
    what = "cannot be set" if isinstance(tree, State | Constant) else "only a name, or a name with an index, can be set"
    hint = ""
    if isinstance(tree, State | Constant) and text.strip().isidentifier():
        hint = f"a value of that name is written {quote(text.strip())}"
    raise ExpressionError(text, tree.position, what, hint)


def assign(value: Any, target: Target, new: Any, scope: Scope) -> Any:
    """The value with ``new`` in the target's place, as a copy; its dtype and shape stay.

    One number fills all places. A fraction is rounded to what a floating-point dtype holds; nothing else may change
    on its way.

    Raises:
        ExpressionError: the index does not fit the value, or ``new`` not the place.
    """
    index = target.entries(scope)
    try:
        return _placed(value, index, new)
    except Problem as problem:
        raise ExpressionError(target.text, target.position, problem.problem, problem.hint) from None


def _placed(value: Any, index: tuple[Any, ...], new: Any) -> Any:
    if isinstance(value, list | tuple):
        return _in_list(list(value), index, new)
    if value is None:
        if index:
            raise Problem("none cannot be indexed")
        return copy.deepcopy(new)
    array = np.asarray(value)
    if isinstance(new, list) and any(isinstance(item, np.ndarray) and item.ndim for item in new):
        raise Problem("a list of tensors where one tensor is needed")
    if new is None:
        raise Problem("none where a tensor is needed")
    number = converted(new, array.dtype)
    result = array.copy()
    if not index:
        if number.ndim and number.shape != array.shape:
            shapes = f"{shape_text(array.shape)} cannot take {shape_text(number.shape)}"
            raise Problem(f"a value of shape {shapes}", "give the same shape, or one number for all places")
        result[...] = number
        return result
    _check(array, index)
    place_shape = np.broadcast_to(np.False_, array.shape)[index].shape
    try:
        fits = np.broadcast_shapes(place_shape, number.shape) == place_shape
    except ValueError:
        fits = False
    if not fits:
        raise Problem(f"a place of shape {shape_text(place_shape)} cannot take {shape_text(number.shape)}")
    # An array without axes would itself become the element of an array of strings.
    result[index] = number if number.ndim else number[()]
    return result


def _check(array: Array, index: tuple[Any, ...]) -> None:
    named = [entry for entry in index if entry is not Ellipsis]
    if index.count(Ellipsis) > 1:
        raise Problem("'...' stands twice in an index")
    if len(named) > array.ndim:
        axes = counted(array.ndim, "axis", "axes")
        raise Problem(f"{counted(len(named), 'index', 'indices')} for a value of {axes}")
    rest = index.index(Ellipsis) if Ellipsis in index else len(index)
    for k, entry in enumerate(index):
        if entry is not Ellipsis and not isinstance(entry, slice):
            axis = k if k < rest else array.ndim - (len(index) - k)
            place(entry, array.shape[axis], f"axis {axis}")


def _in_list(items: list[Any], index: tuple[Any, ...], new: Any) -> Any:
    if not index:
        if not isinstance(new, list):
            raise Problem("one value where a list is needed")
        kept = items[0].dtype if items and isinstance(items[0], np.ndarray) else None
        return [converted(item, kept) if kept is not None else copy.deepcopy(item) for item in new]
    if isinstance(index[0], slice) or index[0] is Ellipsis:
        raise Problem("one item of a list at a time")
    k = place(index[0], len(items), "the list")
    items = copy.deepcopy(items)
    items[k] = _placed(items[k], index[1:], new)
    return items
