"""The lines of somebody's code that nodes come from, as every view writes them: ``model.py:87  x = self.cell(x, h)``.

A model tells the line, and often its text. Where it does not, the text is read from the file, if that is there: as the
exporter wrote the path, else in the folder of the model. A model may name any file, so only regular files that end in
``.py`` are looked at, none of another machine, and no more of them than a line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ...runtime.files import bytes_of
from ...runtime.graph import Graph, Node, Origin
from ...runtime.text import printable

#: No larger file is read, and no more of a line is shown.
_LARGEST, _LONGEST = 1 << 22, 200
#: Between a line and what an exporter made of it: the body of a loop that torch traced.
_TRACED = " ▸ "
#: Between a line and the one that called the function which contains it.
_CALLED_FROM = "  <- called from "


class Code:
    """The code that the nodes of one model come from."""

    def __init__(self, graph: Graph) -> None:
        """``graph``: the main graph, which knows the folder of its file."""
        self._folder = graph.folder

    def told(self, node: Node) -> str:
        """``model.py:87  x = self.cell(x, h)``; of the body of a loop that torch traced ``model.py:142 ▸ gates = a +
        b``, which is what it made of the line. For a node that a helper function of a script makes, the line that calls
        the helper follows. Empty where the line is not known."""
        origin = node.origin
        if origin.file and origin.traced:
            return f"{origin}{_TRACED}{_short(origin.traced)}"
        if not origin.called_from:
            return self.line(node)
        caller = Origin(*origin.callers[-1])
        innermost, _, outer = origin.called_from.partition(", ")
        text = self.text(caller)
        called = f"{innermost}{text and f'  {text}'}{outer and f'  <- {outer}'}"
        return f"{self.line(node)}{_CALLED_FROM}{called}"

    def line(self, node: Node) -> str:
        """The same without what an exporter made of the line, which all of a loop's body may share."""
        where = str(node.origin)
        text = self.text(node.origin) if where else ""
        return f"{where}  {text}" if text else where

    def text(self, origin: Origin) -> str:
        """The text of the line; empty where neither the model nor the file has it."""
        if origin.code or not origin.line:
            return _short(origin.code)
        return next((_short(text) for path in self._paths(origin) if (text := _line(path, origin.line))), "")

    def _paths(self, origin: Origin) -> Iterator[str]:
        """Where the file may be."""
        written = origin.file
        if os.path.isabs(written):
            yield written
        elif self._folder:
            yield os.path.join(self._folder, written)
        if self._folder:
            yield os.path.join(self._folder, origin.base)


def _short(text: str) -> str:
    text = printable(text.strip())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _line(path: str, number: int) -> str:
    lines = _lines(path)
    return lines[number - 1] if number <= len(lines) else ""


@lru_cache(maxsize=32)
def _lines(path: str) -> Sequence[str]:
    """The lines of a Python file; none of one that cannot be read or is no text."""
    # To look at \\host\share is to log on there.
    if not path.endswith(".py") or path.startswith(("\\\\", "//")) or "\0" in path:
        return ()
    try:
        return bytes_of(path, _LARGEST).decode("utf-8").splitlines()
    except (OSError, ValueError):
        return ()
