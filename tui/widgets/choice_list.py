"""A list to choose from, while a line that filters it has the focus."""

from __future__ import annotations

from collections.abc import Callable

from textual.widgets import OptionList


class ChoiceList(OptionList, can_focus=False):
    """Rows; one is highlighted wherever there is any that can be chosen."""

    def move(self, where: str) -> None:
        """Highlight another row: ``up``, ``down``, ``page_up``, ``page_down``."""
        moves: dict[str, Callable[[], None]] = {
            "up": self.action_cursor_up,
            "down": self.action_cursor_down,
            "page_up": self.action_page_up,
            "page_down": self.action_page_down,
        }
        # Before it has a size there are no pages.
        if self.option_count and self.size.height:
            moves[where]()
