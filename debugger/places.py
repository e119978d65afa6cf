"""Where one can stop: the loops of a model by name, and the names that a loop's body knows.

All of this the loop graph tells. What stands among these places says the rest: :mod:`.engine_places` for a run, and
:mod:`.replay` for a recording.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Protocol

from ..runtime.errors import UsageError
from ..runtime.graph import Graph, Loop, Node, visible
from .expression.errors import near
from .expressions import Expression
from .source import Source, source


class LoopPlace(Protocol):
    """A loop and where it stands; ``parent``: the index of the loop around it, -1 for one of the main graph."""

    @property
    def index(self) -> int: ...
    @property
    def parent(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def loop(self) -> Loop: ...


class Places(ABC):
    """The places of one model, and which of them is meant by "here".

    ``loops``: outer before inner. A node is known by its position, an integer.
    """

    def __init__(self, graph: Graph, loops: Sequence[LoopPlace]) -> None:
        self.graph = graph
        self.loops = loops
        self._names: dict[int, frozenset[str]] = {}

    # -- loops

    def around(self, index: int) -> list[int]:
        """The loops around one, innermost first."""
        found = []
        while (index := self.loops[index].parent) >= 0:
            found.append(index)
        return found

    def loop_named(self, name: str) -> int:
        """The index of a loop by its name or its path.

        Raises:
            UsageError: there is none of that name, or several.
        """
        found = [place.index for place in self.loops if name in (place.loop.name, place.path)]
        if len(found) == 1:
            return found[0]
        if found:
            paths = ", ".join(f"'{self.loops[k].path}'" for k in found)
            raise UsageError(f"several loops are called '{name}': {paths}; give the path in quotes")
        have = [place.loop.name for place in self.loops]
        near = difflib.get_close_matches(name, have, 1)
        hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(have) or 'none'}"
        raise UsageError(f"there is no loop '{name}'{hint}")

    @abstractmethod
    def here(self) -> int:
        """The loop that is stopped in; else the one that ended last, else the first; -1: the model has none."""

    @abstractmethod
    def at_boundary(self) -> bool:
        """True where a boundary of the innermost loop is what is stopped at."""

    # -- names

    def names(self, index: int) -> frozenset[str]:
        """Every name that has a value somewhere in a loop's body (-1: the main graph), scan outputs included."""
        if index not in self._names:
            loops = [] if index < 0 else [self.loops[k].loop for k in (index, *self.around(index))]
            names = set(visible([*(loop.body for loop in loops), self.graph]))
            names.update(port.outer.name for loop in loops[:1] for port in loop.scan_outputs)
            self._names[index] = frozenset(names)
        return self._names[index]

    def check(self, expression: Expression, index: int) -> None:
        """See that a loop's body has all the names of an expression.

        Raises:
            UsageError: it does not; the text says what is near.
        """
        names = self.names(index)
        for name in sorted(expression.names - names):
            similar = near(name, names)
            hint = f"; did you mean {' or '.join(repr(one) for one in similar)}?" if similar else ""
            where = f"loop '{self.loops[index].loop.name}'" if index >= 0 else "the main graph"
            raise UsageError(f"{where} has no value '{name}' (in '{expression.text}'){hint}")

    # -- nodes

    @cached_property
    def source(self) -> Source:
        """The model as pseudo-code; its lines are what ``break 9`` means."""
        return source(self.graph)

    @abstractmethod
    def check_nodes(self) -> None:
        """See that nodes can be stopped before.

        Raises:
            UsageError: nothing but boundaries is to be had here.
        """

    @abstractmethod
    def nodes(self, index: int | None = None) -> Iterator[tuple[int, Node]]:
        """Positions and nodes that can be stopped before; ``index``: only those directly in that loop's body."""

    @abstractmethod
    def node_at(self, position: int) -> Node:
        """The node of a position."""

    @abstractmethod
    def inside(self, position: int) -> int:
        """The loop whose body holds a node; -1: the main graph."""

    @abstractmethod
    def before_loops(self, position: int) -> bool:
        """True for a node of the main graph that runs before the first loop."""

    @abstractmethod
    def node_of_line(self, number: int) -> int:
        """The position of the node of a line of the pseudo-code, or of the first after it.

        Raises:
            UsageError: there is none.
        """

    @abstractmethod
    def node_here(self) -> int:
        """The position of the node that runs next.

        Raises:
            UsageError: none does.
        """
