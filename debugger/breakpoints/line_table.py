"""Where to stop for a line of somebody's code: ``model.py:87``, the nodes that it became."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Node, bodies, walk
from ...runtime.text import did_you_mean, escape_unprintable

#: ``model.py:87``, ``nets/model.py:87``. Names of values with a colon have no such ending before it.
CODE_LINE_PATTERN = re.compile(r"(?P<file>[^`'\"]+\.py):(?P<line>\d{1,9})")
#: The calls that led to one run of a line, the outermost first: file and line.
_CallChain = tuple[tuple[str, int], ...]
#: The nodes by file and line, each with the calls that led to the line.
_NodesByLine = dict[str, dict[int, dict[Node, _CallChain]]]
#: So many lines are named where one has no nodes.
_MAX_NEAREST_LINES = 4


class LineTable:
    """The lines of code that a model's nodes come from."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @cached_property
    def _lines(self) -> _NodesByLine:
        """The nodes of each line by file, in the order in which they run."""
        found: _NodesByLine = {}
        for node in walk(self._graph):
            _add_node(found, node.origin.file, node.origin.line, node, node.origin.callers)
        return found

    @cached_property
    def _call_lines(self) -> _NodesByLine:
        """The same of lines that call a function whose lines have nodes, where they have none themselves."""
        found: _NodesByLine = {}
        for node in walk(self._graph):
            for depth, (file, line) in enumerate(node.origin.callers):
                if line not in self._lines.get(_posix_path(file), ()):
                    _add_node(found, file, line, node, node.origin.callers[:depth])
        return found

    @cached_property
    def _all_lines(self) -> _NodesByLine:
        files = dict.fromkeys((*self._lines, *self._call_lines))
        return {file: self._lines.get(file, {}) | self._call_lines.get(file, {}) for file in files}

    def line_names(self) -> list[str]:
        """Every line with nodes, as ``break`` takes it, for completion: ``model.py:87``."""
        return [f"{self._short_path(file)}:{line}" for file, lines in self._all_lines.items() for line in sorted(lines)]

    def nodes_of_line(self, file: str, line: int, among: Collection[Node]) -> frozenset[Node]:
        """The first node of a line in each body, among some: there the line begins in an iteration. A line of a
        function that is called in several places begins once for each call. A line that calls a function has the nodes
        of that.

        Raises:
            UsageError: no node comes from there, or several files have that name.
        """
        lines = self._all_lines[self._resolve_file(_posix_path(file), line)]
        if line not in lines:
            near = sorted(sorted(lines, key=lambda other: abs(other - line))[:_MAX_NEAREST_LINES])
            raise UsageError(
                f"no node comes from {escape_unprintable(file)}:{line}; the nearest lines with nodes are"
                f" {', '.join(map(str, near))}"
            )
        among = {*among}
        wanted = {node: calls for node, calls in lines[line].items() if node in among}
        found = frozenset(_first_nodes(self._graph, wanted))
        if not found:
            raise UsageError(f"no node of that loop comes from {escape_unprintable(file)}:{line}; leave 'in LOOP' out")
        return found

    def _resolve_file(self, name: str, line: int) -> str:
        """The file that is meant: of several the one that has the line."""
        if not self._all_lines:
            raise UsageError(
                f"the model does not tell what code it comes from, so none of it is {escape_unprintable(name)}"
            )
        named = [path for path in self._all_lines if path == name or path.endswith(f"/{name}")]
        found = [path for path in named if line in self._all_lines[path]] or named
        if len(found) == 1:
            return found[0]
        if found:
            shorts = [escape_unprintable(f"{self._short_path(path)}:{line}") for path in found]
            raise UsageError(f"several files are called {escape_unprintable(name)}; say {' or '.join(shorts)}")
        have = [self._short_path(path) for path in self._all_lines]
        hint = (
            did_you_mean(name, have, "{}") or f"; there are {escape_unprintable(', '.join(have[:_MAX_NEAREST_LINES]))}"
        )
        raise UsageError(f"no node comes from a file {escape_unprintable(name)}{hint}")

    def _short_path(self, path: str) -> str:
        """The end of a path that no other file has, as few of its folders as possible."""
        parts = path.split("/")
        for count in range(1, len(parts)):
            end = "/".join(parts[-count:])
            if sum(other == end or other.endswith(f"/{end}") for other in self._all_lines) == 1:
                return end
        return path


def _posix_path(path: str) -> str:
    return path.replace("\\", "/")


def _add_node(found: _NodesByLine, file: str, line: int, node: Node, calls: _CallChain) -> None:
    if file and line:
        found.setdefault(_posix_path(file), {}).setdefault(line, {}).setdefault(node, calls)


def _first_nodes(graph: Graph, wanted: Mapping[Node, _CallChain]) -> Iterator[Node]:
    """The first node for each run of a line in a graph, and in each graph inside it."""
    first: dict[_CallChain, Node] = {}
    for node in graph.nodes:
        if node in wanted:
            first.setdefault(wanted[node], node)
    yield from first.values()
    for node in graph.nodes:
        for _, inner in bodies(node):
            yield from _first_nodes(inner, wanted)
