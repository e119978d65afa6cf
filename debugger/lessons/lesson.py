"""A lesson: five cards around one idea. Texts have at most six lines of 76 columns; a test counts them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .question import Question, Told, ValueQuestion, show, tell
from .scene import Scene

WIDTH, HEIGHT = 76, 6


class Kind(StrEnum):
    """What a card is for."""

    RECALL = "Once more"
    SAY = "Say first"
    DO = "Do"
    LOOK = "Look"
    ASK = "Ask"
    REMEMBER = "Remember"
    TASK = "After the hour"
    LAST = "The end"


@dataclass(frozen=True)
class Step:
    """One thing to do: the keys or the line as a person reads them, the command's name that they amount to, and what it
    does. ``exact``: what stands behind the command has to be just that."""

    keys: str
    command: str
    told: str
    times: int = 1
    exact: bool = True


@dataclass(frozen=True, eq=False)
class Card:
    """One card; ``question``: what it asks, of which :attr:`Kind.SAY` keeps the guess and never judges it."""

    kind: Kind
    text: Told
    scene: Scene
    question: Question | None = None
    steps: tuple[Step, ...] = ()
    #: Other questions of the same kind, for those who ask again.
    again: tuple[Question, ...] = ()

    def lines(self, question: Question | None = None) -> list[str]:
        """The card as text, without its steps; ``question``: asked in the place of its own."""
        asked = question or self.question
        played = (asked.scene if asked is not None else self.scene).played
        told = wrapped(tell(self.text, played))
        if asked is not None:
            told += wrapped(asked.text)
        if isinstance(asked, ValueQuestion) and asked.choice:
            told += _packed([f"{letter}) {show(value)}" for letter, value in asked.choices.items()])
        return told


@dataclass(frozen=True, eq=False)
class Lesson:
    """``scenes``: by letter, the first one is opened. ``say``: what is to be guessed, where that is not ``ask``.

    ``first``: a question of an earlier lesson with new numbers. ``note``: what other runtimes make of it, told once the
    question is answered. ``covered``: the listing would give the answer away, and is covered until there is a guess.
    """

    number: int
    title: str
    minutes: int
    goal: str
    words: tuple[str, ...]
    scenes: Mapping[str, Scene]
    intro: Told
    do: tuple[Step, ...]
    look: Told
    ask: Question
    remember: Told
    doing: Told = ""
    say: Question | None = None
    again: tuple[Question, ...] = ()
    first: Question | None = None
    note: Callable[[Scene, Callable[[Scene, str], str]], str] | None = None
    covered: bool = False

    @property
    def scene(self) -> Scene:
        """The one that is opened."""
        return next(iter(self.scenes.values()))

    @property
    def cards(self) -> Sequence[Card]:
        """Its cards in order."""
        scene = self.scene
        first = () if self.first is None else (Card(Kind.RECALL, "", self.first.scene, self.first),)
        return (
            *first,
            Card(Kind.SAY, self.intro, scene, self.say or self.ask),
            Card(Kind.DO, self.doing, scene, steps=self.do),
            Card(Kind.LOOK, self.look, scene),
            Card(Kind.ASK, "", self.ask.scene, self.ask, again=self.again),
            Card(Kind.REMEMBER, self.remember, scene),
        )


@dataclass(frozen=True, eq=False)
class Tasks:
    """What comes after the lessons: no new facts, no hints, any order."""

    number: int
    title: str
    minutes: int
    cards: Sequence[Card]
    words: tuple[str, ...] = ()
    covered: bool = False
    note: None = None

    @property
    def scene(self) -> Scene:
        """The one that is opened."""
        return self.cards[0].scene

    @property
    def scenes(self) -> Mapping[str, Scene]:
        """None but that of the card."""
        return {}


def _packed(parts: Sequence[str]) -> list[str]:
    """Parts side by side, none of them broken."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= WIDTH:
            lines[-1] += f"   {part}"
        else:
            lines.append(part)
    return lines


def wrapped(text: str) -> list[str]:
    """A text in the width of a card; line breaks stay."""
    return [part for line in text.splitlines() for part in (textwrap.wrap(line, WIDTH) or [""])]
