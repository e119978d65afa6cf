"""A learner for tests: types into a lesson, and reads its output."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from console_recorder import ConsoleRecorder
from loopdbg.debugger.lessons.course.catalog import COURSE
from loopdbg.debugger.lessons.key_wording import CONSOLE_KEY_NAMES, KeyWording
from loopdbg.debugger.lessons.learner import Learner
from loopdbg.debugger.lessons.lesson import CardKind, Course, Lesson
from loopdbg.debugger.lessons.progress import LearnerProgress
from loopdbg.debugger.lessons.question import Question, StateQuestion, ValueQuestion

#: The lessons of the first hour.
LESSONS = [lesson for lesson in COURSE.lessons.values() if isinstance(lesson, Lesson)]
KEY_WORDING = KeyWording(
    CONSOLE_KEY_NAMES, lambda scene, peer: f"`diff {scene.model} {peer}`", lambda number: f"learn {number}"
)


def value_question(number: int) -> ValueQuestion:
    """The question of a lesson for a value, with its first numbers."""
    lesson = COURSE.lessons[number]
    assert isinstance(lesson, Lesson) and isinstance(lesson.question, ValueQuestion)
    return lesson.question


class LessonDriver:
    """One lesson, and a console in it. ``ask``: its question, instead of a random one."""

    def __init__(
        self,
        number: int | None = None,
        path: Path | None = None,
        *,
        seed: int = 0,
        ask: Question | None = None,
        course: Course = COURSE,
    ) -> None:
        if ask is not None and number is not None:
            course = course_with_question(number, ask)
        self.learner = Learner(
            LearnerProgress(path), KEY_WORDING, number=number, attended=False, random=Random(seed), course=course
        )
        self._recorder = ConsoleRecorder(self.learner.create_session())
        self.console, self.output_lines = self._recorder.console, self._recorder.output_lines
        self.learner.attach_console(self.console)

    def __call__(self, *lines: str) -> str:
        """The output of some lines as one text; an error is a line as at the prompt."""
        return " ".join(self._recorder(*lines))

    @property
    def card(self) -> str:
        """The open card."""
        return " ".join(self.learner.open_card_lines())

    def open_card(self, kind: str) -> None:
        """Open the card of a kind."""
        kinds = [card.kind.value for card in self.learner.cards]
        self(f"card {kinds.index(kind) + 1}")

    def answer_correctly(self) -> str:
        """Answer the question of the card correctly."""
        question = self.learner.question
        assert question is not None
        if isinstance(question, StateQuestion):
            return self(*solution_commands(question))
        return self(f"answer {question.answer}")  # type: ignore[attr-defined]


def course_with_question(number: int, question: Question) -> Course:
    """The course, with the given question in one lesson."""
    lesson = COURSE.lessons[number]
    assert isinstance(lesson, Lesson)
    cards = [
        replace(card, generate_question=lambda random: question) if card.kind is CardKind.ASK else card
        for card in lesson.cards
    ]
    return replace(COURSE, lessons={**COURSE.lessons, number: replace(lesson, cards=cards)})


def solution_commands(question: StateQuestion) -> list[str]:
    """The commands that reach a state, from its last hint."""
    if len(question.hints) == 1:
        return ["break nan", "continue", "answer here"]
    message = question.hint(9)
    results = [line for line in message.split("`")[1::2] if line != "again"]
    times = next((word for word in message.replace(",", " ").replace(":", " ").split() if word.isdecimal()), "1")
    lines = ["restart" if line == "r" else f"step {times}" if line == "s" else line for line in results]
    edit = next((k for k, line in enumerate(lines) if line.startswith("set ")), None)
    if edit is not None and question.scene.model == "grow.onnxtxt":
        return ["restart", "step 2", lines[edit], "finish"]
    return [*lines, "finish"] if edit is not None else [*lines, "answer here"]
