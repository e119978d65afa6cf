"""Questions: each is checked by running its scene, and each wrong rule has its own reply.

What is right, and what a wrong rule gives, is computed for the numbers at hand; so the same question is asked with
numbers that are drawn anew each time.
"""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any, ClassVar

from ...runtime.errors import UsageError
from .learner_state import LearnerState
from .scene import Scene, SceneRun

#: A text, or what makes one of a run.
RunText = str | Callable[[SceneRun], str]
_CHOICE_LETTERS = "abcdefgh"
#: A question to choose from has so many answers.
CHOICE_COUNT = 4
#: So often numbers are drawn until the wrong rules give other answers than the right one.
_MAX_DRAWS = 200


def render_text(text: RunText, played: SceneRun) -> str:
    """A text for a run."""
    return text if isinstance(text, str) else text(played)


@dataclass(frozen=True)
class Feedback:
    """What is said to an answer."""

    correct: bool
    text: str


@dataclass(frozen=True)
class WrongRule:
    """A wrong rule: what it gives (None: it says nothing about these numbers), and what is said to that."""

    compute: Callable[[SceneRun], Any]
    feedback_text: RunText


class Question(ABC):
    """Something that is asked about a scene; ``hints``: where to look, then which keys. ``covered``: the listing gives
    the answer away as well, and how often the loop will run."""

    scene: Scene
    prompt: RunText
    hides_listing: bool
    #: Its scene gives the answer away once it runs: it stands still until there is an answer.
    freezes_scene: ClassVar[bool] = False
    #: The first answer counts; after that it is asked with other numbers.
    single_attempt: ClassVar[bool] = True

    @property
    def text(self) -> str:
        """What is asked."""
        return render_text(self.prompt, self.scene.reference_run)

    @property
    def choices(self) -> Mapping[str, Any]:
        """The answers to choose from by letter; none where it takes a value, or a state."""
        return {}

    def grade(self, text: str) -> Feedback:
        """What is said to an answer.

        Raises:
            UsageError: it cannot be read, or nothing is to be answered.
        """
        raise UsageError("nothing is to be answered here")

    @abstractmethod
    def hint(self, number: int) -> str:
        """The hints one after the other; the last is the answer, or how to bring it about."""

    def reveals_answer(self, number: int) -> bool:
        """Whether a hint is the answer."""
        return False


@dataclass(frozen=True, eq=False)
class ValueQuestion(Question):
    """A question for a value: ``right`` is what the engine gives; ``see``: where it shows, for those whose answer no
    rule explains. ``choice``: the answers that there are stand beside it, in an order that ``seed`` gives."""

    freezes_scene: ClassVar[bool] = True

    scene: Scene
    prompt: RunText
    compute_answer: Callable[[SceneRun], Any]
    explanation: RunText
    wrong_rules: tuple[WrongRule, ...]
    fallback_text: RunText
    hints: Sequence[RunText] = ()
    multiple_choice: bool = False
    seed: int = 0
    hides_listing: bool = False

    def with_inputs(self, **inputs: Any) -> ValueQuestion:
        """The same with other numbers."""
        return replace(self, scene=self.scene.with_inputs(**inputs))

    def redraw(self, random: Random, inputs: Mapping[str, Any]) -> ValueQuestion:
        """The same with other numbers, and its answers in another order."""
        return replace(self, scene=self.scene.with_inputs(**inputs), seed=random.randrange(1 << 30))

    @property
    def distinguishes_rules(self) -> bool:
        """With these numbers the wrong rules give other answers than the right one: enough to choose from."""
        return len(self.wrong_answers) >= (CHOICE_COUNT - 1 if self.multiple_choice else 1)

    @cached_property
    def answer(self) -> Any:
        """The right answer."""
        return self.compute_answer(self.scene.reference_run)

    @cached_property
    def wrong_answers(self) -> list[tuple[Any, WrongRule]]:
        """What the wrong rules give here, those that give the right answer by chance left out."""
        found: list[tuple[Any, WrongRule]] = []
        for wrong in self.wrong_rules:
            value = wrong.compute(self.scene.reference_run)
            if value is not None and not any(
                answers_equal(value, one) for one in (self.answer, *(known for known, _ in found))
            ):
                found.append((value, wrong))
        return found

    @cached_property
    def choices(self) -> dict[str, Any]:
        """The answers to choose from by letter, in an order that says nothing."""
        if not self.multiple_choice:
            return {}
        values = [self.answer, *(value for value, _ in self.wrong_answers[: CHOICE_COUNT - 1])]
        return dict(zip(_CHOICE_LETTERS, Random(self.seed).sample(values, len(values)), strict=False))

    def parse_answer(self, text: str) -> Any:
        """The value that was typed.

        Raises:
            UsageError: it is none.
        """
        word = text.strip().strip("'\"").lower()
        if word in self.choices:
            return self.choices[word]
        return parse_answer_value(word, self.choices)

    def grade(self, text: str) -> Feedback:
        """What is said to an answer.

        Raises:
            UsageError: it cannot be read.
        """
        value = self.parse_answer(text)
        played = self.scene.reference_run
        if answers_equal(value, self.answer):
            return Feedback(True, render_text(self.explanation, played))
        for gives, wrong in self.wrong_answers:
            if answers_equal(value, gives) or (
                isinstance(gives, str) and isinstance(value, str) and value in gives.split("|")
            ):
                return Feedback(False, render_text(wrong.feedback_text, played))
        return Feedback(False, f"Not {format_answer(value)}. {render_text(self.fallback_text, played)}")

    def hint(self, number: int) -> str:
        if number < len(self.hints):
            return render_text(self.hints[number], self.scene.reference_run)
        return f"It is {format_answer(self.answer)}. {render_text(self.explanation, self.scene.reference_run)}"

    def reveals_answer(self, number: int) -> bool:
        return number >= len(self.hints)


@dataclass(frozen=True, eq=False)
class StateQuestion(Question):
    """Something to bring about: ``look`` says of where one stands whether that is it, or how it is nearly it; None
    where there is nothing to say. ``see``: for those who ask, though nothing is reached yet. ``claimed``: a place, of
    which the learner has to say that this is it; otherwise something to try, which is seen when it is reached."""

    scene: Scene
    prompt: RunText
    check_state: Callable[[LearnerState], Feedback | None]
    fallback_text: RunText
    hints: Sequence[RunText] = ()
    requires_claim: bool = False
    hides_listing: bool = False

    @property
    def single_attempt(self) -> bool:  # type: ignore[override]
        """Whoever tries things may try again."""
        return self.requires_claim

    def hint(self, number: int) -> str:
        return render_text(self.hints[min(number, len(self.hints) - 1)], self.scene.reference_run)

    def reveals_answer(self, number: int) -> bool:
        return 1 < len(self.hints) <= number + 1


@dataclass(frozen=True, eq=False)
class OpenQuestion(Question):
    """Something to make up one's mind about, which is not checked."""

    scene: Scene
    prompt: RunText
    hints: Sequence[RunText] = ()
    hides_listing: bool = False

    def hint(self, number: int) -> str:
        return "There is nothing to check: say what you think."


def parse_answer_value(word: str, choices: Mapping[str, Any]) -> Any:
    """A number, a list of numbers however its commas and brackets are written, or a word.

    Raises:
        UsageError: it is none of these.
    """
    if choices and re.fullmatch(r"[a-z]", word):
        raise UsageError(f"there is no choice '{word}'; there are {', '.join(choices)}")
    if re.fullmatch(r"[a-z ]+", word):
        return word
    text = word.replace("(", "[").replace(")", "]")
    if re.fullmatch(r"-?\d+(\s*[,\s]\s*-?\d+)+", text):
        text = ",".join(re.split(r"[,\s]+", text)).join("[]")
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if isinstance(value, list | int | float):
        return value
    raise UsageError(f"'{word}' cannot be read as an answer; give a number, or a list as in answer 1 2 3")


def answers_equal(a: Any, b: Any) -> bool:
    """Whether two answers are the same: of numbers that are not whole, three digits are enough."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(answers_equal, a, b))
    if isinstance(a, float) or isinstance(b, float):
        numbers = all(isinstance(one, int | float) for one in (a, b))
        return numbers and bool(abs(a - b) <= 1e-3 * max(abs(a), abs(b)) or (a != a and b != b))
    return bool(a == b)


def format_answer(value: Any) -> str:
    """A value as a learner reads it."""
    return str(value).split("|")[0]


#: Puts a question with numbers of its own.
QuestionGenerator = Callable[[Random], Question]


def vary_inputs(base: ValueQuestion, inputs: Callable[[Random], Mapping[str, Any]]) -> QuestionGenerator:
    """Asks a question with numbers that ``inputs`` draws, until they tell the right rule from the wrong ones."""

    def draw(random: Random) -> Question:
        for _ in range(_MAX_DRAWS):
            question = base.redraw(random, inputs(random))
            # The numbers of the example were seen already.
            if question.distinguishes_rules and question.scene.inputs != base.scene.inputs:
                return question
        raise UsageError(f"no numbers tell the right answer from the wrong ones: {base.text}")

    return draw


def choose_generator(*draws: QuestionGenerator) -> QuestionGenerator:
    """Asks one of several questions."""
    return lambda random: random.choice(draws)(random)
