"""Lines of the pseudo-code at a stop, with their signs and what this iteration made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.graph import Value
from ...runtime.graph.slicing import entry_parts
from ...runtime.text import escape_lines
from ..breakpoints.collection import Breakpoints
from ..describe.frame_text import values_label
from ..describe.listing import Listing, ListingContext, ListingRow
from ..describe.pseudo_code import PseudoCode
from ..frame_protocol import FrameProtocol


@dataclass(frozen=True, eq=False)
class SourceListing:
    """Lines of a frame's loop; ``rows``: each with its line, its sign and its values; ``head``: which iteration the
    values are of. ``str()`` is what the console prints."""

    head: str
    rows: tuple[ListingRow, ...]
    text: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """All of it as text."""
        yield from [self.head] if self.head else []
        yield from self.text

    def __str__(self) -> str:
        return escape_lines(self.lines())

    def _repr_html_(self) -> str:
        from ...runtime.plugin_registry import load_plugin

        drawn: str = load_plugin("html")("text", self)
        return drawn


def list_source(
    source: PseudoCode,
    frame: FrameProtocol,
    breakpoints: Breakpoints,
    which: str = "",
    *,
    running: bool = True,
    quiet: bool = False,
) -> SourceListing:
    """The pseudo-code of a frame's loop (the whole model outside of loops), the values of this iteration beside it.

    ``which``: "" for the lines around the one that runs next, a number for those around a line, ``all`` for all of
    them and, unless it is to be ``quiet``, what ends the loop; after that ``plain``: without the lines of code that
    they come from, or ``code``: with those of scripts too, and with what an exporter made of a line in a loop's body.

    Raises:
        UsageError: there is no such line here.
    """
    which, word = _split_code_option(which)
    listing = build_listing(source, frame, breakpoints, running=running, quiet=quiet)
    if which == "all":
        rows = range(len(listing))
    elif not which:
        rows = listing.window()
    else:
        first, last = listing.source.lines[0].number, listing.source.lines[-1].number
        line = int(which) if which.isdecimal() and len(which) < 18 else -1
        if not first <= line <= last:
            raise UsageError(f"list takes a line from {first} to {last}, or all, not '{which}'")
        rows = listing.lines_around(line - first)
    head = values_label(frame) if frame.loop is not None and frame.at_boundary and frame.iteration else ""
    shown = word == "code" or not (word or listing.source.is_script)
    text = [*listing.text(rows, listing.source.code_above(rows, word == "code") if shown else {})]
    text += listing.notes() if which == "all" else []
    return SourceListing(head, tuple(listing.row(k) for k in rows), tuple(text))


def build_listing(
    source: PseudoCode, frame: FrameProtocol, breakpoints: Breakpoints, *, running: bool = True, quiet: bool = False
) -> Listing:
    """All lines of a frame's loop, which rows are made of as they are read."""
    return Listing(
        source,
        ListingContext(
            frame.loop,
            frame.iteration,
            frame.at_boundary,
            frame.stopped_by,
            running=running,
            states={entry.node: entry.state for entry in frame.nodes},
            read=_iteration_value_reader(frame),
            breakpoints=breakpoints.marked_nodes(),
            hide_notes=quiet,
        ),
    )


def _split_code_option(which: str) -> tuple[str, str]:
    """What is listed, and the word that says whether with the code that it comes from."""
    first, _, last = which.rpartition(" ")
    return (first.rstrip(), last) if last in ("code", "plain") else (which, "")


def _iteration_value_reader(frame: FrameProtocol) -> Callable[[Value], tuple[bool, Any]]:
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
