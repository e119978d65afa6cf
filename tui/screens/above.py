"""What all screens above the panes are: they can be left by any key that a person would try, and only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from textual.binding import BindingsMap
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from ..actions import Action, Place, at, bindings, by_id
from ..widgets.keys import Keys

Result = TypeVar("Result")


class Above(ModalScreen[Result]):
    """A screen above the panes, with the keys of its place in the table of actions; ``keys`` is its foot."""

    def __init__(self, place: Place, actions: Sequence[Action]) -> None:
        super().__init__()
        self.actions = tuple(actions)
        self._bindings = BindingsMap.merge([self._bindings, bindings(place, self.actions)])
        self.keys = Keys(at(place, self.actions), self.chosen, id=f"{place}-keys")

    def leave(self, result: Result | None = None) -> None:
        """Go away; keys typed ahead may ask for it twice."""
        if self.is_current:
            self.dismiss(result)

    def action_leave(self) -> None:
        self.leave()

    def chosen(self, action: Action | None) -> None:
        """An action that the palette or a click at the foot chose."""
        if action is not None and action.does:
            self.app.call_later(self.app.run_action, action.does, self)


class TextScreen(Above[Result]):
    """Something to read, in a box that scrolls. ``also``: the action whose keys opened it: they close it as well."""

    def __init__(self, actions: Sequence[Action], also: str) -> None:
        super().__init__(Place.TEXT, actions)
        for key in by_id(actions)[also].keys:
            self._bindings.bind(key, "leave", show=False)

    def action_scroll(self, where: str) -> None:
        """Move what is read: ``up``, ``down``, ``page_up``, ``page_down``, ``home``, ``end``."""
        for box in self.query(VerticalScroll):  # none before the screen is composed: keys may come earlier
            getattr(box, f"scroll_{where}")(animate=False)
