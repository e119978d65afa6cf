"""The lines of somebody's code that nodes come from, as every view writes them: ``model.py:87  x = self.cell(x, h)``.

A model tells the line, and often its text. Where it does not, the text is read from the file, if that is there: as the
exporter wrote the path, else in the folder of the model. A model may name any file, so only regular files that end in
``.py`` are looked at, none of another machine, and no more of them than a line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ...runtime.graph import Graph, Node, Origin
from ...runtime.stable_file import read_bytes
from ...runtime.text import escape_unprintable

#: No larger file is read, and no more of a line is shown.
_MAX_FILE_BYTES, _MAX_LINE_CHARS = 1 << 22, 200
#: Between a line and what an exporter made of it: the body of a loop that torch traced.
_TRACED_SEPARATOR = " ▸ "
#: Between a line and the one that called the function which contains it.
_CALLER_SEPARATOR = "  <- called from "


class CodeLines:
    """The code that the nodes of one model come from."""

    def __init__(self, graph: Graph) -> None:
        """``graph``: the main graph, which knows the folder of its file."""
        self._folder = graph.folder

    def describe_node(self, node: Node) -> str:
        """``model.py:87  x = self.cell(x, h)``; of the body of a loop that torch traced ``model.py:142 ▸ gates = a +
        b``, which is what it made of the line. For a node that a helper function of a script makes, the line that calls
        the helper follows. Empty where the line is not known."""
        origin = node.origin
        if origin.file and origin.traced:
            return f"{origin}{_TRACED_SEPARATOR}{_truncate(origin.traced)}"
        if not origin.called_from:
            return self.line_of_node(node)
        caller = Origin(*origin.callers[-1])
        innermost, _, outer = origin.called_from.partition(", ")
        text = self.text_of_origin(caller)
        called = f"{innermost}{text and f'  {text}'}{outer and f'  <- {outer}'}"
        return f"{self.line_of_node(node)}{_CALLER_SEPARATOR}{called}"

    def line_of_node(self, node: Node) -> str:
        """The same without what an exporter made of the line, which all of a loop's body may share."""
        where = str(node.origin)
        text = self.text_of_origin(node.origin) if where else ""
        return f"{where}  {text}" if text else where

    def text_of_origin(self, origin: Origin) -> str:
        """The text of the line; empty where neither the model nor the file has it."""
        if origin.code or not origin.line:
            return _truncate(origin.code)
        return next(
            (_truncate(text) for path in self._candidate_paths(origin) if (text := _file_line(path, origin.line))), ""
        )

    def _candidate_paths(self, origin: Origin) -> Iterator[str]:
        """Where the file may be."""
        written = origin.file
        if os.path.isabs(written):
            yield written
        elif self._folder:
            yield os.path.join(self._folder, written)
        if self._folder:
            yield os.path.join(self._folder, origin.file_name)


def _truncate(text: str) -> str:
    text = escape_unprintable(text.strip())
    return text if len(text) <= _MAX_LINE_CHARS else f"{text[: _MAX_LINE_CHARS - 1]}…"


def _file_line(path: str, number: int) -> str:
    lines = _file_lines(path)
    return lines[number - 1] if number <= len(lines) else ""


@lru_cache(maxsize=32)
def _file_lines(path: str) -> Sequence[str]:
    """The lines of a Python file; none of one that cannot be read or is no text."""
    # To look at \\host\share is to log on there.
    if not path.endswith(".py") or path.startswith(("\\\\", "//")) or "\0" in path:
        return ()
    try:
        return read_bytes(path, _MAX_FILE_BYTES).decode("utf-8").splitlines()
    except (OSError, ValueError):
        return ()
