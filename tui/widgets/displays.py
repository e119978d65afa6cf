"""The expressions that are displayed, with their values at this stop."""

from __future__ import annotations

from collections.abc import Sequence

from ..render.display_values import DisplayValue
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
#: Before a value that is another one than at the stop before.
CHANGED_SIGN = "≠"


class DisplaysPane(Pane):
    """One row for each; ``≠`` where the value is another one than at the stop before. Where there is none, there is no
    pane."""

    def __init__(self, id: str) -> None:
        super().__init__("Displays", id)
        self._column_widths = WidestColumns()

    def build(self, shown: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame = shown.frame.frame
        self.set_title("Displays", "" if frame.loop is None else f"in {frame.name}")
        found = shown.view.displays
        targets = [DisplayTarget(one.number, one.expression_text) for one in found]
        return table_lines(
            _COLUMNS, [_display_row(one) for one in found], width, False, targets, self._column_widths.sizer_for(width)
        )

    def one_line_spans(self, shown: ScreenState) -> Sequence[Span]:
        told: list[Span] = []
        for one in shown.view.displays:
            told += [(one.expression_text, Role.PLAIN), (" ", Role.PLAIN), _display_row(one)[-1], ("   ", Role.PLAIN)]
        return told

    def space_request(self, shown: ScreenState) -> SpaceRequest | None:
        count = len(shown.view.displays)
        return SpaceRequest(1, count) if count else None


def _display_row(one: DisplayValue) -> list[Span]:
    role = Role.ERROR if one.failed else Role.DIM if one.absent else Role.MARK if one.changed else Role.VALUE
    return [
        (str(one.number), Role.NAME),
        (one.expression_text, Role.PLAIN),
        (CHANGED_SIGN if one.changed else "", Role.MARK),
        (one.value_text, role),
    ]
