"""Base class of the modal screens above the panes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from textual.binding import BindingsMap
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen

from ..actions import Action, ScreenKind, actions_by_id, actions_of_screen, screen_bindings
from ..widgets.key_bar import KeyBar

Result = TypeVar("Result")


class ModalBase(ModalScreen[Result]):
    """A modal screen with the key bindings of its kind from the action table, and a key bar. ``opened_by``: the action
    whose keys opened it, and also close it."""

    def __init__(self, kind: ScreenKind, actions: Sequence[Action], opened_by: str = "") -> None:
        super().__init__()
        self.kind = kind
        self.actions = tuple(actions)
        #: See :class:`.main_screen.MainScreen`.
        self.action_targets: Mapping[str, DOMNode] = {}
        self._bindings = BindingsMap.merge([self._bindings, screen_bindings(kind, self.actions)])
        for key in actions_by_id(actions)[opened_by].keys if opened_by else ():
            self._bindings.bind(key, "leave", show=False)
        self.key_bar = KeyBar(actions_of_screen(kind, self.actions), self.run_chosen_action, id=f"{kind}-keys")

    def dismiss_once(self, result: Result | None = None) -> None:
        """Dismiss the screen, unless a typed-ahead key already did."""
        if self.is_current:
            self.dismiss(result)

    def action_leave(self) -> None:
        self.dismiss_once()

    def run_chosen_action(self, action: Action | None) -> None:
        """Run an action chosen in the palette or the key bar."""
        if action is not None and action.textual_action:
            self.app.call_later(self.app.run_action, action.textual_action, self)

    def action_scroll(self, direction: str) -> None:
        """Scroll: ``up``, ``down``, ``page_up``, ``page_down``, ``home``, ``end``."""
        for box in self.query(VerticalScroll):  # keys may arrive before the screen is composed
            getattr(box, f"scroll_{direction}")(animate=False)
