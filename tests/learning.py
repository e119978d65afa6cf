"""A learner for tests: types into a lesson, reads what it says."""

from __future__ import annotations

from pathlib import Path

import loopdbg
from loopdbg.debugger.console.console import Console
from loopdbg.debugger.lessons.learner import Learner
from loopdbg.debugger.lessons.progress import Progress
from loopdbg.debugger.lessons.voice import IN_WORDS, Voice

VOICE = Voice(IN_WORDS, lambda scene, peer: f"`diff {scene.model} {peer}`", lambda number: f"learn {number}")


class Class:
    """One lesson, and a console in it."""

    def __init__(self, number: int | None = None, path: Path | None = None) -> None:
        self.learner = Learner(Progress(path), VOICE, number=number, attended=False)
        self.said: list[str] = []
        self.console = Console(self.learner.session(), self.said.append)
        self.learner.attach(self.console)

    def __call__(self, *lines: str) -> str:
        """What some lines say, as one text; an error as a line like that of the prompt."""
        self.said.clear()
        for line in lines:
            try:
                self.console.execute(line)
            except loopdbg.LoopdbgError as error:
                self.said.append(f"error: {error}")
        return " ".join(self.said)

    @property
    def card(self) -> str:
        """The card that is open."""
        return " ".join(self.learner.lines())

    def to(self, kind: str) -> None:
        """Open the card of a kind."""
        kinds = [card.kind.value for card in self.learner.lesson.cards]
        self(f"card {kinds.index(kind) + 1}")
