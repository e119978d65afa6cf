"""A lesson: cards around one idea. In 76 columns the text of a card has at most six lines; a test counts them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from .loop_modes import LoopMode
from .question import Question, QuestionGenerator, RunText, format_answer, render_text
from .scene import Scene

CARD_WIDTH_CHARS, CARD_MAX_LINES = 76, 6
#: A line that is broken anywhere, or parts that stand side by side and are not broken.
Paragraph = str | tuple[str, ...]
#: What other runtimes make of a scene: gets the scene, and how it is compared with a runtime.
NoteWriter = Callable[[Scene, Callable[[Scene, str], str]], str]


class CardKind(StrEnum):
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
    def graded(self) -> bool:
        """Its answer is right or wrong."""
        return self in (CardKind.RECALL, CardKind.ASK, CardKind.TASK, CardKind.QUIZ)


@dataclass(frozen=True)
class LessonStep:
    """One thing to do: the keys or the line as a person reads them, the command's name that they amount to, and what it
    does. ``exact``: what stands behind the command has to be just that."""

    keys: str
    command: str
    description: str
    times: int = 1
    exact: bool = True


@dataclass(frozen=True, eq=False)
class Card:
    """One card; ``question``: what it asks, of which :attr:`Kind.SAY` keeps the guess and never judges it. ``draw``:
    asks with other numbers each time. ``row``: the mode that is asked for, where a quiz keeps what was missed."""

    kind: CardKind
    text: RunText
    scene: Scene
    question: Question | None = None
    steps: tuple[LessonStep, ...] = ()
    generate_question: QuestionGenerator | None = None
    row: LoopMode | None = None

    def draw_question(self, random: Random) -> Question | None:
        """What it asks now."""
        return self.question if self.generate_question is None else self.generate_question(random)

    @property
    def has_question(self) -> bool:
        """It has a question."""
        return self.question is not None or self.generate_question is not None

    @property
    def can_redraw(self) -> bool:
        """Its question can be asked with other numbers."""
        return self.generate_question is not None and self.kind is not CardKind.QUIZ

    def paragraphs(self, asked: Question | None) -> list[Paragraph]:
        """The card as text, without its steps; ``asked``: its question as it was drawn."""
        text = self.text if isinstance(self.text, str) else render_text(self.text, (asked or self).scene.reference_run)
        told: list[Paragraph] = [*text.splitlines()]
        if asked is not None:
            told += asked.text.splitlines()
            if asked.choices:
                told.append(tuple(f"{letter}) {format_answer(value)}" for letter, value in asked.choices.items()))
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
    terms: tuple[str, ...]
    scenes: Mapping[str, Scene]
    intro: RunText
    steps: tuple[LessonStep, ...]
    look_text: RunText
    question: Question
    generate_question: QuestionGenerator
    remember_text: RunText
    do_text: RunText = ""
    guess_question: Question | None = None
    generate_recall: QuestionGenerator | None = None
    write_note: NoteWriter | None = None
    hides_listing: bool = False

    @property
    def scene(self) -> Scene:
        """The one that is opened."""
        return next(iter(self.scenes.values()))

    @property
    def cards(self) -> Sequence[Card]:
        """Its cards in order."""
        scene = self.scene
        first = (
            ()
            if self.generate_recall is None
            else (Card(CardKind.RECALL, "", scene, generate_question=self.generate_recall),)
        )
        return (
            *first,
            Card(CardKind.SAY, self.intro, scene, self.guess_question or self.question),
            Card(CardKind.DO, self.do_text, scene, steps=self.steps),
            Card(CardKind.LOOK, self.look_text, scene),
            Card(CardKind.ASK, "", self.question.scene, generate_question=self.generate_question),
            Card(CardKind.REMEMBER, self.remember_text, scene),
        )

    def deal_cards(self, random: Random) -> Sequence[Card]:
        """The cards for one who goes through it."""
        return self.cards


@dataclass(frozen=True, eq=False)
class ExerciseSet:
    """Any number of cards around a subject; done once all that it asks is answered right."""

    number: int
    title: str
    minutes: int
    cards: Sequence[Card]
    goal: str = ""
    scenes: Mapping[str, Scene] = field(default_factory=dict)
    write_note: NoteWriter | None = None
    terms: tuple[str, ...] = ()
    hides_listing: bool = False

    @property
    def scene(self) -> Scene:
        """The one that is opened."""
        return next(iter(self.scenes.values()), self.cards[0].scene)

    def deal_cards(self, random: Random) -> Sequence[Card]:
        """The cards for one who goes through them."""
        return self.cards


@dataclass(frozen=True, eq=False)
class Quiz(ExerciseSet):
    """Cards that are dealt anew each time; each takes one answer, and the last one says what was missed."""

    card_generator: Callable[[Random], Sequence[Card]] = lambda random: ()

    def deal_cards(self, random: Random) -> Sequence[Card]:
        return self.card_generator(random)


@dataclass(frozen=True)
class Course:
    """Lessons by number, from 1 on. ``name``: under which what is done of it is kept."""

    name: str
    title: str
    lessons: Mapping[int, Lesson | ExerciseSet]

    @property
    def last_number(self) -> int:
        """The highest number."""
        return max(self.lessons)


def wrap_paragraphs(paragraphs: Sequence[Paragraph], width: int) -> list[str]:
    """Paragraphs in lines of a width."""
    lines: list[str] = []
    for one in paragraphs:
        lines += _wrap_parts(one, width) if isinstance(one, tuple) else wrap_text(one, width)
    return lines


def _wrap_parts(parts: Sequence[str], width: int) -> list[str]:
    """Parts side by side, none of them broken where it fits at all."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= width:
            lines[-1] += f"   {part}"
        else:
            lines += textwrap.wrap(part, width)
    return lines


def wrap_text(text: str, width: int = CARD_WIDTH_CHARS) -> list[str]:
    """A text in a width; line breaks stay, and what a line begins with stands before those that follow it."""
    lines: list[str] = []
    for line in text.splitlines():
        margin = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line, width, subsequent_indent=margin) or [""]
    return lines
