"""Maps source lines of a model (``model.py:87``) to its nodes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Node, bodies, walk
from ...runtime.text import did_you_mean, escape_unprintable

#: ``model.py:87``, ``nets/model.py:87``. Value names with a colon have no ``.py`` before it.
CODE_LINE_PATTERN = re.compile(r"(?P<file>[^`'\"]+\.py):(?P<line>\d{1,9})")
#: The call chain of one execution of a line, outermost first: file and line.
_CallChain = tuple[tuple[str, int], ...]
#: The nodes by file and line, each with its call chain.
_NodesByLine = dict[str, dict[int, dict[Node, _CallChain]]]
#: Number of alternatives in the message about a line without nodes.
_MAX_NEAREST_LINES = 4


class LineTable:
    """The lines of code that a model's nodes come from."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @cached_property
    def _nodes_by_own_line(self) -> _NodesByLine:
        """The nodes of each line by file, in execution order."""
        table: _NodesByLine = {}
        for node in walk(self._graph):
            _add_node(table, node.origin.file, node.origin.line, node, node.origin.callers)
        return table

    @cached_property
    def _nodes_by_call_line(self) -> _NodesByLine:
        """The same for lines without nodes of their own that call a function with nodes."""
        table: _NodesByLine = {}
        for node in walk(self._graph):
            for depth, (file, line) in enumerate(node.origin.callers):
                if line not in self._nodes_by_own_line.get(_posix_path(file), ()):
                    _add_node(table, file, line, node, node.origin.callers[:depth])
        return table

    @cached_property
    def _nodes_by_source_line(self) -> _NodesByLine:
        files = dict.fromkeys((*self._nodes_by_own_line, *self._nodes_by_call_line))
        return {file: self._nodes_by_own_line.get(file, {}) | self._nodes_by_call_line.get(file, {}) for file in files}

    def break_locations(self) -> list[str]:
        """Every line with nodes in ``break`` syntax, for completion: ``model.py:87``."""
        return [
            f"{self._short_path(file)}:{line}"
            for file, lines in self._nodes_by_source_line.items()
            for line in sorted(lines)
        ]

    def nodes_of_line(self, file: str, line: int, among: Collection[Node]) -> frozenset[Node]:
        """The first node of a line in each body, restricted to ``among``. A line of a function that is called from
        several places has one first node for each call. A line that calls a function has the nodes of the function.

        Raises:
            UsageError: no node comes from there, or several files have that name.
        """
        lines = self._nodes_by_source_line[self._resolve_file(_posix_path(file), line)]
        if line not in lines:
            nearest = sorted(sorted(lines, key=lambda candidate: abs(candidate - line))[:_MAX_NEAREST_LINES])
            raise UsageError(
                f"no node comes from {escape_unprintable(file)}:{line}; the nearest lines with nodes are"
                f" {', '.join(map(str, nearest))}",
                name=f"{file}:{line}",
                expected=", ".join(map(str, nearest)),
            )
        among = {*among}
        calls_of_node = {node: calls for node, calls in lines[line].items() if node in among}
        first_nodes = frozenset(_first_nodes(self._graph, calls_of_node))
        if not first_nodes:
            raise UsageError(
                f"no node of that loop comes from {escape_unprintable(file)}:{line}; leave 'in LOOP' out",
                name=f"{file}:{line}",
            )
        return first_nodes

    def _resolve_file(self, name: str, line: int) -> str:
        """The file with a name; among several the one that has the line."""
        if not self._nodes_by_source_line:
            raise UsageError(
                f"the model does not tell what code it comes from, so none of it is {escape_unprintable(name)}"
            )
        named_paths = [path for path in self._nodes_by_source_line if path == name or path.endswith(f"/{name}")]
        paths = [path for path in named_paths if line in self._nodes_by_source_line[path]] or named_paths
        if len(paths) == 1:
            return paths[0]
        if paths:
            labels = [escape_unprintable(f"{self._short_path(path)}:{line}") for path in paths]
            raise UsageError(
                f"several files are called {escape_unprintable(name)}; say {' or '.join(labels)}", name=name
            )
        known_files = [self._short_path(path) for path in self._nodes_by_source_line]
        hint = (
            did_you_mean(name, known_files, "{}")
            or f"; there are {escape_unprintable(', '.join(known_files[:_MAX_NEAREST_LINES]))}"
        )
        raise UsageError(f"no node comes from a file {escape_unprintable(name)}{hint}", name=name)

    def _short_path(self, path: str) -> str:
        """The shortest suffix of a path that is unique among the files."""
        parts = path.split("/")
        for count in range(1, len(parts)):
            suffix = "/".join(parts[-count:])
            if sum(path_ == suffix or path_.endswith(f"/{suffix}") for path_ in self._nodes_by_source_line) == 1:
                return suffix
        return path


def _posix_path(path: str) -> str:
    return path.replace("\\", "/")


def _add_node(table: _NodesByLine, file: str, line: int, node: Node, calls: _CallChain) -> None:
    if file and line:
        table.setdefault(_posix_path(file), {}).setdefault(line, {}).setdefault(node, calls)


def _first_nodes(graph: Graph, calls_of_node: Mapping[Node, _CallChain]) -> Iterator[Node]:
    """The first node for each execution of a line in a graph, and in each nested graph."""
    first_by_calls: dict[_CallChain, Node] = {}
    for node in graph.nodes:
        if node in calls_of_node:
            first_by_calls.setdefault(calls_of_node[node], node)
    yield from first_by_calls.values()
    for node in graph.nodes:
        for _, body in bodies(node):
            yield from _first_nodes(body, calls_of_node)
