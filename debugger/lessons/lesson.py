"""A lesson: cards around one idea. In 76 columns the text of a card has at most six lines; a test counts them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from .modes import Row
from .question import Draw, Question, Told, show, tell
from .scene import Scene

WIDTH, HEIGHT = 76, 6
#: A line that is broken anywhere, or parts that stand side by side and are not broken.
Paragraph = str | tuple[str, ...]
#: What other runtimes make of a scene: gets the scene, and how it is compared with a runtime.
Note = Callable[[Scene, Callable[[Scene, str], str]], str]


class Kind(StrEnum):
    """What a card is for."""

    RECALL = "Once more"
    SAY = "Say first"
    READ = "Read"
    DO = "Do"
    LOOK = "Look"
    ASK = "Ask"
    REMEMBER = "Remember"
    TASK = "After the hour"
    QUIZ = "Quiz"
    LAST = "The end"

    @property
    def judged(self) -> bool:
        """Its answer is right or wrong."""
        return self in (Kind.RECALL, Kind.ASK, Kind.TASK, Kind.QUIZ)


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
    """One card; ``question``: what it asks, of which :attr:`Kind.SAY` keeps the guess and never judges it. ``draw``:
    asks with other numbers each time. ``row``: the mode that is asked for, where a quiz keeps what was missed."""

    kind: Kind
    text: Told
    scene: Scene
    question: Question | None = None
    steps: tuple[Step, ...] = ()
    draw: Draw | None = None
    row: Row | None = None

    def asked(self, random: Random) -> Question | None:
        """What it asks now."""
        return self.question if self.draw is None else self.draw(random)

    @property
    def asks(self) -> bool:
        """It has a question."""
        return self.question is not None or self.draw is not None

    @property
    def again(self) -> bool:
        """Its question can be asked with other numbers."""
        return self.draw is not None and self.kind is not Kind.QUIZ

    def paragraphs(self, asked: Question | None) -> list[Paragraph]:
        """The card as text, without its steps; ``asked``: its question as it was drawn."""
        text = self.text if isinstance(self.text, str) else tell(self.text, (asked or self).scene.played)
        told: list[Paragraph] = [*text.splitlines()]
        if asked is not None:
            told += asked.text.splitlines()
            if asked.choices:
                told.append(tuple(f"{letter}) {show(value)}" for letter, value in asked.choices.items()))
        return told


@dataclass(frozen=True, eq=False)
class Lesson:
    """``scenes``: by letter, the first one is opened. ``ask``: its question with the numbers of the scene, which is
    guessed first where ``say`` is not; ``draw``: the question with numbers of its own.

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
    draw: Draw
    remember: Told
    doing: Told = ""
    say: Question | None = None
    first: Draw | None = None
    note: Note | None = None
    covered: bool = False

    @property
    def scene(self) -> Scene:
        """The one that is opened."""
        return next(iter(self.scenes.values()))

    @property
    def cards(self) -> Sequence[Card]:
        """Its cards in order."""
        scene = self.scene
        first = () if self.first is None else (Card(Kind.RECALL, "", scene, draw=self.first),)
        return (
            *first,
            Card(Kind.SAY, self.intro, scene, self.say or self.ask),
            Card(Kind.DO, self.doing, scene, steps=self.do),
            Card(Kind.LOOK, self.look, scene),
            Card(Kind.ASK, "", self.ask.scene, draw=self.draw),
            Card(Kind.REMEMBER, self.remember, scene),
        )

    def deal(self, random: Random) -> Sequence[Card]:
        """The cards for one who goes through it."""
        return self.cards


@dataclass(frozen=True, eq=False)
class Tasks:
    """Any number of cards around a subject; done once all that it asks is answered right."""

    number: int
    title: str
    minutes: int
    cards: Sequence[Card]
    goal: str = ""
    scenes: Mapping[str, Scene] = field(default_factory=dict)
    note: Note | None = None
    words: tuple[str, ...] = ()
    covered: bool = False

    @property
    def scene(self) -> Scene:
        """The one that is opened."""
        return next(iter(self.scenes.values()), self.cards[0].scene)

    def deal(self, random: Random) -> Sequence[Card]:
        """The cards for one who goes through them."""
        return self.cards


@dataclass(frozen=True, eq=False)
class Quiz(Tasks):
    """Cards that are dealt anew each time; each takes one answer, and the last one says what was missed."""

    dealt: Callable[[Random], Sequence[Card]] = lambda random: ()

    def deal(self, random: Random) -> Sequence[Card]:
        return self.dealt(random)


@dataclass(frozen=True)
class Course:
    """Lessons by number, from 1 on. ``name``: under which what is done of it is kept."""

    name: str
    title: str
    lessons: Mapping[int, Lesson | Tasks]

    @property
    def last(self) -> int:
        """The highest number."""
        return max(self.lessons)


def fitted(paragraphs: Sequence[Paragraph], width: int) -> list[str]:
    """Paragraphs in lines of a width."""
    lines: list[str] = []
    for one in paragraphs:
        lines += _packed(one, width) if isinstance(one, tuple) else wrapped(one, width)
    return lines


def _packed(parts: Sequence[str], width: int) -> list[str]:
    """Parts side by side, none of them broken where it fits at all."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= width:
            lines[-1] += f"   {part}"
        else:
            lines += textwrap.wrap(part, width)
    return lines


def wrapped(text: str, width: int = WIDTH) -> list[str]:
    """A text in a width; line breaks stay, and what a line begins with stands before those that follow it."""
    lines: list[str] = []
    for line in text.splitlines():
        margin = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line, width, subsequent_indent=margin) or [""]
    return lines
