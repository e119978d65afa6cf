"""Syntax tree of expressions. Every node has the position for its error messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionNode:
    """One node; ``depth``: height of its subtree."""

    position: int
    depth: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", 1 + max((child.depth for child in self.children()), default=0))

    def children(self) -> Iterator[ExpressionNode]:
        """The direct children."""
        for name in self.__dataclass_fields__:  # fields() makes a tuple each time
            yield from _child_nodes(getattr(self, name))

    def walk(self) -> Iterator[ExpressionNode]:
        """This node and all descendants."""
        yield self
        for child in self.children():
            yield from child.walk()

    def substitute(self, trees: Mapping[str, ExpressionNode]) -> ExpressionNode:
        """The tree with names replaced by other trees."""
        if isinstance(self, Name):
            return trees.get(self.name, self)
        entries = ((entry.name, getattr(self, entry.name)) for entry in fields(self) if entry.init)
        return replace(self, **{name: _substitute_value(value, trees) for name, value in entries})


def _child_nodes(value: Any) -> Iterator[ExpressionNode]:
    if isinstance(value, ExpressionNode):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _child_nodes(part)


def _substitute_value(value: Any, trees: Mapping[str, ExpressionNode]) -> Any:
    if isinstance(value, tuple):
        return tuple(_substitute_value(part, trees) for part in value)
    return value.substitute(trees) if isinstance(value, ExpressionNode) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(ExpressionNode):
    """A number, a string, true, false or none."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(ExpressionNode):
    """A value of the model."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StateVariable(ExpressionNode):
    """``iter``, ``trip_count`` or ``cond``."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLiteral(ExpressionNode):
    """A list: ``[1, 2, 3]``."""

    items: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(ExpressionNode):
    """``-x``, ``+x`` or ``not x``."""

    sign: str
    operand: ExpressionNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(ExpressionNode):
    """Arithmetic on two operands."""

    sign: str
    left: ExpressionNode
    right: ExpressionNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(ExpressionNode):
    """``a < b``, or a chain of comparisons; ``positions``: position of each sign."""

    signs: tuple[str, ...]
    operands: tuple[ExpressionNode, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Logic(ExpressionNode):
    """``a and b and c``, or the same with ``or``."""

    operator: Literal["and", "or"]
    operands: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceIndex(ExpressionNode):
    """``start:stop:step`` in an index."""

    start: ExpressionNode | None
    stop: ExpressionNode | None
    step: ExpressionNode | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EllipsisIndex(ExpressionNode):
    """``...`` in an index: all remaining axes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(ExpressionNode):
    """``x[0, 3:10, ...]``."""

    operand: ExpressionNode
    entries: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(ExpressionNode):
    """A call of a built-in function, arguments in the order of its parameters; None: omitted."""

    function: str
    arguments: tuple[ExpressionNode | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeShift(ExpressionNode):
    """The operand in another iteration: ``prev(x)``, ``init(x)``, ``x@k``; or a name in all iterations:
    ``history(x)``."""

    kind: Literal["prev", "init", "at", "all"]
    operand: ExpressionNode
    iteration: ExpressionNode | None = None
