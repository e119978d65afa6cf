"""Pane of the stack: the running loops, outermost first, with their iterations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...debugger.frame_state import FrameState
from ...runtime.graph import Graph, Loop, bodies
from ..render.formatting import NO_LIMIT_TEXT, escape_unprintable, trip_limit_text
from ..render.pane_layout import ONE_LINE, SpaceRequest
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, TableColumn, WidestColumns, table_lines
from ..render.targets import FrameTarget, Target
from .pane import Pane

_COLUMNS = (TableColumn("", 1), TableColumn("frame", 6, gap=1, holds_names=True), TableColumn("iteration", 8))


class StackPane(Pane):
    """One row for each frame; ``▸`` marks the one in focus."""

    def __init__(self, id: str) -> None:
        super().__init__("Stack", id)
        self._column_widths = WidestColumns()

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        rows: list[list[Span]] = []
        targets: list[Target] = []
        for depth, frame in enumerate(_shown_frames(state)):
            in_focus = frame is state.frame
            targets.append(FrameTarget(depth if depth < len(state.view.frames) else None))
            rows.append(
                [
                    ("▸" if in_focus else " ", Role.MARK),
                    (_frame_name(frame), Role.NAME if in_focus else Role.PLAIN),
                    (_iteration_text(frame), Role.VALUE if in_focus else Role.DIM),
                ]
            )
        return table_lines(_COLUMNS, rows, width, False, targets, self._column_widths.column_sizer(width))

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        spans: list[Span] = []
        for frame in _shown_frames(state):
            spans += [(" ▸ ", Role.DIM)] * bool(spans) + [
                (_frame_name(frame), Role.NAME if frame is state.frame else Role.DIM)
            ]
        return spans

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        """One line for a single loop, which the header shows; else a line for each possible nesting level."""
        if not state.has_loops:
            return None
        max_frames = 1 + _max_loop_depth(state.main_graph)
        return SpaceRequest(1, max_frames) if max_frames > 2 else ONE_LINE

    def follow(self) -> None:
        if self.screen_state is not None and self.screen_state.depth is not None:
            self.cursor = self.screen_state.depth
            self.show_line(self.cursor, 0)


def _shown_frames(state: ScreenState) -> Sequence[FrameState]:
    """The running frames, and the frame in focus if it has ended."""
    return state.view.frames if state.depth is not None else (*state.view.frames, state.frame)


@lru_cache(maxsize=16)
def _max_loop_depth(graph: Graph) -> int:
    """The maximum nesting depth of loops."""
    depths = [_max_loop_depth(body) + isinstance(node, Loop) for node in graph.nodes for _, body in bodies(node)]
    return max(depths, default=0)


def _frame_name(frame: FrameState) -> str:
    return escape_unprintable(frame.name) if frame.loop is not None else "main"


def _iteration_text(frame: FrameState) -> str:
    if frame.loop is None:
        return ""
    if frame.stopped_by is not None:
        return f"ended, {frame.iteration}"
    limit = trip_limit_text(frame.trip_count)
    limit = "" if limit == NO_LIMIT_TEXT else f"/{limit}"
    return f"iter {frame.iteration}{limit}"
