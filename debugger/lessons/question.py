"""Questions: each is graded by running its scene, and each known misconception has its own reply.

Correct and wrong answers are computed from the inputs, so that a question can be asked with random numbers.
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
from .scene import Scene, SceneRun
from .session_queries import LearnerState

#: A text, or a function that renders one from a run.
RunText = str | Callable[[SceneRun], str]
_CHOICE_LETTERS = "abcdefgh"
#: The number of answers of a multiple-choice question.
CHOICE_COUNT = 4
#: The maximum number of draws until wrong rules differ from the correct answer.
_MAX_DRAWS = 200


def render_text(text: RunText, run: SceneRun) -> str:
    """Render a text for a run."""
    return text if isinstance(text, str) else text(run)


@dataclass(frozen=True)
class Feedback:
    """The reply to an answer."""

    correct: bool
    text: str


@dataclass(frozen=True)
class WrongRule:
    """A misconception: the wrong answer it leads to (None: does not apply to these inputs), and the reply."""

    compute: Callable[[SceneRun], Any]
    feedback_text: RunText


class Question(ABC):
    """A question on a scene. ``hides_listing``: the listing and the trip count reveal the answer as well."""

    scene: Scene
    prompt: RunText
    hides_listing: bool
    #: Running the scene reveals the answer: it is locked until there is an answer.
    locks_scene: ClassVar[bool] = False
    #: The first answer counts; further attempts need other numbers.
    single_attempt: ClassVar[bool] = True

    @property
    def text(self) -> str:
        """The text of the question."""
        return render_text(self.prompt, self.scene.reference_run)

    @property
    def choices(self) -> Mapping[str, Any]:
        """The choices by letter; empty unless it is multiple choice."""
        return {}

    def grade(self, text: str) -> Feedback:
        """Grade an answer.

        Raises:
            UsageError: the answer cannot be parsed, or the question takes none.
        """
        raise UsageError("nothing is to be answered here")

    @abstractmethod
    def hint(self, number: int) -> str:
        """The hint of a number; the last one is the answer, or how to reach the state."""

    def reveals_answer(self, number: int) -> bool:
        """Whether a hint reveals the answer."""
        return False


@dataclass(frozen=True, eq=False)
class ValueQuestion(Question):
    """A question for a value, computed by the engine. ``fallback_text``: the reply to answers that no wrong rule
    explains. ``multiple_choice``: choices are shown, shuffled by ``seed``."""

    locks_scene: ClassVar[bool] = True

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
        """The question with other inputs."""
        return replace(self, scene=self.scene.with_inputs(**inputs))

    def redraw(self, random: Random, inputs: Mapping[str, Any]) -> ValueQuestion:
        """The question with other inputs and reshuffled choices."""
        return replace(self, scene=self.scene.with_inputs(**inputs), seed=random.randrange(1 << 30))

    @property
    def distinguishes_rules(self) -> bool:
        """Whether enough wrong rules give answers that differ from the correct one."""
        return len(self.wrong_answers) >= (CHOICE_COUNT - 1 if self.multiple_choice else 1)

    @cached_property
    def answer(self) -> Any:
        """The correct answer."""
        return self.compute_answer(self.scene.reference_run)

    @cached_property
    def wrong_answers(self) -> list[tuple[Any, WrongRule]]:
        """The distinct answers of the wrong rules, without those that happen to be correct."""
        answers: list[tuple[Any, WrongRule]] = []
        for rule in self.wrong_rules:
            value = rule.compute(self.scene.reference_run)
            if value is not None and not any(
                answers_equal(value, other) for other in (self.answer, *(earlier for earlier, _ in answers))
            ):
                answers.append((value, rule))
        return answers

    @cached_property
    def choices(self) -> dict[str, Any]:
        """The shuffled choices by letter."""
        if not self.multiple_choice:
            return {}
        values = [self.answer, *(value for value, _ in self.wrong_answers[: CHOICE_COUNT - 1])]
        return dict(zip(_CHOICE_LETTERS, Random(self.seed).sample(values, len(values)), strict=False))

    def parse_answer(self, text: str) -> Any:
        """Parse a typed answer.

        Raises:
            UsageError: the text is no answer.
        """
        word = text.strip().strip("'\"").lower()
        if word in self.choices:
            return self.choices[word]
        return parse_answer_value(word, self.choices)

    def grade(self, text: str) -> Feedback:
        """Grade an answer.

        Raises:
            UsageError: the answer cannot be parsed.
        """
        value = self.parse_answer(text)
        run = self.scene.reference_run
        if answers_equal(value, self.answer):
            return Feedback(True, render_text(self.explanation, run))
        for wrong_value, rule in self.wrong_answers:
            if answers_equal(value, wrong_value) or (
                isinstance(wrong_value, str) and isinstance(value, str) and value in wrong_value.split("|")
            ):
                return Feedback(False, render_text(rule.feedback_text, run))
        return Feedback(False, f"Not {format_answer(value)}. {render_text(self.fallback_text, run)}")

    def hint(self, number: int) -> str:
        if number < len(self.hints):
            return render_text(self.hints[number], self.scene.reference_run)
        return f"It is {format_answer(self.answer)}. {render_text(self.explanation, self.scene.reference_run)}"

    def reveals_answer(self, number: int) -> bool:
        return number >= len(self.hints)


@dataclass(frozen=True, eq=False)
class StateQuestion(Question):
    """A state to reach. ``check_state`` grades the current state, or returns None where it has no feedback;
    ``fallback_text``: the reply if that state is not reached. ``requires_claim``: the learner must claim the state with
    an answer; otherwise it is detected."""

    scene: Scene
    prompt: RunText
    check_state: Callable[[LearnerState], Feedback | None]
    fallback_text: RunText
    hints: Sequence[RunText] = ()
    requires_claim: bool = False
    hides_listing: bool = False

    @property
    def single_attempt(self) -> bool:  # type: ignore[override]
        """Detected states allow further attempts."""
        return self.requires_claim

    def hint(self, number: int) -> str:
        return render_text(self.hints[min(number, len(self.hints) - 1)], self.scene.reference_run)

    def reveals_answer(self, number: int) -> bool:
        return 1 < len(self.hints) <= number + 1


@dataclass(frozen=True, eq=False)
class OpenQuestion(Question):
    """A question for an opinion, which is not graded."""

    scene: Scene
    prompt: RunText
    hints: Sequence[RunText] = ()
    hides_listing: bool = False

    def hint(self, number: int) -> str:
        return "There is nothing to check: say what you think."


def parse_answer_value(word: str, choices: Mapping[str, Any]) -> Any:
    """Parse a number, a list of numbers with any commas and brackets, or a word.

    Raises:
        UsageError: the text is none of these.
    """
    if choices and re.fullmatch(r"[a-z]", word):
        raise UsageError(
            f"there is no choice '{word}'; there are {', '.join(choices)}", expected=", ".join(choices), got=word
        )
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
    raise UsageError(
        f"'{word}' cannot be read as an answer; give a number, or a list as in answer 1 2 3",
        expected="a number or a list",
        got=word,
    )


def answers_equal(a: Any, b: Any) -> bool:
    """Whether two answers are equal; floats are compared to three digits."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(answers_equal, a, b))
    if isinstance(a, float) or isinstance(b, float):
        numbers = all(isinstance(number, int | float) for number in (a, b))
        return numbers and bool(abs(a - b) <= 1e-3 * max(abs(a), abs(b)) or (a != a and b != b))
    return bool(a == b)


def format_answer(value: Any) -> str:
    """Format a value for the learner."""
    return str(value).split("|")[0]


#: Generates a question with random inputs.
QuestionGenerator = Callable[[Random], Question]


def input_variant_generator(base: ValueQuestion, inputs: Callable[[Random], Mapping[str, Any]]) -> QuestionGenerator:
    """A generator of variants with inputs from ``inputs`` that distinguish the correct rule from the wrong ones."""

    def draw(random: Random) -> Question:
        for _ in range(_MAX_DRAWS):
            question = base.redraw(random, inputs(random))
            # Exclude the inputs of the example.
            if question.distinguishes_rules and question.scene.inputs != base.scene.inputs:
                return question
        raise UsageError(f"no numbers tell the right answer from the wrong ones: {base.text}")

    return draw


def random_choice_generator(*generators: QuestionGenerator) -> QuestionGenerator:
    """A generator that chooses one of several."""
    return lambda random: random.choice(generators)(random)
