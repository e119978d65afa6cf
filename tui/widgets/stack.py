"""The running loops, outermost first, each with its iteration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...runtime.graph import Graph, Loop, bodies
from ..screen.layout import LINE, Need
from ..screen.lines import Column, Line, Role, Span, Widest, table
from ..screen.targets import FrameTarget, Target
from ..screen.text import NO_LIMIT, limit_text, printable
from ..screen.view import FrameView, Shown
from .pane import Pane

_COLUMNS = (Column("", 1), Column("frame", 6, gap=1, names=True), Column("iteration", 8))


class Stack(Pane):
    """One row for each frame; ``▸`` the one that the other panes show."""

    def __init__(self, id: str) -> None:
        super().__init__("Stack", id)
        self._widest = Widest()

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        rows: list[list[Span]] = []
        targets: list[Target] = []
        for depth, view in enumerate(_frames(shown)):
            here = view is shown.frame
            targets.append(FrameTarget(depth if depth < len(shown.view.frames) else None))
            rows.append(
                [
                    ("▸" if here else " ", Role.MARK),
                    (_name(view), Role.NAME if here else Role.PLAIN),
                    (_where(view), Role.VALUE if here else Role.DIM),
                ]
            )
        return table(_COLUMNS, rows, width, False, targets, self._widest.of(width))

    def brief(self, shown: Shown) -> Sequence[Span]:
        told: list[Span] = []
        for view in _frames(shown):
            told += [(" ▸ ", Role.DIM)] * bool(told) + [(_name(view), Role.NAME if view is shown.frame else Role.DIM)]
        return told

    def need(self, shown: Shown) -> Need | None:
        """The header tells of one loop, with room for all that can run inside of each other where there are more."""
        if not shown.has_loops:
            return None
        most = 1 + _deepest(shown.main)
        return Need(1, most) if most > 2 else LINE

    def follow(self) -> None:
        if self.shown is not None and self.shown.depth is not None:
            self.cursor = self.shown.depth
            self.show_line(self.cursor, 0)


def _frames(shown: Shown) -> Sequence[FrameView]:
    """Those that run, and the one that is shown after it ended."""
    return shown.view.frames if shown.depth is not None else (*shown.view.frames, shown.frame)


@lru_cache(maxsize=16)
def _deepest(graph: Graph) -> int:
    """How many loops can run inside of each other."""
    inside = [_deepest(body) + isinstance(node, Loop) for node in graph.nodes for _, body in bodies(node)]
    return max(inside, default=0)


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
