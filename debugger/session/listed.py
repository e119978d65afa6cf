"""Lines of the pseudo-code at a stop, with their signs and what this iteration made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.graph import Value
from ...runtime.graph.slices import entry_parts
from ...runtime.text import printable_lines
from ..breakpoints.collection import Breakpoints
from ..frame import AnyFrame
from ..words.listing import Listing, Row, ShownStop
from ..words.moments import seen
from ..words.source import Source


@dataclass(frozen=True, eq=False)
class Listed:
    """Lines of a frame's loop; ``rows``: each with its line, its sign and its values; ``head``: which iteration the
    values are of. ``str()`` is what the console prints."""

    head: str
    rows: tuple[Row, ...]
    text: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """All of it as text."""
        yield from [self.head] if self.head else []
        yield from self.text

    def __str__(self) -> str:
        return printable_lines(self.lines())

    def _repr_html_(self) -> str:
        from ...runtime.extensions import extension

        drawn: str = extension("html")("text", self)
        return drawn


def listed(
    source: Source,
    frame: AnyFrame,
    breakpoints: Breakpoints,
    which: str = "",
    *,
    running: bool = True,
    quiet: bool = False,
) -> Listed:
    """The pseudo-code of a frame's loop (the whole model outside of loops), the values of this iteration beside it.

    ``which``: "" for the lines around the one that runs next, a number for those around a line, ``all`` for all of
    them and, unless it is to be ``quiet``, what ends the loop; after that ``plain``: without the lines of code that
    they come from, or ``code``: with those of scripts too, and with what an exporter made of a line in a loop's body.

    Raises:
        UsageError: there is no such line here.
    """
    which, word = _with_code(which)
    listing = listing_of(source, frame, breakpoints, running=running, quiet=quiet)
    if which == "all":
        rows = range(len(listing))
    elif not which:
        rows = listing.window()
    else:
        first, last = listing.source.lines[0].number, listing.source.lines[-1].number
        line = int(which) if which.isdecimal() and len(which) < 18 else -1
        if not first <= line <= last:
            raise UsageError(f"list takes a line from {first} to {last}, or all, not '{which}'")
        rows = listing.around(line - first)
    head = seen(frame) if frame.loop is not None and frame.at_boundary and frame.iteration else ""
    shown = word == "code" or not (word or listing.source.is_script)
    text = [*listing.text(rows, listing.source.code_above(rows, word == "code") if shown else {})]
    text += listing.notes() if which == "all" else []
    return Listed(head, tuple(listing.row(k) for k in rows), tuple(text))


def listing_of(
    source: Source, frame: AnyFrame, breakpoints: Breakpoints, *, running: bool = True, quiet: bool = False
) -> Listing:
    """All lines of a frame's loop, which rows are made of as they are read."""
    return Listing(
        source,
        ShownStop(
            frame.loop,
            frame.iteration,
            frame.at_boundary,
            frame.stopped_by,
            running=running,
            states={entry.node: entry.state for entry in frame.nodes},
            read=_reader(frame),
            breakpoints=breakpoints.marked(),
            quiet=quiet,
        ),
    )


def _with_code(which: str) -> tuple[str, str]:
    """What is listed, and the word that says whether with the code that it comes from."""
    first, _, last = which.rpartition(" ")
    return (first.rstrip(), last) if last in ("code", "plain") else (which, "")


def _reader(frame: AnyFrame) -> Callable[[Value], tuple[bool, Any]]:
    """Reads what an iteration made; at a boundary the parts of sliced inputs are the next one's already, and those
    that the iteration before got are cut anew."""
    values, loop = frame.values, frame.loop
    behind = loop is not None and frame.at_boundary and frame.stopped_by is None
    parts = {port.inner: port for port in loop.sliced_inputs} if loop is not None and behind else {}

    def read(value: Value) -> tuple[bool, Any]:
        port = parts.get(value)
        if port is None:
            return values.read(value)
        there, whole = values.read(port.outer)
        if not there or not isinstance(whole, np.ndarray):
            return False, None
        found = entry_parts(whole, port, frame.name, frame.trip_count)
        last = frame.iteration - 1
        return (True, found[last]) if 0 <= last < len(found) else (False, None)

    return read
