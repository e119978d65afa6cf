"""An expression as a tree. Every node knows the character that errors in it point at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node; ``depth`` is that of the tree below it, itself included."""

    position: int
    depth: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", 1 + max((child.depth for child in self.children()), default=0))

    def children(self) -> Iterator[Node]:
        """The nodes right below."""
        for name in self.__dataclass_fields__:  # fields() makes a tuple each time
            yield from _nodes_in(getattr(self, name))

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for child in self.children():
            yield from child.walk()

    def filled(self, given: Mapping[str, Node]) -> Node:
        """The tree with other trees in place of names."""
        if isinstance(self, Name):
            return given.get(self.name, self)
        entries = ((entry.name, getattr(self, entry.name)) for entry in fields(self) if entry.init)
        return replace(self, **{name: _filled(value, given) for name, value in entries})


def _nodes_in(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _nodes_in(part)


def _filled(value: Any, given: Mapping[str, Node]) -> Any:
    if isinstance(value, tuple):
        return tuple(_filled(part, given) for part in value)
    return value.filled(given) if isinstance(value, Node) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant(Node):
    """A number, a string, true, false or none."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Node):
    """A value of the model."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State(Node):
    """``iter``, ``trip_count`` or ``cond``."""

    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Items(Node):
    """A list: ``[1, 2, 3]``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(Node):
    """``-x``, ``+x`` or ``not x``."""

    sign: str
    operand: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Node):
    """Arithmetic on two operands."""

    sign: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Node):
    """``a < b``, or a chain of them: ``positions`` has the place of each sign."""

    signs: tuple[str, ...]
    operands: tuple[Node, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Logic(Node):
    """``a and b and c``, or the same with ``or``."""

    word: Literal["and", "or"]
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range(Node):
    """``start:stop:step`` in an index."""

    start: Node | None
    stop: Node | None
    step: Node | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest(Node):
    """``...`` in an index: all axes that the other entries leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(Node):
    """``x[0, 3:10, ...]``."""

    operand: Node
    entries: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Node):
    """A function of the table, arguments in the order of its parameters; None: left out."""

    function: str
    arguments: tuple[Node | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past(Node):
    """The operand as it was in another iteration: ``prev(x)``, ``init(x)``, ``x@when``; or a name in all of them:
    ``history(x)``."""

    moment: Literal["prev", "init", "at", "all"]
    operand: Node
    when: Node | None = None
