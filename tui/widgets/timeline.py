"""Pane of the timeline: the iterations of the loop in focus, one line per branch, with marks for events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from textual import events
from textual.message import Message

from ..render.formatting import escape_unprintable
from ..render.pane_layout import SpaceRequest
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, pad_to_width, shorten_name, styled_line, truncate
from ..render.targets import IterationTarget
from ..render.timeline_rows import BranchRow as Branch
from .pane import Pane

#: Trip counts above this are no estimate of the run: the scale follows the iterations that ran.
_SCALED_TRIP_COUNT_MAX = 1 << 31
_LABEL_MAX_CELLS = 26
#: The marks.
_BREAKPOINT_SIGN, _HIT_SIGN, _EDIT_SIGN, _NON_FINITE_SIGN, _CURRENT_SIGN = "●", "⚑", "✎", "×", "▼"


class TimelinePane(Pane):
    """``━`` ran, ``┄`` not yet; a click or drag moves to an iteration."""

    class IterationPicked(Message):
        """An iteration of a branch was clicked."""

        def __init__(self, target: IterationTarget) -> None:
            super().__init__()
            self.target = target

    def __init__(self, id: str) -> None:
        super().__init__("Timeline", id)
        self._label_width, self._bar_width, self._bar_iterations = 0, 1, 1
        #: For each line the iterations of marked cells.
        self._marked_iterations: list[dict[int, int]] = []
        self._dragging = False
        self._last_picked = -1

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        return SpaceRequest(1, max(1, len(state.branches.rows))) if state.has_loops else None

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        frame, branch_count = state.frame, len(state.branches.rows)
        if frame.loop is None:
            return [("no loop runs here", Role.DIM)]
        text = f"iterations of '{escape_unprintable(frame.name)}'"
        return [(f"{text}, on {branch_count} branches" if branch_count > 1 else text, Role.DIM)]

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame, branches = state.frame, state.branches
        if frame.loop is None:
            self.set_title("Timeline")
            return [styled_line(("no loop runs here", Role.DIM))]
        self._bar_iterations = _total_iterations(state)
        self.set_title(
            f"Timeline  iterations of '{shorten_name(escape_unprintable(frame.name), width // 3)}'",
            "▼ now  ● breakpoint  ⚑ hit  ✎ set by hand  × NaN, Inf",
        )
        labels = [_branch_label(branch) for branch in branches.rows]
        label_cells = max((cell_len(text) for text in labels), default=0)
        self._label_width = min(label_cells, _LABEL_MAX_CELLS if width >= 60 else 12) + 2
        ends = [_branch_end_text(branch, self._bar_iterations) for branch in branches.rows]
        end_cells = min(max((cell_len(text) for text in ends), default=0), width // 3)
        self._bar_width = max(1, width - self._label_width - end_cells - 1)
        self._marked_iterations = []
        lines = []
        for label, end, branch in zip(labels, ends, branches.rows, strict=True):
            marked: dict[int, int] = {}
            self._marked_iterations.append(marked)
            lines.append(
                styled_line(
                    (pad_to_width(label, self._label_width), Role.NAME if branch.current else Role.DIM),
                    *self._bar_spans(branch, state, marked),
                    (" " + truncate(end, end_cells), Role.DIM),
                    target=IterationTarget(
                        branches.iteration if branch.current else branch.last,
                        None if branch.current else branch.number,
                        "; ".join(branch.edits) or branch.end_text,
                    ),
                )
            )
        return lines or [styled_line(("no iteration ran here yet", Role.DIM))]

    def _cell_for_iteration(self, iteration: int) -> int:
        """The bar's cell of an iteration."""
        return min(self._bar_width - 1, iteration * (self._bar_width - 1) // max(1, self._bar_iterations))

    def _iteration_at_cell(self, cell: int) -> int:
        """The iteration of a cell of the bar."""
        if self._bar_width < 2:
            return 0
        return min(self._bar_iterations, -(-cell * self._bar_iterations // (self._bar_width - 1)))

    def _bar_spans(self, row: Branch, state: ScreenState, marked: dict[int, int]) -> Iterator[Span]:
        """``marked`` receives the iteration of each cell with a mark."""
        marks = list(self._branch_marks(row, state))
        cells = [" "] * self._bar_width
        roles = [Role.DIM] * self._bar_width
        begin, end = self._cell_for_iteration(row.first), self._cell_for_iteration(row.last)
        if row.current and not row.end_text:
            for k in range(end, self._bar_width):
                cells[k] = "┄"
        for k in range(begin, end + 1):
            cells[k] = "━" if row.current else "╼"
            roles[k] = Role.PLOT if row.current else Role.DIM
        by_sign = {
            sign: {self._cell_for_iteration(iteration): iteration for iteration in items} for sign, _, items in marks
        }
        # Place rare marks first: next to a dense run of marks there is no free cell.
        by_sign = dict(sorted(by_sign.items(), key=lambda item: (item[0] != _CURRENT_SIGN, len(item[1]))))
        role_by_sign = {sign: role for sign, role, _ in marks}
        placed = place_marks({sign: set(items) for sign, items in by_sign.items()}, self._bar_width)
        for k, (sign, cell) in placed.items():
            cells[k], roles[k] = sign, role_by_sign[sign]
            marked[k] = by_sign[sign][cell]
        start = 0
        for k in range(1, self._bar_width + 1):
            if k == self._bar_width or roles[k] is not roles[start]:
                yield "".join(cells[start:k]), roles[start]
                start = k

    def _branch_marks(self, row: Branch, state: ScreenState) -> Iterator[tuple[str, Role, Sequence[int]]]:
        frame = state.frame
        if row.current:
            yield _CURRENT_SIGN, Role.MARK, [frame.iteration]
            yield _BREAKPOINT_SIGN, Role.ERROR, [k for k in _breakpoint_iterations(state) if k <= self._bar_iterations]
        yield (
            _NON_FINITE_SIGN,
            Role.ERROR,
            [k for k in sorted(row.non_finite, reverse=True) if row.first <= k <= row.last],
        )
        if row.edits:
            yield _EDIT_SIGN, Role.MARK, [row.first]
        yield _HIT_SIGN, Role.MARK, [k for k in row.hits if row.first <= k <= row.last]

    # -- the mouse travels

    def _iteration_target_at(self, event: events.MouseEvent) -> IterationTarget | None:
        index = self.line_index_at(event)
        offset = event.get_content_offset(self)
        if index is None or offset is None:
            return None
        target = self.lines[index].target
        cell = offset.x - 1 - self._label_width
        if not isinstance(target, IterationTarget) or not 0 <= cell < self._bar_width:
            return None
        marked = self._marked_iterations[index].get(cell)
        return IterationTarget(self._iteration_at_cell(cell) if marked is None else marked, target.branch)

    def _post_picked_iteration(self, event: events.MouseEvent) -> None:
        target = self._iteration_target_at(event)
        if target is not None and target.iteration != self._last_picked:
            self._last_picked = target.iteration
            self.post_message(self.IterationPicked(target))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragging, self._last_picked = True, -1
        self._post_picked_iteration(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        # Dragging does not switch branches.
        target = self._iteration_target_at(event) if self._dragging and event.button else None
        if target is not None and target.branch is None:
            self._post_picked_iteration(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._dragging = False


def place_marks(cells_by_sign: Mapping[str, set[int]], cells: int) -> dict[int, tuple[str, int]]:
    """Place marks in the cells of a bar: cell -> the mark in it, and the cell that it belongs to.

    ``cells_by_sign``: the marks in order of priority. A mark whose cell is taken goes to the nearest cell that is free
    or has the same sign, left first."""
    placed: dict[int, tuple[str, int]] = {}
    for sign, sign_cells in cells_by_sign.items():
        for k in sign_cells:
            placed.setdefault(k, (sign, k))
    for sign, sign_cells in cells_by_sign.items():
        for k in sorted(sign_cells):
            if placed[k][0] == sign:
                continue
            candidates = (k + direction * step for step in range(1, cells) for direction in (-1, 1))
            free = next(
                (cell for cell in candidates if 0 <= cell < cells and placed.get(cell, (sign, 0))[0] == sign), None
            )
            if free is not None:
                placed.setdefault(free, (sign, k))
    return placed


def _breakpoint_iterations(state: ScreenState) -> list[int]:
    """The iterations of this loop with enabled breakpoints."""
    frame = state.frame
    breakpoints = (
        bp for bp in state.view.stop_state.breakpoints if bp.enabled and bp.iterations and frame.index in bp.loops
    )
    return [bp.iterations[-1] for bp in breakpoints if bp.iterations[:-1] in ((), frame.entry)]


def _total_iterations(state: ScreenState) -> int:
    """The number of iterations that the bar represents."""
    frame, branches = state.frame, state.branches.rows
    newest = max([frame.iteration, *(branch.last for branch in branches), *_breakpoint_iterations(state)])
    if frame.trip_count is not None and frame.trip_count < _SCALED_TRIP_COUNT_MAX:
        return max(1, frame.trip_count, newest)
    ended = all(branch.end_text for branch in branches)
    return max(1, newest if ended else newest + max(1, newest // 8))


def _branch_label(branch: Branch) -> str:
    if branch.parent is None:
        return f"{branch.number} the run"
    return f"{branch.number} {'; '.join(branch.edits) or f'from {branch.parent}'}"


def _branch_end_text(branch: Branch, total: int) -> str:
    return branch.end_text or (str(total) if branch.current else f"left at {branch.last}")
