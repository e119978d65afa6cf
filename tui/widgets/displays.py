"""Pane of the display expressions with their values at this stop."""

from __future__ import annotations

from collections.abc import Sequence

from ..render.display_expressions import EvaluatedDisplay
from ..render.pane_layout import SpaceRequest
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, TableColumn, WidestColumns, table_lines
from ..render.targets import DisplayTarget
from .pane import Pane

_COLUMNS = (
    TableColumn("", 1),
    TableColumn("expression", 6, gap=1, holds_names=True),
    TableColumn("", 1),
    TableColumn("value", 8, gap=1),
)
#: Marks a value that changed since the previous stop.
CHANGED_SIGN = "≠"


class DisplaysPane(Pane):
    """One row for each display; ``≠`` marks a changed value. Hidden without displays."""

    def __init__(self, id: str) -> None:
        super().__init__("Displays", id)
        self._column_widths = WidestColumns()

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame = state.frame
        self.set_title("Displays", "" if frame.loop is None else f"in {frame.name}")
        displays = state.view.displays
        targets = [DisplayTarget(item.number, item.expression_text) for item in displays]
        return table_lines(
            _COLUMNS,
            [_display_row(item) for item in displays],
            width,
            False,
            targets,
            self._column_widths.column_sizer(width),
        )

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        spans: list[Span] = []
        for item in state.view.displays:
            spans += [
                (item.expression_text, Role.PLAIN),
                (" ", Role.PLAIN),
                _display_row(item)[-1],
                ("   ", Role.PLAIN),
            ]
        return spans

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        count = len(state.view.displays)
        return SpaceRequest(1, count) if count else None


def _display_row(item: EvaluatedDisplay) -> list[Span]:
    role = Role.ERROR if item.failed else Role.DIM if item.absent else Role.MARK if item.changed else Role.VALUE
    return [
        (str(item.number), Role.NAME),
        (item.expression_text, Role.PLAIN),
        (CHANGED_SIGN if item.changed else "", Role.MARK),
        (item.value_text, role),
    ]
