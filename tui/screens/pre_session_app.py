"""Small apps that come before the debugger: a list, a line to type into, keys."""

from __future__ import annotations

from ..actions import ActionContext
from .base_app import BaseApp, Result


class PreSessionApp(BaseApp[Result]):
    """An app in which all that keys depend on is whether a line is typed."""

    def refresh_context(self, typing: bool) -> None:
        """After what the keys mean changed."""
        self.key_bar.action_context = ActionContext(typing=typing)
