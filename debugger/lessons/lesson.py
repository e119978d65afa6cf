"""Lessons and cards. The text of a card has at most six lines of 76 columns, as a test checks."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from .loop_modes import LoopMode
from .question import Question, QuestionGenerator, RunText, format_answer, render_text
from .scene import Scene

CARD_WIDTH_CHARS = 76
#: Text to wrap, or parts to place side by side without wrapping.
Paragraph = str | tuple[str, ...]
#: Writes the note on other runtimes for a scene; the second argument describes a comparison.
NoteWriter = Callable[[Scene, Callable[[Scene, str], str]], str]


class CardKind(StrEnum):
    """The purpose of a card."""

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
        """Whether its answer is graded."""
        return self in (CardKind.RECALL, CardKind.ASK, CardKind.TASK, CardKind.QUIZ)


@dataclass(frozen=True)
class LessonStep:
    """An exercise step: the displayed keys or line, the name of the console command, and a description. ``exact``: the
    arguments must match."""

    keys: str
    command: str
    description: str
    times: int = 1
    exact: bool = True


@dataclass(frozen=True, eq=False)
class Card:
    """A card. A question of :attr:`CardKind.SAY` is never graded: its guess is saved. ``generate_question``: draws new
    numbers each time. ``row``: the mode asked for in a quiz."""

    kind: CardKind
    text: RunText
    scene: Scene
    question: Question | None = None
    steps: tuple[LessonStep, ...] = ()
    generate_question: QuestionGenerator | None = None
    row: LoopMode | None = None

    def draw_question(self, random: Random) -> Question | None:
        """The fixed or a generated question."""
        return self.question if self.generate_question is None else self.generate_question(random)

    @property
    def has_question(self) -> bool:
        """Whether it has a question."""
        return self.question is not None or self.generate_question is not None

    @property
    def can_redraw(self) -> bool:
        """Whether its question can be asked with other numbers."""
        return self.generate_question is not None and self.kind is not CardKind.QUIZ

    def paragraphs(self, drawn: Question | None) -> list[Paragraph]:
        """The text of the card with the drawn question, without its steps."""
        text = self.text if isinstance(self.text, str) else render_text(self.text, (drawn or self).scene.reference_run)
        parts: list[Paragraph] = [*text.splitlines()]
        if drawn is not None:
            parts += drawn.text.splitlines()
            if drawn.choices:
                parts.append(tuple(f"{letter}) {format_answer(value)}" for letter, value in drawn.choices.items()))
        return parts


@dataclass(frozen=True, eq=False)
class ExerciseSet:
    """Any number of cards on a subject; done once all questions are answered correctly. ``scenes``: by letter, the
    first is opened. ``write_note``: the note on other runtimes, shown after the answer. ``hides_listing``: the listing
    is hidden until there is a guess."""

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
        """The scene opened first."""
        return next(iter(self.scenes.values()), self.cards[0].scene)

    def deal_cards(self, random: Random) -> Sequence[Card]:
        """The cards of one pass."""
        return self.cards


@dataclass(frozen=True, eq=False, kw_only=True)
class Lesson(ExerciseSet):
    """A lesson of the first hour, about one idea. ``question``: the one that its cards ask, with the scene's numbers;
    ``first_question``: the one of the first guess, often the same."""

    question: Question
    first_question: Question


@dataclass(frozen=True, eq=False)
class Quiz(ExerciseSet):
    """Cards drawn again for each pass; each takes one answer, and the last one lists the missed questions."""

    card_generator: Callable[[Random], Sequence[Card]] = lambda random: ()

    def deal_cards(self, random: Random) -> Sequence[Card]:
        return self.card_generator(random)


@dataclass(frozen=True)
class Course:
    """Lessons by number, starting at 1. ``name``: the key of the saved progress."""

    name: str
    title: str
    lessons: Mapping[int, ExerciseSet]

    @property
    def highest_lesson_number(self) -> int:
        """The highest number."""
        return max(self.lessons)


def wrap_paragraphs(paragraphs: Sequence[Paragraph], width: int) -> list[str]:
    """Wrap paragraphs to a width."""
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += _wrap_parts(paragraph, width) if isinstance(paragraph, tuple) else wrap_text(paragraph, width)
    return lines


def _wrap_parts(parts: Sequence[str], width: int) -> list[str]:
    """Place parts side by side; a part is only wrapped if it exceeds the width."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= width:
            lines[-1] += f"   {part}"
        else:
            lines += textwrap.wrap(part, width)
    return lines


def wrap_text(text: str, width: int = CARD_WIDTH_CHARS) -> list[str]:
    """Wrap a text; line breaks and indentation are kept."""
    lines: list[str] = []
    for line in text.splitlines():
        margin = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line, width, subsequent_indent=margin) or [""]
    return lines
