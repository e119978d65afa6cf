"""Pane of the value at the cursor of the pane that has the focus."""

from __future__ import annotations

from collections.abc import Sequence

from ..render.formatting import escape_unprintable
from ..render.pane_layout import SpaceRequest
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, styled_line
from ..render.target_base import Target
from ..render.targets import value_target
from ..render.value_details import value_lines
from .pane import Pane

#: The lines that every value has: name, statistics, producer and consumers.
_MIN_LINES = 7


class ValuePane(Pane, can_focus=False):
    """A summary of the value; for other targets the text of the detail line."""

    def __init__(self, id: str) -> None:
        super().__init__("Value", id)
        self._cursor_target: Target | None = None

    def follow_cursor(self, state: ScreenState, target: Target | None) -> None:
        """Follow the cursor to another target, or a new stop."""
        changed, self._cursor_target = target != self._cursor_target, target
        if state is not self.screen_state:
            self.screen_state = state
        elif changed:
            self.rebuild(follow=False)

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        return SpaceRequest(_MIN_LINES, 10)

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        return [("" if self._cursor_target is None else escape_unprintable(self._cursor_target.text(state)), Role.DIM)]

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        value = value_target(self._cursor_target)
        self.set_title("Value at the cursor", "" if value is None else "enter: all of it, p: plot")
        if value is not None:
            return value_lines(state, value, width, height)
        text = "the cursor is on no value" if self._cursor_target is None else self._cursor_target.text(state)
        return [styled_line((escape_unprintable(part), Role.DIM)) for part in text.split("   ")]
