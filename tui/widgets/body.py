"""The body of the loop in focus, as the pseudo-code that ``list`` prints: what runs next, and the values beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, overload

from rich.cells import cell_len

from ...debugger.words.listing import BESIDE, FAILED, NOT_YET, SKIPPED, Beside, Listing, Row, ShownStop, code
from ...debugger.words.moments import seen
from ...debugger.words.names import mask
from ...debugger.words.source import Line as SourceLine
from ...debugger.words.source import LineKind
from ...runtime.graph import Graph, If, Node, Value, bodies
from ..screen.cells import short_value
from ..screen.lines import Line, Role, Span, fit_spans, line, pad
from ..screen.program import program
from ..screen.targets import LineTarget, ValueTarget
from ..screen.text import printable
from ..screen.view import Shown, graph_of
from .pane import Pane

#: The sign, and with the number of the line.
_SIGN, _NUMBERED = 2, 7
#: Below this width the numbers are left out.
_NARROW = 44
#: Where several outputs have fewer cells each, the first one is shown, and how many more there are.
_LEAST_VALUE = 10
#: Lines that make values, and lines that head others.
_MAKES, _HEADS = (LineKind.NODE, LineKind.SLICE), (LineKind.LOOP, LineKind.IF)
_ROLES = {Beside.NEW: Role.VALUE, Beside.LAST: Role.PLAIN}


class Body(Pane):
    """The listing of a body; ``▶`` the node that runs next, ``·`` not computed yet, ``–`` in the branch not taken."""

    def __init__(self, id: str) -> None:
        super().__init__("Source", id)

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        frame = shown.frame.frame
        name = printable(frame.name)
        title = f"Body of loop '{name}'" if frame.loop else f"Main graph {name}"
        self.set_title(title, seen(frame) if frame.loop is not None else "")
        return BodyLines(Listing(program(shown.main), _stop_of(shown)), width, shown.depth)

    def follow(self) -> None:
        if isinstance(self.lines, BodyLines) and self.lines.listing.next is not None:
            self.cursor = self.lines.listing.next
            self.show_line(self.cursor)

    @property
    def listing_lines(self) -> Sequence[SourceLine]:
        """The lines of the program that it shows."""
        return self.lines.listing.source.lines if isinstance(self.lines, BodyLines) else ()


def _stop_of(shown: Shown) -> ShownStop:
    frame, values = shown.frame.frame, shown.frame.frame.values
    between = frame.loop is not None and (frame.at_boundary or shown.depth is None)

    def read(value: Value) -> tuple[bool, Any]:
        return value.name in values, values.get(value.name)

    return ShownStop(
        frame.loop,
        frame.iteration,
        between,
        frame.stopped_by,
        shown.depth is not None,
        shown.failed and shown.frame is shown.view.top,
        {node: entry.state for node, entry in zip(_nodes(graph_of(frame, shown.main)), frame.nodes, strict=False)},
        read,
    )


def _nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a body in the order of a frame's: those inside Ifs included, but not those of loops inside."""
    for node in graph.nodes:
        yield node
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from _nodes(branch)


class BodyLines(Sequence[Line]):
    """The rows of a listing in the width that there is, and below them what ends the loop; a line is made when it is
    looked at, since bodies can be long."""

    def __init__(self, listing: Listing, width: int, depth: int | None) -> None:
        self.listing = listing
        self._depth = depth
        self._width = width
        self._first = _NUMBERED if width >= _NARROW else _SIGN
        self._notes = [
            part for note in listing.notes() for part in textwrap.wrap(note, max(20, width), subsequent_indent="  ")
        ]
        lines = listing.source.lines
        room = width - self._first - len(BESIDE)
        whole = [cell_len(text) for text in listing.source.text()]
        bare = [cell_len(code(line)) for line in lines]
        # Comments stand where there is room for them beside the values.
        self._commented = max(whole, default=0) <= room - _LEAST_VALUE - len(NOT_YET)
        self._widths = whole if self._commented else bare
        least = max(10, min(14, room * 3 // 10))
        beside = [width for line, width in zip(lines, self._widths, strict=True) if line.kind in _MAKES]
        heads = [width for line, width in zip(lines, self._widths, strict=True) if line.kind in _HEADS]
        # What heads other lines is not cut for what it gives, and makes the others no narrower.
        wanted = max((*beside, *(width for width in heads if width <= room - least)), default=0)
        self._text = max(4, min(wanted, room - least))
        self._value = max(0, room - self._text)

    def __len__(self) -> int:
        return len(self.listing) + (1 + len(self._notes) if self._notes else 0)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | Sequence[Line]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if index >= len(self):
            raise IndexError(index)
        if index < len(self.listing):
            return self._line(index, self.listing.row(index))
        below = index - len(self.listing) - 1
        return line((self._notes[below], Role.DIM)) if below >= 0 else line()

    def _line(self, index: int, row: Row) -> Line:
        number = f"{row.line.number:>3}  " if self._first == _NUMBERED else ""
        mark = Role.ERROR if row.sign == FAILED else Role.MARK
        spans = self._code(index, row)
        fits = row.line.kind not in _HEADS or self._widths[index] <= self._text
        if row.beside is not Beside.NOTHING and self._value >= 3 and fits:
            value = (self._beside(row), _ROLES.get(row.beside, Role.DIM))
            spans = [*_padded(spans, self._text), (BESIDE, Role.DIM), value]
        gutter = [(f"{row.sign} ", mark), (number, Role.DIM)]
        return Line(fit_spans([*gutter, *spans], self._width), index == self.listing.next, self._target(row.line))

    def _target(self, line: SourceLine) -> LineTarget:
        node, value = line.node, next(iter(line.values), None)
        told = "" if node is None else f"{node.op_type} '{printable(node.name)}'"
        made = None if value is None else ValueTarget(value.name, self._depth, declared=value)
        return LineTarget(line.number, line.text, told, made)

    def _code(self, index: int, row: Row) -> list[Span]:
        """The line in roles: what it writes, what it computes, what it means."""
        text = code(row.line)
        comment = self.listing.source.text()[index][len(text) :] if self._commented else ""
        plain = Role.DIM if row.beside is Beside.SKIPPED else Role.PLAIN
        assigned = mask(text).find(" = ")
        if row.line.kind is LineKind.LOOP:
            spans = [(text, Role.NAME)]
        elif assigned < 0:
            spans = [(text, plain)]
        else:
            name = Role.DIM if row.beside is Beside.SKIPPED else Role.NAME
            spans = [(text[:assigned], name), (" = ", Role.DIM), (text[assigned + 3 :], plain)]
        return [*spans, (comment, Role.DIM)] if comment else spans

    def _beside(self, row: Row) -> str:
        values, room = row.values, self._value
        if not values:
            return SKIPPED if row.beside is Beside.SKIPPED else NOT_YET
        each = (room - 2 * (len(values) - 1)) // len(values)
        if len(values) > 1 and each < _LEAST_VALUE:
            more = f" +{len(values) - 1}"
            return short_value(values[0], room - len(more)) + more
        return ", ".join(short_value(value, each) for value in values)


def _padded(spans: Sequence[Span], width: int) -> list[Span]:
    """Spans in exactly ``width`` cells."""
    kept = fit_spans(spans, width)
    used = sum(cell_len(text) for text, _ in kept)
    return [*kept, (pad("", width - used), Role.PLAIN)]
