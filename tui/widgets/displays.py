"""The expressions that are displayed, with their values at this stop."""

from __future__ import annotations

from collections.abc import Sequence

from ..screen.displayed import Displayed
from ..screen.layout import Need
from ..screen.lines import Column, Line, Role, Span, Widest, table
from ..screen.targets import DisplayTarget
from ..screen.view import Shown
from .pane import Pane

_COLUMNS = (Column("", 1), Column("expression", 6, gap=1, names=True), Column("", 1), Column("value", 8, gap=1))
#: Before a value that is another one than at the stop before.
CHANGED = "≠"


class Displays(Pane):
    """One row for each; ``≠`` where the value is another one than at the stop before. Where there is none, there is no
    pane."""

    def __init__(self, id: str) -> None:
        super().__init__("Displays", id)
        self._widest = Widest()

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        frame = shown.frame.frame
        self.set_title("Displays", "" if frame.loop is None else f"in {frame.name}")
        found = shown.view.displays
        targets = [DisplayTarget(one.number, one.text) for one in found]
        return table(_COLUMNS, [_row(one) for one in found], width, False, targets, self._widest.of(width))

    def brief(self, shown: Shown) -> Sequence[Span]:
        told: list[Span] = []
        for one in shown.view.displays:
            told += [(one.text, Role.PLAIN), (" ", Role.PLAIN), _row(one)[-1], ("   ", Role.PLAIN)]
        return told

    def need(self, shown: Shown) -> Need | None:
        count = len(shown.view.displays)
        return Need(1, count) if count else None


def _row(one: Displayed) -> list[Span]:
    role = Role.ERROR if one.failed else Role.DIM if one.absent else Role.MARK if one.changed else Role.VALUE
    return [
        (str(one.number), Role.NAME),
        (one.text, Role.PLAIN),
        (CHANGED if one.changed else "", Role.MARK),
        (one.told, role),
    ]
