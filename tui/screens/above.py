"""What all screens above the panes are: they can be left by any key that a person would try, and only once."""

from __future__ import annotations

from typing import TypeVar

from textual.screen import ModalScreen

Result = TypeVar("Result")


class Above(ModalScreen[Result]):
    """A screen above the panes."""

    def leave(self, result: Result | None = None) -> None:
        """Go away; keys typed ahead may ask for it twice."""
        if self.is_current:
            self.dismiss(result)

    def action_leave(self) -> None:
        self.leave()
