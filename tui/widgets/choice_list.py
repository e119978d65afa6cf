"""A list to choose from, driven by the filter line that has the focus."""

from __future__ import annotations

from collections.abc import Callable

from textual.widgets import OptionList


class ChoiceList(OptionList, can_focus=False):
    """Option list without focus; an enabled row is always highlighted if there is one."""

    def move_highlight(self, direction: str) -> None:
        """Highlight another row: ``up``, ``down``, ``page_up``, ``page_down``."""
        moves: dict[str, Callable[[], None]] = {
            "up": self.action_cursor_up,
            "down": self.action_cursor_down,
            "page_up": self.action_page_up,
            "page_down": self.action_page_down,
        }
        # Page moves need a size.
        if self.option_count and self.size.height:
            moves[direction]()
