"""Pane of the breakpoints and watchpoints: location, state, hit count."""

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
#: Texts of the empty pane, longest first.
_EMPTY_TEXTS = ("none; b sets one on a line, w watches", "none; b sets one, w watches", "none")


class BreakpointsPane(Pane):
    """One row for each; ``●`` on, ``○`` off."""

    def __init__(self, id: str) -> None:
        super().__init__("Breakpoints", id)

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        breakpoints = state.view.stop_state.breakpoints
        self.set_title("Breakpoints, watches")
        if not breakpoints:
            text = next((text for text in _EMPTY_TEXTS if len(text) <= width), _EMPTY_TEXTS[-1])
            return [styled_line((text, Role.DIM))]
        hit = state.view.stop_state.stop.breakpoints
        rows: list[list[Span]] = []
        targets: list[Target] = []
        for bp in breakpoints:
            is_hit = bp.number in hit
            rows.append(
                [
                    ("●" if bp.enabled else "○", Role.ERROR if bp.enabled else Role.DIM),
                    (str(bp.number), Role.NAME),
                    ("" if bp.kind_name == "breakpoint" else bp.kind_name.removesuffix("point"), Role.DIM),
                    (bp.title, (Role.MARK if is_hit else Role.PLAIN) if bp.enabled else Role.DIM),
                    (_hits_text(bp.hits, bp.enabled, is_hit), Role.VALUE if bp.enabled else Role.DIM),
                ]
            )
            targets.append(BreakpointTarget(bp.number))
        return table_lines(_COLUMNS, rows, width, header=False, targets=targets)

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        breakpoints = state.view.stop_state.breakpoints
        return [("; ".join(f"{bp.number} {bp.title}" for bp in breakpoints) or _EMPTY_TEXTS[0], Role.DIM)]

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        count = len(state.view.stop_state.breakpoints)
        return SpaceRequest(1, count) if count else ONE_LINE


def _hits_text(hits: int, enabled: bool, is_hit: bool) -> str:
    text = f"hit {hits}×" if hits else ""
    if not enabled:
        return f"off {text}".strip()
    return f"{text} ⚑" if is_hit else text
