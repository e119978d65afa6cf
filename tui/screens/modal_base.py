"""What all screens above the panes are: they can be left by any key that a person would try, and only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from textual.binding import BindingsMap
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from ..actions import Action, ScreenKind, actions_by_id, actions_on, screen_bindings
from ..widgets.key_bar import KeyBar

Result = TypeVar("Result")


class ModalBase(ModalScreen[Result]):
    """A screen above the panes, with the keys of its place in the table of actions; ``keys`` is its foot."""

    def __init__(self, place: ScreenKind, actions: Sequence[Action]) -> None:
        super().__init__()
        self.actions = tuple(actions)
        self._bindings = BindingsMap.merge([self._bindings, screen_bindings(place, self.actions)])
        self.key_bar = KeyBar(actions_on(place, self.actions), self.run_chosen_action, id=f"{place}-keys")

    def dismiss_once(self, result: Result | None = None) -> None:
        """Go away; keys typed ahead may ask for it twice."""
        if self.is_current:
            self.dismiss(result)

    def action_leave(self) -> None:
        self.dismiss_once()

    def run_chosen_action(self, action: Action | None) -> None:
        """An action that the palette or a click at the foot chose."""
        if action is not None and action.textual_action:
            self.app.call_later(self.app.run_action, action.textual_action, self)


class TextScreen(ModalBase[Result]):
    """Something to read, in a box that scrolls. ``also``: the action whose keys opened it: they close it as well."""

    def __init__(self, actions: Sequence[Action], also: str) -> None:
        super().__init__(ScreenKind.TEXT, actions)
        for key in actions_by_id(actions)[also].keys:
            self._bindings.bind(key, "leave", show=False)

    def action_scroll(self, where: str) -> None:
        """Move what is read: ``up``, ``down``, ``page_up``, ``page_down``, ``home``, ``end``."""
        for box in self.query(VerticalScroll):  # none before the screen is composed: keys may come earlier
            getattr(box, f"scroll_{where}")(animate=False)
