"""The value that the cursor is on, beside the other panes: it follows the cursor of whichever has the focus."""

from __future__ import annotations

from collections.abc import Sequence

from ..screen.layout import Need
from ..screen.lines import Line, Role, Span, line
from ..screen.target import Target
from ..screen.targets import value_of
from ..screen.text import printable
from ..screen.value import value_lines
from ..screen.view import Shown
from .pane import Pane

#: The lines of what is known of a value in any case: its name, its statistics, who makes and who reads it.
_KNOWN = 7


class ValuePane(Pane, can_focus=False):
    """A few lines; of what is no value, what the line above the keys says of it."""

    def __init__(self, id: str) -> None:
        super().__init__("Value", id)
        self._at: Target | None = None

    def look(self, shown: Shown, target: Target | None) -> None:
        """The cursor is on something else, or the stop is another."""
        moved, self._at = target != self._at, target
        if shown is not self.shown:
            self.shown = shown
        elif moved:
            self.rebuild(follow=False)

    def need(self, shown: Shown) -> Need | None:
        return Need(_KNOWN, 10)

    def brief(self, shown: Shown) -> Sequence[Span]:
        return [("" if self._at is None else printable(self._at.text(shown)), Role.DIM)]

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        value = value_of(self._at)
        self.set_title("Value at the cursor", "" if value is None else "enter: all of it, p: plot")
        if value is not None:
            return value_lines(shown, value, width, height)
        told = "the cursor is on no value" if self._at is None else self._at.text(shown)
        return [line((printable(part), Role.DIM)) for part in told.split("   ")]
