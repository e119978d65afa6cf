"""How a front end is spoken of: the same lesson tells of keys on the screen, and of commands where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .scene import Scene


@dataclass(frozen=True)
class Voice:
    """``says``: a key of the screen, as texts have it between backquotes -> what it is called here.

    ``against``: how a scene is compared with another runtime; ``learn``: how a lesson is opened another day.
    """

    says: dict[str, str]
    against: Callable[[Scene, str], str]
    learn: Callable[[int], str]

    def __call__(self, text: str) -> str:
        """A text of a lesson as it is said here."""
        for key, said in self.says.items():
            text = text.replace(f"`{key}`", f"`{said}`")
        return text


#: Keys that are no commands of the console, and the commands.
IN_WORDS = {"←": "back", "W": "why", "[": "up", "]": "down", "a": "answer", "B": "break"}
