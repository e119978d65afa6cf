"""Time: the iterations of the loop in focus, one line a branch, with what happened where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from textual import events
from textual.message import Message

from ..screen.layout import Need
from ..screen.lines import Line, Role, Span, fit, line, pad, shortened
from ..screen.targets import MomentTarget
from ..screen.text import printable
from ..screen.times import Span as Branch
from ..screen.view import Shown
from .pane import Pane

#: Trip counts above this say nothing about how long a loop will run: the scale follows what has run.
_LIMIT = 1 << 31
_LABEL = 26
#: The marks.
_BREAK, _HIT, _SET, _ODD, _NOW = "●", "⚑", "✎", "×", "▼"


class Timeline(Pane):
    """``━`` ran, ``┄`` not yet; click or drag on it to travel."""

    class Picked(Message):
        """An iteration was pointed at on a branch."""

        def __init__(self, target: MomentTarget) -> None:
            super().__init__()
            self.target = target

    def __init__(self, id: str) -> None:
        super().__init__("Timeline", id)
        self._first, self._cells, self._total = 0, 1, 1
        #: Of each line the iterations that cells with a mark stand for.
        self._meant: list[dict[int, int]] = []
        self._pulled = False
        self._asked = -1

    def need(self, shown: Shown) -> Need | None:
        return Need(1, max(1, len(shown.frame.times.spans))) if shown.has_loops else None

    def brief(self, shown: Shown) -> Sequence[Span]:
        frame, branches = shown.frame.frame, len(shown.frame.times.spans)
        if frame.loop is None:
            return [("no loop runs here", Role.DIM)]
        told = f"iterations of '{printable(frame.name)}'"
        return [(f"{told}, on {branches} branches" if branches > 1 else told, Role.DIM)]

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        frame, found = shown.frame.frame, shown.frame.times
        if frame.loop is None:
            self.set_title("Timeline")
            return [line(("no loop runs here", Role.DIM))]
        self._total = _total(shown)
        self.set_title(
            f"Timeline  iterations of '{shortened(printable(frame.name), width // 3)}'",
            "▼ now  ● breakpoint  ⚑ hit  ✎ set by hand  × NaN, Inf",
        )
        labels = [_label(one) for one in found.spans]
        wide = max((cell_len(text) for text in labels), default=0)
        self._first = min(wide, _LABEL if width >= 60 else 12) + 2
        ends = [_end(one, self._total) for one in found.spans]
        after = min(max((cell_len(text) for text in ends), default=0), width // 3)
        self._cells = max(1, width - self._first - after - 1)
        self._meant = []
        lines = []
        for label, end, one in zip(labels, ends, found.spans, strict=True):
            at: dict[int, int] = {}
            self._meant.append(at)
            lines.append(
                line(
                    (pad(label, self._first), Role.NAME if one.current else Role.DIM),
                    *self._bar(one, shown, at),
                    (" " + fit(end, after), Role.DIM),
                    target=MomentTarget(
                        found.now if one.current else one.last,
                        None if one.current else one.number,
                        "; ".join(one.edits) or one.ended,
                    ),
                )
            )
        return lines or [line(("no iteration ran here yet", Role.DIM))]

    def _cell(self, iteration: int) -> int:
        """Where an iteration stands in the bar."""
        return min(self._cells - 1, iteration * (self._cells - 1) // max(1, self._total))

    def _at(self, cell: int) -> int:
        """The iteration that a cell stands for."""
        if self._cells < 2:
            return 0
        return min(self._total, -(-cell * self._total // (self._cells - 1)))

    def _bar(self, one: Branch, shown: Shown, at: dict[int, int]) -> Iterator[Span]:
        """``at``: gets the iteration that is meant by each cell with a mark."""
        marks = list(self._marks(one, shown))
        cells = [" "] * self._cells
        roles = [Role.DIM] * self._cells
        begin, end = self._cell(one.first), self._cell(one.last)
        if one.current and not one.ended:
            for k in range(end, self._cells):
                cells[k] = "┄"
        for k in range(begin, end + 1):
            cells[k] = "━" if one.current else "╼"
            roles[k] = Role.PLOT if one.current else Role.DIM
        places = {sign: {self._cell(iteration): iteration for iteration in found} for sign, _, found in marks}
        # Where many stand beside each other, another finds no place near them: the few come first.
        places = dict(sorted(places.items(), key=lambda one: (one[0] != _NOW, len(one[1]))))
        role_of = {sign: role for sign, role, _ in marks}
        placed = apart({sign: set(found) for sign, found in places.items()}, self._cells)
        for k, (sign, meant) in placed.items():
            cells[k], roles[k] = sign, role_of[sign]
            at[k] = places[sign][meant]
        start = 0
        for k in range(1, self._cells + 1):
            if k == self._cells or roles[k] is not roles[start]:
                yield "".join(cells[start:k]), roles[start]
                start = k

    def _marks(self, one: Branch, shown: Shown) -> Iterator[tuple[str, Role, Sequence[int]]]:
        frame = shown.frame.frame
        if one.current:
            yield _NOW, Role.MARK, [frame.iteration]
            yield _BREAK, Role.ERROR, [k for k in _asked(shown) if k <= self._total]
        yield _ODD, Role.ERROR, [k for k in sorted(one.odd, reverse=True) if one.first <= k <= one.last]
        if one.edits:
            yield _SET, Role.MARK, [one.first]
        yield _HIT, Role.MARK, [k for k in one.hits if one.first <= k <= one.last]

    # -- the mouse travels

    def _pointed(self, event: events.MouseEvent) -> MomentTarget | None:
        index = self.line_at(event)
        offset = event.get_content_offset(self)
        if index is None or offset is None:
            return None
        target = self.lines[index].target
        cell = offset.x - 1 - self._first
        if not isinstance(target, MomentTarget) or not 0 <= cell < self._cells:
            return None
        meant = self._meant[index].get(cell)
        return MomentTarget(self._at(cell) if meant is None else meant, target.branch)

    def _pick(self, event: events.MouseEvent) -> None:
        target = self._pointed(event)
        if target is not None and target.iteration != self._asked:
            self._asked = target.iteration
            self.post_message(self.Picked(target))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pulled, self._asked = True, -1
        self._pick(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        # Another branch is gone to by a click, not in passing.
        pointed = self._pointed(event) if self._pulled and event.button else None
        if pointed is not None and pointed.branch is None:
            self._pick(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._pulled = False


def apart(places: Mapping[str, set[int]], cells: int) -> dict[int, tuple[str, int]]:
    """Cell -> the mark in it, and the cell that it belongs to. ``places``: where marks belong, the first ones first.

    None is lost: where another stands already, it goes to the nearest cell that is free or has its like, first to the
    left."""
    placed: dict[int, tuple[str, int]] = {}
    for sign, wanted in places.items():
        for k in wanted:
            placed.setdefault(k, (sign, k))
    for sign, wanted in places.items():
        for k in sorted(wanted):
            if placed[k][0] == sign:
                continue
            near = (k + way * far for far in range(1, cells) for way in (-1, 1))
            free = next((n for n in near if 0 <= n < cells and placed.get(n, (sign, 0))[0] == sign), None)
            if free is not None:
                placed.setdefault(free, (sign, k))
    return placed


def _asked(shown: Shown) -> list[int]:
    """The iterations of this loop that breakpoints wait for."""
    frame = shown.frame.frame
    found = (b for b in shown.view.snapshot.breakpoints if b.enabled and b.iterations and frame.index in b.loops)
    return [b.iterations[-1] for b in found if b.iterations[:-1] in ((), frame.entry)]


def _total(shown: Shown) -> int:
    """The iterations that the bars are as long as."""
    frame, spans = shown.frame.frame, shown.frame.times.spans
    seen = max([frame.iteration, *(one.last for one in spans), *_asked(shown)])
    if frame.trip_count is not None and frame.trip_count < _LIMIT:
        return max(1, frame.trip_count, seen)
    ended = all(one.ended for one in spans)
    return max(1, seen if ended else seen + max(1, seen // 8))


def _label(one: Branch) -> str:
    if one.parent is None:
        return f"{one.number} the run"
    return f"{one.number} {'; '.join(one.edits) or f'from {one.parent}'}"


def _end(one: Branch, total: int) -> str:
    return one.ended or (str(total) if one.current else f"left at {one.last}")
