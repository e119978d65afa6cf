"""The rows of a listing in the width that there is; a line is made when it is looked at, since bodies can be long."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import overload

from rich.cells import cell_len

from ...debugger.words.flow import flow_of
from ...debugger.words.listing import BESIDE, FAILED, NOT_YET, SKIPPED, Beside, Listing, Row, code
from ...debugger.words.names import common_path, mask
from ...debugger.words.source import INDENT, LineKind, Source
from ...debugger.words.source import Line as SourceLine
from ...runtime.graph import Node
from .cells import SET, short_value, valued
from .lines import Line, Role, Span, cells_of, fit, fit_middle, fit_spans, line, pad
from .statement import fit_statement, in_colours, least_cells
from .targets import LineTarget, ValueTarget
from .text import printable

#: The signs, and with the number of the line.
_SIGN, _NUMBERED = 2, 7
#: Below this width the numbers are left out.
_NARROW = 44
#: Where several outputs have fewer cells each, the first one is shown, and how many more there are.
_LEAST_VALUE = 10
#: A value has no fewer cells, however long the line.
_LEAST_BESIDE = 6
#: Lines that make values, and lines that head others.
_MAKES, _HEADS = (LineKind.NODE, LineKind.SLICE), (LineKind.LOOP, LineKind.IF)
_ON, _OFF, _FROM = "●", "○", "‥"
#: What these say of themselves is seen however little room there is.
_SAID = (LineKind.BACK_EDGE, LineKind.SCAN, LineKind.INITIAL)
#: In the indentation: the way of back edges to the head of their loop, which stands above its first cell.
_HEAD, _WAY, _JOIN, _END = "▲", "│", "├── ", "╰── "
#: Behind the number of a line: it makes what the line at the cursor reads, it reads what that makes.
_LIT = {Role.MAKER: "◂", Role.READER: "▸"}
#: A line that is lit: as what, and how deep the indentation begins in which the way of the back edge at the cursor is.
Light = tuple[Role | None, int | None]
_DARK: Light = (None, None)
#: A row as the console prints it, and the cells that a value beside it has at least.
_PRINTED, _PRINTED_VALUE = re.compile(r"[ ▶●✗] *\d+  "), 24
#: So many lines of initial values in a row are folded.
_LONG_RUN = 8
#: A beginning that long names share is said once where it is at least so long.
_PREFIX = 6


@lru_cache(maxsize=4)
def _prefix(source: Source) -> str:
    """What the long names of the lines begin with."""
    names = {value.name for one in source.lines for value in one.values if not value.short}
    paths = sorted(name for name in names if name.startswith("/"))
    prefix = common_path(paths) if len(paths) > 1 else ""
    return prefix if len(prefix) >= _PREFIX else ""


@lru_cache(maxsize=4)
def _texts(source: Source) -> tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
    """The lines without and with comments, and their widths."""
    prefix = _prefix(source)
    bare = tuple(code(one).replace(prefix, _FROM) if prefix else code(one) for one in source.lines)
    whole = tuple(text.replace(prefix, _FROM) if prefix else text for text in source.text())
    return bare, whole, tuple(map(cell_len, bare)), tuple(map(cell_len, whole))


@lru_cache(maxsize=4)
def initial_runs(source: Source) -> Mapping[int, int]:
    """The long runs of lines that give a loop its initial values and invariant inputs: the number of the first line,
    and how many lines there are. As long as they are folded, the first one stands for all."""
    found: dict[int, int] = {}
    first: SourceLine | None = None
    for one in source.lines:
        if one.kind not in (LineKind.INITIAL, LineKind.INVARIANT):
            first = None
            continue
        if first is None or first.indent != one.indent:
            first = one
        found[first.number] = one.number - first.number + 1
    return {number: count for number, count in found.items() if count >= _LONG_RUN}


@lru_cache(maxsize=4)
def _laid_out(source: Source, width: int, folded: frozenset[int], code: bool) -> _Layout:
    return _Layout(source, width, folded, code)


class _Layout:
    """What the lines of a program say in a width, and where their values stand: the same at every stop. ``folded``: the
    numbers of heads whose lines are hidden; ``code``: the lines of code that others come from have rows above them;
    ``rows``: the line of each row, which is twice there where the first of the two is such a row."""

    def __init__(self, source: Source, width: int, folded: frozenset[int], code: bool) -> None:
        self._lines, self._folded = source.lines, folded
        self._runs = initial_runs(source)
        self.first = _NUMBERED if width >= _NARROW else _SIGN
        seen = self._seen_lines()
        #: By line, what stands above it.
        self.above = source.code_above(seen) if code else {}
        self.rows = tuple(sorted((*seen, *self.above)))
        self._width = width - self.first
        self._ways = _ways(source)
        room = width - self.first - len(BESIDE)
        self._bare, self._whole, bare, whole = _texts(source)
        # Comments stand where there is room for them beside the values.
        self._commented = max(whole, default=0) <= room - _LEAST_VALUE - len(NOT_YET)
        widths = self._widths = whole if self._commented else bare
        least = max(10, min(14, room * 3 // 10))
        beside = [width for line, width in zip(self._lines, widths, strict=True) if line.kind in _MAKES]
        heads = [width for line, width in zip(self._lines, widths, strict=True) if line.kind in _HEADS]
        # What heads other lines is not cut for what it gives, and makes the others no narrower.
        wanted = max((*beside, *(width for width in heads if width <= room - least)), default=0)
        needed = self._least(room - least, room - _LEAST_VALUE)
        self._text = max(4, min(wanted, max(room - least, min(needed, room - _LEAST_BESIDE))))
        self.value = max(0, room - self._text)
        #: By line, and whether it is in a branch that was not taken.
        self._said: dict[tuple[int, bool], list[Span]] = {}
        self._said_beside: dict[tuple[int, bool], list[Span]] = {}

    def _least(self, room: int, most: int) -> int:
        """The cells in which no line that has a value beside it loses its results or its operator; where those are more
        than ``most``, its first result or its operator."""
        cut = [k for k, line in enumerate(self._lines) if line.kind in _MAKES and self._widths[k] > room]
        statements = [spans for k in cut if len(spans := self._assignment(k)) > 1]
        whole = max((least_cells(spans, all_results=True) for spans in statements), default=0)
        return whole if whole <= most else max(map(least_cells, statements))

    def _assignment(self, index: int) -> list[Span]:
        """What a line assigns, and what it computes."""
        text = self._bare[index]
        assigned = mask(text).find(" = ")
        if assigned < 0:
            return [(text, Role.PLAIN)]
        return [(text[:assigned], Role.NAME), (" = ", Role.DIM), (text[assigned + 3 :], Role.PLAIN)]

    def _seen_lines(self) -> tuple[int, ...]:
        rows, hidden, run = [], None, 0
        for k, one in enumerate(self._lines):
            if one.number < run:
                continue
            if one.number in self._folded:
                run = one.number + self._runs.get(one.number, 1)
            if hidden is not None and one.indent > hidden:
                continue
            hidden = one.indent if one.number in self._folded and one.number not in self._runs else None
            rows.append(k)
        return tuple(rows)

    def row_of(self, index: int) -> int:
        """The row of a line, or of the head that hides it."""
        return bisect_right(self.rows, index) - 1

    def is_code(self, row: int) -> bool:
        """Whether a row is the code that the line of the next one comes from."""
        return row + 1 < len(self.rows) and self.rows[row] == self.rows[row + 1]

    def fits(self, index: int) -> bool:
        """Whether a value has room beside a line: beside a head only where that is as short as other lines."""
        line = self._lines[index]
        return line.kind not in _HEADS or (line.number not in self._folded and self._widths[index] <= self._text)

    def number(self, index: int) -> str:
        """The number of a line, where there is room for it."""
        return f"{self._lines[index].number:>3}  " if self.first == _NUMBERED else ""

    def said(self, index: int, skipped: bool, beside: bool) -> list[Span]:
        """A line in roles; ``beside``: a value follows, in a column of its own."""
        known = self._said_beside if beside else self._said
        if (index, skipped) not in known:
            spans = self._code(index, skipped)
            spans = [*_padded(spans, self._text), (BESIDE, Role.DIM)] if beside else spans
            known[index, skipped] = [span for span in in_colours(spans) if span[0]]
        return known[index, skipped]

    def _code(self, index: int, skipped: bool) -> list[Span]:
        """What a line writes, what it computes, what it means."""
        line, text = self._lines[index], self._bare[index]
        comment = self._whole[index][len(text) :] if self._commented else ""
        if line.number in self._folded:
            comment = f"  … {self._hidden(index)} lines"
        spans = [(text, Role.NAME)] if line.kind is LineKind.LOOP else self._assignment(index)
        if skipped:
            spans = [(part, Role.DIM) for part, _ in spans]
        if line.number in self._folded and line.number in self._runs:
            # It stands for many: how many must be seen.
            comment = f"  … {self._hidden(index)} more lines"
            spans = _fit(spans, max(8, self._width - cell_len(comment)))
        elif line.kind in _SAID:
            spans, comment = self._with_comment(line, spans, comment)
        spans = self._with_ways(index, spans)
        return [*spans, (comment, Role.COMMENT)] if comment else spans

    def _with_comment(self, line: SourceLine, spans: list[Span], comment: str) -> tuple[list[Span], str]:
        """A line cut so far that its comment is seen, of a long one the first words."""
        if cells_of(spans) + cell_len(comment) > self._width or not comment:
            comment = f"  # {line.comment}"
            if cell_len(comment) > self._width // 2:
                comment = comment.partition(",")[0]
        return _fit(spans, max(8, self._width - cell_len(comment))), comment

    def _with_ways(self, index: int, spans: list[Span]) -> list[Span]:
        """The ways of back edges in the indentation."""
        ways = self._ways.get(index)
        if not ways or not spans[0][0].startswith(" " * len(ways)):
            return spans
        (text, role), *rest = spans
        return [(ways, Role.DIM), (text[len(ways) :], role), *rest]

    def _hidden(self, index: int) -> int:
        """The lines that a folded head hides."""
        lines = self._lines
        if lines[index].number in self._runs:
            return self._runs[lines[index].number] - 1
        after = next((k for k in range(index + 1, len(lines)) if lines[k].indent <= lines[index].indent), len(lines))
        return after - index - 1


def _ways(source: Source) -> dict[int, str]:
    """By line, its indentation with the ways of back edges, to their last cell."""
    found: dict[int, dict[int, str]] = {}
    ends: dict[int, list[int]] = {}
    for edge, head in flow_of(source).heads.items():
        ends.setdefault(head, []).append(edge)
    for head, edges in ends.items():
        column = len(INDENT) * source.lines[head].indent
        for k in range(head + 1, edges[-1] + 1):
            sign = _END if k == edges[-1] else _JOIN if k in edges else _HEAD if k == head + 1 else _WAY
            found.setdefault(k, {})[column] = sign
    return {k: _indented(signs) for k, signs in found.items()}


def _indented(signs: Mapping[int, str]) -> str:
    text = ""
    for column, sign in sorted(signs.items()):
        text = f"{text:<{column}}{sign}"
    return text


class BodyLines(Sequence[Line]):
    """The lines, and below them what ends the loop. ``marks``: nodes with a breakpoint, and whether it is on;
    ``folded``: the numbers of heads whose lines are hidden; ``edited``: the names of values set by hand; ``code``: with
    the lines of code that they come from."""

    #: The cells of the signs, which a click sets a breakpoint in.
    GUTTER = _NUMBERED

    def __init__(
        self,
        listing: Listing,
        width: int,
        depth: int | None,
        marks: Mapping[Node, bool],
        folded: Collection[int] = (),
        edited: Collection[str] = (),
        code: bool = False,
    ) -> None:
        self.listing = listing
        self.prefix = _prefix(listing.source)
        self._depth, self._marks, self._edited = depth, marks, edited
        self._width = width
        self._layout = _laid_out(listing.source, width, frozenset(folded), code)
        self._rows = self._layout.rows
        self._notes = [
            part for note in listing.notes() for part in textwrap.wrap(note, max(20, width), subsequent_indent="  ")
        ]
        self.next = None if listing.next is None else self._layout.row_of(listing.next)
        #: Rows that are lit, since the cursor is on one of them.
        self._lit: dict[int, Light] = {}
        self._lit_at = -1
        #: The lines that somebody asked for: the cursor's is asked for often.
        self._made: dict[int, Line] = {}

    def row_of(self, number: int) -> int | None:
        """The row of the line with a number, where it is seen."""
        lines = self.listing.source.lines
        found = [k for k, index in enumerate(self._rows) if lines[index].number == number]
        return found[-1] if found else None

    def node_of(self, row: int) -> Node | None:
        """The node whose line stands in a row."""
        return self.listing.source.lines[self._rows[row]].node if 0 <= row < len(self._rows) else None

    def head(self, row: int, *, around: bool) -> int | None:
        """The number of the line at a row where that heads others, else, ``around``, of the one that it is inside."""
        lines = self.listing.source.lines
        if not 0 <= row < len(self._rows):
            return None
        index = self._rows[row]
        if self._is_head(lines[index]):
            return lines[index].number
        run = self._run_of(lines[index].number)
        if around and run is not None:
            return run
        inside = lines[index].indent
        while around and index >= 0:
            if lines[index].indent < inside and lines[index].kind in (*_HEADS, LineKind.ELSE):
                return lines[index].number
            index -= 1
        return None

    def heads_of(self, number: int) -> list[int]:
        """The numbers of the lines that a line is inside of."""
        lines, found = self.listing.source.lines, []
        index = next(k for k, one in enumerate(lines) if one.number == number)
        inside = lines[index].indent
        for one in reversed(lines[:index]):
            if one.indent < inside:
                found.append(one.number)
                inside = one.indent
        run = self._run_of(number)
        return found if run in (None, number) else [*found, run]

    def _is_head(self, line: SourceLine) -> bool:
        return line.kind in (*_HEADS, LineKind.ELSE) or line.number in initial_runs(self.listing.source)

    def _run_of(self, number: int) -> int | None:
        """The first line of the run of initial values that a line is in."""
        runs = initial_runs(self.listing.source)
        return next((first for first, count in runs.items() if first <= number < first + count), None)

    # -- what belongs to the line at the cursor

    def light(self, row: int) -> Collection[int]:
        """Light up the lines that make what the one at a row reads, and those that read what it makes; of a back edge
        also its way. Returns the rows that look otherwise than before."""
        if row == self._lit_at:
            return ()
        before, self._lit, self._lit_at = self._lit, self._found(row), row
        changed = {k for k in {*before, *self._lit} if before.get(k) != self._lit.get(k)}
        for k in changed:
            self._made.pop(k, None)
        return changed

    def related(self, row: int, made: bool) -> int | None:
        """The row that makes what the one at a row reads (``made``), or that reads what it makes: the nearest above,
        or below, where there are several; None where there is none."""
        if not 0 <= row < len(self._rows):
            return None
        index, flow = self._rows[row], flow_of(self.listing.source)
        found = (flow.makers if made else flow.readers)[index]
        first = [k for k in found if (k < index) == made] or list(found)
        if not first:
            return None
        return self._layout.row_of(max(first) if made else min(first))

    def _found(self, row: int) -> dict[int, Light]:
        if not 0 <= row < len(self._rows):
            return {}
        index, flow = self._rows[row], flow_of(self.listing.source)
        lit: dict[int, Light] = {self._layout.row_of(k): (Role.READER, None) for k in flow.readers[index]}
        lit |= {self._layout.row_of(k): (Role.MAKER, None) for k in flow.makers[index]}
        lit.pop(row, None)
        if index in flow.heads:
            head = flow.heads[index]
            column = len(INDENT) * self.listing.source.lines[head].indent
            for k in range(self._layout.row_of(head) + 1, row + 1):
                lit[k] = (lit.get(k, _DARK)[0], column)
        return lit

    def _lighted(self, spans: Sequence[Span], light: Light) -> list[Span]:
        """A line in the colour of what it is to the one at the cursor; ``spans``: from the number on."""
        role, column = light
        (number, of_number), *rest = spans
        if rest and rest[0][1] is Role.DIM and column is not None:
            ways = rest[0][0]
            rest[:1] = [(ways[:column], Role.DIM), (ways[column : column + len(INDENT)], Role.ARC),
                        (ways[column + len(INDENT) :], Role.DIM)]  # fmt: skip
        if role is None:
            return [(number, of_number), *rest]
        at = next((k for k, span in enumerate(rest) if span[1] in (Role.NAME, Role.PLAIN)), None)
        if at is not None:
            rest[at] = (rest[at][0], role)
        sign = [(number[:-1], of_number), (_LIT[role], role)] if number else []
        return [*sign, *rest]

    def __len__(self) -> int:
        return len(self._rows) + (1 + len(self._notes) if self._notes else 0)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | Sequence[Line]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if index < len(self._rows):
            if index not in self._made:
                self._made[index] = self._line(index, self._rows[index])
            return self._made[index]
        if index >= len(self):
            raise IndexError(index)
        below = index - len(self._rows) - 1
        return line((self._notes[below], Role.DIM)) if below >= 0 else line()

    def _line(self, at: int, index: int) -> Line:
        layout = self._layout
        if layout.is_code(at):
            text = f"{'':{layout.first}}{layout.above[index]}"
            return Line(
                fit_spans([(text, Role.DIM)], self._width), False, self._target(self.listing.source.lines[index])
            )
        row = self.listing.row(index)
        sign, mark = row.sign, Role.ERROR if row.sign == FAILED else Role.MARK
        if at == self.next and row.sign == " ":
            # What runs next is hidden below this head.
            sign = FAILED if self.listing.stop.failed else "▶"
        on = self._marks.get(row.line.node) if row.line.node is not None else None
        dot = " " if on is None else _ON if on else _OFF
        beside = row.beside is not Beside.NOTHING and layout.value >= 3 and layout.fits(index)
        spans = layout.said(index, row.beside is Beside.SKIPPED, beside)
        if beside:
            spans = [*spans, valued(self._beside(row), Role.VALUE if row.beside is Beside.NEW else Role.DIM)]
        numbered = [(layout.number(index), Role.DIM), *spans]
        if at in self._lit:
            numbered = self._lighted(numbered, self._lit[at])
        gutter = [(sign, mark), (dot, Role.ERROR if on else Role.DIM)]
        return Line(fit_spans([*gutter, *numbered], self._width), at == self.next, self._target(row.line))

    def _target(self, line: SourceLine) -> LineTarget:
        node, value = line.node, next(iter(line.values), None)
        told = "" if node is None else f"{node.op_type} '{printable(node.name)}'"
        if node is not None and node.origin.file:
            told += f" ({node.origin})"
        made = None if value is None else ValueTarget(value.name, self._depth, declared=value)
        return LineTarget(line.number, line.text, told, made, self._is_head(line))

    def _beside(self, row: Row) -> str:
        values, room = row.values, self._layout.value
        if not values:
            return SKIPPED if row.beside is Beside.SKIPPED else NOT_YET
        if any(value.name in self._edited for value in row.line.values):
            return f"{SET} {self._told(row, room - 2)}"
        return self._told(row, room)

    def _told(self, row: Row, room: int) -> str:
        values = row.values
        each = (room - 2 * (len(values) - 1)) // len(values)
        if len(values) > 1 and each < _LEAST_VALUE:
            more = f" +{len(values) - 1}"
            return short_value(values[0], room - len(more)) + more
        return ", ".join([short_value(value, each) for value in values])


def _padded(spans: Sequence[Span], width: int) -> list[Span]:
    """Spans in exactly ``width`` cells; where there is no room, their middle goes: the end tells most."""
    shown = spans if cells_of(spans) <= width else _fit(spans, width)
    return [*shown, (" " * (width - cells_of(shown)), Role.PLAIN)]


def _fit(spans: Sequence[Span], width: int) -> list[Span]:
    """A line in fewer cells: of what it assigns and its operator nothing is lost."""
    assigns = any(text == " = " for text, _ in spans)
    return fit_statement(spans, width) if assigns else fit_middle(spans, width)


def fit_printed(lines: Iterable[str], width: int) -> Iterator[str]:
    """What the console printed, with the rows of listings in it cut to ``width`` cells: wrapped they could not be told
    from one another. Values stay below each other."""
    for printed, run in groupby(lines, lambda text: _PRINTED.match(text) is not None):
        rows = list(run)
        wide = printed and any(cell_len(row) > width for row in rows)
        yield from (_fit_row(row, width) for row in rows) if wide else rows


def _fit_row(row: str, width: int) -> str:
    text, beside, value = row.partition(BESIDE)
    column = width - len(BESIDE) - _PRINTED_VALUE
    if beside and cell_len(text) > column > 0:
        text = text.rstrip()
        assigned = mask(text).find(" = ")
        parts = [text] if assigned < 0 else [text[:assigned], " = ", text[assigned + 3 :]]
        text = pad("".join(part for part, _ in _fit([(part, Role.PLAIN) for part in parts], column)), column)
    return fit(f"{text}{beside}{value}", width)
