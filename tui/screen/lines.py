"""Lines of a pane: plain text in spans, each with a role that a widget turns into a colour.

Whatever a pane shows is built here and in its neighbours as text alone, so that it reads the same without colour, can
be compared in a test, and is cut to the width that there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich.cells import cell_len, chop_cells

from .target import Target


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


Span = tuple[str, Role]


@dataclass(frozen=True)
class Line:
    """One line of a pane. ``current``: the line that the marker stands on; ``target``: what it stands for, if anything,
    for the cursor (:mod:`.targets`)."""

    spans: tuple[Span, ...] = ()
    current: bool = False
    target: Target | None = None

    @property
    def text(self) -> str:
        """The line without its roles."""
        return "".join(text for text, _ in self.spans)


def line(*spans: Span | str, current: bool = False, target: Target | None = None) -> Line:
    """A line of spans; bare strings are plain."""
    return Line(tuple((s, Role.PLAIN) if isinstance(s, str) else s for s in spans), current, target)


def fit(text: str, width: int) -> str:
    """The text in at most ``width`` cells, its end replaced by ``…`` where it is longer."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    if width == 1:
        return "…"
    return chop_cells(text, width - 1)[0] + "…"


def pad(text: str, width: int) -> str:
    """The text cut or filled to exactly ``width`` cells."""
    text = fit(text, width)
    return text + " " * (width - cell_len(text))


def fit_spans(spans: Iterable[Span], width: int) -> tuple[Span, ...]:
    """Spans cut to ``width`` cells together."""
    kept: list[Span] = []
    for text, role in spans:
        room = width - sum(cell_len(t) for t, _ in kept)
        if cell_len(text) <= room:
            kept.append((text, role))
            continue
        if room > 0:
            kept.append((fit(text, room), role))
        elif kept:
            last, last_role = kept[-1]
            kept[-1] = (fit(last + "…", cell_len(last)), last_role)
        break
    return tuple(kept)


def fit_middle(spans: Sequence[Span], width: int) -> list[Span]:
    """Spans cut to ``width`` cells together; what is cut lies left of their end, a third of the width from it."""
    used = sum(cell_len(text) for text, _ in spans)
    if used <= width:
        return list(spans)
    tail = max(0, width // 3)
    kept = list(fit_spans(spans, width - tail))
    end: list[Span] = []
    for text, role in reversed(spans):
        room = tail - sum(cell_len(t) for t, _ in end)
        if room <= 0:
            break
        end.insert(0, (text if cell_len(text) <= room else _tail(text, room), role))
    return [*kept, *end]


def _tail(text: str, width: int) -> str:
    """The last cells of a text."""
    start = len(text)
    while start > 0 and cell_len(text[start - 1 :]) <= width:
        start -= 1
    return text[start:]


@dataclass(frozen=True)
class Column:
    """A column of a table. ``least``: the width below which it is not squeezed; columns of higher ``rank`` go first
    where there is no room, 0 never goes. ``gap``: the cells before it."""

    title: str
    least: int = 4
    rank: int = 0
    gap: int = 2


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Span]],
    width: int,
    header: bool = True,
    targets: Sequence[Target | None] = (),
) -> list[Line]:
    """Rows as aligned lines of at most ``width`` cells; ``targets``: what the rows stand for.

    Where the columns do not fit, those of the highest rank are left out; where the rest does not either, the widest is
    squeezed until it does.
    """
    shown = list(range(len(columns)))
    wanted = [
        max([cell_len(column.title) if header else 0, *(cell_len(row[k][0]) for row in rows)])
        for k, column in enumerate(columns)
    ]

    def least(k: int) -> int:
        return min(columns[k].least, wanted[k])

    def gaps() -> int:
        return sum(columns[k].gap for k in shown[1:])

    while len(shown) > 1 and sum(map(least, shown)) + gaps() > width:
        worst = max(shown, key=lambda k: (columns[k].rank, k))
        if columns[worst].rank == 0:
            break
        shown.remove(worst)
    sizes = dict(zip(shown, (wanted[k] for k in shown), strict=True))
    excess = sum(sizes.values()) + gaps() - width
    while excess > 0:
        widest = max(shown, key=lambda k: (sizes[k] - least(k), sizes[k]))
        if sizes[widest] <= 1:
            break
        sizes[widest] -= 1
        excess -= 1

    def row_line(row: Sequence[Span], target: Target | None = None) -> Line:
        spans: list[Span] = []
        for k in shown:
            text, role = row[k]
            spans += [(" " * columns[k].gap, Role.PLAIN), (pad(text, sizes[k]), role)]
        return Line(fit_spans(spans[1:], width), target=target)

    lines = [row_line([(column.title, Role.DIM) for column in columns])] if header else []
    return lines + [row_line(row, targets[k] if targets else None) for k, row in enumerate(rows)]
