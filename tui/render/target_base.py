"""What a line of a pane can stand for; :mod:`.targets` has the kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Target(ABC):
    """Anything that a row can stand for: what Enter opens, ``y`` copies, and the line above the keys tells in full.

    Plain data that outlives the stop it was made at; ``shown`` is the :class:`.stop_view.ScreenState` that it is asked
    about.
    """

    @abstractmethod
    def text(self, shown: Any) -> str:
        """All of it in words, for the line above the keys: full names, dtype, shape."""

    def copy_text(self, shown: Any) -> str:
        """What ``y`` copies."""
        return self.text(shown)
