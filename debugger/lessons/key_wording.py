"""How a front end is spoken of: the same lesson tells of keys on the screen, and of commands where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .scene import Scene


@dataclass(frozen=True)
class KeyWording:
    """``says``: a key of the screen, as texts have it between backquotes -> what it is called here.

    ``against``: how a scene is compared with another runtime; ``learn``: how a lesson is opened another day.
    """

    key_names: dict[str, str]
    comparison_text: Callable[[Scene, str], str]
    lesson_command: Callable[[int], str]

    def __call__(self, text: str) -> str:
        """A text of a lesson as it is said here."""
        for key, said in self.key_names.items():
            text = text.replace(f"`{key}`", f"`{said}`")
        return text


#: Keys that are no commands of the console, and the commands.
CONSOLE_KEY_NAMES = {"←": "back", "W": "why", "[": "up", "]": "down", "a": "answer", "B": "break"}
