"""Pseudo-code listings at a stop, with markers and the values of this iteration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...runtime.errors import UsageError
from ...runtime.text import escape_lines
from ..breakpoints.collection import Breakpoints
from ..describe.frame_text import values_label
from ..describe.listing import ListingRow
from ..describe.pseudo_code import PseudoCode
from ..frame_state import FrameState
from ..statistics.tensor_statistics import TensorRef


@dataclass(frozen=True, eq=False)
class SourceListing:
    """Lines of a frame's loop; ``rows``: each with its line, its marker and its values; ``head``: the iteration of the
    values. ``str()`` is the console output."""

    head: str
    rows: tuple[ListingRow, ...]
    text: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """The listing as text."""
        yield from [self.head] if self.head else []
        yield from self.text

    def __str__(self) -> str:
        return escape_lines(self.lines())

    def _repr_html_(self) -> str:
        from ...runtime.lazy_function_registry import load_plugin

        html: str = load_plugin("html")("text", self)
        return html


def list_source(
    source: PseudoCode,
    frame: FrameState,
    breakpoints: Breakpoints,
    which: str = "",
    *,
    running: bool = True,
    quiet: bool = False,
) -> SourceListing:
    """The pseudo-code of a frame's loop (of the model outside of loops), with the values of this iteration.

    ``which``: "" for the lines around the one that runs next, a number for those around a line, ``all`` for all lines
    and, unless ``quiet``, the end of the loop; followed by ``plain``: without the source lines, or ``code``: with those
    of scripts, and with the nodes that an exporter generated from a line in a loop's body.

    Raises:
        UsageError: there is no such line here.
    """
    which, option = _split_code_option(which)
    listing = frame.listing(source, running=running, breakpoints=breakpoints.nodes_with_breakpoints(), hide_notes=quiet)
    if which == "all":
        rows = range(len(listing))
    elif not which:
        rows = listing.window()
    else:
        first, last = listing.source.lines[0].number, listing.source.lines[-1].number
        line = int(which) if which.isdecimal() and len(which) < 18 else -1
        if not first <= line <= last:
            raise UsageError(
                f"list takes a line from {first} to {last}, or all, not '{which}'",
                expected=f"{first} to {last}, or all",
                got=str(which),
            )
        rows = listing.lines_around(line - first)
    head = values_label(frame) if frame.loop is not None and frame.at_boundary and frame.iteration else ""
    shows_code = option == "code" or not (option or listing.source.is_script)
    text = [*listing.text(rows, listing.source.code_above(rows, option == "code") if shows_code else {})]
    text += listing.notes() if which == "all" else []
    return SourceListing(head, tuple(_detached_row(listing.row(k)) for k in rows), tuple(text))


def _split_code_option(which: str) -> tuple[str, str]:
    """The selected lines, and the option about source lines."""
    first, _, option = which.rpartition(" ")
    return (first.rstrip(), option) if option in ("code", "plain") else (which, "")


def _detached_row(row: ListingRow) -> ListingRow:
    """A row that stays valid after the session has moved."""
    if not any(isinstance(value, TensorRef) for value in row.values):
        return row
    values = tuple(np.asarray(value) if isinstance(value, TensorRef) else value for value in row.values)
    return replace(row, values=values)
