"""Base class of the small apps before the debugger."""

from __future__ import annotations

from ..actions import ActionContext
from .base_app import BaseApp, Result


class PreSessionApp(BaseApp[Result]):
    """An app whose keys depend only on whether an input line has the focus."""

    def refresh_context(self, typing: bool) -> None:
        """Update the key bar."""
        self.key_bar.action_context = ActionContext(typing=typing)
