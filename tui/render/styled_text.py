"""Lines of a pane: plain text in spans, each with a role that a widget turns into a colour.

Whatever a pane shows is built here and in its neighbours as text alone, so that it reads the same without colour, can
be compared in a test, and is cut to the width that there is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile

from rich.cells import cell_len, chop_cells

from .target_base import Target


class Role(StrEnum):
    """What a span is, not its style; ``tui/widgets/pane.py`` and ``app.tcss`` decide that."""

    PLAIN = "plain"
    #: Labels, comments, what is not there yet, what belongs to the iteration before.
    DIM = "dim"
    #: The names of things.
    NAME = "name"
    #: A value just computed, or a new one.
    VALUE = "value"
    #: The marker of the current node, and what decides.
    MARK = "mark"
    ERROR = "error"
    #: Bars, sparklines, plots.
    PLOT = "plot"
    #: Of a map, what is below zero and what is above.
    BELOW = "below"
    ABOVE = "above"
    #: Of a line of the source: its operator, the attributes of that, what is said beside it.
    OPERATOR = "operator"
    ATTRIBUTE = "attribute"
    COMMENT = "comment"
    #: A back edge.
    ARC = "arc"
    #: What the condition depends on.
    DECIDES = "decides"
    #: What makes the value at the cursor, and what reads it.
    MAKER = "maker"
    READER = "reader"
    #: The box of a graph that the cursor is on.
    CHOSEN = "chosen"


Span = tuple[str, Role]
#: Whole words at the beginning of a name, with what is behind them.
_WORD_PREFIX_PATTERN = re.compile(r".*[^0-9A-Za-z]", re.DOTALL)
#: What tells some names apart may look like what tells others apart; then both groups are one.
_DISAMBIGUATION_PASSES = 2


@dataclass(frozen=True)
class StyledLine:
    """One line of a pane. ``current``: the line that the marker stands on; ``target``: what it stands for, if anything,
    for the cursor (:mod:`.targets`)."""

    spans: tuple[Span, ...] = ()
    current: bool = False
    target: Target | None = None

    @property
    def text(self) -> str:
        """The line without its roles."""
        return "".join([text for text, _ in self.spans])

    def draws_same_as(self, other: StyledLine) -> bool:
        """Whether both are drawn the same, whatever they stand for."""
        return self.spans == other.spans and self.current == other.current


def styled_line(*spans: Span | str, current: bool = False, target: Target | None = None) -> StyledLine:
    """A line of spans; bare strings are plain."""
    return StyledLine(tuple([(s, Role.PLAIN) if isinstance(s, str) else s for s in spans]), current, target)


def truncate(text: str, width: int) -> str:
    """The text in at most ``width`` cells, its end replaced by ``…`` where it is longer."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    if width == 1:
        return "…"
    return chop_cells(text, width - 1)[0] + "…"


def pad_to_width(text: str, width: int) -> str:
    """The text cut or filled to exactly ``width`` cells."""
    text = truncate(text, width)
    return text + " " * (width - cell_len(text))


def truncate_spans(spans: Iterable[Span], width: int) -> tuple[Span, ...]:
    """Spans cut to ``width`` cells together."""
    kept: list[Span] = []
    room = width
    for span in spans:
        used = cell_len(span[0])
        if used > room:
            return _append_cut_span(kept, span, room)
        kept.append(span)
        room -= used
    return tuple(kept)


def _append_cut_span(kept: Sequence[Span], span: Span, room: int) -> tuple[Span, ...]:
    """Spans, and what of another one has room; a sign that there is more where none of it has."""
    text, role = span
    if room > 0:
        return (*kept, (truncate(text, room), role))
    if not kept:
        return ()
    last, last_role = kept[-1]
    return (*kept[:-1], (truncate(last + "…", cell_len(last)), last_role))


def spans_width(spans: Iterable[Span]) -> int:
    """The cells that spans take together."""
    return sum([cell_len(text) for text, _ in spans])


def truncate_middle(spans: Sequence[Span], width: int) -> list[Span]:
    """Spans cut to ``width`` cells together; what is cut lies left of their end, a third of the width from it."""
    if spans_width(spans) <= width:
        return list(spans)
    last = max(0, width // 3)
    kept = list(truncate_spans(spans, width - last))
    end: list[Span] = []
    for text, role in reversed(spans):
        room = last - spans_width(end)
        if room <= 0:
            break
        end.insert(0, (text if cell_len(text) <= room else last_cells(text, room), role))
    return [*kept, *end]


def shorten_name(name: str, cells: int) -> str:
    """A name in at most so many cells, without its middle where it is longer: beginnings are alike, and ends tell names
    apart."""
    if cell_len(name) <= cells:
        return name
    if cells < 3:
        return "…"[:cells]
    end = last_cells(name, cells // 2)
    return f"{chop_cells(name, cells - 1 - cell_len(end))[0]}…{end}"


@lru_cache(maxsize=64)
def shorten_distinctly(names: tuple[str, ...], cells: int) -> Mapping[str, str]:
    """Names in at most so many cells each, by name: where two would look alike, what they and others begin with gives
    way to where they differ."""
    shown = {name: shorten_name(name, cells) for name in names}
    cut = [name for name in shown if cell_len(name) > cells]
    for _ in range(_DISAMBIGUATION_PASSES):
        groups: dict[str, list[str]] = {}
        for name, text in shown.items():
            groups.setdefault(text, []).append(name)
        for alike in groups.values():
            begin = _WORD_PREFIX_PATTERN.match(_common_prefix(alike)) if len(alike) > 1 else None
            if begin is not None:
                ends = {name: name[begin.end() :] for name in cut if name.startswith(begin[0])}
                shown |= {name: shorten_name(f"…{end}", cells) for name, end in ends.items()}
    return shown


def _common_prefix(names: Sequence[str]) -> str:
    """What all begin with: it is what the first and the last in order have in common."""
    pairs = zip(min(names), max(names), strict=False)
    return "".join([a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)])


def last_cells(text: str, cells: int) -> str:
    """The last cells of a text."""
    start = len(text)
    while start > 0 and cell_len(text[start - 1 :]) <= cells:
        start -= 1
    return text[start:]


@dataclass(frozen=True)
class TableColumn:
    """A column of a table. ``least``: the width below which it is not squeezed; columns of higher ``rank`` go first
    where there is no room, 0 never goes. ``gap``: the cells before it; ``names``: it has names, which are shortened as
    such."""

    title: str
    min_width: int = 4
    rank: int = 0
    gap: int = 2
    holds_names: bool = False


#: The cells that columns want -> those that they get.
ColumnSizer = Callable[[list[int]], list[int]]


class WidestColumns:
    """The widest that each column was so far, by what a table is of: columns do not move from stop to stop."""

    def __init__(self) -> None:
        self._widths: dict[object, list[int]] = {}

    def sizer_for(self, *key: object) -> ColumnSizer:
        """The sizes of one table."""

        def sizes(wanted: list[int]) -> list[int]:
            before = self._widths.get(key, wanted)
            self._widths[key] = found = [max(pair) for pair in zip(before, wanted, strict=True)]
            return found

        return sizes


def table_lines(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Span]],
    width: int,
    header: bool = True,
    targets: Sequence[Target | None] = (),
    sizes: ColumnSizer | None = None,
) -> list[StyledLine]:
    """Rows as aligned lines of at most ``width`` cells; ``targets``: what the rows stand for; ``sizes``: see
    :class:`WidestColumns`.

    Where the columns do not fit, those of the highest rank are left out; where the rest does not either, the widest is
    squeezed until it does.
    """
    return TextTable(columns, rows, width, header, sizes).lines(targets)


class TextTable:
    """What :func:`table` makes, for whoever wants to know how wide it is before the lines are made."""

    def __init__(
        self,
        columns: Sequence[TableColumn],
        rows: Sequence[Sequence[Span]],
        width: int,
        header: bool = True,
        sizes: ColumnSizer | None = None,
    ) -> None:
        self._columns, self._width, self._header = columns, width, header
        self._rows = [[(column.title, Role.DIM) for column in columns], *rows] if header else rows
        self._cell_widths = [[cell_len(text) for text, _ in row] for row in self._rows]
        wanted = [max(cells) for cells in zip(*self._cell_widths, strict=True)]
        self._column_widths = self._squeeze_columns(self._drop_columns(wanted if sizes is None else sizes(wanted)))

    @property
    def used_width(self) -> int:
        """The cells of a line."""
        return min(self._total_width(self._column_widths), self._width)

    def lines(self, targets: Sequence[Target | None] = ()) -> list[StyledLine]:
        """The lines; ``targets``: what the rows stand for."""
        of = [*[None] * self._header, *(targets or [None] * (len(self._rows) - self._header))]
        return [
            StyledLine(self._row_spans(row, cells), target=target)
            for row, cells, target in zip(self._rows, self._cell_widths, of, strict=True)
        ]

    def _drop_columns(self, wanted: Sequence[int]) -> dict[int, int]:
        """The columns that stay, and the cells that each wants."""
        sizes = dict(enumerate(wanted))
        while (
            len(sizes) > 1
            and self._total_width({k: self._min_width(k, size) for k, size in sizes.items()}) > self._width
        ):
            worst = max(sizes, key=lambda k: (self._columns[k].rank, k))
            if self._columns[worst].rank == 0:
                break
            del sizes[worst]
        return sizes

    def _squeeze_columns(self, sizes: dict[int, int]) -> dict[int, int]:
        """The cells that each column gets."""
        least = {k: self._min_width(k, size) for k, size in sizes.items()}
        for _ in range(self._total_width(sizes) - self._width):
            widest = max(sizes, key=lambda k: (sizes[k] - least[k], sizes[k]))
            if sizes[widest] <= 1:
                break
            sizes[widest] -= 1
        return sizes

    def _min_width(self, k: int, wanted: int) -> int:
        return min(self._columns[k].min_width, wanted)

    def _total_width(self, sizes: Mapping[int, int]) -> int:
        """The cells of columns and what is between them."""
        return sum(sizes.values()) + sum([self._columns[k].gap for k in sizes][1:])

    def _cut_text(self, k: int, text: str, size: int) -> str:
        """A text of a column that has no room for it."""
        if not self._columns[k].holds_names:
            return pad_to_width(text, size)
        return pad_to_width(shorten_distinctly(tuple([row[k][0] for row in self._rows]), size)[text], size)

    def _row_spans(self, row: Sequence[Span], cells: Sequence[int]) -> tuple[Span, ...]:
        spans: list[Span] = []
        for k, size in self._column_widths.items():
            text, role = row[k]
            filled = text + " " * (size - cells[k]) if cells[k] <= size else self._cut_text(k, text, size)
            spans += [(" " * self._columns[k].gap, Role.PLAIN), (filled, role)]
        return (
            tuple(spans[1:])
            if self._total_width(self._column_widths) <= self._width
            else truncate_spans(spans[1:], self._width)
        )
