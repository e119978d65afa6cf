"""The rows of a listing in a given width; lines are built lazily, since bodies can be long."""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from types import MappingProxyType
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

#: Width of the sign columns, without and with the line number.
_SIGN_CELLS, _NUMBERED_CELLS = 2, 7
#: Below this width line numbers are omitted.
_NUMBERS_MIN_WIDTH = 44
#: If several outputs have fewer cells each, only the first is shown, with the number of the others.
_OUTPUT_MIN_CELLS = 10
#: Minimum width of a value next to a long line.
_VALUE_MIN_CELLS = 6
#: Lines that define values, and lines with nested lines.
_VALUE_LINE_KINDS, _HEAD_LINE_KINDS = (LineKind.NODE, LineKind.SLICE), (LineKind.LOOP, LineKind.IF)
_ENABLED_SIGN, _DISABLED_SIGN, _PREFIX_SIGN = "●", "○", "‥"
#: Of lines that are partly covered, and of nodes that never ran.
_COVERAGE_ROLES = {"~": Role.MARK, "-": Role.ERROR}
#: Lines whose comments are shown at any width.
_COMMENTED_LINE_KINDS = (LineKind.BACK_EDGE, LineKind.SCAN, LineKind.INITIAL)
#: Arrows of back edges, drawn in the indentation up to the head of their loop.
_ARROW_HEAD, _ARROW_LINE, _ARROW_JOIN, _ARROW_END = "▲", "│", "├── ", "╰── "
#: After a line number: the line produces an operand of the line at the cursor, or reads its result.
_HIGHLIGHT_SIGNS = {Role.MAKER: "◂", Role.READER: "▸"}
#: A highlighted line: its role, and the column of the arrow of the back edge at the cursor.
Highlight = tuple[Role | None, int | None]
_NO_HIGHLIGHT: Highlight = (None, None)
#: A listing row as the console prints it, and the minimum width of its value.
_PRINTED_ROW_PATTERN, _PRINTED_VALUE_MIN_CELLS = re.compile(r"[ ▶●✗] *\d+  "), 24
#: Shortest run of initial values that is folded.
_FOLDED_RUN_MIN_LINES = 8
#: Shortest common prefix of names that is abbreviated.
_PREFIX_MIN_CHARS = 6


@lru_cache(maxsize=4)
def _common_name_prefix(source: PseudoCode) -> str:
    """The common path prefix of the long names."""
    names = {value.name for line in source.lines for value in line.values if not value.short_name}
    paths = sorted(name for name in names if name.startswith("/"))
    prefix = common_path(paths) if len(paths) > 1 else ""
    return prefix if len(prefix) >= _PREFIX_MIN_CHARS else ""


@lru_cache(maxsize=4)
def _line_texts(source: PseudoCode) -> tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
    """The lines without and with comments, and their widths."""
    prefix = _common_name_prefix(source)
    bare = tuple(code_text(line).replace(prefix, _PREFIX_SIGN) if prefix else code_text(line) for line in source.lines)
    full = tuple(text.replace(prefix, _PREFIX_SIGN) if prefix else text for text in source.text())
    return bare, full, tuple(map(cell_len, bare)), tuple(map(cell_len, full))


@lru_cache(maxsize=4)
def initial_value_runs(source: PseudoCode) -> Mapping[int, int]:
    """The long runs of initial values and invariant inputs: number of the first line -> line count. A folded run shows
    its first line only."""
    runs: dict[int, int] = {}
    first: SourceLine | None = None
    for line in source.lines:
        if line.kind not in (LineKind.INITIAL, LineKind.INVARIANT):
            first = None
            continue
        if first is None or first.indent != line.indent:
            first = line
        runs[first.number] = line.number - first.number + 1
    return {number: count for number, count in runs.items() if count >= _FOLDED_RUN_MIN_LINES}


@lru_cache(maxsize=4)
def _listing_layout(source: PseudoCode, width: int, folded: frozenset[int], code: bool) -> _ListingLayout:
    return _ListingLayout(source, width, folded, code)


class _ListingLayout:
    """The layout of a program in a width, the same at every stop. ``folded``: the numbers of folded heads; ``code``:
    show the original source code above the lines that come from it; ``rows``: the line index of each row, repeated
    if a row of source code precedes the line."""

    def __init__(self, source: PseudoCode, width: int, folded: frozenset[int], code: bool) -> None:
        self._lines, self._folded = source.lines, folded
        self._runs = initial_value_runs(source)
        self.gutter_width = _NUMBERED_CELLS if width >= _NUMBERS_MIN_WIDTH else _SIGN_CELLS
        visible = self._visible_lines()
        #: By line, the source code above it.
        self.code_above = source.code_above(visible) if code else {}
        self.rows = tuple(sorted((*visible, *self.code_above)))
        self._width = width - self.gutter_width
        self._paths = _back_edge_arrows_by_line(source)
        available = width - self.gutter_width - len(VALUE_SEPARATOR)
        self._bare_texts, self._full_texts, bare, full = _line_texts(source)
        # Comments are shown if they fit next to the values.
        self._shows_comments = max(full, default=0) <= available - _OUTPUT_MIN_CELLS - len(NOT_COMPUTED_TEXT)
        widths = self._widths = full if self._shows_comments else bare
        min_value = max(10, min(14, available * 3 // 10))
        value_lines = [width for line, width in zip(self._lines, widths, strict=True) if line.kind in _VALUE_LINE_KINDS]
        heads = [width for line, width in zip(self._lines, widths, strict=True) if line.kind in _HEAD_LINE_KINDS]
        # Heads are not truncated for their values and do not widen the text column.
        preferred = max((*value_lines, *(width for width in heads if width <= available - min_value)), default=0)
        needed = self._min_text_width(available - min_value, available - _OUTPUT_MIN_CELLS)
        self._text_width = max(4, min(preferred, max(available - min_value, min(needed, available - _VALUE_MIN_CELLS))))
        self.value_width = max(0, available - self._text_width)
        #: By line, and whether it is in a skipped branch.
        self._span_cache: dict[tuple[int, bool], list[Span]] = {}
        self._span_cache_with_value: dict[tuple[int, bool], list[Span]] = {}

    def _min_text_width(self, width: int, max_width: int) -> int:
        """The width in which every line with a value keeps all results and its operator; if that exceeds ``max_width``,
        its first result and its operator."""
        cut = [k for k, line in enumerate(self._lines) if line.kind in _VALUE_LINE_KINDS and self._widths[k] > width]
        statements = [spans for k in cut if len(spans := self._assignment_spans(k)) > 1]
        needed = max((min_statement_cells(spans, all_results=True) for spans in statements), default=0)
        return needed if needed <= max_width else max(map(min_statement_cells, statements))

    def _assignment_spans(self, index: int) -> list[Span]:
        """The assigned names and the expression of a line."""
        text = self._bare_texts[index]
        assigned = mask_quoted(text).find(" = ")
        if assigned < 0:
            return [(text, Role.PLAIN)]
        return [(text[:assigned], Role.NAME), (" = ", Role.DIM), (text[assigned + 3 :], Role.PLAIN)]

    def _visible_lines(self) -> tuple[int, ...]:
        rows, hidden_below, run_end = [], None, 0
        for k, line in enumerate(self._lines):
            if line.number < run_end:
                continue
            if line.number in self._folded:
                run_end = line.number + self._runs.get(line.number, 1)
            if hidden_below is not None and line.indent > hidden_below:
                continue
            hidden_below = line.indent if line.number in self._folded and line.number not in self._runs else None
            rows.append(k)
        return tuple(rows)

    def row_of(self, index: int) -> int:
        """The row of a line, or of the head that hides it."""
        return bisect_right(self.rows, index) - 1

    def is_source_code_row(self, row: int) -> bool:
        """Whether a row shows the source code of the next line."""
        return row + 1 < len(self.rows) and self.rows[row] == self.rows[row + 1]

    def value_fits(self, index: int) -> bool:
        """Whether a value fits next to a line; a long head has none."""
        line = self._lines[index]
        return line.kind not in _HEAD_LINE_KINDS or (
            line.number not in self._folded and self._widths[index] <= self._text_width
        )

    def number_label(self, index: int) -> str:
        """The number of a line, if numbers are shown."""
        return f"{self._lines[index].number:>3}  " if self.gutter_width == _NUMBERED_CELLS else ""

    def line_spans(self, index: int, skipped: bool, has_value: bool) -> list[Span]:
        """The spans of a line; ``has_value``: pad it for a value column."""
        cache = self._span_cache_with_value if has_value else self._span_cache
        if (index, skipped) not in cache:
            spans = self._code_spans(index, skipped)
            spans = [*_pad_spans(spans, self._text_width), (VALUE_SEPARATOR, Role.DIM)] if has_value else spans
            cache[index, skipped] = [span for span in color_statement(spans) if span[0]]
        return cache[index, skipped]

    def _code_spans(self, index: int, skipped: bool) -> list[Span]:
        """The assignment, expression and comment of a line."""
        line, text = self._lines[index], self._bare_texts[index]
        comment = self._full_texts[index][len(text) :] if self._shows_comments else ""
        if line.number in self._folded:
            comment = f"  … {self._hidden_line_count(index)} lines"
        spans = [(text, Role.NAME)] if line.kind is LineKind.LOOP else self._assignment_spans(index)
        if skipped:
            spans = [(part, Role.DIM) for part, _ in spans]
        if line.number in self._folded and line.number in self._runs:
            # The count of a folded run must be visible.
            comment = f"  … {self._hidden_line_count(index)} more lines"
            spans = _fit_line(spans, max(8, self._width - cell_len(comment)))
        elif line.kind in _COMMENTED_LINE_KINDS:
            spans, comment = self._fit_comment(line, spans, comment)
        spans = self._draw_back_edge_arrows(index, spans)
        return [*spans, (comment, Role.COMMENT)] if comment else spans

    def _fit_comment(self, line: SourceLine, spans: list[Span], comment: str) -> tuple[list[Span], str]:
        """Truncate a line so that its comment fits; a long comment keeps its first part."""
        if spans_width(spans) + cell_len(comment) > self._width or not comment:
            comment = f"  # {line.comment}"
            if cell_len(comment) > self._width // 2:
                comment = comment.partition(",")[0]
        return _fit_line(spans, max(8, self._width - cell_len(comment))), comment

    def _draw_back_edge_arrows(self, index: int, spans: list[Span]) -> list[Span]:
        """Draw the arrows of back edges in the indentation."""
        arrows = self._paths.get(index)
        if not arrows or not spans[0][0].startswith(" " * len(arrows)):
            return spans
        (text, role), *rest = spans
        return [(arrows, Role.DIM), (text[len(arrows) :], role), *rest]

    def _hidden_line_count(self, index: int) -> int:
        """The lines that a folded head hides."""
        lines = self._lines
        if lines[index].number in self._runs:
            return self._runs[lines[index].number] - 1
        end = next((k for k in range(index + 1, len(lines)) if lines[k].indent <= lines[index].indent), len(lines))
        return end - index - 1


def _back_edge_arrows_by_line(source: PseudoCode) -> dict[int, str]:
    """By line, its indentation with the arrows of back edges."""
    paths: dict[int, dict[int, str]] = {}
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
            paths.setdefault(k, {})[column] = sign
    return {k: _indentation(signs) for k, signs in paths.items()}


def _indentation(signs: Mapping[int, str]) -> str:
    text = ""
    for column, sign in sorted(signs.items()):
        text = f"{text:<{column}}{sign}"
    return text


class ListingLines(Sequence[StyledLine]):
    """The lines, followed by notes on the loop's termination. ``marks``: nodes with a breakpoint, and whether it is
    enabled; ``folded``: the numbers of folded heads; ``edited``: the names of edited values; ``code``: show source
    code; ``signs``: signs of nodes without a breakpoint."""

    #: Width of the gutter; a click in it sets a breakpoint.
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
        signs: Mapping[Node, str] = MappingProxyType({}),
    ) -> None:
        self.listing = listing
        self.prefix = _common_name_prefix(listing.source)
        self._depth, self._marks, self._edited, self._signs = depth, marks, edited, signs
        self._width = width
        self._layout = _listing_layout(listing.source, width, frozenset(folded), code)
        self._rows = self._layout.rows
        self._notes = [
            part for note in listing.notes() for part in textwrap.wrap(note, max(20, width), subsequent_indent="  ")
        ]
        self.next_row = None if listing.next_index is None else self._layout.row_of(listing.next_index)
        #: Highlighted rows, related to the row at the cursor.
        self._highlights: dict[int, Highlight] = {}
        self._highlighted_row = -1
        #: Cache of lines: the cursor's line is requested often.
        self._line_cache: dict[int, StyledLine] = {}

    def row_of(self, number: int) -> int | None:
        """The row of the line with a number, if visible."""
        lines = self.listing.source.lines
        rows = [k for k, index in enumerate(self._rows) if lines[index].number == number]
        return rows[-1] if rows else None

    def node_of(self, row: int) -> Node | None:
        """The node of the line in a row."""
        return self.listing.source.lines[self._rows[row]].node if 0 <= row < len(self._rows) else None

    def head_number(self, row: int, *, enclosing: bool) -> int | None:
        """The number of the head at a row; with ``enclosing``, else that of the head around it."""
        lines = self.listing.source.lines
        if not 0 <= row < len(self._rows):
            return None
        index = self._rows[row]
        if self._is_head(lines[index]):
            return lines[index].number
        run = self._initial_run_start(lines[index].number)
        if enclosing and run is not None:
            return run
        indent = lines[index].indent
        while enclosing and index >= 0:
            if lines[index].indent < indent and lines[index].kind in (*_HEAD_LINE_KINDS, LineKind.ELSE):
                return lines[index].number
            index -= 1
        return None

    def enclosing_heads(self, number: int) -> list[int]:
        """The numbers of the heads that enclose a line."""
        lines, heads = self.listing.source.lines, []
        index = next(k for k, line in enumerate(lines) if line.number == number)
        indent = lines[index].indent
        for line in reversed(lines[:index]):
            if line.indent < indent:
                heads.append(line.number)
                indent = line.indent
        run = self._initial_run_start(number)
        return heads if run in (None, number) else [*heads, run]

    def _is_head(self, line: SourceLine) -> bool:
        return line.kind in (*_HEAD_LINE_KINDS, LineKind.ELSE) or line.number in initial_value_runs(self.listing.source)

    def _initial_run_start(self, number: int) -> int | None:
        """The first line of the run of initial values that a line is in."""
        runs = initial_value_runs(self.listing.source)
        return next((first for first, count in runs.items() if first <= number < first + count), None)

    # -- lines related to the cursor

    def highlight_related(self, row: int) -> Collection[int]:
        """Highlight the producers and readers of the line at a row, and the arrow of a back edge. Returns the rows
        whose highlight changed."""
        if row == self._highlighted_row:
            return ()
        previous, self._highlights, self._highlighted_row = self._highlights, self._related_highlights(row), row
        changed = {k for k in {*previous, *self._highlights} if previous.get(k) != self._highlights.get(k)}
        for k in changed:
            self._line_cache.pop(k, None)
        return changed

    def related_row(self, row: int, producer: bool) -> int | None:
        """The nearest row above that produces an operand of a row (``producer``), or the nearest below that reads its
        result; None if there is none."""
        if not 0 <= row < len(self._rows):
            return None
        index, flow = self._rows[row], line_dataflow(self.listing.source)
        related = (flow.producers if producer else flow.readers)[index]
        preferred = [k for k in related if (k < index) == producer] or list(related)
        if not preferred:
            return None
        return self._layout.row_of(max(preferred) if producer else min(preferred))

    def _related_highlights(self, row: int) -> dict[int, Highlight]:
        if not 0 <= row < len(self._rows):
            return {}
        index, flow = self._rows[row], line_dataflow(self.listing.source)
        highlights: dict[int, Highlight] = {self._layout.row_of(k): (Role.READER, None) for k in flow.readers[index]}
        highlights |= {self._layout.row_of(k): (Role.MAKER, None) for k in flow.producers[index]}
        highlights.pop(row, None)
        if index in flow.loop_heads:
            head = flow.loop_heads[index]
            column = len(INDENT) * self.listing.source.lines[head].indent
            for k in range(self._layout.row_of(head) + 1, row + 1):
                highlights[k] = (highlights.get(k, _NO_HIGHLIGHT)[0], column)
        return highlights

    def _highlight_spans(self, spans: Sequence[Span], highlight: Highlight) -> list[Span]:
        """Colour a line by its relation to the line at the cursor; ``spans`` start at the number."""
        role, column = highlight
        (number, number_role), *rest = spans
        if rest and rest[0][1] is Role.DIM and column is not None:
            arrows = rest[0][0]
            rest[:1] = [(arrows[:column], Role.DIM), (arrows[column : column + len(INDENT)], Role.ARC),
                        (arrows[column + len(INDENT) :], Role.DIM)]  # fmt: skip
        if role is None:
            return [(number, number_role), *rest]
        index = next((k for k, span in enumerate(rest) if span[1] in (Role.NAME, Role.PLAIN)), None)
        if index is not None:
            rest[index] = (rest[index][0], role)
        sign = [(number[:-1], number_role), (_HIGHLIGHT_SIGNS[role], role)] if number else []
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

    def _build_line(self, row_index: int, index: int) -> StyledLine:
        layout = self._layout
        if layout.is_source_code_row(row_index):
            text = f"{'':{layout.gutter_width}}{layout.code_above[index]}"
            return StyledLine(
                truncate_spans([(text, Role.DIM)], self._width),
                False,
                self._line_target(self.listing.source.lines[index]),
            )
        row = self.listing.row(index)
        sign, sign_role = row.sign, Role.ERROR if row.sign == FAILED_MARKER else Role.MARK
        if row_index == self.next_row and row.sign == " ":
            # The next node is hidden below this head.
            sign = FAILED_MARKER if self.listing.stop.failed else "▶"
        enabled = self._marks.get(row.line.node) if row.line.node is not None else None
        dot, dot_role = _DISABLED_SIGN, Role.DIM
        if enabled is None:
            dot = " " if row.line.node is None else self._signs.get(row.line.node, " ")
            dot_role = _COVERAGE_ROLES.get(dot, Role.DIM)
        elif enabled:
            dot, dot_role = _ENABLED_SIGN, Role.ERROR
        has_value = row.value_status is not ValueStatus.NOTHING and layout.value_width >= 3 and layout.value_fits(index)
        spans = layout.line_spans(index, row.value_status is ValueStatus.SKIPPED, has_value)
        if has_value:
            spans = [
                *spans,
                value_span(self._value_text(row), Role.VALUE if row.value_status is ValueStatus.CURRENT else Role.DIM),
            ]
        numbered = [(layout.number_label(index), Role.DIM), *spans]
        if row_index in self._highlights:
            numbered = self._highlight_spans(numbered, self._highlights[row_index])
        gutter = [(sign, sign_role), (dot, dot_role)]
        return StyledLine(
            truncate_spans([*gutter, *numbered], self._width), row_index == self.next_row, self._line_target(row.line)
        )

    def _line_target(self, line: SourceLine) -> LineTarget:
        node, value = line.node, next(iter(line.values), None)
        description = "" if node is None else f"{node.op_type} '{escape_unprintable(node.name)}'"
        origin = None if node is None else node.origin
        if origin is not None and origin.file:
            description += f" ({origin})"
        target = None if value is None else ValueTarget(value.name, self._depth, graph_value=value)
        return LineTarget(line.number, line.text, description, target, self._is_head(line))

    def _value_text(self, row: ListingRow) -> str:
        values, width = row.values, self._layout.value_width
        if not values:
            return SKIPPED_TEXT if row.value_status is ValueStatus.SKIPPED else NOT_COMPUTED_TEXT
        if any(value.name in self._edited for value in row.line.values):
            return f"{EDITED_SIGN} {self._values_text(row, width - 2)}"
        return self._values_text(row, width)

    def _values_text(self, row: ListingRow, width: int) -> str:
        values = row.values
        value_width = (width - 2 * (len(values) - 1)) // len(values)
        if len(values) > 1 and value_width < _OUTPUT_MIN_CELLS:
            more = f" +{len(values) - 1}"
            return short_value(values[0], width - len(more)) + more
        return ", ".join([short_value(value, value_width) for value in values])


def _pad_spans(spans: Sequence[Span], width: int) -> list[Span]:
    """Spans in exactly ``width`` cells; the middle is truncated."""
    fitted = spans if spans_width(spans) <= width else _fit_line(spans, width)
    return [*fitted, (" " * (width - spans_width(fitted)), Role.PLAIN)]


def _fit_line(spans: Sequence[Span], width: int) -> list[Span]:
    """Shorten a line; results and operator are kept."""
    assigns = any(text == " = " for text, _ in spans)
    return shorten_statement(spans, width) if assigns else truncate_middle(spans, width)


def fit_printed_rows(lines: Iterable[str], width: int) -> Iterator[str]:
    """Console output with listing rows truncated to ``width`` cells, since wrapped rows are unreadable. Values stay
    aligned."""
    for is_listing, run in groupby(lines, lambda text: _PRINTED_ROW_PATTERN.match(text) is not None):
        rows = list(run)
        too_wide = is_listing and any(cell_len(row) > width for row in rows)
        yield from (_fit_printed_row(row, width) for row in rows) if too_wide else rows


def _fit_printed_row(row: str, width: int) -> str:
    text, separator, value = row.partition(VALUE_SEPARATOR)
    column = width - len(VALUE_SEPARATOR) - _PRINTED_VALUE_MIN_CELLS
    if separator and cell_len(text) > column > 0:
        text = text.rstrip()
        assigned = mask_quoted(text).find(" = ")
        parts = [text] if assigned < 0 else [text[:assigned], " = ", text[assigned + 3 :]]
        text = pad_to_width(
            "".join(part for part, _ in _fit_line([(part, Role.PLAIN) for part in parts], column)), column
        )
    return truncate(f"{text}{separator}{value}", width)
