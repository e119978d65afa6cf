"""Time: the iterations of the loop in focus, one line a branch, with what happened where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from textual import events
from textual.message import Message

from ..render.branch_rows import BranchRow as Branch
from ..render.formatting import escape_unprintable
from ..render.pane_layout import SpaceRequest
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, pad_to_width, shorten_name, styled_line, truncate
from ..render.targets import IterationTarget
from .pane import Pane

#: Trip counts above this say nothing about how long a loop will run: the scale follows what has run.
_SCALED_TRIP_COUNT_MAX = 1 << 31
_LABEL_MAX_CELLS = 26
#: The marks.
_BREAKPOINT_SIGN, _HIT_SIGN, _EDIT_SIGN, _NON_FINITE_SIGN, _CURRENT_SIGN = "●", "⚑", "✎", "×", "▼"


class TimelinePane(Pane):
    """``━`` ran, ``┄`` not yet; click or drag on it to travel."""

    class IterationPicked(Message):
        """An iteration was pointed at on a branch."""

        def __init__(self, target: IterationTarget) -> None:
            super().__init__()
            self.target = target

    def __init__(self, id: str) -> None:
        super().__init__("Timeline", id)
        self._label_width, self._bar_width, self._bar_iterations = 0, 1, 1
        #: Of each line the iterations that cells with a mark stand for.
        self._marked_iterations: list[dict[int, int]] = []
        self._dragging = False
        self._last_picked = -1

    def space_request(self, shown: ScreenState) -> SpaceRequest | None:
        return SpaceRequest(1, max(1, len(shown.frame.branches.rows))) if shown.has_loops else None

    def one_line_spans(self, shown: ScreenState) -> Sequence[Span]:
        frame, branches = shown.frame.frame, len(shown.frame.branches.rows)
        if frame.loop is None:
            return [("no loop runs here", Role.DIM)]
        told = f"iterations of '{escape_unprintable(frame.name)}'"
        return [(f"{told}, on {branches} branches" if branches > 1 else told, Role.DIM)]

    def build(self, shown: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame, found = shown.frame.frame, shown.frame.branches
        if frame.loop is None:
            self.set_title("Timeline")
            return [styled_line(("no loop runs here", Role.DIM))]
        self._bar_iterations = _total_iterations(shown)
        self.set_title(
            f"Timeline  iterations of '{shorten_name(escape_unprintable(frame.name), width // 3)}'",
            "▼ now  ● breakpoint  ⚑ hit  ✎ set by hand  × NaN, Inf",
        )
        labels = [_branch_label(one) for one in found.rows]
        wide = max((cell_len(text) for text in labels), default=0)
        self._label_width = min(wide, _LABEL_MAX_CELLS if width >= 60 else 12) + 2
        ends = [_end_text(one, self._bar_iterations) for one in found.rows]
        after = min(max((cell_len(text) for text in ends), default=0), width // 3)
        self._bar_width = max(1, width - self._label_width - after - 1)
        self._marked_iterations = []
        lines = []
        for label, end, one in zip(labels, ends, found.rows, strict=True):
            at: dict[int, int] = {}
            self._marked_iterations.append(at)
            lines.append(
                styled_line(
                    (pad_to_width(label, self._label_width), Role.NAME if one.current else Role.DIM),
                    *self._bar_spans(one, shown, at),
                    (" " + truncate(end, after), Role.DIM),
                    target=IterationTarget(
                        found.iteration if one.current else one.last,
                        None if one.current else one.number,
                        "; ".join(one.edits) or one.end_text,
                    ),
                )
            )
        return lines or [styled_line(("no iteration ran here yet", Role.DIM))]

    def _cell_for_iteration(self, iteration: int) -> int:
        """Where an iteration stands in the bar."""
        return min(self._bar_width - 1, iteration * (self._bar_width - 1) // max(1, self._bar_iterations))

    def _iteration_at_cell(self, cell: int) -> int:
        """The iteration that a cell stands for."""
        if self._bar_width < 2:
            return 0
        return min(self._bar_iterations, -(-cell * self._bar_iterations // (self._bar_width - 1)))

    def _bar_spans(self, one: Branch, shown: ScreenState, at: dict[int, int]) -> Iterator[Span]:
        """``at``: gets the iteration that is meant by each cell with a mark."""
        marks = list(self._branch_marks(one, shown))
        cells = [" "] * self._bar_width
        roles = [Role.DIM] * self._bar_width
        begin, end = self._cell_for_iteration(one.first), self._cell_for_iteration(one.last)
        if one.current and not one.end_text:
            for k in range(end, self._bar_width):
                cells[k] = "┄"
        for k in range(begin, end + 1):
            cells[k] = "━" if one.current else "╼"
            roles[k] = Role.PLOT if one.current else Role.DIM
        places = {
            sign: {self._cell_for_iteration(iteration): iteration for iteration in found} for sign, _, found in marks
        }
        # Where many stand beside each other, another finds no place near them: the few come first.
        places = dict(sorted(places.items(), key=lambda one: (one[0] != _CURRENT_SIGN, len(one[1]))))
        role_of = {sign: role for sign, role, _ in marks}
        placed = place_marks({sign: set(found) for sign, found in places.items()}, self._bar_width)
        for k, (sign, meant) in placed.items():
            cells[k], roles[k] = sign, role_of[sign]
            at[k] = places[sign][meant]
        start = 0
        for k in range(1, self._bar_width + 1):
            if k == self._bar_width or roles[k] is not roles[start]:
                yield "".join(cells[start:k]), roles[start]
                start = k

    def _branch_marks(self, one: Branch, shown: ScreenState) -> Iterator[tuple[str, Role, Sequence[int]]]:
        frame = shown.frame.frame
        if one.current:
            yield _CURRENT_SIGN, Role.MARK, [frame.iteration]
            yield _BREAKPOINT_SIGN, Role.ERROR, [k for k in _breakpoint_iterations(shown) if k <= self._bar_iterations]
        yield (
            _NON_FINITE_SIGN,
            Role.ERROR,
            [k for k in sorted(one.non_finite, reverse=True) if one.first <= k <= one.last],
        )
        if one.edits:
            yield _EDIT_SIGN, Role.MARK, [one.first]
        yield _HIT_SIGN, Role.MARK, [k for k in one.hits if one.first <= k <= one.last]

    # -- the mouse travels

    def _target_at(self, event: events.MouseEvent) -> IterationTarget | None:
        index = self.line_index_at(event)
        offset = event.get_content_offset(self)
        if index is None or offset is None:
            return None
        target = self.lines[index].target
        cell = offset.x - 1 - self._label_width
        if not isinstance(target, IterationTarget) or not 0 <= cell < self._bar_width:
            return None
        meant = self._marked_iterations[index].get(cell)
        return IterationTarget(self._iteration_at_cell(cell) if meant is None else meant, target.branch)

    def _post_picked(self, event: events.MouseEvent) -> None:
        target = self._target_at(event)
        if target is not None and target.iteration != self._last_picked:
            self._last_picked = target.iteration
            self.post_message(self.IterationPicked(target))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragging, self._last_picked = True, -1
        self._post_picked(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        # Another branch is gone to by a click, not in passing.
        pointed = self._target_at(event) if self._dragging and event.button else None
        if pointed is not None and pointed.branch is None:
            self._post_picked(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._dragging = False


def place_marks(places: Mapping[str, set[int]], cells: int) -> dict[int, tuple[str, int]]:
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


def _breakpoint_iterations(shown: ScreenState) -> list[int]:
    """The iterations of this loop that breakpoints wait for."""
    frame = shown.frame.frame
    found = (b for b in shown.view.snapshot.breakpoints if b.enabled and b.iterations and frame.index in b.loops)
    return [b.iterations[-1] for b in found if b.iterations[:-1] in ((), frame.entry)]


def _total_iterations(shown: ScreenState) -> int:
    """The iterations that the bars are as long as."""
    frame, spans = shown.frame.frame, shown.frame.branches.rows
    seen = max([frame.iteration, *(one.last for one in spans), *_breakpoint_iterations(shown)])
    if frame.trip_count is not None and frame.trip_count < _SCALED_TRIP_COUNT_MAX:
        return max(1, frame.trip_count, seen)
    ended = all(one.end_text for one in spans)
    return max(1, seen if ended else seen + max(1, seen // 8))


def _branch_label(one: Branch) -> str:
    if one.parent is None:
        return f"{one.number} the run"
    return f"{one.number} {'; '.join(one.edits) or f'from {one.parent}'}"


def _end_text(one: Branch, total: int) -> str:
    return one.end_text or (str(total) if one.current else f"left at {one.last}")
