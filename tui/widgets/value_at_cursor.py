"""The value that the cursor is on, beside the other panes: it follows the cursor of whichever has the focus."""

from __future__ import annotations

from collections.abc import Sequence

from ..render.formatting import escape_unprintable
from ..render.pane_layout import SpaceRequest
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, styled_line
from ..render.target_base import Target
from ..render.targets import value_target
from ..render.value_summary import value_lines
from .pane import Pane

#: The lines of what is known of a value in any case: its name, its statistics, who makes and who reads it.
_MIN_LINES = 7


class ValuePane(Pane, can_focus=False):
    """A few lines; of what is no value, what the line above the keys says of it."""

    def __init__(self, id: str) -> None:
        super().__init__("Value", id)
        self._cursor_target: Target | None = None

    def follow_cursor(self, shown: ScreenState, target: Target | None) -> None:
        """The cursor is on something else, or the stop is another."""
        moved, self._cursor_target = target != self._cursor_target, target
        if shown is not self.screen_state:
            self.screen_state = shown
        elif moved:
            self.rebuild(follow=False)

    def space_request(self, shown: ScreenState) -> SpaceRequest | None:
        return SpaceRequest(_MIN_LINES, 10)

    def one_line_spans(self, shown: ScreenState) -> Sequence[Span]:
        return [("" if self._cursor_target is None else escape_unprintable(self._cursor_target.text(shown)), Role.DIM)]

    def build(self, shown: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        value = value_target(self._cursor_target)
        self.set_title("Value at the cursor", "" if value is None else "enter: all of it, p: plot")
        if value is not None:
            return value_lines(shown, value, width, height)
        told = "the cursor is on no value" if self._cursor_target is None else self._cursor_target.text(shown)
        return [styled_line((escape_unprintable(part), Role.DIM)) for part in told.split("   ")]
