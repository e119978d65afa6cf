"""Base class of the targets of pane rows; see :mod:`.targets`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Target(ABC):
    """The object that a pane row represents: Enter opens it, ``y`` copies it, the line above the keys describes it.

    Plain data that outlives the stop at which it was created; ``state`` is a :class:`.stop_view.ScreenState`.
    """

    @abstractmethod
    def text(self, state: Any) -> str:
        """A full description for the line above the keys: full names, dtype, shape."""

    def copy_text(self, state: Any) -> str:
        """The text that ``y`` copies."""
        return self.text(state)
