"""Small apps that come before the debugger: a list, a line to type into, keys."""

from __future__ import annotations

from typing import TypeVar

from textual.app import App

from .. import settings
from ..themes import DARK, LIGHT, THEMES

_T = TypeVar("_T")


class SmallApp(App[_T]):
    """In the colours of the debugger."""

    TITLE = "loopdbg"
    CSS_PATH = "../app.tcss"
    ENABLE_COMMAND_PALETTE = False

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own colours, for themes that do not name them."""
        return {"muted": DARK.variables["muted"]}

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = LIGHT.name if settings.theme() == LIGHT.name else DARK.name
