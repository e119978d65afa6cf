"""Front-end specific wording of lessons: keys on the screen, commands in the console."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .scene import Scene


@dataclass(frozen=True)
class KeyWording:
    """``key_names``: a key of the screen, in backquotes in texts -> its name in this front end.

    ``comparison_text``: describes the comparison of a scene with a peer; ``lesson_command``: the command of a lesson.
    """

    key_names: dict[str, str]
    comparison_text: Callable[[Scene, str], str]
    lesson_command: Callable[[int], str]

    def __call__(self, text: str) -> str:
        """Adapt a text of a lesson to this front end."""
        for key, name in self.key_names.items():
            text = text.replace(f"`{key}`", f"`{name}`")
        return text


#: The console commands for keys that are not commands.
CONSOLE_KEY_NAMES = {"←": "back", "W": "why", "[": "up", "]": "down", "a": "answer", "B": "break"}
