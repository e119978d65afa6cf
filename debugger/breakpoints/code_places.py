"""Where to stop for a line of somebody's code: ``model.py:87``, the nodes that it became."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property

from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Node, bodies, walk
from ...runtime.text import did_you_mean, printable

#: ``model.py:87``, ``nets/model.py:87``. Names of values with a colon have no such ending before it.
CODE_PLACE = re.compile(r"(?P<file>[^`'\"]+\.py):(?P<line>\d{1,9})")
#: So many lines are named where one has no nodes.
_NEAREST = 4


class CodePlaces:
    """The lines of code that a model's nodes come from."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @cached_property
    def _lines(self) -> dict[str, dict[int, list[Node]]]:
        """The nodes of each line by file, in the order in which they run."""
        found: dict[str, dict[int, list[Node]]] = {}
        for node in walk(self._graph):
            origin = node.origin
            if origin.file and origin.line:
                found.setdefault(origin.file.replace("\\", "/"), {}).setdefault(origin.line, []).append(node)
        return found

    def names(self) -> list[str]:
        """Every line with nodes, as ``break`` takes it, for completion: ``model.py:87``."""
        return [f"{self._short(file)}:{line}" for file, lines in self._lines.items() for line in sorted(lines)]

    def nodes(self, file: str, line: int, among: Collection[Node]) -> frozenset[Node]:
        """The first node of a line in each body, among some: there the line begins in an iteration.

        Raises:
            UsageError: no node comes from there, or several files have that name.
        """
        path = self._file(file.replace("\\", "/"), line)
        lines = self._lines[path]
        if line not in lines:
            near = sorted(sorted(lines, key=lambda other: abs(other - line))[:_NEAREST])
            raise UsageError(
                f"no node comes from {printable(file)}:{line}; the nearest lines with nodes are"
                f" {', '.join(map(str, near))}"
            )
        found = frozenset(_first_of_each(self._graph, {*lines[line]}.intersection(among)))
        if not found:
            raise UsageError(f"no node of that loop comes from {printable(file)}:{line}; leave 'in LOOP' out")
        return found

    def _file(self, name: str, line: int) -> str:
        """The file that is meant: of several the one that has the line."""
        if not self._lines:
            raise UsageError(f"the model does not tell what code it comes from, so none of it is {printable(name)}")
        named = [path for path in self._lines if path == name or path.endswith(f"/{name}")]
        found = [path for path in named if line in self._lines[path]] or named
        if len(found) == 1:
            return found[0]
        if found:
            shorts = [printable(f"{self._short(path)}:{line}") for path in found]
            raise UsageError(f"several files are called {printable(name)}; say {' or '.join(shorts)}")
        have = [self._short(path) for path in self._lines]
        hint = did_you_mean(name, have, "{}") or f"; there are {printable(', '.join(have[:_NEAREST]))}"
        raise UsageError(f"no node comes from a file {printable(name)}{hint}")

    def _short(self, path: str) -> str:
        """The end of a path that no other file has, as few of its folders as possible."""
        parts = path.split("/")
        for count in range(1, len(parts)):
            end = "/".join(parts[-count:])
            if sum(other == end or other.endswith(f"/{end}") for other in self._lines) == 1:
                return end
        return path


def _first_of_each(graph: Graph, wanted: Collection[Node]) -> Iterator[Node]:
    """The first of some nodes in a graph and in each graph inside it."""
    yield from [node for node in graph.nodes if node in wanted][:1]
    for node in graph.nodes:
        for _, inner in bodies(node):
            yield from _first_of_each(inner, wanted)
