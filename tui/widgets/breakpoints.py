"""The breakpoints and watchpoints: where they stop, whether they do, how often they did."""

from __future__ import annotations

from collections.abc import Sequence

from ..screen.layout import LINE, Need
from ..screen.lines import Column, Line, Role, Span, line, table
from ..screen.targets import BreakpointTarget, Target
from ..screen.view import Shown
from .pane import Pane

_COLUMNS = (Column("", 1), Column("", 1, gap=1), Column("", 5, gap=1), Column("title", 8), Column("hits", 4, rank=1))
#: What stands where there are none, in the width that there is.
_NONE = ("none; b sets one on a line, w watches", "none; b sets one, w watches", "none")


class BreakpointList(Pane):
    """One row for each; ``●`` on, ``○`` off."""

    def __init__(self, id: str) -> None:
        super().__init__("Breakpoints", id)

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        found = shown.view.snapshot.breakpoints
        self.set_title("Breakpoints, watches")
        if not found:
            told = next((text for text in _NONE if len(text) <= width), _NONE[-1])
            return [line((told, Role.DIM))]
        hit = shown.view.snapshot.stop.breakpoints
        rows: list[list[Span]] = []
        targets: list[Target] = []
        for one in found:
            here = one.number in hit
            rows.append(
                [
                    ("●" if one.enabled else "○", Role.ERROR if one.enabled else Role.DIM),
                    (str(one.number), Role.NAME),
                    ("" if one.word == "breakpoint" else one.word.removesuffix("point"), Role.DIM),
                    (one.title, (Role.MARK if here else Role.PLAIN) if one.enabled else Role.DIM),
                    (_told(one.hits, one.enabled, here), Role.VALUE if one.enabled else Role.DIM),
                ]
            )
            targets.append(BreakpointTarget(one.number))
        return table(_COLUMNS, rows, width, header=False, targets=targets)

    def brief(self, shown: Shown) -> Sequence[Span]:
        found = shown.view.snapshot.breakpoints
        return [("; ".join(f"{one.number} {one.title}" for one in found) or _NONE[0], Role.DIM)]

    def need(self, shown: Shown) -> Need | None:
        count = len(shown.view.snapshot.breakpoints)
        return Need(1, count) if count else LINE


def _told(hits: int, enabled: bool, here: bool) -> str:
    told = f"hit {hits}×" if hits else ""
    if not enabled:
        return f"off {told}".strip()
    return f"{told} ⚑" if here else told
