"""The running loops, outermost first, each with its iteration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...runtime.graph import Graph, Loop, bodies
from ..render.formatting import NO_LIMIT_TEXT, escape_unprintable, limit_text
from ..render.pane_layout import ONE_LINE, SpaceRequest
from ..render.stop_view import FrameView, ScreenState
from ..render.styled_text import Role, Span, StyledLine, TableColumn, WidestColumns, table_lines
from ..render.targets import FrameTarget, Target
from .pane import Pane

_COLUMNS = (TableColumn("", 1), TableColumn("frame", 6, gap=1, holds_names=True), TableColumn("iteration", 8))


class StackPane(Pane):
    """One row for each frame; ``▸`` the one that the other panes show."""

    def __init__(self, id: str) -> None:
        super().__init__("Stack", id)
        self._column_widths = WidestColumns()

    def build(self, shown: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        rows: list[list[Span]] = []
        targets: list[Target] = []
        for depth, view in enumerate(_shown_frames(shown)):
            here = view is shown.frame
            targets.append(FrameTarget(depth if depth < len(shown.view.frames) else None))
            rows.append(
                [
                    ("▸" if here else " ", Role.MARK),
                    (_frame_name(view), Role.NAME if here else Role.PLAIN),
                    (_iteration_text(view), Role.VALUE if here else Role.DIM),
                ]
            )
        return table_lines(_COLUMNS, rows, width, False, targets, self._column_widths.sizer_for(width))

    def one_line_spans(self, shown: ScreenState) -> Sequence[Span]:
        told: list[Span] = []
        for view in _shown_frames(shown):
            told += [(" ▸ ", Role.DIM)] * bool(told) + [
                (_frame_name(view), Role.NAME if view is shown.frame else Role.DIM)
            ]
        return told

    def space_request(self, shown: ScreenState) -> SpaceRequest | None:
        """The header tells of one loop, with room for all that can run inside of each other where there are more."""
        if not shown.has_loops:
            return None
        most = 1 + _max_loop_depth(shown.main_graph)
        return SpaceRequest(1, most) if most > 2 else ONE_LINE

    def follow(self) -> None:
        if self.screen_state is not None and self.screen_state.depth is not None:
            self.cursor = self.screen_state.depth
            self.show_line(self.cursor, 0)


def _shown_frames(shown: ScreenState) -> Sequence[FrameView]:
    """Those that run, and the one that is shown after it ended."""
    return shown.view.frames if shown.depth is not None else (*shown.view.frames, shown.frame)


@lru_cache(maxsize=16)
def _max_loop_depth(graph: Graph) -> int:
    """How many loops can run inside of each other."""
    inside = [_max_loop_depth(body) + isinstance(node, Loop) for node in graph.nodes for _, body in bodies(node)]
    return max(inside, default=0)


def _frame_name(view: FrameView) -> str:
    return escape_unprintable(view.frame.name) if view.frame.loop is not None else "main"


def _iteration_text(view: FrameView) -> str:
    frame = view.frame
    if frame.loop is None:
        return ""
    if frame.stopped_by is not None:
        return f"ended, {frame.iteration}"
    limit = limit_text(frame.trip_count)
    limit = "" if limit == NO_LIMIT_TEXT else f"/{limit}"
    return f"iter {frame.iteration}{limit}"
