"""Questions: each is checked by running its scene, and each wrong rule has its own reply.

What is right, and what a wrong rule gives, is computed for the numbers at hand; so the same question can be asked with
others.
"""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...runtime.errors import UsageError
from .scene import Played, Scene
from .stand import Stand

#: A text, or what makes one of a run.
Told = str | Callable[[Played], str]
_LETTERS = "abcdefgh"


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

    @property
    def text(self) -> str:
        """What is asked."""
        return tell(self.asks, self.scene.played)

    @abstractmethod
    def hint(self, number: int) -> str:
        """The hints one after the other; the last is the answer, or how to bring it about."""


@dataclass(frozen=True, eq=False)
class ValueQuestion(Question):
    """A question for a value: ``right`` is what the engine gives; ``see``: where it shows, for those whose answer no
    rule explains. ``choice``: the answers that there are stand beside it."""

    scene: Scene
    asks: Told
    right: Callable[[Played], Any]
    why: Told
    wrongs: tuple[Wrong, ...]
    see: Told
    hints: Sequence[Told] = ()
    choice: bool = False

    def given(self, **inputs: Any) -> ValueQuestion:
        """The same with other numbers."""
        return replace(self, scene=self.scene.given(**inputs))

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
            if value is not None and value != self.answer and all(value != one for one, _ in found):
                found.append((value, wrong))
        return found

    @property
    def choices(self) -> dict[str, Any]:
        """The answers to choose from by letter, in an order that says nothing."""
        if not self.choice:
            return {}
        values = sorted([self.answer, *(value for value, _ in self.rules)], key=repr)
        return dict(zip(_LETTERS, values, strict=False))

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
        if value == self.answer:
            return Reply(True, tell(self.why, played))
        for gives, wrong in self.rules:
            if value == gives or (isinstance(gives, str) and isinstance(value, str) and value in gives.split("|")):
                return Reply(False, tell(wrong.reply, played))
        return Reply(False, f"Not {show(value)}. {tell(self.see, played)}")

    def hint(self, number: int) -> str:
        if number < len(self.hints):
            return tell(self.hints[number], self.scene.played)
        return f"It is {show(self.answer)}. {tell(self.why, self.scene.played)}"


@dataclass(frozen=True, eq=False)
class StateQuestion(Question):
    """Something to bring about: ``look`` says of where one stands whether that is it, or how it is nearly it; None
    where there is nothing to say. ``see``: for those who ask, though nothing is reached yet."""

    scene: Scene
    asks: Told
    look: Callable[[Stand], Reply | None]
    see: Told
    hints: Sequence[Told] = ()

    def hint(self, number: int) -> str:
        return tell(self.hints[min(number, len(self.hints) - 1)], self.scene.played)


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


def show(value: Any) -> str:
    """A value as a learner reads it."""
    return str(value).split("|")[0]
