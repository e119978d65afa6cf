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
from .scene import Played, Scene
from .stand import Stand

#: A text, or what makes one of a run.
Told = str | Callable[[Played], str]
_LETTERS = "abcdefgh"
#: A question to choose from has so many answers.
CHOICES = 4
#: So often numbers are drawn until the wrong rules give other answers than the right one.
_DRAWS = 200


def tell(text: Told, played: Played) -> str:
    """A text for a run."""
    return text if isinstance(text, str) else text(played)


@dataclass(frozen=True)
class Reply:
    """What is said to an answer."""

    right: bool
    text: str


@dataclass(frozen=True)
class Wrong:
    """A wrong rule: what it gives (None: it says nothing about these numbers), and what is said to that."""

    gives: Callable[[Played], Any]
    reply: Told


class Question(ABC):
    """Something that is asked about a scene; ``hints``: where to look, then which keys."""

    scene: Scene
    asks: Told
    #: Its scene gives the answer away once it runs: it stands still until there is an answer.
    still: ClassVar[bool] = False
    #: The listing gives the answer away as well.
    covered: ClassVar[bool] = False
    #: The first answer counts; after that it is asked with other numbers.
    once: ClassVar[bool] = True

    @property
    def text(self) -> str:
        """What is asked."""
        return tell(self.asks, self.scene.played)

    @property
    def choices(self) -> Mapping[str, Any]:
        """The answers to choose from by letter; none where it takes a value, or a state."""
        return {}

    def judge(self, text: str) -> Reply:
        """What is said to an answer.

        Raises:
            UsageError: it cannot be read, or nothing is to be answered.
        """
        raise UsageError("nothing is to be answered here")

    @abstractmethod
    def hint(self, number: int) -> str:
        """The hints one after the other; the last is the answer, or how to bring it about."""

    def tells(self, number: int) -> bool:
        """Whether a hint is the answer."""
        return False


@dataclass(frozen=True, eq=False)
class ValueQuestion(Question):
    """A question for a value: ``right`` is what the engine gives; ``see``: where it shows, for those whose answer no
    rule explains. ``choice``: the answers that there are stand beside it, in an order that ``seed`` gives."""

    still: ClassVar[bool] = True

    scene: Scene
    asks: Told
    right: Callable[[Played], Any]
    why: Told
    wrongs: tuple[Wrong, ...]
    see: Told
    hints: Sequence[Told] = ()
    choice: bool = False
    seed: int = 0

    def given(self, **inputs: Any) -> ValueQuestion:
        """The same with other numbers."""
        return replace(self, scene=self.scene.given(**inputs))

    def drawn(self, random: Random, inputs: Mapping[str, Any]) -> ValueQuestion:
        """The same with other numbers, and its answers in another order."""
        return replace(self, scene=self.scene.given(**inputs), seed=random.randrange(1 << 30))

    @property
    def sound(self) -> bool:
        """With these numbers the wrong rules give other answers than the right one: enough to choose from."""
        return len(self.rules) >= (CHOICES - 1 if self.choice else 1)

    @cached_property
    def answer(self) -> Any:
        """The right answer."""
        return self.right(self.scene.played)

    @cached_property
    def rules(self) -> list[tuple[Any, Wrong]]:
        """What the wrong rules give here, those that give the right answer by chance left out."""
        found: list[tuple[Any, Wrong]] = []
        for wrong in self.wrongs:
            value = wrong.gives(self.scene.played)
            if value is not None and not any(same(value, one) for one in (self.answer, *(known for known, _ in found))):
                found.append((value, wrong))
        return found

    @cached_property
    def choices(self) -> dict[str, Any]:
        """The answers to choose from by letter, in an order that says nothing."""
        if not self.choice:
            return {}
        values = [self.answer, *(value for value, _ in self.rules[: CHOICES - 1])]
        return dict(zip(_LETTERS, Random(self.seed).sample(values, len(values)), strict=False))

    def read(self, text: str) -> Any:
        """The value that was typed.

        Raises:
            UsageError: it is none.
        """
        word = text.strip().strip("'\"").lower()
        if word in self.choices:
            return self.choices[word]
        return answer_value(word, self.choices)

    def judge(self, text: str) -> Reply:
        """What is said to an answer.

        Raises:
            UsageError: it cannot be read.
        """
        value = self.read(text)
        played = self.scene.played
        if same(value, self.answer):
            return Reply(True, tell(self.why, played))
        for gives, wrong in self.rules:
            if same(value, gives) or (isinstance(gives, str) and isinstance(value, str) and value in gives.split("|")):
                return Reply(False, tell(wrong.reply, played))
        return Reply(False, f"Not {show(value)}. {tell(self.see, played)}")

    def hint(self, number: int) -> str:
        if number < len(self.hints):
            return tell(self.hints[number], self.scene.played)
        return f"It is {show(self.answer)}. {tell(self.why, self.scene.played)}"

    def tells(self, number: int) -> bool:
        return number >= len(self.hints)


@dataclass(frozen=True, eq=False)
class StateQuestion(Question):
    """Something to bring about: ``look`` says of where one stands whether that is it, or how it is nearly it; None
    where there is nothing to say. ``see``: for those who ask, though nothing is reached yet. ``claimed``: a place, of
    which the learner has to say that this is it; otherwise something to try, which is seen when it is reached."""

    scene: Scene
    asks: Told
    look: Callable[[Stand], Reply | None]
    see: Told
    hints: Sequence[Told] = ()
    claimed: bool = False

    @property
    def once(self) -> bool:  # type: ignore[override]
        """Whoever tries things may try again."""
        return self.claimed

    def hint(self, number: int) -> str:
        return tell(self.hints[min(number, len(self.hints) - 1)], self.scene.played)

    def tells(self, number: int) -> bool:
        return 1 < len(self.hints) <= number + 1


@dataclass(frozen=True, eq=False)
class OpenQuestion(Question):
    """Something to make up one's mind about, which is not checked."""

    scene: Scene
    asks: Told
    hints: Sequence[Told] = ()

    def hint(self, number: int) -> str:
        return "There is nothing to check: say what you think."


def answer_value(word: str, choices: Mapping[str, Any]) -> Any:
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


def same(a: Any, b: Any) -> bool:
    """Whether two answers are the same: of numbers that are not whole, three digits are enough."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        numbers = all(isinstance(one, int | float) for one in (a, b))
        return numbers and bool(abs(a - b) <= 1e-3 * max(abs(a), abs(b)) or (a != a and b != b))
    return bool(a == b)


def show(value: Any) -> str:
    """A value as a learner reads it."""
    return str(value).split("|")[0]


#: Puts a question with numbers of its own.
Draw = Callable[[Random], Question]


def varied(base: ValueQuestion, inputs: Callable[[Random], Mapping[str, Any]]) -> Draw:
    """Asks a question with numbers that ``inputs`` draws, until they tell the right rule from the wrong ones."""

    def draw(random: Random) -> Question:
        for _ in range(_DRAWS):
            question = base.drawn(random, inputs(random))
            # The numbers of the example were seen already.
            if question.sound and question.scene.inputs != base.scene.inputs:
                return question
        raise UsageError(f"no numbers tell the right answer from the wrong ones: {base.text}")

    return draw


def one_of(*draws: Draw) -> Draw:
    """Asks one of several questions."""
    return lambda random: random.choice(draws)(random)
