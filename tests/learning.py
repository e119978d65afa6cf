"""A learner for tests: types into a lesson, reads what it says."""

from __future__ import annotations

from pathlib import Path

from loopdbg.debugger.lessons.learner import Learner
from loopdbg.debugger.lessons.progress import Progress
from loopdbg.debugger.lessons.voice import IN_WORDS, Voice
from talk import Talk

VOICE = Voice(IN_WORDS, lambda scene, peer: f"`diff {scene.model} {peer}`", lambda number: f"learn {number}")


class Class:
    """One lesson, and a console in it."""

    def __init__(self, number: int | None = None, path: Path | None = None) -> None:
        self.learner = Learner(Progress(path), VOICE, number=number, attended=False)
        self._talk = Talk(self.learner.session())
        self.console, self.said = self._talk.console, self._talk.said
        self.learner.attach(self.console)

    def __call__(self, *lines: str) -> str:
        """What some lines say, as one text; an error as a line like that of the prompt."""
        return " ".join(self._talk(*lines))

    @property
    def card(self) -> str:
        """The card that is open."""
        return " ".join(self.learner.lines())

    def to(self, kind: str) -> None:
        """Open the card of a kind."""
        kinds = [card.kind.value for card in self.learner.lesson.cards]
        self(f"card {kinds.index(kind) + 1}")
