"""The screens that the app opens with: the debugger, and before it the chooser of models and the editor of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.screen import Screen

from ..actions import Action, ActionTarget, ScreenKind, actions_of_screen
from ..widgets.key_bar import KeyBar


class MainScreen(Screen[None]):
    """A screen with the key bindings of its ``kind`` from the action table, and a key bar."""

    #: The message about a paste while no input line has the focus.
    PASTE_HINT = ""

    def __init__(self, kind: ScreenKind, actions: Sequence[Action]) -> None:
        super().__init__(id="_default")
        self.kind = kind
        self.actions = tuple(actions)
        #: The parts that the action table names.
        self.action_targets: Mapping[str, ActionTarget] = {}
        self.key_bar = KeyBar(actions_of_screen(kind, self.actions), self.run_chosen_action, id="keys")

    def is_bound(self, textual_action: str) -> bool:
        """Whether the keys of an action are bound now."""
        return True

    def run_chosen_action(self, action: Action) -> None:
        """Run an action chosen in the palette or the key bar."""
        if action.textual_action:
            self.app.call_later(self.app.run_action, action.textual_action, self)

    def say(self, text: str, error: bool = False) -> None:
        """Show a message."""
        raise NotImplementedError
