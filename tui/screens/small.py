"""Small apps that come before the debugger: a list, a line to type into, keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from textual.app import App

from .. import settings
from ..actions import Action, Now, Place, at, bindings
from ..themes import DARK, LIGHT, THEMES
from ..widgets.keys import Keys

_T = TypeVar("_T")


class SmallApp(App[_T]):
    """In the colours of the debugger, with the keys of its place in the table of actions."""

    TITLE = "loopdbg"
    CSS_PATH = "../app.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, place: Place, actions: Sequence[Action]) -> None:
        super().__init__()
        self.actions = tuple(actions)
        self._bindings = bindings(place, self.actions)
        self.keys = Keys(at(place, self.actions), self._run_action, id="start-keys")

    def _run_action(self, action: Action) -> None:
        """A click at the foot."""
        if action.does:
            self.call_later(self.run_action, action.does)

    def look_around(self, typing: bool) -> None:
        """After what the keys mean changed."""
        self.keys.now = Now(typing=typing)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own colours, for themes that do not name them."""
        return {"muted": DARK.variables["muted"]}

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = LIGHT.name if settings.theme() == LIGHT.name else DARK.name
