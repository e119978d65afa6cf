"""Lines of a pane: text spans with roles, which widgets map to colours.

The modules of this package build all pane contents as text, so that it reads the same without colour, can be
compared in tests, and is truncated to the width.
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
    """The meaning of a span; ``tui/widgets/pane.py`` and ``app.tcss`` define its style."""

    PLAIN = "plain"
    #: Labels, comments, missing values, values of the previous iteration.
    DIM = "dim"
    #: Names.
    NAME = "name"
    #: A new value.
    VALUE = "value"
    #: The marker of the current node, and the condition.
    MARK = "mark"
    ERROR = "error"
    #: Bars, sparklines, plots.
    PLOT = "plot"
    #: Negative and positive cells of a heat map.
    BELOW = "below"
    ABOVE = "above"
    #: Parts of a source line: operator, attributes, comment.
    OPERATOR = "operator"
    ATTRIBUTE = "attribute"
    COMMENT = "comment"
    #: A back edge.
    ARC = "arc"
    #: Values that the condition depends on.
    DECIDES = "decides"
    #: The producer and the readers of the value at the cursor.
    MAKER = "maker"
    READER = "reader"
    #: The graph box at the cursor.
    CHOSEN = "chosen"


Span = tuple[str, Role]
#: The longest prefix of a name that ends at a word boundary.
_WORD_PREFIX_PATTERN = re.compile(r".*[^0-9A-Za-z]", re.DOTALL)
#: Names shortened in one pass may collide again; further passes separate them.
_DISAMBIGUATION_PASSES = 2


@dataclass(frozen=True)
class StyledLine:
    """One line of a pane. ``current``: the line with the marker; ``target``: the object that it represents, if any
    (:mod:`.targets`)."""

    spans: tuple[Span, ...] = ()
    current: bool = False
    target: Target | None = None

    @property
    def text(self) -> str:
        """The line without its roles."""
        return "".join([text for text, _ in self.spans])

    def draws_same_as(self, other: StyledLine) -> bool:
        """Whether both look the same, regardless of their targets."""
        return self.spans == other.spans and self.current == other.current


def styled_line(*spans: Span | str, current: bool = False, target: Target | None = None) -> StyledLine:
    """A line of spans; strings have the plain role."""
    return StyledLine(tuple([(s, Role.PLAIN) if isinstance(s, str) else s for s in spans]), current, target)


def truncate(text: str, width: int) -> str:
    """The text in at most ``width`` cells, its end replaced by ``…`` if it is longer."""
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
    result: list[Span] = []
    available = width
    for span in spans:
        used = cell_len(span[0])
        if used > available:
            return _append_cut_span(result, span, available)
        result.append(span)
        available -= used
    return tuple(result)


def _append_cut_span(result: Sequence[Span], span: Span, available: int) -> tuple[Span, ...]:
    """Append the part of a span that fits; mark the truncation if nothing fits."""
    text, role = span
    if available > 0:
        return (*result, (truncate(text, available), role))
    if not result:
        return ()
    last, last_role = result[-1]
    return (*result[:-1], (truncate(last + "…", cell_len(last)), last_role))


def spans_width(spans: Iterable[Span]) -> int:
    """The total width of spans."""
    return sum([cell_len(text) for text, _ in spans])


def truncate_middle(spans: Sequence[Span], width: int) -> list[Span]:
    """Spans truncated to ``width`` cells by removing a middle part; the tail keeps a third of the width."""
    if spans_width(spans) <= width:
        return list(spans)
    tail_width = max(0, width // 3)
    head = list(truncate_spans(spans, width - tail_width))
    tail: list[Span] = []
    for text, role in reversed(spans):
        available = tail_width - spans_width(tail)
        if available <= 0:
            break
        tail.insert(0, (text if cell_len(text) <= available else last_cells(text, available), role))
    return [*head, *tail]


def shorten_name(name: str, cells: int) -> str:
    """A name in at most ``cells`` cells, shortened in the middle: the ends of names distinguish them."""
    if cell_len(name) <= cells:
        return name
    if cells < 3:
        return "…"[:cells]
    end = last_cells(name, cells // 2)
    return f"{chop_cells(name, cells - 1 - cell_len(end))[0]}…{end}"


@lru_cache(maxsize=64)
def shorten_distinctly(names: tuple[str, ...], cells: int) -> Mapping[str, str]:
    """Names in at most ``cells`` cells each, by name: names that would collide lose their common prefix."""
    short_names = {name: shorten_name(name, cells) for name in names}
    long_names = [name for name in short_names if cell_len(name) > cells]
    for _ in range(_DISAMBIGUATION_PASSES):
        groups: dict[str, list[str]] = {}
        for name, text in short_names.items():
            groups.setdefault(text, []).append(name)
        for colliding in groups.values():
            prefix = _WORD_PREFIX_PATTERN.match(_common_prefix(colliding)) if len(colliding) > 1 else None
            if prefix is not None:
                ends = {name: name[prefix.end() :] for name in long_names if name.startswith(prefix[0])}
                short_names |= {name: shorten_name(f"…{end}", cells) for name, end in ends.items()}
    return short_names


def _common_prefix(names: Sequence[str]) -> str:
    """The common prefix of all names, found from the smallest and the largest."""
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
    """A column of a table. ``min_width``: it is squeezed no further; columns of higher ``rank`` are dropped first, 0
    never. ``gap``: the cells before it; ``holds_names``: shorten its texts as names."""

    title: str
    min_width: int = 4
    rank: int = 0
    gap: int = 2
    holds_names: bool = False


#: Requested widths of columns -> assigned widths.
ColumnSizer = Callable[[list[int]], list[int]]


class WidestColumns:
    """Remembers the widest size of each column by table key, so that columns do not move from stop to stop."""

    def __init__(self) -> None:
        self._widths: dict[object, list[int]] = {}

    def column_sizer(self, *key: object) -> ColumnSizer:
        """The sizer of one table."""

        def sizes(requested: list[int]) -> list[int]:
            previous = self._widths.get(key, requested)
            self._widths[key] = widest = [max(pair) for pair in zip(previous, requested, strict=True)]
            return widest

        return sizes


def table_lines(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Span]],
    width: int,
    header: bool = True,
    targets: Sequence[Target | None] = (),
    sizes: ColumnSizer | None = None,
) -> list[StyledLine]:
    """Rows as aligned lines of at most ``width`` cells; ``targets``: the targets of the rows; ``sizes``: see
    :class:`WidestColumns`.

    If the columns do not fit, those of the highest rank are dropped; then the widest are squeezed.
    """
    return TextTable(columns, rows, width, header, sizes).lines(targets)


class TextTable:
    """The table of :func:`table_lines`, with its width known before the lines are built."""

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
        ideal = [max(cells) for cells in zip(*self._cell_widths, strict=True)]
        self._column_widths = self._squeeze_columns(self._drop_columns(ideal if sizes is None else sizes(ideal)))

    @property
    def used_width(self) -> int:
        """The width of a line."""
        return min(self._total_width(self._column_widths), self._width)

    def lines(self, targets: Sequence[Target | None] = ()) -> list[StyledLine]:
        """The lines; ``targets``: the targets of the rows."""
        row_targets = [*[None] * self._header, *(targets or [None] * (len(self._rows) - self._header))]
        return [
            StyledLine(self._row_spans(row, cells), target=target)
            for row, cells, target in zip(self._rows, self._cell_widths, row_targets, strict=True)
        ]

    def _drop_columns(self, requested: Sequence[int]) -> dict[int, int]:
        """The remaining columns with their requested widths."""
        sizes = dict(enumerate(requested))
        while (
            len(sizes) > 1
            and self._total_width({k: self._min_width(k, size) for k, size in sizes.items()}) > self._width
        ):
            dropped = max(sizes, key=lambda k: (self._columns[k].rank, k))
            if self._columns[dropped].rank == 0:
                break
            del sizes[dropped]
        return sizes

    def _squeeze_columns(self, sizes: dict[int, int]) -> dict[int, int]:
        """The assigned width of each column."""
        minimums = {k: self._min_width(k, size) for k, size in sizes.items()}
        for _ in range(self._total_width(sizes) - self._width):
            widest = max(sizes, key=lambda k: (sizes[k] - minimums[k], sizes[k]))
            if sizes[widest] <= 1:
                break
            sizes[widest] -= 1
        return sizes

    def _min_width(self, k: int, requested: int) -> int:
        return min(self._columns[k].min_width, requested)

    def _total_width(self, sizes: Mapping[int, int]) -> int:
        """The width of columns and gaps."""
        return sum(sizes.values()) + sum([self._columns[k].gap for k in sizes][1:])

    def _cut_text(self, k: int, text: str, size: int) -> str:
        """Truncate a text to the size of its column."""
        if not self._columns[k].holds_names:
            return pad_to_width(text, size)
        return pad_to_width(shorten_distinctly(tuple([row[k][0] for row in self._rows]), size)[text], size)

    def _row_spans(self, row: Sequence[Span], cells: Sequence[int]) -> tuple[Span, ...]:
        spans: list[Span] = []
        for k, size in self._column_widths.items():
            text, role = row[k]
            padded = text + " " * (size - cells[k]) if cells[k] <= size else self._cut_text(k, text, size)
            spans += [(" " * self._columns[k].gap, Role.PLAIN), (padded, role)]
        return (
            tuple(spans[1:])
            if self._total_width(self._column_widths) <= self._width
            else truncate_spans(spans[1:], self._width)
        )
