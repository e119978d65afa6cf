"""Small apps that come before the debugger: a list, a line to type into, keys."""

from __future__ import annotations

from ..actions import Now
from .common import CommonApp, Result


class SmallApp(CommonApp[Result]):
    """An app in which all that keys depend on is whether a line is typed."""

    def look_around(self, typing: bool) -> None:
        """After what the keys mean changed."""
        self.keys.now = Now(typing=typing)
