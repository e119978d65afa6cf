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

from ...debugger.describe.line_dataflow import line_dataflow
from ...debugger.describe.listing import (
    FAILED_MARKER,
    NOT_COMPUTED_TEXT,
    SKIPPED_TEXT,
    VALUE_SEPARATOR,
    Listing,
    ListingRow,
    ValueStatus,
    code_text,
)
from ...debugger.describe.pseudo_code import INDENT, LineKind, PseudoCode
from ...debugger.describe.pseudo_code import PseudoCodeLine as SourceLine
from ...debugger.describe.value_names import common_path, mask_quoted
from ...runtime.graph import Node
from .formatting import escape_unprintable
from .statement_shortening import color_statement, min_statement_cells, shorten_statement
from .styled_text import (
    Role,
    Span,
    StyledLine,
    pad_to_width,
    spans_width,
    styled_line,
    truncate,
    truncate_middle,
    truncate_spans,
)
from .targets import LineTarget, ValueTarget
from .value_cells import EDITED_SIGN, short_value, value_span

#: The signs, and with the number of the line.
_SIGN_CELLS, _NUMBERED_CELLS = 2, 7
#: Below this width the numbers are left out.
_NUMBERS_MIN_WIDTH = 44
#: Where several outputs have fewer cells each, the first one is shown, and how many more there are.
_OUTPUT_MIN_CELLS = 10
#: A value has no fewer cells, however long the line.
_VALUE_MIN_CELLS = 6
#: Lines that make values, and lines that head others.
_VALUE_LINE_KINDS, _HEAD_LINE_KINDS = (LineKind.NODE, LineKind.SLICE), (LineKind.LOOP, LineKind.IF)
_ENABLED_SIGN, _DISABLED_SIGN, _PREFIX_SIGN = "●", "○", "‥"
#: What these say of themselves is seen however little room there is.
_COMMENTED_LINE_KINDS = (LineKind.BACK_EDGE, LineKind.SCAN, LineKind.INITIAL)
#: In the indentation: the way of back edges to the head of their loop, which stands above its first cell.
_ARROW_HEAD, _ARROW_LINE, _ARROW_JOIN, _ARROW_END = "▲", "│", "├── ", "╰── "
#: Behind the number of a line: it makes what the line at the cursor reads, it reads what that makes.
_HIGHLIGHT_SIGNS = {Role.MAKER: "◂", Role.READER: "▸"}
#: A line that is lit: as what, and how deep the indentation begins in which the way of the back edge at the cursor is.
Highlight = tuple[Role | None, int | None]
_NO_HIGHLIGHT: Highlight = (None, None)
#: A row as the console prints it, and the cells that a value beside it has at least.
_PRINTED_ROW_PATTERN, _PRINTED_VALUE_MIN_CELLS = re.compile(r"[ ▶●✗] *\d+  "), 24
#: So many lines of initial values in a row are folded.
_FOLDED_RUN_MIN_LINES = 8
#: A beginning that long names share is said once where it is at least so long.
_PREFIX_MIN_CHARS = 6


@lru_cache(maxsize=4)
def _common_name_prefix(source: PseudoCode) -> str:
    """What the long names of the lines begin with."""
    names = {value.name for one in source.lines for value in one.values if not value.short_name}
    paths = sorted(name for name in names if name.startswith("/"))
    prefix = common_path(paths) if len(paths) > 1 else ""
    return prefix if len(prefix) >= _PREFIX_MIN_CHARS else ""


@lru_cache(maxsize=4)
def _line_texts(source: PseudoCode) -> tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
    """The lines without and with comments, and their widths."""
    prefix = _common_name_prefix(source)
    bare = tuple(code_text(one).replace(prefix, _PREFIX_SIGN) if prefix else code_text(one) for one in source.lines)
    whole = tuple(text.replace(prefix, _PREFIX_SIGN) if prefix else text for text in source.text())
    return bare, whole, tuple(map(cell_len, bare)), tuple(map(cell_len, whole))


@lru_cache(maxsize=4)
def initial_value_runs(source: PseudoCode) -> Mapping[int, int]:
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
    return {number: count for number, count in found.items() if count >= _FOLDED_RUN_MIN_LINES}


@lru_cache(maxsize=4)
def _listing_layout(source: PseudoCode, width: int, folded: frozenset[int], code: bool) -> _ListingLayout:
    return _ListingLayout(source, width, folded, code)


class _ListingLayout:
    """What the lines of a program say in a width, and where their values stand: the same at every stop. ``folded``: the
    numbers of heads whose lines are hidden; ``code``: the lines of code that others come from have rows above them;
    ``rows``: the line of each row, which is twice there where the first of the two is such a row."""

    def __init__(self, source: PseudoCode, width: int, folded: frozenset[int], code: bool) -> None:
        self._lines, self._folded = source.lines, folded
        self._runs = initial_value_runs(source)
        self.gutter_width = _NUMBERED_CELLS if width >= _NUMBERS_MIN_WIDTH else _SIGN_CELLS
        seen = self._visible_lines()
        #: By line, what stands above it.
        self.code_above = source.code_above(seen) if code else {}
        self.rows = tuple(sorted((*seen, *self.code_above)))
        self._width = width - self.gutter_width
        self._paths = _back_edge_paths(source)
        room = width - self.gutter_width - len(VALUE_SEPARATOR)
        self._bare_texts, self._full_texts, bare, whole = _line_texts(source)
        # Comments stand where there is room for them beside the values.
        self._shows_comments = max(whole, default=0) <= room - _OUTPUT_MIN_CELLS - len(NOT_COMPUTED_TEXT)
        widths = self._widths = whole if self._shows_comments else bare
        least = max(10, min(14, room * 3 // 10))
        beside = [width for line, width in zip(self._lines, widths, strict=True) if line.kind in _VALUE_LINE_KINDS]
        heads = [width for line, width in zip(self._lines, widths, strict=True) if line.kind in _HEAD_LINE_KINDS]
        # What heads other lines is not cut for what it gives, and makes the others no narrower.
        wanted = max((*beside, *(width for width in heads if width <= room - least)), default=0)
        needed = self._min_text_width(room - least, room - _OUTPUT_MIN_CELLS)
        self._text_width = max(4, min(wanted, max(room - least, min(needed, room - _VALUE_MIN_CELLS))))
        self.value_width = max(0, room - self._text_width)
        #: By line, and whether it is in a branch that was not taken.
        self._span_cache: dict[tuple[int, bool], list[Span]] = {}
        self._span_cache_with_value: dict[tuple[int, bool], list[Span]] = {}

    def _min_text_width(self, room: int, most: int) -> int:
        """The cells in which no line that has a value beside it loses its results or its operator; where those are more
        than ``most``, its first result or its operator."""
        cut = [k for k, line in enumerate(self._lines) if line.kind in _VALUE_LINE_KINDS and self._widths[k] > room]
        statements = [spans for k in cut if len(spans := self._assignment_spans(k)) > 1]
        whole = max((min_statement_cells(spans, all_results=True) for spans in statements), default=0)
        return whole if whole <= most else max(map(min_statement_cells, statements))

    def _assignment_spans(self, index: int) -> list[Span]:
        """What a line assigns, and what it computes."""
        text = self._bare_texts[index]
        assigned = mask_quoted(text).find(" = ")
        if assigned < 0:
            return [(text, Role.PLAIN)]
        return [(text[:assigned], Role.NAME), (" = ", Role.DIM), (text[assigned + 3 :], Role.PLAIN)]

    def _visible_lines(self) -> tuple[int, ...]:
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

    def value_fits(self, index: int) -> bool:
        """Whether a value has room beside a line: beside a head only where that is as short as other lines."""
        line = self._lines[index]
        return line.kind not in _HEAD_LINE_KINDS or (
            line.number not in self._folded and self._widths[index] <= self._text_width
        )

    def number_label(self, index: int) -> str:
        """The number of a line, where there is room for it."""
        return f"{self._lines[index].number:>3}  " if self.gutter_width == _NUMBERED_CELLS else ""

    def line_spans(self, index: int, skipped: bool, beside: bool) -> list[Span]:
        """A line in roles; ``beside``: a value follows, in a column of its own."""
        known = self._span_cache_with_value if beside else self._span_cache
        if (index, skipped) not in known:
            spans = self._code_spans(index, skipped)
            spans = [*_pad_spans(spans, self._text_width), (VALUE_SEPARATOR, Role.DIM)] if beside else spans
            known[index, skipped] = [span for span in color_statement(spans) if span[0]]
        return known[index, skipped]

    def _code_spans(self, index: int, skipped: bool) -> list[Span]:
        """What a line writes, what it computes, what it means."""
        line, text = self._lines[index], self._bare_texts[index]
        comment = self._full_texts[index][len(text) :] if self._shows_comments else ""
        if line.number in self._folded:
            comment = f"  … {self._hidden_line_count(index)} lines"
        spans = [(text, Role.NAME)] if line.kind is LineKind.LOOP else self._assignment_spans(index)
        if skipped:
            spans = [(part, Role.DIM) for part, _ in spans]
        if line.number in self._folded and line.number in self._runs:
            # It stands for many: how many must be seen.
            comment = f"  … {self._hidden_line_count(index)} more lines"
            spans = _fit_line(spans, max(8, self._width - cell_len(comment)))
        elif line.kind in _COMMENTED_LINE_KINDS:
            spans, comment = self._fit_comment(line, spans, comment)
        spans = self._insert_paths(index, spans)
        return [*spans, (comment, Role.COMMENT)] if comment else spans

    def _fit_comment(self, line: SourceLine, spans: list[Span], comment: str) -> tuple[list[Span], str]:
        """A line cut so far that its comment is seen, of a long one the first words."""
        if spans_width(spans) + cell_len(comment) > self._width or not comment:
            comment = f"  # {line.comment}"
            if cell_len(comment) > self._width // 2:
                comment = comment.partition(",")[0]
        return _fit_line(spans, max(8, self._width - cell_len(comment))), comment

    def _insert_paths(self, index: int, spans: list[Span]) -> list[Span]:
        """The ways of back edges in the indentation."""
        ways = self._paths.get(index)
        if not ways or not spans[0][0].startswith(" " * len(ways)):
            return spans
        (text, role), *rest = spans
        return [(ways, Role.DIM), (text[len(ways) :], role), *rest]

    def _hidden_line_count(self, index: int) -> int:
        """The lines that a folded head hides."""
        lines = self._lines
        if lines[index].number in self._runs:
            return self._runs[lines[index].number] - 1
        after = next((k for k in range(index + 1, len(lines)) if lines[k].indent <= lines[index].indent), len(lines))
        return after - index - 1


def _back_edge_paths(source: PseudoCode) -> dict[int, str]:
    """By line, its indentation with the ways of back edges, to their last cell."""
    found: dict[int, dict[int, str]] = {}
    ends: dict[int, list[int]] = {}
    for edge, head in line_dataflow(source).loop_heads.items():
        ends.setdefault(head, []).append(edge)
    for head, edges in ends.items():
        column = len(INDENT) * source.lines[head].indent
        for k in range(head + 1, edges[-1] + 1):
            sign = (
                _ARROW_END
                if k == edges[-1]
                else _ARROW_JOIN
                if k in edges
                else _ARROW_HEAD
                if k == head + 1
                else _ARROW_LINE
            )
            found.setdefault(k, {})[column] = sign
    return {k: _indentation(signs) for k, signs in found.items()}


def _indentation(signs: Mapping[int, str]) -> str:
    text = ""
    for column, sign in sorted(signs.items()):
        text = f"{text:<{column}}{sign}"
    return text


class ListingLines(Sequence[StyledLine]):
    """The lines, and below them what ends the loop. ``marks``: nodes with a breakpoint, and whether it is on;
    ``folded``: the numbers of heads whose lines are hidden; ``edited``: the names of values set by hand; ``code``: with
    the lines of code that they come from."""

    #: The cells of the signs, which a click sets a breakpoint in.
    GUTTER_CELLS = _NUMBERED_CELLS

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
        self.prefix = _common_name_prefix(listing.source)
        self._depth, self._marks, self._edited = depth, marks, edited
        self._width = width
        self._layout = _listing_layout(listing.source, width, frozenset(folded), code)
        self._rows = self._layout.rows
        self._notes = [
            part for note in listing.notes() for part in textwrap.wrap(note, max(20, width), subsequent_indent="  ")
        ]
        self.next_row = None if listing.next_index is None else self._layout.row_of(listing.next_index)
        #: Rows that are lit, since the cursor is on one of them.
        self._highlights: dict[int, Highlight] = {}
        self._highlighted_row = -1
        #: The lines that somebody asked for: the cursor's is asked for often.
        self._line_cache: dict[int, StyledLine] = {}

    def row_of(self, number: int) -> int | None:
        """The row of the line with a number, where it is seen."""
        lines = self.listing.source.lines
        found = [k for k, index in enumerate(self._rows) if lines[index].number == number]
        return found[-1] if found else None

    def node_of(self, row: int) -> Node | None:
        """The node whose line stands in a row."""
        return self.listing.source.lines[self._rows[row]].node if 0 <= row < len(self._rows) else None

    def head_number(self, row: int, *, around: bool) -> int | None:
        """The number of the line at a row where that heads others, else, ``around``, of the one that it is inside."""
        lines = self.listing.source.lines
        if not 0 <= row < len(self._rows):
            return None
        index = self._rows[row]
        if self._is_head(lines[index]):
            return lines[index].number
        run = self._run_start(lines[index].number)
        if around and run is not None:
            return run
        inside = lines[index].indent
        while around and index >= 0:
            if lines[index].indent < inside and lines[index].kind in (*_HEAD_LINE_KINDS, LineKind.ELSE):
                return lines[index].number
            index -= 1
        return None

    def enclosing_heads(self, number: int) -> list[int]:
        """The numbers of the lines that a line is inside of."""
        lines, found = self.listing.source.lines, []
        index = next(k for k, one in enumerate(lines) if one.number == number)
        inside = lines[index].indent
        for one in reversed(lines[:index]):
            if one.indent < inside:
                found.append(one.number)
                inside = one.indent
        run = self._run_start(number)
        return found if run in (None, number) else [*found, run]

    def _is_head(self, line: SourceLine) -> bool:
        return line.kind in (*_HEAD_LINE_KINDS, LineKind.ELSE) or line.number in initial_value_runs(self.listing.source)

    def _run_start(self, number: int) -> int | None:
        """The first line of the run of initial values that a line is in."""
        runs = initial_value_runs(self.listing.source)
        return next((first for first, count in runs.items() if first <= number < first + count), None)

    # -- what belongs to the line at the cursor

    def highlight_related(self, row: int) -> Collection[int]:
        """Light up the lines that make what the one at a row reads, and those that read what it makes; of a back edge
        also its way. Returns the rows that look otherwise than before."""
        if row == self._highlighted_row:
            return ()
        before, self._highlights, self._highlighted_row = self._highlights, self._related_highlights(row), row
        changed = {k for k in {*before, *self._highlights} if before.get(k) != self._highlights.get(k)}
        for k in changed:
            self._line_cache.pop(k, None)
        return changed

    def related_row(self, row: int, made: bool) -> int | None:
        """The row that makes what the one at a row reads (``made``), or that reads what it makes: the nearest above,
        or below, where there are several; None where there is none."""
        if not 0 <= row < len(self._rows):
            return None
        index, flow = self._rows[row], line_dataflow(self.listing.source)
        found = (flow.producers if made else flow.readers)[index]
        first = [k for k in found if (k < index) == made] or list(found)
        if not first:
            return None
        return self._layout.row_of(max(first) if made else min(first))

    def _related_highlights(self, row: int) -> dict[int, Highlight]:
        if not 0 <= row < len(self._rows):
            return {}
        index, flow = self._rows[row], line_dataflow(self.listing.source)
        lit: dict[int, Highlight] = {self._layout.row_of(k): (Role.READER, None) for k in flow.readers[index]}
        lit |= {self._layout.row_of(k): (Role.MAKER, None) for k in flow.producers[index]}
        lit.pop(row, None)
        if index in flow.loop_heads:
            head = flow.loop_heads[index]
            column = len(INDENT) * self.listing.source.lines[head].indent
            for k in range(self._layout.row_of(head) + 1, row + 1):
                lit[k] = (lit.get(k, _NO_HIGHLIGHT)[0], column)
        return lit

    def _highlight_spans(self, spans: Sequence[Span], light: Highlight) -> list[Span]:
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
        sign = [(number[:-1], of_number), (_HIGHLIGHT_SIGNS[role], role)] if number else []
        return [*sign, *rest]

    def __len__(self) -> int:
        return len(self._rows) + (1 + len(self._notes) if self._notes else 0)

    @overload
    def __getitem__(self, index: int) -> StyledLine: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[StyledLine]: ...
    def __getitem__(self, index: int | slice) -> StyledLine | Sequence[StyledLine]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if index < len(self._rows):
            if index not in self._line_cache:
                self._line_cache[index] = self._build_line(index, self._rows[index])
            return self._line_cache[index]
        if index >= len(self):
            raise IndexError(index)
        below = index - len(self._rows) - 1
        return styled_line((self._notes[below], Role.DIM)) if below >= 0 else styled_line()

    def _build_line(self, at: int, index: int) -> StyledLine:
        layout = self._layout
        if layout.is_code(at):
            text = f"{'':{layout.gutter_width}}{layout.code_above[index]}"
            return StyledLine(
                truncate_spans([(text, Role.DIM)], self._width),
                False,
                self._line_target(self.listing.source.lines[index]),
            )
        row = self.listing.row(index)
        sign, mark = row.sign, Role.ERROR if row.sign == FAILED_MARKER else Role.MARK
        if at == self.next_row and row.sign == " ":
            # What runs next is hidden below this head.
            sign = FAILED_MARKER if self.listing.stop.failed else "▶"
        on = self._marks.get(row.line.node) if row.line.node is not None else None
        dot = " " if on is None else _ENABLED_SIGN if on else _DISABLED_SIGN
        beside = row.value_status is not ValueStatus.NOTHING and layout.value_width >= 3 and layout.value_fits(index)
        spans = layout.line_spans(index, row.value_status is ValueStatus.SKIPPED, beside)
        if beside:
            spans = [
                *spans,
                value_span(self._value_text(row), Role.VALUE if row.value_status is ValueStatus.CURRENT else Role.DIM),
            ]
        numbered = [(layout.number_label(index), Role.DIM), *spans]
        if at in self._highlights:
            numbered = self._highlight_spans(numbered, self._highlights[at])
        gutter = [(sign, mark), (dot, Role.ERROR if on else Role.DIM)]
        return StyledLine(
            truncate_spans([*gutter, *numbered], self._width), at == self.next_row, self._line_target(row.line)
        )

    def _line_target(self, line: SourceLine) -> LineTarget:
        node, value = line.node, next(iter(line.values), None)
        told = "" if node is None else f"{node.op_type} '{escape_unprintable(node.name)}'"
        if node is not None and node.origin.file:
            told += f" ({node.origin})"
        made = None if value is None else ValueTarget(value.name, self._depth, graph_value=value)
        return LineTarget(line.number, line.text, told, made, self._is_head(line))

    def _value_text(self, row: ListingRow) -> str:
        values, room = row.values, self._layout.value_width
        if not values:
            return SKIPPED_TEXT if row.value_status is ValueStatus.SKIPPED else NOT_COMPUTED_TEXT
        if any(value.name in self._edited for value in row.line.values):
            return f"{EDITED_SIGN} {self._values_text(row, room - 2)}"
        return self._values_text(row, room)

    def _values_text(self, row: ListingRow, room: int) -> str:
        values = row.values
        each = (room - 2 * (len(values) - 1)) // len(values)
        if len(values) > 1 and each < _OUTPUT_MIN_CELLS:
            more = f" +{len(values) - 1}"
            return short_value(values[0], room - len(more)) + more
        return ", ".join([short_value(value, each) for value in values])


def _pad_spans(spans: Sequence[Span], width: int) -> list[Span]:
    """Spans in exactly ``width`` cells; where there is no room, their middle goes: the end tells most."""
    shown = spans if spans_width(spans) <= width else _fit_line(spans, width)
    return [*shown, (" " * (width - spans_width(shown)), Role.PLAIN)]


def _fit_line(spans: Sequence[Span], width: int) -> list[Span]:
    """A line in fewer cells: of what it assigns and its operator nothing is lost."""
    assigns = any(text == " = " for text, _ in spans)
    return shorten_statement(spans, width) if assigns else truncate_middle(spans, width)


def fit_printed_rows(lines: Iterable[str], width: int) -> Iterator[str]:
    """What the console printed, with the rows of listings in it cut to ``width`` cells: wrapped they could not be told
    from one another. Values stay below each other."""
    for printed, run in groupby(lines, lambda text: _PRINTED_ROW_PATTERN.match(text) is not None):
        rows = list(run)
        wide = printed and any(cell_len(row) > width for row in rows)
        yield from (_fit_printed_row(row, width) for row in rows) if wide else rows


def _fit_printed_row(row: str, width: int) -> str:
    text, beside, value = row.partition(VALUE_SEPARATOR)
    column = width - len(VALUE_SEPARATOR) - _PRINTED_VALUE_MIN_CELLS
    if beside and cell_len(text) > column > 0:
        text = text.rstrip()
        assigned = mask_quoted(text).find(" = ")
        parts = [text] if assigned < 0 else [text[:assigned], " = ", text[assigned + 3 :]]
        text = pad_to_width(
            "".join(part for part, _ in _fit_line([(part, Role.PLAIN) for part in parts], column)), column
        )
    return truncate(f"{text}{beside}{value}", width)
