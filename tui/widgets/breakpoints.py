"""The breakpoints and watchpoints: where they stop, whether they do, how often they did."""

from __future__ import annotations

from collections.abc import Sequence

from ..render.pane_layout import ONE_LINE, SpaceRequest
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, TableColumn, styled_line, table_lines
from ..render.targets import BreakpointTarget, Target
from .pane import Pane

_COLUMNS = (
    TableColumn("", 1),
    TableColumn("", 1, gap=1),
    TableColumn("", 5, gap=1),
    TableColumn("title", 8),
    TableColumn("hits", 4, rank=1),
)
#: What stands where there are none, in the width that there is.
_EMPTY_TEXTS = ("none; b sets one on a line, w watches", "none; b sets one, w watches", "none")


class BreakpointsPane(Pane):
    """One row for each; ``●`` on, ``○`` off."""

    def __init__(self, id: str) -> None:
        super().__init__("Breakpoints", id)

    def build(self, shown: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        found = shown.view.snapshot.breakpoints
        self.set_title("Breakpoints, watches")
        if not found:
            told = next((text for text in _EMPTY_TEXTS if len(text) <= width), _EMPTY_TEXTS[-1])
            return [styled_line((told, Role.DIM))]
        hit = shown.view.snapshot.stop.breakpoints
        rows: list[list[Span]] = []
        targets: list[Target] = []
        for one in found:
            here = one.number in hit
            rows.append(
                [
                    ("●" if one.enabled else "○", Role.ERROR if one.enabled else Role.DIM),
                    (str(one.number), Role.NAME),
                    ("" if one.kind_name == "breakpoint" else one.kind_name.removesuffix("point"), Role.DIM),
                    (one.title, (Role.MARK if here else Role.PLAIN) if one.enabled else Role.DIM),
                    (_hits_text(one.hits, one.enabled, here), Role.VALUE if one.enabled else Role.DIM),
                ]
            )
            targets.append(BreakpointTarget(one.number))
        return table_lines(_COLUMNS, rows, width, header=False, targets=targets)

    def one_line_spans(self, shown: ScreenState) -> Sequence[Span]:
        found = shown.view.snapshot.breakpoints
        return [("; ".join(f"{one.number} {one.title}" for one in found) or _EMPTY_TEXTS[0], Role.DIM)]

    def space_request(self, shown: ScreenState) -> SpaceRequest | None:
        count = len(shown.view.snapshot.breakpoints)
        return SpaceRequest(1, count) if count else ONE_LINE


def _hits_text(hits: int, enabled: bool, here: bool) -> str:
    told = f"hit {hits}×" if hits else ""
    if not enabled:
        return f"off {told}".strip()
    return f"{told} ⚑" if here else told
