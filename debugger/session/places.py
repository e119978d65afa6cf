"""Where one can stop: the loops of a model by name, and the names that a loop's body knows.

All of this the loop graph tells. What stands among these places says the rest: :mod:`.engine_places` for a run, and
:mod:`..recording.replay` for a recording.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Protocol

from ...runtime.errors import UsageError
from ...runtime.graph import Graph, If, Loop, Node, Value, bodies, own_values, visible
from ..expression.errors import near
from ..expression.language import Expression
from ..words.names import quote, scan_names
from ..words.source import Source, source


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

    def called(self, index: int) -> str:
        """The name of a loop; its path where several have that name."""
        names = [place.loop.name for place in self.loops]
        place = self.loops[index]
        return place.loop.name if names.count(place.loop.name) == 1 else place.path

    @abstractmethod
    def here(self) -> int:
        """The loop that is stopped in; else the one that ended last, else the first; -1: the model has none."""

    @abstractmethod
    def at_boundary(self) -> bool:
        """True where a boundary of the innermost loop is what is stopped at."""

    # -- names

    def names(self, index: int) -> frozenset[str]:
        """Every name that has a value somewhere in a loop's body (-1: the main graph), scan outputs included; what is
        computed after the loop has none there."""
        if index not in self._names:
            loops = self._loops(index)
            known = None if index < 0 else self._defined(loops)
            seen = self._visible(index)
            names = {name for name, value in seen.items() if known is None or value in known}
            for loop in loops[:1]:
                names.update(scan_names(loop))
            self._names[index] = frozenset(names)
        return self._names[index]

    def _loops(self, index: int) -> list[Loop]:
        return [] if index < 0 else [self.loops[k].loop for k in (index, *self.around(index))]

    def _visible(self, index: int) -> dict[str, Value]:
        return visible([*(loop.body for loop in self._loops(index)), self.graph])

    def _defined(self, loops: Sequence[Loop]) -> set[Value]:
        """The values of the first loop's body, and those of the graphs around that were there when it was entered."""
        known = set(own_values(loops[0].body))
        for loop, graph in zip(loops, [*(around.body for around in loops[1:]), self.graph], strict=True):
            known |= _before(graph, loop)[0]
        return known

    def home(self, name: str) -> str:
        """Where a name has a value, in words; "" of one that the model does not have."""
        found = [f"the body of loop '{self.called(p.index)}'" for p in self.loops if name in self._own(p.loop)]
        if name not in self.names(-1):
            return " and ".join(found)
        after = [
            self.called(place.index) for place in self.loops if place.parent < 0 and name not in self.names(place.index)
        ]
        where = f"the main graph, computed by or after loop '{after[-1]}'" if after else "the main graph"
        return " and ".join([*found, where])

    @staticmethod
    def _own(loop: Loop) -> set[str]:
        return {*(value.name for value in own_values(loop.body)), *scan_names(loop)}

    def homes(self, expression: Expression) -> str:
        """Where the names of an expression have their values: ``y is of the body of loop 'inner'``."""
        told = [f"{quote(name)} is of {self.home(name)}" for name in sorted(expression.names) if self.home(name)]
        return ", ".join(told) or "it is about a running loop"

    def traps(self, expression: Expression) -> frozenset[int]:
        """Where nodes of the main graph begin that run once all values of an expression are there."""
        return frozenset()

    def check(self, expression: Expression, index: int) -> None:
        """See that a loop's body has all the names of an expression.

        Raises:
            UsageError: it does not; the text says what is near.
        """
        names = self.names(index)
        for name in sorted(expression.names - names):
            if name in self._visible(index):
                raise UsageError(
                    f"'{expression.text}' cannot be tested at the boundaries of loop '{self.called(index)}': "
                    f"{quote(name)} is of {self.home(name)}"
                )
            similar = near(name, names)
            hint = f"; did you mean {' or '.join(map(quote, similar))}?" if similar else ""
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


def _before(graph: Graph, loop: Loop) -> tuple[set[Value], bool]:
    """The values of a graph that are there when a loop in it is entered, and whether it is in it at all; a loop in the
    branch of an If has those of that branch as well."""
    known = {*graph.inputs, *graph.constants}
    for node in graph.nodes:
        if node is loop:
            return known, True
        if isinstance(node, If):
            for _, branch in bodies(node):
                inside, found = _before(branch, loop)
                if found:
                    return known | inside, True
                known |= inside
        known.update(value for value in node.outputs if value is not None)
    return known, False
