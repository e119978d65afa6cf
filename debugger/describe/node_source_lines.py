"""Source lines of nodes in the format of all views: ``model.py:87  x = self.cell(x, h)``.

A model stores the line number, and often its text. Otherwise the text is read from the file, if it exists: at the
exporter's path, else in the folder of the model. Since a model may name any file, only regular local files that end in
``.py`` are read, and only the one line is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ...runtime.graph import Graph, Node, Origin
from ...runtime.safe_file_reading import read_bytes
from ...runtime.text import escape_unprintable

#: Limits for the size of a file and for the displayed part of a line.
_MAX_FILE_BYTES, _MAX_LINE_CHARS = 1 << 22, 200
#: Between a line and the code that an exporter generated from it: the body of a loop that torch traced.
_TRACED_SEPARATOR = " ▸ "
#: Between a line and the call of the function that contains it.
_CALLER_SEPARATOR = "  <- called from "


class CodeLines:
    """The source code of the nodes of one model."""

    def __init__(self, graph: Graph) -> None:
        """``graph``: the main graph, which has the folder of its file."""
        self._folder = graph.folder

    def describe_node(self, node: Node) -> str:
        """``model.py:87  x = self.cell(x, h)``; in the body of a loop that torch traced ``model.py:142 ▸ gates = a +
        b``, the code generated from the line. For a node from a helper function of a script, the call of the helper
        follows. Empty if the line is unknown."""
        origin = node.origin
        if origin.file and origin.traced:
            return f"{origin}{_TRACED_SEPARATOR}{_truncate(origin.traced)}"
        if not origin.called_from:
            return self.source_line_text(node)
        caller = Origin(*origin.callers[-1])
        innermost, _, outer = origin.called_from.partition(", ")
        text = self.text_of_origin(caller)
        call = f"{innermost}{text and f'  {text}'}{outer and f'  <- {outer}'}"
        return f"{self.source_line_text(node)}{_CALLER_SEPARATOR}{call}"

    def source_line_text(self, node: Node) -> str:
        """The same without generated code, so that the nodes of a loop's body may share one line."""
        location = str(node.origin)
        text = self.text_of_origin(node.origin) if location else ""
        return f"{location}  {text}" if text else location

    def text_of_origin(self, origin: Origin) -> str:
        """The text of the line; empty if neither the model nor the file has it."""
        if origin.code or not origin.line:
            return _truncate(origin.code)
        return next(
            (_truncate(text) for path in self._candidate_paths(origin) if (text := _file_line(path, origin.line))), ""
        )

    def _candidate_paths(self, origin: Origin) -> Iterator[str]:
        """Possible paths of the file."""
        path = origin.file
        if os.path.isabs(path):
            yield path
        elif self._folder:
            yield os.path.join(self._folder, path)
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
    """The lines of a Python file; none if it cannot be read or is no text."""
    # Opening \\host\share would log on to another machine.
    if not path.endswith(".py") or path.startswith(("\\\\", "//")) or "\0" in path:
        return ()
    try:
        return read_bytes(path, _MAX_FILE_BYTES).decode("utf-8").splitlines()
    except (OSError, ValueError):
        return ()
