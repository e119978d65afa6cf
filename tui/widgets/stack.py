"""The running loops, outermost first, each with its iteration."""

from __future__ import annotations

from collections.abc import Sequence

from ..screen.layout import Need
from ..screen.lines import Column, Line, Role, Span, table
from ..screen.targets import FrameTarget, Target
from ..screen.text import NO_LIMIT, limit_text, printable
from ..screen.view import FrameView, Shown
from .pane import Pane

_COLUMNS = (Column("", 1), Column("frame", 6, gap=1), Column("iteration", 8))


class Stack(Pane):
    """One row for each frame; ``▸`` the one that the other panes show."""

    def __init__(self, id: str) -> None:
        super().__init__("Stack", id)

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        rows: list[list[Span]] = []
        targets: list[Target] = []
        frames = shown.view.frames if shown.depth is not None else (*shown.view.frames, shown.frame)
        for depth, view in enumerate(frames):
            here = view is shown.frame
            targets.append(FrameTarget(depth if depth < len(shown.view.frames) else None))
            rows.append(
                [
                    ("▸" if here else " ", Role.MARK),
                    (_name(view), Role.NAME if here else Role.PLAIN),
                    (_where(view), Role.VALUE if here else Role.DIM),
                ]
            )
        return table(_COLUMNS, rows, width, header=False, targets=targets)

    def need(self, shown: Shown) -> Need | None:
        return None if not shown.has_loops else Need(1, len(shown.view.frames) + (shown.depth is None))

    def follow(self) -> None:
        if self.shown is not None and self.shown.depth is not None:
            self.cursor = self.shown.depth
            self.show_line(self.cursor, 0)


def _name(view: FrameView) -> str:
    return printable(view.frame.name) if view.frame.loop is not None else "main"


def _where(view: FrameView) -> str:
    frame = view.frame
    if frame.loop is None:
        return ""
    if frame.stopped_by is not None:
        return f"ended, {frame.iteration}"
    limit = limit_text(frame.trip_count)
    limit = "" if limit == NO_LIMIT else f"/{limit}"
    return f"iter {frame.iteration}{limit}"
